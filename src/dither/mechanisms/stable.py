"""Exact answers where a few records could not change them; else a refusal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dither.errors import InvalidArgument
from dither.mechanisms.error import Cells, ErrorLaw, WorstCaseError
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.propose_test import BEYOND_DOUBT, check_margin, margin_test
from dither.mechanisms.registry import mechanism
from dither.noise.entropy import Source, system
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import HasLadder
from dither.statistics.statistic import Statistic, VectorStatistic

REFUSAL = "the test did not pass: on data like these a few records might change the answer, so it is not released"
Label = TypeVar("Label", bound=Hashable)


@mechanism("stable", needs=HasLadder)
@dataclass(frozen=True)
class Stable(Mechanism):
    """The true answer, if the data are many changes away from any other; else a refusal.

    Guarantee  (eps, delta)-DP for the query's neighbours; delta > 0 is needed.
    Theorem    Distance to instability (V17 sec. 3): margin ``min {k : U_k > 0}`` of any ladder; docs/proofs/stable.md.
    Constants  All of (eps, delta) is spent on the test; the answer itself costs nothing.
    Cost       O(log) rungs of the ladder and one comparison.  The interval is the answer itself.
    """

    adds_noise = False
    may_refuse = True

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        # Where the local sensitivity is the global one on all data, no data could pass.
        return super().serves(statistic) and not statistic.sensitivity_is_constant

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic = ask.single_number(self.name)
        only_noises(self.name, ask.noise)
        test = margin_test(ask, Fraction(1))
        return StableValue(statistic, ask.loss, test, ask.confidence)


@dataclass(frozen=True)
class StableValue(Prepared[Data]):
    """The value if its margin passes, else nothing."""

    mechanism = "stable"
    statistic: Statistic[Data]
    loss: Loss
    test: MarginTest
    confidence: Fraction | None
    noise_name = "none"
    refusal = REFUSAL

    def margin(self, data: Data) -> int:
        """How many changes the data are away from where one more could change the answer: private."""
        return self.statistic.ladder(data).margin(0, self.test.margin_for(BEYOND_DOUBT))

    def run(self, data: Data) -> Outcome:
        if not self.test.passes(self.margin(data)):
            return Outcome(None)
        value = self.statistic.value(data)
        return Outcome(value, None if self.confidence is None else (value, value))

    def check_data_can_pass(self) -> None:
        check_margin(self.test, self.statistic)

    def error_laws(self, records: Data) -> list[ErrorLaw]:  # noqa: ARG002
        """None at all: what is released is the statistic itself, or a refusal."""
        return [Cells.zero()]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        return WorstCaseError((0.0,), (0.0,), exact=True)

    def public_half_widths(self) -> tuple[float, ...] | None:
        return None if self.confidence is None else (0.0,)


def lead_margin(scores: Mapping[Label, int | Fraction], sensitivity: int | Fraction) -> int:
    """How many changes the best score is away from being overtaken: ``max(0, ceil(lead / (2 sensitivity)) - 1)``.

    ``lead``: the best score minus the second best, which for undeclared categories is at least 0.
    A change of one record moves every score by at most ``sensitivity``.
    """
    ordered = sorted((Fraction(score) for score in scores.values()), reverse=True)
    second = ordered[1] if len(ordered) > 1 else Fraction(0)
    changes = (ordered[0] - second) / (2 * Fraction(sensitivity))
    return max(-(-changes.numerator // changes.denominator) - 1, 0)


def stable_choice(
    scores: Mapping[Label, int | Fraction],
    loss: Loss,
    *,
    sensitivity: int | Fraction = 1,
    source: Source = system,
) -> Label | None:
    """The label of the best score, if it leads by enough; None is a refusal.  All of the loss is spent either way.

    Guarantee  (eps, delta)-DP if one change moves every score by at most ``sensitivity``: counts of categories,
               declared or not (1, or the rows a person may own), counts of right predictions of several models (1).
    Theorem    docs/proofs/stable.md, section 2.

    >>> stable_choice({"rent": 900, "own": 100}, Loss(1.0, 1e-6))
    'rent'
    """
    if loss.is_pure:
        raise InvalidArgument("delta", loss.delta, "must be above 0 for a test, such as 1e-6")
    if sensitivity <= 0:
        raise InvalidArgument("sensitivity", float(sensitivity), "must be a positive number")
    test = MarginTest(loss.exact_epsilon, min(loss.exact_delta, Fraction(49, 100)))
    if not scores or not test.passes(lead_margin(scores, sensitivity), source=source):
        return None
    best = max(scores.values())
    # A margin that passes leaves one label; after a rare false pass the order of a tie does not depend on row order.
    return min((label for label, score in scores.items() if score == best), key=lambda label: (str(label), repr(label)))
