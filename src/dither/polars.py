"""``frame.dither`` and ``series.dither`` for Polars, lazy frames too: import this module once, and all are there.

>>> import polars as pl
>>> import dither.polars
>>> pay = pl.DataFrame({"pay": [20_000.0, 30_000.0, 40_000.0] * 1_000})
>>> 0 <= pay.lazy().dither.median("pay", bounds=(0, 600_000), epsilon=1.0).value <= 600_000
True
"""

from __future__ import annotations

from dither.accessors import FrameMethods, SeriesMethods

try:
    import polars as pl
except ImportError as error:
    raise ModuleNotFoundError("dither.polars needs Polars: pip install polars", name="polars") from error

__all__ = ["DitherLazyFrame", "DitherPolarsFrame", "DitherPolarsSeries"]


@pl.api.register_dataframe_namespace("dither")
class DitherPolarsFrame(FrameMethods[pl.DataFrame]):
    """Private statistics of the columns of a Polars frame."""


@pl.api.register_lazyframe_namespace("dither")
class DitherLazyFrame(FrameMethods[pl.LazyFrame]):
    """The same of a lazy frame, of which one column is collected."""


@pl.api.register_series_namespace("dither")
class DitherPolarsSeries(SeriesMethods[pl.Series]):
    """Private statistics of one Polars column."""
