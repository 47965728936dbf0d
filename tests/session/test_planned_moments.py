"""Answers that are late are late by whole steps: how late depends on the data."""

import warnings

import pytest

from dither.sandbox import schedule
from dither.sandbox.schedule import moment_after_drawing, wait_until_planned


class Clock:
    """A clock that stands still but for those who sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """The time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    """The clock of schedules, at 1000."""
    made = Clock()
    monkeypatch.setattr(schedule, "time", made)
    return made


@pytest.mark.parametrize(("late", "steps"), [(0.25, 1), (0.5, 1), (0.75, 2), (1.25, 4), (2.25, 8)])
def test_what_is_late_waits_for_the_end_of_a_step(clock, late, steps):
    """One step after the planned moment, or two, or four; never in between."""
    wait_until_planned(1000.0 - late, 0.5)
    assert clock.now == 1000.0 - late + 0.5 * steps


def test_what_is_in_time_waits_for_its_moment(clock):
    """And no longer."""
    wait_until_planned(1000.25, 512.0)
    assert clock.now == 1000.25


@pytest.mark.parametrize(("seconds", "doublings"), [(0.0, 0), (0.75, 0), (1.0, 0), (1.25, 1), (2.25, 2), (4.5, 3)])
def test_drawing_that_takes_long_doubles_the_lead_until_it_suffices(clock, seconds, doublings):
    """As often as needed, and the owner is warned; within the lead nothing changes."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert moment_after_drawing(1000.0 - seconds, 1.0) == 1000.0 - seconds + 2**doublings
    assert ["longer lead" in str(one.message) for one in warned] == [True] * (doublings > 0)
