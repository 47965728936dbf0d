"""The page says what an answer is about, once, beside the answer and in what it saves."""

import pytest

pytestmark = pytest.mark.slow

SCHEMA = """version = 2

[dataset]
source = "{name}.csv"
unit = "who"
rows_per_unit = 3

[budget]
epsilon = 100
delta = 0.1

[columns.pay]
type = "real"
bounds = [0, 1000]

[columns.age]
type = "integer"
bounds = [0, 120]
nulls = 40
"""
LIMIT = "uses at most 3 rows per person of who; rows beyond that are not counted"
OFFER = "ask quality(*) for the share of people who have more rows than that"


def owners(curator, name):
    """Five hundred people with four rows each, of which some have no age."""
    rows = (f"{row % 500},{300 + row % 100},{'' if row % 7 == 0 else 20 + row % 40}" for row in range(2_000))
    (curator.home / "data" / f"{name}.csv").write_text("who,pay,age\n" + "\n".join(rows) + "\n")
    curator.call("POST", "/v1/datasets", {"name": name, "schema": SCHEMA.format(name=name)})
    return name


def sentence(note):
    """As the page prints it."""
    return f"{note[0].upper()}{note[1:]}."


def test_an_answer_says_once_what_it_is_about(visit, pictures):
    """A count of rows of people, asked at the page: whose privacy, which rows, and what else may be asked."""
    tab, name = visit.tab, owners(visit.curator, "owned")
    visit.sign_in()
    visit.open(name)
    tab.choose("select[name=kind]", "count")
    visit.pay()
    shown = tab.run("document.querySelector('[aria-label=Answer]').innerText")
    tab.picture(pictures / "notes.png")
    for note in ("hides one person of who", LIMIT, OFFER):
        assert shown.count(sentence(note)) == 1


def test_the_share_of_people_above_the_limit_is_asked_at_the_page(visit, pictures):
    """Where a limit is declared it is offered as quality of no column, and is quality(*) in SQL; else it is not."""
    tab, name = visit.tab, owners(visit.curator, "above")
    visit.sign_in()
    visit.open(name)
    tab.choose("select[name=kind]", "quality")
    tab.choose("select[name=column]", "")
    visit.pay()
    tab.see("share of people with more than 3 rows", "[aria-label=Answer]")
    tab.picture(pictures / "people-above.png")
    tab.click("input[name=mode][value=sql]")
    assert tab.run("document.querySelector('textarea[name=sql]').value") == f"SELECT quality(*)\nFROM {name}"
    visit.open(visit.curator.dataset("rows-alone"))
    tab.choose("select[name=kind]", "quality")
    offered = "[...document.querySelector('select[name=column]').options].map((one) => one.value)"
    assert tab.run(offered) == ["pay", "age", "job"]


def test_saved_files_have_the_notes_of_every_answer(visit, tmp_path):
    """Missing values, the limit of rows, and what else may be asked."""
    tab, name = visit.tab, owners(visit.curator, "noted")
    for question in ("sum(pay)", "mean(age)", "count(*)"):
        body = {"sql": f"SELECT {question} FROM {name}", "epsilon": 1.0}
        visit.curator.call("POST", f"/v1/datasets/{name}/releases", body)
    tab.save_downloads(tmp_path)
    visit.sign_in()
    visit.open(name, "history")
    tab.click_text("Save CSV")
    text = tab.downloaded(tmp_path / f"{name}-history.csv")
    assert "missing values are left out" in text
    assert "missing values are not left out, they count as 40" in text
    assert text.count(LIMIT) == text.count(OFFER) == 3


@pytest.mark.parametrize("visit", [{"width": 390, "height": 800}], indirect=True)
def test_the_estimator_of_a_regression_is_named_and_saved(visit, pictures, tmp_path):
    """At the page, on a phone too, and in its CSV."""
    tab, name = visit.tab, visit.curator.dataset("fitted")
    body = {"query": {"kind": "regression", "target": "pay", "features": ["age"]}, "epsilon": 5.0}
    visit.curator.call("POST", f"/v1/datasets/{name}/releases", body)
    estimator = "least squares of records clamped to bounds, by noisy moments"
    tab.save_downloads(tmp_path)
    visit.sign_in()
    visit.open(name, "history")
    tab.see(estimator)
    tab.picture(pictures / "estimator.png")
    assert tab.run("document.documentElement.scrollWidth") <= 390
    tab.click_text("Save CSV")
    assert estimator in tab.downloaded(tmp_path / f"{name}-history.csv")
