"""The methods behind ``frame.dither`` and ``series.dither``: one-line functions with the data put in.

``dither.pandas`` and ``dither.polars`` register them.  As with the functions, nothing keeps account of what is spent:
``dither.open`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

import dither as dt
from dither.errors import suggested

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from dither.descriptions.description import Description
    from dither.queries.query import Query
    from dither.typing import Array, Confidence, Frame, IntervalName, MechanismChoice, NoiseChoice, Number

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")
B = TypeVar("B")
Data_co = TypeVar("Data_co", covariant=True)


class HoldsColumn(Protocol):
    """What a method of a series needs: its data."""

    @property
    def column(self) -> Array: ...


class HoldsFrame(Protocol):
    """What a method of a frame needs: its columns."""

    def column_of(self, name: str) -> Array: ...


def _of_series(function: Callable[Concatenate[Array, P], R]) -> Callable[Concatenate[HoldsColumn, P], R]:
    """A function of one column as a method of a series."""

    def method(self: HoldsColumn, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self.column, *args, **options)

    method.__doc__ = (function.__doc__ or "").partition("\n\n")[0]  # (examples call the function)
    return method


def _of_frame(function: Callable[Concatenate[Array, P], R]) -> Callable[Concatenate[HoldsFrame, str, P], R]:
    """A function of one column as a method of a frame, which takes the column's name first."""

    def method(self: HoldsFrame, column: str, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self.column_of(column), *args, **options)

    method.__doc__ = (function.__doc__ or "").partition("\n\n")[0]  # (examples call the function)
    return method


class SeriesMethods(Generic[Data_co]):
    """Private statistics of one column: ``series.dither.median(bounds=(0, 100), epsilon=0.5)``."""

    def __init__(self, data: Data_co) -> None:
        self._data = data

    @property
    def column(self) -> Array:
        """The records."""
        return cast("Array", self._data)

    count = _of_series(dt.count)
    count_present = _of_series(dt.count_present)
    sum = _of_series(dt.sum)
    mean = _of_series(dt.mean)
    variance = _of_series(dt.variance)
    std = _of_series(dt.std)
    median = _of_series(dt.median)
    quantile = _of_series(dt.quantile)
    quantiles = _of_series(dt.quantiles)
    minimum = _of_series(dt.minimum)
    maximum = _of_series(dt.maximum)
    trimmed_mean = _of_series(dt.trimmed_mean)
    iqr = _of_series(dt.iqr)
    histogram = _of_series(dt.histogram)
    mode = _of_series(dt.mode)
    quality = _of_series(dt.quality)


class FrameMethods(Generic[Data_co]):
    """Private statistics of the columns of a frame: ``frame.dither.median("pay", bounds=(0, 100), epsilon=0.5)``."""

    def __init__(self, data: Data_co) -> None:
        self._data = data

    def column_of(self, name: str) -> Array:
        """One column by its name."""
        lazy = hasattr(self._data, "collect_schema") and not hasattr(self._data, "get_column")
        names = cast("pl.LazyFrame", self._data).collect_schema().names() if lazy else self._names()
        if name not in names:
            wanted = f"must be a column of the frame: {', '.join(names)}{suggested(name, names)}"
            raise dt.InvalidArgument("column", name, wanted)
        frame = cast("pl.LazyFrame", self._data).select(name).collect() if lazy else self._data
        return cast("Array", cast("pd.DataFrame", frame)[name])  # (one of the sorts of columns that all of them take)

    def describe(self, *, epsilon: Number, delta: Number, confidence: Confidence = 0.95) -> Description:
        """Types, shares missing, quartiles, tails and frequent values of all columns, at one loss."""
        return dt.describe(cast("Frame", self._data), epsilon=epsilon, delta=delta, confidence=confidence)

    def ask(
        self,
        query: Query[V, B, Data_co],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> dt.Release[V, B]:
        """Any query by its object, those of several columns too: ``Regression("price", ["carat"])``."""
        return dt.ask(
            query,
            self._data,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            interval=interval,
        )

    def _names(self) -> list[str]:
        return [str(item) for item in cast("pd.DataFrame", self._data).columns]

    count = _of_frame(dt.count)
    count_present = _of_frame(dt.count_present)
    sum = _of_frame(dt.sum)
    mean = _of_frame(dt.mean)
    variance = _of_frame(dt.variance)
    std = _of_frame(dt.std)
    median = _of_frame(dt.median)
    quantile = _of_frame(dt.quantile)
    quantiles = _of_frame(dt.quantiles)
    minimum = _of_frame(dt.minimum)
    maximum = _of_frame(dt.maximum)
    trimmed_mean = _of_frame(dt.trimmed_mean)
    iqr = _of_frame(dt.iqr)
    histogram = _of_frame(dt.histogram)
    mode = _of_frame(dt.mode)
    quality = _of_frame(dt.quality)
