"""Everything that is broken on purpose, as checks that must find it.

Each mutant is a mistake that has been made in published code or papers.  The auditors are those of what ships: a
mutant that none of them finds would be a hole in the audit.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting.concentrated import bounded_range, real_laplace
from dither.mechanisms.choice import MECHANISMS, applicable, prepare
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MechanismSpec, Prepared
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.stable_bins import GaussianBins, StableBins
from dither.privacy import Concentrated, Loss, Neighbours
from dither.queries.order import Median
from dither.session.reading import TableSource
from dither.session.session import Session
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit import broken_mechanisms as broken
from dither_lab.audit.adaptive_analysts import forgotten_rhos, separate_tallies, squares_alone, without_sums
from dither_lab.audit.answer_spaces import in_points
from dither_lab.audit.answers import as_answer, examine, remembering
from dither_lab.audit.audited_queries import audited_queries, cliff_universe, prepare_case
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.concentration import stated_law
from dither_lab.audit.divergence import over_box
from dither_lab.audit.drawn_intervals import EPSILON, WIDE, jumping_ranks, population_width, unsigned_margin, width
from dither_lab.audit.exhaustive import axioms, privacy, sensitivities
from dither_lab.audit.law_comparison import draws_follow, own_law
from dither_lab.audit.laws.registry import IndependentLaw, Mutant, registered
from dither_lab.audit.laws_and_losses import LAWS, SCALE, batch_delta
from dither_lab.audit.linked_people import in_linked_people
from dither_lab.audit.nested_quantiles import segment_losses
from dither_lab.audit.own_functions import in_claims
from dither_lab.audit.pairs import worst_pairs
from dither_lab.audit.procedure_checks import gaussian_bins_delta
from dither_lab.audit.procedure_mutants import in_procedures
from dither_lab.audit.propose_test_release import bins_divergence
from dither_lab.audit.rational_samplers import in_samplers
from dither_lab.audit.record_mutants import in_records
from dither_lab.audit.traces import order_of_events, public_decisions
from dither_lab.audit.universes import Universe, selection_universe

CROSSING = "a record crosses the whole range"
TIE_UP = "a tie broken to the upper bound"
TIE_DOWN = "a tie broken to the lower bound"
GAP = "a gap at the rank"
CONSISTENT = "noise 30% small, and said to be"
MANY_RUNS = 12_000


def mutants() -> Iterator[Check]:
    """All of them, each with the auditor that must find it."""
    yield from _too_little_noise()
    yield from _consistently_wrong()
    yield from _of_their_own()
    yield from _wrong_scales()
    yield from _seen_in_answers()
    yield from _understated()
    yield from _misstated_laws()
    yield from _wrong_filters()
    yield from _in_sessions()
    yield from in_records()
    yield from in_linked_people()
    yield from in_claims()
    yield from in_points()
    yield from in_procedures()
    yield from in_samplers()


def _broken(name: str, method: Any, run: Callable[[Effort], Evidence], detail: str = "") -> Check:
    return Check(name, method, run, detail=detail, proof="audit")


# --- computed -------------------------------------------------------------------------------------------


def _too_little_noise() -> Iterator[Check]:
    """Noise 20% smaller than was proved: every law, every mechanism."""
    for law in LAWS:

        def box(effort: Effort, law: Any = law) -> Evidence:  # noqa: ARG001
            loss = Loss(1.0, 0.0 if law.pure else 1e-6)
            result = over_box(law.point(loss), noise_factor=0.8)
            kept = result.epsilon <= 1.0 if law.pure else result.delta <= loss.delta
            return Evidence(
                kept, loss, result.epsilon if law.pure else None, note=f"delta {result.delta:.3g} at {result.at}"
            )

        yield _broken("noise 20% small", "exact", box, str(law))
    for name, noise in sorted(_weakened_on(cliff_universe())):

        def law_of(effort: Effort, name: str = name, noise: str = noise) -> Evidence:  # noqa: ARG001
            universe = cliff_universe()
            return privacy(broken.noise_too_small(prepare_case(universe, MECHANISMS[name](), noise)), universe)

        yield _broken("noise 20% small", "exhaustive", law_of, name)
    bits = "counting queries, attribute_means"
    for name, subject in (("noisy_histogram", bits), ("k_norm", bits), ("noisy_count", "filtered mean")):

        def counted(effort: Effort, name: str = name, subject: str = subject) -> Evidence:
            audited = next(audited_query for audited_query in audited_queries() if audited_query.name == subject)
            universe = audited.universe(effort.quick)
            return privacy(broken.noise_too_small(prepare_case(universe, MECHANISMS[name](), "")), universe)

        yield _broken("noise 20% small", "exhaustive", counted, name)
    yield _broken("noise 20% small", "black-box", _narrow_draws, "the sampler itself")
    alone = _pair_attack(broken.noise_too_small, "worst_case", (1, 1, 8), CROSSING, 24_000, known=True)
    yield _broken("noise 20% small", "black-box", alone, "worst_case, answers alone")


def _weakened_on(universe: Universe) -> Iterator[tuple[str, str]]:
    """(mechanism, noise) of all pure mechanisms that serve a universe and whose noise can be made smaller."""
    for name in applicable(universe.statistic):
        law = registered().get(name)
        if law is not None and law.loss(law.noises[0], 1.0).is_pure:
            honest = prepare_case(universe, MECHANISMS[name](), law.noises[0])
            if law.weakened(honest, Fraction(1, 2)) is not None:
                yield name, law.noises[0]


def _of_their_own() -> Iterator[Check]:
    """The ways to break a mechanism that stand beside its independent law."""
    for name, law in registered().items():
        for mutant in law.mutants(_preparer(name, law)):
            yield _broken(mutant.name, "exhaustive", functools.partial(_shown_and_stated, mutant), name)


def _preparer(name: str, law: IndependentLaw) -> Callable[[Universe], Any]:
    return lambda universe: prepare_case(universe, MECHANISMS[name](), law.noises[0])


def _shown_and_stated(mutant: Mutant, effort: Effort) -> Evidence:
    """Found if it shows more than it claims, and if the law that it states is not the laboratory's."""
    universe, claimed = mutant.universe, mutant.prepared.loss
    facts = universe.enumerated()
    demonstrated = mutant.law.worst_pair(mutant.prepared, facts, universe.different_pairs)[0]
    stated = own_law(mutant.prepared, facts, universe.distinct_data[:: effort.of(7, 1)])
    held = demonstrated <= claimed.epsilon or stated.holds
    return Evidence(held, claimed, demonstrated, None, len(universe.different_pairs), stated.note)


def _consistently_wrong() -> Iterator[Check]:
    """Noise 30% small, stated errors as small, public parameters as they should be: only the laboratory disagrees."""
    median = next(audited_query for audited_query in audited_queries() if audited_query.name == "median").universe(
        False
    )
    for subject, name, noise in (
        *(("median", name, noise) for name, noise in sorted(_weakened_on(median))),
        ("median", "worst_case", "laplace"),
        ("median", "propose_test", "laplace"),
        ("sum along a chain", "largest_local", "power_law"),
        ("histogram", "worst_case", "gaussian"),
        ("2-stars", "noisy_local", "laplace"),
        ("own vector with a ladder", "smooth", "power_law"),
        ("counting queries, thresholds", "noisy_histogram", ""),
        ("counting queries, attribute_means", "k_norm", ""),
        ("filtered mean", "noisy_count", ""),
    ):

        def stated(effort: Effort, subject: str = subject, name: str = name, noise: str = noise) -> Evidence:
            audited = next(audited_query for audited_query in audited_queries() if audited_query.name == subject)
            universe = audited.universe(False)
            mutant = broken.noise_and_law_too_small(prepare_case(universe, MECHANISMS[name](), noise))
            return own_law(mutant, universe.enumerated(audited.bounds), universe.distinct_data[:: effort.of(7, 1)])

        yield _broken(CONSISTENT, "exhaustive", stated, ", ".join(filter(None, (name, noise, subject))))
    for subject, name, noise in (
        ("median", "worst_case", "laplace"),
        ("quantiles", "inverse", ""),
    ):

        def drawn(effort: Effort, subject: str = subject, name: str = name, noise: str = noise) -> Evidence:
            audited = next(audited_query for audited_query in audited_queries() if audited_query.name == subject)
            universe = audited.universe(False)
            mutant = broken.noise_and_law_too_small(prepare_case(universe, MECHANISMS[name](), noise))
            data = universe.data[0]
            answers = [as_answer(mutant.run(data)) for _ in range(MANY_RUNS)]
            facts = universe.enumerated(audited.bounds)
            return draws_follow(mutant, facts, [(data, answers)], effort.failure_probability)

        yield _broken(CONSISTENT, "black-box", drawn, f"{name}, {subject}")


def _narrow_draws(effort: Effort) -> Evidence:
    """A sampler that draws from a scale a fifth too small, against the law that it should have."""
    from dither.noise.vectors import integer_laplace_draws  # noqa: PLC0415

    count, ratio = 60_000, math.exp(-1 / float(SCALE))
    drawn = np.sort(np.array([int(k) for k in integer_laplace_draws(count, SCALE * Fraction(4, 5))], dtype=float))
    values, first = np.unique(drawn, return_index=True)
    after = np.append(first[1:], count) / count
    below = np.where(
        values >= 0, 1.0 - ratio ** (np.abs(values) + 1) / (1 + ratio), ratio ** np.abs(values) / (1 + ratio)
    )
    worst = float(np.abs(after - below).max())
    allowed = math.sqrt(math.log(2.0 / effort.failure_probability) / (2 * count))
    return Evidence(worst <= allowed, cases=count, note=f"distance {worst:.4f} of {allowed:.4f} allowed")


def _wrong_scales() -> Iterator[Check]:
    """Scales that are not smooth, tests that always pass, thresholds that are too low."""
    median = next(audited for audited in audited_queries() if audited.name == "median").universe

    def raw(effort: Effort) -> Evidence:  # noqa: ARG001
        return privacy(
            broken.local_sensitivity_used_raw(prepare_case(median(True), MECHANISMS["smooth"](), "power_law")),
            median(True),
        )

    def faster(effort: Effort) -> Evidence:  # noqa: ARG001
        return privacy(
            broken.beta_ignored(prepare_case(median(True), MECHANISMS["smooth"](), "power_law")), median(True)
        )

    def untested(effort: Effort) -> Evidence:  # noqa: ARG001
        honest: Any = ProposeTest(bound=1).prepare(MechanismSpec(median(True).statistic, Loss(4.0, 0.01)))
        return privacy(
            dataclasses.replace(honest, test=MarginTest(honest.test.epsilon, Fraction(49, 100))), median(True)
        )

    def unstable(effort: Effort) -> Evidence:  # noqa: ARG001
        honest = prepare_case(median(True), MECHANISMS["stable"](), "")
        return privacy(dataclasses.replace(honest, test=MarginTest(honest.test.epsilon, Fraction(1, 10))), median(True))

    yield _broken("local sensitivity used raw", "exhaustive", raw, "smooth")
    yield _broken("beta ignored", "exhaustive", faster, "smooth")
    yield _broken("a test that nearly always passes", "exhaustive", untested, "propose_test")
    yield _broken("a threshold that is too low", "exhaustive", unstable, "stable")
    yield _broken("bins shown too early", "exhaustive", _early_bins, "histogram without categories")
    yield _broken("Gaussian bins with 25% less noise", "exhaustive", _quiet_bins, "histogram without categories")
    whole_rate = functools.partial(width, 8, rate=float(EPSILON))
    yield _broken("the width of an interval drawn at twice its rate", "exhaustive", whole_rate, "inverse")
    yield _broken("a margin without its sign", "exhaustive", unsigned_margin, "inverse")
    lengths = functools.partial(segment_losses, relative=True)
    yield _broken("nested quantiles whose segments are as long as their records", "exhaustive", lengths, "inverse")
    for private in (False, True):
        fast = functools.partial(population_width, private=private, rate=0.65 * float(WIDE))
        yield _broken(f"a width for the population at 1.3 times its rate, {private=}", "exhaustive", fast, "inverse")
    jumps = functools.partial(population_width, private=True, ranks=jumping_ranks)
    yield _broken("ranks for the population that jump with the number of records", "exhaustive", jumps, "inverse")


def _early_bins(effort: Effort) -> Evidence:  # noqa: ARG001
    honest = StableBins(Fraction(3, 2), Fraction(1, 100))

    class Lower(StableBins):
        threshold = honest.threshold - 1

    delta = bins_divergence(Lower(honest.epsilon, honest.delta), {"a": 1, "b": 1}, {"a": 2, "b": 0}, 1.5)
    return Evidence(delta <= 0.01, Loss(1.5, 0.01), note=f"delta {delta:.3g}")


def _quiet_bins(effort: Effort) -> Evidence:  # noqa: ARG001
    honest = GaussianBins.of(Loss(1.5, 0.02))

    class Quiet(GaussianBins):
        scale = honest.scale * Fraction(3, 4)
        threshold = honest.threshold

    delta = gaussian_bins_delta(Quiet(honest.alpha, honest.hidden), 1.5)
    return Evidence(delta <= 0.02, Loss(1.5, 0.02), note=f"delta {delta:.3g}")


def _understated() -> Iterator[Check]:
    """Ladders and sensitivities that are too small, people who own more rows than was declared, halved losses."""
    by_name = {audited.name: audited for audited in audited_queries()}
    for name in (
        "median",
        "trimmed mean",
        "filtered mean",
        "filtered variance",
        "triangles",
        "2-triangles",
        "spanning tree",
        "lightest cut",
    ):

        def short(effort: Effort, name: str = name) -> Evidence:  # noqa: ARG001
            return axioms(by_name[name].universe(False), 4, Fraction(7, 10))

        yield _broken("rungs 30% short", "exhaustive", short, name)
    for name in (
        "histogram",
        "covariance",
        "correlation",
        "least squares",
        "least squares of two features",
        "own vector with a ladder",
        "mean within a ball, l1",
        "mean within a ball, l2",
    ):

        def small(effort: Effort, name: str = name) -> Evidence:  # noqa: ARG001
            return sensitivities(by_name[name].universe(True), Fraction(7, 10))

        yield _broken("sensitivities 30% small", "exhaustive", small, name)

    def crowded(effort: Effort) -> Evidence:  # noqa: ARG001
        """Two rows of one person, charged as one."""
        relation = Neighbours.ADD_REMOVE_CHANGE
        pairs, honest = (selection_universe(Median(bounds=(0, 4)), (0, 1, 4), 4, relation, rows) for rows in (2, 1))
        universe = Universe(honest.statistic, pairs.data, pairs.pairs)
        return privacy(prepare_case(universe, MECHANISMS["inverse"](), ""), universe)

    def halved(effort: Effort) -> Evidence:  # noqa: ARG001
        losses = [Loss(0.4)] * 6
        claimed = Loss(1.2, 0.01)
        return Evidence(
            batch_delta(losses, claimed.epsilon) <= claimed.delta, claimed, note="six answers at half their loss"
        )

    yield _broken("a person with more rows than declared", "exhaustive", crowded)
    yield _broken("composition at half its loss", "exact", halved)


# --- seen in answers ------------------------------------------------------------------------------------


def _pair_attack(
    breaks: Callable[..., Prepared],
    mechanism: str,
    shape: tuple[int, int, int],
    pair: str,
    runs: int,
    *,
    known: bool = False,
    **options: Any,
) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:
        rank, records, high = shape
        statistic = RankedValue(rank, records, Grid(Fraction(1), 0, high))
        (columns,) = (
            worst_pair.columns(statistic.answers) for worst_pair in worst_pairs(statistic) if worst_pair.name == pair
        )
        _, plain = prepare(statistic, epsilon=2.0, mechanism=mechanism, **options)
        honest = remembering(plain)
        prepared = breaks(honest)
        result = examine(
            prepared,
            *columns,
            samples=runs,
            known=honest if known else None,
            failure_probability=effort.failure_probability,
        )
        return Evidence(
            not result.detected, result.claimed, result.lower_bound, None, runs, f"event: {result.event}"[:120]
        )

    return run


def _seen_in_answers() -> Iterator[Check]:
    """The same mistakes, and others, from answers alone."""
    cases: Sequence[tuple[str, str, Callable[[Effort], Evidence]]] = (
        (
            "local sensitivity used raw",
            "smooth",
            _pair_attack(broken.local_sensitivity_used_raw, "smooth", (2, 3, 8), TIE_UP, 3_000),
        ),
        (
            "local sensitivity used raw",
            "smooth with an interval",
            _pair_attack(broken.local_sensitivity_used_raw, "smooth", (2, 3, 8), TIE_UP, 3_000, confidence=0.9),
        ),
        ("beta ignored", "smooth", _pair_attack(broken.beta_ignored, "smooth", (2, 3, 8), TIE_UP, 6_000, known=True)),
        ("a grid from the data", "smooth", _pair_attack(broken.grid_from_data, "smooth", (2, 3, 8), TIE_UP, 3_000)),
        (
            "a grid from the data",
            "worst_case",
            _pair_attack(broken.grid_from_data, "worst_case", (2, 3, 8), TIE_UP, 3_000),
        ),
        ("a grid from the data", "inverse", _pair_attack(broken.grid_from_data, "inverse", (2, 3, 8), TIE_UP, 3_000)),
        (
            "delta ignored",
            "smooth",
            _pair_attack(
                broken.delta_ignored, "smooth", (2, 3, 32), TIE_DOWN, 9_000, known=True, noise="laplace", delta=0.3
            ),
        ),
        (
            "an interval that spends nothing",
            "smooth",
            _pair_attack(broken.interval_unpaid, "smooth", (2, 3, 64), TIE_UP, 6_000, confidence=0.9),
        ),
        (
            "an interval that spends nothing",
            "inverse",
            _pair_attack(broken.interval_unpaid, "inverse", (2, 4, 8), GAP, 6_000, confidence=0.9),
        ),
    )
    for name, detail, run in cases:
        yield _broken(name, "black-box", run, detail)


# --- seen in sessions -----------------------------------------------------------------------------------


class ChargesAfterReading(Session):
    """Reads, computes, and then charges: after a crash in between an answer has no charge."""

    def _bought(self, plans: Any, question: Any, derived: Any, request_id: Any, analyst: Any) -> Any:  # noqa: ARG002
        answers = [self._source.read(plan, plan.run) for plan in plans]
        charge = self._ledger.charge(
            self._name, [plan.loss for plan in plans], question=question, request_id=request_id, analyst=analyst
        )
        return self._ledger.store(
            charge, {"answers": [[statistic.to_dict() for statistic in each] for each in answers]}
        )


class _CountsToBeReady(TableSource):
    def ready(self) -> None:
        self.engine.estimated_rows()


class ReadsToBeReady(Session):
    """Reads the records before the charge, to check that the source is there."""

    def __init__(self, schema: Any, **options: Any) -> None:
        super().__init__(schema, **options)
        self._source = _CountsToBeReady(schema, self._source.engine)


class AnswersUnpaid(Session):
    """Answers although the charge failed."""

    def _bought(self, plans: Any, question: Any, derived: Any, request_id: Any, analyst: Any) -> Any:
        for plan in plans:
            self._source.read(plan, plan.run)
        return super()._bought(plans, question, derived, request_id, analyst)


class BoundsFromData(Session):
    """Takes the range of the records at hand for their bounds: a grid that depends on the data."""

    def plan(self, query: Any, **options: Any) -> Any:
        from sqlglot import exp  # noqa: PLC0415

        low, high = (
            f(exp.column(query.column, quoted=True)) for f in (lambda c: exp.Min(this=c), lambda c: exp.Max(this=c))
        )
        ((least, most),) = self._source.engine.rows(exp.select(low, high).from_(self._source.engine.table()))
        span = [min(max(float(end), 0.0), 8.0) if end == end else 8.0 for end in (least, most)]
        if span[0] < span[1]:
            query = dataclasses.replace(query, bounds=tuple(span), step=Fraction(1, 1024))
        return super().plan(query, **options)


def _grid_by_range(query: Any, data: Any) -> Any:
    """The same without a session."""
    inside = data[np.isfinite(data)]
    if "bounds" in {field.name for field in dataclasses.fields(query)}:
        query = dataclasses.replace(query, bounds=(float(inside.min()) - 1.0, float(inside.max()) + 1.0))
    return prepare(query.resolve(query.shape(data)), epsilon=1.0, confidence=0.95)


def _misstated_laws() -> Iterator[Check]:
    """Losses with a better law than they have: bounded range of what is not drawn, the rho of other noise or rates."""
    for subject, name, noise in (
        ("sum", "smoothed_ladder", ""),
        ("sum", "worst_case", "laplace"),
        ("count", "worst_case", "gaussian"),
    ):

        def claimed(effort: Effort, subject: str = subject, name: str = name, noise: str = noise) -> Evidence:  # noqa: ARG001
            universe = _universe_of(subject)
            honest = prepare_case(universe, MECHANISMS[name](), noise)
            claim = Loss(honest.loss.epsilon, honest.loss.delta, stated=_too_good(honest))
            return stated_law(dataclasses.replace(honest, loss=claim), universe)

        yield _broken("bounded range that is none", "exhaustive", claimed, ", ".join(filter(None, (name, noise))))

    def rounded(effort: Effort) -> Evidence:  # noqa: ARG001
        universe = _universe_of("count")
        honest = prepare_case(universe, MECHANISMS["worst_case"](), "laplace")
        claim = Loss(honest.loss.epsilon, stated=real_laplace(honest.loss.exact_epsilon))
        return stated_law(dataclasses.replace(honest, loss=claim), universe)

    yield _broken("integer noise with the rho of real noise", "exhaustive", rounded)
    for subject, name in (
        ("median", "inverse"),
        ("minimum", "inverse"),
        ("quantiles", "inverse"),
        ("median", "ladder"),
    ):

        def hurried(effort: Effort, subject: str = subject, name: str = name) -> Evidence:  # noqa: ARG001
            universe = _universe_of(subject)
            honest = prepare_case(universe, MECHANISMS[name](), "")
            return stated_law(dataclasses.replace(honest, rate=honest.rate * Fraction(5, 4)), universe)

        yield _broken("a rate 25% above what its rho stands for", "exhaustive", hurried, f"{name}, {subject}")


def _wrong_filters() -> Iterator[Check]:
    """Filters that admit too much, or less than adding epsilons; a rho above that of every pure mechanism."""
    for name, run in (
        ("separate tallies of two rules", separate_tallies),
        ("rhos without what the plain sum admitted", forgotten_rhos),
        ("rhos without the plain sum", without_sums),
        ("a rho above that of every pure mechanism", squares_alone),
    ):
        yield _broken(name, "exact", lambda effort, run=run: run())  # type: ignore[misc]


def _universe_of(subject: str) -> Universe:
    return next(audited_query for audited_query in audited_queries() if audited_query.name == subject).universe(True)


def _too_good(honest: Prepared) -> Concentrated:
    """Bounded range by epsilon; a Gaussian, which has less anyway, is said to have three quarters of its own rho."""
    own = honest.loss.concentrated.rho
    return min(bounded_range(honest.loss.exact_epsilon), Concentrated(own * Fraction(3, 4)), key=lambda item: item.rho)


def _in_sessions() -> Iterator[Check]:
    """The order of events, and public decisions."""
    for name, maker in (
        ("the charge after the read", ChargesAfterReading),
        ("a look before the charge", ReadsToBeReady),
        ("an answer that is computed though it cannot be paid", AnswersUnpaid),
    ):
        yield _broken(name, "trace", lambda effort, maker=maker: order_of_events(maker))  # type: ignore[misc]
    yield _broken(
        "a grid from the data", "trace", lambda effort: public_decisions(effort, BoundsFromData), "in a session"
    )
    yield _broken(
        "a grid from the data", "trace", lambda effort: public_decisions(effort, prepare=_grid_by_range), "in a call"
    )
