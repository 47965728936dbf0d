"""k-means and linear regression with diffprivlib, bounds given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def kmeans(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Centres."""
    import warnings

    from diffprivlib.models import KMeans

    points, (low, high) = data["points"], options["bounds"]
    bounds = ([float(low)] * points.shape[1], [float(high)] * points.shape[1])

    def work() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (
                KMeans(n_clusters=options["k"], epsilon=options["epsilon"], bounds=bounds).fit(points).cluster_centers_
            )

    return work


def regression(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Slopes by least squares on noisy moments."""
    import numpy as np
    from diffprivlib.models import LinearRegression

    X, y = data["X"], data["y"]
    bounds = ([-1.0] * X.shape[1], [1.0] * X.shape[1])

    def work() -> Any:
        model = LinearRegression(epsilon=options["epsilon"], bounds_X=bounds, bounds_y=(-5.0, 5.0))
        return np.ravel(model.fit(X, y).coef_)

    return work
