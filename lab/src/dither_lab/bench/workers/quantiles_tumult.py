"""Quantiles with Tumult Core: the exponential mechanism; its map at distance 2 (changing one record) says epsilon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def quantile(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Building the measurement is not timed."""
    import pandas as pd
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.domains.pandas_domains import PandasSeriesDomain
    from tmlt.core.measurements.pandas_measurements.series import NoisyQuantile
    from tmlt.core.measures import PureDP
    from tmlt.core.utils.exact_number import ExactNumber

    low, high = options["bounds"]
    half = ExactNumber.from_float(options["epsilon"] / 2, round_up=False)
    mechanism = NoisyQuantile(PandasSeriesDomain(NumpyFloatDomain()), PureDP(), options["q"], low, high, half)
    series = pd.Series(data["x"].astype(float))
    return lambda: float(mechanism(series))
