"""Order statistics: errors at the same guarantee, times, and the smooth sensitivity of a median.

Neighbours change one record.  Peers whose neighbours add or remove a record get what makes them equal to that.  Where
libraries define a quantile differently (lower or interpolated), each is scored by the definition that is kinder to it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dither_lab.bench.anchors.quantiles import SliceQuantiles
from dither_lab.bench.design import (
    CHANGE_ONE,
    ORACLE,
    OURS,
    Area,
    Asked,
    Comparison,
    Data,
    Dataset,
    MeasuringEffort,
    Score,
    Way,
)

INPUTS = {
    "a": "100,000 lognormal salaries",
    "b": "1,001 lognormal salaries",
    "c": "10,000 whole ages, heavily tied",
    "d": "10,000 bimodal values",
}
BOUNDS = {"a": (0, 1_000_000), "b": (0, 1_000_000), "c": (0, 120), "d": (0, 1000)}
STATISTICS = {"median": 0.5, "q95": 0.95, "min": 0.0, "max": 1.0}
CANDIDATES = 10_001
"""For OpenDP on real columns; on whole ones every whole number is a candidate."""
PEERS = ("diffprivlib", "OpenDP", "PyDP", "Tumult")
SLOW = "takes seconds to minutes an answer beyond a few thousand records; measured on (b)"


def records(name: str, index: int, folder: Path | None = None) -> Dataset:
    """Dataset ``index`` of an input; index 0 has the plain seed."""
    seed = "abcd".index(name) + 1
    rng = np.random.default_rng(seed if index == 0 else [seed, index])
    if name in "ab":
        return {"x": np.clip(rng.lognormal(11, 0.6, 100_000 if name == "a" else 1_001), 0, 1e6)}
    if name == "c":
        young = rng.random(10_000) < 0.3
        ages = np.where(young, np.round(18 + rng.normal(0, 1, 10_000)), np.round(rng.normal(45, 18, 10_000)))
        return {"x": np.clip(ages, 0, 120).astype(np.int64)}
    modes = np.concatenate([rng.normal(100, 10, 5_050), rng.normal(900, 10, 4_950)])
    return {"x": np.clip(rng.permutation(modes), 0, 1000)}


def scored(q: float) -> Score:
    """Distance to the quantile by two definitions."""

    def score(answer: float, data: Dataset) -> tuple[float, float]:
        truths = data.setdefault("truths", {})
        if q not in truths:
            truths[q] = [float(np.quantile(data["x"], q, method=name)) for name in ("inverted_cdf", "linear")]
        lower, linear = truths[q]
        return abs(answer - lower), abs(answer - linear)

    return score


def _options(name: str, q: float, epsilon: float) -> dict[str, object]:
    return {"q": q, "epsilon": epsilon, "bounds": BOUNDS[name], "whole": name == "c", "candidates": CANDIDATES}


def _measured(name: str, statistic: str, epsilon: float) -> tuple[str, ...]:
    """Errors of all; times of a median of each input, and the memory that one of the largest takes."""
    if (statistic, epsilon) != ("median", 1.0):
        return ("error",)
    return ("error", "time", "memory") if name == "a" else ("error", "time")


def _errors(quick: bool) -> list[Comparison]:
    statistics = ("median",) if quick else tuple(STATISTICS)
    count = 8 if quick else 20
    results = []
    for name, title in INPUTS.items():
        data = Data(f"quantiles {name}", partial(records, name), count)
        for statistic in statistics:
            for epsilon in (0.1, 0.5, 1.0) if statistic == "median" and not quick else (1.0,):
                headline = (name, statistic) == ("a", "median")
                options = _options(name, STATISTICS[statistic], epsilon)
                limit = 1.1 if statistic == "median" else 1.0
                promised = (headline and not quick) or (
                    statistic in ("min", "max") and epsilon == 1.0 and name in "abc"
                )
                results.append(
                    Comparison(
                        name=f"{name}/{statistic}/epsilon={epsilon:g}",
                        what=f"{statistic} of {title}",
                        data=data,
                        ours=Way(OURS, "quantile", options=options),
                        others=(
                            *(
                                Way(
                                    who,
                                    "quantile",
                                    options=options,
                                    absent=SLOW if who == "Tumult" and name != "b" else None,
                                )
                                for who in PEERS
                                if who != "Tumult" or name == "b" or (statistic, epsilon) == ("median", 1.0)
                            ),
                            Way(OURS, "quantile_oracle", ORACLE, options),
                        ),
                        measures=_measured(name, statistic, epsilon),
                        guarantee=f"epsilon {epsilon:g}",
                        neighbours=CHANGE_ONE,
                        score=scored(STATISTICS[statistic]),
                        unit="" if name == "d" else "years" if name == "c" else "dollars",
                        effort=MeasuringEffort(
                            count, 10 if quick else 80, (0.1 if quick else 0.15) * (6 if headline else 1)
                        ),
                        asked=(Asked("error", limit, peers=PEERS),) if promised else (),
                    )
                )
    return results


def _by_mechanism(quick: bool) -> list[Comparison]:
    """The default draw of a median beside noise by largest local sensitivities (COQ17) and by smooth sensitivity."""
    count = 8 if quick else 20

    def way(label: str, mechanism: str, name: str) -> Way:
        return Way(OURS, "quantile", label, {**_options(name, 0.5, 1.0), "choice": mechanism})

    return [
        Comparison(
            name=f"median by mechanism/{name}",
            what=f"median of {INPUTS[name]}, by mechanism",
            data=Data(f"quantiles {name}", partial(records, name), count),
            ours=way("inverse draw", "auto", name),
            others=(
                way("largest local, bounds in steps of 9/8", "largest_local", name),
                way("largest local, one bound of 2,000", "one bound", name),
                way("smooth", "smooth", name),
            ),
            measures=("error", "time"),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=scored(0.5),
            unit="dollars",
            effort=MeasuringEffort(count, 10 if quick else 80, 0.15),
        )
        for name in "ab"
    ]


CENT, DELTA = 0.01, 1e-6
NO_SLICES = "delta 1e-6 on top; no anchor: written from its authors' code, of the paper the beginning could be read"


def _joint_exp(count: int, absent: str | None = None) -> Way:
    options = {"bounds": (0, 1_000_000), "epsilon": 1.0, "count": count}
    return Way(OURS, "joint_exp", "JointExp, written from its authors' code", options, absent=absent)


def _slice_quantiles(count: int, size: int) -> Way:
    """Where its slices would overlap it has no guarantee, which its row says."""
    options = {"bounds": (0, 1_000_000), "epsilon": 1.0, "delta": DELTA, "count": count, "grid": CENT}
    absent = SliceQuantiles.refusal(size, count, bounds=(0.0, 1e6), grid=CENT, epsilon=1.0, delta=DELTA)
    label = "SliceQuantiles, written from its authors' code"
    return Way(OURS, "slice_quantiles", label, options, absent=absent, note=NO_SLICES)


def _several(quick: bool) -> Comparison:
    def make(index: int, folder: Path) -> Dataset:
        return {"x": np.clip(np.random.default_rng([9, index]).lognormal(11, 0.6, 10_000), 0, 1e6)}

    def score(answer: list[float], data: Dataset) -> float:
        truth = np.quantile(data["x"], [k / 10 for k in range(1, 10)], method="inverted_cdf")
        return float(np.abs(np.array(answer) - truth).sum())

    options, separate = {"bounds": (0, 1_000_000), "epsilon": 1.0}, "nine releases of ours"
    return Comparison(
        name="deciles",
        what="nine deciles of 10,000 lognormal salaries, total error",
        data=Data("deciles", make, 8 if quick else 20),
        ours=Way(OURS, "deciles", "joint draw", options),
        others=(Way(OURS, "separate", separate, options), _joint_exp(9)),
        measures=("error",),
        guarantee="epsilon 1",
        neighbours=CHANGE_ONE,
        score=score,
        unit="dollars",
        effort=MeasuringEffort(8 if quick else 20, 5 if quick else 10, 1.0),
        asked=(Asked("error", 0.6, peers=(separate,)),),
    )


PAYS = "20,000 lognormal pays"
NO_POSTRI = "no anchor: of its paper (arXiv 2604.07581) the abstract and summaries could be read, not the method"
WIDEST = {0.5: 320, 1.0: 180, 2.0: 100}
"""What the half-width of a median's interval was to be at most."""


def _pays(size: int, index: int, folder: Path) -> Dataset:
    drawn = np.random.default_rng([5, index]).lognormal(11, 0.6, size)
    return {"x": np.clip(drawn, 0, 600_000) if size == 20_000 else drawn}


def _median_intervals(quick: bool) -> list[Comparison]:
    """How wide the interval of a median is, beside that of smooth noise."""
    count = 5 if quick else 10

    def way(label: str, choice: str, epsilon: float) -> Way:
        return Way(OURS, "half_width", label, {"bounds": (0, 600_000), "epsilon": epsilon, "choice": choice})

    return [
        Comparison(
            name=f"median interval/epsilon={epsilon:g}",
            what=f"half-width of the 95% interval of the median of {PAYS}",
            data=Data("pays", partial(_pays, 20_000), count),
            ours=way("inverse draw and one draw of the width", "auto", epsilon),
            others=(way("smooth", "smooth", epsilon), Way(OURS, "half_width", "PostRI", absent=NO_POSTRI)),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_ONE,
            score=lambda answer, data: float(answer),
            quantity="half-width",
            unit="dollars",
            effort=MeasuringEffort(count, 40, 0.5),
            asked=(Asked("error", limit, of="ours"),),
        )
        for epsilon, limit in WIDEST.items()
    ]


def _trimmed_means(quick: bool) -> list[Comparison]:
    """A trimmed mean with its interval over what noise at the local sensitivity would have, which is not private."""
    count, trim = 5 if quick else 10, 0.1

    def error(answer: float, data: Dataset) -> float:
        if "trimmed" not in data:
            m = int(trim * len(data["x"]))
            data["trimmed"] = float(np.sort(data["x"])[m : len(data["x"]) - m].mean())
        return float(abs(answer - data["trimmed"]))

    options = {"bounds": (0, 600_000), "epsilon": 1.0, "trim": trim}
    judged: tuple[tuple[str, str, Score, float], ...] = (
        ("value", "error", error, 1.3),
        ("half_width", "half-width", lambda answer, data: float(answer), 1.5),
    )
    beyond = ORACLE
    return [
        Comparison(
            name=f"trimmed mean with an interval/{quantity}",
            what=f"{quantity} of the 10% trimmed mean of {PAYS}, with a 95% interval",
            data=Data("pays", partial(_pays, 20_000), count),
            ours=Way(OURS, task, options={**options, "choice": "auto"}),
            others=(
                Way(OURS, "oracle", beyond, {**options, "width": task == "half_width"}),
                Way(OURS, task, "inverse draw", {**options, "choice": "inverse"}),
            ),
            measures=("error",),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=score,
            quantity=quantity,
            unit="dollars",
            effort=MeasuringEffort(count, 40, 0.5),
            asked=(Asked("error", limit, peers=(beyond,)),),
        )
        for task, quantity, score, limit in judged
    ]


POPULATION_PAY = 600_000
COVERED = {"median": 5_000, "mean": 5_000, "trimmed mean": 5_000, "slope": 3_000, "Gini by a program": 5_000}
"""How many records are sampled for each."""
MOST_MISSED = 0.073
"""Of 1,000 intervals that each miss in 5% of all runs, more than 73 miss with a chance below one in a thousand."""


def _population(kind: str, size: int, index: int, folder: Path) -> Dataset:
    """A sample of a population of its own, and the value that this population has."""
    rng = np.random.default_rng([31, index])
    spread, middle, slope = rng.uniform(0.3, 0.9), rng.uniform(20_000, 80_000), rng.normal()
    if kind == "slope":
        x = rng.normal(size=size)
        heavy = rng.standard_t(4, size) if index % 2 else rng.normal(size=size)
        return {"x": x, "y": 3.0 + slope * x + 3.0 * spread * heavy, "truth": slope}
    law, evenly = NormalDist(), np.clip((np.arange(20_000) + 0.5) / 20_000, 0, 1)
    pays = np.clip(middle * np.exp(spread * np.array([law.inv_cdf(share) for share in evenly])), 0, POPULATION_PAY)
    truths = {
        "median": middle,
        "mean": float(pays.mean()),
        "trimmed mean": float(pays[2_000:-2_000].mean()),
        "Gini by a program": 2.0 * law.cdf(spread / 2.0**0.5) - 1.0,
    }
    return {"x": middle * np.exp(spread * rng.normal(size=size)), "truth": truths[kind]}


def _populations(quick: bool) -> list[Comparison]:
    """How often 95% intervals miss what the population has: each on a sample of a population of its own."""
    count = 20 if quick else 1_000

    def missed(answer: list[float], data: Dataset) -> float:
        return float(not answer[0] <= data["truth"] <= answer[1])

    def way(kind: str, interval: str) -> Way:
        return Way(OURS, "interval", f"interval={interval!r}", {"of": kind, "epsilon": 1.0, "interval": interval})

    return [
        Comparison(
            name=f"population/{kind}",
            what=f"share of 95% intervals of the {kind} of {size:,} records that miss their population's",
            data=Data(f"populations {kind}", partial(_population, kind, size), count),
            ours=way(kind, "population"),
            others=() if kind == "slope" else (way(kind, "sample"),),
            measures=("error",),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=missed,
            quantity="share that misses",
            effort=MeasuringEffort(count, 1, 5.0),
            asked=(Asked("error", MOST_MISSED, of="ours"),),
        )
        for kind, size in COVERED.items()
    ]


MATCHING = 5_000


def _some_pays(index: int, folder: Path) -> Dataset:
    """Of four times as many rows, those that a filter selects; the others have no value."""
    x = _pays(20_000, index, folder)["x"].copy()
    x[MATCHING:] = np.nan
    return {"x": x}


def _filtered_means(quick: bool) -> list[Comparison]:
    """The mean of a private number of records over (high - low)/(n epsilon), alone and with its interval."""
    count = 5 if quick else 10
    options = {"bounds": (0, 600_000), "epsilon": 1.0}

    def error(answer: float, data: Dataset) -> float:
        return abs(answer - float(np.nanmean(data["x"])))

    judged: tuple[tuple[str, float | None, bool, Score, float], ...] = (
        ("error", None, False, error, 1.05),
        ("error with a 95% interval", 0.95, False, error, 1.2),
        ("half-width of the 95% interval", 0.95, True, lambda answer, data: float(answer), 3.8),
    )
    beyond = "Laplace noise of (high - low)/(n epsilon), not private"
    return [
        Comparison(
            name=f"filtered mean/{quantity}",
            what=f"{quantity} of the mean of {MATCHING:,} pays that a filter selects",
            data=Data("some pays", _some_pays, count),
            ours=Way(OURS, "selected_mean", options={**asked, "mechanism": "auto"}),
            others=(
                Way(OURS, "selected_oracle", beyond, asked),
                Way(OURS, "selected_mean", "smooth", {**asked, "mechanism": "smooth"}),
            ),
            measures=("error",),
            guarantee="epsilon 1",
            neighbours="add, remove or change one record",
            score=score,
            quantity=quantity,
            unit="dollars",
            effort=MeasuringEffort(count, 60 if quick else 400, 2.0),
            asked=(Asked("error", limit, peers=(beyond,)),),
        )
        for quantity, confidence, width, score, limit in judged
        for asked in ({**options, "confidence": confidence, "width": width},)
    ]


def _ages(index: int, folder: Path) -> dict[str, NDArray[np.int64]]:
    drawn = np.random.default_rng([6, index]).normal(45, 18, 5_000)
    return {"x": np.clip(np.rint(drawn), 18, 90).astype(np.int64)}


YOUNGEST = {1.0: 8.6, 5.0: 3.6, 20.0: 0.05}
"""What the error of a minimum of whole ages was to be at most."""


def _extremes(quick: bool) -> list[Comparison]:
    """The minimum of whole ages, whose error falls with epsilon, beside smooth noise."""
    count = 5 if quick else 10

    def way(choice: str, epsilon: float) -> Way:
        options = {"q": 0.0, "epsilon": epsilon, "bounds": (0, 100), "whole": True, "choice": choice}
        return Way(OURS, "quantile", choice, options)

    return [
        Comparison(
            name=f"minimum of ages/epsilon={epsilon:g}",
            what="minimum of 5,000 whole ages from 18 on, bounds (0, 100)",
            data=Data("ages from 18", _ages, count),
            ours=way("auto", epsilon),
            others=(way("smooth", epsilon),),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_ONE,
            score=lambda answer, data: abs(answer - float(data["x"].min())),
            unit="years",
            effort=MeasuringEffort(count, 40, 0.5),
            asked=(Asked("error", limit, of="ours"),),
        )
        for epsilon, limit in YOUNGEST.items()
    ]


def _grades(size: int, index: int, folder: Path) -> dict[str, NDArray[np.float64]]:
    drawn = np.random.default_rng([8, size, index]).normal(5.6, 0.8, size)
    return {"x": np.clip(np.rint(drawn), 0, 10)}


def _round_numbers(quick: bool) -> list[Comparison]:
    """The median of whole numbers in a column of reals, which nobody declared to be whole, beside a declared step."""
    count = 5 if quick else 10

    def way(label: str, choice: str) -> Way:
        options = {"q": 0.5, "epsilon": 0.5, "bounds": (0, 10), "whole": False, "choice": choice}
        return Way(OURS, "quantile", label, options)

    return [
        Comparison(
            name=f"median of grades/{size}",
            what=f"median of {size:,} grades from 0 to 10 in a column of reals",
            data=Data(f"grades {size}", partial(_grades, size), count),
            ours=way("no step declared", "auto"),
            others=(way("step=1 declared", "step of 1"),),
            measures=("error",),
            guarantee="epsilon 0.5",
            neighbours=CHANGE_ONE,
            score=scored(0.5),
            effort=MeasuringEffort(count, 40, 0.5),
        )
        for size in (300, 3_000)
    ]


def _coarse_grids(quick: bool) -> list[Comparison]:
    """Medians of whole ages and grades: the usual draw, permute and flip, and the score of grids in the records' unit.

    OpenDP's candidates are all whole numbers of the bounds: the same declaration.
    """
    count, calls = (5, 50) if quick else (20, 200)

    def way(label: str, name: str, epsilon: float) -> Way:
        return Way(OURS, "quantile", label, {**_options(name, 0.5, epsilon), "choice": label})

    def grades(index: int, folder: Path) -> dict[str, NDArray[np.int64]]:
        return {"x": _grades(1_000, index, folder)["x"].astype(np.int64)}

    units = [
        Comparison(
            name=f"median of ages in their unit/epsilon={epsilon:g}",
            what=f"median of {INPUTS['c']}, whole years declared as their unit",
            data=Data("quantiles c", partial(records, "c"), count),
            ours=way("middle_score", "c", epsilon),
            others=(
                Way("OpenDP", "quantile", options=_options("c", 0.5, epsilon)),
                way("permute_and_flip", "c", epsilon),
                way("inverse", "c", epsilon),
            ),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_ONE,
            score=scored(0.5),
            unit="years",
            effort=MeasuringEffort(count, calls, 2.0),
            asked=(Asked("error", 1.0, peers=("OpenDP",)),),
        )
        for epsilon in (0.1, 0.5)
    ]
    flipped = [
        Comparison(
            name=f"permute and flip/{name}/epsilon={epsilon:g}",
            what=f"median of {title}, by permute and flip",
            data=Data(f"permute and flip {name}", make, count),
            ours=way("permute_and_flip", "c", epsilon),
            others=(way("inverse", "c", epsilon),),
            measures=("error", "time"),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_ONE,
            score=scored(0.5),
            effort=MeasuringEffort(count, calls, 2.0),
        )
        for name, title, make in (
            ("ages", "5,000 whole ages from 18 on, bounds (0, 120)", _ages),
            ("grades", "1,000 whole grades, bounds (0, 120)", grades),
        )
        for epsilon in (0.1, 0.5)
    ]
    return [*units, *flipped]


def _without_bounds(quick: bool) -> list[Comparison]:
    """DL09's refined interquartile range against the coarse scale, each with the whole loss."""
    count = 10 if quick else 50
    options = {"epsilon": 1.0, "delta": 1e-6}

    def score(answer: float, data: Dataset) -> float:
        low, high = np.quantile(data["x"], [0.25, 0.75], method="inverted_cdf")
        return abs(answer / float(high - low) - 1.0)

    return [
        Comparison(
            name=f"iqr without bounds/{size}",
            what=f"interquartile range of {size:,} records by propose-test-release, error in interquartile ranges",
            data=Data(f"normal {size}", partial(_normal, size), count),
            ours=Way(OURS, "refined_iqr", "refined range", options),
            others=(
                Way(OURS, "coarse_scale", "scale (DL09's S)", options),
                Way(OURS, "drawn_iqr", "inverse draw, no delta", options),
            ),
            measures=("error",),
            guarantee="epsilon 1, delta 1e-6",
            neighbours=CHANGE_ONE,
            score=score,
            effort=MeasuringEffort(count, 1, 0.5),
            asked=(Asked("error", 0.7, peers=("scale (DL09's S)",)),),
        )
        for size in (20_000, 200_000)
    ]


def _several_without_bounds(quick: bool) -> list[Comparison]:
    """Several quantiles of records of any magnitude by one joint draw, beside one release for each."""
    count = 5 if quick else 10
    return [
        Comparison(
            name=f"quantiles without bounds/{several}",
            what=f"{several} quantiles of {PAYS} without bounds, mean error in ranks",
            data=Data("pays", partial(_pays, 20_000), count),
            ours=Way(OURS, "deciles", "joint draw", {"epsilon": 1.0, "count": several}),
            others=(Way(OURS, "separate", "one release for each", {"epsilon": 1.0, "count": several}),),
            measures=("error",),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=lambda answer, data: _missed_ranks(answer, data["x"]),
            quantity="ranks",
            effort=MeasuringEffort(count, 20, 6.0),
        )
        for several in (3, 9)
    ]


MANY = {
    (49, 100_000): (100, 20.0),
    (99, 100_000): (100, 18.0),
    (49, 2_000_000): (40, None),
    (99, 2_000_000): (40, None),
}
"""How many quantiles of how many records; how many answers; and by how many ranks they were to be missed at most."""


def _many_quantiles(quick: bool) -> list[Comparison]:
    """More quantiles than one joint draw takes."""
    count = 2 if quick else 10
    return [
        Comparison(
            name=f"many quantiles/{several}/{size}",
            what=f"{several} quantiles of {size:,} lognormal pays, mean error in ranks",
            data=Data(f"pays {size}", partial(_pays, size), count),
            ours=Way(OURS, "deciles", options={"bounds": (0, 1_000_000), "epsilon": 1.0, "count": several}),
            others=(
                _joint_exp(several, None if size == 100_000 else f"its tables of {size:,} records were not made"),
                _slice_quantiles(several, size),
            ),
            measures=("error",),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=lambda answer, data: _missed_ranks(answer, data["x"]),
            quantity="ranks",
            effort=MeasuringEffort(count, 3 if quick else draws // count, 20.0 if quick else 400.0),
            asked=() if limit is None else (Asked("error", limit, of="ours"),),
        )
        for (several, size), (draws, limit) in MANY.items()
        if not quick or size == 100_000
    ]


def _missed_ranks(answers: list[float], records: NDArray[np.float64]) -> float:
    """By how many ranks evenly spaced quantiles are missed, on average."""
    wanted = np.arange(1, len(answers) + 1) / (len(answers) + 1) * len(records)
    return float(np.abs(np.searchsorted(np.sort(records), answers) - wanted).mean())


def _fitted_means(quick: bool) -> list[Comparison]:
    """Means whose bounds are drawn, beside the same mean with bounds that somebody guessed."""
    count, options = 5 if quick else 10, {"epsilon": 1.0}
    guessed, perfect = "bounds=(0, 1,000,000), a good guess", "bounds at the largest record (not private)"
    pays, mostly = Data("unbounded pays", partial(_pays, 10_000), count), Data("mostly zero", _mostly_zero, count)

    return [
        Comparison(
            name=f"mean without bounds/{name}",
            what=f"mean of 10,000 lognormal pays without bounds{note}",
            data=data,
            ours=Way(OURS, "mean", "bounds drawn", {**options, "non_negative": positive}),
            others=(
                Way(OURS, "mean", guessed, {**options, "bounds": (0, 1_000_000)}),
                Way(OURS, "mean", perfect, {**options, "bounds": "largest"}),
            ),
            measures=("error",),
            guarantee="epsilon 1",
            neighbours=CHANGE_ONE,
            score=lambda answer, data: abs(answer - float(data["x"].mean())),
            unit="dollars",
            effort=MeasuringEffort(count, 60, 1.0),
            asked=(Asked("error", 1.6, peers=(guessed,)),),
        )
        for name, note, positive, data in (
            ("any sign", "", False, pays),
            ("not negative", ", declared as not negative", True, pays),
            ("four in five are 0", ", four in five of them 0", False, mostly),
        )
    ]


def _mostly_zero(index: int, folder: Path) -> Dataset:
    """Pays of whom few have any: the centre of bounds that are drawn is a tie."""
    paid = np.random.default_rng([12, index]).random(10_000) < 0.2
    return {"x": np.where(paid, _pays(10_000, index, folder)["x"], 0.0)}


def _normal(size: int, index: int, folder: Path) -> Dataset:
    return {"x": np.random.default_rng([size, index]).normal(100, 15, size)}


def _sorted_records(size: int, index: int, folder: Path) -> Dataset:
    return {"x": np.sort(np.clip(np.random.default_rng(size).lognormal(11, 0.6, size), 0, 1e6))}


def _growth(quick: bool) -> list[Comparison]:
    results = []
    for size in (10_000, 100_000, 1_000_000):
        data = Data(f"sorted {size}", partial(_sorted_records, size))
        options = {**_options("a", 0.5, 1.0)}
        results.append(
            Comparison(
                name=f"time/{size}",
                what=f"median of {size:,} salaries",
                data=data,
                ours=Way(OURS, "quantile", options=options),
                others=tuple(Way(who, "quantile", options=options) for who in ("diffprivlib", "OpenDP", "PyDP")),
                guarantee="epsilon 1",
                neighbours=CHANGE_ONE,
                effort=MeasuringEffort(3 if quick else 7, 10, 0.1),
                series="private median",
                size=size,
            )
        )
    sizes = (100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000)
    cases = [(size, "1/10") for size in sizes] + ([] if quick else [(sizes[-1], beta) for beta in ("1/100", "1/1000")])
    return results + [
        Comparison(
            name=f"smooth/{size}/beta={beta.replace('/', ':')}",
            what=f"exact smooth sensitivity of the median of {size:,} sorted floats, beta {beta}",
            data=Data(f"sorted {size}", partial(_sorted_records, size)),
            ours=Way(OURS, "smooth", options={"bounds": (0, 1_000_000), "beta": beta}),
            others=(Way(OURS, "sort", "sorting the records (numpy)"),),
            effort=MeasuringEffort(3 if quick else 7, 5, 0.1),
            asked=(Asked("time", 0.1, of="ours"),) if size == 10_000_000 else (),
            series="smooth sensitivity" if beta == "1/10" else None,
            size=size,
        )
        for size, beta in cases
    ]


def comparisons(quick: bool) -> list[Comparison]:
    """Errors, mechanisms, intervals, selections, populations, several quantiles, answers without bounds, times."""
    return [
        *_errors(quick),
        *_by_mechanism(quick),
        *_median_intervals(quick),
        *_trimmed_means(quick),
        *_filtered_means(quick),
        *_extremes(quick),
        *_round_numbers(quick),
        *_coarse_grids(quick),
        *_populations(quick),
        _several(quick),
        *_without_bounds(quick),
        *_fitted_means(quick),
        *_several_without_bounds(quick),
        *_many_quantiles(quick),
        *_growth(quick),
    ]


AREA = Area("quantiles", "Order statistics", comparisons)
