"""``describe``: one loss for everything, from public facts; useful answers or a refusal; no record raises anything."""

import datetime
import json
import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import dither as dt
from dither.descriptions.grids import Codes
from dither.descriptions.plan import DescriptionPlan
from dither.descriptions.reading import entry_kind, storage_of
from dither.interfaces.cli.main import main
from dither.sources.schema_file import load_schema

N = 20_000
JOBS = ["clerk"] * 12_000 + ["nurse"] * 6_000 + ["pilot"] * 1_800 + [f"job {place}" for place in range(200)]


@pytest.fixture(scope="module")
def frame():
    """Ages, pay of which three in ten are missing, jobs, and days of hiring."""
    rng = np.random.default_rng(1)
    pay = rng.lognormal(10, 0.5, N)
    pay[rng.permutation(N)[:6_000]] = np.nan
    hired = np.datetime64("2000-01-01") + rng.integers(0, 5_000, N).astype("timedelta64[D]")
    return pd.DataFrame({"age": rng.integers(18, 66, N), "pay": pay, "job": JOBS, "hired": hired})


@pytest.fixture(scope="module")
def described(frame):
    """At epsilon 3: no answer here is off by as much as the tests allow with a probability of 1e-9."""
    return dt.describe(frame, epsilon=3.0, delta=1e-6)


@pytest.fixture(scope="module")
def as_csv(frame, tmp_path_factory):
    """The same as a file that stores no types, and a column of which one in five entries is unreadable."""
    path = tmp_path_factory.mktemp("described") / "people.csv"
    frame.assign(mixed=["n/a" if place % 5 == 0 else place % 100 for place in range(N)]).to_csv(path, index=False)
    return path


def share_below(values, answer):
    """Between which shares of the values an answer lies."""
    values = np.sort(values)
    return np.searchsorted(values, answer, "left") / len(values), np.searchsorted(values, answer, "right") / len(values)


def is_near(values, release):
    """Whether each quantile is within 4% of the ranks, and its interval around it."""
    for label, answer, (low, high) in release.rows():
        wanted, (least, most) = float(label[:-1]) / 100, share_below(values, answer)
        if not (least - 0.04 <= wanted <= most + 0.04 and low <= answer <= high):
            return False
    return True


def test_quartiles_tails_and_frequent_values(described, frame):
    """Of numbers, days and texts; missing values are no part of the quantiles."""
    assert [one.type_name for one in described] == ["whole", "real", "text", "date"]
    assert not any(one.is_paid for one in described)
    assert is_near(frame["age"], described["age"].quantiles)
    assert is_near(frame["pay"].dropna(), described["pay"].quantiles)
    assert is_near(np.array([one.date() for one in frame["hired"]]), described["hired"].quantiles)
    assert described["pay"].missing.value == pytest.approx(0.3, abs=0.03)
    assert described["job"].frequent.labels == ("clerk", "nurse", "pilot")
    assert all(isinstance(one, int) for one in described["age"].quantiles.value)


def test_the_types_of_a_text_file_are_paid_for(as_csv, frame):
    """Read off noisy counts of what entries look like; what is something else is unreadable."""
    described = dt.describe(as_csv, epsilon=4.0, delta=1e-6)
    assert [one.type_name for one in described] == ["whole", "real", "text", "date", "whole"]
    assert all(one.is_paid for one in described)
    assert is_near(frame["pay"].dropna(), described["pay"].quantiles)
    assert described["mixed"].unreadable.value == pytest.approx(0.2, abs=0.03)
    assert is_near([place % 100 for place in range(N) if place % 5], described["mixed"].quantiles)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.95, None])
def test_everything_together_costs_what_was_asked(frame, confidence):
    """All releases of all columns, composed by their own stated laws; a tenth more of rho would not fit."""
    described = dt.describe(frame, epsilon=1.0, delta=1e-6, confidence=confidence)
    losses = [release.loss for column in described for release in column.releases]
    assert len(losses) == 8
    assert dt.compose(losses, delta=1e-6).epsilon <= 1.0
    assert dt.compose(losses * 2, delta=2e-6).epsilon > 1.2
    assert described.loss == dt.Loss(1.0, 1e-6)


def test_an_untyped_column_costs_the_same_whatever_it_holds():
    """Numbers, days or texts: the second question never costs more than its part."""
    plan = DescriptionPlan.of([("a", "untyped"), ("b", "whole")], N, 1.0, 1e-6, 0.95)
    most, hidden = plan.rho, plan.hidden
    for asked in (plan.frequent(), plan.quantiles("whole", N)[:2], plan.quantiles("date", 9_000)[:2]):
        costs = [query.plan(plan.shape, options).loss.concentrated for query, options in (plan.kinds(), asked)]
        assert 0.9 * most < sum(one.rho for one in costs) <= most
        assert sum(one.delta for one in costs) <= hidden
    assert 2 * hidden <= Fraction(1, 8 * 10**6)


def test_the_plan_is_made_of_public_facts():
    """Names, storage and the number of records; the split of the loss knows nothing else."""
    rng = np.random.default_rng(2)
    plans = []
    for values in (np.zeros(N), rng.normal(size=N), np.full(N, np.nan)):
        columns = [(name, storage_of(column)) for name, column in {"x": values, "y": list(values)}.items()]
        plans.append(DescriptionPlan.of(columns, len(values), 1.0, 1e-6, 0.95))
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "records", "epsilon"), [(16, 1_000, 1.0), (1, 100, 1.0), (200, 20_000, 0.1)])
def test_too_few_records_are_refused_with_what_is_enough(columns, records, epsilon):
    """Before anything is read; the epsilon and the number of records that the message names are accepted."""
    asked = [(f"c{place}", "whole" if place % 2 else "text") for place in range(columns)]
    with pytest.raises(dt.InvalidArgument, match="records times epsilon") as refused:
        DescriptionPlan.of(asked, records, epsilon, 1e-6, 0.95)
    words = str(refused.value).split()
    least = float(words[words.index("least") + 1].rstrip(","))
    enough = int(words[words.index("or") + 1].replace(",", ""))
    assert DescriptionPlan.of(asked, records, 1.06 * least, 1e-6, 0.95).is_enough
    assert DescriptionPlan.of(asked, enough, epsilon, 1e-6, 0.95).is_enough


@pytest.mark.parametrize("records", [600, 1_000, 3_000])
def test_small_tables_are_never_wild(records):
    """Answers and ends of intervals stay near the data: within ten of their ranges."""
    values = np.random.default_rng(3).normal(50, 10, records)
    try:
        described = dt.describe({"x": values}, epsilon=1.0, delta=1e-6)
    except dt.InvalidArgument:
        assert records < 1_000
        return
    answers = [one for _, value, ends in described["x"].quantiles.rows() for one in (value, *ends)]
    assert all(-700 < one < 800 for one in answers)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1, max_size=20),
    st.integers(6, 20),
    st.booleans(),
)
def test_codes_rise_with_numbers_and_ends_hold_them(numbers, bits, whole):
    """Order is kept, and a number lies between the ends of its own code."""
    codes = Codes(bits, whole)
    values = np.sort(np.array([math.floor(one) if whole else one for one in numbers], dtype=float))
    found = codes.of(values)
    assert np.all(np.diff(found) >= 0)
    assert found.max() < codes.missing
    for value, code in zip(values, found, strict=True):
        if abs(value) < 2.0**60:
            low, high = codes.ends(int(code), int(code))
            assert low <= value <= high
            assert abs(codes.value(int(code)) - value) <= max(abs(value) * 2.0**-bits, 2.0**-32)
    assert codes.of(np.array([np.nan]))[0] == codes.missing
    assert codes.value(codes.missing) is None


class Odd:
    """An entry whose class does not want to be looked at."""

    def __float__(self):
        raise RuntimeError("private")

    __str__ = __repr__ = __bool__ = __hash__ = __float__


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "odd", [None, math.nan, math.inf, 10**400, "a text", "\ud800", b"\xff", Odd(), [1], "9999-99-99", datetime.date.max]
)
def test_no_entry_raises_or_warns(odd):
    """In a column of objects, of which one entry is odd."""
    numbers, words = [*range(4_999), odd], [*["a"] * 4_999, odd]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        described = dt.describe({"numbers": numbers, "words": words}, epsilon=3.0, delta=1e-6)
    assert [one.type_name for one in described] == ["whole", "text"]


@pytest.mark.parametrize(
    ("entry", "kind"),
    [(True, "text"), ("1e3", "whole"), ("-2.5", "real"), (math.inf, "real"), (" ", None), ("x", "text")],
)
def test_kinds_of_entries(entry, kind):
    """By themselves."""
    assert entry_kind(entry) == kind


def test_a_schema_is_drafted(described, as_csv):
    """Bounds that hold nearly all records, rounded outward; sessions accept it."""
    schema = described.schema(str(as_csv))
    assert (schema.columns["age"].lower, schema.columns["job"].values) == (0, ("clerk", "nurse", "pilot"))
    assert 65 <= schema.columns["age"].upper <= 200
    assert schema.columns["hired"].first.month == 1
    assert schema.rows == N


def test_an_interval_of_any_magnitude_spoils_neither_schema_nor_picture(described):
    """One in a hundred does reach so far: drafted bounds and pictures keep near the answers, and the table says it."""
    column = described["age"]
    (*others, (low, _)) = column.quantiles.interval
    wild = replace(column.quantiles, interval=(*others, (low, 1e15)))
    drafted = replace(column, quantiles=wild)
    assert drafted.declared.upper <= 400
    assert column.declared.upper <= drafted.declared.upper
    assert "1e+15" in drafted.html() or "1,000,000,000,000,000" in drafted.html()
    ticks = [float(text.replace(",", "")) for text in re.findall(r"<!-- ([\d,.]+) -->", drafted.html())]
    assert ticks
    assert max(ticks) < 1_000


@pytest.mark.sampled(1)
@pytest.mark.parametrize("confidence", [0.95, None])
@pytest.mark.parametrize("present", [0, 1, 30])
def test_columns_with_next_to_nothing_in_them(present, confidence):
    """Descriptions that say so and schemas without bounds, never an error.  Quartiles would need noise of 20 sigma."""
    columns = {
        "pay": np.array([1.5] * present + [math.nan] * (3_000 - present)),
        "hired": np.array(["2020-01-01"] * present + ["NaT"] * (3_000 - present), dtype="datetime64[D]"),
        "any": pd.Series([1.5] * present + [None] * (3_000 - present), dtype=object),
    }
    for _ in range(10):
        described = dt.describe(columns, epsilon=4.0, delta=1e-6, confidence=confidence)
        assert set(described.schema("x.csv").columns) == set(columns)
        assert all(name in described.to_html() for name in columns)
    assert described["pay"].note == described["hired"].note
    assert described["pay"].declared == dt.Real(None, None)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_schema_of_numbers_beyond_whole_steps(sign):
    """Whole numbers beyond 2^52 have no grid of whole steps: they are declared as real."""
    described = dt.describe({"key": np.full(3_000, sign * 2**62)}, epsilon=3.0, delta=1e-6)
    assert type(described.schema("x.csv").columns["key"]) is dt.Real


@pytest.mark.parametrize("name", ["strip", "__getitem__", "encode", "__str__", "isascii"])
@pytest.mark.parametrize("text", ["12", "2020-01-01", "a"])
def test_a_text_of_a_class_of_its_own(name, text):
    """It is read as a plain text or is missing."""

    def fail(self, *_):
        raise RuntimeError(str.__str__(self))

    odd = type("Odd", (str,), {name: fail})(text)
    dt.describe({"a": [text] * 2_999 + [odd]}, epsilon=3.0, delta=1e-6)


def test_text_json_and_html(described):
    """Every column is in each of them; HTML has pictures with labels and asks nothing of other hosts."""
    payload = json.loads(json.dumps(described.to_dict()))
    assert [one["name"] for one in payload["columns"]] == ["age", "pay", "job", "hired"]
    assert (payload["epsilon"], payload["delta"], payload["records"]) == (3.0, 1e-6, N)
    assert "3 more" not in str(described)
    page = described.to_html()
    assert page.count("<svg") == page.count('role="img"') == 4
    assert "<script" not in page
    assert "src=" not in page
    risky = replace(described, columns=(replace(described["job"], name="<b>job</b>"),))
    assert "<b>job" not in risky.to_html()


@pytest.mark.slow
def test_on_the_command_line(as_csv, tmp_path):
    """Text, JSON, a page and a schema; nothing is spent where a path cannot be written."""
    page, draft = tmp_path / "people.html", tmp_path / "people.toml"
    asked = ["describe", str(as_csv), "--epsilon", "4", "--delta", "1e-6"]
    done = CliRunner().invoke(main, [*asked, "--html", str(page), "--schema", str(draft), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["columns"][0]["type_paid"]
    assert "<svg" in page.read_text()
    assert load_schema(draft).rows == N
    assert CliRunner().invoke(main, [*asked, "--html", "nowhere/people.html"]).exit_code == 2
    refused = CliRunner().invoke(main, ["describe", str(as_csv), "--epsilon", "0.01", "--delta", "1e-6"])
    assert refused.exit_code == 2
    assert "needs epsilon of at least" in refused.stderr


# --- frames that are read when they are asked ------------------------------------------------------------------


def lazy_frames():
    """The same two columns in libraries that read when they are asked to."""
    import duckdb
    import polars as pl

    table = {"age": [20, 30, 40] * 500, "job": ["a", "b", "a"] * 500}
    relation = duckdb.sql("SELECT unnest([20, 30, 40]) AS age, unnest(['a', 'b', 'a']) AS job FROM range(500)")
    return {"a lazy Polars frame": pl.DataFrame(table).lazy(), "a DuckDB relation": relation}


@pytest.mark.parametrize("library", ["a lazy Polars frame", "a DuckDB relation"])
def test_lazy_frames_are_read_once_and_answered(library):
    """A query by name, a mean of several columns, and a description."""
    frame = lazy_frames()[library]
    assert dt.ask(dt.Median("age", bounds=(0, 100)), frame, epsilon=20.0).value == pytest.approx(30, abs=1)
    means = dt.mean(frame.select("age"), bounds=[(0, 100)], epsilon=20.0)
    assert means.value[0] == pytest.approx(30, abs=1)
    described = dt.describe(frame, epsilon=5.0, delta=1e-6)
    assert [one.type_name for one in described] == ["whole", "text"]
