"""What notebooks show of sessions, budgets, quotes and histories, and the bar for long work."""

import io
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import dither as dt

EVIL = "<img src=x>"


@pytest.fixture
def session():
    """Two answers were paid for; a category and a column have names that are markup."""
    data = {EVIL: [1.0, 2.0, 3.0] * 100, "job": ["a", EVIL, "b"] * 100}
    columns = {EVIL: dt.Real(0, 10), "job": dt.Category(["a", EVIL])}
    opened = dt.open(data, columns=columns, rows=300, budget=dt.Budget(10.0, 1e-5))
    opened.ask(dt.Median(EVIL), epsilon=1, by="job")
    opened.ask(dt.Count(), epsilon=1, where="job = 'a'")
    return opened


def test_sessions_budgets_quotes_and_histories_have_html_forms(session):
    """Tables with what is public, spent and answered; names never become markup."""
    quotes = session.quote([dt.Median(EVIL), dt.Mean(EVIL)], epsilon=1)
    shown = {
        "session": session._repr_html_(),
        "budget": session.budget._repr_html_(),
        "history": session.history._repr_html_(),
        "spend": session.history[0]._repr_html_(),
        "quotes": quotes._repr_html_(),
        "quote": quotes[0]._repr_html_(),
    }
    for name, text in shown.items():
        assert "<table>" in text, name
        assert EVIL not in text, name
    assert "300 rows" in shown["session"]
    assert "20% of epsilon is spent" in shown["budget"]
    assert shown["history"].count("<tr>") == 3
    assert shown["quotes"].index("typical error") < shown["quotes"].index("expected error")
    assert quotes[0].typical_text in shown["quote"]


def test_graph_sessions_have_one_too():
    """Vertices, what is protected, and the account."""
    schema = dt.GraphSchema("edges.csv", 5, budget=dt.Budget(1.0))
    text = _without_source(schema)._repr_html_()
    assert "vertices" in text
    assert "epsilon 1" in text


def _without_source(schema):
    from dither.ledger import MemoryLedger

    made = object.__new__(dt.GraphSession)
    made.schema, made._ledger, made._name = schema, MemoryLedger(), schema.name
    made._ledger.register(schema.name, schema.budget, filter="basic", slack=None, relation=schema.relation)
    return made


def test_histories_are_read_without_dataclasses(session):
    """A line for each charge with its answers; releases are objects again."""
    first, second = session.history
    assert str(first).startswith("#")
    assert "median of" in str(first)
    assert "[job a]" in str(first)
    assert str(session.history).count("\n") == 1
    assert len(first.releases) == 2
    assert second.releases[0].summary.startswith("count where")
    assert "Account" in repr(session.budget)


def test_what_is_no_function_is_refused_before_anything_is_read():
    """``progress=True`` says what to write instead."""
    calls = (
        lambda: dt.triangles(dt.Graph([(0, 1)], n=3), epsilon=1, progress=True),
        lambda: dt.sample_and_aggregate([1.0] * 100, np.mean, bounds=(0, 1), blocks=10, epsilon=1, progress=True),
    )
    for call in calls:
        with pytest.raises(dt.InvalidArgument, match=r"progress=dt.ProgressBar\(\).*nothing was read"):
            call()


def test_the_bar_takes_shares_and_numbers(monkeypatch):
    """In a terminal a line that is written over, elsewhere nothing."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    bar = dt.ProgressBar("blocks")
    bar(3, 4)
    assert (bar.share, out.getvalue()) == (0.75, "")
    out.isatty = lambda: True
    bar(1.0)
    assert out.getvalue().startswith("\r[####")
    assert out.getvalue().endswith("s\n")
    bar(7)
    assert bar.share == 1.0


def test_the_bar_in_a_notebook_needs_no_widgets(monkeypatch):
    """It is displayed once and then updated, by what every kernel has."""
    updates = []

    def display(shown, *, display_id):
        updates.append(shown._repr_html_())
        return SimpleNamespace(update=lambda next_: updates.append(next_._repr_html_()))

    kernel = ModuleType("IPython")
    kernel.get_ipython = lambda: SimpleNamespace(kernel=True)
    kernel.display = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    bar = dt.ProgressBar(EVIL)
    bar(0.5)
    bar(1.0)
    assert len(updates) == 2
    assert all("<progress" in text and EVIL not in text for text in updates)
