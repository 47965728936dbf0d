"""What a fixed batch of releases costs together: basic, advanced, optimal and heterogeneous composition.

The *losses* of a batch are fixed before its first release; the questions may depend on earlier answers.  Where
losses are chosen on the way only a filter is sound (``dither.accounting.filters``).  Proofs of every bound, with
its rounding: docs/proofs/composition.md.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from dither.accounting import concentrated, profiles
from dither.accounting.rounding import BITS, bottom, least, positive, printed_up, probability, top
from dither.errors import InvalidArgument
from dither.numbers import Ball, Number, ball, precision
from dither.privacy import Concentrated, Loss

if TYPE_CHECKING:
    from dither.typing import CompositionName

CountedLosses = Counter[tuple[Fraction, Fraction]]
"""How many times each (epsilon, delta) occurs."""


class HasLoss(Protocol):
    """What was paid for: a release, or an entry of a ledger."""

    @property
    def loss(self) -> Loss: ...


def basic(losses: Iterable[Loss | HasLoss]) -> Loss:
    """Epsilons and deltas add up; both sums are exact and rounded up once.

    Theorem    V17 Lemma 2.3; docs/proofs/composition.md, section 2.  Sound for adaptively chosen losses too.

    >>> basic([Loss(0.1), Loss(0.2, 1e-6)])
    Loss(epsilon=0.3, delta=1e-06)
    """
    return _added(_counted(losses))


def advanced(losses: Iterable[Loss | HasLoss], *, delta: Number) -> Loss:
    """A closed form that grows with the root of the sum of squares; never above ``basic``.

    Guarantee  (M + u, delta)-DP with ``M = sum eps_i tanh(eps_i / 2)``, ``V = sum eps_i^2`` and the least u with
               ``e^{-u^2 / 2V} V / (V + u) <= d'``, where ``1 - delta = (1 - d') prod (1 - delta_i)``.
    Theorem    docs/proofs/composition.md, section 3 (Hoeffding's lemma and one integral).
    Constants  Textbook: u = sqrt(2 V ln(1/d')); KOV17 Theorem 3.4 puts ln(e + sqrt(V)/d') there. Ours is below both
               whenever u >= V, and the deltas multiply where the textbooks add them.

    >>> advanced([Loss(0.01, 1e-9)] * 1000, delta=2e-6).epsilon < 1.54
    True
    """
    return _at_delta(_counted(losses), delta, _advanced)


def optimal(epsilon: Number, delta: Number, k: int, target_delta: Number) -> Loss:
    """The least epsilon that k releases of (epsilon, delta) have together at ``target_delta``, rounded up.

    Theorem    KOV17 Theorem 3.3, at every epsilon instead of the points (k - 2i) epsilon; section 4 of
               docs/proofs/composition.md.  Optimal: randomised response attains it.
    Cost       O(min(k, sqrt(k ln(1/target_delta)))) ball operations: 20 ms for k = 1e5.

    >>> round(optimal(0.01, 1e-9, 1000, 2e-6).epsilon, 4)
    1.3654
    """
    if not isinstance(k, int) or isinstance(k, bool) or k < 0:
        raise InvalidArgument("k", k, "must be a whole number of at least 0")
    loss = positive("epsilon", epsilon, zero=True), probability("delta", delta)
    return _at_delta(Counter({loss: k}) if k else Counter(), target_delta, _optimal, "target_delta")


def heterogeneous(losses: Iterable[Loss | HasLoss], *, delta: Number) -> Loss:
    """The optimum for unequal losses, from above: exact on a shared grid, else within 1% in practice.

    Theorem    Murtagh-Vadhan 2016 Theorem 1.5 on a grid that dominates; docs/proofs/composition.md, section 4.
    Cost       A third of a second for 1,000 different losses, some 10 s for 100,000.

    >>> heterogeneous([Loss(0.01)] * 600 + [Loss(0.02)] * 100, delta=1e-6).epsilon < 1.37
    True
    """
    return _at_delta(_counted(losses), delta, _heterogeneous)


def compose(losses: Iterable[Loss | HasLoss], *, delta: Number | None = None, method: CompositionName = "auto") -> Loss:
    """What several releases cost together: the best sound bound at the stated total ``delta``.

    ``losses`` holds ``Loss`` objects or anything with a ``.loss``, such as a ``Release``; a refused release was
    paid for and counts like any other.  The losses must have been fixed before the first release.  Without
    ``delta`` the deltas add up, and so do the epsilons.  What the mechanisms of releases state about the laws of their
    losses is used: a hundred drawn answers cost less together than a hundred answers with noise.

    ``method``: ``"auto"`` (the least of all), ``"basic"``, ``"advanced"``, ``"optimal"`` (equal losses only),
    ``"heterogeneous"``, ``"zcdp"``, or ``"dp-accounting"`` (a cross-check by the optional package of that name, in
    floats and without proof; ``auto`` never uses it).

    >>> compose([Loss(0.1)] * 3)
    Loss(epsilon=0.3, delta=0.0)
    >>> compose([Loss(0.01, 1e-9)] * 1000, delta=2e-6).epsilon <= 1.37
    True
    >>> compose([Loss.bounded_range(0.01)] * 1000, delta=2e-6).epsilon <= 0.7
    True
    """
    each, stated = listed_losses(losses), None
    counted = _counted(each)
    if method not in METHODS:
        raise InvalidArgument("method", method, f"must be one of {', '.join(METHODS)}")
    if delta is None:
        if method not in ("auto", "basic"):
            raise InvalidArgument("delta", delta, f"must be the total delta for method {method!r}")
        return _added(counted)
    if method in ("auto", "zcdp"):
        stated = _stated(each)
    by_rho = None if stated is None else _by_rho(stated, probability("delta", delta))
    if by_rho is not None and not _sums(counted)[1] <= probability("delta", delta):
        return by_rho
    by_losses = _at_delta(counted, delta, METHODS[method])
    return by_losses if by_rho is None else min(by_losses, by_rho, key=lambda item: item.epsilon)


def advanced_epsilon(counted: CountedLosses, total: Fraction) -> Fraction:
    """``advanced`` before it is rounded to a float, for losses that ``total`` covers."""
    with precision(BITS):
        rest = delta_left(counted, total)
        return min(_sums(counted)[0], _advanced(counted, rest)) if rest > 0 else _sums(counted)[0]


def _at_delta(
    counted: CountedLosses, delta: Number, bound: Callable[[CountedLosses, Ball], Fraction], name: str = "delta"
) -> Loss:
    """Check the total delta, split off what the deltas of the steps use, and bound epsilon with the rest."""
    total = probability(name, delta)
    epsilon, used = _sums(counted)
    with precision(BITS):
        rest = delta_left(counted, total)
        if rest > 0:
            epsilon = min(epsilon, bound(counted, rest))
        elif used > total:
            accepted = f"must be at least {printed_up(used):g}, the sum of the single deltas"
            raise InvalidArgument(name, delta, accepted if used < 1 else "no delta below 1 covers these losses")
        elif bound is _optimal:
            _one_epsilon(counted)
    return Loss(printed_up(epsilon), printed_up(total))


def delta_left(counted: CountedLosses, total: Fraction) -> Ball:
    """``1 - (1 - total) / prod (1 - delta_i)``: the delta left for the pure parts of all steps."""
    kept = ball(1)
    for (_, delta), count in counted.items():
        kept *= ball(1 - delta) ** count
    return 1 - ball(1 - total) / kept


def _basic(counted: CountedLosses, rest: Ball) -> Fraction:  # noqa: ARG001  (one signature for all methods)
    return _sums(counted)[0]


def _advanced(counted: CountedLosses, rest: Ball) -> Fraction:
    variance = sum((e**2 * count for (e, _), count in counted.items()), Fraction(0))
    if variance == 0:
        return Fraction(0)
    mean = sum((concentrated.tanh_rho(e) * count for (e, _), count in counted.items() if e), ball(0))
    V = ball(variance)

    def proved(u: Fraction) -> bool:
        return bool((-(ball(u) ** 2) / (2 * V)).exp() * V / (V + ball(u)) <= rest)

    textbook = (-2 * V * rest.log()).sqrt() if rest < 1 else ball(1)
    # At the textbook's u the factor V / (V + u) leaves room, so the proof succeeds there.
    return top(mean) + least(proved, top(textbook) + variance / 2**64)


def _optimal(counted: CountedLosses, rest: Ball) -> Fraction:
    if not counted:
        return Fraction(0)
    epsilon, steps = _one_epsilon(counted)
    return profiles.equal_steps(epsilon, steps, rest)


def _one_epsilon(counted: CountedLosses) -> tuple[Fraction, int]:
    if len({epsilon for epsilon, _ in counted}) > 1:
        raise InvalidArgument("method", "optimal", "is for equal epsilons; use 'heterogeneous' for unequal ones")
    return next(iter(counted), (Fraction(0), Fraction(0)))[0], sum(counted.values())


def _heterogeneous(counted: CountedLosses, rest: Ball) -> Fraction:
    epsilons: Counter[Fraction] = Counter()
    for (epsilon, _), count in counted.items():
        epsilons[epsilon] += count
    return profiles.unequal_steps(epsilons, rest)


def _zcdp(counted: CountedLosses, rest: Ball) -> Fraction:
    return concentrated.approximate([(e, count) for (e, _), count in counted.items()], rest)


def _auto(counted: CountedLosses, rest: Ball) -> Fraction:
    if len({epsilon for epsilon, _ in counted}) <= 1:
        return _optimal(counted, rest)
    return min(method(counted, rest) for method in (_heterogeneous, _zcdp, _advanced))


def _dp_accounting(counted: CountedLosses, rest: Ball) -> Fraction:
    try:
        common = importlib.import_module("dp_accounting.pld.common")
        pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        raise InvalidArgument("method", "dp-accounting", "install dither[accounting], or use 'auto'") from None
    whole = None
    for (epsilon, _), count in counted.items():
        part = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(float(epsilon), 0.0))
        part = part.self_compose(count)
        whole = part if whole is None else whole.compose(part)
    return Fraction(0) if whole is None else Fraction(whole.get_epsilon_for_delta(float(bottom(rest))))


METHODS: dict[str, Callable[[CountedLosses, Ball], Fraction]] = {
    "auto": _auto,
    "basic": _basic,
    "advanced": _advanced,
    "optimal": _optimal,
    "heterogeneous": _heterogeneous,
    "zcdp": _zcdp,
    "dp-accounting": _dp_accounting,
}


def _stated(losses: list[Loss]) -> Concentrated | None:
    """What all releases are together as approximate zCDP; None where no mechanism states more than its loss."""
    counts = Counter((loss, loss.stated) for loss in losses)
    if all(stated is None for _, stated in counts):
        return None
    whole = Concentrated(Fraction(0))
    for (loss, stated), count in counts.items():
        own = stated or loss.concentrated
        whole += Concentrated(own.rho * count, own.delta * count)
    return whole


def _by_rho(stated: Concentrated, total: Fraction) -> Loss | None:
    """The conversion of a whole batch; None where its deltas leave nothing for it."""
    rest = total - stated.delta
    return Loss(printed_up(concentrated.conversion(stated.rho, rest)), printed_up(total)) if rest > 0 else None


def _added(counted: CountedLosses) -> Loss:
    epsilon, delta = _sums(counted)
    if delta >= 1:
        raise InvalidArgument("losses", float(delta), "must have deltas that add up to less than 1")
    return Loss(printed_up(epsilon), printed_up(delta))


def _sums(counted: CountedLosses) -> tuple[Fraction, Fraction]:
    epsilon = sum((e * count for (e, _), count in counted.items()), Fraction(0))
    return epsilon, sum((d * count for (_, d), count in counted.items()), Fraction(0))


def _counted(losses: Iterable[Loss | HasLoss]) -> CountedLosses:
    counts = Counter(listed_losses(losses))
    return Counter({(loss.exact_epsilon, loss.exact_delta): count for loss, count in counts.items()})


def listed_losses(losses: Iterable[Loss | HasLoss]) -> list[Loss]:
    """The losses of releases that hold for one neighbour relation, each checked to be one."""
    accepted = "must be a list of Loss or Release objects"
    if isinstance(losses, (str, bytes, Loss)) or not isinstance(losses, Iterable):
        raise InvalidArgument("losses", losses, accepted)
    listed, relations = [], set()
    for place, item in enumerate(losses):
        loss = item if isinstance(item, Loss) else getattr(item, "loss", None)
        if not isinstance(loss, Loss):
            raise InvalidArgument(f"losses[{place}]", item, "must be a Loss, such as dt.Loss(0.5), or a Release")
        relation = getattr(item, "neighbours", None)
        relations |= {str(relation)} if relation is not None else set()
        listed.append(loss)
    if len(relations) > 1:
        raise InvalidArgument("losses", " and ".join(sorted(relations)), "must all be for one neighbour relation")
    return listed
