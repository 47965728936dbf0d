"""Losses as events of dp-accounting, and the other way round: for exchange with accountants of that package.

An event describes what was released, an accountant computes what it costs.  Every loss without a delta beside its rho
is a ``ZCDpEvent``, which the Renyi accountant composes; the package has no event for a loss with a delta.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType
from typing import Any, Protocol

from dither.accounting import concentrated
from dither.accounting.composition import HasLoss, listed_losses
from dither.accounting.rounding import BITS, positive, printed_up, probability, top
from dither.errors import InvalidArgument
from dither.numbers import Number, ball, float_up, precision
from dither.privacy import Concentrated, Loss, rho_up

MOST_EVENTS = 1_000_000
"""More releases than this are not listed one by one."""


class DpEvent(Protocol):
    """What dp-accounting, which is optional, calls a DpEvent."""

    def to_named_tuple(self) -> Any:  # a type of that package
        """The same, to be written down."""


def to_dp_event(losses: Iterable[Loss | HasLoss]) -> DpEvent:
    """What several releases are together, as an event of dp-accounting (installed with ``dither[accounting]``).

    ``losses``: ``Loss`` objects or anything with a ``.loss``: releases, quotes, the history of a session.  Numbers are
    rounded up, so that no accountant counts less than was lost.
    """
    package = _package()
    event: DpEvent
    counts: Counter[Fraction] = Counter()
    for place, loss in enumerate(listed_losses(losses)):
        own = loss.concentrated
        if own.delta:
            raise InvalidArgument(f"losses[{place}]", str(loss), "dp-accounting has no event for a loss with a delta")
        counts[own.rho] += 1
    events = [_repeated(package, package.ZCDpEvent(float_up(rho)), count) for rho, count in counts.items() if rho]
    event = package.ComposedDpEvent(events) if events else package.NoOpDpEvent()
    return events[0] if len(events) == 1 else event


def from_dp_event(event: DpEvent, *, delta: Number) -> list[Loss]:
    """The losses that an event of dp-accounting stands for, one for each release: for ``dt.compose`` and ledgers.

    ``delta``: at which delta a loss is written that has no pure epsilon (Gaussian noise, zCDP); its rho is exact
    whatever that is.  Noise is that of the event's own neighbour relation.  Sampling and trees are refused.
    """
    package, at = _package(), probability("delta", delta, zero=False)
    result = _losses(package, event, at)
    if sum(count for _, count in result) > MOST_EVENTS:
        raise InvalidArgument("event", type(event).__name__, f"must hold at most {MOST_EVENTS:,} releases")
    return [loss for loss, count in result for _ in range(count)]


def _losses(package: ModuleType, event: DpEvent, delta: Fraction) -> list[tuple[Loss, int]]:
    if isinstance(event, package.NoOpDpEvent):
        return []
    if isinstance(event, package.ComposedDpEvent):
        return [pair for item in event.events for pair in _losses(package, item, delta)]
    if isinstance(event, package.SelfComposedDpEvent):
        if not isinstance(event.count, int) or event.count < 0:
            raise InvalidArgument("event.count", event.count, "must be a whole number of at least 0")
        return [(loss, count * event.count) for loss, count in _losses(package, event.event, delta)]
    return [(_loss(package, event, delta), 1)]


def _loss(package: ModuleType, event: DpEvent, delta: Fraction) -> Loss:
    if isinstance(event, package.GaussianDpEvent):
        rho = 1 / (2 * _binary("noise_multiplier", event.noise_multiplier) ** 2)
        return _at_delta(concentrated.gaussian_epsilon([rho], delta), delta, rho)
    if isinstance(event, package.ZCDpEvent) and event.xi == 0:
        rho = _binary("rho", event.rho, zero=True)
        return _at_delta(printed_up(concentrated.conversion(rho, delta)), delta, rho)
    if isinstance(event, package.LaplaceDpEvent):
        epsilon = 1 / _binary("noise_multiplier", event.noise_multiplier)
        return Loss(printed_up(epsilon), stated=concentrated.real_laplace(epsilon))
    if isinstance(event, package.DiscreteLaplaceDpEvent):
        step = _binary("noise_parameter", event.noise_parameter)
        epsilon = step * _binary("sensitivity", event.sensitivity)
        return Loss(printed_up(epsilon), stated=concentrated.integer_laplace(epsilon, step))
    if isinstance(event, package.RandomizedResponseDpEvent):
        lie, buckets = _binary("noise_parameter", event.noise_parameter), _binary("num_buckets", event.num_buckets)
        if lie > 1:
            raise InvalidArgument("event.noise_parameter", event.noise_parameter, "must be a number in (0, 1]")
        with precision(BITS):
            return Loss(printed_up(max(Fraction(0), top((1 + ball(buckets * (1 - lie) / lie)).log()))))
    accepted = "must be Gaussian, Laplace or zCDP events, randomised response, or several of them"
    raise InvalidArgument("event", type(event).__name__, accepted)


def _at_delta(epsilon: float, delta: Fraction, rho: Fraction) -> Loss:
    return Loss(epsilon, printed_up(delta), stated=Concentrated(rho_up(rho)))


def _binary(name: str, value: float, *, zero: bool = False) -> Fraction:
    """The exact number that another package computes with."""
    positive(f"event.{name}", value, zero=zero)
    return Fraction(value)


def _repeated(package: ModuleType, event: DpEvent, count: int) -> DpEvent:
    repeated: DpEvent = event if count == 1 else package.SelfComposedDpEvent(event, count)
    return repeated


def _package() -> ModuleType:
    try:
        return importlib.import_module("dp_accounting.dp_event")
    except ImportError:
        raise InvalidArgument("event", "dp-accounting", "install dither[accounting]") from None
