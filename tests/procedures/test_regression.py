"""Private regressions: prices, blocks, refusals, bad input, and the exact law of the stable cell at its threshold."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dither as dt
from conftest import answered, trials
from dither.errors import InvalidArgument
from dither.kernels.blocks import fit_blocks
from dither.mechanisms.margin_test import MarginTest
from dither.privacy import Loss
from dither.procedures.block_fits import RegressionRecords, block_fits, random_order
from dither.procedures.cell_regression import PaperCell, StableCell, cells_of, plan_robust
from dither.procedures.floating import FloatingGrid, draw_quantile, quantile_draw, sampling_ranks
from dither.procedures.joint_medians import plan_joint
from dither.procedures.regression import RegressionFacts, plan_shortcut
from dither.queries.plan import Options
from dither.queries.regression import ModelFacts
from dither.sources.column import Column
from dither_lab.audit.enumeration import datasets, output_law, worst_log_ratio


def plane(n, seed=0, features=2, outliers=0.0):
    """y = 2 x1 - x2 + 0.5 + noise, some records moved to a far corner."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, features))
    y = X @ np.array([2.0, -1.0][:features]) + 0.5 + rng.normal(0, 0.3, n)
    moved = rng.choice(n, int(outliers * n), replace=False)
    X[moved], y[moved] = -1.0, 5.0
    return X, y


# --- floating grids ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 0.3, 1e-7, 4e9])
def test_codes_rise_with_values_and_come_back(unit):
    """Codes are monotone over all magnitudes, symmetric, and decode to the value they came from."""
    rng = np.random.default_rng(1)
    values = np.sort(rng.normal(size=4000) * 10.0 ** rng.uniform(-12, 25, 4000)) * unit
    grid = FloatingGrid(unit)
    codes = grid.codes(values)
    assert (np.diff(codes) >= 0).all()
    assert (grid.codes(-values) == -codes).all()
    inside = np.abs(values / unit) < 2.0**64
    back = np.array([grid.value(int(code)) for code in codes])
    resolution = np.maximum(np.abs(values), unit * 2.0**3) * 2.0**-29
    assert (np.abs(back - values) <= resolution)[inside].all()
    assert (np.abs(codes[~inside]) == grid.top).all()
    assert all(int(grid.codes(np.array([grid.value(int(c))]))[0]) == int(c) for c in codes[::97]) or unit != 1.0


def test_codes_of_numbers_that_are_none():
    """NaN is zero, infinities are the ends; nothing raises."""
    grid = FloatingGrid(2.0)
    assert grid.codes(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])).tolist() == [0, grid.top, -grid.top, 0, 0]


def test_medians_without_bounds_find_any_magnitude():
    """A thousand entries around 1e9 or 1e-9, epsilon 1: the answer lies among them.

    Landing outside has probability below 1e-9 for each of the draws.
    """
    rng, grid = np.random.default_rng(2), FloatingGrid(1.0)
    for centre in (1e9, -1e9, 3.0, 0.0):
        values = centre + rng.normal(size=1000)
        code = draw_quantile(grid.codes(values), grid, Fraction(1))
        assert values.min() - 1e-6 * abs(centre) <= grid.value(code) <= values.max() + 1e-6 * abs(centre)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(2, 5)])
def test_medians_without_bounds_lose_what_they_cost(share):
    """The exact laws on all sets of four reals, infinite ones included: within epsilon, and not within 0.8 epsilon."""
    reals, grid, epsilon = [-np.inf, -3.0, 0.0, 0.4, 5.0, np.nan], FloatingGrid(1.0, bits=1, lowest=0, highest=2), 1.0
    draw = quantile_draw(4, grid, Fraction(1), share)

    def law(places):
        codes = grid.codes(np.array([reals[place] for place in places]))
        return output_law(draw, Column(codes, grid.grid))

    worst, *_ = worst_log_ratio(law, range(len(reals)), datasets(range(len(reals)), 4))
    assert 0.8 * epsilon < worst <= epsilon * (1 + 1e-9)


def test_intervals_reach_as_many_ranks_as_sampling_needs():
    """The binomial chance of more than so many entries on one side of the true median stays within the allowance."""
    from scipy.stats import binom

    for count in (10, 100, 555, 5000):
        for miss in (Fraction(1, 40), Fraction(1, 1000)):
            spare, rank = sampling_ranks(count, miss), (count + 1) // 2
            # Missed above: at most rank + spare - 1 entries reach the median; below: at least ... likewise.
            above = binom.sf(rank + spare - 1, count, 0.5)
            below = binom.cdf(rank - spare - 1, count, 0.5)
            assert above + below <= miss


# --- blocks ------------------------------------------------------------------------------------------


def test_a_record_changes_one_block_and_one_pair():
    """Whatever one record becomes, every other block's fit and every other pair stay the same, bit for bit."""
    X, y = plane(600)
    order = random_order(600)
    fits = block_fits(RegressionRecords(X, y), order, 12, intercept=True)
    for change in (1e300, np.nan, -np.inf, 0.0):
        Z, z = X.copy(), y.copy()
        Z[77], z[77] = change, -change
        there = block_fits(RegressionRecords(Z, z), order, 12, intercept=True)
        different = (there.coefficients != fits.coefficients).any(axis=1) | (there.solved != fits.solved)
        assert different.sum() <= 1
        assert (there.pair_distances(1) != fits.pair_distances(1)).sum() <= 1


def test_block_fits_are_least_squares_where_there_are_no_outliers():
    """Small blocks are solved exactly; robust ones are near least squares on clean data and ignore outliers."""
    X, y = plane(30)
    order = np.arange(30)
    fits, solved = fit_blocks(X, y, order, 30, True, False)
    design = np.column_stack([np.ones(30), X])
    assert solved.all()
    assert fits[0] == pytest.approx(np.linalg.lstsq(design, y)[0])
    clean = fit_blocks(X, y, order, 30, True, True)[0][0]
    assert clean == pytest.approx(fits[0], abs=0.15)
    X[:6], y[:6] = -1.0, 50.0
    assert fit_blocks(X, y, order, 30, True, True)[0][0] == pytest.approx(clean, abs=0.3)
    three = fit_blocks(X, y, np.arange(10, 13), 3, True, False)[0][0]
    assert design[10:13] @ three == pytest.approx(y[10:13])


def test_large_offsets_and_units_do_not_spoil_a_fit():
    """Years as features, responses in millions: the same slope as with centred columns."""
    rng = np.random.default_rng(4)
    x, noise = rng.uniform(-3, 3, 40), rng.normal(0, 0.1, 40)
    centred = fit_blocks(x[:, None], 5 * x + noise, np.arange(40), 40, True, True)[0][0]
    moved = fit_blocks((x + 2014)[:, None], 5 * x + noise + 1e6, np.arange(40), 40, True, True)[0][0]
    assert moved[1] == pytest.approx(centred[1], abs=1e-5)


@pytest.mark.parametrize("kind", ["constant", "collinear", "missing", "huge"])
def test_blocks_that_determine_nothing_say_so(kind):
    """Constant and collinear columns, missing records, numbers that overflow: no answer, no error."""
    X, y = plane(60)
    if kind == "constant":
        X[:, 1] = 7.25
    elif kind == "collinear":
        X[:, 1] = 3 * X[:, 0] - 1
    elif kind == "missing":
        X[:, 0] = np.nan
    else:
        X[:, 0] = np.where(X[:, 0] > 0, 1.7e308, -1.7e308)
    fits, solved = fit_blocks(X, y, np.arange(60), 12, True, True)
    assert not solved.any()
    assert (fits == 0).all()


def test_unsolved_blocks_pull_to_both_sides():
    """Defaults alternate, so that they do not move the middle."""
    X, y = plane(1200)
    X[:240] = np.nan
    fits = block_fits(RegressionRecords(X, y), np.arange(1200), 12, intercept=True)
    column = fits.column(1, math.inf)
    assert (column == math.inf).sum() == (column == -math.inf).sum() == 10


def test_fits_that_all_agree_are_found():
    """Records without noise: every block says the same, and the answer is that, to the grid's step."""
    x = np.tile(np.arange(10.0), 1000)
    for confidence in (None, 0.95):
        release = answered(dt.regression, x, 3 * x + 1, epsilon=1.0, confidence=confidence)
        assert release.value == pytest.approx((1.0, 3.0), rel=0.01)


# --- prices and refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [None, Fraction(1, 20)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_parts_cost_what_was_asked(epsilon, confidence):
    """The parts of every plan add up to the loss, exactly and never more."""
    loss = Loss(epsilon, 1e-6)
    plans = [
        plan_joint(RegressionFacts(100_000, 2), loss, confidence),
        plan_shortcut(RegressionFacts(100_000, 2), loss, confidence),
        plan_robust(RegressionFacts(100_000, 1), loss, confidence),
        plan_robust(RegressionFacts(100_000, 2, intercept=False), loss, confidence),
        plan_robust(RegressionFacts(200_000, 2), loss, confidence),
        plan_robust(RegressionFacts(400_000, 5), loss, confidence),
    ]
    for plan in plans:
        assert plan.composition.fits(plan.loss)
        assert float(plan.composition.epsilon) == pytest.approx(epsilon, rel=1e-9)
        assert plan.loss.delta <= loss.delta
    assert plans[0].loss == Loss(epsilon)


def test_the_papers_prices():
    """R_S costs 6 p e, and R_H 16 e for two coefficients, not the 11 e that is printed."""
    shortcut = plan_shortcut(RegressionFacts(10**6, 1), Loss(4.0, 1e-6), None, constants="paper")
    assert shortcut.size == 2
    assert shortcut.composition.epsilon == 4
    robust = plan_robust(RegressionFacts(10**6, 1), Loss(4.0, 1e-6), None, constants="paper")
    assert isinstance(robust, PaperCell)
    assert robust.each == Fraction(4, 16)
    assert robust.composition.epsilon == 4
    assert robust.loss.delta <= 1e-6


def test_refusals_cost_what_was_quoted():
    """A design that no block can solve is refused by every method, with a reason, at the full price."""
    X, y = plane(60_000)
    flat = np.column_stack([X[:, 0], 2 * X[:, 0]])
    release = dt.regression(flat, y, epsilon=1.0)
    assert release.refused
    assert release.loss == Loss(1.0)
    assert "collinear" in str(release)
    shortcut = dt.regression(flat, y, method="shortcut", epsilon=3.0, delta=1e-6)
    assert shortcut.refused
    assert shortcut.loss == Loss(3.0, 1e-6)
    constant = dt.regression(np.ones(60_000), y, method="robust", epsilon=1.0, delta=1e-6)
    assert constant.refused
    assert constant.loss == Loss(1.0, 1e-6)


# --- the public face ---------------------------------------------------------------------------------


def test_a_regression_of_arrays_frames_and_mappings():
    """The same question in all forms, with labels; the intercept comes first and can be left out."""
    import pandas as pd

    X, y = plane(20_000)
    assert dt.regression(X, y, epsilon=1.0).labels == ("intercept", "x1", "x2")
    assert dt.regression(X[:, 0], y, epsilon=1.0, intercept=False).labels == ("x1",)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "pay": y})
    release = answered(dt.ask, dt.Regression("pay", ["b", "a"]), frame, epsilon=1.0)
    assert release.labels == ("intercept", "b", "a")
    medians = "medians of robust fits of blocks, not least squares"
    covered = "intervals cover the centre of its fits in the population"
    assert release.query == f"regression of pay ({medians}; {covered})"
    assert release.value == pytest.approx((0.5, -1.0, 2.0), abs=0.2)
    assert all(low < value < high for (low, high), value in zip(release.interval, release.value, strict=True))
    assert dt.ask(dt.Regression(), (X, y), epsilon=1.0, confidence=None).interval is None
    assert release.to_dict()["labels"] == ["intercept", "b", "a"]


def test_frames_of_other_libraries():
    """Arrow tables and polars frames name their columns; lists of rows and plain lists do as well."""
    import polars as pl
    import pyarrow as pa

    X, y = plane(20_000)
    columns = {"a": X[:, 0], "b": X[:, 1], "pay": y}
    for data in (pa.table(columns), pl.DataFrame(columns), columns):
        release = answered(dt.ask, dt.Regression("pay"), data, epsilon=2.0, confidence=None)
        assert release.labels == ("intercept", "a", "b")
        assert release.value == pytest.approx((0.5, 2.0, -1.0), abs=0.1)
    assert dt.regression(X.tolist(), y.tolist(), epsilon=2.0).labels == ("intercept", "x1", "x2")
    assert dt.regression(X[:, 0].tolist(), y, epsilon=2.0).labels == ("intercept", "x1")
    with pytest.raises(dt.InvalidArgument, match="target"):
        dt.ask(dt.Regression("wage"), columns, epsilon=1.0)
    with pytest.raises(dt.InvalidArgument, match="features"):
        dt.ask(dt.Regression("pay", ["a", "pay"]), columns, epsilon=1.0)
    with pytest.raises(dt.NotApplicable, match="methods"):
        dt.ask(dt.Regression("pay"), columns, epsilon=1.0, mechanism="smooth")
    with pytest.raises(dt.InvalidArgument, match="frame"):
        dt.ask(dt.Regression("pay"), X, epsilon=1.0)


def test_missing_records_are_left_out():
    """NaN and masked records do no harm and raise nothing."""
    X, y = plane(20_000)
    X[::50, 1], y[::37] = np.nan, np.nan
    release = answered(dt.regression, X, y, epsilon=2.0, confidence=None)
    assert release.value == pytest.approx((0.5, 2.0, -1.0), abs=0.1)
    masked = np.ma.MaskedArray(np.nan_to_num(y, nan=1e9), np.isnan(y))
    release = answered(dt.regression, {"a": X[:, 0], "b": X[:, 1]}, masked, epsilon=2.0, confidence=None)
    assert release.value == pytest.approx((0.5, 2.0, -1.0), abs=0.1)


def test_missing_records_are_left_out_through_every_door(tmp_path):
    """Arrays, frames, sessions and files: with a third of the entries missing the line is the same.

    Counted as the lower bound, as ``nulls`` declares, they would tilt it by far more than 0.3.
    """
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 20_000)
    y = 3 * x + 5 + rng.normal(0, 0.1, len(x))
    x[::3] = np.nan
    expected, price = pytest.approx((5.0, 3.0), abs=0.3), {"epsilon": 4.0, "confidence": None}
    columns = {"x": dt.Real(-2, 2), "y": dt.Real(-20, 20)}
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "line.csv", index=False)
    assert answered(dt.regression, x, y, **price).value == expected
    assert answered(dt.ask, dt.Regression("y"), pd.DataFrame({"x": x, "y": y}), **price).value == expected
    for source in ({"x": x, "y": y}, pd.DataFrame({"x": x, "y": y}), tmp_path / "line.csv"):
        session = dt.open(source, columns=columns, rows=len(x), budget=dt.Budget(12.0))
        release = answered(session.ask, dt.Regression("y"), again=True, **price)
        assert release.value == expected
        assert release.missing == "drop"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"method": "robust", "delta": 0}, "delta"),
        ({"method": "shortcut", "delta": 0}, "delta"),
        ({"method": "median"}, "method"),
        ({"block_size": 2}, "block_size must be a whole number of at least 3"),
        ({"block_size": True}, "block_size"),
        ({"confidence": 1.5}, "confidence"),
        ({"constants": "paper"}, "shortcut"),
        ({"constants": "mine"}, "constants"),
        ({"intercept": 3}, "intercept"),
        ({"method": "robust", "delta": 1e-6}, "need at least"),
        ({"epsilon": 0.01}, "need at least"),
        ({"method": "shortcut", "epsilon": 0.01, "delta": 1e-9}, "need at least"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_read(change, match):
    """Errors name the argument and what is accepted, and say that nothing was charged."""
    X, y = plane(1000)
    asked = {"epsilon": 1.0, **change}
    with pytest.raises(dt.DitherError, match=match) as caught:
        dt.regression(X, y, **asked)
    assert "nothing was charged" in str(caught.value)


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.ones((5, 2)), np.ones(6), "as many"),
        (np.ones((5, 0)), np.ones(5), "X"),
        ({}, np.ones(5), "X"),
        (np.ones((5, 60)), np.ones(5), "columns"),
        (["a"] * 5, np.ones(5), "more than 5 records"),  # texts in a list are entries, which decide nothing
        (np.ones(5), np.ones((5, 2)), "y"),
        (np.ones((2, 2, 2)), np.ones(2), "X"),
    ],
)
def test_bad_data_are_refused(X, y, match):
    """Shapes and types, never entries."""
    with pytest.raises(dt.DitherError, match=match):
        dt.regression(X, y, epsilon=1.0)


def test_robust_regressions_of_too_many_coefficients_are_refused_before_anything_is_read():
    """Six are the most, the intercept among them; the error names the other methods."""
    X, y = np.ones((50, 6)), np.ones(50)
    with pytest.raises(dt.NotApplicable, match="7 coefficients") as caught:
        dt.regression(X, y, method="robust", epsilon=1.0, delta=1e-6)
    assert "shortcut" in str(caught.value)
    assert plan_robust(RegressionFacts(10**6, 6, intercept=False), Loss(1.0, 1e-6), None).model.coefficients == 6


def test_more_coefficients_than_records_are_refused_before_anything_is_read():
    """Every method names the least number of records."""
    X, y = np.ones((2, 2)), np.ones(2)
    for method in ("auto", "shortcut", "robust"):
        with pytest.raises(dt.InvalidArgument, match="at least") as caught:
            dt.regression(X, y, method=method, epsilon=1.0, delta=1e-6)
        assert "nothing was charged" in str(caught.value)


@pytest.mark.slow
def test_robust_regression_of_three_coefficients():
    """A clean plane is found, or the test refuses; a collinear one is refused, and paid for."""
    X, y = plane(20_000)
    found = [dt.regression(X, y, method="robust", epsilon=2.0, delta=1e-6) for _ in range(2)]
    assert any(not release.refused for release in found)
    for release in found:
        if not release.refused:
            assert release.value == pytest.approx((0.5, 2.0, -1.0), abs=0.1)
            assert all(low < value < high for (low, high), value in zip(release.interval, release.value, strict=True))
    flat = np.column_stack([X[:, 0], 2 * X[:, 0]])
    refused = dt.regression(flat, y, method="robust", epsilon=2.0, delta=1e-6)
    assert refused.refused
    assert refused.loss == Loss(2.0, 1e-6)


def test_the_kernels_limit_is_the_plans_limit():
    """More lines than the kernel can add up are refused before anything is read."""
    from dither.kernels.arrangement import MOST_LINES
    from dither.procedures.cell_regression import MOST_RECORDS

    assert MOST_RECORDS == MOST_LINES
    with pytest.raises(dt.InvalidArgument, match="at most 4194304"):
        plan_robust(RegressionFacts(MOST_LINES + 1, 1), Loss(1.0, 1e-6), None)
    with pytest.raises(dt.InvalidArgument, match="at most 1048576"):
        plan_robust(RegressionFacts(2**20 + 1, 2), Loss(1.0, 1e-6), None)


def test_the_least_number_of_records_is_the_least():
    """The number that the error names is accepted, and one less is not."""
    import re

    plans = [
        lambda n, loss: plan_joint(RegressionFacts(n, 2), loss, None),
        lambda n, loss: plan_shortcut(RegressionFacts(n, 2), loss, None),
        lambda n, loss: plan_robust(RegressionFacts(n, 1), loss, None),
    ]
    for plan in plans:
        with pytest.raises(dt.InvalidArgument) as caught:
            plan(30, Loss(1.0, 1e-6))
        least = int(re.search(r"at least (\d+) records", str(caught.value))[1])
        assert plan(least, Loss(1.0, 1e-6)).model.records == least
        with pytest.raises(dt.InvalidArgument):
            plan(least - 1, Loss(1.0, 1e-6))


# --- the law of the stable cell at its threshold -------------------------------------------------------


def law_of(cells, choice, test, *, generosity=0):
    """The exact law of a stable cell: each grid and cell that may be released, and refusal (None)."""
    weights = [math.exp(float(choice) / 2 * margin) for margin in cells.margins]
    law = {}
    for k, (corner, margin) in enumerate(zip(cells.corners, cells.margins, strict=True)):
        share = weights[k] / sum(weights)
        passed = test.chance(margin + generosity) if corner is not None else 0.0
        law[k, corner] = law.get((k, corner), 0.0) + share * passed
        law[None] = law.get(None, 0.0) + share * (1 - passed)
    return law


def hockey_stick(here, there, epsilon):
    """The delta between two laws."""
    return sum(max(mass - math.exp(epsilon) * there.get(key, 0.0), 0.0) for key, mass in here.items())


def threshold_pairs():
    """Neighbours whose cells change, or whose margins straddle a threshold: records crowd around cell edges."""
    rng = np.random.default_rng(8)
    for _ in range(trials(60, 1000)):
        n = int(rng.integers(4, 40))
        X = np.column_stack([np.ones(n), rng.choice([-1.0, -0.5, 0.5, 1.0], n)])
        y = rng.choice([0.0, 0.25, 0.5, 1.0], n) + X[:, 1] * rng.choice([0.0, 0.5, 1.0])
        Z, z = X.copy(), y.copy()
        place = int(rng.integers(n))
        Z[place], z[place] = [1.0, rng.choice([-50.0, 50.0])], rng.choice([-1e6, 1e6])
        yield (X, y), (Z, z)


@pytest.mark.parametrize(("generosity", "holds"), [(0, True), (1, False)])
def test_the_law_of_a_stable_cell_stays_within_its_loss(generosity, holds):
    """The exact divergence on adverse pairs at the threshold; margins that are one too large break it."""
    choice, test = Fraction(1, 2), MarginTest(Fraction(1), Fraction(1, 50))
    worst = 0.0
    for here, there in threshold_pairs():
        sides = np.array([1.0, 1.0])
        laws = [law_of(cells_of(*data, sides), choice, test, generosity=generosity) for data in (here, there)]
        worst = max(worst, hockey_stick(*laws, 1.5), hockey_stick(*reversed(laws), 1.5))
    assert (worst <= 1 / 50 * (1 + 1e-9)) == holds


def test_the_code_draws_from_that_law(monkeypatch):
    """A stable cell that is run many times refuses as often as its law says (six standard errors)."""
    X, y = plane(3000, features=1)
    plan = plan_robust(RegressionFacts(3000, 1), Loss(2.0, 1e-3), None)
    assert isinstance(plan, StableCell)
    monkeypatch.setattr(StableCell, "_side", lambda self, fits, index: 0.09)
    design = RegressionRecords(X, y).design(intercept=True)
    law = law_of(cells_of(design, y, np.array([0.09, 0.09])), plan.choice_epsilon, plan.test)
    runs = trials(60, 1000)
    refused = sum(plan.run(RegressionRecords(X, y)).values is None for _ in range(runs))
    assert abs(refused / runs - law[None]) <= 6 * math.sqrt(max(law[None] * (1 - law[None]), 1 / runs) / runs)


@pytest.mark.parametrize(("method", "constants"), [("auto", "exact"), ("robust", "exact"), ("robust", "paper")])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_least_number_of_records_is_enough(method, constants, intercept):
    """Records, not blocks of them; one less is an error that names the same number."""

    def plan(records):
        facts = ModelFacts(RegressionFacts(records, 1, intercept), ("intercept", "x") if intercept else ("x",))
        query = dt.Regression(method=method, constants=constants, intercept=intercept)
        return query.plan(facts, Options(Loss(8.0, 1e-4), confidence=Fraction(19, 20)))

    with pytest.raises(InvalidArgument, match="8 records") as caught:
        plan(8)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    plan(least)
    with pytest.raises(InvalidArgument, match=f"at least {least} records"):
        plan(least - 1)
