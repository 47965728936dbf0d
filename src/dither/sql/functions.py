"""The functions that a SELECT list may use, and the queries they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dither.errors import InvalidArgument, InvalidText
from dither.queries.order import Maximum, Median, Minimum, Quantile, Quantiles
from dither.queries.query import Query
from dither.queries.spread import IQR, Variance
from dither.queries.totals import Count, Mean, Sum, TrimmedMean
from dither.queries.vectors import Histogram
from dither.sql.tokens import Word, Words


@dataclass(frozen=True)
class Argument:
    """An argument of a function: ``*``, the name of a column, a number, or a list of numbers."""

    value: str | Decimal | tuple[Decimal, ...]
    start: int
    end: int

    @property
    def is_column(self) -> bool:
        """True for the name of a column."""
        return isinstance(self.value, str) and self.value != STAR


STAR = "*"


@dataclass(frozen=True)
class Call:
    """A function, its arguments, and the column behind WITHIN GROUP."""

    words: Words
    name: Word
    arguments: tuple[Argument, ...]
    within: Argument | None
    end: int

    def problem(self, reason: str) -> InvalidText:
        """An error that points at the call."""
        return self.words.problem_at(self.name.start, self.end, reason)

    def column(self) -> str:
        """The column that comes first."""
        if not self.arguments or not self.arguments[0].is_column:
            raise self.problem(f"{_written(self.name.text)} is accepted")
        return str(self.arguments[0].value)

    def alone(self) -> str:
        """The column, where nothing else is accepted."""
        column = self.column()
        if len(self.arguments) > 1:
            extra = self.arguments[1]
            raise self.words.problem_at(extra.start, extra.end, f"only {_written(self.name.text)} is accepted")
        return column

    def numbers(self) -> tuple[Decimal, ...]:
        """All numbers behind the column, in a list or one by one."""
        column = self.column()
        numbers: list[Decimal] = []
        for one in self.arguments[1:]:
            if isinstance(one.value, str):
                raise self.words.problem_at(one.start, one.end, f"a number is accepted behind {column}")
            numbers += one.value if isinstance(one.value, tuple) else [one.value]
        return tuple(numbers)


def _written(name: str) -> str:
    return FORMS.get(name.lower(), f"{name.lower()}(column)")


def _of_column(kind: Callable[..., Query], **options: Any) -> Callable[[Call], Query]:
    return lambda call: kind(call.alone(), **options)


def _count(call: Call) -> Query:
    if len(call.arguments) == 1 and call.arguments[0].value == STAR:
        return Count()
    raise call.problem("count(*) is accepted, with WHERE to choose rows; count_if(flag) counts where a flag is true")


def _quantile(call: Call) -> Query:
    column, numbers = call.column(), call.numbers()
    listed = len(call.arguments) == 2 and isinstance(call.arguments[1].value, tuple)
    if listed and numbers:
        return Quantiles(column, q=numbers)
    if len(numbers) != 1:
        raise call.problem(f"{_written(call.name.text)} is accepted")
    return Quantile(column, q=numbers[0])


def _quantiles(call: Call) -> Query:
    if not call.numbers():
        raise call.problem(f"{_written(call.name.text)} is accepted")
    return Quantiles(call.column(), q=call.numbers())


def _percentile(call: Call) -> Query:
    share = call.arguments[0].value if len(call.arguments) == 1 else None
    if call.within is None or not isinstance(share, Decimal):
        raise call.problem(f"{_written(call.name.text)} is accepted")
    return Quantile(str(call.within.value), q=share)


def _trimmed_mean(call: Call) -> Query:
    numbers = call.numbers()
    if len(numbers) > 1:
        raise call.problem(f"{_written(call.name.text)} is accepted")
    return TrimmedMean(call.column(), **({"trim": numbers[0]} if numbers else {}))


def _histogram(call: Call) -> Query:
    edges = call.numbers()
    return Histogram(call.column(), edges=edges or None)


FUNCTIONS: dict[str, Callable[[Call], Query]] = {
    "count": _count,
    "count_if": _of_column(Count),
    "countif": _of_column(Count),
    "sum": _of_column(Sum),
    "avg": _of_column(Mean),
    "mean": _of_column(Mean),
    "variance": _of_column(Variance, ddof=1),
    "var_samp": _of_column(Variance, ddof=1),
    "var_pop": _of_column(Variance, ddof=0),
    "median": _of_column(Median),
    "quantile": _quantile,
    "quantile_disc": _quantile,
    "quantiles": _quantiles,
    "percentile_disc": _percentile,
    "min": _of_column(Minimum),
    "minimum": _of_column(Minimum),
    "max": _of_column(Maximum),
    "maximum": _of_column(Maximum),
    "trimmed_mean": _trimmed_mean,
    "iqr": _of_column(IQR),
    "histogram": _histogram,
}
FORMS = {
    "count": "count(*)",
    "quantile": "quantile(column, 0.9)",
    "quantile_disc": "quantile_disc(column, 0.9)",
    "quantiles": "quantiles(column, 0.1, 0.5, 0.9)",
    "percentile_disc": "percentile_disc(0.9) WITHIN GROUP (ORDER BY column)",
    "trimmed_mean": "trimmed_mean(column, 0.1)",
    "histogram": "histogram(column) of a category, or histogram(column, 0, 50, 100)",
}
OFFERED = (
    "count(*), count_if, sum, avg, variance, var_pop, median, quantile, min, max, trimmed_mean, iqr, histogram"
)  # fmt: skip
SUPPORTED = f"supported is SELECT of {OFFERED} with WHERE and GROUP BY over one registered table"
_INSTEAD = {
    "quantile_cont": "quantile(column, 0.9)",
    "percentile_cont": "percentile_disc(0.9) WITHIN GROUP (ORDER BY column)",
    "approx_quantile": "quantile(column, 0.9)",
    "stddev": "variance(column)",
    "stddev_samp": "variance(column)",
    "stddev_pop": "var_pop(column)",
    "mode": "histogram(column)",
    "mad": "iqr(column)",
}


def query_of(call: Call) -> Query:
    """The query that a call stands for, or an error that points at it."""
    name = call.name.text.lower()
    made = FUNCTIONS.get(name)
    if made is None or call.name.is_quoted:
        instead = f"; {_INSTEAD[name]} may serve instead" if name in _INSTEAD else ""
        raise call.words.problem(call.name, f"this function is not offered{instead}; {SUPPORTED}")
    if call.within is not None and name != "percentile_disc":
        raise call.problem(f"{_written(name)} is accepted")
    try:
        return made(call)
    except InvalidText:
        raise
    except InvalidArgument as error:
        problem = call.problem(error.accepted)
    raise problem
