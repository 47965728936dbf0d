"""Means, sums and variances without bounds: laws of the limits, floors, what is released, coverage, odd records."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument
from dither.interfaces.answers import ReleaseAnswer
from dither.interfaces.cli.main import main
from dither.privacy import Loss, Neighbours
from dither.procedures.fitted_bounds import (
    HIGHEST,
    LOWEST,
    Bracket,
    LimitDraw,
    limit,
    plan_bounds,
    plan_private_bounds,
    weights,
)
from dither.procedures.ordered import Ordered
from dither.queries.plan import Options
from dither.release import Release
from dither.sources.column import Shape
from dither_lab.audit.checks import Effort
from dither_lab.audit.fitted_bounds import fitted_bounds_checks, in_fitted_bounds, side_law

PAY = np.random.default_rng(5).lognormal(11, 0.6, 10_000)
TRUTHS = {"mean": PAY.mean(), "sum": PAY.sum(), "variance": PAY.var(), "std": PAY.std()}
TRUTHS_IN_NUMPY = {"mean": "mean", "sum": "sum", "variance": "var", "std": "std"}
each_name = pytest.mark.parametrize("name", TRUTHS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("check", list(fitted_bounds_checks()), ids=lambda one: one.detail)
def test_everything_that_the_audit_looks_at_holds(check):
    """All neighbours of a small universe: loss and range of draws, sensitivities within brackets, sums of losses."""
    evidence = check.run(Effort(quick=True))
    assert evidence.holds, evidence.note


def test_the_loss_of_a_limit_is_attained():
    """Rate for rate: nothing is given away."""
    one_side = next(iter(fitted_bounds_checks())).run(Effort(quick=True))
    assert one_side.lower == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("broken", list(in_fitted_bounds()), ids=lambda one: one.subject)
def test_broken_draws_are_found(broken):
    """Both limits at the whole rate, 30% too large a rate, a cost of two directions, a limit that is not drawn."""
    assert not broken.run(Effort(quick=True)).holds


def chances(records, rate):
    """The law of the draw among the limits that the audit lists, as chances."""
    return [math.exp(one) for one in side_law(records, rate)]


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "passes"), [(Fraction(1, 4), True), (Fraction(13, 40), False)])
def test_limits_are_drawn_by_their_law(rate, passes):
    """Each share within Hoeffding's bound for 1e-9; draws at a rate that is 30% wrong are outside it."""
    lowest, records = -4, np.repeat([0.3, 3.0, 40.0, 900.0], [30, 30, 20, 8])
    runs = trials(1_500, 100_000)
    drawn = Counter(LimitDraw(rate).draw(np.sort(records), lowest) for _ in range(runs))
    law = chances(records.tolist(), 0.25)
    allowed = math.sqrt(math.log(2 * len(law) * 1e9) / (2 * runs))
    away = max(abs(drawn[limit(lowest + k)] / runs - chance) for k, chance in enumerate(law))
    assert (away <= allowed) is passes


def test_limits_are_powers_of_the_root_of_two():
    """Each is a float, exactly, and weighs 3/7 of the one before."""
    every = [limit(index) for index in range(LOWEST, HIGHEST + 1)]
    assert all(Fraction(float(one)) == one for one in every)
    assert all(1.41 < high / low < 1.42 for low, high in pairwise(every))
    listed = weights(4)
    assert all(7 * after == 3 * before for before, after in pairwise(listed))


def test_records_far_beyond_all_limits_do_not_hang_the_draw():
    """Below the largest limit it is found, with weights 2**316 apart; where none helps, the smallest weigh most."""
    for value, near in ((2.0**64, True), (2.0**900, False), (0.0, False)):
        drawn = {LimitDraw(Fraction(1)).draw(np.full(3_000, value), LOWEST) for _ in range(20)}
        assert (min(drawn) >= 2.0**64) is near
        assert (max(drawn) < 1) is not near


@each_name
def test_answers_are_near_the_truth(name):
    """A miss by half of it is less likely than 1e-9 on these records."""
    release = getattr(dt, name)(PAY, nulls=0, epsilon=5.0)
    assert release.value == pytest.approx(TRUTHS[name], rel=0.5)
    assert release.interval[0] <= release.value <= release.interval[1]
    assert release.loss.epsilon == 5.0
    assert release.mechanism == ("staircase" if name in ("mean", "sum") else "worst_case")
    assert 2e5 < release.clamped_to.high < 1e8
    assert release.loss.rho < Loss(5.0).rho


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["mean", "variance"])
@pytest.mark.parametrize("options", [{}, {"non_negative": True}])
def test_intervals_cover_the_statistic_of_the_clamped_records(name, options):
    """95% of the time, within Hoeffding's bound for 1e-9; against the records clamped to what was released."""
    runs, covered = trials(150, 2_000), 0
    function = {"mean": np.mean, "variance": np.var}[name]
    for _ in range(runs):
        release = getattr(dt, name)(PAY[:3_000], epsilon=1.0, confidence=0.9, **options)
        clamped = np.clip(PAY[:3_000], release.clamped_to.low, release.clamped_to.high)
        covered += release.interval[0] <= function(clamped) <= release.interval[1]
    assert covered >= 0.9 * runs - math.sqrt(runs * math.log(1e9) / 2)


def test_what_is_released_says_which_bounds_were_found():
    """In the line, in HTML, in JSON and back, with the count beyond them where that was asked for."""
    release = dt.mean(PAY, epsilon=2.0, count_beyond=True)
    assert "of the records clamped to [" in str(release)
    assert "lie beyond" in str(release)
    assert "clamped to" in release._repr_html_()
    assert release.clamped_to.beyond_interval[0] <= release.clamped_to.beyond <= release.clamped_to.beyond_interval[1]
    assert Release.from_dict(json.loads(json.dumps(release.to_dict()))) == release
    plain = dt.mean(PAY, epsilon=2.0)
    assert plain.clamped_to.beyond is None
    assert "nothing is said of what lies beyond" in str(plain)
    assert dt.mean(PAY, bounds=(0, 1e6), epsilon=1.0).clamped_to is None
    assert "clamped_to" not in dt.mean(PAY, bounds=(0, 1e6), epsilon=1.0).to_dict()


def test_bounds_are_in_one_place_whether_declared_or_found():
    """And said once; what was stored before they were there is read with them."""
    release = dt.mean(PAY, epsilon=5.0)
    assert release.clamped == (release.clamped_to.low, release.clamped_to.high)
    assert str(release).count("clamped") == 1
    payload = json.loads(json.dumps(release.to_dict()))
    older = {name: item for name, item in payload.items() if name != "clamped"}
    assert dt.Release.from_dict(payload) == dt.Release.from_dict(older) == release
    assert dt.mean(PAY, bounds=(0, 1e6), epsilon=5.0).clamped == (0, 1e6)


def test_the_count_beyond_is_near_the_truth():
    """Noise of a tenth of epsilon 20; a miss by 15 is less likely than 1e-9."""
    release = dt.mean(PAY, epsilon=20.0, count_beyond=True)
    truth = np.sum((release.clamped_to.high < PAY) | (release.clamped_to.low > PAY))
    assert abs(release.clamped_to.beyond - truth) <= 15


def test_numbers_of_both_signs_far_from_zero_have_narrow_bounds():
    """Around a drawn centre: 1,000,000 +- 1 at epsilon 5 is within thousands, not millions (failure below 1e-9)."""
    release = dt.mean(1e6 + np.random.default_rng(1).normal(0, 1, 10_000), epsilon=5.0)
    assert release.clamped_to.high - release.clamped_to.low < 5e4
    assert release.value == pytest.approx(1e6, abs=1e4)


@pytest.mark.parametrize("records", [[math.nan] * 2_000, [math.inf] * 2_000, [1e308, -1e308] * 1_000, [0.0] * 2_000])
@each_name
def test_odd_records_are_answered(name, records):
    """Whatever a record is, every question has a finite answer; where none is left, a refusal (all but a 1e-20th)."""
    for nulls in (None, 0):
        release = getattr(dt, name)(records, nulls=nulls, epsilon=1.0)
        if nulls is None and math.isnan(records[0]):
            assert release.refused
            continue
        assert math.isfinite(release.value)
        assert all(map(math.isfinite, release.interval))


@pytest.mark.parametrize(
    ("options", "least"), [({}, 484), ({"non_negative": True}, 284), ({"non_negative": True, "step": 1}, 148)]
)
def test_few_records_are_refused_by_number_before_anything_is_read(options, least):
    """At epsilon 1; twice as many at half of it.  Whole numbers have a unit.

    Where missing records are left out the floor is higher by what a count of the others may miss by.
    """
    for nulls, spare in ((0, 0), (None, 47)):
        options["nulls"], floor = nulls, least + spare
        with pytest.raises(InvalidArgument, match=rf"at least {floor} records .*nothing was read, nothing was charged"):
            dt.mean(PAY[: floor - 1], epsilon=1.0, **options)
        assert dt.mean(PAY[:floor], epsilon=1.0, **options).refused in {False, nulls is None}
        with pytest.raises(InvalidArgument, match=rf"at least ({2 * floor}|{2 * floor - 1}) records"):
            dt.mean(PAY[:floor], epsilon=0.5, **options)


@pytest.mark.parametrize(
    ("query", "least"),
    [
        (dt.Median(nulls=0), 47),
        (dt.Quantile(q=0.9, nulls=0), 230),
        (dt.Quantile(q=Fraction(1, 4), nulls=0), 93),
        (dt.Median(), 96),
        (dt.Quantile(q=0.9), 287),
        (dt.Quantile(q=Fraction(1, 4)), 144),
    ],
)
def test_few_records_have_no_quantiles_without_bounds(query, least):
    """All of epsilon 1 on the answer: below the floor records half a percent apart may get answers beyond all."""
    with pytest.raises(InvalidArgument, match=f"at least {least} records"):
        dt.ask(query, PAY[: least - 1], epsilon=1.0, confidence=None)
    # Where missing records are left out, a count of the others may refuse, in one of 20 runs.
    refused = dt.ask(query, PAY[:least], epsilon=1.0, confidence=None).refused
    assert refused in {False, query.nulls is None}


def test_at_the_floor_answers_lie_among_records_half_a_percent_apart():
    """More often than not is proved, and the bound has room: all but 30 of 60 answers (failure below 1e-9)."""
    apart = 1.01 ** np.arange(47)
    inside = sum(1.0 <= dt.median(apart, nulls=0, epsilon=1.0, confidence=None).value <= 1.01**46 for _ in range(60))
    assert inside > 30


def test_twice_the_floor_and_more_keeps_tied_records():
    """The worst data: one point weighs 1 (P of another answer below 1e-12 at e m = 110)."""
    assert dt.median(np.full(220, 17.0), nulls=0, epsilon=1.0, confidence=None).value == 17.0


def test_losses_add_up_and_are_spent_at_the_floor_too():
    """In rationals: draws, noise and count; few records give the draws more of epsilon."""
    for records, epsilon in ((484, 1.0), (10_000, 1.0), (10**7, 0.1)):
        plan = dt.Mean(count_beyond=True).plan(Shape(records, whole=False, nullable=False), Options(Loss(epsilon)))
        spent = plan.fitted.composition.epsilon + plan.typical.loss.exact_epsilon + plan.beyond.loss.exact_epsilon
        assert Fraction(epsilon) * Fraction(99, 100) < spent <= Fraction(epsilon)
        assert plan.loss.epsilon == epsilon
    few, many = (plan_bounds(n, Fraction(1), non_negative=False, unit=None, moves=True) for n in (484, 10**6))
    assert (many.side, many.centre) == (Fraction(1, 8), Fraction(1, 20))
    assert few.side == Fraction(1, 4)


def test_brackets_hold_what_was_drawn():
    """Outward to whole steps; records are clamped to them, as distances from the centre."""
    bracket = Bracket.of(10.0, Fraction(1, 1 << 60), Fraction(4))
    low, high = bracket.ends
    assert low <= 10 - Fraction(1, 1 << 60)
    assert high == 14
    data = Ordered(np.array([-5.0, 10.0, 12.0, 99.0]))
    steps = bracket.column(data).values * float(bracket.grid.step)
    assert steps == pytest.approx([float(low) - 10, 0, 2, 4], abs=1e-9)
    assert bracket.beyond(data).values.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: dt.mean(PAY, bounds=(0, 1), non_negative=True, epsilon=1), "^non_negative is for columns without"),
        (lambda: dt.sum(PAY, bounds=(0, 1), count_beyond=True, epsilon=1), "^count_beyond is for columns without"),
        (lambda: dt.mean(PAY, non_negative=1, epsilon=1), "^non_negative must be True or False"),
        (lambda: dt.mean(PAY, step=2.0**70, epsilon=1), "^step must be between"),
        (lambda: dt.mean(PAY, nulls="lower", epsilon=1), "^nulls must be a number"),
        (lambda: dt.mean({"a": PAY}, count_beyond=True, epsilon=1), "^count_beyond is for one column"),
        (lambda: dt.mean(PAY, mechanism="propose_test", nulls=0, epsilon=1), "mechanism"),
    ],
)
def test_bad_arguments_are_refused(call, named):
    """By name, before anything is read."""
    with pytest.raises(dt.DitherError, match=named):
        call()


# --- in sessions ----------------------------------------------------------------------------------------------------


def opened(rows=10_000, **options):
    """A session about pay without bounds, and a year."""
    table = {"pay": PAY, "year": np.arange(len(PAY)) % 2 + 2000}
    columns = {"pay": dt.Real(None, None, **options), "year": dt.Integer(1990, 2020)}
    return dt.open(table, columns=columns, rows=rows, budget=dt.Budget(1e4, 0.9))


@pytest.mark.parametrize("function", ["avg", "sum", "variance", "stddev_pop"])
def test_statements_about_columns_without_bounds(function):
    """SQL answers with bounds that are found; a stored answer keeps them and is free."""
    session = opened()
    first = session.sql(f"SELECT {function}(pay) FROM data", epsilon=5.0)
    assert first.clamped_to.high > 1e5
    again = session.sql(f"SELECT {function}(pay) FROM data", epsilon=5.0)
    assert (again.value, again.clamped_to) == (first.value, first.clamped_to)
    assert session.budget.spent.epsilon == 5.0
    named = session.sql(f"SELECT {function}(pay, non_negative => true, count_beyond => true) FROM data", epsilon=5.0)
    assert named.clamped_to.low == 0
    assert named.clamped_to.beyond is not None
    assert session.quote(dt.Mean("pay"), epsilon=1.0).loss.epsilon == 1.0


@pytest.mark.parametrize(
    ("query", "epsilon"),
    [
        (dt.Mean("pay"), 5.0),
        (dt.Sum("pay"), 5.0),
        (dt.Mean("pay", non_negative=True), 5.0),
        # Their noise has heavy tails.
        (dt.Variance("pay"), 100.0),
        (dt.Std("pay"), 100.0),
        (dt.Variance("pay", non_negative=True), 100.0),
    ],
)
def test_filters_pay_for_a_count_and_refuse_where_it_is_small(query, epsilon):
    """The number of records is private; a refusal is an answer, and was paid for."""
    session = opened()
    half = session.ask(query, epsilon=epsilon, where="year = 2000")
    ends = half.clamped_to
    truth = getattr(np.clip(PAY[::2], ends.low, ends.high), TRUTHS_IN_NUMPY[query.name])()
    assert half.value == pytest.approx(truth, rel=0.5)
    none = session.ask(query, epsilon=epsilon, where="year = 1999")
    assert none.refused
    assert "too few records" in none.reason
    assert session.budget.spent.epsilon == 2 * epsilon


def test_what_is_refused_in_sessions():
    """Groups, dropped records, options for bounds, too few records: nothing charged."""
    session = opened()
    for ask, words in (
        (lambda: session.ask(dt.Mean("pay"), epsilon=1.0, by="year"), "not asked of groups"),
        (lambda: session.ask(dt.Variance("pay"), epsilon=1.0, by="year"), "not asked of groups"),
        (lambda: session.ask(dt.Mean("year", non_negative=True), epsilon=1.0), "^non_negative is for columns without"),
        (lambda: session.ask(dt.Mean("year", count_beyond=True), epsilon=1.0), "^count_beyond is for columns without"),
        (lambda: opened(rows="private").ask(dt.Mean("pay"), epsilon=1.0), "entries in its columns"),
        (lambda: session.ask(dt.Mean("pay", nulls=0), epsilon=0.01), "at least 48400 records"),
        (lambda: session.ask(dt.Mean("pay"), epsilon=0.01), "at least 53006 records"),
    ):
        with pytest.raises(dt.DitherError, match=words):
            ask()
    assert session.budget.spent == Loss(0.0)


def test_the_shell_and_http_say_which_bounds_were_found(tmp_path):
    """The command line prints them below the table and in JSON; the model of HTTP answers reads them."""
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{one}\n" for one in PAY[:2_000]))
    (tmp_path / "x.toml").write_text(
        'version = 2\n[dataset]\nsource = "x.csv"\nrows = 2000\n[budget]\nepsilon = 100\n'
        '[columns]\nx = { type = "real", bounds = "none" }\n'
    )
    call = ["ask", str(tmp_path / "x.toml"), "avg(x, count_beyond => true)", "--epsilon", "5"]
    printed = CliRunner().invoke(main, call)
    assert printed.exit_code == 0, printed.output
    assert "of the records clamped to [" in printed.output
    (release,) = json.loads(CliRunner().invoke(main, [*call, "--json"]).stdout)["releases"]
    assert release["clamped_to"]["low"] < release["clamped_to"]["high"]
    read = ReleaseAnswer.model_validate(release).clamped_to
    assert (read.low, read.beyond) == (release["clamped_to"]["low"], release["clamped_to"]["beyond"])
    with pytest.raises(ValueError, match="beyond"):
        ReleaseAnswer.model_validate({**release, "clamped_to": {**release["clamped_to"], "beyond": 0.5}})


def test_private_numbers_have_fixed_shares():
    """They cannot depend on how many records there are; the floor says how many are enough."""
    fitted, least = plan_private_bounds(
        10**6, Neighbours.ADD_REMOVE_CHANGE, Fraction(1), non_negative=False, unit=None, moves=True
    )
    assert fitted.composition.epsilon == Fraction(7, 20)
    assert 900 < least < 1_200


def test_few_records_raise_the_shares_of_a_private_number():
    """By the most records that there can be, a public number: half of them are enough, as far as that goes."""

    def planned(most):
        return plan_private_bounds(
            most, Neighbours.ADD_REMOVE_CHANGE, Fraction(1), non_negative=False, unit=None, moves=True
        )

    for most in (531, 600, 1_000, 1_500):
        fitted, least = planned(most)
        assert Fraction(7, 20) < fitted.composition.epsilon <= Fraction(3, 4)
        assert 484 <= least <= max(485, most // 2 + 1)
    with pytest.raises(dt.InvalidArgument, match="at least 531 records"):
        planned(530)
