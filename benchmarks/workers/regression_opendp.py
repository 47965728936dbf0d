"""Theil-Sen regression of one feature with OpenDP, bounds given, at the scale for which its own map gives epsilon."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from opendp.extras.sklearn.linear_model._make_private_theil_sen import make_private_theil_sen

dp.enable_features("contrib", "honest-but-curious", "idealized-numerics", "floating-point")


def build(scale: float, candidates: int) -> dp.Measurement:
    """The measurement at one scale."""
    return make_private_theil_sen(dp.max_divergence(), (-1.0, 1.0), (-5.0, 5.0), scale, candidates_count=candidates)


def main() -> None:
    """Slopes for every dataset and repetition."""
    job_file, data_file, result_file = (Path(name) for name in sys.argv[1:4])
    job, arrays = json.loads(job_file.read_text()), np.load(data_file)
    low, high = 1e-3, 1e4
    for _ in range(60):
        middle = (low * high) ** 0.5
        spent = build(middle, job["candidates"]).map(job["distance"])
        low, high = (low, middle) if spent <= job["epsilon"] else (middle, high)
    measurement, slopes = build(high, job["candidates"]), []
    for index in range(job["datasets"]):
        data = np.column_stack([arrays[f"X{index}"][:, 0], arrays[f"y{index}"]])
        slopes += [[float(measurement(data)[0])] for _ in range(job["repetitions"])]
    result_file.write_text(json.dumps({"slopes": slopes}))


if __name__ == "__main__":
    main()
