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
    from dither.calibration.inverse import Inverse as Inverse
    from dither.calibration.ladder import LadderMechanism as LadderMechanism
    from dither.calibration.largest_local import LargestLocal as LargestLocal
    from dither.calibration.noisy_local import NoisyLocal as NoisyLocal
    from dither.calibration.propose_test import ProposeTest as ProposeTest
    from dither.calibration.smooth import Smooth as Smooth
    from dither.calibration.stable import Stable as Stable
    from dither.calibration.worst_case import WorstCase as WorstCase
    from dither.clusters import GaussianMixture as GaussianMixture
    from dither.clusters import KMeans as KMeans
    from dither.clusters import gaussian_mixture as gaussian_mixture
    from dither.clusters import kmeans as kmeans
    from dither.data.graph import Graph as Graph
    from dither.data.graph_schema import GraphSchema as GraphSchema
    from dither.data.schema import Schema as Schema
    from dither.data.types import Boolean as Boolean
    from dither.data.types import Category as Category
    from dither.data.types import Date as Date
    from dither.data.types import Decimal as Decimal
    from dither.data.types import Integer as Integer
    from dither.data.types import Real as Real
    from dither.errors import BudgetExceeded as BudgetExceeded
    from dither.errors import DitherError as DitherError
    from dither.errors import InvalidArgument as InvalidArgument
    from dither.errors import InvalidData as InvalidData
    from dither.errors import NotApplicable as NotApplicable
    from dither.errors import NotProved as NotProved
    from dither.errors import SourceFailed as SourceFailed
    from dither.functions import ask as ask
    from dither.functions import count as count
    from dither.functions import covariance as covariance
    from dither.functions import histogram as histogram
    from dither.functions import iqr as iqr
    from dither.functions import maximum as maximum
    from dither.functions import mean as mean
    from dither.functions import median as median
    from dither.functions import minimum as minimum
    from dither.functions import quantile as quantile
    from dither.functions import quantiles as quantiles
    from dither.functions import sum as sum
    from dither.functions import trimmed_mean as trimmed_mean
    from dither.functions import variance as variance
    from dither.graph_functions import edges as edges
    from dither.graph_functions import kcliques as kcliques
    from dither.graph_functions import kstars as kstars
    from dither.graph_functions import ktriangles as ktriangles
    from dither.graph_functions import triangles as triangles
    from dither.models import Regression as Regression
    from dither.models import regression as regression
    from dither.noise.gaussian import Gaussian as Gaussian
    from dither.noise.heavy_tails import Cauchy as Cauchy
    from dither.noise.heavy_tails import PowerLaw as PowerLaw
    from dither.noise.heavy_tails import Student as Student
    from dither.noise.laplace import Laplace as Laplace
    from dither.privacy import Budget as Budget
    from dither.privacy import Loss as Loss
    from dither.privacy import Neighbours as Neighbours
    from dither.procedures.metrics import Matching as Matching
    from dither.programs import Program as Program
    from dither.programs import sample_and_aggregate as sample_and_aggregate
    from dither.queries.graphs import Edges as Edges
    from dither.queries.graphs import KCliques as KCliques
    from dither.queries.graphs import KStars as KStars
    from dither.queries.graphs import KTriangles as KTriangles
    from dither.queries.graphs import Triangles as Triangles
    from dither.queries.levels import LevelFunction as LevelFunction
    from dither.queries.levels import Levels as Levels
    from dither.queries.levels import Margin as Margin
    from dither.queries.order import Maximum as Maximum
    from dither.queries.order import Median as Median
    from dither.queries.order import Minimum as Minimum
    from dither.queries.order import OrderStatistic as OrderStatistic
    from dither.queries.order import Quantile as Quantile
    from dither.queries.order import Quantiles as Quantiles
    from dither.queries.smallest import ChainSum as ChainSum
    from dither.queries.smallest import SmallestSum as SmallestSum
    from dither.queries.spread import IQR as IQR
    from dither.queries.spread import Variance as Variance
    from dither.queries.tables import Covariance as Covariance
    from dither.queries.tables import Histogram as Histogram
    from dither.queries.tables import MeanVector as MeanVector
    from dither.queries.totals import Count as Count
    from dither.queries.totals import Mean as Mean
    from dither.queries.totals import Sum as Sum
    from dither.queries.totals import TrimmedMean as TrimmedMean
    from dither.queries.trees import MinCut as MinCut
    from dither.queries.trees import MSTCost as MSTCost
    from dither.quotes.priors import Exponential as Exponential
    from dither.quotes.priors import Lognormal as Lognormal
    from dither.quotes.priors import Normal as Normal
    from dither.quotes.priors import PublicSample as PublicSample
    from dither.quotes.priors import Uniform as Uniform
    from dither.quotes.quote import Quote as Quote
    from dither.quotes.quote import Quotes as Quotes
    from dither.release import Release as Release
    from dither.release import Releases as Releases
    from dither.robust import mode as mode
    from dither.robust import scale as scale
    from dither.session.graphs import GraphSession as GraphSession
    from dither.session.opening import open as open
    from dither.session.quoting import least_epsilon as least_epsilon
    from dither.session.quoting import quote as quote
    from dither.session.session import Session as Session
    from dither.surfaces.client import connect as connect
    from dither.toolbox.randomized_response import randomized_response as randomized_response
    from dither.tree_functions import min_cut as min_cut
    from dither.tree_functions import mst_cost as mst_cost

__version__ = "0.1.0"

_HOMES = {
    "functions": (
        "ask",
        "count",
        "covariance",
        "histogram",
        "iqr",
        "maximum",
        "mean",
        "median",
        "minimum",
        "quantile",
        "quantiles",
        "sum",
        "trimmed_mean",
        "variance",
    ),
    "queries.order": ("Maximum", "Median", "Minimum", "OrderStatistic", "Quantile", "Quantiles"),
    "queries.totals": ("Count", "Mean", "Sum", "TrimmedMean"),
    "queries.spread": ("IQR", "Variance"),
    "queries.tables": ("Covariance", "Histogram", "MeanVector"),
    "queries.graphs": ("Edges", "KCliques", "KStars", "KTriangles", "Triangles"),
    "graph_functions": ("edges", "kcliques", "kstars", "ktriangles", "triangles"),
    "queries.trees": ("MSTCost", "MinCut"),
    "tree_functions": ("min_cut", "mst_cost"),
    "data.graph": ("Graph",),
    "accounting.composition": ("compose",),
    "accounting.capacity": ("budget_for",),
    "calibration.worst_case": ("WorstCase",),
    "calibration.smooth": ("Smooth",),
    "calibration.inverse": ("Inverse",),
    "calibration.ladder": ("LadderMechanism",),
    "calibration.largest_local": ("LargestLocal",),
    "calibration.noisy_local": ("NoisyLocal",),
    "queries.levels": ("LevelFunction", "Levels", "Margin"),
    "queries.smallest": ("ChainSum", "SmallestSum"),
    "calibration.propose_test": ("ProposeTest",),
    "calibration.stable": ("Stable",),
    "noise.heavy_tails": ("Cauchy", "PowerLaw", "Student"),
    "noise.laplace": ("Laplace",),
    "noise.gaussian": ("Gaussian",),
    "toolbox.randomized_response": ("randomized_response",),
    "data.types": ("Boolean", "Category", "Date", "Decimal", "Integer", "Real"),
    "data.schema": ("Schema",),
    "data.graph_schema": ("GraphSchema",),
    "session.graphs": ("GraphSession",),
    "session.opening": ("open",),
    "session.session": ("Session",),
    "surfaces.client": ("connect",),
    "session.quoting": ("least_epsilon", "quote"),
    "quotes.priors": ("Exponential", "Lognormal", "Normal", "PublicSample", "Uniform"),
    "quotes.quote": ("Quote", "Quotes"),
    "privacy": ("Budget", "Loss", "Neighbours"),
    "release": ("Release", "Releases"),
    "robust": ("mode", "scale"),
    "models": ("Regression", "regression"),
    "clusters": ("GaussianMixture", "KMeans", "gaussian_mixture", "kmeans"),
    "programs": ("Program", "sample_and_aggregate"),
    "procedures.metrics": ("Matching",),
    "errors": (
        "BudgetExceeded",
        "DitherError",
        "InvalidArgument",
        "InvalidData",
        "NotApplicable",
        "NotProved",
        "SourceFailed",
    ),
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
