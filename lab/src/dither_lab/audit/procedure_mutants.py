"""Procedures broken on purpose, with the pairs of neighbours on which their exact laws show it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction

from dither.mechanisms.margin_test import MarginTest
from dither.privacy import Loss
from dither.procedures.ordered import Ordered
from dither.procedures.plans import RangePlan, RangeProposal
from dither.procedures.unbounded import CoarseScale
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.described import in_descriptions
from dither_lab.audit.fitted_bounds import in_fitted_bounds
from dither_lab.audit.joint_medians import in_joint_medians
from dither_lab.audit.own_cascades import in_cascades
from dither_lab.audit.people import in_people
from dither_lab.audit.procedure_checks import ordered
from dither_lab.audit.propose_test_release import divergence, plan_law
from dither_lab.audit.robust_cells import in_robust_cells

SHARP = MarginTest(Fraction(1), Fraction(1, 10**4))
SCALE = CoarseScale(SHARP, 51, 151, Fraction(1))
NARROW, WIDE = RangeProposal(Fraction(1, 32), SHARP, Fraction(2)), RangeProposal(Fraction(1, 16), SHARP, Fraction(1))
RANGE = RangePlan(Loss(9.0), SCALE, (NARROW, WIDE))
"""The distance of ranks 51 and 151 of 201 records; its second proposal is an eighth of 64."""


def range_pairs() -> Iterator[tuple[Ordered, Ordered]]:
    """One change moves the distance by 4 or 8, all that is proposed; m more make it large."""
    for step in (4, 8):
        for m in range(1, 30):
            yield (
                ordered((0.0, 100), (64.0, 51), (64.0 + step, m), (1e6, 50 - m)),
                ordered((0.0, 99), (64.0, 51), (64.0 + step, m), (1e6, 51 - m)),
            )


def range_evidence(plan: RangePlan, claimed: Loss) -> Evidence:
    """The largest exact divergence of a plan over these pairs."""
    laws = [(plan_law(plan, here), plan_law(plan, there)) for here, there in range_pairs()]
    both = [*laws, *((there, here) for here, there in laws)]
    worst = max(divergence(here, there, claimed.epsilon) for here, there in both)
    return Evidence(worst <= claimed.delta * (1 + 1e-9), claimed, cases=len(both), note=f"delta {worst:.3g}")


def _claimed() -> Loss:
    """The coarse scale passes one test here; then the cascade."""
    return Loss(1 + 3.0, float(RANGE.composition.delta))


def in_procedures() -> Iterator[Check]:
    """Less noise than was proposed; a test that nearly always passes."""
    generous = MarginTest(SHARP.epsilon, Fraction(49, 100))
    cases: dict[str, Callable[[], RangePlan]] = {
        "noise 30% small": lambda: _with(
            dataclasses.replace(NARROW, release=NARROW.release * Fraction(10, 7)),
            dataclasses.replace(WIDE, release=WIDE.release * Fraction(10, 7)),
        ),
        "a proposal that is hardly tested": lambda: _with(dataclasses.replace(NARROW, test=generous), WIDE),
    }
    for name, made in cases.items():

        def run(effort: Effort, made: Callable[[], RangePlan] = made) -> Evidence:  # noqa: ARG001
            return range_evidence(made(), _claimed())

        yield Check(name, "exact", run, detail="iqr without bounds", proof="audit")
    yield from in_cascades()
    yield from in_robust_cells()
    yield from in_fitted_bounds()
    yield from in_people()
    yield from in_descriptions()
    yield from in_joint_medians()


def _with(*proposals: RangeProposal) -> RangePlan:
    return dataclasses.replace(RANGE, proposals=proposals)
