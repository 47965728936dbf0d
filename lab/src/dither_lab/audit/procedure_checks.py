"""Checks of procedures whose privacy is computed, not sampled: tests without bounds, bins, averages, passes, blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dither.mechanisms.stable import lead_margin
from dither.mechanisms.stable_bins import GaussianBins, StableBins
from dither.privacy import Loss
from dither.procedures.certified_average import CertifiedAverage, friend_counts, h_index, plan_average, weighted_sum
from dither.procedures.ordered import Ordered
from dither.procedures.partition import Independent, Overlapping, Partition
from dither.procedures.plans import ProcedurePlan, plan_location, plan_range, plan_scale, plan_trimmed
from dither.procedures.private_pass import WHOLE, Components, PrivatePass
from dither.sources.grid import Grid
from dither_lab.audit.answer_spaces import point_checks
from dither_lab.audit.checks import Check, Effort, Evidence, least_epsilon
from dither_lab.audit.described import description_checks
from dither_lab.audit.fitted_bounds import fitted_bounds_checks
from dither_lab.audit.joint_medians import joint_median_checks
from dither_lab.audit.own_cascades import cascade_checks
from dither_lab.audit.people import people_checks
from dither_lab.audit.propose_test_release import Mixed, bins_divergence, divergence, plan_law
from dither_lab.audit.robust_cells import robust_cell_checks

QUARTILES = (Fraction(1, 4), Fraction(3, 4))
RECORDS = 101
UNBOUNDED = Loss(8.0, 0.05)


def procedure_checks() -> Iterator[Check]:
    """All of them."""
    plans: dict[str, tuple[str, Callable[[], ProcedurePlan]]] = {
        "scale": ("robust_scale", lambda: plan_scale(RECORDS, UNBOUNDED, QUARTILES, "exact")),
        "median": ("robust_scale", lambda: plan_location(RECORDS, UNBOUNDED, Fraction(1, 2), "exact")),
        "iqr": ("robust_scale", lambda: plan_range(RECORDS, UNBOUNDED, QUARTILES, "exact")),
        "trimmed_mean": ("robust_scale", lambda: plan_trimmed(RECORDS, UNBOUNDED, 10, "exact")),
    }
    for name, (proof, plan) in plans.items():
        yield Check(
            name,
            "exact",
            _unbounded(plan),
            "propose_test",
            "laplace",
            "without bounds",
            frozenset({name, name.capitalize(), "propose_test", "without bounds"}),
            proof,
        )
    yield from cascade_checks()
    for rows in (1, 2):
        yield Check(
            "histogram",
            "exhaustive",
            _stable_bins(rows),
            detail=f"undeclared, {rows} rows a person",
            covers=frozenset({"histogram", "stable bins"}),
            proof="stable",
        )
    yield Check(
        "histogram",
        "exhaustive",
        _gaussian_bins,
        detail="undeclared, Gaussian noise",
        covers=frozenset({"histogram", "stable bins"}),
        proof="stable",
    )
    yield Check("mode", "exhaustive", _leads, detail="margin", covers=frozenset({"mode", "Stable"}), proof="stable")
    yield Check(
        "sample_and_aggregate",
        "exhaustive",
        _average,
        detail="certified average",
        covers=frozenset({"sample_and_aggregate", "certified average", "KMeans"}),
        proof="certified_average",
    )
    yield from point_checks()
    for soft in (False, True):
        name = "gaussian_mixture" if soft else "kmeans"
        yield Check(
            name,
            "exact",
            _pass(soft=soft),
            detail="one private pass",
            proof="certified_average",
            covers=frozenset({name, "private pass"}),
        )
    for sampling in (Partition(20), Independent(20), Overlapping(20, 200)):
        yield Check(
            "sample_and_aggregate",
            "exhaustive",
            _blocks(sampling),
            detail=f"{type(sampling).__name__} blocks",
            covers=frozenset({"sample_and_aggregate", "Program", "overlapping blocks"}),
            proof="aggregate",
        )
    yield from robust_cell_checks()
    yield from fitted_bounds_checks()
    yield from people_checks()
    yield from description_checks()
    yield from joint_median_checks()
    yield Check(
        "regression",
        "exact",
        _composed,
        detail="parts cost no more than the whole",
        covers=frozenset({"regression", "Regression", "kmeans", "sample_and_aggregate"}),
        proof="regression",
    )


def ordered(*parts: tuple[float, int]) -> Ordered:
    """Private data from (value, count) pairs."""
    return Ordered(np.repeat([float(value) for value, _ in parts], [count for _, count in parts]))


def unbounded_pairs() -> Iterator[tuple[Ordered, Ordered]]:
    """Spread-out, tied and torn data with margins from zero to their threshold; one record moves from here to there."""
    values = (0.0, 64.0, 90.0, 128.0, 1e6)
    for counts in (
        (50, 26, 0, 3, 22),
        (40, 30, 5, 6, 20),
        (26, 20, 20, 15, 20),
        (30, 0, 41, 0, 30),
        (51, 0, 50, 0, 0),
        (25, 26, 0, 25, 25),
        (75, 1, 0, 0, 25),
        (1, 50, 49, 0, 1),
    ):
        for away, to in product(range(len(values)), repeat=2):
            if away != to and counts[away]:
                moved = list(counts)
                moved[away], moved[to] = moved[away] - 1, moved[to] + 1
                yield ordered(*zip(values, counts, strict=True)), ordered(*zip(values, moved, strict=True))


def _unbounded(make: Callable[[], ProcedurePlan]) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:
        plan = make()
        claimed = plan.loss
        pairs = list(unbounded_pairs())[:: effort.of(4, 1)]
        laws = [(plan_law(plan, here), plan_law(plan, there)) for here, there in pairs]
        both = [*laws, *((there, here) for here, there in laws)]
        worst = max(both, key=lambda pair: divergence(pair[0], pair[1], claimed.epsilon))
        kept = divergence(worst[0], worst[1], claimed.epsilon) <= claimed.delta * (1 + 1e-9)
        reached = max(least_epsilon(_between(*pair), claimed.delta, claimed.epsilon) for pair in both)
        return Evidence(
            kept,
            claimed,
            min(reached, claimed.epsilon) if kept else reached,
            claimed.epsilon if kept else None,
            len(both),
        )

    return run


def _between(here: Mixed, there: Mixed) -> Callable[[float], float]:
    return lambda epsilon: divergence(here, there, epsilon)


def _stable_bins(rows: int) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:  # noqa: ARG001
        claimed = Loss(3.0, 0.02)
        bins = StableBins(Fraction(3), Fraction(1, 50), rows)
        tables = [split for split in product(range(rows + 2), repeat=3) if sum(split) == rows + 1]
        pairs = [
            (x, y)
            for x, y in product(tables, tables)
            if 0 < sum(abs(a - b) for a, b in zip(x, y, strict=True)) <= 2 * rows
        ]

        def delta(x: Any, y: Any, epsilon: float) -> float:
            return bins_divergence(bins, dict(zip("abc", x, strict=True)), dict(zip("abc", y, strict=True)), epsilon)

        worst = max(pairs, key=lambda pair: delta(pair[0], pair[1], claimed.epsilon))
        kept = delta(worst[0], worst[1], claimed.epsilon) <= claimed.delta * (1 + 1e-6)
        reached = least_epsilon(lambda e: delta(worst[0], worst[1], e), claimed.delta, claimed.epsilon)
        return Evidence(
            kept,
            claimed,
            min(reached, claimed.epsilon) if kept else reached,
            claimed.epsilon if kept else None,
            len(pairs),
        )

    return run


def _gaussian_bins(effort: Effort) -> Evidence:  # noqa: ARG001
    claimed = Loss(1.5, 0.02)
    delta = gaussian_bins_delta(GaussianBins.of(claimed), claimed.epsilon)
    return Evidence(delta <= claimed.delta * (1 + 1e-6), claimed, claimed.epsilon, note=f"delta {delta:.3g}")


def gaussian_bins_delta(bins: GaussianBins, epsilon: float) -> float:
    """The most that two neighbours' histograms differ: records alone in their bins, and counts near the threshold."""
    near = bins.threshold
    pairs = [
        ({"a": 1, "b": 1}, {"a": 2, "b": 0}),
        ({"a": 1, "b": 0}, {"a": 0, "b": 1}),
        ({"a": near, "b": near + 1}, {"a": near + 1, "b": near}),
        ({"a": 2 * near, "b": 1}, {"a": 2 * near + 1, "b": 0}),
    ]
    return max(bins_divergence(bins, x, y, epsilon) for x, y in (*pairs, *(pair[::-1] for pair in pairs)))


def _leads(effort: Effort) -> Evidence:  # noqa: ARG001
    """Leads move by at most one with one record, and where they are above zero the winner does not change."""
    tables = [split for split in product(range(7), repeat=3) if sum(split) == 6]
    pairs = [(x, y) for x, y in product(tables, tables) if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 2]
    broken = 0
    for here, there in pairs:
        leads = [lead_margin(dict(enumerate(item)), 1) for item in (here, there)]
        winners = [{k for k, v in enumerate(item) if v == max(item)} for item in (here, there)]
        broken += abs(leads[0] - leads[1]) > 1 or (max(leads) > 0 and winners[0] != winners[1])
    return Evidence(not broken, cases=len(pairs), note=f"{broken} violations" if broken else "margins are 1-Lipschitz")


class _Certificate(CertifiedAverage):
    """A certificate for few blocks: h is given instead of following from a test."""

    def __init__(self, blocks: int, certified: int) -> None:
        for name, value in (("blocks", blocks), ("overlap", 1), ("_h", certified), ("mu", Fraction(1, 10))):
            object.__setattr__(self, name, value)

    @property
    def certified(self) -> int:
        h: int = self._h  # type: ignore[attr-defined]
        return h


def _average(effort: Effort) -> Evidence:
    """The weighted mean of all tables of few blocks moves by no more than its bound between certified neighbours."""
    blocks, certified = effort.of(5, 6), 4
    plan, values, exponent = _Certificate(blocks, certified), (0, 1, 2, 3, 9)[: effort.of(5, 4)], 0
    facts = {}
    for table in product(values, repeat=blocks):
        answers = np.array(table, dtype=np.int64).reshape(blocks, 1, 1)
        costs = (answers[:, 0, :] - answers[:, 0, :].T) ** 2
        friends = friend_counts(costs, np.full(blocks, np.iinfo(np.int64).max), exponent, 60)
        total, mass = weighted_sum(answers, friends, plan.majority, plan.ramp)
        facts[table] = (h_index(friends), Fraction(int(total[0][0]), mass))
    worst, cases, broken = Fraction(0), 0, 0
    for table, (index, mean) in facts.items():
        for place, value in product(range(blocks), values):
            other_index, other = facts[(*table[:place], value, *table[place + 1 :])]
            cases += 1
            broken += abs(index - other_index) > 1
            if min(index, other_index) >= certified:
                worst = max(worst, abs(mean - other))
    allowed = 2 * plan.spread
    return Evidence(
        not broken and worst <= allowed, cases=cases, note=f"moves {float(worst):.4g} of {float(allowed):.4g} allowed"
    )


def _pass(*, soft: bool) -> Callable[[Effort], Evidence]:
    """No two people are farther apart, in units of the noise, than one pass is charged for."""

    def run(effort: Effort) -> Evidence:
        centres = np.array([[0.0, 0.0], [3.0, 0.5]])
        parts = (np.array([0.5, 0.5]), np.array([0.7, 1.1])) if soft else (None, None)
        now = Components(centres, *parts)
        turns = np.linspace(0, 2 * np.pi, effort.of(24, 90), endpoint=False)
        circle = np.column_stack([np.cos(turns), np.sin(turns)])
        rings = [centre + size * circle for centre in centres for size in (0.01, 0.5, 1.0, 1.3, 5.0)]
        points = np.vstack([*rings, centres, [[1e6, 0.0], [-1e6, 1e-9]]])
        step = PrivatePass(Fraction(1), 1.0, soft)
        held, moved, squares = step.entries(points, now)
        stretches = [float(stretch) for stretch in step.stretches]
        rows = [held / stretches[0], moved.reshape(len(points), -1) / stretches[1]]
        if soft:
            rows.append(squares / stretches[2])
        entries = np.hstack(rows) / WHOLE
        apart = max(float(np.linalg.norm(entry - entries, axis=1).max()) for entry in entries)
        return Evidence(apart <= 1.0, cases=len(points) ** 2, note=f"largest distance {apart:.4f} of mu")

    return run


def _blocks(sampling: Any) -> Callable[[Effort], Evidence]:
    """One person is in no more blocks than the plan counts on, whatever is drawn."""

    def run(effort: Effort) -> Evidence:
        worst = 0
        for _ in range(effort.of(3, 12)):
            members = sampling.draw(200)
            counted = np.bincount(np.concatenate([np.asarray(member) for member in members]), minlength=200)
            worst = max(worst, int(counted.max()))
        return Evidence(
            worst <= sampling.touched, cases=200, note=f"at most {worst} of {sampling.touched} blocks a person"
        )

    return run


def _composed(effort: Effort) -> Evidence:  # noqa: ARG001
    """Public plans at many losses: what their parts spend together, exactly, fits into what is charged."""
    from dither.procedures.regression import RegressionFacts  # noqa: PLC0415
    from dither.queries.clusters import GaussianMixture, KMeans, PointFacts  # noqa: PLC0415
    from dither.queries.plan import Options  # noqa: PLC0415
    from dither.queries.regression import METHODS, ModelFacts, Regression  # noqa: PLC0415

    cases = 0
    for epsilon, delta in product((1.0, 3.7, 9.0), (1e-6, 0.01)):
        loss = Loss(epsilon, delta)
        options = Options(loss, confidence=Fraction(19, 20))
        model = ModelFacts(RegressionFacts(200_000, 1, intercept=True), ("intercept", "x"))
        model = dataclasses.replace(model, grids=(Grid(Fraction(1), 0, 100),) * 2)
        plans: list[Any] = [Regression(method=method).plan(model, options) for method in METHODS]
        points = PointFacts(50_000, 2)
        plans += [query(k=3, bounds=(0, 1)).plan(points, options) for query in (KMeans, GaussianMixture)]
        for plan in plans:
            cases += 1
            if not plan.procedure.composition.fits(loss):
                return Evidence(False, loss, cases=cases, note=f"{plan.label} costs more than {loss}")
        average = plan_average(400, loss)
        parts = average.radius_epsilon + average.test.epsilon
        cases += 1
        if parts >= loss.exact_epsilon or average.test.delta >= loss.exact_delta:
            return Evidence(False, loss, cases=cases, note="a certified average leaves nothing for its noise")
    return Evidence(True, cases=cases, note="sums in rationals")
