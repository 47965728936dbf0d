"""Every query that ships with its small universe, and the checks of all mechanisms and noises that serve it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.mechanisms.choice import MECHANISMS, NOISES, applicable
from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Prepared
from dither.mechanisms.smooth import Smooth
from dither.noise.heavy_tails import Cauchy
from dither.noise.law import Law
from dither.privacy import Neighbours
from dither.queries.ball_means import BallMean
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.queries.moments import Correlation, LeastSquares, PairCovariance
from dither.queries.order import Maximum, Median, Minimum, OrderStatistic, Quantile, Quantiles
from dither.queries.presence import CountPresent, Quality
from dither.queries.registry import proved_columns
from dither.queries.smallest import ChainSum, SmallestSum
from dither.queries.spread import IQR, Variance
from dither.queries.totals import Count, Mean, Sum, TrimmedMean
from dither.queries.trees import MinCut
from dither.queries.vectors import Covariance, MeanVector
from dither.queries.vectors import Histogram as HistogramQuery
from dither.queries.weighted_cuts import WeightedMinCut
from dither.queries.workloads import CountingQueries, FamilyName
from dither.sensitivity.levels import Margin
from dither.sensitivity.margins import Margins
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit import own_functions as own
from dither_lab.audit.answers import as_answer, remembering
from dither_lab.audit.attacks import Direction, HistogramAttack
from dither_lab.audit.blackbox import audit
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.concentration import is_listed, stated_law
from dither_lab.audit.exhaustive import axioms, privacy, sensitivities, structures, worst_pair
from dither_lab.audit.law_comparison import draws_follow, own_law
from dither_lab.audit.laws.registry import (
    IndependentLaw,
    NoIndependentLaw,
    full_name,
    law_named,
    law_of,
    published,
    registered,
)
from dither_lab.audit.pairs import worst_pairs
from dither_lab.audit.universes import (
    Universe,
    chain_universe,
    column_universe,
    graph_universe,
    node_universe,
    selection_universe,
    several_features_universe,
    table_selection_universe,
    table_universe,
    weighted_universe,
)

EPSILON = 1.0
"""What exact and exhaustive checks ask for."""
LOUD = 3.0
"""What black-box checks ask for: a larger epsilon is seen in fewer runs."""
MOST_POINTS = 5_000
"""Laws on larger grids are not written down answer by answer."""
PAPER = "paper's constants"
LAW = "own law"
STATED = "stated rho"


@dataclass(frozen=True)
class AuditedQuery:
    """A query under audit: its small universe and where its ladder is proved."""

    name: str
    covers: tuple[str, ...]
    universe: Callable[[bool], Universe]
    """quick -> the universe."""
    proof: str
    extra: tuple[tuple[str, Mechanism, tuple[str, ...]], ...] = ()
    """Further mechanisms, beyond those that the planner offers, and their noises."""
    bounds: frozenset[str] = frozenset()
    """The structures that claim to be bounds ("ladder", "reachable"; "smooth" where a bound of its author's stands in
    for that of the ladder); all others must be what brute force finds."""


def _columns(
    query: Any, values: int, records: int, small: int | None = None, low: int = 0
) -> Callable[[bool], Universe]:
    """All columns of the ``values`` (``small`` in a quick audit) whole numbers from ``low`` on."""
    return functools.cache(
        lambda quick: column_universe(query, range(low, low + (small if quick and small else values)), records)
    )


def _selections(
    query: Any, relation: Neighbours, rows: int = 1, most: int = 4, values: tuple[int, ...] = (0, 1, 4)
) -> Callable[[bool], Universe]:
    return functools.cache(lambda quick: selection_universe(query, values, most - quick, relation, rows))


def _graphs(query: Any, vertices: int = 4) -> Callable[[bool], Universe]:
    return functools.cache(lambda quick: graph_universe(query, vertices))


_MARGINS = ("several margins", LargestLocal(levels=Margins(bounds=[1, 3, 5], depth=4)), ("power_law", "laplace"))
_MARGIN = ("margin levels", LargestLocal(levels=Margin(bound=2, depth=3)), ("power_law", "laplace"))
_LADDER, _BOTH_BOUNDS = frozenset({"ladder"}), frozenset({"ladder", "reachable"})
_BOTH = {"filtered": Neighbours.ADD_REMOVE_CHANGE, "grouped": Neighbours.ADD_REMOVE}
_SQUARE = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2))


def _whole_columns() -> Iterator[AuditedQuery]:
    """Columns whose number of records is public."""
    b, q = (0, 6), Fraction(1, 4)
    paper = (
        (PAPER, Smooth(constants="paper"), ("cauchy", "laplace")),
        ("linear bound", Smooth(algorithm="linear"), ("power_law",)),
        ("sublinear bound", Smooth(algorithm="sublinear"), ("power_law",)),
        _MARGIN,
        _MARGINS,
    )
    yield AuditedQuery("median", ("Median", "median"), _columns(Median(bounds=b), 7, 4, 5), "order", paper)
    yield AuditedQuery("minimum", ("Minimum", "minimum"), _columns(Minimum(bounds=b), 7, 4, 5), "order")
    yield AuditedQuery("maximum", ("Maximum", "maximum"), _columns(Maximum(bounds=b), 7, 4, 5), "order")
    yield AuditedQuery("quantile", ("Quantile", "quantile"), _columns(Quantile(q=q, bounds=b), 7, 5, 4), "order")
    rank = OrderStatistic(rank=2, bounds=b)
    yield AuditedQuery("order statistic", ("OrderStatistic", "order_statistic"), _columns(rank, 7, 3, 5), "order")
    several = Quantiles(q=[Fraction(1, 4), Fraction(3, 4)], bounds=(0, 3))
    yield AuditedQuery("quantiles", ("Quantiles", "quantiles"), _columns(several, 4, 4), "quantiles")
    trimmed = TrimmedMean(trim=Fraction(1, 5), bounds=(0, 3))
    yield AuditedQuery("trimmed mean", ("TrimmedMean", "trimmed_mean"), _columns(trimmed, 4, 5, 3), "totals")
    yield AuditedQuery(
        "interquartile range", ("IQR", "iqr"), _columns(IQR(bounds=(0, 4)), 5, 4, 4), "order", bounds=_LADDER
    )
    yield AuditedQuery("sum", ("Sum", "sum"), _columns(Sum(bounds=(-1, 3)), 5, 3, low=-1), "totals")
    yield AuditedQuery("mean", ("Mean", "mean"), _columns(Mean(bounds=(0, 4)), 5, 3), "totals")
    yield AuditedQuery("count", ("Count", "count"), _columns(Count(), 2, 5), "totals")
    present = ("CountPresent", "count_present")
    yield AuditedQuery("values present", present, _columns(CountPresent(), 2, 5), "totals")
    yield AuditedQuery(
        "variance", ("Variance", "variance"), _columns(Variance(bounds=(0, 2)), 3, 4), "totals", bounds=_LADDER
    )
    smallest = SmallestSum(k=2, bounds=(0, 4))
    yield AuditedQuery(
        "sum of the smallest", ("SmallestSum", "smallest_sum"), _columns(smallest, 5, 4, 4), "largest_local"
    )
    reachable = ChainSum([3, 4, 6, 9, 14, 22], step=1)
    yield AuditedQuery(
        "sum along a chain",
        ("ChainSum", "LevelFunction", "Levels"),
        functools.cache(lambda quick: chain_universe(reachable, 6)),
        "largest_local",
    )


def _tables() -> Iterator[AuditedQuery]:
    bins = HistogramQuery(edges=[0, 1, 2, 3])
    yield AuditedQuery("histogram", ("Histogram", "histogram"), _columns(bins, 3, 4), "totals")
    yield AuditedQuery("quality", ("Quality", "quality"), _columns(Quality(), 4, 4, 3), "totals")
    means, covariance = MeanVector(bounds=(0, 2)), Covariance(bounds=(0, 2))
    balls = [BallMean(radius=2, norm="l1", centre=(1, 1), step=1), BallMean(radius=2, centre=(1, 1), step=1)]
    for ball in balls:
        universe = functools.cache(lambda q, ball=ball: table_universe(ball, (-1, 0, 1, 3), 3 - q))
        yield AuditedQuery(f"mean within a ball, {ball.norm}", ("BallMean", "ball_mean"), universe, "totals")
    yield AuditedQuery(
        "mean vector", ("MeanVector",), functools.cache(lambda q: table_universe(means, (0, 1, 2), 3 - q)), "totals"
    )
    yield AuditedQuery(
        "covariance",
        ("Covariance", "covariance"),
        functools.cache(lambda q: table_universe(covariance, (0, 1, 2), 3 - q)),
        "totals",
    )


def _moments() -> Iterator[AuditedQuery]:
    """Functions of two columns; of 0, 2 and 5 between 0 and 5 the moments move as far as they can."""
    covariance = PairCovariance(bounds=(0, 2))
    pairs = functools.cache(lambda q: table_universe(covariance, (0, 1, 2), 3 - q))
    names = ("PairCovariance", "pair_covariance")
    yield AuditedQuery("covariance of two columns", names, pairs, "totals", bounds=_LADDER)
    for asked in (Correlation(bounds=(0, 5)), LeastSquares(bounds=(0, 5))):
        names = (type(asked).__name__, asked.name)
        whole = functools.cache(lambda q, asked=asked: table_universe(asked, (0, 2, 5), 3 - q))
        yield AuditedQuery(asked.noun, names, whole, "moments")
        for selection, relation in _BOTH.items():
            yield AuditedQuery(f"{selection} {asked.noun}", (f"{selection} rows",), _rows(asked, relation), "moments")
        people = _rows(asked, Neighbours.ADD_REMOVE_CHANGE, 2)
        yield AuditedQuery(f"{asked.noun} of people", ("several rows a person",), people, "moments")
    several = functools.cache(lambda quick: several_features_universe())
    yield AuditedQuery("least squares of two features", ("Regression", "regression ols"), several, "least_squares")


def _rows(asked: Any, relation: Neighbours, rows: int = 1) -> Callable[[bool], Universe]:
    return functools.cache(lambda quick: table_selection_universe(asked, (0, 5), 3 - quick, relation, rows))


def _workloads() -> Iterator[AuditedQuery]:
    """Families of counting queries: over bins of one column, and over rows of bits."""
    names = ("CountingQueries", "counting_queries")
    over_bins: dict[str, Any] = {
        "points": "points",
        "thresholds": "thresholds",
        "predicates": [lambda item: item == "0 to 1", lambda item: item != "2 to 3", lambda item: True],
    }
    for name, family in over_bins.items():
        asked = CountingQueries(edges=[0, 1, 2, 3], family=family)
        yield AuditedQuery(f"counting queries, {name}", names, _columns(asked, 3, 4), "counting_queries")
    over_bits: dict[FamilyName, int | None] = {"attribute_means": None, "conjunctions": 1}
    for name, width in over_bits.items():
        asked = CountingQueries(family=name, width=width)
        bits = functools.cache(lambda quick, asked=asked: table_universe(asked, (0, 1), 4 - quick))
        yield AuditedQuery(f"counting queries, {name}", names, bits, "counting_queries")
    for selection, relation in _BOTH.items():
        asked = CountingQueries(edges=[0, 1, 2, 3, 4, 5], family="thresholds")
        universe = _selections(asked, relation, most=3)
        yield AuditedQuery(f"{selection} counting queries", (f"{selection} rows",), universe, "counting_queries")
    people = _selections(asked, Neighbours.ADD_REMOVE_CHANGE, rows=2, most=3)
    yield AuditedQuery("counting queries of people", ("several rows a person",), people, "counting_queries")


def _selected() -> Iterator[AuditedQuery]:
    """Behind filters, in groups and with people who own several rows: the number of records is private."""
    asked = {
        "median": Median(bounds=(0, 4)),
        "minimum": Minimum(bounds=(0, 4)),
        "maximum": Maximum(bounds=(0, 4)),
        "quantile": Quantile(q=Fraction(2, 3), bounds=(0, 4)),
        "sum": Sum(bounds=(0, 4)),
        "mean": Mean(bounds=(0, 4)),
        "interquartile range": IQR(bounds=(0, 4)),
        "variance": Variance(bounds=(0, 4)),
        "rank": OrderStatistic(rank=2, bounds=(0, 4)),
        "count": Count(),
        "sum of the smallest": SmallestSum(k=2, bounds=(0, 4)),
    }
    cut = (("sublinear bound", Smooth(algorithm="sublinear"), ("power_law",)),)
    only_bounds = {
        "filtered": dict.fromkeys(("sum", "mean", "interquartile range", "variance"), _LADDER),
        "grouped": dict.fromkeys(asked, _BOTH_BOUNDS) | {"median": _LADDER},
    }
    for selection, relation in _BOTH.items():
        for name, query in asked.items():
            universe = _selections(query, relation, values=(0, 1) if name == "count" else (0, 1, 4))
            extra = cut if name == "median" else ()
            bounds = only_bounds[selection].get(name, frozenset())
            yield AuditedQuery(f"{selection} {name}", (f"{selection} rows",), universe, "filtered", extra, bounds)
    for name in ("median", "sum", "mean"):
        universe = _selections(asked[name], Neighbours.ADD_REMOVE_CHANGE, rows=2)
        yield AuditedQuery(f"{name} of people", ("several rows a person",), universe, "filtered", bounds=_LADDER)
    bins = HistogramQuery(edges=[0, 1, 2, 3, 4, 5])
    for selection, relation in _BOTH.items():
        universe = _selections(bins, relation, most=3)
        yield AuditedQuery(f"{selection} histogram", (f"{selection} rows",), universe, "filtered")
    people = _selections(bins, Neighbours.ADD_REMOVE_CHANGE, rows=2, most=3)
    yield AuditedQuery("histogram of people", ("several rows a person",), people, "filtered")


def _graph_counts() -> Iterator[AuditedQuery]:
    yield AuditedQuery("edges", ("Edges", "edges", "Graph"), _graphs(Edges()), "graphs")
    yield AuditedQuery("triangles", ("Triangles", "triangles"), _graphs(Triangles()), "graphs")
    yield AuditedQuery("2-stars", ("KStars", "kstars"), _graphs(KStars(2)), "graphs")
    yield AuditedQuery("3-stars", ("KStars",), _graphs(KStars(3)), "graphs")
    yield AuditedQuery("2-triangles", ("KTriangles", "ktriangles"), _graphs(KTriangles(2)), "graphs", bounds=_LADDER)
    yield AuditedQuery("4-cliques", ("KCliques", "kcliques"), _graphs(KCliques(4)), "graphs", bounds=_LADDER)
    yield AuditedQuery("edges of bounded degree", ("Edges",), _graphs(Edges(max_degree=2)), "graphs")
    yield AuditedQuery(
        "triangles of bounded degree", ("Triangles",), _graphs(Triangles(max_degree=3)), "graphs", bounds=_LADDER
    )
    for name, asked in (
        ("2-stars", KStars(2, max_degree=2)),
        ("2-triangles", KTriangles(2, max_degree=3)),
        ("4-cliques", KCliques(4, max_degree=3)),
    ):
        yield AuditedQuery(
            f"{name} of bounded degree", (type(asked).__name__,), _graphs(asked), "graphs", bounds=_LADDER
        )
    for name, person_asked in (
        ("edges", Edges()),
        ("edges of limited degree", Edges(max_degree=2)),
        ("2-stars of limited degree", KStars(2, max_degree=2)),
        ("2-stars", KStars(2)),
        ("triangles", Triangles()),
        ("triangles of limited degree", Triangles(max_degree=2)),
    ):
        people = functools.cache(lambda quick, asked=person_asked: node_universe(asked, 4))
        names = (type(person_asked).__name__,)
        yield AuditedQuery(f"{name}, vertices are people", names, people, "node_privacy", bounds=_LADDER)
    yield AuditedQuery("minimum cut", ("MinCut", "min_cut"), _graphs(MinCut()), "trees", bounds=_LADDER)
    square = functools.cache(lambda quick: weighted_universe(_SQUARE, 4, (0, 1, 8) if not quick else (0, 6)))
    yield AuditedQuery("spanning tree", ("MSTCost", "mst_cost"), square, "trees")
    cut = functools.cache(
        lambda quick: weighted_universe(_SQUARE, 4, (0, 1, 8) if not quick else (0, 6), WeightedMinCut())
    )
    yield AuditedQuery("lightest cut", ("WeightedMinCut", "weighted_min_cut"), cut, "trees", bounds=_LADDER)


def _own_functions() -> Iterator[AuditedQuery]:
    """Functions and finite spaces of the owner's, failures included."""
    names = ("Custom",)
    yield AuditedQuery("own function with a ladder", names, own.by_ladder, "custom")
    yield AuditedQuery(
        "own function with a smooth bound", names, own.by_smooth_bound, "custom", bounds=frozenset({"ladder", "smooth"})
    )
    yield AuditedQuery("own function with levels", names, own.by_levels, "custom", bounds=_LADDER)
    yield AuditedQuery("own function with a local sensitivity", names, own.by_local, "custom", bounds=_LADDER)
    yield AuditedQuery("own function between steps", names, own.between_steps, "custom", bounds=_LADDER)
    yield AuditedQuery(
        "own function under a hypothesis", ("Custom", "restricted"), own.under_hypothesis, "custom", bounds=_LADDER
    )
    yield AuditedQuery("own vector", names, own.vector, "custom")
    yield AuditedQuery("own vector with a ladder", names, own.vector_by_ladder, "custom")
    yield AuditedQuery("finite space", ("FiniteSpace",), own.finite_space, "custom")


@functools.cache
def audited_queries() -> tuple[AuditedQuery, ...]:
    """All of them."""
    chosen = (
        *_whole_columns(),
        *_tables(),
        *_moments(),
        *_workloads(),
        *_selected(),
        *_graph_counts(),
        *_own_functions(),
    )
    return (*chosen, *_registered({name for choice in chosen for name in choice.covers}))


def _registered(covered: set[str]) -> Iterator[AuditedQuery]:
    """Statistics of one column without a universe of their own: all of four records with seven values."""
    for entry in proved_columns():
        if entry.query.__name__ not in covered:
            asked, names = entry.few_records(bounds=(0, 6), step=1), (entry.query.__name__, entry.function)
            universe = _columns(asked, 7, 4, 5)
            yield AuditedQuery(entry.name.replace("_", " "), names, universe, entry.proof, bounds=_BOTH_BOUNDS)


def served(audited: AuditedQuery) -> Iterator[tuple[str, str, Mechanism, tuple[str, ...]]]:
    """(label, name, mechanism, noises) of all that is audited on a query."""
    universe = audited.universe(True)
    for name in applicable(universe.statistic):
        law = registered().get(full_name(name, vector=universe.vector))
        if law is not None and law.applies(universe.statistic):
            yield name, name, MECHANISMS[name](), law.noises
    for label, mechanism, noises in audited.extra:
        yield label, mechanism.name, mechanism, noises


def query_checks() -> Iterator[Check]:
    """Ladders and sensitivities, then every mechanism and noise of every query, exactly and by its answers."""
    for audited in audited_queries():
        yield _ladder_check(audited)
        if not audited.universe(True).vector:
            yield _structure_check(audited)
        yield from _missing_laws(audited)
        for label, name, mechanism, noises in served(audited):
            for noise in noises:
                yield from _mechanism_checks(audited, label, name, mechanism, noise, first=noise == noises[0])


def _missing_laws(audited: AuditedQuery) -> Iterator[Check]:
    """A finding for every mechanism that serves a query and has no independent law for it."""
    universe = audited.universe(True)
    for name in applicable(universe.statistic):
        full = full_name(name, vector=universe.vector)
        if full not in registered():
            missing = Evidence(False, note=str(NoIndependentLaw(full)))
            yield Check(audited.name, "exhaustive", lambda effort, missing=missing: missing, name, detail=LAW)  # type: ignore[misc]


def _ladder_check(audited: AuditedQuery) -> Check:
    vector = audited.universe(True).vector

    def run(effort: Effort) -> Evidence:
        universe = audited.universe(effort.quick)
        return sensitivities(universe) if vector else axioms(universe, 6)

    detail = "sensitivity" if vector else "ladder axioms"
    return Check(audited.name, "exhaustive", run, detail=detail, covers=frozenset(audited.covers), proof=audited.proof)


def _structure_check(audited: AuditedQuery) -> Check:
    return Check(
        audited.name,
        "exhaustive",
        lambda effort: structures(audited.universe(effort.quick), audited.bounds),
        detail="published structures",
        covers=frozenset(audited.covers),
        proof=audited.proof,
    )


def noise_named(noise: str, label: str = "") -> Law | None:
    """The noise law of a name; None for draws without one."""
    if not noise:
        return None
    return Cauchy(4) if label == PAPER and noise == "cauchy" else NOISES[noise]()


def prepare_case(
    universe: Universe,
    mechanism: Mechanism,
    noise: str,
    confidence: Fraction | None = None,
    label: str = "",
    epsilon: float = EPSILON,
) -> Any:
    """A mechanism for a small universe; the planner would refuse tests on so few records."""
    law = law_named(mechanism.name, vector=universe.vector)
    suited = law.on_few_records(mechanism, universe.statistic)
    spec = MechanismSpec(universe.statistic, law.loss(noise, epsilon), noise_named(noise, label), confidence)
    return suited.prepare(spec)


def _mechanism_checks(
    audited: AuditedQuery, label: str, name: str, mechanism: Mechanism, noise: str, *, first: bool
) -> Iterator[Check]:
    covers = frozenset(
        (*audited.covers, name, type(mechanism).__name__, *((noise, NOISES[noise].__name__) if noise else ()))
    )
    if label in ("margin levels", "several margins"):
        covers |= {"Margin" if label == "margin levels" else "Margins"}
    law = law_named(name, vector=audited.universe(True).vector)

    def exactly(effort: Effort) -> Evidence:
        universe = audited.universe(effort.quick)
        return privacy(prepare_case(universe, mechanism, noise, None, label), universe)

    def compared(effort: Effort) -> Evidence:
        universe = audited.universe(False)
        prepared = prepare_case(universe, mechanism, noise, None, label)
        return own_law(prepared, universe.enumerated(audited.bounds), universe.distinct_data[:: effort.of(7, 1)])

    def by_answers(effort: Effort) -> Evidence:
        universe = audited.universe(True)
        plain = prepare_case(universe, mechanism, noise, None, label, LOUD)
        pair = worst_pair(plain, universe.different_pairs) if written else None
        here, there = pair[2] if pair else universe.different_pairs[-1]
        prepared = prepare_case(universe, mechanism, noise, Fraction(9, 10), label, LOUD)
        return attacked(prepared, here, there, effort, written=written)

    def lawful(effort: Effort) -> Evidence:  # noqa: ARG001
        universe = audited.universe(True)
        return stated_law(prepare_case(universe, mechanism, noise, None, label), universe)

    written = writable(audited.universe(True), law)
    without_delta = name == "worst_case" or law.loss(noise, EPSILON).is_pure
    if written and without_delta and is_listed(full_name(name, vector=law.vector), audited.universe(True)):
        yield Check(
            audited.name,
            "exhaustive",
            lawful,
            label,
            noise,
            STATED,
            covers,
            "concentrated",
            in_quick=noise in ("", "laplace"),
        )
    if written:
        yield Check(audited.name, "exhaustive", exactly, label, noise, covers=covers, proof=law.proof)
        yield Check(audited.name, "exhaustive", compared, label, noise, LAW, covers, law.proof)
    yield Check(audited.name, "black-box", by_answers, label, noise, covers=covers, proof="audit", in_quick=first)


def writable(universe: Universe, law: IndependentLaw) -> bool:
    """Whether the law of a mechanism can be written down: answers are listed on grids of few points only."""
    if not law.every_point or universe.vector:
        return True
    grid: Any = universe.statistic.answers
    return grid.low is not None and grid.high is not None and grid.high - grid.low <= MOST_POINTS


def attacked(prepared: Prepared, here: Any, there: Any, effort: Effort, *, written: bool = True) -> Evidence:
    """What answers show, intervals included: a lower confidence bound on epsilon, and whether they follow their law."""
    law = law_of(prepared)
    quicker = remembering(prepared) if law.reusable and not law.vector else prepared
    samples = effort.of(500, 3_000)
    attacks = [Direction()] if law.vector else [HistogramAttack(bins=12), Direction()]
    width = 0 if law.vector else 3
    answers: dict[int, list[tuple[Any, ...]]] = {id(here): [], id(there): []}

    def answer(data: Any) -> tuple[Any, ...]:
        results: tuple[Any, ...] = as_answer(quicker.run(data))
        answers[id(data)].append(results)
        # A refusal has no interval: it is as wide as other answers, and empty.
        return results + (None,) * (width - len(results))

    def sampler(data: Any) -> Callable[[int], Any]:
        return lambda count: [answer(data) for _ in range(count)]

    # Half of the failure probability for either audited.
    result = audit(
        sampler(here),
        sampler(there),
        claimed=prepared.loss,
        attacks=attacks,
        samples=samples,
        failure_probability=effort.failure_probability / 2,
    )
    note = f"event: {result.event}"[:120]
    if written and not result.detected:
        draws = [(data, answers[id(data)]) for data in (here, there)]
        followed = draws_follow(prepared, published(prepared), draws, effort.failure_probability / 2)
        if not followed.holds:
            return Evidence(False, prepared.loss, result.lower_bound, None, samples, followed.note)
    return Evidence(not result.detected, prepared.loss, result.lower_bound, None, samples, note)


@functools.cache
def cliff_universe(rank: int = 4, records: int = 8, high: int = 128) -> Universe:
    """The library of worst pairs of an order statistic, on which every mechanism comes near to its claim."""
    statistic = RankedValue(rank, records, Grid(Fraction(1), 0, high))
    columns = [pair.columns(statistic.answers) for pair in worst_pairs(statistic)]
    data = [column for pair in columns for column in pair]
    there_and_back = [(2 * i + a, 2 * i + 1 - a) for i in range(len(columns)) for a in (0, 1)]
    return Universe(statistic, data, there_and_back)


def pair_checks() -> Iterator[Check]:
    """The exact privacy of every mechanism on the library of worst pairs."""
    known = [(name, registered()[name]) for name in applicable(cliff_universe().statistic) if name in registered()]
    for name, law in known:
        for noise in law.noises:

            def run(effort: Effort, name: str = name, noise: str = noise) -> Evidence:  # noqa: ARG001
                universe = cliff_universe()
                return privacy(prepare_case(universe, MECHANISMS[name](), noise), universe)

            covers = frozenset({"OrderStatistic", name, *((noise,) if noise else ())})
            yield Check("order statistic", "exact", run, name, noise, "worst pairs", covers, law.proof)
