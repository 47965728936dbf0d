"""HAVING, ORDER BY and LIMIT: which released groups are given, and in which order.

All of it is computed from releases alone: it costs nothing, and says nothing that these do not say.
"""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dither.release import Release

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Having:
    """A released number against a constant."""

    item: int
    operator: str
    number: Decimal


@dataclass(frozen=True)
class SortKey:
    """What groups are sorted by: a released number, or a column that they are grouped by."""

    item: int | None
    column: str | None = None
    descending: bool = False


@dataclass(frozen=True)
class RowOrder:
    """What becomes of the groups once they are released."""

    having: tuple[Having, ...] = ()
    keys: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0

    def applied(self, answers: Sequence[Sequence[Release]]) -> list[list[Release]]:
        """The releases of each item, of the groups that are kept, in their order."""
        groups: dict[str, dict[int, Release]] = {}
        for item, each in enumerate(answers):
            for release in each:
                groups.setdefault(repr(release.group), {})[item] = release
        rows = [row for row in groups.values() if all(_holds(row, condition) for condition in self.having)]
        for key in reversed(self.keys):
            known = [row for row in rows if _sorted_by(row, key) is not None]
            known.sort(key=lambda row: _sorted_by(row, key) or (0, 0.0, ""), reverse=key.descending)
            rows = known + [row for row in rows if _sorted_by(row, key) is None]
        end = None if self.limit is None else self.offset + self.limit
        rows = rows[self.offset : end]
        return [[row[item] for row in rows if item in row] for item in range(len(answers))]


def _number(release: Release | None) -> float | None:
    """A release that is one number."""
    value = None if release is None else release.value
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None


def _holds(row: dict[int, Release], condition: Having) -> bool:
    number = _number(row.get(condition.item))
    return number is not None and COMPARISONS[condition.operator](number, float(condition.number))


def _sorted_by(row: dict[int, Release], key: SortKey) -> tuple[int, float, str] | None:
    if key.item is not None:
        number = _number(row.get(key.item))
        return None if number is None else (0, number, "")
    group = next(iter(row.values())).group or {}
    value = group.get(str(key.column))
    if isinstance(value, str):
        return (1, 0.0, value)
    if isinstance(value, datetime.date):
        return (0, float(value.toordinal()), "")
    return None if value is None else (0, float(value), "")
