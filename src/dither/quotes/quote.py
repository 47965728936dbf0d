"""A quote: privacy loss, mechanism and error of an answer, before anything is read or charged."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from dither.aliases import older_name
from dither.errors import NotApplicable
from dither.mechanisms.error import FEWEST_SAMPLES, Mixture
from dither.mechanisms.mechanism import Prepared
from dither.notebooks import table_html
from dither.plain import JsonObject, plain, unchanged, with_infinities
from dither.privacy import Loss
from dither.quotes.graph_priors import GraphPrior
from dither.quotes.prior_sample import ImaginedColumn
from dither.quotes.priors import Prior, standard_shapes
from dither.sensitivity.global_sensitivity import Data
from dither.sources.column import RankedRecords
from dither.sources.grid import Grid
from dither.statistics.local import exact_local_sensitivity

if TYPE_CHECKING:
    from dither.sources.graph import Graph

Figure: TypeAlias = Any  # a number, or one for each that is released, or None: only the query says which
"""A number, or one for each that is released; None: not known."""
ESTIMATE, UPPER_BOUND, EXACT, UNKNOWN = "estimate", "upper bound", "exact", "unknown"
ATTAINED = "attained"
LEVEL = 0.95
"""Of the quoted bound, where no interval is wanted."""
MEANINGS = {
    ESTIMATE: "an estimate, if the records are as the prior says",
    UPPER_BOUND: "an upper bound for all data; the error is usually far smaller",
    ATTAINED: "an upper bound for all data, met where no answer is cut to its range",
    EXACT: "exact, for all data",
    UNKNOWN: "its error depends on the data in ways that are not worked out beforehand",
}
SHAPES = "over values spread evenly, in a bell, or skewed within the bounds"
"""In words, what the typical range of an error is taken over."""
FLOOR = "no private answer expects less on such data and on their neighbours"
"""In words, what the floor is."""


@dataclass(frozen=True)
class Quote:
    """What a question costs and how far its answer will be from the statistic of the clamped records on the grid.

    ``expected_error`` and ``bound`` (which the error stays within with probability ``confidence``) are tuples where
    several numbers are released.  ``kind`` is "estimate" (under ``prior``), "upper bound" (for all data) or "exact"
    (for all data); or "unknown", and both are None.  Dates count in days.
    """

    query: str
    loss: Loss
    expected_error: Figure
    bound: Figure
    confidence: float
    mechanism: str
    noise: str
    kind: str
    attained: bool = False
    """Of an upper bound: whether it is the error itself unless answers are cut to their range."""
    prior: str | None = None
    rows: int | None = None
    """The number of records in each selection that the figures are for."""
    assumptions: tuple[str, ...] = ()
    groups: int | None = 1
    """How many answers there will be; None where the groups have to be found."""
    labels: tuple[str, ...] | None = None
    half_width: Figure = None
    """How far the interval will typically reach to either side; None without an interval, or where nothing is known."""
    alternatives: dict[str, Figure] = field(default_factory=dict)
    """The expected errors of the mechanisms that were compared, the best first."""
    blocks: int | None = None
    """Of a program that a server runs: how many blocks there are."""
    seconds: float | None = None
    """Of a program that a server runs: how long it takes."""
    derived_from: int | None = None
    """The charge of the ledger whose release answers the question at no loss; None: an answer is read and paid for."""
    stored: bool = False
    """Whether the ledger has the answer: asking again is free.  The errors are those of a fresh one."""
    floor: float | None = None
    """Under a prior: no answer of this privacy loss, by whatever mechanism, has a smaller expected error both on such
    data and on all of their neighbours (V17 Proposition 3.1); None where it is not known."""

    typical_error: tuple[float, float] | None = None
    """Of an upper bound: the least and the greatest expected error over standard public shapes within the bounds
    (``quotes.priors.standard_shapes``); None where the error is known better, or not worked out."""

    @property
    def meaning(self) -> str:
        """In words, what the error is."""
        return MEANINGS[ATTAINED if self.attained else self.kind]

    @property
    def worst_expected(self) -> float:
        """The greatest expected error of the numbers that are released."""
        return max(_each(self.expected_error))

    @property
    def worst_bound(self) -> float:
        """The greatest bound of the numbers that are released."""
        return max(_each(self.bound))

    calibration = older_name("mechanism")
    bar = older_name("half_width")

    def as_stored(self) -> Quote:
        """The quote of a question that was answered before, which names what a fresh answer would cost."""
        if self.loss == Loss(0.0):
            return self
        again = f"answered before, so asking again is free; a fresh answer (again=True, --again) spends {self.loss}"
        return dataclasses.replace(self, loss=Loss(0.0), stored=True, assumptions=(again, *self.assumptions))

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return {
            "query": self.query,
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            **self.loss.stated_fields(),
            "expected_error": plain(self.expected_error, unchanged),
            "bound": plain(self.bound, unchanged),
            "confidence": self.confidence,
            "kind": self.kind,
            "attained": self.attained,
            "meaning": self.meaning,
            "mechanism": self.mechanism,
            "calibration": self.mechanism,
            "noise": self.noise,
            "prior": self.prior,
            "rows": self.rows,
            "assumptions": list(self.assumptions),
            "groups": self.groups,
            "labels": plain(self.labels, unchanged),
            "bar": plain(self.half_width, unchanged),
            "alternatives": plain(self.alternatives, unchanged),
            **({} if self.blocks is None else {"blocks": self.blocks}),
            **({} if self.seconds is None else {"seconds": self.seconds}),
            **({} if self.derived_from is None else {"derived_from": self.derived_from}),
            **({"stored": True} if self.stored else {}),
            **({} if self.floor is None else {"floor": self.floor}),
            **({} if self.typical_error is None else {"typical_error": list(self.typical_error)}),
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any], confidence: float = LEVEL) -> Quote:  # JSON of a server, as below
        """The quote that ``to_dict`` described; one that a server made says no confidence where no error is known.

        confidence: what the quote was asked with.  Servers of version 0.1.0 call the mechanism ``calibration``.
        """
        several = ("expected_error", "bound", "labels", "assumptions")
        results: dict[str, Any] = {name: with_infinities(payload.get(name)) for name in several}  # JSON
        results["half_width"] = with_infinities(payload.get("bar"))
        results |= {name: tuple(result) for name, result in results.items() if isinstance(result, list)}
        typical = payload.get("typical_error")
        compared = with_infinities(payload.get("alternatives") or {})
        level, known = payload["confidence"], ("prior", "rows", "blocks", "seconds", "derived_from", "floor")
        return cls(
            query=payload["query"],
            loss=Loss.from_fields(payload),
            expected_error=results["expected_error"],
            bound=results["bound"],
            labels=results["labels"],
            assumptions=results["assumptions"] or (),
            half_width=results["half_width"],
            confidence=confidence if level is None else level,
            mechanism=payload.get("mechanism") or payload["calibration"],
            noise=payload["noise"],
            kind=payload.get("kind") or UNKNOWN,
            attained=payload.get("attained", False),
            groups=payload.get("groups", 1),
            stored=payload.get("stored", False),
            typical_error=None if typical is None else (typical[0], typical[1]),
            alternatives={name: tuple(item) if isinstance(item, list) else item for name, item in compared.items()},
            **{name: payload.get(name) for name in known},
        )

    def __str__(self) -> str:
        many = (
            " in each group" if self.groups is None else f" in each of {self.groups} groups" if self.groups > 1 else ""
        )
        assumed = "".join(f"; {assumption}" for assumption in self.assumptions)
        if self.kind == UNKNOWN:
            return f"{self.query}{many} for {self.loss} ({self.meaning}{assumed}; {self.mechanism})"
        error, bound = (_formatted(_each(item)) for item in (self.expected_error, self.bound))
        width = "" if self.half_width is None else f", interval about ± {_formatted(_each(self.half_width))}"
        floor = "" if self.floor is None else f", floor {_formatted((self.floor,))}"
        worst = (
            f"expected error {error}{floor}, {self.confidence:.0%} within {bound}{width} "
            f"({self.meaning}{assumed}; {self.mechanism})"
        )
        asked = f"{self.query}{many} for {self.loss}"
        if self.typical_error is None:
            return f"{asked}: {worst}"
        return f"{asked}: typical error {self.typical_text} ({SHAPES}); worst data: {worst}"

    @property
    def typical_text(self) -> str:
        """The typical range as people read it; nothing where there is none."""
        if self.typical_error is None:
            return ""
        least, most = (_formatted((end,)) for end in self.typical_error)
        return least if least == most else f"{least} to {most}"

    def __repr__(self) -> str:
        return f"<Quote {self}>"

    def _row(self) -> tuple[str, ...]:
        known = self.kind != UNKNOWN
        error, bound = (_formatted(_each(item)) if known else "not known" for item in (self.expected_error, self.bound))
        width = "" if self.half_width is None else f"± {_formatted(_each(self.half_width))}"
        said = "; ".join([self.meaning, *self.assumptions])
        return self.query, str(self.loss), self.typical_text, error, bound, width, said, self.mechanism

    def _repr_html_(self) -> str:
        return _table([self])


class Quotes(list[Quote]):
    """Quotes for several queries; ``loss`` is the privacy loss of all of them together."""

    def __init__(self, quotes: Iterable[Quote]) -> None:
        super().__init__(quotes)
        self.loss = sum((member.loss for member in self), Loss(0.0))

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return {"epsilon": self.loss.epsilon, "delta": self.loss.delta, "quotes": [member.to_dict() for member in self]}

    def __repr__(self) -> str:
        listed = "\n".join(f"  {member!r}" for member in self)
        return f"<Quotes, {self.loss} for all {len(self)}:\n{listed}\n>"

    def _repr_html_(self) -> str:
        return _table(self, note=f"{self.loss} for all {len(self)}")


def _table(quotes: Sequence[Quote], note: str = "") -> str:
    """Quotes as notebooks show them; what is typical comes first, where there is such a range."""
    confidence = quotes[0].confidence if quotes else LEVEL
    errors = ("typical error", "expected error", f"{confidence:.0%} within", "interval about")
    heads = ("question", "privacy loss", *errors, "these are", "mechanism")
    rows = [quote._row() for quote in quotes]
    kept = [place for place, head in enumerate(heads) if head != errors[0] or any(row[place] for row in rows)]
    return table_html([heads[place] for place in kept], [[row[place] for place in kept] for row in rows], note=note)


@dataclass(frozen=True)
class Figures:
    """Errors in the units of the column, and what they are."""

    expected: Any  # a number, or one for each that is released
    bound: Any  # likewise
    kind: str
    attained: bool = False
    half_width: Figure = None
    floor: float | None = None


def for_all_data(prepared: Prepared[Data], confidence: float, rows: int | None = None) -> Figures:
    """What the mechanism proves whatever the records are."""
    error = prepared.worst_case_error(confidence, rows)
    kind = EXACT if error.exact else UPPER_BOUND
    return _figures(prepared, error.expected, error.quantile, prepared.public_half_widths(), kind, error.attained)


def under_prior(
    prepared: Prepared[RankedRecords], prior: Prior, records_on: Grid, rows: int, confidence: float
) -> Figures:
    """Averages over samples of the prior, with the mechanism's own weights.

    Remembered, for all of it is public and the same samples give the same figures: columns that are declared alike
    share the work of a statement's quote.
    """
    try:
        hash((prepared, prior))
    except TypeError:  # (a mechanism with parts that have no hash)
        return _under_prior(prepared, prior, records_on, rows, confidence)
    return _remembered(prepared, prior, records_on, rows, confidence)


def _under_prior(
    prepared: Prepared[RankedRecords], prior: Prior, records_on: Grid, rows: int, confidence: float
) -> Figures:
    samples = [ImaginedColumn(prior, records_on, rows, number) for number in range(prepared.prior_samples)]
    return on_samples(prepared, samples, confidence)


_remembered = functools.lru_cache(maxsize=64)(_under_prior)


def over_shapes(
    prepared: Prepared[RankedRecords],
    records_on: Grid,
    rows: int,
    transformed: Callable[[float], float] | None = None,
) -> tuple[float, float]:
    """The least and the greatest expected error over the standard shapes within the grid's bounds.

    transformed: the rising function of the statistic that is released instead of it.
    """
    try:
        hash((prepared, transformed))
    except TypeError:  # (a mechanism with parts that have no hash)
        return _over_shapes(prepared, records_on, rows, transformed)
    return _remembered_range(prepared, records_on, rows, transformed)


def _over_shapes(
    prepared: Prepared[RankedRecords], records_on: Grid, rows: int, transformed: Callable[[float], float] | None
) -> tuple[float, float]:
    low, high = (float(records_on.value(end)) for end in records_on.ends)
    errors = []
    for shape in standard_shapes(low, high):
        samples = [ImaginedColumn(shape, records_on, rows, number) for number in range(FEWEST_SAMPLES)]
        laws = [Mixture(each) for each in zip(*(prepared.error_laws(sample) for sample in samples), strict=True)]
        error = max(_each(_figures(prepared, [law.mean for law in laws], [0.0] * len(laws), None, ESTIMATE).expected))
        errors.append(error if transformed is None else _after(transformed, prepared, samples[0], error))
    return min(errors), max(errors)


_remembered_range = functools.lru_cache(maxsize=256)(_over_shapes)


def _after(
    transformed: Callable[[float], float], prepared: Prepared[RankedRecords], sample: RankedRecords, error: float
) -> float:
    """The error of a rising function of one statistic, about its value on a sample."""
    statistic = prepared.statistic.single
    if statistic is None:
        raise NotApplicable("prior", "several numbers", "it is no function of one number", "quotes without a prior")
    step, (low, high) = float(statistic.answers.step), statistic.answers.ends
    value = step * statistic.value(sample)
    return (transformed(min(value + error, step * high)) - transformed(max(value - error, step * low))) / 2.0


def on_graphs(prepared: Prepared[Graph], prior: GraphPrior, vertices: int, confidence: float) -> Figures:
    """The same over graphs of a prior."""
    return on_samples(prepared, [prior.graph(vertices, number) for number in range(FEWEST_SAMPLES)], confidence)


def on_samples(prepared: Prepared[Data], samples: Sequence[Data], confidence: float) -> Figures:
    """Averages over data that stand for a prior, and the floor for them."""
    laws = [Mixture(each) for each in zip(*(prepared.error_laws(sample) for sample in samples), strict=True)]
    widths = [prepared.typical_half_widths(sample) for sample in samples[:FEWEST_SAMPLES]]
    known = [each for each in widths if each is not None]
    typical = tuple(math.fsum(each) / len(known) for each in zip(*known, strict=True)) if known else None
    expected, bound = [law.mean for law in laws], [law.quantile(1.0 - confidence) for law in laws]
    figures = _figures(prepared, expected, bound, typical, ESTIMATE)
    return dataclasses.replace(figures, floor=floor_on(prepared, samples[:FEWEST_SAMPLES]))


def floor_on(prepared: Prepared[Data], samples: Sequence[Data]) -> float | None:
    """The mean over samples of the least expected error on each of them and on its neighbours (V17 Proposition 3.1).

    None where the local sensitivity is not known exactly, or several numbers are released.
    """
    statistic = prepared.statistic.single
    if statistic is None:
        return None
    steps = [exact_local_sensitivity(statistic, sample) for sample in samples]
    known = [step for step in steps if step is not None]
    if len(known) < len(samples):
        return None
    return float(statistic.answers.step) * math.fsum(known) / len(known) * floor_share(prepared.loss)


def floor_share(loss: Loss) -> float:
    """The part of the local sensitivity that no private answer's expected error is below on two neighbours."""
    return (1.0 - loss.delta) / (1.0 + math.exp(loss.epsilon))


def _figures(
    prepared: Prepared[Data],
    expected: Sequence[float],
    bound: Sequence[float],
    widths: Sequence[float] | None,
    kind: str,
    attained: bool = False,
) -> Figures:
    """From grid steps to the units of the column."""
    statistic = prepared.statistic
    steps = [float(grid.step) for grid in statistic.answer_grids]

    def scaled(numbers: Sequence[float]) -> Figure:
        return statistic.released([step * number for step, number in zip(steps, numbers, strict=True)])

    return Figures(scaled(expected), scaled(bound), kind, attained, None if widths is None else scaled(widths))


def _each(value: Figure) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (math.inf if value is None else value,)


def _formatted(values: tuple[float, ...]) -> str:
    few = ", ".join(f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}" for value in values[:4])
    return few if len(values) == 1 else f"[{few}{', ...' if len(values) > 4 else ''}]"
