"""Priors: what is publicly known about the values of a column.  Nothing here may be read off private records."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from dither.aliases import older_name
from dither.errors import InvalidArgument, InvalidData
from dither.kernels.elementary import Floats
from dither.numbers import Number, exact
from dither.quotes.graph_priors import DegreeSequence, ErdosRenyi, GraphPrior
from dither.sources.column import as_array, floats_of
from dither.sources.grid import Grid
from dither.sources.types import day_number

if TYPE_CHECKING:
    from dither.typing import Column, Listed

Amount: TypeAlias = Number | date
MOST_SAMPLED = 1 << 20
"""Of a larger public sample evenly spaced quantiles are kept."""
LARGEST = 1e30
"""No value of any column is larger; with it all quantiles are finite numbers."""
OUTSIDE = 0.01
"""A prior of which all but such a share lies beyond one bound contradicts it."""
WIDEST_SIGMA = 64.0
"""Of the logarithms: quantiles down to 2**-60 of a median of at most LARGEST then stay below 1e308."""


class Prior(ABC):
    """A distribution of values, by its quantiles.  Dates count in days since 1970-01-01."""

    distribution: ClassVar[str]
    kind = older_name("distribution")

    @abstractmethod
    def quantile(self, share: Floats) -> Floats:
        """The values that these shares (strictly between 0 and 1) of the records do not exceed."""

    def __repr__(self) -> str:
        """Numbers as they are written: a server reads decimals, and its quotes say the same as local ones."""
        fields = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


@dataclass(frozen=True, repr=False)
class Lognormal(Prior):
    """Half of the values are below ``median``; their logarithms are normal with standard deviation ``sigma``.

    >>> round(float(Lognormal(median=50_000, sigma=0.5).quantile(np.array([0.5]))[0]))
    50000
    """

    median: Amount
    sigma: Amount
    distribution: ClassVar[str] = "lognormal"

    def __post_init__(self) -> None:
        _positive("median", self.median)
        _positive("sigma", self.sigma, WIDEST_SIGMA)

    def quantile(self, share: Floats) -> Floats:
        return np.exp(math.log(_real("median", self.median)) + _real("sigma", self.sigma) * _normal(share))


@dataclass(frozen=True, repr=False)
class Normal(Prior):
    """Normal with this ``mean`` (a number or a date) and standard deviation ``sd``."""

    mean: Amount
    sd: Amount
    distribution: ClassVar[str] = "normal"

    def __post_init__(self) -> None:
        _real("mean", self.mean)
        _positive("sd", self.sd)

    def quantile(self, share: Floats) -> Floats:
        return np.asarray(_real("mean", self.mean) + _real("sd", self.sd) * _normal(share))


@dataclass(frozen=True, repr=False)
class Uniform(Prior):
    """All values from ``low`` to ``high`` alike."""

    low: Amount
    high: Amount
    distribution: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        if not _real("low", self.low) < _real("high", self.high):
            raise InvalidArgument("low", self.low, f"must be a number below high={self.high}")

    def quantile(self, share: Floats) -> Floats:
        low, high = _real("low", self.low), _real("high", self.high)
        return np.asarray(low + (high - low) * share)


@dataclass(frozen=True, repr=False)
class Exponential(Prior):
    """Waiting times and the like: an exponential law with this ``mean``, starting at ``low``."""

    mean: Amount
    low: Amount = 0
    distribution: ClassVar[str] = "exponential"

    def __post_init__(self) -> None:
        if not _real("mean", self.mean) > _real("low", self.low):
            raise InvalidArgument("mean", self.mean, f"must be a number above low={self.low}")

    def quantile(self, share: Floats) -> Floats:
        low = _real("low", self.low)
        return np.asarray(low - (_real("mean", self.mean) - low) * np.log1p(-share))


def standard_shapes(low: float, high: float) -> tuple[Prior, ...]:
    """Distributions within public bounds that stand for what columns mostly look like, where nothing else is known.

    Even over the whole range; a bell in its middle; and skewed to its lower end, filling a third of it, a tenth, or
    a hundredth, as where bounds are generous.
    """
    width = high - low
    skewed = (Exponential(low + width / part, low) for part in (10, 33, 300))
    return Uniform(low, high), Normal(low + width / 2, width / 8), *skewed


class PublicSample(Prior):
    """Values that are public already: last year's published table, another city, a survey.

    Between neighbouring values quantiles are interpolated; ties stay ties.
    """

    distribution: ClassVar[str] = "public sample"

    def __init__(self, values: Column | Listed[date]) -> None:
        if isinstance(values, (list, tuple)) and values and isinstance(values[0], date):
            values = [day_number(value, "values") for value in values]
        real = floats_of(as_array(values, "values"))
        if not np.isfinite(real).all() or len(real) < 2:
            raise InvalidArgument("values", type(values), "must be at least two finite numbers")
        self._sorted = np.sort(real)
        self._size = len(real)
        if len(real) > MOST_SAMPLED:
            self._sorted = np.quantile(self._sorted, (np.arange(MOST_SAMPLED) + 0.5) / MOST_SAMPLED)
        self._shares = (np.arange(len(self._sorted)) + 0.5) / len(self._sorted)

    def __repr__(self) -> str:
        return f"PublicSample(<{self._size:,} values>)"

    def quantile(self, share: Floats) -> Floats:
        return np.interp(share, self._shares, self._sorted)


_NAMED: dict[str, tuple[Callable[..., Prior | GraphPrior], tuple[str, ...]]] = {
    "lognormal": (Lognormal, ("MEDIAN", "SIGMA")),
    "normal": (Normal, ("MEAN", "SD")),
    "uniform": (Uniform, ("LOW", "HIGH")),
    "exponential": (Exponential, ("MEAN",)),
    "erdos_renyi": (ErdosRenyi, ("P",)),
}


def parse_prior(text: str) -> Prior | GraphPrior:
    """A prior as people type it: ``lognormal:70000:0.8``, of a graph ``erdos_renyi:0.01``."""
    name, *numbers = text.split(":")
    forms = ", ".join(":".join((key, *wanted)) for key, (_, wanted) in _NAMED.items())
    if name not in _NAMED or len(numbers) != len(_NAMED[name][1]):
        raise InvalidArgument("prior", text, f"must be one of {forms}")
    return _NAMED[name][0](*(_typed(number, forms, text) for number in numbers))


def _typed(text: str, forms: str, whole: str) -> float:
    with contextlib.suppress(ValueError):
        return float(text)
    try:
        return day_number(text.strip(), "prior")
    except InvalidArgument:
        raise InvalidArgument("prior", whole, f"must be one of {forms}, with numbers") from None


def read_sample(path: Path) -> PublicSample:
    """A public sample from a text file with one number a line; lines that are no numbers are left out."""
    return PublicSample(np.array(_numbers_in(path)))


def read_degrees(path: Path) -> DegreeSequence:
    """Public degrees from a text file with one a line; lines that are no numbers are left out."""
    numbers = _numbers_in(path)
    if not all(result.is_integer() for result in numbers):
        raise InvalidArgument("prior_sample", str(path), "must be a file of degrees, whole numbers, for a graph")
    return DegreeSequence([int(result) for result in numbers])


def _numbers_in(path: Path) -> list[float]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidData(f"prior sample: {path} cannot be read ({type(error).__name__})") from None
    results = []
    for line in lines:
        try:
            results.append(float(line.strip().strip(",;")))
        except ValueError:
            continue
    if len(results) < 2:
        raise InvalidArgument("prior_sample", str(path), "must be a file with at least two numbers, one a line")
    return results


def declared_prior(payload: Mapping[str, Any]) -> Prior:  # checked by who reads a schema
    """The prior that a schema declares in plain values: its distribution (``kind``) and its parameters.

    >>> declared_prior({"kind": "uniform", "low": 0, "high": 9})
    Uniform(low=0, high=9)
    """
    distributions = {item.distribution: item for item in (Lognormal, Normal, Uniform, Exponential)}
    return distributions[payload["kind"]](**{key: value for key, value in payload.items() if key != "kind"})


def prior_of(given: Prior | Mapping[str, Prior] | None, column: str | None, columns: Collection[str]) -> Prior | None:
    """The prior for a column: as given, or its entry in a mapping of columns."""
    if given is None or isinstance(given, Prior):
        return given
    accepted = "must be Lognormal, Normal, Uniform, Exponential, PublicSample, or a mapping of columns to them"
    if isinstance(given, GraphPrior):
        raise InvalidArgument("prior", given, f"is for graphs; of a table it {accepted}")
    if not isinstance(given, dict) or not all(isinstance(argument, Prior) for argument in given.values()):
        raise InvalidArgument("prior", given, accepted)
    for name in given:
        if name not in columns:
            raise InvalidArgument("prior", name, f"must be a declared column: {', '.join(columns)}")
    return given.get(column)


def check_within(prior: Prior, grid: Grid) -> None:
    """Refuse a prior that contradicts the bounds of a column: nearly all of its values would be clamped to one end."""
    least, most = (grid.value(end) for end in grid.ends)
    lowest, highest = prior.quantile(np.array([OUTSIDE, 1.0 - OUTSIDE]))
    if highest < least or lowest > most:
        side = f"below {least:,g}" if highest < least else f"above {most:,g}"
        bounds = f"the bounds of the column, {least:,g} to {most:,g}"
        accepted = f"must be about values within {bounds}: nearly all of its values are {side}"
        raise InvalidArgument("prior", repr(prior), accepted)


def _real(argument: str, value: Amount) -> float:
    if isinstance(value, date):
        return float(day_number(value, argument))
    number = exact(value, argument)
    if abs(number) > LARGEST:
        raise InvalidArgument(argument, value, f"must be at most {LARGEST:.0e}")
    return float(number)


def _positive(argument: str, value: Amount, most: float = LARGEST) -> None:
    if not 0 < _real(argument, value) <= most:
        raise InvalidArgument(argument, value, f"must be a positive number up to {most:g}")


def _normal(share: Floats) -> Floats:
    from scipy.special import ndtri  # noqa: PLC0415  (scipy is slow to load)

    return np.asarray(ndtri(share))
