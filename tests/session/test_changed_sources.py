"""A source that was replaced does not keep giving its old answers in silence."""

import json
import os
import time
import warnings

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dt
from dither.sources.engines.duckdb import DuckDB
from dither.sources.files import state_of_file

WORDS = {"columns": {"v": dt.Real(0, 100)}, "budget": dt.Budget(9.0), "name": "t"}
SAID = r"has changed since a stored answer was computed.*again=True"


def as_csv(file, value):
    """Five hundred records of one value."""
    file.write_text("v\n" + f"{value}\n" * 500)


def as_parquet(file, value):
    """The same as Parquet."""
    pq.write_table(pa.table({"v": [float(value)] * 500}), file)


def as_table(file, value):
    """The same as a table of a database file."""
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value}.0 AS v FROM range(500)")


SOURCES = {"t.csv": as_csv, "t.parquet": as_parquet, "t.duckdb": as_table}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    """``opened()`` a session over a file, and ``written(value)`` to it; its time always moves."""
    file, write = tmp_path / request.param, SOURCES[request.param]
    times = iter(range(1_700_000_000, 1_700_001_000))

    def written(value):
        write(file, value)
        os.utime(file, (0, next(times)))

    def opened():
        table = {"table": "t"} if file.suffix == ".duckdb" else {}
        return dt.open(file, ledger=tmp_path / "t.ledger", **WORDS, **table)

    return opened, written


def test_a_replaced_file_is_noticed(source):
    """Once in a session; the stored answer is still given and still free, and again=True brings a new one."""
    opened, written = source
    written(10)
    with opened() as session:
        assert session.ask(dt.Median("v"), epsilon=1.0).value < 20
        assert session.source_has_changed is False
    written(90)
    with opened() as session:
        assert session.source_has_changed is True
        with pytest.warns(UserWarning, match=SAID):
            assert session.ask(dt.Median("v"), epsilon=1.0).value < 20
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert session.ask(dt.Median("v"), epsilon=1.0).value < 20
            assert session.budget.spent == dt.Loss(1.0)
            assert session.ask(dt.Median("v"), epsilon=1.0, again=True).value > 80
            assert session.budget.spent == dt.Loss(2.0)
    with opened() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.ask(dt.Median("v"), epsilon=1.0).value > 80  # the newest stored answer
        assert session.budget.spent == dt.Loss(2.0)
        assert session.source_has_changed is True  # the old one is still there


def test_every_session_says_so_once_for_each_state(source, monkeypatch):
    """In one process and with Python's own filter, which shows the same text of the same line once."""
    opened, written = source
    written(10)
    with opened() as session:
        session.ask(dt.Median("v"), epsilon=1.0)
    written(90)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for count in (1, 2):
            with opened() as session:
                for _ in range(2):
                    session.ask(dt.Median("v"), epsilon=1.0)
            assert len(seen) == count
        with opened() as session:
            session.ask(dt.Median("v"), epsilon=1.0)
            monkeypatch.setattr(session._source, "state", lambda: "replaced once more")
            for _ in range(2):
                session.ask(dt.Median("v"), epsilon=1.0)
        assert len(seen) == 4


def test_a_retried_request_says_so_too(source):
    """Whoever asks under the id of a paid request gets its answer, and learns that it is old."""
    opened, written = source
    written(10)
    with opened() as session:
        session.ask(dt.Median("v"), epsilon=1.0, request_id="one")
    written(90)
    with opened() as session:
        with pytest.warns(UserWarning, match=SAID):
            assert session.ask(dt.Median("v"), epsilon=1.0, request_id="one").value < 20
        assert session.budget.spent == dt.Loss(1.0)


def test_what_did_not_change_is_not_warned_of(source):
    """The same file in another session; a new question about a changed one."""
    opened, written = source
    written(10)
    with opened() as session:
        session.ask(dt.Median("v"), epsilon=1.0)
    with opened() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        session.ask(dt.Median("v"), epsilon=1.0)
    written(20)
    with opened() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        session.ask(dt.Mean("v"), epsilon=1.0)


def test_a_frame_says_nothing_about_itself(tmp_path):
    """Of data in memory no state is known, so nothing is kept and nothing is said."""
    for value in (10.0, 90.0):
        with (
            dt.open({"v": [value] * 500}, ledger=tmp_path / "t.ledger", **WORDS) as session,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            assert session.ask(dt.Median("v"), epsilon=1.0).value < 20
            assert session.source_has_changed is None


def test_a_replaced_graph_is_noticed(tmp_path):
    """Graphs too."""
    (tmp_path / "g.toml").write_text(
        '[dataset]\nname = "g"\nsource = "g.csv"\n[graph]\nvertices = 9\n[budget]\nepsilon = 9\n'
    )
    (tmp_path / "g.csv").write_text("source,target\n0,1\n")
    with dt.open(tmp_path / "g.toml") as session:
        session.ask(dt.Edges(), epsilon=1.0)
    (tmp_path / "g.csv").write_text("source,target\n0,1\n1,2\n")
    with dt.open(tmp_path / "g.toml") as session, pytest.warns(UserWarning, match=SAID):
        session.ask(dt.Edges(), epsilon=1.0)


def test_the_ledger_keeps_a_mark_that_says_nothing(tmp_path):
    """Neither time nor size of the private file is in any entry, and the mark is another in another ledger."""
    as_csv(tmp_path / "t.csv", 10)
    marks = set()
    for name in ("one", "two"):
        with dt.open(tmp_path / "t.csv", ledger=tmp_path / name, **WORDS) as session:
            session.ask(dt.Median("v"), epsilon=1.0)
            entries = list(session._ledger.export())
        marks.add(entries[-1]["body"]["source"])
        status = (tmp_path / "t.csv").stat()
        text = json.dumps(entries)
        assert str(status.st_mtime_ns) not in text
        assert f":{status.st_size}" not in text
    assert len(marks) == 2
    assert all(len(one) == 32 for one in marks)


def test_a_grown_version_has_no_old_answers(tmp_path):
    """What the owner declared is not warned of: the question is a new one."""
    as_csv(tmp_path / "t.csv", 10)
    with dt.open(tmp_path / "t.csv", ledger=tmp_path / "t.ledger", **WORDS) as session:
        session.ask(dt.Median("v"), epsilon=1.0)
        session._ledger.grow("t")
    as_csv(tmp_path / "t.csv", 9)
    with (
        dt.open(tmp_path / "t.csv", ledger=tmp_path / "t.ledger", **WORDS) as session,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        assert session.source_has_changed is False
        session.ask(dt.Median("v"), epsilon=1.0)
        assert session.budget.spent == dt.Loss(2.0)


def test_a_changed_postgres_table_is_noticed(postgres, tmp_path):
    """By its file and by the counters of its rows; of a view nothing is known."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS changing CASCADE")
        connection.execute("CREATE TABLE changing AS SELECT 10.0::float8 AS v FROM generate_series(1, 500)")
        connection.execute("CREATE VIEW seen AS SELECT * FROM changing")

    def opened(table="changing"):
        return dt.open(postgres, table=table, ledger=tmp_path / f"{table}.ledger", **WORDS)

    def settled():
        """The state, once the counters have arrived."""
        with opened() as session:
            deadline = time.monotonic() + 120
            while ":500:0:0" not in (session._source.state() or "") and time.monotonic() < deadline:
                time.sleep(0.1)
            return session._source.state()

    before = settled()
    with opened() as session:
        session.ask(dt.Median("v"), epsilon=1.0)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("UPDATE changing SET v = 90")
    with opened() as session:
        deadline = time.monotonic() + 120
        while session._source.state() == before and time.monotonic() < deadline:
            time.sleep(0.1)
        with pytest.warns(UserWarning, match=SAID):
            session.ask(dt.Median("v"), epsilon=1.0)
    with opened("seen") as session:
        assert session.source_has_changed is None


def test_states_of_files(tmp_path):
    """Time and size of the file and of a database's log; nothing of a file that is gone."""
    file = tmp_path / "t.duckdb"
    assert state_of_file(file) is None
    as_table(file, 1)
    alone = state_of_file(file)
    (tmp_path / "t.duckdb.wal").write_bytes(b"")
    assert state_of_file(file) != alone
    assert DuckDB(pa.table({"v": [1.0]})).state() is None
