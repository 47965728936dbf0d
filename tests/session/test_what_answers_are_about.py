"""An answer says what it is an answer about: whose privacy, which rows of a person, whether anything was learnt."""

import datetime
import html
import json
import re
import warnings

import pandas as pd
import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.interfaces.cli.output import show
from dither.privacy import Neighbours
from dither.release import Release, Releases
from dither.session import opening
from dither.wording import answer_text, ends_text, hidden_text

ROWS = {"who": [str(number % 50) for number in range(400)], "pay": [float(number % 90) for number in range(400)]}
LIMIT = "uses at most 3 rows per person of who; rows beyond that are not counted"


def people(limit, **options):
    """A table of 50 people with 8 rows each."""
    columns = {"pay": dt.Real(0, 100)}
    return dt.open(ROWS, columns=columns, unit="who", rows_per_unit=limit, budget=dt.Budget(99), **options)


def forms(release, capsys):
    """A release in every form that people read."""
    show([release])
    several = Releases([release, release], release.loss)
    return {
        "print": str(release),
        "repr": repr(release),
        "several": repr(several),
        "table": " ".join(capsys.readouterr().out.split()),
        "json": json.dumps(release.to_dict()),
        "notebook": release._repr_html_(),
        "notebook of several": several._repr_html_(),
        "frame": release.to_frame().to_csv(),
        "wide frame": several.to_frame(wide=True).to_csv(),
    }


def test_a_declared_limit_is_said_in_every_form(capsys):
    """And whose privacy it is."""
    with people(3, ledger=":memory:") as session:
        answer = session.ask(dt.Count(), epsilon=1.0)
        again = session.ask(dt.Count(), epsilon=1.0)
    for name, text in forms(answer, capsys).items():
        assert LIMIT in text, name
        assert "hides one person of who" in text, name
    assert again.notes() == answer.notes()
    assert Release.from_dict(json.loads(json.dumps(answer.to_dict()))).notes() == answer.notes()


def test_one_row_is_said_in_the_singular(capsys):
    """The sentence of the commonest limit."""
    with people(1, ledger=":memory:") as session:
        answer = session.ask(dt.Sum("pay"), epsilon=1.0)
    assert "uses at most 1 row per person of who; rows beyond that are not counted" in str(answer)


def test_a_limit_that_was_found_is_said_with_its_price():
    """Of a median under a private limit."""
    with people("private", ledger=":memory:") as session:
        answer = session.ask(dt.Median("pay"), epsilon=2.0)
    assert (
        f"rows per person of who, a limit that was found privately for epsilon {answer.person_limit.epsilon:g}"
        in str(answer).replace("1 row per", "1 rows per")
    )


def test_linked_tables_name_the_table_of_people():
    """A limit of rows of whatever is joined."""
    person = dt.LinkedTable(pd.DataFrame({"id": ["1", "2"], "age": [30, 40]}), {"age": dt.Integer(0, 120)}, key="id")
    schema = dt.Schema.linked({"customers": person}, person="customers", rows_per_unit=10, budget=dt.Budget(1))
    with dt.open(schema, ledger=":memory:") as session:
        notes = session.ask(dt.Mean("age"), epsilon=1.0).notes()
    assert notes[:2] == [
        "hides one person of customers",
        "uses at most 10 rows per person of customers; rows beyond that are not counted",
    ]


def test_people_who_are_counted_have_no_limit_of_rows():
    """Each counts once, whatever rows they have."""
    with people(3, ledger=":memory:") as session:
        assert session.ask(dt.Count(people=True), epsilon=1.0).person_limit is None


def test_every_relation_has_a_unit_of_privacy():
    """In words."""
    texts = [hidden_text(relation, None) for relation in Neighbours]
    assert all(text.startswith("hides ") for text in texts)
    assert hidden_text(Neighbours.CHANGE_ONE, None) == "hides one row"
    assert "hides one row" in str(dt.median([1.0, 2.0], bounds=(0, 3), epsilon=1.0))
    assert "hides one edge" in str(dt.edges(dt.Graph([(0, 1)], n=3), epsilon=1.0))


# --- what was learnt ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [dt.median, dt.mean, dt.maximum, dt.std, dt.sum])
def test_an_interval_that_is_the_whole_range_says_that_nothing_was_learnt(function):
    """Of three records at a tiny epsilon every interval is: it says the likely reasons."""
    answer = function([1.0, 2.0, 3.0], bounds=(0, 1000), epsilon=1e-4)
    if answer.interval == answer.range:
        assert "nothing was learnt" in str(answer)
        assert "too few rows for this epsilon" in str(answer)
        assert "can't be read as declared" in str(answer)
    else:
        assert "nothing was learnt" not in str(answer)


def test_nothing_learnt_follows_from_released_numbers_and_public_bounds():
    """With an interval inside the range it is not said; of several values it is said of which."""
    answer = dt.quantiles([1.0] * 2_000, q=[0.1, 0.5], bounds=(0, 10), epsilon=5.0)
    assert "nothing was learnt" not in str(answer)
    wide = dt.quantiles([1.0], q=[0.1, 0.5], bounds=(0, 10), epsilon=1e-4)
    assert wide.range == (0.0, 10.0)
    partly = Release.from_dict(wide.to_dict() | {"interval": [[0.0, 10.0], [1.0, 2.0]]})
    assert "nothing was learnt about 0.1:" in str(partly)
    whole = Release.from_dict(wide.to_dict() | {"interval": [[0.0, 10.0], [0.0, 10.0]]})
    assert "nothing was learnt:" in str(whole)
    assert "nothing was learnt" not in str(dt.median([1.0] * 2_000, bounds=(0, 10), epsilon=5.0))


def test_dates_have_a_range_too():
    """And a stored answer is read back with it."""
    columns = {"day": dt.Date("2024-01-01", "2024-12-31")}
    data = {"day": [datetime.date(2024, 5, 1)]}
    with dt.open(data, columns=columns, budget=dt.Budget(1), ledger=":memory:") as session:
        first, again = (session.ask(dt.Median("day"), epsilon=1e-4) for _ in range(2))
    assert first.range == (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    assert again == first
    assert ("nothing was learnt" in str(first)) is (first.interval == first.range)


# --- numbers as people see them -----------------------------------------------------------------------------------


def test_negative_counts_are_shown_as_0_and_kept_as_drawn(capsys):
    """In print, tables, notebooks and pictures; JSON, ``value`` and frames have what was drawn."""
    drawn = dt.histogram([1.0, 2.0], edges=[0, 1, 2, 3], epsilon=1.0).to_dict()
    drawn |= {"value": [-7, 2, 1], "interval": [[-17, 3], [-8, 12], [-9, 11]]}
    answer = Release.from_dict(drawn)
    shown = forms(answer, capsys)
    for name in ("print", "repr", "table", "notebook"):
        assert "-" not in shown[name].split("hides")[0].replace("<Release", "").replace(" - ", ""), name
    assert answer.value == (-7, 2, 1)
    assert answer.to_dict()["value"] == [-7, 2, 1]
    assert answer.to_frame().value.tolist() == [-7, 2, 1]
    axes = answer.plot()
    assert min(patch.get_height() for patch in axes.patches) == 0
    assert axes.get_ylim()[0] >= 0


def test_numbers_are_rounded_to_what_their_interval_supports():
    """Two digits of half its width, ends outward."""
    assert answer_text(582_201.37, (564_227.1, 600_176.4)) == "582,000"
    assert ends_text((564_227.1, 600_176.4)) == ("564,000", "601,000")
    assert answer_text(0.123456, (0.1, 0.15)) == "0.123"
    assert answer_text(5_685, (5_679, 5_691)) == "5,685"
    assert answer_text(3.25e-9, (3e-9, 3.5e-9)) == "3.2e-9"
    assert answer_text(12.5, None) == "12.5"
    assert answer_text(12, (12, 12)) == "12"
    assert ends_text((0.0, float("inf"))) == ("0", "inf")
    assert answer_text((1.234, 5.0), ((1.0, 4.0), (1.5, 6.0))) == "(1.23, 5.0)"


# --- budgets that nothing records ---------------------------------------------------------------------------------


def test_a_budget_that_nothing_records_says_so(monkeypatch):
    """In repr, in the budget and once as a warning; a ledger in memory that was asked for does not warn."""
    monkeypatch.setattr(opening, "_warned_of", set())
    with pytest.warns(UserWarning, match="not recorded"):
        session = people(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        people(1).close()
        people(1, ledger=":memory:", name="other").close()
    for text in (repr(session), str(session.budget), session.budget._repr_html_()):
        assert "not recorded" in text
    session.close()


def test_a_frame_with_a_name_and_a_home_keeps_its_budget(tmp_path):
    """Opened again it has spent what it has spent, and another name is another budget."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with people(1, name="payroll", home=tmp_path) as session:
            session.ask(dt.Count(), epsilon=2.0)
            assert "not recorded" not in repr(session)
        with people(1, name="payroll", ledger=tmp_path / "ledger.db") as session:
            assert session.budget.spent == dt.Loss(2.0)
        with people(1, name="other", home=tmp_path) as session:
            assert session.budget.spent == dt.Loss(0.0)
    with pytest.raises(dt.InvalidArgument, match="name"):
        people(1, home=tmp_path)
    with pytest.raises(dt.InvalidArgument, match="home"):
        people(1, name="payroll", home=tmp_path, ledger=":memory:")


def test_asking_a_file_says_that_nothing_is_recorded(tmp_path):
    """On the error stream, so that JSON stays JSON."""
    file = tmp_path / "pay.csv"
    file.write_text("pay\n" + "3\n" * 50)
    call = ["ask", str(file), "median(pay)", "--bounds", "0", "9", "--epsilon", "1", "--json"]
    result = CliRunner().invoke(main, call)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["epsilon"] == 1
    assert "nothing is recorded" in result.stderr
    assert "dither register pay.csv" in result.stderr


# --- owners -------------------------------------------------------------------------------------------------------


def register(tmp_path, *options, text=None):
    """``dither register`` of a small file with a column of words that is declared as numbers."""
    (tmp_path / "p.csv").write_text("who,x,y\na,one,1\na,two,2\nb,three,3\n")
    fixed = ["--column", "x=real:0:9", "--column", "y=real:0:9", "--epsilon", "1", "--force"]
    call = ["register", str(tmp_path / "p.csv"), "-o", str(tmp_path / "p.toml"), *fixed, *options]
    return CliRunner().invoke(main, call, input=text)


def test_register_never_assumes_a_limit_of_rows(tmp_path):
    """It refuses with both choices, or asks where the owner is there."""
    refused = register(tmp_path, "--unit", "who", "--no-interactive")
    assert refused.exit_code != 0
    assert "--rows-per-unit" in refused.output
    assert "private has each answer find a limit" in refused.output
    asked = register(tmp_path, "--unit", "who", "--interactive", text="4\n\n\n\n\n\n")
    assert "private has each answer find a limit" in asked.output
    for limit, written in (("7", "rows_per_unit = 7"), ("private", 'rows_per_unit = "private"')):
        assert register(tmp_path, "--unit", "who", "--rows-per-unit", limit, "--no-interactive").exit_code == 0
        assert written in (tmp_path / "p.toml").read_text()


def test_register_and_check_warn_of_columns_that_cannot_be_read(tmp_path):
    """Before anything is spent, to the owner alone; a column that can be read is not named."""
    registered = register(tmp_path, "--no-interactive")
    assert registered.exit_code == 0
    assert "x: 100% of the entries can't be read as real" in registered.stderr
    assert "y:" not in registered.stderr
    checked = CliRunner().invoke(main, ["check", str(tmp_path / "p.toml"), "--json"])
    (warning,) = json.loads(checked.output)["warnings"]
    assert warning.startswith("x: 100%")


# --- missing values and estimators, in every form -----------------------------------------------------------------

FORMS = (
    *("print", "repr", "several", "table", "json", "notebook", "notebook of several", "frame", "wide frame"),
    "stored",
)
SLOPED = {"x": [*(float(number % 10) for number in range(2_000)), None], "y": [3.0 * (at % 10) for at in range(2_001)]}
OLS = "least squares of records clamped to bounds, by noisy moments"
MEDIANS = "medians of robust fits of blocks, not least squares"
ABOUT = {
    "left out": (dt.Mean("x"), ["missing values are left out"]),
    "counted": (dt.KMeans(("x", "y"), k=1), ["missing values are not left out, they count as"]),
    "declared": (dt.Mean("z"), ["missing values are not left out, they count as 7"]),
    "least squares": (dt.Regression("y", ("x",)), [OLS, "missing values are left out"]),
    "medians": (dt.Regression("y", ("x",), method="medians"), [MEDIANS, "missing values are left out"]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ABOUT)
def test_missing_values_and_the_estimator_are_said_in_every_form(form, name, capsys):
    """And from what the ledger keeps; the page prints the notes of JSON (tests/web/test_notes.py)."""
    query, says = ABOUT[name]
    bounded = {"x": dt.Real(0, 10), "y": dt.Real(0, 40), "z": dt.Real(0, 10, nulls=7)}
    data = {**SLOPED, "z": SLOPED["x"]}
    with dt.open(data, columns=bounded, rows=2_001, budget=dt.Budget(99, 0.1), ledger=":memory:") as session:
        answer = session.ask(query, epsilon=20.0, delta=1e-6, confidence=None if name == "medians" else 0.95)
    shown = forms(answer, capsys)
    shown["stored"] = str(Release.from_dict(json.loads(json.dumps(answer.stored_fields()))))
    for text in says:
        # A table breaks long questions into lines, beside which other cells stand.
        words = re.escape(text) if form != "table" else ".*?".join(map(re.escape, text.split()))
        assert re.search(words, html.unescape(shown[form]))


def test_tables_write_the_confidence_as_it_is(capsys):
    """99.9% is not 100%; an answer without an interval beside one with it has none."""
    with people(3, ledger=":memory:") as session:
        sure = session.ask(dt.Count(), epsilon=1.0, confidence=0.999)
        silent = session.ask(dt.Count(), epsilon=1.0, confidence=None)
    show([sure])
    assert "99.9% interval" in capsys.readouterr().out
    show([silent])
    show([sure, silent])
    assert "100%" not in capsys.readouterr().out
