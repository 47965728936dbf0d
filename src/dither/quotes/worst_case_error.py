"""Whether the number of records improves what holds for all data."""

from __future__ import annotations

from dither.statistics.statistic import Statistic, VectorStatistic


def needs_rows(statistic: Statistic | VectorStatistic) -> bool:
    """True if the bound for all data is better where the number of records is known."""
    return statistic.ladder_of_count(1) is not None
