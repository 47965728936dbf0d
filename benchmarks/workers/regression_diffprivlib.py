"""Linear regression with diffprivlib: least squares on noisy moments, bounds given."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from diffprivlib.models import LinearRegression


def main() -> None:
    """Slopes for every dataset and repetition."""
    job_file, data_file, result_file = (Path(name) for name in sys.argv[1:4])
    job, arrays = json.loads(job_file.read_text()), np.load(data_file)
    slopes = []
    for index in range(job["datasets"]):
        X, y = arrays[f"X{index}"], arrays[f"y{index}"]
        for _ in range(job["repetitions"]):
            bounds = ([-1.0] * X.shape[1], [1.0] * X.shape[1])
            model = LinearRegression(epsilon=job["epsilon"], bounds_X=bounds, bounds_y=(-5.0, 5.0))
            slopes.append([float(one) for one in np.ravel(model.fit(X, y).coef_)])
    result_file.write_text(json.dumps({"slopes": slopes}))


if __name__ == "__main__":
    main()
