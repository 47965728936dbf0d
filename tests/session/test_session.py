"""Sessions: charge before reading, all or nothing, repeats for free, and clear errors about everything else."""

import dataclasses
import datetime
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dither as dt
from dither.errors import InvalidText, UnknownDataset
from dither.ledger import SqliteLedger
from dither.session.session import Session
from dither.sources.engines.duckdb import DuckDB

ROWS = 3000
COLUMNS = {
    "pay": dt.Real(0, 1000),
    "age": dt.Integer(18, 90),
    "job": dt.Category(["clerk", "nurse", "pilot"]),
    "boss": dt.Boolean(),
    "since": dt.Date("2000-01-01", "2020-12-31"),
    "town": dt.Category(),
}


def people(rows=ROWS, seed=0):
    """A small payroll; nobody is a pilot."""
    rng = np.random.default_rng(seed)
    days = [datetime.date(2005, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 4000, rows)]
    return pa.table(
        {
            "pay": rng.lognormal(5, 0.5, rows),
            "age": rng.integers(18, 80, rows),
            "job": rng.choice(["clerk", "nurse", "spy"], rows),
            "boss": rng.random(rows) < 0.2,
            "since": days,
            "town": rng.choice(["here", "there"], rows),
            "person": rng.integers(0, rows // 4, rows),
        }
    )


@pytest.fixture
def session():
    """A session with a generous budget."""
    return dt.open(people(), columns=COLUMNS, rows=ROWS, budget=dt.Budget(50.0, 1e-3))


def test_answers_are_near_the_truth_and_paid_for(session):
    """One question of every kind; epsilon 20 in all leaves no room for bad luck."""
    table = people()
    pay = np.sort(table["pay"].to_numpy())
    assert abs(session.ask(dt.Median("pay"), epsilon=2).value - pay[ROWS // 2]) < 20
    assert abs(session.ask(dt.Mean("pay"), epsilon=2, where="age >= 18").value - pay.mean()) < 20
    assert abs(session.ask(dt.Count(), epsilon=2, where="job = 'clerk'").value - 1000) < 150
    assert isinstance(session.ask(dt.Median("since"), epsilon=2).value, datetime.date)
    assert session.ask(dt.Count("boss"), epsilon=2).value == pytest.approx(600, abs=150)
    assert session.budget.spent == dt.Loss(10.0)
    assert session.budget.left == dt.Loss(40.0, 1e-3)


def test_a_repeated_question_is_free_and_the_same(session):
    """However the filter is written; paying again gives a new answer."""
    first = session.ask(dt.Median("pay"), epsilon=1.0, where="age > 30")
    again = session.ask(dt.Median("pay"), epsilon=1.0, where="age>30")
    assert first == again
    assert session.budget.spent == dt.Loss(1.0)
    fresh = session.ask(dt.Median("pay"), epsilon=1.0, where="age > 30", again=True)
    assert session.budget.spent == dt.Loss(2.0)
    assert fresh.value != first.value
    assert [entry.loss for entry in session.history] == [dt.Loss(1.0), dt.Loss(1.0)]


def test_another_schema_is_another_question(tmp_path):
    """Other bounds are not answered from the store."""
    ledger = SqliteLedger(tmp_path / "book.ledger")
    pq.write_table(people(), tmp_path / "pay.parquet")
    spent = []
    for upper in (1000, 2000):
        opened = dt.open(
            tmp_path / "pay.parquet",
            columns=COLUMNS | {"pay": dt.Real(0, upper)},
            rows=ROWS,
            budget=dt.Budget(5.0),
            ledger=ledger,
        )
        opened.ask(dt.Median("pay"), epsilon=1.0)
        spent.append(opened.budget.spent.epsilon)
    assert spent == [1.0, 2.0]


def test_groups_answer_for_empty_keys_too(session):
    """Declared keys in their order, one price for all."""
    releases = session.ask(dt.Median("pay"), epsilon=4.0, by="job")
    assert [release.group for release in releases] == [{"job": "clerk"}, {"job": "nurse"}, {"job": "pilot"}]
    assert releases.loss == dt.Loss(4.0)
    assert session.budget.spent == dt.Loss(4.0)
    frame = releases.to_frame()
    assert list(frame["job"]) == ["clerk", "nurse", "pilot"]
    both = session.ask(dt.Count(), epsilon=4.0, by=["boss", "job"])
    assert both[0].group == {"boss": False, "job": "clerk"}
    assert len(both) == 6


def test_undeclared_groups_are_found_and_cost_delta(session):
    """Without a delta the question is refused before the charge."""
    releases = session.ask(dt.Mean("pay"), epsilon=4.0, delta=1e-5, by="town")
    assert [release.group["town"] for release in releases] == ["here", "there"]
    assert session.budget.spent == dt.Loss(4.0, 1e-5)
    with pytest.raises(dt.InvalidArgument, match="not declared"):
        session.ask(dt.Mean("pay"), epsilon=1.0, by="town")
    assert session.budget.spent == dt.Loss(4.0, 1e-5)


def test_rare_undeclared_groups_stay_hidden():
    """One person's own town is never shown: 200 releases, each with probability at most delta = 1e-6."""
    towns = ["here"] * 400 + ["alone"]
    table = pa.table({"town": towns, "pay": [1.0] * 401})
    opened = dt.open(table, columns={"town": dt.Category(), "pay": dt.Real(0, 2)}, budget=dt.Budget(1000, 1e-3))
    for _ in range(20):
        found = opened.ask(dt.Count(), epsilon=1.0, delta=1e-6, by="town", again=True)
        assert [release.group["town"] for release in found] == ["here"]


def test_the_public_count_is_free(session):
    """A declared number of rows is no secret."""
    assert session.ask(dt.Count(), epsilon=1.0).value == ROWS
    assert session.budget.spent == dt.Loss(0.0)


@pytest.mark.parametrize("rows", [1_000, 1_500])
@pytest.mark.parametrize("source", ["frame", "csv"])
def test_a_wrong_number_of_rows_is_an_error_where_rows_are_counted_or_are_more(tmp_path, source, rows):
    """Shares and counts of values are of that number; what leaves out missing values is about at most so many."""
    table = pa.table({"pay": [float(k % 100) for k in range(1_200)]})
    pa.csv.write_csv(table, tmp_path / "pay.csv")
    given = table if source == "frame" else str(tmp_path / "pay.csv")
    opened = dt.open(given, columns={"pay": dt.Real(0, 100)}, rows=rows, budget=dt.Budget(1000))
    for query in (dt.Quality("pay"), dt.CountPresent("pay"), dt.TrimmedMean("pay")):
        spent = opened.budget.spent.epsilon
        with pytest.raises(dt.SourceFailed, match=f"the {rows} rows that its schema declares"):
            opened.ask(query, epsilon=10.0)
        assert opened.budget.spent.epsilon == spent + 10
    for query, right in ((dt.Median("pay"), pytest.approx(49, abs=3)), (dt.Sum("pay"), pytest.approx(59_400, abs=100))):
        if rows < 1_200:
            with pytest.raises(dt.SourceFailed, match=f"the {rows} rows that its schema declares"):
                opened.ask(query, epsilon=50.0)
        else:
            assert opened.ask(query, epsilon=50.0).value == right


def test_a_batch_is_all_or_nothing():
    """Three questions of 0.4 each do not fit into 1: nothing is charged, nothing read."""
    opened = dt.open(people(), columns=COLUMNS, rows=ROWS, budget=dt.Budget(1.0))
    with pytest.raises(dt.BudgetExceeded, match="nothing was charged"):
        opened.ask([dt.Median("pay"), dt.Mean("age"), dt.Maximum("age")], epsilon=1.2)
    assert opened.budget.spent == dt.Loss(0.0)
    assert opened.history == []
    answered = opened.ask([dt.Median("pay"), dt.Mean("age"), dt.Maximum("age")], epsilon=0.9, weights=[2, 1, 1])
    assert [release.loss.epsilon for release in answered] == [0.45, 0.225, 0.225]
    assert opened.budget.spent.epsilon == pytest.approx(0.9)
    with pytest.raises(dt.BudgetExceeded):
        opened.sql("SELECT median(pay), avg(age) FROM data", epsilon=0.2)
    assert opened.budget.spent.epsilon == pytest.approx(0.9)


def test_weights_of_one_query_are_looked_at():
    """They are those of a list with one query: others are refused instead of being left out of account."""
    opened = dt.open(people(), columns=COLUMNS, rows=ROWS, budget=dt.Budget(1.0))
    for call in (opened.ask, opened.quote):
        with pytest.raises(dt.InvalidArgument, match="weights must be a positive number for each of the 1 queries"):
            call(dt.Median("pay"), epsilon=0.5, weights=[1, 2])
    assert opened.budget.spent == dt.Loss(0.0)


def test_the_charge_is_on_disk_before_the_data_are_read(tmp_path, monkeypatch):
    """Reading that fails leaves the charge, and a new session finds it."""
    pq.write_table(people(), tmp_path / "pay.parquet")
    book = tmp_path / "book.ledger"
    opened = dt.open(tmp_path / "pay.parquet", columns=COLUMNS, rows=ROWS, budget=dt.Budget(1.0), ledger=book)
    seen = []

    def rows(self, query):
        with SqliteLedger(book) as beside:
            seen.append(beside.spent("pay"))
        raise dt.SourceFailed("the disk is gone; what was charged stays charged")

    monkeypatch.setattr(DuckDB, "arrays", rows)
    with pytest.raises(dt.SourceFailed):
        opened.ask(dt.Median("pay"), epsilon=0.25)
    assert seen == [dt.Loss(0.25)]
    with dt.open(tmp_path / "pay.parquet", columns=COLUMNS, rows=ROWS, budget=dt.Budget(1.0), ledger=book) as later:
        assert later.budget.spent == dt.Loss(0.25)


def test_a_source_that_is_gone_costs_nothing(tmp_path):
    """Found before the charge."""
    pq.write_table(people(), tmp_path / "pay.parquet")
    opened = dt.open(tmp_path / "pay.parquet", columns=COLUMNS, rows=ROWS, budget=dt.Budget(1.0))
    (tmp_path / "pay.parquet").unlink()
    with pytest.raises(dt.SourceFailed, match="nothing was charged"):
        opened.ask(dt.Median("pay"), epsilon=0.5)
    assert opened.budget.spent == dt.Loss(0.0)


def test_a_source_that_changes_while_it_is_read_fails_and_stays_charged(tmp_path, monkeypatch):
    """The file is swapped after the first query."""
    pq.write_table(people(), tmp_path / "pay.parquet")
    pq.write_table(people(seed=1), tmp_path / "other.parquet")
    opened = dt.open(tmp_path / "pay.parquet", columns=COLUMNS, rows=ROWS, budget=dt.Budget(1.0))
    inner = DuckDB.arrays

    def swapped(self, query):
        found = inner(self, query)
        shutil.copy(tmp_path / "other.parquet", tmp_path / "pay.parquet")
        return found

    monkeypatch.setattr(DuckDB, "arrays", swapped)
    with pytest.raises(dt.SourceFailed, match="stays charged"):
        opened.ask(dt.Median("pay"), epsilon=0.5)
    assert opened.budget.spent == dt.Loss(0.5)


def test_another_number_of_rows_than_declared_fails():
    """The public number is verified when the table is read."""
    opened = dt.open(people(), columns=COLUMNS, rows=ROWS - 1, budget=dt.Budget(1.0))
    for query in (dt.Median("pay", nulls="lower"), dt.Sum("pay", nulls="lower"), dt.TrimmedMean("pay")):
        with pytest.raises(dt.SourceFailed, match="rows that its schema declares"):
            opened.ask(query, epsilon=0.1)


@pytest.mark.parametrize(
    ("asked", "options", "word"),
    [
        (dt.Median("salary"), {}, "declared column"),
        (dt.Median("job"), {}, "column of numbers"),
        (dt.Median(), {}, "declared column"),
        (dt.Sum("since"), {}, "dates"),
        (dt.Count("age"), {}, "boolean"),
        (dt.Median("pay"), {"where": "salary > 3"}, "unknown column"),
        (dt.Median("pay"), {"where": "job = 'spy'"}, "declared category"),
        (dt.Median("pay"), {"by": "pay"}, "not real"),
        (dt.Median("pay"), {"by": "nobody"}, "declared column"),
        (dt.Median("pay"), {"by": ["job", "job"]}, "different names"),
        (dt.Histogram("pay"), {}, "edges"),
        (dt.Histogram("job", edges=[0, 1]), {}, "categories"),
        (dt.Quantiles("pay", q=[0.1, 0.9]), {"where": "age > 30"}, "not proved"),
        (dt.TrimmedMean("pay"), {"by": "job"}, "not proved"),
        (dt.Median("pay"), {"epsilon": -1}, "epsilon"),
        (dt.Median("pay"), {"confidence": 2}, "confidence"),
        (dt.Median("pay"), {"mechanism": "magic"}, "mechanism"),
        ("medain(pay)", {}, "query"),
    ],
)
def test_bad_questions_cost_nothing(session, asked, options, word):
    """Unknown names, wrong types, unproved statistics: refused before the charge."""
    with pytest.raises(dt.DitherError, match=word):
        session.ask(asked, **{"epsilon": 0.5, **options})
    assert session.budget.spent == dt.Loss(0.0)
    assert session.history == []


def test_a_schema_that_contradicts_the_source():
    """Types are compared when a source is opened."""
    with pytest.raises(dt.InvalidArgument, match=r"columns\.job"):
        dt.open(people(), columns={"job": dt.Date("2000-01-01", "2001-01-01")}, budget=dt.Budget(1.0))
    with pytest.raises(dt.InvalidArgument, match="column of the source"):
        dt.open(people(), columns={"wage": dt.Real(0, 1)}, budget=dt.Budget(1.0))
    with pytest.raises(dt.InvalidArgument, match="unit"):
        dt.open(people(), columns={"pay": dt.Real(0, 1)}, unit="pay", rows_per_unit=1, budget=dt.Budget(1.0))
    with pytest.raises(dt.InvalidArgument, match="budget"):
        dt.open(people(), columns={"pay": dt.Real(0, 1)})


def test_injection_is_text_and_nothing_else(session):
    """Names and literals are quoted: what looks like SQL is compared like any other text."""
    for text in ("job = 'clerk''; DROP TABLE source; --'", 'job = "x"; DROP TABLE source', "job = 'clerk' OR 1=1"):
        with pytest.raises(InvalidText):
            session.ask(dt.Median("pay"), epsilon=0.1, where=text)
    odd = 'a"; DROP TABLE source; --'
    table = pa.table({odd: [1.0, 2.0, 3.0], "t'x\\": ["o'n", "\\", "%_"]})
    opened = dt.open(
        table, columns={odd: dt.Real(0, 5), "t'x\\": dt.Category(["o'n", "\\", "%_"])}, rows=3, budget=dt.Budget(90.0)
    )
    assert 0 <= opened.ask(dt.Median(odd), epsilon=30.0).value <= 5
    assert [release.value for release in opened.ask(dt.Count(), epsilon=60.0, by="t'x\\")] == [1, 1, 1]


@pytest.mark.parametrize("rows", [1, 2])
def test_people_with_many_rows(rows):
    """Counts see at most the declared rows of each person, and the noise grows with them."""
    table = people()
    kept = sum(min(rows, n) for n in np.unique(table["person"].to_numpy(), return_counts=True)[1])
    opened = dt.open(table, columns=COLUMNS, unit="person", rows_per_unit=rows, budget=dt.Budget(200.0))
    release = opened.ask(dt.Count(), epsilon=50.0)
    assert abs(release.value - kept) <= 5 * rows
    assert release.neighbours is dt.Neighbours.PERSON
    assert opened.plan(dt.Sum("pay"), epsilon=1.0).statistic.global_sensitivity == rows * dt.Real(0, 1000).grid.ends[1]


def test_csv_lines_stand_alone(tmp_path):
    """A stray quote, a missing field and rubbish change their own record only."""
    lines = ["pay,job", *(f"{value},clerk" for value in range(100)), '7,"nur', "oops,nurse", '50,"nurse"', "", "60"]
    (tmp_path / "pay.csv").write_text("\n".join(lines) + "\n")
    columns = {"pay": dt.Real(0, 100, nulls=0), "job": dt.Category(["clerk", "nurse"])}
    opened = dt.open(tmp_path / "pay.csv", columns=columns, rows=104, budget=dt.Budget(900.0))
    assert dt.inspect.value(dt.Sum("pay"), opened) == pytest.approx(sum(range(100)) + 7 + 50 + 60, abs=1e-6)
    counts = [release.value for release in opened.ask(dt.Count(), epsilon=400.0, by="job")]
    assert counts == [100, 2]


@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet", "csv", "duckdb", "mapping"])
def test_every_kind_of_source(tmp_path, kind):
    """Frames, files and mappings give the same answers."""
    import duckdb

    table = people(200).select(["pay", "age", "job"])
    columns = {name: COLUMNS[name] for name in ("pay", "age", "job")}
    extra = {}
    if kind == "pandas":
        source = table.to_pandas()
    elif kind == "polars":
        import polars as pl

        source = pl.from_arrow(table)
    elif kind == "mapping":
        source = {name: table[name].to_pylist() for name in columns}
    elif kind == "parquet":
        source = tmp_path / "p.parquet"
        pq.write_table(table, source)
    elif kind == "csv":
        source = tmp_path / "p.csv"
        table.to_pandas().to_csv(source, index=False)
    else:
        source, extra = tmp_path / "p.duckdb", {"table": "staff"}
        with duckdb.connect(str(source)) as connection:
            connection.register("arrow", table)
            connection.execute("CREATE TABLE staff AS SELECT * FROM arrow")
    opened = dt.open(source, columns=columns, rows=200, budget=dt.Budget(9.0), **extra)
    exact = np.sort(table["pay"].to_numpy())[99]
    assert dt.inspect.value(dt.Median("pay"), opened) == pytest.approx(exact, abs=1e-6)
    assert len(opened.ask(dt.Median("pay"), epsilon=1.0, by="job")) == 3


def test_two_names_for_one_file_share_a_budget(tmp_path):
    """The path of the source is its fingerprint."""
    pq.write_table(people(), tmp_path / "pay.parquet")
    book = tmp_path / "book.ledger"
    one = dt.open(tmp_path / "pay.parquet", columns=COLUMNS, budget=dt.Budget(1.0), ledger=book, name="one")
    two = dt.open(tmp_path / "pay.parquet", columns=COLUMNS, budget=dt.Budget(1.0), ledger=book, name="two")
    one.ask(dt.Median("pay"), epsilon=0.7)
    with pytest.raises(dt.BudgetExceeded):
        two.ask(dt.Median("age"), epsilon=0.7)


def test_unknown_datasets_of_a_ledger():
    """Names that were never registered are errors."""
    opened = dt.open(people(), columns=COLUMNS, budget=dt.Budget(1.0))
    with pytest.raises(UnknownDataset):
        opened._ledger.left("nothing")
    assert isinstance(opened, Session)


def test_private_values_stay_out_of_reprs(session):
    """Nothing printable about a session, a plan or its engine shows a record."""
    planned = session.plan(dt.Median("pay"), epsilon=1.0, where="job = 'clerk'")
    secret = f"{people()['pay'].to_pylist()[0]:.3f}"[:6]
    for text in (repr(session), repr(planned), str(session.budget), repr(session.ask(dt.Median("age"), epsilon=1.0))):
        assert secret not in text


def test_a_request_sent_again_pays_once():
    """The same request id gets the same release, also among other answers; another price is an error."""
    from dither.errors import Contradiction

    session = dt.open({"age": [30, 60] * 50}, columns={"age": dt.Integer(0, 120)}, rows=100, budget=dt.Budget(10.0))
    session.ask(dt.Median("age"), epsilon=0.5, request_id="a", analyst="alice")
    mine = session.ask(dt.Median("age"), epsilon=0.5, request_id="b", analyst="bob", again=True)
    for again in (True, False):
        assert session.ask(dt.Median("age"), epsilon=0.5, request_id="b", analyst="bob", again=again) == mine
    assert session.budget.spent.epsilon == 1.0
    with pytest.raises(Contradiction, match="nothing was charged"):
        session.ask(dt.Median("age"), epsilon=0.25, request_id="b", analyst="bob")
    answered = session.sql("SELECT median(age) FROM data", epsilon=0.75, request_id="c", analyst="bob")
    assert session.sql("SELECT median(age) FROM data", epsilon=0.75, request_id="c", analyst="bob") == answered
    assert session.budget.spent.epsilon == 1.75


def test_analysts_pay_from_their_own_budgets():
    """The named analyst is charged, and refused when their own part is gone."""
    from dither.ledger import MemoryLedger

    ledger = MemoryLedger()
    columns, budget = {"age": dt.Integer(0, 120)}, dt.Budget(10.0)
    session = dt.open({"age": [30, 60] * 50}, columns=columns, rows=100, budget=budget, ledger=ledger)
    ledger.allow("data", "alice", dt.Budget(0.5))
    session.ask(dt.Median("age"), epsilon=0.5, analyst="alice")
    with pytest.raises(dt.BudgetExceeded, match="alice"):
        session.ask(dt.Median("age"), epsilon=0.25, analyst="alice")
    session.ask(dt.Median("age"), epsilon=0.25, analyst="bob")
    assert ledger.spent("data", "alice").epsilon == 0.5


def test_a_schema_is_opened_with_a_budget_or_declares_one(tmp_path):
    """Given here where the schema has none; both, and whatever else a schema declares, are refused by name."""
    (tmp_path / "pay.csv").write_text("pay\n1\n2\n3\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    table = dt.Schema(str(tmp_path / "pay.csv"), {"pay": dt.Real(0, 5)}, rows=3)
    graph = dt.GraphSchema(str(tmp_path / "edges.csv"), 3, name="edges")
    for schema, query in ((table, dt.Sum("pay")), (graph, dt.Edges())):
        with dt.open(schema, budget=dt.Budget(2.0)) as session:
            session.ask(query, epsilon=1.5)
            assert session.budget.left.epsilon == 0.5
            with pytest.raises(dt.BudgetExceeded):
                session.ask(query, epsilon=1.5, again=True)
        assert schema.budget is None
        declared = dataclasses.replace(schema, budget=dt.Budget(2.0))
        assert dt.open(declared).budget.total == dt.Budget(2.0)
        with pytest.raises(dt.InvalidArgument, match="budget"):
            dt.open(declared, budget=dt.Budget(9.0))
        for argument, value in {"rows": 7, "columns": {"pay": dt.Real(0, 9)}, "unit": "pay", "filter": "rdp"}.items():
            with pytest.raises(dt.InvalidArgument, match=argument):
                dt.open(schema, **{argument: value})


NO_QUERIES = {
    "class": (lambda: dt.Median, r"^query is a class: pass a query object such as Median\(\.\.\.\)"),
    "SQL": (lambda: "SELECT median(age) FROM t", r"^query .*session\.sql.*; got 'SELECT median\(age\) FROM t'"),
    "number": (lambda: 3, "^query must be a query object"),
    "nothing": (lambda: None, "^query must be a query object"),
    "list of texts": (lambda: ["median(age)"], r"^query must be a query object .*session\.sql; got 'median\(age\)'"),
}


@pytest.mark.parametrize("case", NO_QUERIES)
def test_what_is_no_query_object_is_refused_in_one_sentence(case):
    """The same in a session, of arrays and of a server; nothing is charged."""
    given, sentence = NO_QUERIES[case]
    session = dt.open({"age": [30, 40] * 50}, columns={"age": dt.Integer(0, 120)}, budget=dt.Budget(1.0))
    remote = dt.connect("http://127.0.0.1:1", token="abc", dataset="data")
    with pytest.raises(dt.InvalidArgument, match=sentence):
        session.ask(given(), epsilon=1.0)
    assert session.budget.spent == dt.Loss(0.0)
    with pytest.raises(dt.InvalidArgument, match=sentence):
        remote.ask(given(), epsilon=1.0)
    if case != "list of texts":
        with pytest.raises(dt.InvalidArgument, match=sentence):
            dt.ask(given(), [1.0, 2.0], epsilon=1.0)


@pytest.mark.parametrize("query", [dt.Count("children"), dt.CountingQueries(["children"])])
def test_counts_of_true_entries_name_the_declared_type_of_numbers(query):
    """A whole sentence that says what to declare or ask instead."""
    session = dt.open({"children": [0, 3] * 50}, columns={"children": dt.Integer(0, 9)}, budget=dt.Budget(1.0))
    with pytest.raises(dt.InvalidArgument, match=r"^columns? must be boolean, .* as integer: .* filter .*'children'"):
        session.ask(query, epsilon=1.0)
