"""The public face: one line in, a release out; bad input refused by name before anything is read."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dt
from dither.mechanisms.mechanism import Mechanism

PAY = np.random.default_rng(1).lognormal(11, 0.6, 5_000)
BOUNDS = (0, 1_000_000)
EACH = [dt.median, dt.minimum, dt.maximum, lambda x, **k: dt.quantile(x, q=0.9, **k)]


@pytest.mark.parametrize("ask", EACH)
@pytest.mark.parametrize("mechanism", ["auto", "inverse", "smooth", "worst_case"])
@pytest.mark.parametrize("confidence", [0.95, None])
def test_every_function_answers_with_every_mechanism(ask, mechanism, confidence):
    """A release has a value within the bounds, a bar around it, and costs exactly what was asked."""
    release = ask(PAY, bounds=BOUNDS, epsilon=0.5, mechanism=mechanism, confidence=confidence)
    assert 0 <= release.value <= 1_000_000
    assert release.loss == dt.Loss(0.5)
    assert release.neighbours is dt.Neighbours.CHANGE_ONE
    assert not release.refused
    if confidence is None:
        assert release.interval is None
    else:
        assert release.interval[0] <= release.value <= release.interval[1]
        assert release.confidence == 0.95


@pytest.mark.parametrize(
    "noise", ["blunt_power_law", "power_law", "cauchy", "student", dt.Cauchy(gamma=2), "laplace", "gaussian"]
)
def test_every_noise_can_be_asked_for(noise):
    """A noise by name or as an object; the release says which was used and what it cost."""
    pure = not isinstance(noise, str) or noise in ("blunt_power_law", "power_law", "cauchy", "student")
    release = dt.median(PAY, bounds=BOUNDS, epsilon=1.0, delta=0.0 if pure else 1e-6, noise=noise)
    assert release.mechanism == "smooth"
    assert release.noise.startswith(noise if isinstance(noise, str) else "cauchy(gamma=2")
    assert release.loss.delta == (0.0 if pure else 1e-6)


def test_mechanisms_as_objects():
    """dt.Smooth takes a public beta, the paper's constants, and the paper's three algorithms."""
    for algorithm in ("exact", "linear", "sublinear"):
        mechanism = dt.Smooth(beta=0.1, algorithm=algorithm)
        assert dt.median(PAY, bounds=BOUNDS, epsilon=1.0, mechanism=mechanism).mechanism == "smooth"
    paper = dt.median(PAY, bounds=BOUNDS, epsilon=1.0, mechanism=dt.Smooth(constants="paper"), noise=dt.Cauchy(4))
    assert paper.value is not None


def test_integer_columns_get_integer_answers():
    """Whole numbers in, whole numbers out, for answer and bar."""
    release = dt.median(np.array([1, 2, 3] * 50), bounds=(0, 10), epsilon=1.0)
    assert isinstance(release.value, int)
    assert all(isinstance(end, int) for end in release.interval)


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1, 10])
def test_a_heavily_tied_column_gets_an_answer_at_every_epsilon(epsilon):
    """60% equal ages: always an answer, and from epsilon 0.01 on the right one.

    Of 40,000 records 10,000 ranks separate the median from the edge of the tie, so at epsilon 0.01 another answer has
    probability below 120 e^{-50}.
    """
    rng = np.random.default_rng(5)
    ages = np.where(rng.random(40_000) < 0.6, 45, rng.integers(18, 90, 40_000))
    answers = [dt.median(ages, bounds=(0, 120), epsilon=epsilon, confidence=None).value for _ in range(5)]
    assert all(0 <= a <= 120 for a in answers)
    if epsilon >= 0.01:
        assert answers == [45] * 5


@pytest.mark.parametrize("mechanism", ["inverse", "smooth", "worst_case"])
@pytest.mark.parametrize("epsilon", [1e-6, 50.0, 1e3, 1e6])
def test_extreme_prices_get_an_answer(mechanism, epsilon):
    """From next to nothing to far too much: an answer within the bounds, at the price asked."""
    release = dt.median(PAY, bounds=BOUNDS, epsilon=epsilon, mechanism=mechanism, confidence=None)
    assert 0 <= release.value <= 1_000_000
    assert release.loss == dt.Loss(epsilon)


def test_values_outside_the_bounds_are_clamped():
    """Outliers and infinities count as the nearest bound."""
    wild = np.concatenate([np.full(400, 1e300), [math.inf, -math.inf]])
    assert dt.median(wild, bounds=(0, 10), epsilon=5.0).value == pytest.approx(10, abs=1e-6)


def test_missing_values_follow_the_public_policy():
    """NaN counts as a declared value; the release says which, whether or not anything is missing."""
    gone = np.full(500, np.nan)
    release = dt.median(gone, bounds=(0, 10), epsilon=5.0, nulls=7)
    assert release.value == pytest.approx(7, abs=1e-6)
    assert "missing values are not left out, they count as 7" in repr(release)
    assert "missing values are left out" in repr(dt.median(PAY, bounds=BOUNDS, epsilon=1.0))


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"epsilon": 1e-320}, "epsilon"),
        ({"epsilon": 1e-8, "mechanism": "smooth"}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"bounds": None, "mechanism": "smooth"}, "bounds"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"bounds": (0, math.inf)}, "bounds"),
        ({"mechanism": "best"}, "mechanism"),
        ({"mechanism": "inverse", "noise": "laplace"}, "noise"),
        ({"noise": "white"}, "noise"),
        ({"mechanism": "smooth", "noise": "laplace"}, "delta"),
        ({"mechanism": "worst_case", "noise": "gaussian"}, "delta"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": 0}, "confidence"),
        ({"confidence": 95}, "confidence"),
        ({"step": 0}, "step"),
        ({"nulls": 10**9}, "nulls"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, argument):
    """The error names the argument, says what is accepted, and that nothing was read or charged."""
    arguments = {"bounds": BOUNDS, "epsilon": 1.0, **change}
    with pytest.raises(dt.DitherError, match=argument) as caught:
        dt.median(PAY, **arguments)
    assert "nothing was" in str(caught.value)


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, None, "half"])
def test_quantiles_out_of_range_are_refused(q):
    """q lies in [0, 1]."""
    with pytest.raises(dt.InvalidArgument, match=r"^q must "):
        dt.quantile(PAY, q=q, bounds=BOUNDS, epsilon=1.0)


@pytest.mark.parametrize("rank", [0, -1, 1.5, True, 6])
def test_ranks_out_of_range_are_refused(rank):
    """Ranks go from 1 to the number of records."""
    with pytest.raises(dt.InvalidArgument, match="rank"):
        dt.inspect.value(dt.OrderStatistic(rank=rank, bounds=(0, 1)), [0.1] * 5)


@pytest.mark.parametrize("data", [[], np.array(["a", "b"]), np.zeros((2, 2)), None])
def test_bad_data_are_refused(data):
    """Empty, textual, two-dimensional and absent data."""
    with pytest.raises(dt.DitherError, match="data"):
        dt.median(data, bounds=BOUNDS, epsilon=1.0)


def test_releases_show_no_private_numbers():
    """Neither the repr nor the dictionary has a scale, a sensitivity or the true value."""
    release = dt.median(PAY, bounds=BOUNDS, epsilon=1.0, mechanism="smooth")
    assert set(release.to_dict()) == {
        "query",
        "value",
        "refused",
        "interval",
        "confidence",
        "epsilon",
        "delta",
        "rho",
        "neighbours",
        "mechanism",
        "calibration",
        "noise",
        "missing",
        "clamped",
        "labels",
        "reason",
        "notes",
        "range",
    }
    assert repr(dt.inspect.value(dt.Median(bounds=BOUNDS), PAY))[:9] not in repr(release)


def test_a_release_has_a_notebook_view_and_a_picture(tmp_path):
    """HTML for notebooks; a plot that can be saved."""
    release = dt.median(PAY, bounds=BOUNDS, epsilon=1.0)
    assert "median" in release._repr_html_()
    release.plot().figure.savefig(tmp_path / "release.png")
    assert (tmp_path / "release.png").stat().st_size > 5_000


def test_a_wrong_place_for_a_picture_is_refused():
    """A path is no axes; the error says how pictures are saved."""
    release = dt.median(PAY, bounds=BOUNDS, epsilon=1.0)
    with pytest.raises(dt.InvalidArgument, match="savefig"):
        release.plot("answer.png")


def test_groups_have_pictures_whatever_is_asked():
    """Histograms and dates in groups, several questions at once; pyplot knows the figures once it is loaded."""
    plt = pytest.importorskip("matplotlib.pyplot")
    data = {"age": np.arange(200), "flag": np.arange(200) % 2 == 0, "day": np.arange(10_000, 10_200).astype("M8[D]")}
    columns = {"age": dt.Integer(0, 200), "flag": dt.Boolean(), "day": dt.Date("1990-01-01", "2010-01-01")}
    session = dt.open(data, columns=columns, budget=dt.Budget(100.0), name="t")
    grouped = session.ask(dt.Histogram("age", edges=[0, 50, 200]), by="flag", epsilon=5.0)
    assert grouped.plot().get_yticklabels()[0].get_text() == "flag False: 0 to 50"
    mixed = session.sql("SELECT median(age), count(*) FROM t GROUP BY flag", epsilon=5.0)
    axes = mixed.plot()
    assert len(axes.figure.axes) == 2
    assert plt.gcf() is axes.figure
    for sentence in ("hides one row", "missing values are left out", "values outside 0 to 200 are clamped"):
        assert sentence in mixed._repr_html_()
    later = session.ask(dt.Median("day"), where="day >= '1998-01-02' AND NOT flag", epsilon=5.0)
    assert later.query == "median of day where (day >= '1998-01-02') AND (NOT (flag = true))"
    assert later.plot().get_title(loc="left").startswith(later.query)
    with pytest.raises(dt.InvalidArgument, match="single quotes"):
        session.ask(dt.Median("day"), where='day >= "1998-01-02"', epsilon=5.0)


def test_query_objects_work_on_bare_arrays():
    """inspect tells the owner the truth: value, ladder and smooth sensitivity, in the data's own units."""
    x = np.linspace(0, 1, 1001)
    query = dt.Median(bounds=(0, 1))
    assert dt.inspect.value(query, x) == pytest.approx(0.5, abs=1e-9)
    assert dt.inspect.ladder(query, x, rungs=3) == pytest.approx([0.001, 0.002, 0.003], abs=1e-9)
    wanted = max(math.exp(-0.1 * k) * (k + 1) / 1000 for k in range(100))
    assert dt.inspect.smooth(query, x, beta=0.1) == pytest.approx(wanted, rel=1e-6)


def test_asking_a_query_object():
    """dt.ask takes a query and an array, or a mapping with the column that it names; labels tell quantiles apart."""
    release = dt.ask(dt.Quantile("pay", q=0.9, bounds=BOUNDS), {"pay": PAY}, epsilon=1.0)
    assert release.query == "0.9 quantile of pay"
    with pytest.raises(dt.InvalidArgument, match="column"):
        dt.ask(dt.Median("wage", bounds=BOUNDS), {"pay": PAY}, epsilon=1.0)
    with pytest.raises(dt.InvalidArgument, match="query"):
        dt.ask("median", PAY, epsilon=1.0)


def test_equal_numbers_with_different_meanings_do_not_share_a_mechanism():
    """0.1 means one tenth, Fraction(0.1) the binary number next to it; Python calls them equal, the grids differ."""
    x = np.full(50, 1.0)
    for step in (Fraction(0.1), 0.1):
        release = dt.sum(x, bounds=(0, 1), step=step, epsilon=50.0, confidence=None)
        whole = dt.Sum(bounds=(0, 1), step=step).grid(whole=False).ends[1]
        assert abs(release.value - 50 * whole * float(step)) < 2


def test_losses_add_up():
    """sum() of losses works, and adding anything else does not."""
    assert sum([dt.Loss(0.1), dt.Loss(0.2)]) == dt.Loss(0.3)
    with pytest.raises(TypeError):
        dt.Loss(1.0) + 1


def test_the_public_names_are_there():
    """Everything that __all__ promises can be imported, and nothing else pretends to be there."""
    for name in dt.__all__:
        assert getattr(dt, name) is not None
    with pytest.raises(AttributeError):
        dt.no_such_name  # noqa: B018
    assert Fraction(1, 2) == dt.Median.share


def test_columns_that_are_no_numbers_are_named_for_what_they_are():
    """Frames and dates are refused by their types, with what to do instead."""
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=50), "age": range(50)})
    with pytest.raises(dt.InvalidArgument, match="not a whole table"):
        dt.median(frame, bounds=(0, 100), epsilon=1.0)
    for days in (frame["day"], frame["day"].to_numpy()):
        with pytest.raises(dt.InvalidArgument, match="date"):
            dt.median(days, bounds=(0, 100), epsilon=1.0)


TABLES = {
    "pandas": lambda names: pd.DataFrame({"species": names}),
    "Polars": lambda names: pl.DataFrame({"species": names}),
    "Arrow": lambda names: pa.table({"species": names}),
    "mapping": lambda names: {"species": names},
    "array": lambda names: np.array(names)[:, None],
}


@pytest.mark.parametrize("library", TABLES)
def test_counts_of_categories_are_about_one_column(library):
    """The entries of a frame are the names of its columns: an answer about those would be about no record."""
    table = TABLES[library](["Adelie", "Gentoo"] * 50)
    with pytest.raises(dt.InvalidArgument, match="must be one column, such as"):
        dt.histogram(table, categories=["Adelie", "species"], epsilon=50.0)
    with pytest.raises(dt.InvalidArgument, match="must be one column, such as"):
        dt.histogram(table, epsilon=1.0, delta=1e-6)
    with pytest.raises(dt.InvalidArgument, match="must be one column, such as"):
        dt.mode(table, epsilon=1.0, delta=1e-6)
    with pytest.raises(dt.InvalidArgument, match="must be one column, such as"):
        dt.counting_queries(table, family="points", categories=["Adelie", "species"], epsilon=50.0)


def test_categories_are_counted_in_columns_of_every_library():
    """Entries of Arrow are not the texts they stand for until they are converted."""
    names = ["Adelie"] * 60 + ["Gentoo"] * 40
    in_arrow = (pa.array(names), pa.chunked_array([names]))
    for column in (names, np.array(names), pd.Series(names), pl.Series(names), *in_arrow):
        # At epsilon 50 a count is wrong with probability below 1e-10.
        assert dt.histogram(column, categories=["Adelie", "Gentoo"], epsilon=50.0).value == (60, 40, 0)
        assert dt.mode(column, epsilon=50.0, delta=1e-3).value == "Adelie"


def test_a_mechanism_that_fails_is_prepared_once():
    """A TypeError of its own is not taken for a question that cannot be remembered."""
    calls = []

    class Broken(Mechanism):
        name = "broken"

        def prepare(self, ask):
            calls.append(ask)
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        dt.median([1.0, 2.0], bounds=(0, 3), epsilon=1.0, mechanism=Broken())
    assert len(calls) == 1


def test_texts_of_records_are_no_markup():
    """What a notebook shows of an answer that is a text, or of several."""
    text = "<img src=x onerror=alert(1)>"
    markup = dt.mode([text] * 500, epsilon=5.0, delta=1e-6)._repr_html_()
    assert "&lt;img" in markup
    assert "<img" not in markup
    counts = dt.histogram([text] * 50, categories=[text, "b"], epsilon=5.0)._repr_html_()
    assert "<img" not in counts
