"""``dither bench --compare``: which ratios are worse than a record, twice in a row.

A ratio is worse if it is above the recorded one by a third and by three widths of the recorded interval: what is noisy
is given room.  A row that is worse is measured again by itself before it counts, because one bad minute of a machine is
no loss of speed.  Run by people, before a release; machines of continuous integration measure other things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dither_lab.bench.intervals import Figure
from dither_lab.bench.result_rows import ResultRow

FACTOR = 4.0 / 3.0
WIDTHS = 3.0


@dataclass(frozen=True)
class WorseRow:
    """A ratio that was worse than its record twice in a row."""

    key: str
    recorded: Figure
    first: Figure
    second: Figure

    def __str__(self) -> str:
        return f"{self.key}: {self.first.value:.3g} and again {self.second.value:.3g}, recorded {self.recorded}"


@dataclass(frozen=True)
class Compared:
    """What became of the rows of a run."""

    worse: list[WorseRow]
    compared: int
    unrecorded: list[str]
    """Rows whose ratio the record does not have, or has by another clock."""

    def __str__(self) -> str:
        counts = f"{len(self.worse)} worse twice in a row, {len(self.unrecorded)} not in the record"
        return "\n".join([f"{self.compared} ratios compared with the record: {counts}", *map(str, self.worse)])


def is_worse(now: Figure, then: Figure) -> bool:
    """Whether a ratio is above its record by a third and by three widths of the recorded interval.

    >>> is_worse(Figure(1.5, 1.4, 1.6), Figure(1.0, 0.95, 1.05)), is_worse(Figure(1.5, 1.4, 1.6), Figure(1.0, 0.8, 1.2))
    (True, False)
    """
    return now.value > then.value * FACTOR and now.value > then.value + WIDTHS * (then.high - then.low)


def compare(
    rows: Iterable[ResultRow], record: Iterable[ResultRow], again: Callable[[ResultRow], ResultRow | None]
) -> Compared:
    """Compare the ratios of a run with those of a record; ``again`` measures one row by itself.

    Ratios of growth belong to several sizes and are not compared: the times of every size are.
    """
    recorded = {row.key: row for row in record if row.ratio is not None}
    worse: list[WorseRow] = []
    unrecorded: list[str] = []
    count = 0
    for row in rows:
        if row.ratio is None or row.measure == "growth":
            continue
        then = recorded.get(row.key)
        if then is None or then.ratio is None or (row.measure == "time" and then.clock != row.clock):
            unrecorded.append(row.key)
            continue
        count += 1
        if not is_worse(row.ratio, then.ratio):
            continue
        second = again(row)
        if second is not None and second.ratio is not None and is_worse(second.ratio, then.ratio):
            worse.append(WorseRow(row.key, then.ratio, row.ratio, second.ratio))
    return Compared(worse, count, unrecorded)


def comparison_of(row: ResultRow) -> str:
    """The name of the comparison that a row is of; names of peers may have slashes too."""
    return row.key.removeprefix(f"{row.area}/").removesuffix(f"/{row.measure}/{row.peer}")
