"""Functions without bounds, from the outside: answers, refusals, prices, bad input, missing values."""

import json
import math

import numpy as np
import pytest

import dither as dt

RNG = np.random.default_rng(11)
NORMAL = RNG.normal(1e4, 250.0, 20_000)
CALLS = {
    "median": dt.median,
    "quantile": lambda x, **options: dt.quantile(x, q=0.8, **options),
    "iqr": dt.iqr,
    "scale": dt.scale,
    "trimmed_mean": dt.trimmed_mean,
}
TRUTHS = {
    "median": np.median(NORMAL),
    "quantile": np.quantile(NORMAL, 0.8),
    "iqr": np.subtract(*np.quantile(NORMAL, [0.75, 0.25])),
    "scale": np.subtract(*np.quantile(NORMAL, [0.75, 0.25])),
    "trimmed_mean": NORMAL.mean(),
}
PRICE = {"epsilon": 2.0, "delta": 1e-6}
each_call = pytest.mark.parametrize("name", CALLS)


@each_call
@pytest.mark.parametrize("mechanism", ["auto", "propose_test"])
def test_answers_are_near_the_truth_without_bounds(name, mechanism):
    """Normal records far from zero; a miss by 200 (most noise: 25 times a scale of 3) is less likely than 1e-9."""
    release = CALLS[name](NORMAL, mechanism=mechanism, **PRICE)
    assert not release.refused
    assert abs(release.value - TRUTHS[name]) < 600
    assert release.loss.epsilon == 2.0
    assert release.loss.delta in (0.0, 1e-6)
    assert release.interval[0] <= release.value <= release.interval[1]
    assert json.loads(json.dumps(release.to_dict()))["refused"] is False


@pytest.mark.parametrize("name", ["median", "quantile", "iqr"])
def test_drawn_answers_need_no_delta_and_are_close(name):
    """Pure differential privacy, no refusals, a few ranks away from the truth."""
    release = CALLS[name](NORMAL, epsilon=1.0)
    assert release.loss == dt.Loss(1.0)
    assert release.mechanism == "inverse"
    assert abs(release.value - TRUTHS[name]) < 25
    assert CALLS[name](NORMAL, epsilon=1.0, delta=1e-6).loss.delta == 0.0


@pytest.mark.parametrize("name", ["median", "iqr", "scale", "trimmed_mean"])
def test_the_papers_constants_answer_too(name):
    """DL09 as printed needs more records and spends its own delta."""
    x = np.tile(NORMAL, 10) + np.linspace(-1, 1, 200_000)
    release = CALLS[name](x, epsilon=4.0, delta=1e-4, mechanism=dt.ProposeTest(constants="paper"))
    assert release.loss.epsilon == 4.0
    assert 0 < release.loss.delta < 1e-4
    assert release.refused or release.value > 0


@each_call
def test_refusals_cost_what_answers_cost_and_say_why(name):
    """Two clusters that share the records evenly: quantiles jump with one change."""
    gaps = np.concatenate([2.0 ** np.arange(-400, 400), -(2.0 ** np.arange(-400, 400))])
    refused = CALLS[name](gaps, mechanism="propose_test", **PRICE)
    assert refused.refused
    assert refused.loss == dt.Loss(2.0, 1e-6)
    assert "test" in refused.reason
    assert "refused" in repr(refused)
    assert refused.reason in refused._repr_html_()
    assert refused.to_dict()["reason"] == refused.reason


@pytest.mark.parametrize("mechanism", ["auto", "propose_test"])
def test_tied_records_have_no_scale(mechanism):
    """A constant column: a scale of zero, told exactly, and a median told exactly by the test."""
    tied = np.full(3000, 17.5)
    assert dt.scale(tied, **PRICE).value == 0.0
    assert dt.iqr(tied, mechanism=mechanism, **PRICE).value == pytest.approx(0.0, abs=1e-9)
    assert dt.median(tied, mechanism=mechanism, **PRICE).value == pytest.approx(17.5, abs=1e-6)
    assert dt.trimmed_mean(tied, **PRICE).value == 17.5


def test_missing_and_infinite_records_have_public_meanings():
    """NaN counts as a declared number (0 unless told), infinities as the largest; nothing raises."""
    x = NORMAL.copy()
    x[:3000], x[3000:5000], x[5000:6000] = math.nan, math.inf, -math.inf
    release = dt.median(x, mechanism="propose_test", **PRICE)
    assert release.missing == 0.0
    assert "missing values are not left out, they count as 0" in repr(dt.trimmed_mean(x, trim=0.3, **PRICE))
    assert dt.median(x, nulls=1e4, epsilon=2.0).missing == 1e4
    assert abs(dt.median(x, nulls=1e4, epsilon=2.0).value - 1e4) < 500
    whole = dt.median(np.arange(4000), **PRICE, mechanism="propose_test")
    assert whole.missing is None
    for nulls in (math.nan, "lower", 10**400):
        with pytest.raises(dt.InvalidArgument, match="nulls"):
            dt.median(x, nulls=nulls, epsilon=1.0)


@pytest.mark.parametrize("name", ["scale", "trimmed_mean"])
def test_tests_need_delta(name):
    """The error names it, before anything is read."""
    with pytest.raises(dt.InvalidArgument, match=r"delta must .*nothing was read, nothing was charged"):
        CALLS[name](NORMAL, epsilon=1.0)
    with pytest.raises(dt.InvalidArgument, match="delta"):
        CALLS["median"](NORMAL, epsilon=1.0, mechanism="propose_test")


@each_call
def test_too_few_records_are_refused_by_number(name):
    """The error names the least number of records."""
    with pytest.raises(dt.InvalidArgument, match=r"at least \d+ records; got 30; nothing was read"):
        CALLS[name](NORMAL[:30], mechanism="propose_test", **PRICE)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mechanism": "smooth"}, "mechanism"),
        ({"mechanism": dt.WorstCase()}, "mechanism"),
        ({"mechanism": "best"}, "mechanism"),
        ({"mechanism": dt.ProposeTest(bound=3)}, "bound"),
        ({"noise": "gaussian"}, "noise"),
        ({"mechanism": "inverse", "noise": "laplace"}, "noise"),
        ({"step": 1}, "step"),
        ({"confidence": 2}, "confidence"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, named):
    """Whatever belongs to bounded columns, and what is wrong anyway."""
    with pytest.raises(dt.DitherError, match=named) as caught:
        dt.median(NORMAL, **{**PRICE, **options})
    assert "nothing was" in str(caught.value)


def test_bad_shares_and_data_are_refused():
    """Shares out of order or range, nothing to trim, nothing to count, text."""
    with pytest.raises(dt.InvalidArgument, match="low"):
        dt.scale(NORMAL, low=0.8, high=0.2, **PRICE)
    with pytest.raises(dt.InvalidArgument, match=r"^q must "):
        dt.quantile(NORMAL, q=2, epsilon=1.0)
    for trim in (0, 0.5, 0.7):
        with pytest.raises(dt.InvalidArgument, match="trim"):
            dt.trimmed_mean(NORMAL, trim=trim, **PRICE)
    with pytest.raises(dt.NotApplicable, match="propose_test"):
        dt.trimmed_mean(NORMAL, mechanism="inverse", epsilon=1.0)
    for data in ([], np.array(["a"]), None):
        with pytest.raises(dt.DitherError, match="data"):
            dt.scale(data, **PRICE)
    with pytest.raises(dt.InvalidArgument, match="data"):
        dt.mode([], **PRICE)
    with pytest.raises(dt.InvalidArgument, match="rows_per_person"):
        dt.mode(["a"], rows_per_person=0, **PRICE)


def test_extremes_without_bounds_are_neither_tested_nor_drawn():
    """A maximum can be moved anywhere by one record: no test can pass, a draw ends anywhere, and the errors say so."""
    for options in ({"mechanism": "propose_test", **PRICE}, {"epsilon": 1.0}):
        with pytest.raises(dt.InvalidArgument, match="however many there are"):
            dt.quantile(NORMAL, q=1, **options)


@each_call
def test_no_interval_on_request(name):
    """``confidence=None`` gives no interval."""
    release = CALLS[name](NORMAL, confidence=None, **PRICE)
    assert release.interval is None
    assert release.confidence is None
