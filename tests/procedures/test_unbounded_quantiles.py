"""Several quantiles without bounds by one joint draw: answers, intervals, the floor by enumeration, bad input."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument, NotApplicable
from dither.procedures.unbounded_quantiles import joint_room
from dither_lab.audit.laws.several import joint_law

PAY = np.random.default_rng(8).lognormal(11, 0.6, 20_000)
QUARTILES = [0.25, 0.5, 0.75]


def test_answers_rise_and_lie_near_the_truth():
    """A miss by 600 of 20,000 ranks is less likely than 1e-9; pure, of bounded range, all of epsilon."""
    release = dt.quantiles(PAY, q=QUARTILES, epsilon=1.0, confidence=None)
    ranks = np.searchsorted(np.sort(PAY), release.value)
    assert np.abs(ranks - np.array(QUARTILES) * len(PAY)).max() < 600
    assert list(release.value) == sorted(release.value)
    assert (release.mechanism, release.loss) == ("inverse", dt.Loss(1.0))
    assert release.loss.rho == pytest.approx(1 / 8)
    assert release.labels == ("0.25", "0.5", "0.75")


@pytest.mark.slow
def test_intervals_cover_each_quantile():
    """80% of the time, within Hoeffding's bound for 1e-9."""
    data, runs = -PAY[:4_000], trials(60, 600)
    truth = np.quantile(data, QUARTILES, method="inverted_cdf")
    covered = np.zeros(3)
    for _ in range(runs):
        ends = np.array(dt.quantiles(data, q=QUARTILES, epsilon=2.0, confidence=0.8).interval)
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert (covered >= 0.8 * runs - math.sqrt(runs * math.log(3e9) / 2)).all()


@pytest.mark.parametrize("ranks", [[2, 4], [2, 3, 4]])
def test_the_floor_bounds_answers_beyond_all_records(ranks):
    """On all data of a small grid: at most ``points^m e^{-2 rate (room - 1)}``, and the bound is no mere 1."""
    points, records, rate = 9, 5, 3.0
    room = min(ranks[0], records - ranks[-1] + 1)
    allowed = points ** len(ranks) * math.exp(-2 * rate * (room - 1))
    assert allowed < 1 or len(ranks) == 3
    worst = 0.0
    for x in combinations(range(points), records):
        law = joint_law(np.array(x), (0, points - 1), ranks, rate)
        worst = max(worst, sum(p for z, p in law.items() if z[0] < x[0] or z[-1] > x[-1]))
    assert worst <= allowed
    assert joint_room(len(ranks), points, Fraction(3)) >= room + math.log(2 * allowed) / (2 * rate) - 1


def test_few_records_are_refused_by_number():
    """Before anything is read; so are extremes at any number, and one or very many quantiles."""
    with pytest.raises(InvalidArgument, match=r"at least \d+ records .*nothing was read") as caught:
        dt.quantiles(PAY[:100], q=QUARTILES, epsilon=1.0)
    least = int(str(caught.value).split("at least ")[1].split(" ")[0])
    assert not dt.quantiles(PAY[:least], q=QUARTILES, epsilon=1.0).refused
    for q, words in (
        ([0, 0.5], "however many there are"),
        ([0.5], "2 to 20 quantiles"),
        (np.linspace(0.1, 0.9, 21), "2 to 20 quantiles"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            dt.quantiles(PAY, q=q, epsilon=1.0)
    with pytest.raises(NotApplicable, match="inverse"):
        dt.quantiles(PAY, q=QUARTILES, epsilon=1.0, mechanism="smooth")
    with pytest.raises(InvalidArgument, match="step"):
        dt.quantiles(PAY, q=QUARTILES, epsilon=1.0, step=1)


def test_odd_records_are_records():
    """NaN is zero, infinities lie at the ends."""
    odd = np.concatenate([PAY, np.full(300, np.nan), np.full(300, np.inf), np.full(300, -np.inf)])
    release = dt.quantiles(odd, q=QUARTILES, epsilon=2.0)
    assert all(3e4 < one < 1.2e5 for one in release.value)
    assert release.missing == 0


def test_sessions_and_statements():
    """Of a column that is declared without bounds; behind filters it is refused."""
    columns = {"pay": dt.Real(None, None), "year": dt.Integer(2000, 2001)}
    table = {"pay": PAY, "year": np.arange(len(PAY)) % 2 + 2000}
    session = dt.open(table, columns=columns, rows=len(PAY), budget=dt.Budget(100))
    release = session.sql("SELECT quantiles(pay, 0.25, 0.5, 0.75) FROM data", epsilon=1.0)
    assert release.value[0] < release.value[1] < release.value[2]
    with pytest.raises(NotApplicable, match="number of rows must be public"):
        session.ask(dt.Quantiles("pay", q=QUARTILES), epsilon=1.0, where="year = 2000")
    assert session.budget.spent.epsilon == 1.0
