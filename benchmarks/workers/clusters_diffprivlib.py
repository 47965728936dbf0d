"""k-means with diffprivlib, bounds given."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import KMeans


def main() -> None:
    """Centres for every dataset."""
    job_file, data_file, result_file = (Path(name) for name in sys.argv[1:4])
    job, arrays = json.loads(job_file.read_text()), np.load(data_file)
    centres = []
    for index in range(job["datasets"]):
        points = arrays[f"points{index}"]
        bounds = ([-10.0] * points.shape[1], [10.0] * points.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KMeans(n_clusters=job["k"], epsilon=job["epsilon"], bounds=bounds).fit(points)
        centres.append(np.asarray(model.cluster_centers_).tolist())
    result_file.write_text(json.dumps({"centres": centres}))


if __name__ == "__main__":
    main()
