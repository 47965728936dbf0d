"""Losses and events of dp-accounting: there and back, never less than was lost."""

import math

import pytest

import dither as dt
from dither.accounting.concentrated import zcdp_epsilon
from dither.privacy import Concentrated, Loss

dp_event = pytest.importorskip("dp_accounting.dp_event")
rdp = pytest.importorskip("dp_accounting.rdp")


def epsilon_of(event, delta):
    """By the Renyi accountant of dp-accounting."""
    accountant = rdp.RdpAccountant(orders=[1 + i / 10 for i in range(1, 600)])
    accountant.compose(event)
    return accountant.get_epsilon(delta)


def test_releases_become_events_that_an_accountant_composes():
    """Drawn answers are counted as such: the accountant's epsilon is that of our own conversion."""
    draws = [dt.median(range(50), bounds=(0, 50), epsilon=0.05, confidence=None) for _ in range(100)]
    event = dt.to_dp_event(draws)
    assert event == dp_event.SelfComposedDpEvent(dp_event.ZCDpEvent(0.0003125), 100)
    assert epsilon_of(event, 1e-6) == pytest.approx(dt.compose(draws, delta=1e-6).epsilon, rel=1e-3)
    mixed = dt.to_dp_event([*draws, Loss(0.1)])
    assert isinstance(mixed, dp_event.ComposedDpEvent)
    assert epsilon_of(mixed, 1e-6) > epsilon_of(event, 1e-6)
    assert dt.to_dp_event([]) == dt.to_dp_event([Loss(0.0)]) == dp_event.NoOpDpEvent()


def test_a_history_of_a_session_is_an_event():
    """What was charged, as the ledger keeps it."""
    columns = {"age": dt.Integer(0, 120)}
    with dt.open({"age": [30, 40, 50] * 50}, columns=columns, rows=150, budget=dt.Budget(1.0)) as session:
        for _ in range(3):
            session.ask(dt.Median("age"), epsilon=0.2, mechanism="inverse", confidence=None, again=True)
        assert dt.to_dp_event(session.history) == dp_event.SelfComposedDpEvent(dp_event.ZCDpEvent(0.005), 3)


def test_events_become_losses():
    """Each noise with its own epsilon and rho, compositions written out."""
    event = dp_event.ComposedDpEvent(
        [
            dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(4.0), 2),
            dp_event.DiscreteLaplaceDpEvent(0.5, 1),
            dp_event.GaussianDpEvent(20.0),
            dp_event.ZCDpEvent(0.01),
            dp_event.RandomizedResponseDpEvent(0.5, 2),
            dp_event.NoOpDpEvent(),
        ]
    )
    losses = dt.from_dp_event(event, delta=1e-7)
    assert [loss.delta for loss in losses] == [0.0, 0.0, 0.0, 1e-7, 1e-7, 0.0]
    assert [round(loss.epsilon, 6) for loss in losses[:3]] == [0.25, 0.25, 0.5]
    rhos = [0.25 + math.exp(-0.25) - 1] * 2 + [0.5 * math.tanh(0.25), 1 / 800, 0.01]
    assert [loss.rho for loss in losses[:5]] == pytest.approx(rhos, rel=1e-9)
    assert losses[4].epsilon == zcdp_epsilon(0.01, 1e-7)
    assert losses[5].epsilon == pytest.approx(math.log(3))
    assert losses[5].stated is None
    assert dt.compose(losses, delta=1e-6).epsilon < sum(loss.epsilon for loss in losses)


def test_there_and_back():
    """The rho of a loss survives, and is never smaller."""
    for rho in (1e-12, 0.0123456789, 3.7):
        loss = Loss(1.0, stated=Concentrated(dt.Loss.bounded_range(math.sqrt(8 * rho)).concentrated.rho))
        back = dt.from_dp_event(dt.to_dp_event([loss]), delta=1e-6)[0]
        assert loss.concentrated.rho <= back.concentrated.rho <= loss.concentrated.rho * (1 + 1e-11) + 1e-20


@pytest.mark.parametrize(
    "event",
    [
        dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0)),
        dp_event.NonPrivateDpEvent(),
        dp_event.ZCDpEvent(0.1, 0.5),
        dp_event.LaplaceDpEvent(0.0),
        dp_event.GaussianDpEvent(math.inf),
        dp_event.ZCDpEvent(-1.0),
        dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), -1),
        dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), 10**9),
        dp_event.RandomizedResponseDpEvent(1.5, 2),
        "laplace",
    ],
)
def test_what_is_no_loss_is_refused(event):
    """Sampling, nothing private, nonsense, too many: one sentence."""
    with pytest.raises(dt.InvalidArgument, match="event"):
        dt.from_dp_event(event, delta=1e-6)


def test_a_loss_with_a_delta_has_no_event():
    """Nor a delta of zero at which something without a pure epsilon could be written."""
    with pytest.raises(dt.InvalidArgument, match="no event for a loss with a delta"):
        dt.to_dp_event([Loss(0.1), Loss(0.1, 1e-6)])
    with pytest.raises(dt.InvalidArgument, match="delta"):
        dt.from_dp_event(dp_event.GaussianDpEvent(1.0), delta=0)
