"""Clusters and regression with dither, NRS11's own aggregator, and what the same fits give without privacy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dither as dt
from dither.kernels.arrangement import boundary_changes, cell_around, lines_of, minimiser_box
from dither.kernels.clusters import kmeans as lloyd
from dither.noise.gaussian import Gaussian
from dither.procedures.centre import Centre
from dither.procedures.metrics import Matching
from dither_lab.bench.anchors import regression as anchors


def _centres(value: Any, k: int, dimensions: int) -> list[list[float]] | None:
    if value is None or np.size(value) < dimensions * k:
        return None
    return [[float(x) for x in row] for row in np.array(value, dtype=float).reshape(k, -1)[:, :dimensions]]


def kmeans(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Centres; None if refused, or if some of them were not found."""
    function = getattr(dt, options.get("function", "kmeans"))
    given = {"k": options["k"], "bounds": tuple(options["bounds"]), "epsilon": options["epsilon"]}
    more = {name: options[name] for name in ("blocks",) if name in options}
    points = data["points"]
    return lambda: _centres(
        function(points, **given, delta=options["delta"], **more).value, options["k"], points.shape[1]
    )


def _aggregated(options: dict[str, Any], data: dict[str, Any], aggregator: Any) -> Callable[[], Any]:
    """Sample and aggregate k-means of blocks with the matching distance."""
    k, points = options["k"], data["points"]

    def program(block: Any) -> Any:
        return lloyd(np.ascontiguousarray(block), np.ones(len(block)), k).ravel()

    def work() -> Any:
        release = dt.sample_and_aggregate(
            points,
            program,
            output=k * points.shape[1],
            bounds=tuple(options["bounds"]),
            metric=Matching(k),
            aggregator=aggregator,
            epsilon=options["epsilon"],
            delta=options["delta"],
            executor="trusted",
            confidence=None,
        )
        return _centres(release.value, k, points.shape[1])

    return work


def centre_of_attention(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """NRS11's own aggregator."""
    return _aggregated(options, data, Centre(noise=Gaussian()))


def average(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Our certified average of the same blocks, without passes over the points."""
    return _aggregated(options, data, "average")


def plain_kmeans(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Lloyd's algorithm, not private."""
    points, weights = np.ascontiguousarray(data["points"]), np.ones(len(data["points"]))

    def work() -> Any:
        return lloyd(points, weights, options["k"]).tolist()

    return work


ITEMS = tuple("ABCDEFGH")


def consensus(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """A ranking of eight items for all blocks; every row is one block's ranking."""
    votes = np.asarray(data["votes"])

    def program(block: Any) -> list[str]:
        return [ITEMS[int(item)] for item in block[0]]

    def work() -> Any:
        release = dt.sample_and_aggregate(
            votes,
            program,
            space=dt.Rankings(ITEMS),
            blocks=len(votes),
            aggregator=options["aggregator"],
            epsilon=options["epsilon"],
            executor="trusted",
            confidence=None,
            example=np.tile(np.arange(len(ITEMS)), (3, 1)),
        )
        return [ITEMS.index(part) for part in release.value]

    return work


def _block_mean(block: NDArray[np.float64]) -> float:
    return float(np.mean(block))


def blocks(options: dict[str, int], data: dict[str, NDArray[np.float64]]) -> Callable[[], float]:
    """The mean of every block, and one answer for all."""

    def work() -> float:
        release = dt.sample_and_aggregate(
            data["x"],
            _block_mean,
            bounds=(0, 1),
            blocks=options["blocks"],
            epsilon=options["epsilon"],
            executor="trusted",
            confidence=None,
        )
        return float(release.value)

    return work


def plain_blocks(options: dict[str, int], data: dict[str, NDArray[np.float64]]) -> Callable[[], list[float]]:
    """The means of as many blocks."""
    x = data["x"]
    return lambda: [_block_mean(block) for block in np.array_split(x, options["blocks"])]


def plain_consensus(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """The ranking that most blocks gave, not private."""
    votes = [tuple(int(cell) for cell in row) for row in np.asarray(data["votes"])]
    return lambda: list(Counter(votes).most_common(1)[0][0])


def regression(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Slopes; None if refused.  Only least squares is given bounds, the same as other libraries."""
    X, y = data["X"], data["y"]
    given = {"method": options["method"], "epsilon": options["epsilon"], "delta": options["delta"], "confidence": None}
    if options["method"] == "ols":
        given["bounds"] = [(-1.0, 1.0)] * X.shape[1] + [(-5.0, 5.0)]

    def work() -> Any:
        value = dt.regression(X, y, **given).value
        return None if value is None else [float(part) for part in value[1:]]

    return work


def tukey_em(options: dict[str, float], data: dict[str, NDArray[np.float64]]) -> Callable[[], list[float]]:
    """TukeyEM in floats: its slopes."""
    design, y, rng = _with_intercept(data), data["y"], np.random.default_rng()
    models, epsilon = int(options["models"]), options["epsilon"]
    return lambda: _slopes(anchors.tukey_em(design, y, models=models, epsilon=epsilon, rng=rng))


def adassp(options: dict[str, float], data: dict[str, NDArray[np.float64]]) -> Callable[[], list[float]]:
    """AdaSSP in floats: its slopes, within the bounds that least squares is given, here and in other libraries."""
    design, y, rng = _with_intercept(data), data["y"], np.random.default_rng()
    bounds = {"row_bound": float(design.shape[1]) ** 0.5, "label_bound": 5.0}
    given = {"epsilon": options["epsilon"], "delta": options["delta"], **bounds}
    return lambda: _slopes(anchors.adassp(design, y, **given, rng=rng))


def _slopes(coefficients: NDArray[np.float64]) -> list[float]:
    return [float(slope) for slope in coefficients[1:]]


def _with_intercept(data: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(data["y"])), data["X"]])


def regression_refused(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """1 if the release is refused, else 0."""
    work = regression(options, data)
    return lambda: float(work() is None)


def plain_regression(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """Least squares, not private."""
    design, y = _with_intercept(data), data["y"]

    def work() -> Any:
        return np.linalg.lstsq(design, y)[0][1:].tolist()

    return work


def robust_test(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The test of the robust regression R_H on all four grids, two coefficients."""
    X, y = data["X"], data["y"]

    def work() -> float:
        lines = lines_of(np.column_stack([np.ones(len(y)), X]), y, np.array([0.05, 0.05]))
        box, least = minimiser_box(lines), 0
        for shift in ((0, 0), (0, 1), (1, 0), (1, 1)):
            corner = cell_around(box, shift)
            if corner is not None:
                least += int(np.min(boundary_changes(lines, corner)))
        return float(least)

    return work
