"""Graphs at the command line, wherever their schema file says that the edges are."""

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

import dither as dt
from contract.record_sources import Place, csv_file, duckdb_table, parquet_arrow, postgres_table, sqlite_table
from dither.interfaces.cli.main import main
from dither.sources.schema_file import dump_schema

ROWS = [(0, 1), (1, 2), (2, 0), (0, 2), (4, 4), (None, 1), (5, 0), (-1, 3), (0.5, 1), (3, 4)]
FIGURES = {"records": 10, "edges": 4, "not_vertices": 4, "loops": 1, "repeated": 1, "private": False}
VARIABLE = "FRIENDS_DB"


def _run(*arguments):
    run = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert run.exit_code == 0, run.output
    return run.output


@pytest.mark.sampled(1)
@pytest.mark.parametrize("build", [csv_file, parquet_arrow, duckdb_table, sqlite_table, postgres_table])
def test_a_schema_file_is_checked_quoted_and_asked(build, tmp_path, request, monkeypatch):
    """Files, tables of database files, and an address that is in an environment variable and printed nowhere."""
    table = pa.table({end: pa.array([row[at] for row in ROWS], pa.float64()) for at, end in enumerate("ab")})
    given = build(Place(tmp_path, request.getfixturevalue), table)
    monkeypatch.setenv(VARIABLE, given["source"])
    is_address = build is postgres_table
    source = f"${{{VARIABLE}}}" if is_address else given["source"]
    schema = dt.GraphSchema(source, 5, "friends", ("a", "b"), table=given.get("table"), budget=dt.Budget(2000.0))
    file = tmp_path / "friends.toml"
    file.write_text(dump_schema(schema))
    assert json.loads(_run("check", file, "--json")) == FIGURES
    printed = _run("check", file)
    assert tuple(part for part in ("10 records", "not private") if part in printed) == ("10 records", "not private")
    outputs = [_run(verb, file, "triangles()", "--epsilon", 500, *more) for verb, more in (("quote", ()), ("ask", ()))]
    answer = json.loads(_run("ask", file, "edges()", "--epsilon", 500, "--json"))
    assert str(FIGURES["edges"]) in json.dumps(answer)
    if is_address:
        assert not any(given["source"] in text for text in (*outputs, printed, json.dumps(answer)))


def test_a_database_without_a_table_is_refused(tmp_path):
    """What is missing is said where the schema file would have it, before anything is opened."""
    file = tmp_path / "friends.toml"
    for source in ("postgresql://127.0.0.1:1/none", "friends.sqlite"):
        file.write_text(dump_schema(dt.GraphSchema(source, 5, budget=dt.Budget(1.0))))
        run = CliRunner().invoke(main, ["ask", str(file), "edges()", "--epsilon", "1"])
        assert run.exit_code != 0
        assert "must be" in str(run.exception) + run.output
