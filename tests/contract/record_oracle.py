"""The declared reading of records and the statistics of it, by brute force: what every engine must agree with.

Nothing here is fast or shared with the package.  A record is a Python value: None, a number, a date, a truth value or a
text.  It becomes a number or nothing by itself, whatever the other records are; then it is clamped and rounded to the
declared grid, and only then records meet.
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

EPOCH = datetime.date(1970, 1, 1)
FINE = 2.0**-36
"""Where the number of records is private, a mean is computed in steps of at most this share of the bounds."""


def number(record: Any) -> float | None:
    """A record as a double; None if it is missing.  NaN is missing, and so is a text that is no number."""
    if record is None:
        return None
    if isinstance(record, datetime.datetime):
        return float((record.date() - EPOCH).days)
    if isinstance(record, datetime.date):
        return float((record - EPOCH).days)
    if isinstance(record, str):
        text = record.strip()
        if not text.isascii():
            return None
        try:
            record = float(text)
        except ValueError:
            return None
    if isinstance(record, Decimal) and record.is_nan():
        return None
    try:
        value = float(record)
    except OverflowError:
        value = math.inf if record > 0 else -math.inf
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class Declared:
    """Bounds, step and null policy of a column, as a schema says them."""

    lower: Fraction
    upper: Fraction
    step: Fraction
    nulls: Any = None

    @property
    def ends(self) -> tuple[int, int]:
        """The multiples of the step at either end."""
        return math.ceil(self.lower / self.step), math.floor(self.upper / self.step)

    def missing(self) -> int:
        """The steps that a missing record counts as."""
        low, high = self.ends
        if self.nulls in (None, "lower", "drop"):
            return low
        return high if self.nulls == "upper" else round(Fraction(self.nulls) / self.step)

    def steps(self, record: Any) -> int | None:
        """A record in steps of the grid: clamped, rounded with ties to even; None if it is left out."""
        value = number(record)
        low, high = self.ends
        if value is None:
            return None if self.nulls == "drop" else self.missing()
        if value in (math.inf, -math.inf):
            return high if value > 0 else low
        if self.step.denominator & (self.step.denominator - 1) == 0:
            return min(max(round(Fraction(value) / self.step), low), high)
        # A step such as 0.01 is no double: numbers are divided by the double next to it.
        return min(max(round(value / float(self.step)), low), high) if abs(value) < 1e300 else (high, low)[value < 0]

    def read(self, records: list[Any]) -> list[int]:
        """All records that are not left out, sorted."""
        return sorted(one for one in map(self.steps, records) if one is not None)


@dataclass(frozen=True)
class Asked:
    """A statistic: the query, its brute force, and whether it is answered where the number of records is private."""

    name: str
    query: Callable[[str], Any]
    """The query object for a column."""
    truth: Callable[[list[int], Declared, bool], Any]
    """From sorted steps, the declaration, and whether the number of records is private."""
    private: bool = True
    tolerance: float = 0.0
    """Of the private form, as a share of the bounds."""
    has_ladder: bool = True
    dates: bool = True
    """Whether it can be asked of dates."""
    least: int = 1
    """How many records it needs where their number is public."""


def at(steps: list[int], rank: int, declared: Declared) -> int:
    """The value at a rank; the bounds stand in below the first and above the last record."""
    if rank < 1:
        return declared.ends[0]
    return steps[rank - 1] if rank <= len(steps) else declared.ends[1]


def rank(share: Fraction, records: int) -> int:
    """The rank of a quantile."""
    return max(1, math.ceil(share * records))


def quantile(share: Fraction) -> Callable[[list[int], Declared, bool], Fraction]:
    """The value that a share of the records does not exceed."""
    return lambda steps, declared, private: declared.step * at(steps, rank(share, len(steps)), declared)


def total(steps: list[int], declared: Declared, private: bool) -> Fraction:
    """The sum."""
    return declared.step * sum(steps)


def mean(steps: list[int], declared: Declared, private: bool) -> Fraction:
    """The mean; of no records the middle of the bounds."""
    return declared.step * (Fraction(sum(steps), len(steps)) if steps else Fraction(sum(declared.ends), 2))


def trimmed_mean(share: Fraction) -> Callable[[list[int], Declared, bool], Fraction]:
    """The mean without a share of the records at either end."""

    def truth(steps: list[int], declared: Declared, private: bool) -> Fraction:
        cut = math.floor(share * len(steps))
        kept = steps[cut : len(steps) - cut]
        return declared.step * Fraction(sum(kept), len(kept))

    return truth


def variance(ddof: int) -> Callable[[list[int], Declared, bool], Fraction]:
    """The mean squared distance from the mean."""

    def truth(steps: list[int], declared: Declared, private: bool) -> Fraction:
        if private and len(steps) <= ddof:
            return Fraction(0)
        middle = Fraction(sum(steps), len(steps))
        return declared.step**2 * sum((one - middle) ** 2 for one in steps) / (len(steps) - ddof)

    return truth


def iqr(steps: list[int], declared: Declared, private: bool) -> Fraction:
    """The distance between the quartiles."""
    low, high = (at(steps, rank(Fraction(part, 4), len(steps)), declared) for part in (1, 3))
    return declared.step * (high - low)


def smallest(k: int) -> Callable[[list[int], Declared, bool], Fraction]:
    """The sum of the smallest records; those that are not there count as the upper bound."""
    return lambda steps, declared, private: declared.step * sum(at(steps, one, declared) for one in range(1, k + 1))


def bins(records: list[Any], edges: list[float], declared: Declared) -> tuple[int, ...]:
    """How many records lie between edges; those outside are in the first and the last bin."""
    counts = [0] * (len(edges) - 1)
    for record in records:
        value = number(record)
        if value is None:
            if declared.nulls == "drop":
                continue
            value = float(min(max(declared.step * declared.missing(), edges[0]), edges[-1]))
        counts[min(max(sum(value >= edge for edge in edges) - 1, 0), len(counts) - 1)] += 1
    return tuple(counts)


def categories(records: list[Any], names: list[str]) -> tuple[int, ...]:
    """How many records are each name, and how many are anything else."""
    counts = [sum(record == name for record in records) for name in names]
    return (*counts, len(records) - sum(counts))


def plain(value: Any) -> Any:
    """A number as the package shows it: the nearest double."""
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    return value.numerator / value.denominator if isinstance(value, Fraction) else value
