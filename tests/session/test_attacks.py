"""Sessions under attack: one record in one group, errors without records, and public refusals before the charge."""

import traceback
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dither as dt
from dither.errors import Contradiction, InvalidText, LedgerUnavailable
from dither.ledger import open_ledger
from dither.ledger.book import Ledger
from dither.noise.entropy import notice_draw
from dither.session import reading
from dither.session.plan import plan
from dither.session.reading import TableSource
from dither.sources import windows
from dither.sources.engines.duckdb import DuckDB
from dither.sources.scans import LEFT_OUT, Found

BUDGET = dt.Budget(10_000.0, 1e-3)
SURE = 500.0
"""At this epsilon a count is off by one with probability below e^-80."""


def test_a_record_is_in_one_group_whatever_the_collation(tmp_path):
    """Where the source takes 'clerk' and 'CLERK' for equal, one record would count in both groups, bins and filters."""
    with duckdb.connect(str(tmp_path / "book.duckdb")) as made:
        made.execute("CREATE TABLE t (job VARCHAR COLLATE NOCASE, who VARCHAR COLLATE NOCASE)")
        made.execute("INSERT INTO t VALUES ('clerk', 'a'), ('clerk', 'A'), ('Clerk', 'a')")
    columns = {"job": dt.Category(["clerk", "Clerk", "CLERK"])}
    opened = dt.open(tmp_path / "book.duckdb", table="t", columns=columns, rows=3, budget=BUDGET)
    options = {"epsilon": SURE, "confidence": None}
    assert [one.value for one in opened.ask(dt.Count(), by="job", **options)] == [2, 1, 0]
    assert list(opened.ask(dt.Histogram("job"), **options).value) == [2, 1, 0, 0]
    assert opened.ask(dt.Count(), where="job = 'CLERK'", **options).value == 0
    people = dt.open(
        tmp_path / "book.duckdb", table="t", columns=columns, unit="who", rows_per_unit=1, name="people", budget=BUDGET
    )
    assert people.ask(dt.Count(), **options).value == 2


@pytest.mark.parametrize("by", ["many", ["some", "few"]])
def test_too_many_groups_are_refused_before_the_charge(by):
    """How many there are is public."""
    columns = {"many": dt.Integer(0, 50_000), "some": dt.Integer(0, 300), "few": dt.Integer(0, 90)}
    table = pa.table({name: [1, 2, 3] for name in columns})
    opened = dt.open(table, columns=columns, rows=3, budget=BUDGET)
    with pytest.raises(dt.InvalidArgument, match=r"must give at most .* groups"):
        opened.ask(dt.Median("few"), epsilon=1.0, by=by)
    assert opened.budget.spent == dt.Loss(0.0)


def test_keys_beyond_64_bits_raise_no_error():
    """A record that no key can equal is in no group."""
    table = pa.table({"key": pa.array([1, 1, 2**63 + 5], pa.uint64())})
    opened = dt.open(table, columns={"key": dt.Integer(0, 2)}, rows=3, budget=BUDGET)
    assert [one.value for one in opened.ask(dt.Count(), epsilon=SURE, by="key", confidence=None)] == [0, 2, 0]


def test_errors_about_arrays_and_headers_quote_no_record(tmp_path):
    """Not in the message, nor in what caused it."""
    (tmp_path / "bare.csv").write_text("alice,123456\nbob,5\n")
    texts, table = np.array(["alice 123456"]), np.array([[1.0, 123456.0]])
    for source in ({"pay": texts}, {"pay": table}, tmp_path / "bare.csv"):
        with pytest.raises(dt.InvalidArgument) as caught:
            dt.open(source, columns={"pay": dt.Real(0, 5)}, budget=BUDGET)
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None
        assert "123456" not in "".join(traceback.format_exception_only(error))


def test_a_file_name_is_no_pattern(tmp_path):
    """DuckDB would read pay1.csv for pay[1].csv."""
    for name, value in (("pay[1].csv", 1), ("pay1.csv", 9), ("pay*.csv", 5)):
        (tmp_path / name).write_text(f"pay\n{value}\n{value}\n{value}\n")
        opened = dt.open(tmp_path / name, columns={"pay": dt.Integer(0, 10)}, rows=3, budget=BUDGET)
        assert opened.ask(dt.Sum("pay"), epsilon=SURE, confidence=None).value == 3 * value


def test_an_empty_line_of_one_column_is_a_missing_record(tmp_path):
    """The public number of rows does not depend on whether a record is missing."""
    (tmp_path / "one.csv").write_text("pay\n4\n\n4\n")
    opened = dt.open(tmp_path / "one.csv", columns={"pay": dt.Integer(0, 10)}, rows=3, budget=BUDGET)
    assert opened.ask(dt.Sum("pay"), epsilon=SURE, confidence=None).value == 8


@pytest.mark.parametrize(
    "where",
    ["p > 1e400", "p < -1e999", "p BETWEEN SYMMETRIC 3 AND 1", "town = 'a\x00b'", "town = '\ud800'"],
)
def test_filters_that_engines_stumble_over_are_refused_before_the_charge(where):
    """Numbers beyond doubles, texts that no engine holds, and words that would be ignored."""
    opened = dt.open(
        pa.table({"p": [1.0], "town": ["x"]}), columns={"p": dt.Real(0, 2), "town": dt.Category()}, budget=BUDGET
    )
    with pytest.raises(InvalidText):
        opened.ask(dt.Count(), epsilon=1.0, where=where)
    with pytest.raises(InvalidText):
        opened.sql(f"SELECT count(*) FROM data WHERE {where}", epsilon=1.0)
    assert opened.budget.spent == dt.Loss(0.0)


def test_declared_names_must_be_storable():
    """A category with NUL would fail in PostgreSQL after the charge."""
    with pytest.raises(dt.InvalidArgument, match="NUL"):
        dt.Category(["a\x00b"])
    opened = dt.open(pa.table({"town": ["x"]}), columns={"town": dt.Category()}, budget=BUDGET)
    with pytest.raises(dt.InvalidArgument, match="NUL"):
        opened.ask(dt.Histogram("town", categories=["a\x00b"]), epsilon=1.0)


def test_missing_values_of_questions_with_their_own_bounds():
    """What a missing value counts as is cut to the bounds; names for it work where numbers do."""
    table = pa.table({"p": [None, None, 3.0]})
    opened = dt.open(table, columns={"p": dt.Real(0, 10, step=1, nulls="lower")}, rows=3, budget=BUDGET)
    options = {"epsilon": SURE, "confidence": None}
    assert opened.ask(dt.Sum("p", bounds=(2, 5)), **options).value == 7
    assert list(opened.ask(dt.Histogram("p", edges=[0, 2, 5], nulls="upper"), **options).value) == [0, 3]


def test_histograms_of_undeclared_groups_with_people():
    """The thresholded histogram bounds what a person contributes by texts, too."""
    rows = 3000
    table = pa.table({"town": ["a"] * rows, "job": ["x"] * rows, "who": np.arange(rows)})
    columns = {"town": dt.Category(), "job": dt.Category(["x", "y"])}
    opened = dt.open(table, columns=columns, unit="who", rows_per_unit=2, budget=BUDGET)
    found = opened.ask(dt.Histogram("job"), by="town", epsilon=SURE, delta=1e-5, confidence=None)
    assert [list(one.value) for one in found] == [[rows, 0, 0]]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "people", [{}, {"unit": "who", "rows_per_unit": 2}, {"unit": "who", "rows_per_unit": "private"}], ids=str
)
@pytest.mark.parametrize(
    "query",
    [
        dt.Count(),
        dt.CountPresent("p"),
        dt.Median("p"),
        dt.Mean("p"),
        dt.Variance("p"),
        dt.Quality("p"),
        dt.Histogram("job"),
        dt.Histogram("p", edges=[0, 1, 2]),
        dt.Correlation(["p", "q"]),
        dt.LeastSquares(["p", "q"]),
    ],
    ids=str,
)
def test_where_no_group_is_found_the_answer_is_empty(query, people):
    """A failure would be asked again under the same request_id: free draws, until one finds the group of one person."""
    table = pa.table({"town": ["a"] * 9, "job": ["x"] * 9, "p": [1.0] * 9, "q": [0.5] * 9, "who": np.arange(9)})
    columns = {"town": dt.Category(), "job": dt.Category(["x"]), "p": dt.Real(0, 2), "q": dt.Real(0, 2)}
    opened = dt.open(table, columns=columns, budget=BUDGET, **people)
    assert list(opened.ask(query, by="town", where="p < 1", epsilon=1.0, delta=1e-6)) == []
    assert str(opened.history[-1]).endswith("no group was found")
    assert opened.budget.spent.epsilon == 1.0


def test_of_two_attempts_at_one_request_one_outcome_leaves(monkeypatch, tmp_path):
    """An attempt that fails after a draw gives the answer that another one has stored, and its own draw is gone."""
    table = pa.table({"town": ["a"] * 900, "p": [1.0] * 900})
    columns = {"town": dt.Category(), "p": dt.Real(0, 2)}
    given = {"columns": columns, "budget": BUDGET, "name": "towns", "ledger": tmp_path / "book.ledger"}
    found, answers = reading.found_keys, []
    with dt.open(table, **given) as first, dt.open(table, **given) as second:

        def ask(opened):
            return opened.ask(dt.Mean("p"), by="town", epsilon=4.0, delta=1e-6, request_id="one")

        def failing(*given):
            keys = found(*given)
            if not answers:
                answers.append(None)
                answers.append(ask(second))
                raise dt.SourceFailed("gone")
            return keys

        monkeypatch.setattr(reading, "found_keys", failing)
        assert ask(first) == answers[1] == ask(first)
        assert first.budget.spent.epsilon == 4.0


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
@pytest.mark.parametrize("failure", [MemoryError, LedgerUnavailable, KeyboardInterrupt])
def test_an_answer_that_cannot_be_stored_is_not_drawn_again(monkeypatch, failure, elsewhere):
    """What was drawn is stored later, or the request has failed; who draws for this thread elsewhere says so."""
    opened = dt.open(pa.table({"p": [1.0] * 90}), columns={"p": dt.Real(0, 2)}, rows=90, budget=BUDGET)
    store, drawn, fails = Ledger._stored_release, [], [True]
    run = TableSource._read_together

    def failing(ledger, charge, kept, source):
        if fails and '"failed"' not in kept:
            fails.pop()
            raise failure("the disk is full")
        return store(ledger, charge, kept, source)

    def read(source, plans, runs):
        drawn.append(True)
        if not elsewhere:
            return run(source, plans, runs)
        notice_draw()
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(run, source, plans, runs).result()

    monkeypatch.setattr(Ledger, "_stored_release", failing)
    monkeypatch.setattr(TableSource, "_read_together", read)

    def ask():
        return opened.ask(dt.Median("p"), epsilon=4.0, request_id="one")

    with pytest.raises(failure):
        ask()
    if failure is LedgerUnavailable:
        assert ask() == ask()
    else:
        with pytest.raises(Contradiction):
            ask()
    assert (len(drawn), opened.budget.spent.epsilon) == (1, 4.0)


def test_a_failure_that_cannot_be_stored_is_known_to_its_process(monkeypatch):
    """Until it can be."""
    opened = dt.open(pa.table({"p": [1.0] * 90}), columns={"p": dt.Real(0, 2)}, rows=90, budget=BUDGET)
    store, fails, run = Ledger._stored_release, [True, True], TableSource._read_together

    def failing(*given):
        if fails:
            fails.pop()
            raise LedgerUnavailable("the disk is full")
        return store(*given)

    def read(*given):
        run(*given)
        raise dt.SourceFailed("gone")

    monkeypatch.setattr(Ledger, "_stored_release", failing)
    monkeypatch.setattr(TableSource, "_read_together", read)
    for expected in (dt.SourceFailed, Contradiction, Contradiction, Contradiction):
        with pytest.raises(expected):
            opened.ask(dt.Median("p"), epsilon=4.0, request_id="one")
    assert not fails
    assert opened.budget.spent.epsilon == 4.0


def test_a_failure_after_a_draw_ends_the_request(monkeypatch, tmp_path):
    """Sent again it would draw anew for nothing, as often as it takes; before the first draw it may be sent again."""
    table = pa.table({"town": ["a"] * 900, "p": [1.0] * 900})
    columns = {"town": dt.Category(), "p": dt.Real(0, 2)}
    asked = {"by": "town", "epsilon": 4.0, "delta": 1e-6}
    found, fails = reading.found_keys, {"before": False, "behind": False}

    def failing(*given):
        """Fails when it is to, before or behind the draw of which groups there are."""
        if fails["before"]:
            raise dt.SourceFailed("gone")
        keys = found(*given)
        if fails["behind"]:
            raise fails["behind"]
        return keys

    monkeypatch.setattr(reading, "found_keys", failing)
    with dt.open(table, columns=columns, budget=BUDGET, name="towns", ledger=tmp_path / "book.ledger") as opened:

        def ask(request=None, **state):
            fails.update({"before": False, "behind": False} | state)
            return opened.ask(dt.Mean("p"), request_id=request, **asked)

        with pytest.raises(dt.SourceFailed):
            ask("early", before=True)
        assert [one.group for one in ask("early")] == [{"town": "a"}]
        assert opened.budget.spent.epsilon == 4.0
        asked["epsilon"] = 5.0  # another question
        with pytest.raises(dt.SourceFailed) as caught:
            ask("late", behind=dt.SourceFailed("gone"))
        assert "a number had been drawn" in caught.value.__notes__[0]
        for _ in range(2):
            with pytest.raises(Contradiction, match="nothing was charged this time"):
                ask("late")
        assert opened.budget.spent.epsilon == 9.0
        assert str(opened.history[-1]).endswith("charged, and not answered")
        assert [one.group for one in ask()] == [{"town": "a"}]  # no stored answer stands for the failure
        assert opened.budget.spent.epsilon == 14.0
        assert len(ask()) == 1
        assert opened.budget.spent.epsilon == 14.0
        asked["epsilon"] = 6.0
        with pytest.raises(KeyboardInterrupt):
            ask("stopped", behind=KeyboardInterrupt())
        with pytest.raises(Contradiction):
            ask("stopped")
    with open_ledger(tmp_path / "book.ledger", create=False) as ledger:
        assert ledger.verify().ok


def test_groups_of_people_pay_for_their_rows_once():
    """One step is one record: group privacy over 2 s steps is all that s rows cost."""
    columns = {"job": dt.Category(["x", "y"]), "p": dt.Real(0, 1)}
    table = pa.table({"job": ["x"], "p": [0.5], "who": [1]})
    opened = dt.open(table, columns=columns, unit="who", rows_per_unit=4, budget=BUDGET)
    made = plan(dt.Histogram("p", edges=[0, 1, 2]), opened.schema, epsilon=8.0, by="job")
    assert made.statistic.l1 == 1
    assert made.prepared.loss.epsilon == 1.0
    assert made.loss.epsilon == 8.0


def test_frames_under_two_names_are_two_datasets(tmp_path):
    """Nothing but its name tells a frame apart: one must not be answered from the other's store."""
    ledger = tmp_path / "book.ledger"
    values = []
    for name, value in (("low", 1.0), ("high", 9.0)):
        table = pa.table({"p": [value] * 100})
        with dt.open(table, columns={"p": dt.Real(0, 10)}, rows=100, budget=BUDGET, name=name, ledger=ledger) as opened:
            values.append(opened.ask(dt.Median("p"), epsilon=SURE).value)
            assert opened.budget.spent == dt.Loss(SURE)
    assert values == pytest.approx([1.0, 9.0], abs=0.5)


def test_a_source_that_shrinks_while_it_is_read_ends(monkeypatch):
    """A window that cannot be found in the whole range is a changed source, not a reason to look for ever."""
    monkeypatch.setattr("dither.sources.windows.FEW_ROWS", 10)
    frame = pd.DataFrame({"p": np.arange(5000.0)})
    opened = dt.open(frame, columns={"p": dt.Real(0, 10_000)}, rows=5000, budget=BUDGET)
    inner = windows.scan

    def shrinking(parts, groups=None):
        """All records lie below the brackets by now."""
        return [
            {index: Found(np.array([LEFT_OUT - 1]), one.counts.sum(keepdims=True), ()) for index, one in found.items()}
            for found in inner(parts, groups)
        ]

    monkeypatch.setattr(windows, "scan", shrinking)
    with pytest.raises(dt.SourceFailed, match="changed while"):
        opened.ask(dt.Median("p"), epsilon=1.0)


def test_any_failure_of_an_engine_is_told_without_its_words(monkeypatch):
    """Also one that is none of its own errors, such as a text that cannot be decoded."""
    opened = dt.open(pa.table({"p": [1.0]}), columns={"p": dt.Real(0, 2)}, rows=1, budget=BUDGET)

    def broken(self, query):
        raise UnicodeDecodeError("utf-8", b"alice", 0, 1, "alice")

    monkeypatch.setattr(DuckDB, "sql", broken)
    with pytest.raises(dt.SourceFailed) as caught:
        opened.ask(dt.Median("p"), epsilon=1.0)
    assert caught.value.__context__ is None


def test_objects_of_pandas_are_read_one_by_one_whatever_they_are():
    """A type guessed from some of the records would fail on others, after the charge; what is no number is missing."""
    for odd in (1, "alice", None, 2.5, (1, 2)):
        records = [1] * 5000
        records[7] = odd
        frame = pd.DataFrame({"p": pd.Series(records, dtype=object)})
        numbers = dt.open(frame, columns={"p": dt.Integer(0, 5)}, budget=BUDGET)
        present = odd in (1, 2.5)
        assert dt.inspect.value(dt.Sum("p"), numbers) == 4999 + (round(odd) if present else 0)
        assert dt.inspect.value(dt.CountPresent("p"), numbers) == 4999 + present
        opened = dt.open(frame, columns={"p": dt.Category(["1"])}, budget=BUDGET)
        found = opened.ask(dt.Histogram("p"), epsilon=SURE, confidence=None).value
        assert list(found) == ([5000, 0] if odd == 1 else [4999, 1])
