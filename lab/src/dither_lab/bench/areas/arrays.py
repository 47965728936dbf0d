"""Arrays in memory: private statistics beside numpy's own of the same records, which are not private."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, Data, MeasuringEffort, Way

NUMPY = "numpy, not private"
ASKED = {
    "median": ("plain_median", 1.5),
    "quantile": ("plain_median", 1.5),
    "minimum": ("plain_median", 1.5),
    "maximum": ("plain_median", 1.5),
    "trimmed_mean": ("plain_median", 1.5),
    "quantiles": ("plain_quantiles", 1.2),
    "mean": ("plain_sum", 0.5),
    "sum": ("plain_sum", 0.5),
    "variance": ("plain_variance", 5.0),
    "histogram": ("plain_histogram", 1.2),
}
"""Each with what it is compared with, and the ratio that was asked for."""
PLAIN = {
    "plain_median": "np.median",
    "plain_quantiles": "np.quantile of the same five",
    "plain_sum": "np.clip, np.rint to int64 and sum",
    "plain_variance": "np.var",
    "plain_histogram": "np.histogram",
}
LARGEST = {False: 10_000_000, True: 1_000_000}
SIZES = {False: (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000), True: (1_000, 10_000, 100_000, 1_000_000)}


def pay_array(rows: int, index: int, folder: Path) -> dict[str, NDArray[np.float64]]:
    """Lognormal pay."""
    return {"x": np.random.default_rng(index).lognormal(10.9, 0.7, rows)}


def comparisons(quick: bool) -> list[Comparison]:
    """Ten statistics of one large array, and medians of arrays of several sizes."""
    size, effort = LARGEST[quick], MeasuringEffort(7 if quick else 9, 3, 2.0)
    results = [
        _comparison(f"{name}/{size}", name, plain, size, effort, None if quick else limit)
        for name, (plain, limit) in ASKED.items()
    ]
    for rows in SIZES[quick]:
        calls = MeasuringEffort(5, max(10_000_000 // rows, 1), 1.0)
        grown = _comparison(f"growth/{rows}", "median", "plain_median", rows, calls, None, series="median of an array")
        results.append(grown)
    return results


def _comparison(
    name: str,
    task: str,
    plain: str,
    rows: int,
    effort: MeasuringEffort,
    limit: float | None,
    *,
    series: str | None = None,
) -> Comparison:
    return Comparison(
        name=name,
        what=f"{task} of {rows:,} floats",
        data=Data(f"pay {rows}", partial(pay_array, rows)),
        ours=Way(OURS, task, "private, with an interval"),
        others=(Way(OURS, plain, NUMPY, note=PLAIN[plain]),),
        measures=("time",) if series else ("time", "memory"),
        guarantee="epsilon 1 (the peer has none)",
        neighbours=CHANGE_ONE,
        effort=effort,
        asked=() if limit is None else (Asked("time", limit),),
        series=series,
        size=rows,
    )


AREA = Area("arrays", "Arrays", comparisons)
