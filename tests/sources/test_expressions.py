"""Arithmetic on columns: bounds that hold on every record, no overflow or underflow, the same bits on every engine."""

import itertools
import math
import random
from fractions import Fraction

import pyarrow as pa
import pytest

import dither as dt
from contract.record_sources import BY_ENGINE, Place
from dither.errors import InvalidArgument, InvalidText
from dither.sources.expressions import NEAREST, ColumnValue, Constant, Operation, declared_as
from dither.sources.schema import Schema
from dither.sources.views import parsed_expression

COLUMNS = {"a": dt.Real(-3, 5), "b": dt.Real(0, 1), "n": dt.Integer(-2, 4), "free": dt.Real(None, None)}
SCHEMA = Schema("x.csv", COLUMNS)
ODD = [
    0.0,
    -0.0,
    1e-320,
    5e-324,
    -1e-61,
    1e-60,
    0.1,
    1.0,
    -3.0,
    5.0,
    1e308,
    -1e308,
    math.inf,
    -math.inf,
    math.nan,
    None,
]


def leaf(name, value):
    """A column inside an expression."""
    if value is None or math.isnan(value):
        return None
    low, high = {"a": (-3, 5), "b": (0, 1), "n": (-2, 4), "free": (-1e30, 1e30)}[name]
    return 0.0 if abs(value) < 1e-60 else float(min(max(value, low), high))


def evaluated(expression, record):
    """The same in Python's doubles."""
    if isinstance(expression, ColumnValue):
        return leaf(expression.column, record[expression.column])
    if isinstance(expression, Constant):
        return float(expression.number)
    left, right = evaluated(expression.left, record), evaluated(expression.right, record)
    if left is None or right is None:
        return None
    return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[expression.operator](right)


def some_expressions(count):
    """Texts of a few operations."""
    chance = random.Random(3)
    leaves = ["a", "b", "n", "2", "0.5", "-3", "1e3"]

    def built(depth):
        if depth == 0 or chance.random() < 0.3:
            return chance.choice(leaves)
        operator = chance.choice("+-**/")
        right = chance.choice(["7", "0.25", "-3"]) if operator == "/" else built(depth - 1)
        return f"({built(depth - 1)} {operator} {right})"

    return [f"({built(3)}) * a" for _ in range(count)]


def test_bounds_hold_on_every_record_and_nothing_is_nearer_to_zero_than_stated():
    """300 expressions on records at and beyond the ends of their columns, in doubles."""
    chance = random.Random(4)
    checked = 0
    for text in some_expressions(300):
        expression = parsed_expression(text, SCHEMA)
        if expression is None:
            continue
        low, high = expression.interval(COLUMNS)
        room = Fraction(1, 1 << 40) * (1 + max(abs(low), abs(high)))
        least = expression.nearest_to_zero()
        for _ in range(30):
            value = evaluated(expression, {name: chance.choice(ODD) for name in COLUMNS})
            if value is not None:
                assert low - room <= Fraction(value) <= high + room, text
                assert value == 0 or abs(Fraction(value)) >= least, text
                checked += 1
    assert checked > 2000


def test_a_bound_that_forgets_signs_is_found():
    """The twin of the check above: products of the lower ends and of the upper ends are no bounds."""
    value = evaluated(parsed_expression("a * n", SCHEMA), {"a": -3.0, "n": 4.0})
    assert not -3 * -2 <= value <= 5 * 4
    assert parsed_expression("a * n", SCHEMA).interval(COLUMNS) == (-12, 20)


def test_one_form_for_one_expression():
    """Brackets and spaces that say nothing are left out; those that do stay, and the form means the same."""
    for text, form in (
        ("a*(1-b)", "a * (1 - b)"),
        ("(a * 2) + b", "a * 2 + b"),
        ("a - (b - n)", "a - (b - n)"),
        ("a - b - n", "a - b - n"),
        ("-a * 2", "(0 - a) * 2"),
        ("a / 4", "a / 4"),
        ("((a + b))", "a + b"),
    ):
        expression = parsed_expression(text, SCHEMA)
        assert str(expression) == form
        assert parsed_expression(form, SCHEMA) == expression


def test_whole_numbers_stay_whole():
    """An integer times a whole constant is an integer; anything else is real."""
    assert declared_as(parsed_expression("n * 2 - 1", SCHEMA), COLUMNS) == dt.Integer(-5, 7)
    assert declared_as(parsed_expression("n / 2", SCHEMA), COLUMNS) == dt.Real(-1, 2)
    assert declared_as(parsed_expression("free * n", SCHEMA), COLUMNS) == dt.Real(None, None)


def test_what_could_fail_on_one_record_is_refused_by_the_declaration_alone():
    """Divisions by columns, products too large or too near to zero, too many operations, texts, dates."""
    session = dt.open(
        {"a": [1.0], "b": [0.5]}, columns={"a": dt.Real(0, 1e200), "b": dt.Real(0, 1)}, budget=dt.Budget(9.0)
    )
    for text, reason in (
        ("a / b", "divide by a number"),
        ("a / 0", "divide by a number"),
        ("a * a", "too large"),
        ("b * b * b * b * b * b", "too small"),
        (" + ".join(["b"] * 30), "at most 20 operations"),
        ("b - b * 0 + 1e99", "between 1e-60 and 1e60"),
        ("b || b", "not supported|valid|write"),
        ("abs(b) + 1", "write columns"),
    ):
        with pytest.raises(InvalidText, match=reason):
            session.sql(f"SELECT sum({text}) FROM data", epsilon=1.0)
    with pytest.raises(InvalidArgument):
        session.ask(dt.Sum("a / b"), epsilon=1.0)
    assert session.history == []


def test_a_table_without_links_computes_too():
    """In SQL, in Python, beside other columns in the same statement, with filters and groups."""
    data = {"a": [1.0, 2.0, None, 4.0], "b": [0.5, 0.25, 1.0, 0.0], "kind": ["x", "y", "x", "y"]}
    columns = {"a": dt.Real(0, 10), "b": dt.Real(0, 1), "kind": dt.Category(["x", "y"])}
    with dt.open(data, columns=columns, rows=4, budget=dt.Budget(1e6)) as session:
        assert dt.inspect.value(dt.Sum("a * (1 - b)"), session) == pytest.approx(6.0)
        assert dt.inspect.value(dt.Sum("a * (1 - b)"), session, by="kind")[("y",)] == pytest.approx(5.5)
        answers = session.sql(
            "SELECT kind, sum(a * (1 - b)) AS s, sum(a) AS t, count(*) FROM data WHERE a > b GROUP BY kind",
            epsilon=3.0,
        )
        found = {(release.alias, release.group["kind"]): release.value for release in answers}
        assert found.keys() == set(itertools.product(("s", "t", None), "xy"))
        where = dt.inspect.value(dt.Sum("a * (1 - b)"), session, by="kind", where="a > b")
        assert where == {("x",): pytest.approx(0.5), ("y",): pytest.approx(5.5)}
        assert session.quote("SELECT sum(a * 2) FROM data", epsilon=1.0)[0].query == "sum of a * 2"


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_same_bits_on_every_engine(request, tmp_path_factory):
    """Odd records: every engine answers, and all give the same number."""
    place = Place(tmp_path_factory.mktemp("expressions"), request.getfixturevalue)
    records = list(itertools.product(ODD, [0.1, 0.3, None, math.inf]))
    table = pa.table(
        {"a": pa.array([x for x, _ in records], pa.float64()), "b": pa.array([y for _, y in records], pa.float64())}
    )
    texts = ["a * (1 - b)", "a * b * a - 0.1", "(a - 0.3) / 7", "a * 1e-30 * b"]
    expected = {}
    for text in texts:
        values = [evaluated(parsed_expression(text, SCHEMA), {"a": x, "b": y}) for x, y in records]
        expected[text] = [value for value in values if value is not None]
    columns = {"a": dt.Real(-3, 5), "b": dt.Real(0, 1)}
    for name, build in BY_ENGINE.items():
        with dt.open(**build(place, table), engine=name, columns=columns, budget=dt.Budget(9.0)) as session:
            for text in texts:
                for rank in (1, 7, len(expected[text]) // 2):
                    found = dt.inspect.value(dt.OrderStatistic(text, rank=rank), session)
                    assert found == pytest.approx(sorted(expected[text])[rank - 1], abs=1e-9), (name, text, rank)
                assert dt.inspect.value(dt.Sum(text), session) == pytest.approx(sum(expected[text]), abs=1e-6), (
                    name,
                    text,
                )


def test_values_near_zero_count_as_zero():
    """A product of denormal numbers would be an error in PostgreSQL: no record makes one."""
    assert float(NEAREST) == 1e-60
    assert evaluated(Operation("*", ColumnValue("a"), ColumnValue("b")), {"a": 1e-61, "b": 1e-61}) == 0.0


def test_quality_is_asked_of_columns_before_anything_is_charged():
    """What is computed has no entries of its own."""
    with dt.open({"a": [1.0, 2.0]}, columns={"a": dt.Real(-3, 5)}, budget=dt.Budget(9.0)) as session:
        with pytest.raises(InvalidArgument, match="is computed"):
            session.ask(dt.Quality("a * 2"), epsilon=1.0)
        with pytest.raises(InvalidText, match="is computed"):
            session.sql("SELECT quality(a * 2) FROM data", epsilon=1.0)
        assert session.history == []
