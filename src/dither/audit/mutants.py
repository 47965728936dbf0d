"""Everything that is broken on purpose, as checks that must find it.

Each mutant is a mistake that has been made in published code or papers.  The auditors are those of what ships: a
mutant that none of them finds would be a hole in the audit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dither.audit import broken_mechanisms as broken
from dither.audit.agreement import draws_follow, own_law
from dither.audit.answers import as_answer, examine, remembering
from dither.audit.audited_queries import audited_queries, cliff_universe, prepare_case
from dither.audit.checks import Check, Effort, Result
from dither.audit.divergence import over_box
from dither.audit.exhaustive import axioms, privacy, sensitivities
from dither.audit.laws_and_losses import LAWS, SCALE, batch_delta
from dither.audit.pairs import worst_pairs
from dither.audit.propose_test_release import bins_divergence
from dither.audit.record_mutants import in_records
from dither.audit.traces import order_of_events, public_decisions
from dither.audit.universes import Universe, selection_universe
from dither.mechanisms.choice import MECHANISMS, prepare
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MechanismSpec, Prepared
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.stable_bins import StableBins
from dither.privacy import Loss, Neighbours
from dither.queries.order import Median
from dither.session.session import Session
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue

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
    yield from _wrong_scales()
    yield from _seen_in_answers()
    yield from _understated()
    yield from _in_sessions()
    yield from in_records()


def _broken(name: str, kind: Any, run: Callable[[Effort], Result], detail: str = "") -> Check:
    return Check(name, kind, run, detail=detail, proof="audit")


# --- computed -------------------------------------------------------------------------------------------


def _too_little_noise() -> Iterator[Check]:
    """Noise 20% smaller than was proved: every law, every mechanism."""
    for law in LAWS:

        def box(effort: Effort, law: Any = law) -> Result:  # noqa: ARG001
            loss = Loss(1.0, 0.0 if law.pure else 1e-6)
            found = over_box(law.point(loss), noise_factor=0.8)
            kept = found.epsilon <= 1.0 if law.pure else found.delta <= loss.delta
            return Result(
                kept, loss, found.epsilon if law.pure else None, note=f"delta {found.delta:.3g} at {found.at}"
            )

        yield _broken("noise 20% small", "exact", box, str(law))
    for name in ("inverse", "ladder", "smooth", "worst_case"):

        def law_of(effort: Effort, name: str = name) -> Result:  # noqa: ARG001
            universe = cliff_universe()
            honest = prepare_case(universe, MECHANISMS[name](), "power_law" if name in ("smooth", "worst_case") else "")
            return privacy(broken.noise_too_small(honest), universe)

        yield _broken("noise 20% small", "exhaustive", law_of, name)
    for name in ("noisy_histogram", "k_norm"):

        def counted(effort: Effort, name: str = name) -> Result:
            audited = next(one for one in audited_queries() if one.name == "counting queries, attribute_means")
            universe = audited.universe(effort.quick)
            return privacy(broken.noise_too_small(prepare_case(universe, MECHANISMS[name](), "")), universe)

        yield _broken("noise 20% small", "exhaustive", counted, name)
    yield _broken("noise 20% small", "black-box", _narrow_draws, "the sampler itself")
    alone = _pair_attack(broken.noise_too_small, "worst_case", (1, 1, 8), CROSSING, 24_000, known=True)
    yield _broken("noise 20% small", "black-box", alone, "worst_case, answers alone")


def _consistently_wrong() -> Iterator[Check]:
    """Noise 30% small, stated errors as small, public parameters as they should be: only the laboratory disagrees."""
    for subject, name, noise in (
        ("median", "inverse", ""),
        ("median", "ladder", ""),
        ("median", "smooth", "power_law"),
        ("median", "worst_case", "laplace"),
        ("median", "propose_test", "laplace"),
        ("sum along a chain", "largest_local", "power_law"),
        ("histogram", "worst_case", "gaussian"),
        ("2-stars", "noisy_local", "laplace"),
        ("counting queries, thresholds", "noisy_histogram", ""),
        ("counting queries, attribute_means", "k_norm", ""),
    ):

        def stated(effort: Effort, subject: str = subject, name: str = name, noise: str = noise) -> Result:
            audited = next(one for one in audited_queries() if one.name == subject)
            universe = audited.universe(False)
            mutant = broken.noise_and_law_too_small(prepare_case(universe, MECHANISMS[name](), noise))
            return own_law(mutant, universe.enumerated(audited.bounds), universe.distinct_data[:: effort.of(7, 1)])

        yield _broken(CONSISTENT, "exhaustive", stated, f"{name}, {subject}")
    for subject, name, noise in (
        ("median", "worst_case", "laplace"),
        ("quantiles", "inverse", ""),
    ):

        def drawn(effort: Effort, subject: str = subject, name: str = name, noise: str = noise) -> Result:
            audited = next(one for one in audited_queries() if one.name == subject)
            universe = audited.universe(False)
            mutant = broken.noise_and_law_too_small(prepare_case(universe, MECHANISMS[name](), noise))
            data = universe.data[0]
            answers = [as_answer(mutant.run(data)) for _ in range(MANY_RUNS)]
            facts = universe.enumerated(audited.bounds)
            return draws_follow(mutant, facts, [(data, answers)], effort.failure_probability)

        yield _broken(CONSISTENT, "black-box", drawn, f"{name}, {subject}")


def _narrow_draws(effort: Effort) -> Result:
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
    return Result(worst <= allowed, cases=count, note=f"distance {worst:.4f} of {allowed:.4f} allowed")


def _wrong_scales() -> Iterator[Check]:
    """Scales that are not smooth, tests that always pass, thresholds that are too low."""
    median = next(audited for audited in audited_queries() if audited.name == "median").universe

    def raw(effort: Effort) -> Result:  # noqa: ARG001
        return privacy(
            broken.local_sensitivity_used_raw(prepare_case(median(True), MECHANISMS["smooth"](), "power_law")),
            median(True),
        )

    def faster(effort: Effort) -> Result:  # noqa: ARG001
        return privacy(
            broken.beta_ignored(prepare_case(median(True), MECHANISMS["smooth"](), "power_law")), median(True)
        )

    def untested(effort: Effort) -> Result:  # noqa: ARG001
        honest: Any = ProposeTest(bound=1).prepare(MechanismSpec(median(True).statistic, Loss(4.0, 0.01)))
        return privacy(
            dataclasses.replace(honest, test=MarginTest(honest.test.epsilon, Fraction(49, 100))), median(True)
        )

    def unstable(effort: Effort) -> Result:  # noqa: ARG001
        honest = prepare_case(median(True), MECHANISMS["stable"](), "")
        return privacy(dataclasses.replace(honest, test=MarginTest(honest.test.epsilon, Fraction(1, 10))), median(True))

    yield _broken("local sensitivity used raw", "exhaustive", raw)
    yield _broken("beta ignored", "exhaustive", faster)
    yield _broken("a test that nearly always passes", "exhaustive", untested)
    yield _broken("a threshold that is too low", "exhaustive", unstable)
    yield _broken("bins shown too early", "exhaustive", _early_bins)


def _early_bins(effort: Effort) -> Result:  # noqa: ARG001
    honest = StableBins(Fraction(3, 2), Fraction(1, 100))

    class Lower(StableBins):
        threshold = honest.threshold - 1

    delta = bins_divergence(Lower(honest.epsilon, honest.delta), {"a": 1, "b": 1}, {"a": 2, "b": 0}, 1.5)
    return Result(delta <= 0.01, Loss(1.5, 0.01), note=f"delta {delta:.3g}")


def _understated() -> Iterator[Check]:
    """Ladders and sensitivities that are too small, people who own more rows than was declared, halved losses."""
    by_name = {audited.name: audited for audited in audited_queries()}
    for name in ("median", "trimmed mean", "filtered mean", "triangles", "2-triangles", "spanning tree"):

        def short(effort: Effort, name: str = name) -> Result:  # noqa: ARG001
            return axioms(by_name[name].universe(False), 4, Fraction(7, 10))

        yield _broken("rungs 30% short", "exhaustive", short, name)
    for name in ("histogram", "covariance"):

        def small(effort: Effort, name: str = name) -> Result:  # noqa: ARG001
            return sensitivities(by_name[name].universe(True), Fraction(7, 10))

        yield _broken("sensitivities 30% small", "exhaustive", small, name)

    def crowded(effort: Effort) -> Result:  # noqa: ARG001
        """Two rows of one person, charged as one."""
        relation = Neighbours.ADD_REMOVE_CHANGE
        pairs, honest = (selection_universe(Median(bounds=(0, 4)), (0, 1, 4), 4, relation, rows) for rows in (2, 1))
        universe = Universe(honest.statistic, pairs.data, pairs.pairs)
        return privacy(prepare_case(universe, MECHANISMS["inverse"](), ""), universe)

    def halved(effort: Effort) -> Result:  # noqa: ARG001
        losses = [Loss(0.4)] * 6
        claimed = Loss(1.2, 0.01)
        return Result(
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
) -> Callable[[Effort], Result]:
    def run(effort: Effort) -> Result:
        rank, records, high = shape
        statistic = RankedValue(rank, records, Grid(Fraction(1), 0, high))
        (columns,) = (one.columns(statistic.answers) for one in worst_pairs(statistic) if one.name == pair)
        _, plain = prepare(statistic, epsilon=2.0, mechanism=mechanism, **options)
        honest = remembering(plain)
        prepared = breaks(honest)
        found = examine(
            prepared,
            *columns,
            samples=runs,
            known=honest if known else None,
            failure_probability=effort.failure_probability,
        )
        return Result(not found.detected, found.claimed, found.lower_bound, None, runs, f"event: {found.event}"[:120])

    return run


def _seen_in_answers() -> Iterator[Check]:
    """The same mistakes, and others, from answers alone."""
    cases: Sequence[tuple[str, str, Callable[[Effort], Result]]] = (
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
            _pair_attack(broken.bar_unpaid, "smooth", (2, 3, 64), TIE_UP, 6_000, confidence=0.9),
        ),
        (
            "an interval that spends nothing",
            "inverse",
            _pair_attack(broken.bar_unpaid, "inverse", (2, 4, 8), GAP, 6_000, confidence=0.9),
        ),
    )
    for name, detail, run in cases:
        yield _broken(name, "black-box", run, detail)


# --- seen in sessions -----------------------------------------------------------------------------------


class ChargesAfterReading(Session):
    """Reads, computes, and then charges: a crash in between gives answers for nothing."""

    def _bought(self, plans: Any, question: Any, request_id: Any, analyst: Any) -> Any:
        answers = [self._read(one, one.run) for one in plans]
        charge = self._ledger.charge(
            self._name, [one.loss for one in plans], question=question, request_id=request_id, analyst=analyst
        )
        return self._ledger.store(charge, {"answers": [[one.to_dict() for one in each] for each in answers]})


class ReadsToBeReady(Session):
    """Looks at the records to see whether they are there, before anybody has paid."""

    def _ready(self) -> None:
        self._engine.estimated_rows()


class AnswersUnpaid(Session):
    """Forgets that a charge can fail."""

    def _bought(self, plans: Any, question: Any, request_id: Any, analyst: Any) -> Any:
        for one in plans:
            self._read(one, one.run)
        return super()._bought(plans, question, request_id, analyst)


class BoundsFromData(Session):
    """Takes the range of the records at hand for their bounds: a grid that depends on the data."""

    def plan(self, query: Any, **options: Any) -> Any:
        from sqlglot import exp  # noqa: PLC0415

        low, high = (
            f(exp.column(query.column, quoted=True)) for f in (lambda c: exp.Min(this=c), lambda c: exp.Max(this=c))
        )
        ((least, most),) = self._engine.rows(exp.select(low, high).from_(self._engine.table()))
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
