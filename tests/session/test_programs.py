"""Programs in a session: blocks drawn in the engine, people kept together, charged before anything is read."""

import datetime

import numpy as np
import pytest

import dither as dt
from blocks import drawn_blocks
from dither.errors import BudgetExceeded, ClusterLost, InvalidArgument, NotApplicable, SourceFailed
from dither.procedures.executor import Output

pa = pytest.importorskip("pyarrow")

PEOPLE = 3_000
FIRST = datetime.date(2020, 1, 1)


def table():
    """Three rows for each of many people."""
    rng = np.random.default_rng(1)
    rows = 3 * PEOPLE
    return pa.table(
        {
            "person": np.repeat(np.arange(PEOPLE), 3),
            "pay": rng.uniform(20_000, 120_000, rows),
            "age": rng.integers(18, 90, rows),
            "job": pa.array(np.where(rng.random(rows) < 0.5, "clerk", "nurse")),
            "active": rng.random(rows) < 0.7,
            "since": pa.array([FIRST + datetime.timedelta(days=int(d)) for d in rng.integers(0, 900, rows)]),
        }
    )


COLUMNS = {
    "pay": dt.Real(0, 200_000),
    "age": dt.Integer(0, 120),
    "job": dt.Category(["clerk", "nurse"]),
    "active": dt.Boolean(),
    "since": dt.Date("2015-01-01", "2025-01-01"),
}


def opened(source=None, **options):
    """A session on it."""
    return dt.open(table() if source is None else source, columns=COLUMNS, budget=dt.Budget(100.0, 1e-4), **options)


def mean_pay(block):
    """What is asked."""
    return block["pay"].to_numpy().sum() / max(len(block), 1)


def program(function=mean_pay, **options):
    """The question."""
    return dt.Program(function, **{"bounds": (0, 200_000), "executor": "trusted", "blocks": 100, **options})


@pytest.mark.parametrize("options", [{}, {"rows": 3 * PEOPLE}, {"unit": "person", "rows_per_unit": 3}])
def test_a_mean_over_blocks(options):
    """Private and public numbers of rows, and people with several of them."""
    session = opened(**options)
    release = session.ask(program(), epsilon=2.0)
    assert 60_000 < release.value < 80_000
    assert release.neighbours is session.schema.neighbours
    assert session.budget.spent == dt.Loss(2.0)
    assert "where" in session.ask(program(), epsilon=2.0, where="age > 40").query


def test_blocks_hold_everybody_once_and_keep_people_together():
    """All rows of a person in one block, at most the declared number of them, as the schema declares their values."""
    columns = {**COLUMNS, "person": dt.Integer(0, PEOPLE)}
    for per_unit in (2, 3):
        session = dt.open(table(), columns=columns, budget=dt.Budget(1.0), unit="person", rows_per_unit=per_unit)
        blocks = drawn_blocks(session.plan(program(), epsilon=1.0), session._source.engine)
        held = [set(block["person"].to_pylist()) for block in blocks]
        assert len(blocks) == 100
        assert sum(len(one) for one in held) == len(set.union(*held)) == PEOPLE
        assert sum(len(block) for block in blocks) == per_unit * PEOPLE


def test_values_are_those_of_the_schema():
    """Numbers, whole numbers, texts, truths and dates, cut to their bounds; every row once."""
    source = table()
    session = dt.open(
        source, columns={**COLUMNS, "age": dt.Integer(0, 50)}, budget=dt.Budget(1.0), rows=source.num_rows
    )
    blocks = drawn_blocks(session.plan(program(), epsilon=1.0), session._source.engine)
    assert {len(block) for block in blocks} == {90}
    joined = pa.concat_tables(blocks)
    assert joined.column_names == list(COLUMNS)
    assert sorted(joined["age"].to_pylist()) == sorted(min(one, 50) for one in source["age"].to_pylist())
    assert sorted(joined["since"].to_pylist()) == sorted(source["since"].to_pylist())
    assert sorted(joined["active"].to_pylist()) == sorted(source["active"].to_pylist())
    assert sorted(joined["job"].to_pylist()) == sorted(source["job"].to_pylist())
    assert np.allclose(np.sort(joined["pay"].to_numpy()), np.sort(source["pay"].to_numpy()), atol=1e-4)
    again = pa.concat_tables(drawn_blocks(session.plan(program(), epsilon=1.0), session._source.engine))
    assert joined["pay"].to_pylist() != again["pay"].to_pylist()


def test_missing_values_follow_the_schema():
    """Counted as declared, or the row is left out; texts may be missing."""
    source = pa.table({"pay": [1.0, None, float("nan"), 4.0], "job": ["clerk", None, "nurse", None]})
    kept = dt.open(source, columns={"pay": dt.Real(0, 10, nulls=7), "job": COLUMNS["job"]}, budget=dt.Budget(1.0))
    blocks = drawn_blocks(kept.plan(program(blocks=1), epsilon=1.0), kept._source.engine)
    assert np.allclose(sorted(blocks[0]["pay"].to_pylist()), [1, 4, 7, 7])
    assert blocks[0]["job"].null_count == 2
    left = dt.open(source, columns={"pay": dt.Real(0, 10, nulls="drop")}, budget=dt.Budget(1.0), rows=4)
    plan = left.plan(program(blocks=1), epsilon=1.0)
    assert plan.expected_rows is None
    assert np.allclose(sorted(drawn_blocks(plan, left._source.engine)[0]["pay"].to_pylist()), [1, 4])


def test_the_same_program_is_answered_again_for_free():
    """By its text; another text, price or filter is another question."""
    session = opened()
    first = session.ask(program(), epsilon=1.0)
    assert session.ask(program(), epsilon=1.0) == first
    assert session.budget.spent == dt.Loss(1.0)
    session.ask(program(lambda block: 1.0), epsilon=1.0)
    assert session.budget.spent == dt.Loss(2.0)
    assert session.history[0].question["questions"][0]["query"]["name"] == "program"


def test_a_failing_program_is_charged_and_tells_nothing():
    """Whether it fails depends on the data: the default, paid for."""
    session = opened()

    def fails(block):
        raise ValueError(block)

    release = session.ask(program(fails, default=5_000, settings={"example": None}), epsilon=20.0, confidence=None)
    assert abs(release.value - 5_000) < 10
    assert session.budget.spent == dt.Loss(20.0)


@pytest.mark.parametrize(
    ("query", "options", "error", "named"),
    [
        (program(), {"by": "job"}, InvalidArgument, "by"),
        (program(), {"mechanism": "smooth"}, NotApplicable, "aggregator"),
        (program(columns=["nobody"]), {}, InvalidArgument, "columns"),
        (program(columns=[]), {}, InvalidArgument, "columns"),
        (program(sampling="overlapping"), {}, InvalidArgument, "sampling"),
        (program("no source"), {}, InvalidArgument, "program"),
        (program(executor="sandbox", function="def f(:"), {}, InvalidArgument, "program"),
        (program(), {"where": "nothing = 1"}, InvalidArgument, "nothing"),
        (program(aggregator="centre", output=2, blocks=10), {}, InvalidArgument, "blocks"),
    ],
)
def test_errors_come_before_the_charge(query, options, error, named):
    """What public facts refuse costs nothing."""
    session = opened()
    with pytest.raises(error, match=named):
        session.ask(query, epsilon=1.0, **options)
    assert session.budget.spent == dt.Loss(0.0)


def test_too_little_budget_runs_nothing():
    """The program is not run before it is paid for."""
    session = opened()

    ran = []
    with pytest.raises(BudgetExceeded):
        session.ask(program(lambda block: ran.append(1), settings={"example": None}), epsilon=1_000.0)
    assert not ran


def test_more_blocks_than_people_are_refused_where_their_number_is_public():
    """With a private number nothing can be said; then empty blocks count as the default."""
    with pytest.raises(InvalidArgument, match="blocks"):
        opened(rows=3 * PEOPLE).ask(program(blocks=10_000), epsilon=1.0)
    assert opened().ask(program(blocks=10_000), epsilon=1.0, confidence=None).value >= 0


def test_a_wrong_declaration_is_no_answer():
    """A public number of rows that is not true: an error, and the charge stays."""
    session = opened(rows=17)
    with pytest.raises(SourceFailed, match="17"):
        session.ask(program(blocks=5), epsilon=1.0)
    assert session.budget.spent == dt.Loss(1.0)


class Cut:
    """An executor whose machines are gone in the middle of the first run."""

    def __init__(self, output):
        self.output = output
        self.runs = 0

    def run(self, blocks):
        """Nothing the first time, then an answer for every block."""
        self.runs += 1
        if self.runs == 1:
            raise ClusterLost(2)
        return np.full((len(blocks), 1), 70_000.0)


def test_machines_that_die_are_paid_once():
    """The charge stays; the same request made again is run again and pays nothing more."""
    session = opened()
    query = program(executor=Cut(Output(1, bounds=(0, 200_000))))
    with pytest.raises(ClusterLost):
        session.ask(query, epsilon=9.0, request_id="one")
    assert session.budget.spent == dt.Loss(9.0)
    assert abs(session.ask(query, epsilon=9.0, request_id="one").value - 70_000) < 100
    assert session.budget.spent == dt.Loss(9.0)


@pytest.mark.parametrize(
    "step",
    [[[1], [2, 3]], [[1], 2], [1, 2, 3], "x", {"a": 1}, [[1, 2]]],
    ids=["lengths", "mixed", "many", "text", "object", "deep"],
)
def test_steps_that_are_none(step):
    """Refused in dither's own words, whatever arrays make of them."""
    with pytest.raises(InvalidArgument, match="step must be"):
        dt.Program(max, output=2, bounds=[(0, 1), (0, 1)], step=step)


def test_several_questions_at_once():
    """Programs and other queries share a price."""
    session = opened()
    answers = session.ask([program(), dt.Median("pay")], epsilon=4.0)
    assert [50_000 < one.value < 90_000 for one in answers] == [True, True]
    assert session.budget.spent == dt.Loss(4.0)


def test_on_postgres(postgres_schema):
    """The same blocks from a real server, streamed."""
    import psycopg

    source = table()
    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE payroll (person bigint, pay double precision, age bigint, job text, active bool, since date)"
        )
        with connection.cursor() as cursor, cursor.copy("COPY payroll FROM STDIN") as copy:
            for row in source.to_pylist():
                copy.write_row(list(row.values()))
    columns = {**COLUMNS, "person": dt.Integer(0, PEOPLE)}
    options = {"columns": columns, "budget": dt.Budget(9.0), "unit": "person", "rows_per_unit": 2, "table": "payroll"}
    with dt.open(postgres_schema, **options) as session:
        blocks = drawn_blocks(session.plan(program(), epsilon=1.0), session._source.engine)
        held = [set(block["person"].to_pylist()) for block in blocks]
        assert sum(len(one) for one in held) == len(set.union(*held)) == PEOPLE
        assert blocks[0].schema == pa.schema(
            [
                ("pay", pa.float64()),
                ("age", pa.int64()),
                ("job", pa.string()),
                ("active", pa.bool_()),
                ("since", pa.date32()),
                ("person", pa.int64()),
            ]
        )
        assert 60_000 < session.ask(program(), epsilon=2.0).value < 80_000
