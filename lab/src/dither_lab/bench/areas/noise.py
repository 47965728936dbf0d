"""Noise: time of an exact draw, alone and in vectors, and how much noise a guarantee needs.

Counting queries: how many of 5,000 records have each of 64 attributes; the error is the largest of 64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dither_lab.bench.anchors.polyplace import NO_POLYPLACE, POLYPLACE
from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, Data, Dataset, MeasuringEffort, Way

SCALE = "123456789/1000"
"""In grid steps: a fraction, so that every library is given the same number."""
SCALAR_SECONDS = 1 / 15_000
VECTOR_SECONDS = 1e-6
PEERS_OF = {
    "laplace": ("OpenDP", "Tumult", "diffprivlib"),
    "integer laplace": ("OpenDP", "Tumult", "diffprivlib"),
    "gaussian": ("OpenDP", "Tumult"),
}
LENGTHS = {False: (1_000, 10_000, 100_000), True: (200, 2_000, 20_000)}
EXACT = "exactly the law, rounded"
FAST = ("laplace", "integer laplace", "power law")


def _nothing(index: int, folder: Path) -> Dataset:
    return {}


NOTHING = Data("nothing", _nothing, source="none needed")


def _way(who: str, task: str, law: str, count: int) -> Way:
    options = {"law": law, "count": count, "scale": SCALE}
    note = "not exactly the law: floating point" if who == "diffprivlib" else ""
    return Way(who, task, options=options, items=count, note=note)


def _scalars(quick: bool) -> list[Comparison]:
    count = 200 if quick else 1_000
    return [
        Comparison(
            name=f"scalar/{law}",
            what=f"one {law} draw",
            data=NOTHING,
            ours=_way(OURS, "scalar", law, count),
            others=tuple(_way(who, "scalar", law, count) for who in PEERS_OF.get(law, ())),
            guarantee=EXACT,
            effort=MeasuringEffort(7 if quick else 15, 20, 0.05 if quick else 0.2),
            asked=(Asked("time", SCALAR_SECONDS, of="ours"),),
        )
        for law in ("laplace", "integer laplace", "gaussian", "blunt power law", "power law", "cauchy", "student")
    ]


def _vectors(quick: bool) -> list[Comparison]:
    results = []
    for law in FAST:
        for length in LENGTHS[quick] if law == "laplace" else LENGTHS[quick][-1:]:
            others = (_way("OpenDP", "vector", law, length),) if law in PEERS_OF else ()
            results.append(
                Comparison(
                    name=f"vector/{law}/{length}",
                    what=f"one {law} draw in a vector of {length:,}",
                    data=NOTHING,
                    ours=_way(OURS, "vector", law, length),
                    others=others,
                    guarantee=EXACT,
                    effort=MeasuringEffort(3 if quick else 9, 20, 0.05 if quick else 0.3),
                    asked=(Asked("time", VECTOR_SECONDS, of="ours"),) if length == LENGTHS[quick][-1] else (),
                    series="vector of Laplace noise" if law == "laplace" else None,
                    size=length,
                )
            )
    return results


def _factors() -> list[Comparison]:
    def way(label: str, noise: str, constants: str, epsilon: float) -> Way:
        return Way(OURS, "factor", label, {"noise": noise, "constants": constants, "epsilon": epsilon})

    return [
        Comparison(
            name=f"factor/epsilon={epsilon:g}",
            what="E|Z|/(alpha beta) of noise for a smooth bound",
            data=NOTHING,
            ours=way("blunt power law, exact frontier", "blunt_power_law", "exact", epsilon),
            others=(
                way("NRS11: Cauchy, paper's constants", "cauchy", "paper", epsilon),
                way("power law, exact frontier", "power_law", "exact", epsilon),
                replace(way(POLYPLACE, "polyplace", "exact", epsilon), note=NO_POLYPLACE),
            ),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours="any",
            score=lambda answer, data: float(answer),
            quantity="factor",
            effort=MeasuringEffort(1),
            asked=(Asked("error", limit, of="ours"),),
        )
        for epsilon, limit in ((1.0, 6.3), (0.1, 900.0))
    ]


def _pays(index: int, folder: Path) -> dict[str, NDArray[np.float64]]:
    return {"x": np.clip(np.random.default_rng([11, index]).lognormal(11, 0.6, 2_000), 0, 600_000)}


def _staircase(quick: bool) -> list[Comparison]:
    """A single sum by staircase noise over Laplace noise."""
    count, laplace = 5 if quick else 10, "Laplace noise (ours)"

    def way(label: str, mechanism: str, epsilon: float) -> Way:
        options = {"bounds": (0, 600_000), "epsilon": epsilon, "mechanism": mechanism}
        return Way(OURS, "total", label, options)

    return [
        Comparison(
            name=f"staircase/epsilon={epsilon:g}",
            what="sum of 2,000 lognormal pays",
            data=Data("pays to add up", _pays, count),
            ours=way("staircase noise", "staircase", epsilon),
            others=(way(laplace, "worst_case", epsilon),),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_ONE,
            score=lambda answer, data: abs(answer - float(data["x"].sum())),
            unit="dollars",
            effort=MeasuringEffort(count, 60 if quick else 400, 2.0),
            asked=(Asked("error", limit, peers=(laplace,)),) if limit else (),
        )
        for epsilon, limit in ((1.0, None), (2.0, 0.9), (3.0, 0.75))
    ]


def attributes(count: int, index: int, folder: Path) -> Dataset:
    """Records that have each attribute or not."""
    return {"bits": np.random.default_rng([count, index]).integers(0, 2, (5_000, count))}


def largest_error(answer: Sequence[float], data: Dataset) -> float:
    """The largest error of all counts."""
    return float(np.max(np.abs(np.array(answer, dtype=float) - data["bits"].sum(axis=0))))


def _counting(quick: bool) -> list[Comparison]:
    """V17 Table 2.1: the figure asked for is 0.3 of the largest error of independent Laplace noise."""
    count, each = 64, "Laplace noise on each count (ours)"

    def way(label: str, **options: float | str) -> Way:
        return Way(OURS, "counts", label, {"epsilon": 1.0, **options})

    return [
        Comparison(
            name=f"counting queries/{count} attributes",
            what=f"{count} counting queries, largest error",
            data=Data(f"{count} attributes", partial(attributes, count), 3),
            ours=way("cube's noise (k_norm)", mechanism="k_norm"),
            others=(
                way(each, mechanism="worst_case"),
                way("auto (ours)"),
                way("Gaussian noise, delta 1e-6 (ours)", noise="gaussian", delta=1e-6),
            ),
            measures=("error", "time"),
            guarantee="epsilon 1 (Gaussian noise: delta 1e-6)",
            neighbours=CHANGE_ONE,
            score=largest_error,
            quantity="largest error",
            effort=MeasuringEffort(9 if quick else 30, 10, 0.5),
            asked=(Asked("error", 0.3, peers=(each,)),),
        )
    ]


def comparisons(quick: bool) -> list[Comparison]:
    """Scalars, vectors, constants, many counts at once."""
    return [*_scalars(quick), *_vectors(quick), *_factors(), *_staircase(quick), *_counting(quick)]


AREA = Area("noise", "Exact noise", comparisons)
