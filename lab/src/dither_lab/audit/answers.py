"""A mechanism as its auditor sees it: samples of what it answers and, where they are known, the exact laws."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, cast

from dither.mechanisms.mechanism import Outcome, Prepared
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.middle import HasMiddleScore
from dither.sensitivity.reachable import ReachableValues
from dither.sources.column import RankedRecords
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic
from dither_lab.audit.attacks import HistogramAttack, LikelihoodRatio
from dither_lab.audit.blackbox import FAILURE, Attack, BlackBoxFinding, Sampler, audit
from dither_lab.audit.laws.registry import Answer, law_of, published


def as_answer(outcome: Outcome) -> Answer:
    """All that an outcome shows, as one flat tuple."""
    values = outcome.answer if isinstance(outcome.answer, tuple) else (outcome.answer,)
    ends = (
        end for interval in outcome.interval or () for end in (interval if isinstance(interval, tuple) else (interval,))
    )
    return (*values, *ends)


def runs(prepared: Prepared, data: Any) -> Sampler:
    """A sampler that runs a mechanism on one dataset, again and again."""
    return lambda count: [as_answer(prepared.run(data)) for _ in range(count)]


class Remembering(Statistic):
    """A statistic that computes the value, smooth bound and reachable values of a dataset once.

    These are functions of the data alone, so the law of the answers is the same and thousands of runs are several times
    faster.
    """

    neighbours: Neighbours
    answers: Grid
    global_sensitivity: int

    def __init__(self, statistic: Statistic) -> None:
        self.plain = statistic
        self.neighbours, self.answers, self.global_sensitivity = (
            statistic.neighbours,
            statistic.answers,
            statistic.global_sensitivity,
        )
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Everything else is the statistic's own."""
        return getattr(object.__getattribute__(self, "plain"), name)

    def value(self, data: Any) -> int:
        return int(self._once(data, "value", lambda: self.plain.value(data)))

    def ladder(self, data: Any, algorithm: Algorithm = "exact") -> Ladder:
        ladder: Ladder = self._once(data, algorithm, lambda: self.plain.ladder(data, algorithm))
        remembered = copy(ladder)  # with its class and its public limits, by which mechanisms cut it
        remembered.smooth = lambda beta: self._once(  # type: ignore[method-assign]
            data, (algorithm, beta), lambda: ladder.smooth(beta)
        )
        return remembered

    def reachable_values(self, data: Any) -> ReachableValues:
        """Of a statistic that has them."""
        plain: Any = self.plain
        reachable: ReachableValues = self._once(data, "reachable_values", lambda: plain.reachable_values(data))
        return reachable

    def imbalance(self, data: RankedRecords) -> Callable[[int], int]:
        """Of a quantile that has them."""
        plain = cast("HasMiddleScore[RankedRecords]", self.plain)
        imbalance: Callable[[int], int] = self._once(data, "imbalance", lambda: plain.imbalance(data))
        return imbalance

    def _once(self, data: Any, what: Any, compute: Callable[[], Any]) -> Any:
        # The data are kept, or another dataset could come to have the same id.
        key = (id(data), what)
        if key not in self._known:
            self._known[key] = (data, compute())
        return self._known[key][1]


def remembering(prepared: Any) -> Any:
    """The same mechanism on a remembering statistic."""
    return replace(prepared, statistic=Remembering(prepared.statistic))


def examine(
    prepared: Prepared,
    here: Any,
    there: Any,
    *,
    samples: int,
    known: Prepared | None = None,
    failure_probability: float = FAILURE,
) -> BlackBoxFinding:
    """Audit what a mechanism claims on one pair of neighbouring datasets.

    known: an honest mechanism whose exact laws say where to look; then the likelihood-ratio attack tests every run.
    Without it, or where its laws are not known, the histogram attack looks for itself.
    """
    attack: Attack = HistogramAttack()
    laws = None if known is None else [answer_law(known, data) for data in (here, there)]
    if laws is not None and laws[0] is not None and laws[1] is not None:
        attack = LikelihoodRatio(laws[0], laws[1])
    return audit(
        runs(prepared, here),
        runs(prepared, there),
        claimed=prepared.loss,
        attacks=[attack],
        samples=samples,
        failure_probability=failure_probability,
    )


def answer_law(prepared: Prepared, data: Any) -> dict[Answer, float] | None:
    """The exact law of the answers, interval included, on a small grid; None where it is not known in closed form.

    Known for draws by inverse sensitivity with and without intervals, and for draws from rungs and added noise without.
    """
    return law_of(prepared).answers(prepared, published(prepared), data)
