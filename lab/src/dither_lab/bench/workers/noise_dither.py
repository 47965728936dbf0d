"""Our exact draws, and the constants of our noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

import dither as dt
from dither.mechanism_names import MechanismName
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace, integer_laplace
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither_lab.bench.anchors.polyplace import least_factor

LAWS = {
    "laplace": Laplace(),
    "blunt power law": BluntPowerLaw(4),
    "power law": PowerLaw(4),
    "cauchy": Cauchy(4),
    "student": Student(3),
    "gaussian": Gaussian(),
}


def scalar(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """One draw at a time."""
    count, scale = int(options["count"]), Fraction(options["scale"])
    draw = integer_laplace if options["law"] == "integer laplace" else None
    law = LAWS.get(options["law"], Laplace())

    def work() -> None:
        for _ in range(count):
            if draw is None:
                rounded_draw(law, 0, scale)
            else:
                draw(0, scale)

    return work


def vector(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """All at once."""
    count, scale = int(options["count"]), Fraction(options["scale"])

    def work() -> None:
        if options["law"] == "integer laplace":
            integer_laplace_draws(count, scale)
        else:
            rounded_draws(LAWS[options["law"]], count, scale)

    return work


def factor(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """E|Z| / (alpha beta): the mean error for a smooth bound of one, times 1/beta."""
    if options["noise"] == "polyplace":
        return lambda: least_factor(options["epsilon"])
    law: Any = dt.Cauchy(gamma=4) if options["noise"] == "cauchy" else options["noise"]

    def work() -> float:
        point = dt.inspect.admissible(law, epsilon=options["epsilon"], constants=options["constants"])
        return float(point.error_factor)

    return work


def counts(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], list[float]]:
    """How many records have each attribute."""
    bits = data["bits"]
    return lambda: [float(part) for part in dt.counting_queries(bits, **options, confidence=None).value]


class SumOptions(TypedDict):
    """How a sum is asked for."""

    bounds: tuple[float, float]
    epsilon: float
    mechanism: MechanismName


def total(options: SumOptions, data: dict[str, NDArray[np.float64]]) -> Callable[[], float]:
    """A sum of reals, none of which is missing."""
    low, high = options["bounds"]
    epsilon, mechanism = options["epsilon"], options["mechanism"]

    def work() -> float:
        release = dt.sum(
            data["x"], bounds=(low, high), epsilon=epsilon, mechanism=mechanism, nulls="lower", confidence=None
        )
        return float(release)

    return work
