"""Models: k-means, mixtures and regression: errors at the same guarantee, times, growth.

Clusters: three blobs with standard deviation 0.7 in ±10; the error is the mean distance of matched centres, its median
over datasets.  Two groups of people with pay up to 200,000 beside age: the larger error of the ages.  Regression: X
uniform in [-1, 1]^p, y = 2 x1 (- x2) + 0.5 + N(0, 0.3), five features: slopes from 2 down to -1; outliers: 5% of the
records moved to the corner with y = 5; the error is the mean absolute error of the slopes.  Peers get true bounds, our
regression gets none but for least squares.

Rankings: eight items, 200 blocks of which two fifths agree and the others have two neighbouring ranks exchanged; the
error is the share of wrong rankings.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, Data, Dataset, MeasuringEffort, Way

Centres: TypeAlias = Sequence[Sequence[float]]
TRUTH = np.array([(-5.0, -5.0), (0.0, 5.0), (5.0, -2.0)])
DELTA = 1e-6
GUARANTEE = "epsilon 1, delta 1e-6 (peers: epsilon 1)"
SLOPES = (2.0, -1.0)
MANY_SLOPES = (2.0, 1.25, 0.5, -0.25, -1.0)
LEAST_ROBUST = 10_080
"""The least number of records from which R_H plans three coefficients at epsilon 1."""
ADASSP = "AdaSSP, written from its author's code"
REGRESSIONS = {
    "two features": (2, 0.0),
    "two features, 5% outliers": (2, 0.05),
    "one feature": (1, 0.0),
    "one feature, 5% outliers": (1, 0.05),
}
TIMED = "one feature"


def blobs(n: int, index: int, folder: Path) -> Dataset:
    """One dataset of three clusters; the first has seed 5."""
    rng = np.random.default_rng(5 + index)
    return {"points": np.clip(TRUTH[rng.integers(0, 3, n)] + rng.normal(0, 0.7, (n, 2)), -10, 10)}


def centre_distance(answer: Centres, data: Dataset) -> float:
    """The mean distance of matched centres."""
    result = np.array(answer, dtype=float)
    orders = itertools.permutations(range(3))
    return float(min(np.linalg.norm(result[list(order)] - TRUTH, axis=1).mean() for order in orders))


def blobs_in(dimensions: int, n: int, index: int, folder: Path) -> dict[str, NDArray[np.float64]]:
    """Three clusters around places of [-6, 6]^d."""
    rng = np.random.default_rng([index, dimensions])
    truth = rng.uniform(-6, 6, (3, dimensions))
    return {
        "points": np.clip(truth[rng.integers(0, 3, n)] + rng.normal(0, 0.7, (n, dimensions)), -10, 10),
        "truth": truth,
    }


def matched_distance(answer: Centres, data: dict[str, NDArray[np.float64]]) -> float:
    """The mean distance of matched centres from those of the dataset."""
    result, truth = np.array(answer, dtype=float), data["truth"]
    orders = itertools.permutations(range(len(truth)))
    return float(min(np.linalg.norm(result[list(order)] - truth, axis=1).mean() for order in orders))


def pay_and_age(n: int, index: int, folder: Path) -> Dataset:
    """Two groups of people that are far apart: pay around 40,000 at age 30, and around 140,000 at 60."""
    rng = np.random.default_rng(index)
    group = rng.integers(0, 2, n)
    pay = np.array([40_000.0, 140_000.0])[group] + rng.normal(0, 5_000, n)
    return {
        "points": np.column_stack([np.clip(pay, 0, 200_000), np.clip(30 + 30 * group + rng.normal(0, 2, n), 0, 120)])
    }


def age_error(answer: Centres, data: Dataset) -> float:
    """The larger error of both ages, in years."""
    ages = sorted(float(centre[1]) for centre in answer)
    return max(abs(ages[0] - 30), abs(ages[1] - 60))


def slopes_of(features: int) -> tuple[float, ...]:
    """The true slopes."""
    return MANY_SLOPES if features == len(MANY_SLOPES) else SLOPES[:features]


def line(features: int, outliers: float, n: int, index: int, folder: Path) -> Dataset:
    """One dataset of a regression."""
    rng = np.random.default_rng([index, features, n])
    X = rng.uniform(-1, 1, (n, features))
    y = X @ np.array(slopes_of(features)) + 0.5 + rng.normal(0, 0.3, n)
    moved = rng.choice(n, int(outliers * n), replace=False)
    X[moved], y[moved] = -1.0, 5.0
    return {"X": X, "y": np.clip(y, -5, 5)}


def share(answer: float, data: Dataset) -> float:
    """One for a refusal, 0 for an answer."""
    return float(answer)


def slope_error(answer: Sequence[float], data: Dataset) -> float:
    """The mean absolute error of the slopes."""
    slopes = np.array(answer, dtype=float)
    return float(np.abs(slopes - slopes_of(len(slopes))).mean())


def _measured(function: str, n: int) -> tuple[str, ...]:
    """Errors of all; the time of k-means, and the memory that 100,000 points take."""
    if function != "kmeans":
        return ("error",)
    return ("error", "time", "memory") if n == 100_000 else ("error", "time")


def _clusters(quick: bool) -> list[Comparison]:
    results = []
    for n in (10_000,) if quick else (1_000, 10_000, 100_000, 1_000_000):
        count = 6 if quick else {100_000: 5, 1_000_000: 3}.get(n, 20)
        options = {"k": 3, "bounds": (-10, 10), "epsilon": 1.0, "delta": DELTA}
        for function in ("kmeans", "gaussian_mixture"):
            if function == "gaussian_mixture" and (quick or n != 10_000):
                continue
            others = [Way("diffprivlib", "kmeans", options=options)]
            if function == "kmeans":
                others += [
                    Way(OURS, "kmeans", "histogram alone (ours, blocks=0)", {**options, "blocks": 0}),
                    Way(OURS, "average", "certified average alone (ours)", options),
                    Way(OURS, "centre_of_attention", "NRS11's centre of attention", options),
                    Way(OURS, "plain_kmeans", "Lloyd, not private", options),
                ]
            results.append(
                Comparison(
                    name=f"{function}/{n}",
                    what=f"{function} of {n:,} points, distance of the centres",
                    data=Data(f"blobs {n}", partial(blobs, n), count),
                    ours=Way(OURS, "kmeans", function, {**options, "function": function}),
                    others=tuple(others),
                    measures=_measured(function, n),
                    guarantee=GUARANTEE,
                    neighbours=CHANGE_ONE,
                    score=centre_distance,
                    centre="median",
                    effort=MeasuringEffort(count, 1, 0.0),
                    asked=(Asked("error", 0.2, of="ours"),) if n == 10_000 else (),
                    series="k-means" if function == "kmeans" and not quick else None,
                    size=n,
                )
            )
    return results


def _many_dimensions(quick: bool) -> list[Comparison]:
    """Five and ten dimensions, where no histogram helps: the figure asked for is half of diffprivlib's distance."""
    options = {"k": 3, "bounds": (-10, 10), "epsilon": 1.0, "delta": DELTA}
    rounds = 6 if quick else 40
    return [
        Comparison(
            name=f"kmeans/{dimensions} dimensions",
            what=f"kmeans of 20,000 points in {dimensions} dimensions, distance of the centres",
            data=Data(f"blobs in {dimensions}", partial(blobs_in, dimensions, 20_000), rounds),
            ours=Way(OURS, "kmeans", "kmeans", options),
            others=(
                Way("diffprivlib", "kmeans", options=options),
                Way(OURS, "plain_kmeans", "Lloyd, not private", options),
            ),
            measures=("error",),
            guarantee=GUARANTEE,
            neighbours=CHANGE_ONE,
            score=matched_distance,
            centre="median",
            effort=MeasuringEffort(rounds, 1, 0.0),
            asked=(Asked("error", 0.5, peers=("diffprivlib",)),),
        )
        for dimensions in (5, 10)
    ]


def beyond_a_year(answer: Centres, data: Dataset) -> float:
    """1 if an age is off by more than a year."""
    return float(age_error(answer, data) > 1.0)


def _widths(quick: bool) -> list[Comparison]:
    """Coordinates of different widths: the figure asked for is 19 of 20 runs within a year."""
    options = {"k": 2, "bounds": ((0, 200_000), (0, 120)), "epsilon": 1.0, "delta": DELTA}
    count = 6 if quick else 20
    scores = (("", age_error, "error", "years", 1.0), (" beyond a year", beyond_a_year, "share of runs", "", 0.05))
    return [
        Comparison(
            name=f"kmeans/pay and age{more}",
            what=f"kmeans of 20,000 people, pay up to 200,000 beside age, ages{more}",
            data=Data("pay and age", partial(pay_and_age, 20_000), count),
            ours=Way(OURS, "kmeans", "kmeans", options),
            others=(Way(OURS, "plain_kmeans", "Lloyd, not private", options),),
            measures=("error",),
            guarantee=GUARANTEE,
            neighbours=CHANGE_ONE,
            score=score,
            quantity=quantity,
            unit=unit,
            effort=MeasuringEffort(count, 1, 0.0),
            asked=(Asked("error", limit, of="ours"),),
        )
        for more, score, quantity, unit, limit in scores
    ]


def rankings(blocks: int, index: int, folder: Path) -> Dataset:
    """The rankings of the blocks, and the one that two fifths of them have."""
    rng = np.random.default_rng([8, index])
    truth = rng.permutation(8)
    votes = np.tile(truth, (blocks, 1))
    for row in votes[2 * blocks // 5 :]:
        place = int(rng.integers(0, 7))
        row[[place, place + 1]] = row[[place + 1, place]]
    return {"votes": votes, "truth": truth}


def is_wrong(answer: Sequence[int], data: Dataset) -> float:
    """1 for another ranking than the one most blocks have."""
    return float([int(number) for number in answer] != [int(record) for record in data["truth"]])


def _consensus(quick: bool) -> list[Comparison]:
    """The figure asked for is the right ranking in 18 of 20 runs."""
    count = 6 if quick else 20
    return [
        Comparison(
            name="consensus/eight items",
            what="consensus of 200 rankings of eight items, share of wrong ones",
            data=Data("rankings", partial(rankings, 200), count),
            ours=Way(OURS, "consensus", "medoid by Kendall's tau", {"aggregator": "medoid", "epsilon": 1.0}),
            others=(
                Way(OURS, "consensus", "unconstrained centre (ours)", {"aggregator": "centre", "epsilon": 1.0}),
                Way(OURS, "plain_consensus", "the most frequent, not private"),
            ),
            measures=("error", "time"),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=is_wrong,
            quantity="share of wrong rankings",
            effort=MeasuringEffort(count, 1, 0.0),
            asked=(Asked("error", 0.1, of="ours"),),
        )
    ]


def records(n: int, index: int, folder: Path) -> Dataset:
    """Numbers between 0 and 1."""
    return {"x": np.random.default_rng([12, index]).random(n)}


def _blocks(quick: bool) -> list[Comparison]:
    """A program on more and more blocks of the same records, in this process, beside the same calls alone."""
    n = 10_000 if quick else 200_000
    return [
        Comparison(
            name=f"blocks/{blocks}",
            what=f"mean by a program on {blocks:,} blocks of {n:,} records",
            data=Data(f"records {n}", partial(records, n), 1),
            ours=Way(OURS, "blocks", "sample and aggregate, trusted", {"blocks": blocks, "epsilon": 1.0}),
            others=(Way(OURS, "plain_blocks", "the same calls, not private", {"blocks": blocks}),),
            measures=("time",),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            effort=MeasuringEffort(5, 1, 0.0),
            series=None if quick else "blocks of a program",
            size=blocks,
        )
        for blocks in ((100, 1_000) if quick else (100, 1_000, 10_000, 100_000))
    ]


def _regressions(quick: bool) -> list[Comparison]:
    results = []
    count = 6 if quick else 20
    for title, (features, outliers) in REGRESSIONS.items():
        options = {"epsilon": 1.0, "delta": DELTA, "method": "auto"}
        others = [Way("diffprivlib", "regression", options=options)]
        if features == 1:
            for candidates in (100, 1001):
                label = f"OpenDP Theil-Sen, {candidates} candidates"
                others.append(Way("OpenDP", "regression", label, {**options, "candidates": candidates}))
            others.append(Way(OURS, "regression", "DL09's R_H (ours)", {**options, "method": "robust"}))
        else:
            others.append(Way("OpenDP", "regression", "OpenDP Theil-Sen", absent="one feature only"))
        others.append(Way(OURS, "regression", "ols, noisy moments (ours)", {**options, "method": "ols"}))
        if title != TIMED:  # times of methods in floats say nothing
            others += [Way(OURS, "adassp", ADASSP, options), _tukey_em(1_000)]
        others.append(Way(OURS, "plain_regression", "least squares, not private"))
        results.append(
            Comparison(
                name=f"regression/{title}",
                what=f"slopes of 10,000 records, {title}",
                data=Data(f"line {title}", partial(line, features, outliers, 10_000), count),
                ours=Way(OURS, "regression", "regression, auto", options),
                others=tuple(others),
                measures=("error", "time", "memory") if title == TIMED else ("error",),
                guarantee=GUARANTEE,
                neighbours=CHANGE_ONE,
                score=slope_error,
                effort=MeasuringEffort(count, 5, 2.0),
                asked=(Asked("error", 0.05 if outliers else 0.03, of="ours"),) if features == 2 else (),
            )
        )
    return results


def _tukey_em(models: int) -> Way:
    label = f"TukeyEM, {models:,} models, written from its paper"
    return Way(OURS, "tukey_em", label, {"epsilon": 1.0, "models": models}, note="its test always passes")


def _many_features(quick: bool) -> list[Comparison]:
    """Five features, over TukeyEM with the number of blocks that is best for it; one data set a round."""
    options, result = {"epsilon": 1.0, "delta": DELTA}, []
    for n, limit, models in ((5_000, 1.2, (250, 500, 625)), (30_000, 1.1, (1_000, 1_500, 2_500))):
        rounds = 6 if quick else 40 if n > 5_000 else 200
        tukey = [_tukey_em(count) for count in models]
        result.append(
            Comparison(
                name=f"many features/{n}",
                what=f"slopes of {n:,} records, five features",
                data=Data(f"five features {n}", partial(line, 5, 0.0, n), rounds),
                ours=Way(OURS, "regression", "regression, auto", {**options, "method": "auto"}),
                others=(
                    *tukey,
                    Way(OURS, "adassp", ADASSP, options),
                    Way(OURS, "regression", "ols, noisy moments (ours)", {**options, "method": "ols"}),
                    Way(OURS, "plain_regression", "least squares, not private"),
                ),
                measures=("error",),
                guarantee=GUARANTEE,
                neighbours=CHANGE_ONE,
                score=slope_error,
                effort=MeasuringEffort(rounds, 1 if n == 5_000 else 5, 0.0 if n == 5_000 else 4.0),
                asked=(Asked("error", limit, peers=tuple(way.label for way in tukey)),),
            )
        )
    return result


def _sizes(quick: bool) -> list[Comparison]:
    """Our methods against the number of records; too few are an error before anything is charged."""
    options = {"epsilon": 1.0, "delta": DELTA}
    return [
        Comparison(
            name=f"regression/{n} records",
            what=f"slope of {n:,} records, one feature",
            data=Data(f"line {n}", partial(line, 1, 0.0, n), count),
            ours=Way(OURS, "regression", "regression, auto", {**options, "method": "auto"}),
            others=(
                Way(OURS, "regression", "DL09's R_S (ours)", {**options, "method": "shortcut"}),
                Way(OURS, "regression", "DL09's R_H (ours)", {**options, "method": "robust"}),
            ),
            measures=("error",),
            guarantee=GUARANTEE,
            neighbours=CHANGE_ONE,
            score=slope_error,
            effort=MeasuringEffort(count, 1, 0.0),
        )
        for n, count in ([] if quick else [(1_000, 2), (100_000, 8)])
    ]


def _three_coefficients(quick: bool) -> list[Comparison]:
    """DL09's regressions with two features and an intercept, from the least number of records that R_H accepts.

    Seconds each from 50,000 records on, where the times alone matter: a few rounds.
    """
    result = []
    for n in (LEAST_ROBUST,) if quick else (LEAST_ROBUST, 20_000, 50_000, 70_000, 100_000):
        count = 6 if quick else 20 if n <= 20_000 else 5
        options = {"epsilon": 1.0, "delta": DELTA}
        methods = {"R_H": "robust", "DL09's R_S (ours)": "shortcut", "joint medians (ours, auto)": "auto"}
        for function, quantity, score in (
            ("regression", "error", slope_error),
            ("regression_refused", "share of refusals", share),
        ):
            ours, *others = (
                Way(OURS, function, title, {**options, "method": method}) for title, method in methods.items()
            )
            refusals = function != "regression"
            if refusals and n > 20_000:
                continue
            limit = Asked("error", 0.05 if refusals else 0.5, of="ours")
            result.append(
                Comparison(
                    name=f"three coefficients/{n}{' refusals' if refusals else ''}",
                    what=f"{'refusals' if refusals else 'slopes'} of DL09's R_H, {n:,} clean records, two features",
                    data=Data(f"line 2 {n}", partial(line, 2, 0.0, n), count),
                    ours=ours,
                    others=tuple(others),
                    measures=("error",) if refusals else ("error", "time"),
                    guarantee=GUARANTEE,
                    neighbours=CHANGE_ONE,
                    score=score,
                    quantity=quantity,
                    effort=MeasuringEffort(count, 1, 0.0),
                    asked=(limit,) if n == LEAST_ROBUST else (),
                    series=None if refusals or quick else "R_H, three coefficients",
                    size=None if refusals or quick else n,
                )
            )
    return result


def _growth(quick: bool) -> list[Comparison]:
    return [
        Comparison(
            name=f"robust test/{n}",
            what=f"test of the robust regression R_H, {n:,} records, two coefficients",
            data=Data(f"line {n}", partial(line, 1, 0.0, n)),
            ours=Way(OURS, "robust_test", "R_H's test"),
            others=(Way(OURS, "plain_regression", "least squares, not private"),),
            guarantee=GUARANTEE,
            neighbours=CHANGE_ONE,
            effort=MeasuringEffort(3, 1, 0.0),
            asked=(Asked("time", 5.0, of="ours"),) if n == 100_000 else (),
            series="R_H's test",
            size=n,
        )
        for n in ((1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000))
    ]


def comparisons(quick: bool) -> list[Comparison]:
    """Clusters, rankings, regressions, growth."""
    return [
        *_clusters(quick),
        *_many_dimensions(quick),
        *_widths(quick),
        *_consensus(quick),
        *_blocks(quick),
        *_regressions(quick),
        *_many_features(quick),
        *_sizes(quick),
        *_three_coefficients(quick),
        *_growth(quick),
    ]


AREA = Area("models", "Models", comparisons)
