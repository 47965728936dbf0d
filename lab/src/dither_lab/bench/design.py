"""What a comparison is: data, our way, the others' ways, what is measured, and what was promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Dataset = dict[str, Any]
"""Arrays, and names of files as strings."""
Score = Callable[[Any, Dataset], float | tuple[float, ...]]
"""How far an answer is off; several numbers stand for several definitions, of which each way gets the kindest."""

CHANGE_ONE = "change one record"
CHANGE_EDGE = "add or remove one edge"
OURS = "dither"
ORACLE = "Laplace noise of the local sensitivity (not private)"
"""Half of the local sensitivity is missed on the data or on a neighbour of them, whatever is done (V17 Prop. 3.1)."""


@dataclass(frozen=True)
class Way:
    """One way to do the work: whose, which task of its worker, and how."""

    who: str
    task: str
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    items: int = 1
    """What one answer consists of: times are divided by it."""
    absent: str | None = None
    """Why it takes no part here: shown in its row."""
    note: str = ""

    @property
    def title(self) -> str:
        """Its name in tables."""
        return self.label or self.who


class DataMissing(Exception):
    """The data of a comparison can't be had here; the reason stands in its rows."""


@dataclass(frozen=True)
class Data:
    """Datasets by number; ``source`` says whether they are real, generated, or stand in for real ones."""

    name: str
    make: Callable[[int, Path], Dataset]
    """Makes dataset ``index``; larger files go into the folder."""
    count: int = 1
    source: str = "generated"


@dataclass(frozen=True)
class Asked:
    """A figure that was promised: a limit for the ratio or for our own value of a measure."""

    measure: str
    limit: float
    of: str = "ratio"
    peers: tuple[str, ...] = ()
    """The rows that it is about; all if empty."""

    def __str__(self) -> str:
        if self.of == "ratio":
            return f"ratio <= {self.limit:g}"
        if self.measure != "time":
            return f"ours <= {self.limit:g}"
        return f"ours <= {self.limit:g} s" if self.limit >= 1e-3 else f"ours <= {1e6 * self.limit:.3g} µs"


@dataclass(frozen=True)
class MeasuringEffort:
    """Rounds (each on the next dataset), the most answers in each, and the most seconds for them."""

    rounds: int = 5
    calls: int = 1
    seconds: float = 1.0


@dataclass(frozen=True)
class Comparison:
    """One subject: all its ways take turns, on the same datasets, at the same guarantee."""

    name: str
    what: str
    data: Data
    ours: Way
    others: tuple[Way, ...] = ()
    measures: tuple[str, ...] = ("time",)
    """Some of "error", "time", "memory": every one gives rows."""
    guarantee: str = "no privacy involved"
    neighbours: str = "-"
    score: Score | None = None
    quantity: str = "error"
    """What the score is, where it is not an error."""
    unit: str = ""
    """Of the score."""
    centre: str = "mean"
    """Errors of several datasets: "mean" or "median"."""
    effort: MeasuringEffort = MeasuringEffort()
    asked: tuple[Asked, ...] = ()
    clock: str | None = None
    """"wall" where the work is done by other processes; else the clock of the run counts."""
    series: str | None = None
    """Comparisons of one series differ in size: their times also give a rate of growth."""
    size: int | None = None


@dataclass(frozen=True)
class Area:
    """A list of comparisons, for a full or a quick run."""

    name: str
    title: str
    comparisons: Callable[[bool], list[Comparison]]
