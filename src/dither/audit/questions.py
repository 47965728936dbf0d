"""Every query that ships with its small universe, and the checks of all mechanisms and noises that serve it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.audit.answers import as_answer, remembering
from dither.audit.attacks import Direction, Histogram
from dither.audit.blackbox import audit
from dither.audit.checks import Check, Effort, Result
from dither.audit.exhaustive import axioms, privacy, sensitivities, worst_pair
from dither.audit.pairs import worst_pairs
from dither.audit.universes import (
    World,
    chain_world,
    column_world,
    graph_world,
    selection_world,
    table_world,
    weighted_world,
)
from dither.mechanisms.choice import MECHANISMS, NOISES, applicable
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Prepared
from dither.mechanisms.noisy_local import NoisyLocalNoise
from dither.mechanisms.propose_test import ProposeTest, TestedNoise
from dither.mechanisms.smooth import Smooth
from dither.mechanisms.worst_case import ScaledVector
from dither.noise.heavy_tails import Cauchy
from dither.noise.law import Law
from dither.privacy import Loss, Neighbours
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.queries.order import Maximum, Median, Minimum, OrderStatistic, Quantile, Quantiles
from dither.queries.smallest import ChainSum, SmallestSum
from dither.queries.spread import IQR, Variance
from dither.queries.totals import Count, Mean, Sum, TrimmedMean
from dither.queries.trees import MinCut
from dither.queries.vectors import Covariance, MeanVector
from dither.queries.vectors import Histogram as HistogramQuery
from dither.sensitivity.levels import Margin
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither.statistics.statistic import Statistic, VectorStatistic

EPSILON = 1.0
"""What exact and exhaustive checks ask for."""
LOUD = 3.0
"""What black-box checks ask for: a larger epsilon is seen in fewer runs."""
DELTA = 1e-4
TESTED = Loss(4.0, 0.01)
"""Few records leave little room for a test: only a dear one passes on so small a universe."""
MOST_POINTS = 5_000
"""Laws on larger grids are not written down answer by answer."""

ADDED = ("power_law", "cauchy", "student", "laplace", "gaussian")
NEEDS_DELTA = {"laplace", "gaussian"}
SERVES: dict[str, tuple[str, ...]] = {
    "worst_case": ADDED,
    "smooth": ADDED,
    "largest_local": ADDED,
    "inverse": ("",),
    "ladder": ("",),
    "stable": ("",),
    "noisy_local": ("laplace",),
    "propose_test": ("laplace",),
}
"""The noises that each mechanism uses; "" where it draws without one."""
PROOFS = {
    "worst_case": "admissible",
    "smooth": "smooth",
    "largest_local": "largest_local",
    "inverse": "inverse",
    "ladder": "ladder_mechanism",
    "stable": "stable",
    "noisy_local": "noisy_local",
    "propose_test": "propose_test",
}


@dataclass(frozen=True)
class Question:
    """A query under audit: its small universe and where its ladder is proved."""

    name: str
    covers: tuple[str, ...]
    world: Callable[[bool], World]
    """quick -> the universe."""
    proof: str
    extra: tuple[tuple[str, Mechanism], ...] = ()
    """Further mechanisms, beyond those that the planner offers."""


def _columns(query: Any, values: int, records: int, small: int | None = None, low: int = 0) -> Callable[[bool], World]:
    """All columns of the ``values`` (``small`` in a quick audit) whole numbers from ``low`` on."""
    return functools.cache(
        lambda quick: column_world(query, range(low, low + (small if quick and small else values)), records)
    )


def _selections(query: Any, relation: Neighbours, rows: int = 1, most: int = 4) -> Callable[[bool], World]:
    values = (0, 1) if isinstance(query, Count) else (0, 1, 4)
    return functools.cache(lambda quick: selection_world(query, values, most - quick, relation, rows))


def _graphs(query: Any, vertices: int = 4) -> Callable[[bool], World]:
    return functools.cache(lambda quick: graph_world(query, vertices))


_MARGIN = ("margin levels", LargestLocal(levels=Margin(bound=2, depth=3)))
_BOTH = {"filtered": Neighbours.ADD_REMOVE_CHANGE, "grouped": Neighbours.ADD_REMOVE}
_SQUARE = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2))


def _whole_columns() -> Iterator[Question]:
    """Columns whose number of records is public."""
    b, q = (0, 6), Fraction(1, 4)
    paper = (("paper's constants", Smooth(constants="paper")), ("linear bound", Smooth(algorithm="linear")),
             ("sublinear bound", Smooth(algorithm="sublinear")), _MARGIN)  # fmt: skip
    yield Question("median", ("Median", "median"), _columns(Median(bounds=b), 7, 4, 5), "order", paper)
    yield Question("minimum", ("Minimum", "minimum"), _columns(Minimum(bounds=b), 7, 4, 5), "order")
    yield Question("maximum", ("Maximum", "maximum"), _columns(Maximum(bounds=b), 7, 4, 5), "order")
    yield Question("quantile", ("Quantile", "quantile"), _columns(Quantile(q=q, bounds=b), 7, 5, 4), "order")
    rank = OrderStatistic(rank=2, bounds=b)
    yield Question("order statistic", ("OrderStatistic",), _columns(rank, 7, 3, 5), "order")
    several = Quantiles(q=[Fraction(1, 4), Fraction(3, 4)], bounds=(0, 3))
    yield Question("quantiles", ("Quantiles", "quantiles"), _columns(several, 4, 4), "quantiles")
    trimmed = TrimmedMean(trim=Fraction(1, 5), bounds=(0, 3))
    yield Question("trimmed mean", ("TrimmedMean", "trimmed_mean"), _columns(trimmed, 4, 5, 3), "totals")
    yield Question("interquartile range", ("IQR", "iqr"), _columns(IQR(bounds=(0, 4)), 5, 4, 4), "order")
    yield Question("sum", ("Sum", "sum"), _columns(Sum(bounds=(-1, 3)), 5, 3, low=-1), "totals")
    yield Question("mean", ("Mean", "mean"), _columns(Mean(bounds=(0, 4)), 5, 3), "totals")
    yield Question("count", ("Count", "count"), _columns(Count(), 2, 5), "totals")
    yield Question("variance", ("Variance", "variance"), _columns(Variance(bounds=(0, 2)), 3, 4), "totals")
    smallest = SmallestSum(k=2, bounds=(0, 4))
    yield Question("sum of the smallest", ("SmallestSum",), _columns(smallest, 5, 4, 4), "largest_local")
    chain = ChainSum([3, 4, 6, 9, 14, 22], step=1)
    yield Question("sum along a chain", ("ChainSum", "LevelFunction", "Levels"),
                   functools.cache(lambda quick: chain_world(chain, 6)), "largest_local")  # fmt: skip


def _tables() -> Iterator[Question]:
    bins = HistogramQuery(edges=[0, 1, 2, 3])
    yield Question("histogram", ("Histogram", "histogram"), _columns(bins, 3, 4), "totals")
    means, covariance = MeanVector(bounds=(0, 2)), Covariance(bounds=(0, 2))
    yield Question(
        "mean vector", ("MeanVector",), functools.cache(lambda q: table_world(means, (0, 1, 2), 3 - q)), "totals"
    )
    yield Question("covariance", ("Covariance", "covariance"),
                   functools.cache(lambda q: table_world(covariance, (0, 1, 2), 3 - q)), "totals")  # fmt: skip


def _selected() -> Iterator[Question]:
    """Behind filters, in groups and with people who own several rows: the number of records is private."""
    asked = {
        "median": Median(bounds=(0, 4)), "minimum": Minimum(bounds=(0, 4)), "maximum": Maximum(bounds=(0, 4)),
        "quantile": Quantile(q=Fraction(2, 3), bounds=(0, 4)), "sum": Sum(bounds=(0, 4)), "mean": Mean(bounds=(0, 4)),
        "interquartile range": IQR(bounds=(0, 4)), "count": Count(),
        "sum of the smallest": SmallestSum(k=2, bounds=(0, 4)),
    }  # fmt: skip
    cut = (("sublinear bound", Smooth(algorithm="sublinear")),)
    for manner, relation in _BOTH.items():
        for name, query in asked.items():
            world, extra = _selections(query, relation), cut if name == "median" else ()
            yield Question(f"{manner} {name}", (f"{manner} rows",), world, "filtered", extra)
    for name in ("median", "sum", "mean"):
        world = _selections(asked[name], Neighbours.ADD_REMOVE_CHANGE, rows=2)
        yield Question(f"{name} of people", ("several rows a person",), world, "filtered")
    bins = HistogramQuery(edges=[0, 1, 2, 3, 4, 5])
    for manner, relation in _BOTH.items():
        yield Question(f"{manner} histogram", (f"{manner} rows",), _selections(bins, relation, most=3), "filtered")
    people = _selections(bins, Neighbours.ADD_REMOVE_CHANGE, rows=2, most=3)
    yield Question("histogram of people", ("several rows a person",), people, "filtered")


def _graph_counts() -> Iterator[Question]:
    yield Question("edges", ("Edges", "edges", "Graph"), _graphs(Edges()), "graphs")
    yield Question("triangles", ("Triangles", "triangles"), _graphs(Triangles()), "graphs")
    yield Question("2-stars", ("KStars", "kstars"), _graphs(KStars(2)), "graphs")
    yield Question("3-stars", ("KStars",), _graphs(KStars(3)), "graphs")
    yield Question("2-triangles", ("KTriangles", "ktriangles"), _graphs(KTriangles(2)), "graphs")
    yield Question("4-cliques", ("KCliques", "kcliques"), _graphs(KCliques(4)), "graphs")
    yield Question("edges of bounded degree", ("Edges",), _graphs(Edges(max_degree=2)), "graphs")
    yield Question("triangles of bounded degree", ("Triangles",), _graphs(Triangles(max_degree=3)), "graphs")
    yield Question("minimum cut", ("MinCut", "min_cut"), _graphs(MinCut()), "trees")
    square = functools.cache(lambda quick: weighted_world(_SQUARE, 4, (0, 1, 8) if not quick else (0, 6)))
    yield Question("spanning tree", ("MSTCost", "mst_cost"), square, "trees")


@functools.cache
def questions() -> tuple[Question, ...]:
    """All of them."""
    return (*_whole_columns(), *_tables(), *_selected(), *_graph_counts())


def question_checks() -> Iterator[Check]:
    """Ladders and sensitivities, then every mechanism and noise of every query, exactly and by its answers."""
    for question in questions():
        yield _ladder_check(question)
        statistic = question.world(True).statistic
        # There is no bound below a cap of one step to propose.
        least = isinstance(statistic, Statistic) and statistic.global_sensitivity <= 1
        names = [name for name in applicable(statistic) if not (least and name == "propose_test")]
        served = [(name, name, MECHANISMS[name]()) for name in names]
        for label, mechanism in question.extra:
            served.append((label, mechanism.name, mechanism))
        for label, name, mechanism in served:
            for noise in _noises(statistic, name, label):
                yield from _mechanism_checks(question, label, name, mechanism, noise)


def _noises(statistic: Statistic | VectorStatistic, mechanism: str, label: str) -> tuple[str, ...]:
    if label == "paper's constants":
        return ("cauchy", "laplace")
    if label in ("linear bound", "sublinear bound"):
        return ("power_law",)
    if label == "margin levels":
        return ("power_law", "laplace")
    if isinstance(statistic, VectorStatistic) and mechanism == "worst_case":
        return ("laplace", "gaussian")
    return SERVES[mechanism]


def _ladder_check(question: Question) -> Check:
    def run(effort: Effort) -> Result:
        world = question.world(effort.quick)
        return sensitivities(world) if isinstance(world.statistic, VectorStatistic) else axioms(world, 6)

    several = isinstance(question.world(True).statistic, VectorStatistic)
    detail = "sensitivity" if several else "ladder axioms"
    return Check(
        question.name, "exhaustive", run, detail=detail, covers=frozenset(question.covers), proof=question.proof
    )


def price_of(mechanism: str, noise: str, epsilon: float = EPSILON) -> Loss:
    """What is asked of a mechanism under audit."""
    if mechanism in ("propose_test", "stable"):
        return TESTED
    dilated = mechanism in ("smooth", "largest_local") and noise in NEEDS_DELTA
    return Loss(epsilon, DELTA if dilated or noise == "gaussian" or mechanism == "noisy_local" else 0.0)


def law_of(noise: str, label: str = "") -> Law | None:
    """The law of a name; None for draws without one."""
    if not noise:
        return None
    return Cauchy(4) if label == "paper's constants" and noise == "cauchy" else NOISES[noise]()


def prepare_case(
    world: World, mechanism: Mechanism, noise: str, confidence: Fraction | None = None, label: str = "",
    epsilon: float = EPSILON,
) -> Any:  # fmt: skip
    """A mechanism for a small universe; the planner would refuse tests on so few records."""
    if isinstance(mechanism, ProposeTest) and isinstance(world.statistic, Statistic):
        # A bound that some rungs of so small a universe keep.
        steps = max(world.statistic.global_sensitivity // 2, 1)
        mechanism = ProposeTest(bound=steps * world.statistic.answers.step)
    asked = MechanismSpec(world.statistic, price_of(mechanism.name, noise, epsilon), law_of(noise, label), confidence)
    return mechanism.prepare(asked)


def _mechanism_checks(question: Question, label: str, name: str, mechanism: Mechanism, noise: str) -> Iterator[Check]:
    covers = frozenset(
        (*question.covers, name, type(mechanism).__name__, *((noise, NOISES[noise].__name__) if noise else ()))
    )
    if label == "margin levels":
        covers |= {"Margin"}
    proof = PROOFS[name]

    def exactly(effort: Effort) -> Result:
        world = question.world(effort.quick)
        return privacy(prepare_case(world, mechanism, noise, None, label), world)

    def by_answers(effort: Effort) -> Result:
        world = question.world(True)
        plain = prepare_case(world, mechanism, noise, None, label, LOUD)
        pair = worst_pair(plain, world.different_pairs) if writable(plain) else None
        here, there = pair[2] if pair else world.different_pairs[-1]
        prepared = prepare_case(world, mechanism, noise, Fraction(9, 10), label, LOUD)
        return attacked(prepared, here, there, effort)

    world = question.world(True)
    if not isinstance(world.statistic, Statistic) or writable_grid(world.statistic, name):
        yield Check(question.name, "exhaustive", exactly, label, noise, covers=covers, proof=proof)
    first = noise == _noises(world.statistic, name, label)[0]
    yield Check(question.name, "black-box", by_answers, label, noise, covers=covers, proof="audit", in_quick=first)


def writable_grid(statistic: Statistic, mechanism: str) -> bool:
    """Whether the exact law of a mechanism can be written down."""
    low, high = statistic.answers.low, statistic.answers.high
    if mechanism not in ("ladder", "inverse", "propose_test"):
        return True
    return low is not None and high is not None and high - low <= MOST_POINTS


def writable(prepared: Prepared) -> bool:
    """The same for a mechanism."""
    statistic: Any = prepared.statistic
    return not isinstance(prepared, (LadderDraw, ExponentialDraw, TestedNoise)) or writable_grid(statistic, "ladder")


def attacked(prepared: Prepared, here: Any, there: Any, effort: Effort) -> Result:
    """A lower confidence bound on the epsilon of a mechanism from its answers, error bars included."""
    plain = isinstance(prepared.statistic, Statistic) and not isinstance(prepared, NoisyLocalNoise)
    quicker = remembering(prepared) if plain else prepared
    samples = effort.of(500, 3_000)
    several = isinstance(prepared, ScaledVector) or not isinstance(prepared.statistic, Statistic)
    attacks = [Direction()] if several else [Histogram(bins=12), Direction()]

    width = 0 if several else 3

    def told(data: Any) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = as_answer(quicker.run(data))
        # A refusal has no bar: it is as wide as other answers, and empty.
        return answer + (None,) * (width - len(answer))

    def sampler(data: Any) -> Callable[[int], Any]:
        return lambda count: [told(data) for _ in range(count)]

    found = audit(
        sampler(here), sampler(there), claimed=prepared.loss, attacks=attacks, samples=samples,
        failure_probability=effort.failure_probability,
    )  # fmt: skip
    return Result(not found.detected, prepared.loss, found.lower_bound, None, samples, f"event: {found.event}"[:120])


@functools.cache
def cliff_world(rank: int = 4, records: int = 8, high: int = 128) -> World:
    """The library of worst pairs of an order statistic, on which every mechanism comes near to its claim."""
    statistic = RankedValue(rank, records, Grid(Fraction(1), 0, high))
    columns = [pair.columns(statistic.answers) for pair in worst_pairs(statistic)]
    data = [column for pair in columns for column in pair]
    there_and_back = [(2 * i + a, 2 * i + 1 - a) for i in range(len(columns)) for a in (0, 1)]
    return World(statistic, data, there_and_back)


def pair_checks() -> Iterator[Check]:
    """The exact privacy of every mechanism on the library of worst pairs."""
    for name in applicable(cliff_world().statistic):
        for noise in SERVES[name]:

            def run(effort: Effort, name: str = name, noise: str = noise) -> Result:  # noqa: ARG001
                world = cliff_world()
                return privacy(prepare_case(world, MECHANISMS[name](), noise), world)

            covers = frozenset({"OrderStatistic", name, *((noise,) if noise else ())})
            yield Check("order statistic", "exact", run, name, noise, "worst pairs", covers, PROOFS[name])
