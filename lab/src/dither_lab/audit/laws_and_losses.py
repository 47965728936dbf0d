"""Checks of noise laws over their whole neighbour box, of samplers against their laws, and of what batches spend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dither.accounting.capacity import queries_within
from dither.accounting.cascades import CascadeComposition, Step, Tested
from dither.accounting.composition import advanced, basic, compose, heterogeneous, optimal
from dither.accounting.concentrated import gaussian_epsilon, gaussian_rho, zcdp_epsilon
from dither.errors import NotProved
from dither.mechanisms.margin_test import MarginTest
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace, integer_laplace
from dither.noise.law import Law
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither.privacy import FILTERS, Budget, FilterName, Loss
from dither_lab.audit.checks import Check, Effort, Evidence, least_epsilon, within_rounding
from dither_lab.audit.divergence import hockey_stick, over_box
from dither_lab.audit.propose_test_release import REFUSED, Mixed, divergence

LAWS: tuple[Law, ...] = (
    BluntPowerLaw(),
    BluntPowerLaw(Fraction(9, 4)),
    PowerLaw(),
    PowerLaw(3),
    Cauchy(2),
    Cauchy(4),
    Cauchy(Fraction(3, 2)),
    Student(3),
    Student(1),
    Laplace(),
    Gaussian(),
)
SCALE = Fraction(37, 5)


def law_checks() -> Iterator[Check]:
    """The exact divergence over the whole box of every law, and its draws against it."""
    for law in LAWS:
        covers = frozenset({law.name, type(law).__name__})
        for epsilon in (0.1, 1.0, 4.0):
            for beta in (None, Fraction(0)):
                detail = f"epsilon {epsilon:g}, {'smooth' if beta is None else 'public'} scale"
                yield Check(
                    str(law),
                    "exact",
                    _box(law, epsilon, beta),
                    noise=law.name,
                    detail=detail,
                    covers=covers,
                    proof="admissible",
                    in_quick=epsilon == 1.0,
                )
        yield Check(
            str(law),
            "black-box",
            _draws(law),
            noise=law.name,
            detail="draws follow the law",
            covers=covers,
            proof="sampling",
        )
    integer = frozenset({"laplace", "Laplace"})
    yield Check(
        "integer laplace",
        "black-box",
        _integer_draws(),
        noise="laplace",
        detail="draws follow the law",
        covers=integer,
        proof="sampling",
    )
    for dimension in (2, 4):
        for law in (Gaussian(), BluntPowerLaw(4), PowerLaw(4), Laplace()):
            yield Check(
                str(law),
                "exact",
                _many(law, dimension),
                noise=law.name,
                detail=f"{dimension} dimensions",
                covers=frozenset({law.name}),
                proof="admissible",
                in_quick=dimension == 2,
            )


def _loss(law: Law, epsilon: float, beta: Fraction | None) -> Loss:
    pure = law.pure or (beta == 0 and law.name == "laplace")
    return Loss(epsilon, 0.0 if pure else 1e-5)


def _box(law: Law, epsilon: float, beta: Fraction | None) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:
        loss = _loss(law, epsilon, beta)
        point = law.point(loss, beta=beta)
        result = over_box(point, fineness=effort.of(9, 21))
        try:
            point.law.prove(point.alpha, point.beta, loss)
            upper = loss.epsilon
        except NotProved:
            upper = math.inf
        if loss.is_pure:
            lower = result.epsilon
        else:
            shift, dilation = (float(part.split()[1]) for part in result.at.split(", "))
            lower = least_epsilon(lambda e: hockey_stick(point.law, shift, dilation, e).delta, loss.delta, epsilon)
        # ``at`` is printed to four digits, and quadratures are as exact as floats.
        kept = result.epsilon <= epsilon * (1 + 1e-9) if loss.is_pure else result.delta <= loss.delta * (1 + 1e-6)
        return Evidence(
            kept and upper <= epsilon, loss, min(lower, epsilon) if kept else lower, upper, 126, point.proof
        )

    return run


def _many(law: Law, dimension: int) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:  # noqa: ARG001
        loss = Loss(1.0, 0.0 if law.pure else 1e-5)
        point = law.point(loss, dimension=dimension)
        try:
            proof = point.law.prove(point.alpha, point.beta, loss, dimension)
        except NotProved as error:
            return Evidence(False, loss, None, math.inf, 1, str(error))
        # Along one axis a product law is at least as telling as in one dimension with the same shift and no dilation.
        along = hockey_stick(point.law, float(point.alpha), 0.0, 1.0)
        lower = along.epsilon if loss.is_pure else None
        return Evidence(lower is None or within_rounding(lower, 1.0), loss, lower, 1.0, 1, proof)

    return run


def _draws(law: Law) -> Callable[[Effort], Evidence]:
    """Dvoretzky-Kiefer-Wolfowitz with Massart's constant: wrong with the stated probability, whatever the law."""

    def run(effort: Effort) -> Evidence:
        settled = law.point(_loss(law, 1.0, None)).law
        count = effort.of(2_000, 12_000)
        alone = np.array([rounded_draw(settled, 0, SCALE) for _ in range(count // 2)], dtype=float)
        many = np.array([int(k) for k in rounded_draws(settled, count // 2, SCALE)], dtype=float)

        def below(k: Any) -> Any:
            edge = (k + 0.5) / float(SCALE)
            half = 0.5 * settled.tail(np.abs(edge))
            return np.where(edge >= 0, 1.0 - half, half)

        worst = max(_distance(np.sort(drawn), below) for drawn in (alone, many))
        allowed = math.sqrt(math.log(4.0 / effort.failure_probability) / (2 * (count // 2)))
        return Evidence(worst <= allowed, cases=count, note=f"distance {worst:.4f} of {allowed:.4f} allowed")

    return run


def _integer_draws() -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:
        count = effort.of(2_000, 20_000)
        alone = np.array([integer_laplace(0, SCALE) for _ in range(count // 2)], dtype=float)
        many = np.array([int(k) for k in integer_laplace_draws(count // 2, SCALE)], dtype=float)
        ratio = math.exp(-1 / float(SCALE))

        def below(k: Any) -> Any:
            return np.where(k >= 0, 1.0 - ratio ** (np.abs(k) + 1) / (1 + ratio), ratio ** np.abs(k) / (1 + ratio))

        worst = max(_distance(np.sort(drawn), below) for drawn in (alone, many))
        allowed = math.sqrt(math.log(4.0 / effort.failure_probability) / (2 * (count // 2)))
        return Evidence(worst <= allowed, cases=count, note=f"distance {worst:.4f} of {allowed:.4f} allowed")

    return run


def _distance(ordered: Any, below: Callable[[Any], Any]) -> float:
    """The largest distance between an empirical distribution on whole numbers and the true one."""
    values, last = np.unique(ordered, return_index=True)
    after = np.append(last[1:], len(ordered)) / len(ordered)
    before = last / len(ordered)
    return float(max(np.abs(after - below(values)).max(), np.abs(before - below(values - 1)).max()))


# --- what batches spend ----------------------------------------------------------------------------------


def loss_checks() -> Iterator[Check]:
    """Compositions against the worst mechanisms there are, enumerated; filters, groups and cascades."""
    covers = frozenset({"compose", "queries_within", "budget_for", "Loss", "Budget", "Neighbours"})
    batches = {
        "equal": [Loss(0.4)] * 6,
        "unequal": [Loss(0.2), Loss(0.5), Loss(0.9)],
        "with deltas": [Loss(0.3, 1e-3)] * 4,
    }
    methods: dict[str, Callable[[list[Loss], float], Loss]] = {
        "basic": lambda losses, _: basic(losses),
        "advanced": lambda losses, delta: advanced(losses, delta=delta),
        "heterogeneous": lambda losses, delta: heterogeneous(losses, delta=delta),
        "auto": lambda losses, delta: compose(losses, delta=delta),
        "optimal": lambda losses, delta: optimal(losses[0].epsilon, losses[0].delta, len(losses), delta),
    }
    for batch, losses in batches.items():
        for method, composed in methods.items():
            if method == "optimal" and batch == "unequal":
                continue
            yield Check(
                "composition",
                "exact",
                _batch(losses, composed),
                detail=f"{method}, {batch}",
                covers=covers,
                proof="composition",
            )
    yield Check("composition", "exact", _gaussians, detail="gaussians", covers=covers, proof="composition")
    for name in FILTERS:
        yield Check("filter", "exact", _filter(name), detail=name, covers=covers | {"filters"}, proof="composition")
    yield Check("group privacy", "exact", _groups, covers=covers | {"several rows a person"}, proof="group-privacy")
    yield Check(
        "cascade", "exhaustive", _cascades, covers=frozenset({"cascades", "propose_test"}), proof="propose_test"
    )


def dominating(loss: Loss) -> tuple[dict[str, float], dict[str, float]]:
    """The pair of laws that every (epsilon, delta) pair is a processing of (KOV17)."""
    e, d = math.exp(loss.epsilon), loss.delta
    here = {"mine": d, "likely": (1 - d) * e / (1 + e), "rare": (1 - d) / (1 + e), "yours": 0.0}
    return here, {"mine": 0.0, "likely": here["rare"], "rare": here["likely"], "yours": d}


def batch_delta(losses: Sequence[Loss], epsilon: float) -> float:
    """The exact divergence of the worst batch, over all its outcomes."""
    pairs = [dominating(loss) for loss in losses]
    total = 0.0
    for outcome in product(("mine", "likely", "rare", "yours"), repeat=len(losses)):
        p = math.prod(pair[0][item] for pair, item in zip(pairs, outcome, strict=True))
        q = math.prod(pair[1][item] for pair, item in zip(pairs, outcome, strict=True))
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


def _batch(losses: list[Loss], composed: Callable[[Any, Any], Loss]) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:  # noqa: ARG001
        target = sum(loss.delta for loss in losses) + 0.01
        claimed = composed(losses, target)
        reached = least_epsilon(lambda e: batch_delta(losses, e), claimed.delta, claimed.epsilon)
        kept = batch_delta(losses, claimed.epsilon) <= claimed.delta * (1 + 1e-9) + 1e-15
        lower = min(reached, claimed.epsilon) if kept else reached
        return Evidence(kept, claimed, lower, claimed.epsilon if kept else None, 4 ** len(losses))

    return run


def _gaussians(effort: Effort) -> Evidence:  # noqa: ARG001
    """Several Gaussian answers are one with a longer shift."""
    shifts = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 5)]
    delta = 1e-5
    length = math.sqrt(sum(float(shift) ** 2 for shift in shifts))
    rhos = [gaussian_rho(shift, 1) for shift in shifts]
    claimed = Loss(min(gaussian_epsilon(rhos, delta), zcdp_epsilon(sum(rhos), delta)), delta)
    kept = hockey_stick(Gaussian(), length, 0.0, claimed.epsilon).delta <= delta * (1 + 1e-6)
    reached = least_epsilon(lambda e: hockey_stick(Gaussian(), length, 0.0, e).delta, delta, claimed.epsilon)
    return Evidence(
        kept, claimed, min(reached, claimed.epsilon) if kept else reached, claimed.epsilon if kept else None, 3
    )


def _filter(name: FilterName) -> Callable[[Effort], Evidence]:
    """As many equal charges as a filter lets through cost no more than the budget, by the optimal bound."""

    def run(effort: Effort) -> Evidence:  # noqa: ARG001
        budget = Budget(1.0, 1e-6)
        reached = 0.0
        for each in (0.02, 0.1, 0.3):
            loss = Loss(each)
            times = queries_within(loss, budget, filter=name)
            reached = max(reached, optimal(each, 0.0, times, 1e-6).epsilon)
        return Evidence(
            reached <= 1.0 + 1e-9, Loss(1.0, 1e-6), min(reached, 1.0), 1.0 if reached <= 1.0 + 1e-9 else None, 3
        )

    return run


def _groups(effort: Effort) -> Evidence:  # noqa: ARG001
    """k steps of the worst chain of (epsilon, delta) neighbours; both conversions round the safe way."""
    for epsilon, delta, people in product((0.1, 0.7, 2.0), (0.0, 1e-4), (2, 3, 5)):
        loss = Loss(epsilon, delta)
        whole = loss.for_group(people)
        # Along a chain P_i(A) = e^eps P_{i+1}(A) + delta; after k steps the delta is a geometric sum.
        reached = sum(delta * math.exp(i * epsilon) for i in range(people))
        part = whole.per_step(people).for_group(people)
        short = whole.delta < reached * (1 - 1e-12) or whole.exact_epsilon < people * loss.exact_epsilon
        if short or part.delta > whole.delta * (1 + 1e-12):
            return Evidence(False, whole, note=f"{people} steps of {loss}")
    return Evidence(True, cases=18, note="attained by a chain of neighbours")


def cascade_law(tests: Sequence[MarginTest], margins: Sequence[int], releases: Sequence[float], side: int) -> Mixed:
    """Alternatives in turn: the first that passes names ``side`` with a lie of its own epsilon, or nothing passes."""
    law, left = Mixed(), 1.0
    for j, (test, margin, release) in enumerate(zip(tests, margins, releases, strict=True)):
        passed, lie = test.chance(margin), 1.0 / (1.0 + math.exp(release))
        law.atoms[j, side] += left * passed * (1.0 - lie)
        law.atoms[j, 1 - side] += left * passed * lie
        left *= 1.0 - passed
    law.atoms[REFUSED] = left
    return law


def cascade_delta(tests: Sequence[MarginTest], releases: Sequence[float], epsilon: float) -> float:
    """The largest divergence over neighbouring margins; where both are 0 a release may show everything."""
    near = [0, 1, 2, 8, 9, 16, 17, 24, 25]
    steps = [(a, b) for a in near for b in (a - 1, a, a + 1) if b >= 0]
    worst = 0.0
    for first, second in product(steps, steps):
        epsilons = [50.0 if max(pair) == 0 else e for pair, e in zip((first, second), releases, strict=True)]
        here = cascade_law(tests, (first[0], second[0]), epsilons, 0)
        there = cascade_law(tests, (first[1], second[1]), epsilons, 1)
        worst = max(worst, divergence(here, there, epsilon))
    return worst


def _cascades(effort: Effort) -> Evidence:  # noqa: ARG001
    tests = (MarginTest(Fraction(1, 2), Fraction(1, 5000)), MarginTest(Fraction(1, 3), Fraction(1, 4000)))
    releases = (0.6, 0.4)
    parts = [
        Tested(Step(test.epsilon, test.delta), Step(Fraction(e).limit_denominator(100)))
        for test, e in zip(tests, releases, strict=True)
    ]
    claimed = CascadeComposition(tuple(parts)).loss
    kept = cascade_delta(tests, releases, claimed.epsilon) <= claimed.delta * (1 + 1e-9)
    return Evidence(kept, claimed, None, claimed.epsilon if kept else None, 27**2)
