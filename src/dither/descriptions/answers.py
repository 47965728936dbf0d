"""``describe``: all questions of a plan, asked column by column through the one way to an answer."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dither.answer import answer
from dither.descriptions.description import ColumnDescription, Description, Share
from dither.descriptions.plan import DescriptionPlan
from dither.descriptions.reading import EPOCH, KINDS, Kind, StoredColumn, file_columns, frame_columns
from dither.release import Release
from dither.sources.lines import USUAL, TextLayout

if TYPE_CHECKING:
    from dither.descriptions.grids import Codes
    from dither.typing import Column, Confidence, Frame, Number

FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - EPOCH, datetime.date.max.toordinal() - EPOCH
TOO_FEW = "too few values are present for quartiles"
MOST_OTHERS = Fraction(1, 2)
"""An untyped column is of numbers, or of dates, where more than this share of what is present is."""


def describe(
    data: Frame | Mapping[str, Column] | str | Path,
    *,
    epsilon: Number,
    delta: Number,
    confidence: Confidence = 0.95,
    layout: TextLayout = USUAL,
) -> Description:
    """A table that nobody may look at: types, shares missing, quartiles, tails and frequent values of all columns.

    No bounds and no categories are needed.  The number of records, the names of the columns and how they are stored are
    public; neighbours change one record.

    data: a frame (pandas, Polars, Arrow, a DuckDB relation, Spark), a mapping of names to columns, or the path of a CSV
        or Parquet file.  A CSV file stores no types: what its columns hold is paid for.
    epsilon, delta: the whole privacy loss of everything; delta must be above 0 (1e-6 is usual).  Every column gets the
        same part, so fewer columns are described better.  Where there are too few records for that many columns, the
        call is refused before anything is read, with what would be enough.
    confidence: of each interval; None gives none, and more accurate quantiles.
    layout: how a text file is laid out.

    >>> import numpy as np
    >>> found = describe({"age": np.arange(20_000) % 80}, epsilon=1.0, delta=1e-6)
    >>> 35 < found["age"].quantiles.value[2] < 45
    True
    """
    is_file = isinstance(data, (str, Path))
    columns, records = file_columns(data, layout) if isinstance(data, (str, Path)) else frame_columns(data)
    plan = DescriptionPlan.of(
        [(column.name, column.storage) for column in columns], records, epsilon, delta, confidence
    )
    described = tuple(_described(column.held(), plan) for column in columns)
    level = None if plan.confidence is None else float(plan.confidence)
    return Description(described, records, plan.loss, level, str(data) if is_file else None, layout)


def _described(column: StoredColumn, plan: DescriptionPlan) -> ColumnDescription:
    if column.storage == "other":
        return ColumnDescription(column.name, "not described", note="of a type that holds neither numbers nor texts")
    if column.storage == "untyped":
        return _untyped(column, plan)
    kind: Kind = "text" if column.storage == "text" or column.storage == "boolean" else column.storage
    values = column.texts() if kind == "text" else column.numbers(kind)
    there = [math.nan if value is None or value != value else 1.0 for value in values]
    query, options = plan.presence()
    result = answer(query, np.array(there), options)
    missing = Share.left(result.value, result.interval, plan.records)
    type_name = "boolean" if column.storage == "boolean" else kind
    counted = ColumnDescription(column.name, type_name, missing=missing, releases=(result,))
    return _summarised(counted, column, kind, plan, missing.count(plan.records))


def _untyped(column: StoredColumn, plan: DescriptionPlan) -> ColumnDescription:
    """What most entries are was paid for; entries that are something else are unreadable."""
    query, options = plan.kinds()
    result = answer(query, column.kinds(), options)
    counts = {name: max(count, 0) for name, count, _ in result.rows()}
    numbers = counts["whole"] + counts["real"]
    present = numbers + counts["date"] + counts["text"]
    kind: Kind = "text"
    if numbers > MOST_OTHERS * present:
        kind = "real" if _has_fractions(result, numbers) else "whole"
    elif counts["date"] > MOST_OTHERS * present:
        kind = "date"
    read = {"whole": ("whole", "real"), "real": ("whole", "real"), "date": ("date",), "text": KINDS}[kind]
    missing = Share.of(result, ("other",), plan.records)
    unreadable = Share.of(result, tuple(name for name in KINDS if name not in read), plan.records)
    counted = ColumnDescription(
        column.name, kind, is_paid=True, missing=missing, unreadable=unreadable, releases=(result,)
    )
    readable = max(missing.count(plan.records) - (plan.records - unreadable.count(plan.records)), 0)
    return _summarised(counted, column, kind, plan, readable)


def _has_fractions(release: Release, numbers: int) -> bool:
    """Whether numbers with a fraction are more than 2% of all, and more than noise: three reaches of the interval."""
    _, count, ends = next(row for row in release.rows() if row[0] == "real")
    noise = numbers / 20 if ends is None else 3 * (ends[1] - count)
    return bool(count > max(numbers / 50, noise))


def _summarised(
    counted: ColumnDescription, column: StoredColumn, kind: Kind, plan: DescriptionPlan, present: int
) -> ColumnDescription:
    if kind == "text":
        return _with_frequent(counted, column, plan)
    asked = plan.quantiles(kind, present)
    if asked is None:
        return replace(counted, note=TOO_FEW)
    query, options, codes, shares = asked
    coded = answer(query, codes.of(column.numbers(kind)), options)
    release = _decoded(coded, codes, kind, column.name, shares)
    if release is None:
        return replace(counted, note=TOO_FEW, releases=(*counted.releases, coded))
    return replace(counted, quantiles=release, releases=(*counted.releases, release))


def _with_frequent(counted: ColumnDescription, column: StoredColumn, plan: DescriptionPlan) -> ColumnDescription:
    query, options = plan.frequent()
    result = answer(query, ["missing" if text is None else text for text in column.texts()], options)
    release = replace(result, query=f"frequent values of {column.name}")
    return replace(counted, frequent=release, releases=(*counted.releases, release))


def _decoded(coded: Release, codes: Codes, kind: Kind, name: str, shares: tuple[Fraction, ...]) -> Release | None:
    """The quantiles of codes as those of numbers or days; None where one is that of missing entries."""
    numbers = [codes.value(int(code)) for code in coded.value]
    if any(number is None for number in numbers):
        return None
    ends = None if coded.interval is None else [codes.ends(int(low), int(high)) for low, high in coded.interval]
    return replace(
        coded,
        range=None,  # that of the codes
        value=tuple(_plain(number, kind) for number in numbers if number is not None),
        interval=None if ends is None else tuple((_plain(low, kind), _plain(high, kind)) for low, high in ends),
        query=f"quantiles of {name}",
        labels=tuple(f"{float(share):.0%}" for share in shares),
    )


def _plain(number: float, kind: Kind) -> float | int | datetime.date:
    if kind == "date":
        return datetime.date.fromordinal(int(min(max(number, FIRST_DAY), LAST_DAY)) + EPOCH)
    return int(number) if kind == "whole" else number
