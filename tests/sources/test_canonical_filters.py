"""One form of each filter: the same for other spellings, and true, false and unknown for the same records."""

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.session.plan import plan
from dither.session.reading import selected
from dither.sources import canonical_filters
from dither.sources.canonical_filters import canonical_filter
from dither.sources.predicates import Both, Compare, CompareColumns, Either, Missing, Not, OneOf, parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import Selection

COLUMNS = {
    "x": dt.Real(-10, 10),
    "y": dt.Integer(0, 9),
    "c": dt.Category(["a", "b", "it's"]),
    "flag": dt.Boolean(),
    "day": dt.Date("2024-01-01", "2024-12-31"),
    "two words": dt.Integer(0, 9),
}
SCHEMA = Schema("x.csv", COLUMNS)
VALUES = {"x": (-1, 0, 0.5, 2), "y": (0, 1, 2), "c": ("a", "b", "elsewhere"), "flag": (0, 1), "day": (19_800, 19_801)}
RECORDS = [
    dict(zip(VALUES, values, strict=True))
    for values in itertools.product(*((*possible, None) for possible in VALUES.values()))
]


def random_filter(draw, depth=3):
    """Any filter: all comparisons, lists, NULL tests, columns against each other, nested."""
    if depth and draw.random() < 0.75:
        if draw.random() < 0.35:
            return Not(random_filter(draw, depth - 1))
        parts = tuple(random_filter(draw, depth - 1) for _ in range(draw.randint(1, 3)))
        return draw.choice((Both, Either))(parts)
    column = draw.choice(list(VALUES))
    operators = ("=", "<>") if column == "c" else ("=", "<>", "<", "<=", ">", ">=")
    form = draw.randrange(4)
    if form == 0:
        return OneOf(column, tuple(draw.choices(VALUES[column], k=draw.randint(1, 3))))
    if form == 1:
        return Missing(column)
    if form == 2 and column in ("x", "y"):
        return CompareColumns(column, draw.choice(operators), draw.choice(("x", "y")))
    return Compare(column, draw.choice(operators), draw.choice(VALUES[column]))


def differing(seed):
    """A record for which a random filter and its form say different things, if there is one."""
    given = random_filter(random.Random(seed))
    form = canonical_filter(given, SCHEMA)
    return next((record for record in RECORDS if given.holds(record) is not form.holds(record)), None)


def test_the_form_says_the_same_of_every_record():
    """All 960 records, missing values among them; true, false and unknown alike."""
    assert not [seed for seed in range(150) if differing(seed) is not None]


@pytest.mark.parametrize(("operator", "wrong"), [("<", ">"), ("=", "="), (">=", "<=")])
def test_a_wrong_opposite_would_be_found(monkeypatch, operator, wrong):
    """The comparison with all records is able to fail."""
    monkeypatch.setitem(canonical_filters._OPPOSITE, operator, wrong)
    assert any(differing(seed) is not None for seed in range(150))


def test_a_negation_that_takes_unknown_for_true_would_be_found(monkeypatch):
    """NOT of a missing value is unknown, not true."""
    real = canonical_filters._normal

    def two_valued(predicate, schema, *, negated):
        normal = real(predicate, schema, negated=negated)
        return Either((normal, Missing("x"))) if negated and "x" in predicate.columns() else normal

    monkeypatch.setattr(canonical_filters, "_normal", two_valued)
    assert any(differing(seed) is not None for seed in range(150))


def test_a_form_is_its_own_form():
    """The form of a form is the form, and a filter and what it is made of in another order have one."""
    for seed in range(80):
        draw = random.Random(seed)
        given = random_filter(draw)
        form = canonical_filter(given, SCHEMA)
        assert str(canonical_filter(form, SCHEMA)) == str(form)
        assert str(canonical_filter(Not(Not(given)), SCHEMA)) == str(form)
        other = random_filter(draw)
        for joined in (Both, Either):
            once, again = joined((given, other)), joined((other, joined((given, given, other))))
            assert str(canonical_filter(once, SCHEMA)) == str(canonical_filter(again, SCHEMA))


SPELLINGS = [
    ("y > 5", "NOT (y <= 5)", "5 < y", "NOT NOT (y > 5)"),
    ("y = 1 AND c = 'a'", "c = 'a' AND y = 1", "(c = 'a') AND ((y = 1) AND c = 'a')", "NOT (y <> 1 OR c <> 'a')"),
    ("y BETWEEN 2 AND 4", "y >= 2 AND y <= 4", "y <= 4 AND 2 <= y", "NOT (y < 2 OR y > 4)"),
    ("c IN ('a', 'b')", "c IN ('b', 'a', 'b')", "c = 'b' OR c = 'a'", "NOT (c NOT IN ('a', 'b'))"),
    ("c NOT IN ('a', 'b')", "c <> 'b' AND c <> 'a'", "NOT (c = 'a') AND NOT (c = 'b')"),
    ("c IN ('it''s')", "c = 'it''s'"),
    ("flag", "flag = true", "NOT (flag = false)", "flag <> false"),
    ("x IS NOT NULL", "NOT (x IS NULL)"),
    ("x < y", "y > x", "NOT (x >= y)", "NOT (y <= x)"),
    ("day > '2024-03-01'", "NOT (day <= '2024-03-01')"),
    ("(y = 1 OR x > 2) OR flag", "flag OR (x > 2 OR y = 1)"),
    ('"two words" = 1', 'NOT ("two words" <> 1)'),
]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda each: each[0])
def test_other_spellings_have_one_form_and_are_free(spellings):
    """The first spelling pays, each other one is answered from the ledger, and its quote is free."""
    forms = {str(canonical_filter(parse_filter(text, SCHEMA), SCHEMA)) for text in spellings}
    assert len(forms) == 1
    data = {"x": [1.0], "y": [1], "c": ["a"], "flag": [True], "day": [np.datetime64("2024-03-01")], "two words": [1]}
    with dt.open(data, columns=COLUMNS, budget=dt.Budget(10.0), ledger=":memory:") as session:
        answers = [session.ask(dt.Mean("x"), epsilon=1.0, where=text) for text in spellings]
        assert all(answer == answers[0] for answer in answers)
        assert session.budget.spent == dt.Loss(1.0)
        assert all(session.quote(dt.Mean("x"), epsilon=1.0, where=text).loss.epsilon == 0 for text in spellings)


DIFFERENT = [
    "y > 5",
    "y >= 5",
    "y < 5",
    "NOT (y > 5) AND y IS NOT NULL",
    "y > 5 OR y IS NULL",
    "y IS NULL",
    "x > 5",
    "c = 'a'",
    "c <> 'a'",
    "c IN ('a', 'b')",
    "c NOT IN ('a', 'b')",
    "x > y",
    "x >= y",
    "flag",
    "NOT flag",
    "y > 5 AND flag",
    "y > 5 OR flag",
]


def test_different_filters_have_different_forms():
    """Nothing is answered from the store of another question."""
    forms = [str(canonical_filter(parse_filter(text, SCHEMA), SCHEMA)) for text in DIFFERENT]
    assert len(set(forms)) == len(DIFFERENT)


ODD = pa.table(
    {
        "x": pa.array([1.0, float("nan"), float("inf"), -float("inf"), None, -0.0, 5.0, 1e308], pa.float64()),
        "y": pa.array([0, None, 9, -(2**62), 2**62, 3, 5, 5], pa.int64()),
        "c": pa.array(["a", "A", "", None, "it's", " a", "b", "a\x7f"], pa.string()),
        "flag": pa.array([True, False, None, True, False, None, True, False], pa.bool_()),
        "day": pa.array([19_800, None, 0, -700_000, 19_801, 19_800, 40_000, 1], pa.date32()),
    }
)


@pytest.mark.slow
def test_engines_select_the_same_rows_by_a_filter_and_by_its_form(engines_of):
    """NaN, infinities, odd texts and missing values on every engine."""
    columns = {name: declared for name, declared in COLUMNS.items() if name in ODD.column_names}
    schema = Schema(ODD, columns, budget=dt.Budget(1.0))

    def selected_rows(engine, predicate):
        made = plan(dt.Count(), schema, epsilon=1.0, where=predicate)
        (records,) = selected(made, Selection(engine, schema, made.predicate))
        return made.statistic.value(records)

    engines = engines_of(ODD)
    for seed in range(6):
        given = random_filter(random.Random(seed))
        form = canonical_filter(given, schema)
        for name, engine in engines.items():
            for way in (lambda part: part, Not):
                assert selected_rows(engine, way(given)) == selected_rows(engine, way(form)), (name, str(given))
    for engine in engines.values():
        engine.close()
