"""Rows of the results: ours, a peer's, their ratio with an interval, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dither_lab.bench.design import Asked, Comparison
from dither_lab.bench.explanations import why
from dither_lab.bench.intervals import SAME, Figure, figure, growth, ratio
from dither_lab.bench.measuring import Sample, paired

OURS_LOWER, EQUAL, PEER_LOWER = "ours lower", "equal within the interval", "peer lower"
NOT_MEASURED, NO_PEER = "not measured", "no peer has it"
FIGURES = ("ours", "theirs", "ratio")
UNITS = {"time": "s", "memory": "MiB", "growth": "exponent"}


@dataclass(frozen=True)
class ResultRow:
    """One line of the table.  All measures are better when lower."""

    key: str
    area: str
    what: str
    measure: str
    quantity: str
    unit: str
    guarantee: str
    neighbours: str
    data: str
    ours: Figure | None
    peer: str
    version: str | None
    theirs: Figure | None
    ratio: Figure | None
    verdict: str
    why: str | None = None
    asked: str | None = None
    held: str | None = None
    clock: str | None = None
    other_clock_ratio: float | None = None
    """The ratio of times by the clock that is not the row's: processor time, or the wall clock."""
    note: str = ""
    size: int | None = None
    series: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity: an interval without an end has none."""
        payload = asdict(self)
        for name in FIGURES:
            if payload[name] is not None:
                payload[name] = {end: value if math.isfinite(value) else None for end, value in payload[name].items()}
        return payload

    @classmethod
    def from_dict(cls, payload: dict[str, Any]) -> ResultRow:
        """The row that ``to_dict`` wrote."""
        figures = {
            name: None
            if payload[name] is None
            else Figure(**{end: math.inf if value is None else value for end, value in payload[name].items()})
            for name in FIGURES
        }
        return cls(**{**payload, **figures})


def rows_of(area: str, comparison: Comparison, samples: list[Sample], clock: str = "wall") -> list[ResultRow]:
    """All rows of a comparison: each measure against each other way."""
    clock = comparison.clock or clock
    ours, *rest = samples
    others: list[Sample | None] = [*rest] or [None]
    return [_row(area, comparison, measure, ours, other, clock) for measure in comparison.measures for other in others]


def _row(area: str, comparison: Comparison, measure: str, ours: Sample, other: Sample | None, clock: str) -> ResultRow:
    centre = comparison.centre if measure == "error" else "median"
    mine = ours.values(measure, centre, clock)
    theirs = {} if other is None else other.values(measure, centre, clock)
    both = paired(mine, theirs)
    compared = ratio(*both, centre) if len(both[0]) else None
    key = f"{area}/{comparison.name}/{measure}/{'-' if other is None else other.way.title}"
    verdict, reason = _verdict(ours, other, mine, theirs, compared)
    promised = next((query for query in comparison.asked if _about(query, measure, other)), None)
    own = figure(np.array(list(mine.values())), centre) if mine else None
    return ResultRow(
        key=key,
        area=area,
        what=comparison.what,
        measure=measure,
        quantity=comparison.quantity if measure == "error" else measure,
        unit=comparison.unit if measure == "error" else UNITS[measure],
        guarantee=comparison.guarantee,
        neighbours=comparison.neighbours,
        data=comparison.data.source,
        ours=own,
        peer="-" if other is None else other.way.title,
        version=None if other is None else other.version,
        theirs=figure(np.array(list(theirs.values())), centre) if theirs else None,
        ratio=compared,
        verdict=verdict,
        why=reason or (why(key) if verdict == PEER_LOWER else None),
        asked=None if promised is None else str(promised),
        held=None if promised is None else held(promised, own, compared),
        clock=clock if measure == "time" else None,
        other_clock_ratio=_other_clock(ours, other, clock) if measure == "time" else None,
        note=_note(ours, other),
        size=comparison.size,
        series=comparison.series,
    )


def _about(asked: Asked, measure: str, other: Sample | None) -> bool:
    return asked.measure == measure and (not asked.peers or (other is not None and other.way.title in asked.peers))


def _verdict(
    ours: Sample, other: Sample | None, mine: dict[int, float], theirs: dict[int, float], compared: Figure | None
) -> tuple[str, str | None]:
    """The verdict, and why there is none."""
    if not mine:
        return NOT_MEASURED, f"dither: {ours.reason or _failed(ours)}"
    if other is None:
        return NO_PEER, None
    if not theirs:
        return NOT_MEASURED, other.reason or _failed(other)
    return verdict_of(compared), None


def verdict_of(compared: Figure | None) -> str:
    """From the interval of the ratio; no ratio means that only the peer's figure is zero.

    >>> verdict_of(Figure(0.5, 0.4, 0.6)), verdict_of(Figure(1.1, 0.9, 1.3)), verdict_of(None)
    ('ours lower', 'equal within the interval', 'peer lower')
    """
    if compared is None:
        return PEER_LOWER
    if compared.high < 1 - SAME:
        return OURS_LOWER
    return PEER_LOWER if compared.low > 1 + SAME else EQUAL


def held(asked: Asked, ours: Figure | None, compared: Figure | None) -> str | None:
    """Whether a promise is kept: "yes", "within the interval" or "no"; None where nothing was measured."""
    result = compared if asked.of == "ratio" else ours
    if result is None:
        return None
    if result.value <= asked.limit:
        return "yes"
    return "within the interval" if result.low <= asked.limit else "no"


def _failed(other: Sample) -> str:
    if other.refused:
        return f"refused {other.refused} of {other.answers}"
    return next(iter(other.failures), "no answer")


def _other_clock(ours: Sample, other: Sample | None, clock: str) -> float | None:
    if other is None or not ours.seconds or not other.seconds:
        return None
    mine, theirs = (float(np.median(s.times("wall" if clock == "processor" else "processor"))) for s in (ours, other))
    return mine / theirs if theirs > 0 else None


def _note(ours: Sample, other: Sample | None) -> str:
    notes = [] if other is None or not other.way.note else [other.way.note]
    for sample in (ours, other):
        if sample is not None and sample.refused and sample.errors:
            notes.append(f"{sample.way.title} refused {sample.refused} of {sample.answers}")
        if sample is not None and sample.failures and sample.reason is None:
            notes.append(f"{sample.way.title}: {sum(sample.failures.values())} answers failed")
    return "; ".join(notes)


def growth_rows(area: str, measured: Iterable[tuple[Comparison, list[Sample]]], clock: str = "wall") -> list[ResultRow]:
    """How times grow with the size in each series of three sizes or more."""
    series: dict[str, list[tuple[Comparison, list[Sample]]]] = {}
    for comparison, samples in measured:
        if comparison.series is not None:
            series.setdefault(comparison.series, []).append((comparison, samples))
    rows = []
    for name, members in series.items():
        names = [sample.way.title for sample in members[0][1]]
        grown: dict[str, tuple[Figure, list[int]]] = {}
        for peer in names:
            result = _times(members, peer, clock)
            if len(result) >= 3:
                sizes = sorted(result)
                logs = np.array([float(size) for size in sizes])
                grown[peer] = growth(logs, [np.array(result[size]) for size in sizes]), sizes
        rows += _grown(area, name, members[0], names, grown)
    return rows


def _times(members: list[tuple[Comparison, list[Sample]]], peer: str, clock: str) -> dict[int, list[float]]:
    results: dict[int, list[float]] = {}
    for comparison, samples in members:
        for sample in samples:
            if sample.way.title == peer and sample.seconds and comparison.size is not None:
                results[comparison.size] = [time * sample.way.items for time in sample.times(comparison.clock or clock)]
    return results


def _grown(
    area: str,
    name: str,
    first: tuple[Comparison, list[Sample]],
    names: list[str],
    grown: dict[str, tuple[Figure, list[int]]],
) -> list[ResultRow]:
    comparison, samples = first
    if names[0] not in grown:
        return []
    ours, sizes = grown[names[0]]
    rows = []
    for place, peer in enumerate(names[1:] or ["-"], start=1):
        theirs = grown[peer][0] if peer in grown else None
        quotient, verdict = None, NO_PEER if peer == "-" else NOT_MEASURED
        reason = None if theirs is not None or peer == "-" else samples[place].reason or "fewer than three sizes"
        if theirs is not None:
            quotient = _quotient(ours, theirs)
            verdict = verdict_of(quotient)
        key = f"{area}/{name}/growth/{peer}"
        rows.append(
            ResultRow(
                key=key,
                area=area,
                what=f"{name}: time as a power of the size, {sizes[0]:,} to {sizes[-1]:,}",
                measure="growth",
                quantity="growth",
                unit=UNITS["growth"],
                guarantee=comparison.guarantee,
                neighbours=comparison.neighbours,
                data=comparison.data.source,
                ours=ours,
                peer=peer,
                version=None if peer == "-" else samples[place].version,
                theirs=theirs,
                ratio=quotient,
                verdict=verdict,
                why=reason or (why(key) if verdict == PEER_LOWER else None),
            )
        )
    return rows


def _quotient(ours: Figure, theirs: Figure) -> Figure:
    """A ratio of exponents, its ends from the ends of both; exponents near zero have none that means anything."""
    if min(theirs.low, ours.low) <= 0.05:
        return Figure(1.0, 0.0, math.inf)
    return Figure(ours.value / theirs.value, ours.low / theirs.high, ours.high / theirs.low)
