"""Texts of calls in sessions: ``session.ask("median(pay)")``."""

import pytest

import dither as dt

COLUMNS = {"Pay": dt.Real(0, 100), "job": dt.Category(["a", "b"])}
ROWS = {"Pay": [10.0, 20.0, 30.0, 40.0] * 100, "job": ["a", "b"] * 200}


@pytest.fixture
def session():
    """A table in memory."""
    return dt.open(ROWS, columns=COLUMNS, rows=400, budget=dt.Budget(1_000.0), name="t")


def test_a_text_is_the_query_that_it_calls(session):
    """Names in any case; the same question as the object, so the second is free."""
    asked = session.ask(dt.Median("Pay"), epsilon=1.0)
    for text in ("median(Pay)", "MEDIAN(pay)", "Median( PAY )"):
        assert session.ask(text, epsilon=1.0) == asked
    assert session.budget.spent == dt.Loss(1.0)
    assert session.quote("median(pay)", epsilon=1.0)[0] == session.quote(dt.Median("Pay"), epsilon=1.0)


def test_several_calls_filters_and_groups(session):
    """As with a list of query objects."""
    both = session.ask("min(pay), count(*)", where="pay > 15", epsilon=2.0)
    assert [one.query.split()[0] for one in both] == ["minimum", "count"]
    assert [one.group for one in session.ask("sum(pay)", by="job", epsilon=1.0)] == [{"job": "a"}, {"job": "b"}]
    for again in (False, True):
        quoted = session.quote("sum(pay)", by="job", epsilon=1.0, again=again)
        assert quoted == session.quote(dt.Sum("Pay"), by="job", epsilon=1.0, again=again)
        assert quoted.stored != again


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("median(paj)", "did you mean Pay"),
        ("medain(pay)", "did you mean median"),
        ("SELECT median(pay) FROM t", r"session\.sql"),
    ],
)
def test_what_is_wrong_is_pointed_at(session, text, words):
    """Nothing is charged."""
    with pytest.raises(dt.InvalidArgument, match=words):
        session.ask(text, epsilon=1.0)
    assert session.budget.spent == dt.Loss(0.0)
