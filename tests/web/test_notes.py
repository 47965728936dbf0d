"""The page says what an answer is about, once, beside the answer and in what it saves."""

import pytest

pytestmark = pytest.mark.slow

SCHEMA = """[dataset]
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
OFFER = "quality(*) says which share of people has more rows than that"


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
    tab.fill("textarea[name=sql], input[name=sql]", f"SELECT count(*) FROM {name}")
    visit.pay()
    shown = tab.run("document.querySelector('[aria-label=Answer]').innerText")
    tab.picture(pictures / "notes.png")
    for note in ("hides one person of who", LIMIT, OFFER):
        assert shown.count(sentence(note)) == 1


def test_saved_files_have_the_notes_of_every_answer(visit, tmp_path):
    """Missing values, the limit, and the estimator of a regression."""
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
