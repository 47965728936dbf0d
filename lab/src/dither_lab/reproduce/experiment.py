"""What an experiment is: measured points with intervals, claims of a paper, and a verdict on each."""

from __future__ import annotations

import enum
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from dither_lab.reproduce.intervals import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size: TypeAlias = Literal["tiny", "quick", "full"]
_T = TypeVar("_T")


class Verdict(enum.Enum):
    """How a claim of a paper stands to what was measured."""

    AGREES = "agrees"
    CORRECTED = "agrees after a correction"
    DISAGREES = "disagrees"
    UNTESTED = "not testable here"


@dataclass(frozen=True)
class Setting:
    """How much to do.  Hashable, so that measurements that several experiments share are made once."""

    size: Size = "full"

    def pick(self, *, tiny: _T, quick: _T, full: _T) -> _T:
        """One of three sizes of a measurement; tiny ones are for tests."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]

    def rng(self, name: str) -> np.random.Generator:
        """Repeatable draws of data for an experiment.  Noise of dither's own mechanisms is never repeatable."""
        return np.random.default_rng([2017, zlib.crc32(name.encode())])


@dataclass(frozen=True)
class Point:
    """One measured number: a row of the table, a place in the plot."""

    quantity: str
    series: str
    x: float
    y: Estimate


@dataclass(frozen=True)
class Judged:
    """What we found about a claim, in words with numbers, and the verdict; anything but agreement has a reason.

    Agreement may come with a remark: a bound that holds and could be better is no error of a paper.
    """

    verdict: Verdict
    ours: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict is not Verdict.AGREES and not self.why:
            raise ValueError("a verdict other than agreement needs a reason")


class MeasuredPoints(tuple[Point, ...]):
    """Measured points, with what judges and plots ask of them."""

    __slots__ = ()

    def of(self, quantity: str, series: str | None = None) -> MeasuredPoints:
        """Those of a quantity, or of one series of it, by rising x."""
        chosen = (p for p in self if p.quantity == quantity and (series is None or p.series == series))
        return MeasuredPoints(sorted(chosen, key=lambda p: p.x))

    def at(self, quantity: str, series: str, x: float) -> Estimate:
        """The one at x."""
        for point in self.of(quantity, series):
            if math.isclose(point.x, x):
                return point.y
        raise KeyError(f"{quantity}, {series}: nothing at {x:g}")

    def series(self, quantity: str) -> list[str]:
        """The names of the series of a quantity, in the order of measurement."""
        return list(dict.fromkeys(p.series for p in self if p.quantity == quantity))

    def follow(self, exponent: float, slack: float = 1.3) -> bool:
        """Whether the intervals of the first and the last are consistent with a power of x, up to a factor."""
        first, last = self[0], self[-1]
        expected = (last.x / first.x) ** exponent
        low, high = last.y.low / first.y.high / slack, slack * last.y.high / max(first.y.low, 1e-300)
        return bool(low <= expected <= high)

    @property
    def xs(self) -> np.ndarray:
        """Where they are."""
        return np.array([p.x for p in self])

    @property
    def ys(self) -> np.ndarray:
        """Their values."""
        return np.array([p.y.value for p in self])

    def changed(self, quantity: str, change: Callable[[Point], float], *series: str) -> MeasuredPoints:
        """With other values: ``change`` gives a factor for each point of a quantity (of some series of it)."""
        return MeasuredPoints(
            replace(p, y=p.y.times(change(p))) if p.quantity == quantity and (not series or p.series in series) else p
            for p in self
        )


MOST_CHANCE = 1e-5
"""No verdict may flip by chance more often than this."""


@dataclass(frozen=True)
class Chance:
    """How often a verdict flips by chance between two runs, at most, and how that is known."""

    bound: float | None
    """None for verdicts about time, which depend on the machine and on what else runs."""
    how: str

    def __post_init__(self) -> None:
        if self.bound is not None and not 0 <= self.bound <= MOST_CHANCE:
            raise ValueError(f"bound={self.bound:g}: must be at most {MOST_CHANCE:g}")

    def __str__(self) -> str:
        if self.bound is None:
            return f"not bounded: {self.how}"
        return f"{'0' if self.bound == 0 else f'at most {self.bound:.1g}'}: {self.how}"


EXACT = Chance(0.0, "computed, nothing is drawn")
SEEDED = Chance(0.0, "all that is drawn has a fixed seed")
TIMED = Chance(None, "a matter of time, which depends on the machine and its load")


@dataclass(frozen=True)
class Rule:
    """How a claim is decided, stated before the run."""

    hypothesis: str
    """What must be measured for the claim to hold, with its threshold."""
    reason: str
    """Why the threshold lies there."""
    chance: Chance = EXACT

    def __str__(self) -> str:
        return f"holds if {self.hypothesis}. Threshold: {self.reason}. Flips by chance: {self.chance}"


@dataclass(frozen=True)
class Claim:
    """One row of the report: where the paper says what, the rule, and how to judge by it."""

    where: str
    says: str
    judge: Callable[[MeasuredPoints], Judged]
    rule: Rule
    planted: Callable[[MeasuredPoints], MeasuredPoints]
    """The measurements as they would be if something were wrong; the verdict on them is another one."""


@dataclass(frozen=True)
class Experiment:
    """Something a paper shows, measured again."""

    paper: str
    key: str
    title: str
    measure: Callable[[Setting], Iterable[Point]]
    claims: Sequence[Claim]
    draw: Callable[[Figure, MeasuredPoints], None] | None = None
    note: str = ""
    """What was chosen where the paper leaves something open, and on which data."""
    data: tuple[str, ...] = ()
    """Names of the data sources in use (``sources``), for the report."""

    def run(self, setting: Setting) -> MeasuredPoints:
        """Measure."""
        return MeasuredPoints(self.measure(setting))


@dataclass(frozen=True)
class ClaimRow:
    """A judged claim."""

    where: str
    says: str
    rule: Rule
    judged: Judged


@dataclass(frozen=True)
class Reproduction:
    """All that came of an experiment."""

    experiment: Experiment
    points: MeasuredPoints
    rows: tuple[ClaimRow, ...]
    seconds: float
    """Of processor time."""
    sources: tuple[str, ...] = ()
    picture: bytes | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "paper": self.experiment.paper,
            "experiment": self.experiment.key,
            "title": self.experiment.title,
            "note": self.experiment.note,
            "data": list(self.sources),
            "processor_seconds": round(self.seconds, 2),
            "rows": [
                {
                    "where": row.where,
                    "paper": row.says,
                    "rule": str(row.rule),
                    "ours": row.judged.ours,
                    "verdict": row.judged.verdict.value,
                    "why": row.judged.why,
                }
                for row in self.rows
            ],
            "points": [{"quantity": p.quantity, "series": p.series, "x": p.x, **p.y.to_dict()} for p in self.points],
        }


def judged(experiment: Experiment, points: MeasuredPoints) -> tuple[ClaimRow, ...]:
    """Every claim with its verdict."""
    return tuple(ClaimRow(claim.where, claim.says, claim.rule, claim.judge(points)) for claim in experiment.claims)


def agrees(ours: str, remark: str = "") -> Judged:
    """The paper is right."""
    return Judged(Verdict.AGREES, ours, remark)


def corrected(ours: str, why: str) -> Judged:
    """The paper is right once something is put right."""
    return Judged(Verdict.CORRECTED, ours, why)


def disagrees(ours: str, why: str) -> Judged:
    """The paper is wrong, or what it shows does not show again."""
    return Judged(Verdict.DISAGREES, ours, why)


def untested(ours: str, why: str) -> Judged:
    """What was measured here decides nothing."""
    return Judged(Verdict.UNTESTED, ours, why)


def settle(holds: bool, ours: str, otherwise: str, *, correction: str = "", remark: str = "") -> Judged:
    """Agreement (with a correction where there is one to make) if the measurements bear a claim out, else not."""
    if not holds:
        return disagrees(ours, otherwise)
    return corrected(ours, correction) if correction else agrees(ours, remark)
