"""What a description says, as text, JSON and HTML, and the schema that it drafts.  Nothing here is private any more."""

from __future__ import annotations

import datetime
import html
import io
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import InvalidArgument
from dither.plain import Json, plain
from dither.privacy import Loss
from dither.release import Release
from dither.sources.grid import MOST_STEPS
from dither.sources.lines import USUAL, TextLayout
from dither.sources.schema import Schema
from dither.sources.schema_file import dump_schema
from dither.sources.types import Boolean, Category, ColumnType, Date, Integer, Real
from dither.wording import formatted

if TYPE_CHECKING:
    from dither.descriptions.reading import Storage

STRETCH = {"2%": 1, "1%": 1, "5%": 2, "10%": 2, "25%": 4}
"""By how many distances from the median to an outer quantile drafted bounds lie beyond it."""
_UNKNOWN: dict[str, ColumnType] = {
    "whole": Real(None, None),
    "real": Real(None, None),
    "date": Date(datetime.date.min, datetime.date.max),
}
MOST_LISTED = 12
"""So many frequent values are printed; JSON has all."""
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222;
  background: #fff; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; }
td { padding: .15rem .8rem .15rem 0; text-align: left; }
td.number { text-align: right; }
figure { margin: .5rem 0; }
figure svg { max-width: 100%; height: auto; }
small { color: #555; }
pre { background: #f4f4f4; padding: .8rem; overflow: auto; }
"""


@dataclass(frozen=True)
class Share:
    """A share of all records, with its interval."""

    value: float
    interval: tuple[float, float] | None = None

    @classmethod
    def left(cls, count: int, ends: tuple[int, int] | None, records: int) -> Share:
        """The share of the records that were not counted."""
        interval = None if ends is None else (_unit(1 - ends[1] / records), _unit(1 - ends[0] / records))
        return cls(_unit(1 - count / records), interval)

    @classmethod
    def of(cls, counts: Release, labels: tuple[str, ...], records: int) -> Share:
        """The share of some bins of a histogram; the intervals of several are added up."""
        rows = [row for row in counts.rows() if row[0] in labels]
        value = _unit(sum(max(count, 0) for _, count, _ in rows) / records)
        if any(ends is None for *_, ends in rows):
            return cls(value)
        low, high = (sum(max(ends[side], 0) for *_, ends in rows) / records for side in (0, 1))
        return cls(value, (_unit(low), _unit(high)))

    def count(self, records: int) -> int:
        """How many records are not of this share; all of them where none may be."""
        if self.value == 0 or (self.interval is not None and self.interval[0] == 0):
            return records
        return round((1 - self.value) * records)

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON."""
        return {"value": self.value, "interval": None if self.interval is None else list(self.interval)}

    def __str__(self) -> str:
        between = "" if self.interval is None else f" ({self.interval[0]:.1%} to {self.interval[1]:.1%})"
        return f"{self.value:.1%}{between}"


def _unit(share: float) -> float:
    return min(max(share, 0.0), 1.0)


@dataclass(frozen=True)
class ColumnDescription:
    """What is said of one column."""

    name: str
    type_name: Storage | str
    is_paid: bool = False
    """Whether its type was found among private entries; else it is how the column is stored."""
    missing: Share | None = None
    unreadable: Share | None = None
    """Entries that are there and not of the type; None where the storage allows none."""
    quantiles: Release | None = None
    frequent: Release | None = None
    """Values that many records share, with their counts; those of few people are never shown."""
    note: str | None = None
    releases: tuple[Release, ...] = field(default=(), repr=False)
    """Everything that was released about the column, as it was asked."""

    @property
    def declared(self) -> ColumnType | None:
        """The type that a schema may declare, with bounds that were paid for; None where there is none for it.

        Where too few values are present for bounds, numbers are declared without and dates with those of all calendars.
        """
        if self.type_name == "boolean":
            return Boolean()
        if self.frequent is not None:
            labels = tuple(label for label in self.frequent.labels or () if label not in ("missing", "other"))
            return Category(labels or None)
        if self.quantiles is None or self.quantiles.value is None:
            return _UNKNOWN.get(self.type_name)
        low, high = _reach(self.quantiles)
        if self.type_name == "date":
            return Date(datetime.date(_year(low), 1, 1), datetime.date(_year(high), 12, 31))
        ends = _rounded_outward(low, high)
        if self.type_name == "whole" and max(*map(abs, ends), ends[1] - ends[0]) <= MOST_STEPS:
            return Integer(int(ends[0]), int(ends[1]))
        return Real(*ends)

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "type": self.type_name,
            "type_paid": self.is_paid,
            "missing": None if self.missing is None else self.missing.to_dict(),
            "unreadable": None if self.unreadable is None else self.unreadable.to_dict(),
            "quantiles": None if self.quantiles is None else self.quantiles.to_dict(),
            "frequent": None if self.frequent is None else self.frequent.to_dict(),
            "note": self.note,
        }

    def lines(self) -> Iterator[str]:
        """For a terminal."""
        yield f"{self.name}: {self._head()}"
        for title, release in (("quantiles", self.quantiles), ("frequent values", self.frequent)):
            if release is not None:
                rows = release.rows()
                width = max((len(label) for label, *_ in rows[:MOST_LISTED]), default=0)
                if not rows:
                    yield f"  no value is frequent enough to be shown ({title})"
                for label, value, ends in rows[:MOST_LISTED]:
                    yield f"  {label:<{width}}  {formatted(value)}{_between(ends)}"
                if len(rows) > MOST_LISTED:
                    yield f"  ... and {len(rows) - MOST_LISTED} more"

    def _head(self) -> str:
        said = [f"{self.type_name}{' (paid for)' if self.is_paid else ''}"]
        said += [] if self.missing is None else [f"missing {self.missing}"]
        said += [] if self.unreadable is None else [f"unreadable {self.unreadable}"]
        return "; ".join([*said, *([] if self.note is None else [self.note])])

    def html(self) -> str:
        """A heading, a table and a picture."""
        parts = [f"<h2>{html.escape(self.name)}</h2><p>{html.escape(self._head())}</p>"]
        for release in (self.quantiles, self.frequent):
            if release is not None and release.rows():
                body = "".join(
                    f"<tr><td>{html.escape(label)}</td><td class=number>{html.escape(formatted(value))}</td>"
                    f"<td>{html.escape(_between(ends))}</td></tr>"
                    for label, value, ends in release.rows()
                )
                parts.append(f"<table>{body}</table>{_picture(release, is_count=release is self.frequent)}")
            elif release is not None:
                parts.append("<p>No value is frequent enough to be shown.</p>")
        return "".join(parts)


@dataclass(frozen=True)
class Description:
    """A described table: iterate over its columns, or take one by name."""

    columns: tuple[ColumnDescription, ...]
    records: int
    loss: Loss
    """Of everything together, intervals included."""
    confidence: float | None
    source: str | None = None
    layout: TextLayout = field(default=USUAL, repr=False)

    def __iter__(self) -> Iterator[ColumnDescription]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnDescription:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def title(self) -> str:
        """How many records and columns, and what everything cost."""
        hold = "" if self.confidence is None else f"; {self.confidence:.0%} intervals, which hold one by one"
        return f"{self.records:,} records, {len(self.columns)} columns; {self.loss} for everything{hold}"

    def schema(self, source: str | None = None, *, name: str = "data") -> Schema:
        """A draft: types and bounds as they were released, rounded outward.  Look at it before you register it."""
        declared = {column.name: result for column in self.columns if (result := column.declared) is not None}
        where = source or self.source
        if where is None:
            raise InvalidArgument("source", source, "pass the path or address where the table is stored")
        if not declared:
            raise InvalidArgument("columns", [], "nothing was found that a schema could declare")
        return Schema(where, declared, name, rows=self.records, layout=self.layout)

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON."""
        return {
            "records": self.records,
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            "neighbours": "change-one",
            "confidence": self.confidence,
            "columns": [column.to_dict() for column in self.columns],
            "schema": {
                column.name: plain(column.declared.to_dict()) for column in self.columns if column.declared is not None
            },
        }

    def __str__(self) -> str:
        return "\n".join([self.title, *(line for column in self.columns for line in ("", *column.lines()))])

    def _repr_html_(self) -> str:
        return f"<div><p>{html.escape(self.title)}</p>{''.join(column.html() for column in self.columns)}</div>"

    def to_html(self) -> str:
        """A page of its own, with pictures, that asks nothing of other hosts."""
        name = html.escape(Path(self.source).name if self.source else "a table")
        draft = ""
        if any(column.declared is not None for column in self.columns):
            text = html.escape(dump_schema(self.schema(self.source or "FILE")))
            said = "<p><small>Bounds were paid for and rounded outward.</small></p>"
            draft = f"<h2>A schema to begin with</h2>{said}<pre>{text}</pre>"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}, described privately</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
            f"<body><h1>{name}</h1>{self._repr_html_()}{draft}</body></html>"
        )


def _between(ends: tuple[Hashable, Hashable] | None) -> str:
    return "" if ends is None else f" ({formatted(ends[0])} to {formatted(ends[1])})"


def _picture(release: Release, *, is_count: bool) -> str:
    """A drawing as part of a page."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to load)

    from dither.plots import draw_histogram, draw_rows  # noqa: PLC0415

    rows = len(release.rows())
    figure = Figure(figsize=(6.4, min(0.9 + 0.28 * rows, 6.0)))
    labels, values, ends = zip(*release.rows(), strict=True)
    ax = figure.add_subplot()
    if is_count:
        draw_histogram(ax, release)
    else:
        draw_rows(ax, list(values), list(ends), list(labels))
        if not any(isinstance(value, datetime.date) for value in values):
            (left, right), (first, last) = ax.get_xlim(), _near(values)
            # An interval that reaches farther runs out of the picture; the table has its ends.
            ax.set_xlim(max(left, first), min(right, last))
    file = io.StringIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    drawn = file.getvalue()
    label = html.escape(
        f"{release.query}: {', '.join(f'{item} {formatted(value)}' for item, value, _ in release.rows()[:9])}"
    )
    return f'<figure role="img" aria-label="{label}">{drawn[drawn.index("<svg") :]}</figure>'


def _reach(quantiles: Release) -> tuple[float, float]:
    """Beyond the outer quantiles, by their distances from the median; not below zero if none of them is.

    Of days in days, counted as ``date.toordinal`` does.
    """
    values = [_number(part) for part in quantiles.value]
    ends = [(_number(low), _number(high)) for low, high in quantiles.interval or [(value, value) for value in values]]
    stretch = STRETCH[(quantiles.labels or ("25%",))[0]]
    first, last = _near(values)
    middle, low, high = values[len(values) // 2], min(values[0], ends[0][0]), max(values[-1], ends[-1][1])
    low, high = max(low, first), min(high, last)
    beyond = low + stretch * (low - middle), high + stretch * (high - middle)
    return (max(beyond[0], 0.0) if low >= 0 else beyond[0]), beyond[1]


def _near(values: Sequence[float]) -> tuple[float, float]:
    """As far beyond the outer quantiles as these lie apart: one interval in a hundred reaches to any magnitude."""
    apart = values[-1] - values[0]
    return (values[0] - apart, values[-1] + apart) if apart > 0 else (-math.inf, math.inf)


def _number(item: float | datetime.date) -> float:
    return item.toordinal() if isinstance(item, datetime.date) else item


def _year(day: float) -> int:
    return datetime.date.fromordinal(int(min(max(day, 1), datetime.date.max.toordinal()))).year


def _rounded_outward(low: float, high: float) -> tuple[Decimal, Decimal]:
    """Both ends to one digit of the larger: public once the numbers are.

    >>> _rounded_outward(17, 89), _rounded_outward(0, 0)
    ((Decimal('10'), Decimal('90')), (Decimal('0'), Decimal('1')))
    """
    size = max(abs(low), abs(high))
    step = Decimal(10) ** (math.floor(math.log10(size)) if size > 0 else 0)
    ends = (
        (Decimal(low) / step).to_integral(ROUND_FLOOR) * step,
        (Decimal(high) / step).to_integral(ROUND_CEILING) * step,
    )
    first, last = (Decimal(f"{end:f}") for end in ends)
    return first, last if last > first else first + step
