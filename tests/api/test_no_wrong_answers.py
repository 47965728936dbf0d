"""Section by section, on a file and on a frame: no answer that looks right and is wrong, and three commands suffice.

At epsilon 200 noise is below what is compared with a chance of more than 1 - 1e-9.
"""

import datetime
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import dither as dt
from dither.errors import InvalidArgument
from dither.interfaces.cli.main import main

N = 3_000
SURE = 200.0


@pytest.fixture(scope="module")
def frame():
    """Numbers with missing ones, texts, money, moments and durations."""
    rng = np.random.default_rng(7)
    present = rng.random(N) >= 0.3
    return pd.DataFrame(
        {
            "score": np.where(present, 5.0, np.nan),
            "price": rng.lognormal(8, 0.5, N).round(2),
            "size": rng.random(N),
            "cut": rng.choice(["Fair", "Good"], N),
            "money": [f"${price:,.2f}" for price in rng.lognormal(8, 0.5, N)],
            "at": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="min"),
            "wait": pd.to_timedelta(np.arange(N), unit="s"),
        }
    )


@pytest.fixture(scope="module", params=["csv", "parquet", "pandas", "polars"])
def source(request, frame, tmp_path_factory):
    """The same table in four forms: what ``dt.open`` takes, and whether its texts have types."""
    path = tmp_path_factory.mktemp("welcome") / f"table.{request.param}"
    if request.param == "csv":
        frame.assign(wait=[f"{i // 60}:{i % 60:02d}" for i in range(N)]).to_csv(path, index=False)
    elif request.param == "parquet":
        frame.to_parquet(path)
    return {"pandas": frame, "polars": pl.from_pandas(frame)}.get(request.param, str(path)), request.param


def opened(source, **columns):
    """A session with a public number of rows."""
    return dt.open(source[0], columns=columns, rows=N, budget=dt.Budget(1e6, 0.1))


def test_counts_count_records(source, frame):
    """``count(*)`` all, ``count(column)`` those that are not missing, ``dt.count`` of truth values the true ones."""
    session = opened(source, score=dt.Real(0, 10), cut=dt.Category(["Fair", "Good"]))
    assert session.ask("count(*)", epsilon=1.0).value == N
    present = session.ask(dt.CountPresent("score"), epsilon=SURE).value
    assert present == frame["score"].notna().sum()
    assert session.ask("count(cut)", epsilon=SURE).value == N
    assert dt.count(frame["price"] > 3_000, epsilon=SURE).value == (frame["price"] > 3_000).sum()


def test_texts_are_no_numbers_unless_a_format_says_so(source, frame):
    """Refused where the type says text, missing in text files; in a declared format everywhere the numbers."""
    if source[1] == "csv":
        session = opened(source, cut=dt.Real(0, 10), money=dt.Real(0, 100_000))
        assert session.ask(dt.CountPresent("cut"), epsilon=SURE).value == 0
        assert session.ask(dt.CountPresent("money"), epsilon=SURE).value == 0
    else:
        with pytest.raises(InvalidArgument, match="stores text"):
            opened(source, cut=dt.Real(0, 10))
    session = opened(source, money=dt.Real(0, 100_000, format="$1,234.56"))
    truth = np.sort([float(text[1:].replace(",", "")) for text in frame["money"]])[(N - 1) // 2]
    assert session.ask(dt.Median("money"), epsilon=SURE).value == pytest.approx(truth, rel=0.01)


@pytest.mark.slow
def test_moments_and_durations(source, frame):
    """As bounds, answers, filters and groups."""
    wait = dt.Duration(0, 3_600, format="%M:%S" if source[1] == "csv" else None)
    hours = dt.Timestamp("2024-01-01", "2024-01-03", step=3_600)
    session = opened(source, at=hours, wait=wait)
    middle = session.ask(dt.Median("at"), epsilon=SURE).value
    assert isinstance(middle, datetime.datetime)
    assert abs(middle - frame["at"][N // 2]) < datetime.timedelta(hours=2)
    waited = session.ask(dt.Median("wait"), epsilon=SURE)
    assert waited.value == pytest.approx((N - 1) // 2, abs=10)
    assert "in seconds" in waited.query
    assert session.ask(dt.Count(), where="at < '2024-01-01 02:00'", epsilon=SURE).value == 120
    first = session.ask(dt.Count(), by="at", epsilon=SURE)[0]
    assert first.group == {"at": datetime.datetime(2024, 1, 1)}  # noqa: DTZ001  (as it stands)
    assert first.value == 60


def test_missing_values_are_left_out_and_clamping_is_named(source):
    """30% missing, the rest 5: the mean is 5, and not pulled to the lower bound."""
    release = opened(source, score=dt.Real(-100, 100)).ask(dt.Mean("score"), epsilon=SURE, confidence=1 - 1e-9)
    assert release.value == pytest.approx(5, abs=0.2)
    assert release.interval[0] <= 5 <= release.interval[1]
    assert "missing values are left out" in str(release)
    assert "values outside -100 to 100 are clamped" in str(release)


def test_quality_is_a_query(source, frame):
    """Shares missing, unreadable and clamped."""
    release = opened(source, score=dt.Real(0, 4)).ask(dt.Quality("score"), epsilon=SURE)
    missing, unreadable, clamped = release.value
    assert missing == pytest.approx(frame["score"].isna().mean(), abs=0.01)
    assert unreadable == pytest.approx(0, abs=0.01)
    assert clamped == pytest.approx(frame["score"].notna().mean(), abs=0.01)
    assert release.simultaneous == release.confidence
    assert "hold at once with 95%" in str(release)
    both = opened(source, score=dt.Real(0, 4)).ask("quality(score), median(score)", epsilon=SURE)
    assert "hold at once" not in str(list(both)[1])


def test_a_regression_names_its_estimator_and_labels_its_answers(source):
    """With an interval for each coefficient."""
    session = opened(source, price=dt.Real(0, 50_000), size=dt.Real(0, 1))
    shown = str(session.ask(dt.Regression("price", ["size"], method="medians"), epsilon=SURE))
    assert "not least squares" in shown
    assert "intercept:" in shown
    assert "size:" in shown


def test_models_say_how_they_read_records(source):
    """Bounds to which points are clamped, and what becomes of missing values, stand in their answers too."""
    session = opened(source, price=dt.Real(0, 5_000), size=dt.Real(0, 1))
    options = {"epsilon": 50.0, "delta": 1e-3}
    least = str(session.ask(dt.Regression("price", ["size"], method="ols"), **options))
    centres = str(session.ask(dt.KMeans(["price", "size"], k=2), **options))
    for text in (least, centres):
        assert re.search("values outside 0 to (1, 0 to 5,000|5,000, 0 to 1) are clamped", text)
        assert "missing values" in text
    robust = str(session.ask(dt.Regression("price", ["size"], method="medians"), **options))
    assert "missing values are left out" in robust
    assert "clamped" not in robust


@pytest.mark.sampled(1)
def test_groups_say_how_intervals_hold(source):
    """One by one, and how to have all of them at once."""
    session = opened(source, price=dt.Real(0, 50_000), cut=dt.Category(["Fair", "Good"]))
    assert "holds by itself" in repr(session.ask(dt.Mean("price"), by="cut", epsilon=1.0))
    together = session.ask(dt.Mean("price"), by="cut", epsilon=1.0, confidence=dt.Simultaneous(0.95))
    assert {release.confidence for release in together} == {0.975}


def test_a_program_that_fails_is_refused(source):
    """Before anything is read or charged."""
    session = opened(source, price=dt.Real(0, 50_000))
    with pytest.raises(InvalidArgument, match="made-up rows"):
        session.ask(dt.Program(lambda rows: rows["prize"], bounds=(0, 1), executor="trusted"), epsilon=1.0)
    assert session.budget.spent == dt.Loss(0.0)


def test_quotes_show_what_is_typical_first(source):
    """The worst case comes second."""
    shown = str(opened(source, price=dt.Real(0, 50_000)).quote(dt.Median("price"), epsilon=1.0))
    assert shown.index("typical error") < shown.index("worst data")


def test_three_commands_from_a_strangers_file_to_an_answer(tmp_path):
    """Semicolons, decimal commas, a preamble: no schema file, at most three commands, an interval that covers."""
    lines = "".join(f"{i};{i * 3 // 2},{5 * (i % 2)};{'Fair' if i % 2 else 'Good'}\n" for i in range(1_001))
    (tmp_path / "fremd.csv").write_text(f"Export vom 1.3.2024\nNr;Preis;Schliff\n{lines}", encoding="latin-1")
    layout = ["--skip-lines", "1", "--encoding", "latin-1", "--format", "Preis=1234,56"]
    grouped = ["--by", "Schliff", "--column", "Schliff=category:Fair:Good"]
    file = str(tmp_path / "fremd.csv")
    commands = [
        ["ask", file, "median(Preis)", "--bounds", "0", "5000", "--epsilon", "20", *layout],
        ["ask", file, "mean(Preis)", "--bounds", "0", "5000", "--epsilon", "20", *layout, *grouped],
        ["check", file, "--column", "Preis=real:0:5000", *layout],
    ]
    for words in commands:
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    answered = CliRunner().invoke(main, [*commands[0], "--json"])
    release = json.loads(answered.stdout)
    assert release["interval"][0] <= 750 <= release["interval"][1]
    assert not list(tmp_path.glob("*.toml"))
