"""Regressions: AdaSSP (Wang, UAI 2018) and TukeyEM (Amin and others, ICLR 2023)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FAILURE = 0.05
"""The chance with which AdaSSP's ridge may be too small, as in its paper."""


def adassp(
    design: NDArray[np.float64],
    labels: NDArray[np.float64],
    *,
    epsilon: float,
    delta: float,
    row_bound: float,
    label_bound: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Coefficients by noisy moments and a ridge that a noisy least eigenvalue sets: Algorithm 2 of arXiv 1803.02596.

    Read in the author's code and in that of TukeyEM's authors; where they differ (noise beside the diagonal, bounds
    taken from the data, a ridge of one) as the algorithm has it, with public bounds of the norms of rows and labels.

    Guarantee  (epsilon, delta)-DP for a record that is added or removed.  At epsilon 1 and delta 1e-6 also for one that
               is changed: three Gaussian draws whose sensitivities are then at most 1, sqrt(2) and 2 times those of
               the paper have delta(1) = 2.8e-7 (test_the_noise_of_adassp_covers_a_changed_record).
    """
    size = design.shape[1]
    margin = math.log(6.0 / delta)
    spread = 3.0 * math.sqrt(margin) / epsilon
    moments = design.T @ design
    least = float(np.linalg.eigvalsh(moments)[0])
    drawn = max(0.0, least + row_bound**2 * (spread * float(rng.normal()) - 3.0 * margin / epsilon))
    wanted = spread * math.sqrt(size * math.log(2.0 * size**2 / FAILURE)) * row_bound**2
    upper = np.triu(rng.normal(size=(size, size)))
    noise = upper + np.triu(upper, 1).T
    matrix = moments + spread * row_bound**2 * noise + max(0.0, wanted - drawn) * np.eye(size)
    target = design.T @ labels + spread * row_bound * label_bound * rng.normal(size=size)
    return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)


def tukey_em(
    design: NDArray[np.float64],
    labels: NDArray[np.float64],
    *,
    models: int,
    epsilon: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """A draw by approximate Tukey depth among fits of blocks, but for a test that always passes.

    Half of epsilon is for that test; the draw looks at boxes of a depth of at least a quarter of the models.  A changed
    record moves the depth of some points up and of others down by one, so the rate is a quarter of epsilon; the
    authors' published code draws at twice that rate.
    """
    count, rate = len(labels), epsilon / 4.0
    parts = rng.permutation(count)[: count // models * models].reshape(models, -1)
    fits = np.sort(np.array([np.linalg.lstsq(design[part], labels[part])[0] for part in parts]), axis=0)
    depths = np.arange(models // 2, models // 4, -1)
    low, high = fits[depths - 1], fits[models - depths]
    inside = np.log(high - low).sum(axis=1)
    shells = inside.copy()
    shells[1:] += np.log1p(-np.exp(inside[:-1] - inside[1:]))
    weights = shells + rate * depths
    chances = np.exp(weights - weights.max())
    level = rng.choice(len(depths), p=chances / chances.sum())
    while True:
        point: NDArray[np.float64] = rng.uniform(low[level], high[level])
        if level == 0 or ((point < low[level - 1]) | (point > high[level - 1])).any():
            return point
