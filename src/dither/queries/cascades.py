"""Your own propose-test-release: proposals, tests and values of your own in cascades and levels (DL09 section 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.privacy import Loss, Neighbours
from dither.procedures.own_cascades import Levels, OwnCascades, as_float, read_levels
from dither.queries.custom import CLAIM
from dither.queries.own_functions import WITHOUT, OwnFunction
from dither.queries.plan import Options, Plan, Result
from dither.queries.registry import query
from dither.sources.column import Shape
from dither.typing import Anything


@dataclass(frozen=True)
class CascadePlan(Plan[Anything]):
    """Levels of cascades, ready to run."""

    label: str
    cascades: OwnCascades
    loss: Loss
    neighbours: Neighbours
    confidence: float | None
    miss: Fraction | None
    mechanism = "propose_test"
    noise = "laplace"
    claim = CLAIM

    def run(self, records: Anything) -> Result:
        result = self.cascades.run(records, self.miss)
        if isinstance(result, int):
            return Result(None, reason=f"no test of level {result} passed; a refusal is a result, and is charged for")
        values = tuple(as_float(item.value) for item in result if item.value is not None)
        ends = tuple(
            (as_float(item.low), as_float(item.high))
            for item in result
            if item.low is not None and item.high is not None
        )
        single, names = len(values) == 1, tuple(name for name, _ in self.cascades.levels[-1])
        interval = None if not ends else ends[0] if single else ends
        return Result(values[0] if single else values, interval, labels=None if single else names)


@query(
    "cascade",
    of="table",
    without=WITHOUT,
    parameters=dict.fromkeys(("columns", "neighbours", "levels")),
    proof="propose_test",
)
@dataclass(frozen=True)
class Cascade(OwnFunction):
    """Propose, test, release with functions of your own: the first proposal whose test passes answers, or none does.

    levels: a list; each level is a ``dt.Proposal``, a list of them (a cascade: alternatives in order) or a mapping of
        names to either (cascades side by side).  Functions of later levels also get the numbers that earlier levels
        released; the last level's are the answer.

    Guarantee  (eps, delta)-DP for the stated neighbours, if every margin and ladder is what its author claims.
    Theorem    DL09 Definitions 13 to 19, Theorems 16, 17 and 22, Corollary 20; docs/proofs/propose_test.md, section 5.
    Constants  Epsilon is divided by the shares of the costliest way through the levels, delta evenly among all tests.
    Cost       One call of each function until a test passes; with ``ladder=`` about ln(1/delta)/epsilon calls.

    >>> import dither as dt, numpy as np
    >>> gap = lambda x, k: np.sort(x)[len(x) // 2 + k + 1] - np.sort(x)[len(x) // 2 - k - 1]
    >>> steps = [dt.Proposal(value=np.median, bound=b, ladder=gap) for b in (1.0, 10.0)]
    >>> release = dt.ask(dt.Cascade(levels=[steps]), np.arange(2_001) / 100, epsilon=20.0, delta=1e-6)
    >>> release.mechanism, release.loss, 5 < release.value < 15
    ('propose_test', Loss(epsilon=20.0, delta=1e-06), True)
    """

    levels: Levels = field(kw_only=True)
    noun: ClassVar[str] = "cascade"
    function: ClassVar[None] = None
    """The functions are those of its proposals."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(dict(parts) for parts in read_levels(self.levels)))
        super().__post_init__()

    def plan(self, facts: Shape, options: Options) -> CascadePlan:  # noqa: ARG002
        options.only_auto("its tests and its noise are those of its proposals", 'mechanism="auto"')
        loss = options.loss
        if loss.is_pure:
            raise InvalidArgument("delta", loss.delta, "must be above 0 for a test, such as 1e-6")
        epsilon = min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
        made = OwnCascades.of(read_levels(self.levels), epsilon, loss.exact_delta)
        if not made.composition.fits(loss):
            raise RuntimeError("the parts of a cascade cost more than the whole")
        return CascadePlan(self.label, made, loss, self.neighbours, options.level, options.miss)
