"""Answers that are late are late by whole steps: how late depends on the data."""

import time

import pytest

from dither.sandbox.schedule import wait_until_planned


@pytest.mark.parametrize(("late", "steps"), [(0.01, 1), (0.07, 2), (0.15, 4)])
def test_what_is_late_waits_for_the_end_of_a_step(late, steps):
    """One step after the planned moment, or two, or four; never in between."""
    moment = time.monotonic() - late
    wait_until_planned(moment, 0.05)
    assert time.monotonic() - moment >= 0.05 * steps


def test_what_is_in_time_waits_for_its_moment():
    """And no longer on purpose."""
    moment = time.monotonic() + 0.05
    wait_until_planned(moment, 1000.0)
    assert 0.0 <= time.monotonic() - moment < 900.0
