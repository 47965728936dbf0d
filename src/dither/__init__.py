"""dither: private answers to statistical questions, with noise fitted to the data at hand.

>>> import dither as dt
>>> release = dt.median([21, 35, 40, 44, 58] * 100, bounds=(0, 120), epsilon=1.0)
>>> 0 <= release.value <= 120
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither import inspect as inspect
    from dither.accounting.capacity import budget_for as budget_for
    from dither.accounting.composition import compose as compose
    from dither.api import ask as ask
    from dither.api import count as count
    from dither.api import covariance as covariance
    from dither.api import edges as edges
    from dither.api import gaussian_mixture as gaussian_mixture
    from dither.api import histogram as histogram
    from dither.api import iqr as iqr
    from dither.api import kcliques as kcliques
    from dither.api import kmeans as kmeans
    from dither.api import kstars as kstars
    from dither.api import ktriangles as ktriangles
    from dither.api import maximum as maximum
    from dither.api import mean as mean
    from dither.api import median as median
    from dither.api import min_cut as min_cut
    from dither.api import minimum as minimum
    from dither.api import mode as mode
    from dither.api import mst_cost as mst_cost
    from dither.api import order_statistic as order_statistic
    from dither.api import quantile as quantile
    from dither.api import quantiles as quantiles
    from dither.api import regression as regression
    from dither.api import sample_and_aggregate as sample_and_aggregate
    from dither.api import scale as scale
    from dither.api import smallest_sum as smallest_sum
    from dither.api import sum as sum
    from dither.api import triangles as triangles
    from dither.api import trimmed_mean as trimmed_mean
    from dither.api import variance as variance
    from dither.errors import BudgetExceeded as BudgetExceeded
    from dither.errors import DitherError as DitherError
    from dither.errors import InvalidArgument as InvalidArgument
    from dither.errors import InvalidData as InvalidData
    from dither.errors import NotApplicable as NotApplicable
    from dither.errors import NotProved as NotProved
    from dither.errors import SourceFailed as SourceFailed
    from dither.interfaces.client import connect as connect
    from dither.mechanisms.inverse import Inverse as Inverse
    from dither.mechanisms.ladder import LadderMechanism as LadderMechanism
    from dither.mechanisms.largest_local import LargestLocal as LargestLocal
    from dither.mechanisms.noisy_local import NoisyLocal as NoisyLocal
    from dither.mechanisms.propose_test import ProposeTest as ProposeTest
    from dither.mechanisms.smooth import Smooth as Smooth
    from dither.mechanisms.stable import Stable as Stable
    from dither.mechanisms.worst_case import WorstCase as WorstCase
    from dither.noise.gaussian import Gaussian as Gaussian
    from dither.noise.heavy_tails import Cauchy as Cauchy
    from dither.noise.heavy_tails import PowerLaw as PowerLaw
    from dither.noise.heavy_tails import Student as Student
    from dither.noise.laplace import Laplace as Laplace
    from dither.privacy import Budget as Budget
    from dither.privacy import Loss as Loss
    from dither.privacy import Neighbours as Neighbours
    from dither.procedures.metrics import Matching as Matching
    from dither.queries.clusters import GaussianMixture as GaussianMixture
    from dither.queries.clusters import KMeans as KMeans
    from dither.queries.graphs import Edges as Edges
    from dither.queries.graphs import KCliques as KCliques
    from dither.queries.graphs import KStars as KStars
    from dither.queries.graphs import KTriangles as KTriangles
    from dither.queries.graphs import Triangles as Triangles
    from dither.queries.order import Maximum as Maximum
    from dither.queries.order import Median as Median
    from dither.queries.order import Minimum as Minimum
    from dither.queries.order import OrderStatistic as OrderStatistic
    from dither.queries.order import Quantile as Quantile
    from dither.queries.order import Quantiles as Quantiles
    from dither.queries.programs import Program as Program
    from dither.queries.regression import Regression as Regression
    from dither.queries.smallest import ChainSum as ChainSum
    from dither.queries.smallest import SmallestSum as SmallestSum
    from dither.queries.spread import IQR as IQR
    from dither.queries.spread import Variance as Variance
    from dither.queries.totals import Count as Count
    from dither.queries.totals import Mean as Mean
    from dither.queries.totals import Sum as Sum
    from dither.queries.totals import TrimmedMean as TrimmedMean
    from dither.queries.trees import MinCut as MinCut
    from dither.queries.trees import MSTCost as MSTCost
    from dither.queries.unbounded import Mode as Mode
    from dither.queries.unbounded import Scale as Scale
    from dither.queries.vectors import Covariance as Covariance
    from dither.queries.vectors import Histogram as Histogram
    from dither.queries.vectors import MeanVector as MeanVector
    from dither.quotes.priors import Exponential as Exponential
    from dither.quotes.priors import Lognormal as Lognormal
    from dither.quotes.priors import Normal as Normal
    from dither.quotes.priors import PublicSample as PublicSample
    from dither.quotes.priors import Uniform as Uniform
    from dither.quotes.quote import Quote as Quote
    from dither.quotes.quote import Quotes as Quotes
    from dither.release import Release as Release
    from dither.release import Releases as Releases
    from dither.sensitivity.levels import LevelFunction as LevelFunction
    from dither.sensitivity.levels import Levels as Levels
    from dither.sensitivity.levels import Margin as Margin
    from dither.session.graphs import GraphSession as GraphSession
    from dither.session.opening import open as open
    from dither.session.quoting import least_epsilon as least_epsilon
    from dither.session.quoting import quote as quote
    from dither.session.session import Session as Session
    from dither.sources.graph import Graph as Graph
    from dither.sources.graph_schema import GraphSchema as GraphSchema
    from dither.sources.schema import Schema as Schema
    from dither.sources.types import Boolean as Boolean
    from dither.sources.types import Category as Category
    from dither.sources.types import Date as Date
    from dither.sources.types import Decimal as Decimal
    from dither.sources.types import Integer as Integer
    from dither.sources.types import Real as Real
    from dither.toolbox.randomized_response import randomized_response as randomized_response

__version__ = "0.1.0"

_HOMES = {
    "accounting.capacity": ("budget_for",),
    "accounting.composition": ("compose",),
    "api": (
        "ask",
        "count",
        "covariance",
        "edges",
        "gaussian_mixture",
        "histogram",
        "iqr",
        "kcliques",
        "kmeans",
        "kstars",
        "ktriangles",
        "maximum",
        "mean",
        "median",
        "min_cut",
        "minimum",
        "mode",
        "mst_cost",
        "order_statistic",
        "quantile",
        "quantiles",
        "regression",
        "sample_and_aggregate",
        "scale",
        "smallest_sum",
        "sum",
        "triangles",
        "trimmed_mean",
        "variance",
    ),
    "queries.clusters": (
        "GaussianMixture",
        "KMeans",
    ),
    "errors": (
        "BudgetExceeded",
        "DitherError",
        "InvalidArgument",
        "InvalidData",
        "NotApplicable",
        "NotProved",
        "SourceFailed",
    ),
    "interfaces.client": ("connect",),
    "mechanisms.inverse": ("Inverse",),
    "mechanisms.ladder": ("LadderMechanism",),
    "mechanisms.largest_local": ("LargestLocal",),
    "mechanisms.noisy_local": ("NoisyLocal",),
    "mechanisms.propose_test": ("ProposeTest",),
    "mechanisms.smooth": ("Smooth",),
    "mechanisms.stable": ("Stable",),
    "mechanisms.worst_case": ("WorstCase",),
    "queries.regression": ("Regression",),
    "noise.gaussian": ("Gaussian",),
    "noise.heavy_tails": (
        "Cauchy",
        "PowerLaw",
        "Student",
    ),
    "noise.laplace": ("Laplace",),
    "privacy": (
        "Budget",
        "Loss",
        "Neighbours",
    ),
    "procedures.metrics": ("Matching",),
    "queries.programs": ("Program",),
    "queries.graphs": (
        "Edges",
        "KCliques",
        "KStars",
        "KTriangles",
        "Triangles",
    ),
    "queries.order": (
        "Maximum",
        "Median",
        "Minimum",
        "OrderStatistic",
        "Quantile",
        "Quantiles",
    ),
    "queries.smallest": (
        "ChainSum",
        "SmallestSum",
    ),
    "queries.spread": (
        "IQR",
        "Variance",
    ),
    "queries.totals": (
        "Count",
        "Mean",
        "Sum",
        "TrimmedMean",
    ),
    "queries.trees": (
        "MSTCost",
        "MinCut",
    ),
    "queries.unbounded": (
        "Mode",
        "Scale",
    ),
    "queries.vectors": (
        "Covariance",
        "Histogram",
        "MeanVector",
    ),
    "quotes.priors": (
        "Exponential",
        "Lognormal",
        "Normal",
        "PublicSample",
        "Uniform",
    ),
    "quotes.quote": (
        "Quote",
        "Quotes",
    ),
    "release": (
        "Release",
        "Releases",
    ),
    "sensitivity.levels": (
        "LevelFunction",
        "Levels",
        "Margin",
    ),
    "session.graphs": ("GraphSession",),
    "session.opening": ("open",),
    "session.quoting": (
        "least_epsilon",
        "quote",
    ),
    "session.session": ("Session",),
    "sources.graph": ("Graph",),
    "sources.graph_schema": ("GraphSchema",),
    "sources.schema": ("Schema",),
    "sources.types": (
        "Boolean",
        "Category",
        "Date",
        "Decimal",
        "Integer",
        "Real",
    ),
    "toolbox.randomized_response": ("randomized_response",),
}
_HOME_OF = {name: f"dither.{home}" for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "inspect", "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``import dither`` is quick."""
    if name == "inspect":
        return importlib.import_module("dither.inspect")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'dither' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
