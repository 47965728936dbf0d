"""``frame.dither`` and ``series.dither`` for pandas: import this module once, and both are there.

>>> import pandas as pd
>>> import dither.pandas
>>> pay = pd.DataFrame({"pay": [20_000.0, 30_000.0, 40_000.0] * 1_000})
>>> 0 <= pay.dither.median("pay", bounds=(0, 600_000), epsilon=1.0).value <= 600_000
True
>>> 0 <= pay["pay"].dither.mean(bounds=(0, 600_000), epsilon=1.0).value <= 600_000
True
"""

from __future__ import annotations

from dither.accessors import FrameMethods, SeriesMethods

try:
    import pandas as pd
except ImportError as error:
    raise ModuleNotFoundError("dither.pandas needs pandas: pip install pandas", name="pandas") from error

__all__ = ["DitherFrame", "DitherSeries"]


@pd.api.extensions.register_dataframe_accessor("dither")
class DitherFrame(FrameMethods[pd.DataFrame]):
    """Private statistics of the columns of a pandas frame."""


@pd.api.extensions.register_series_accessor("dither")
class DitherSeries(SeriesMethods[pd.Series]):
    """Private statistics of one pandas column."""
