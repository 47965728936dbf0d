"""Linked tables at the shell: a schema of several files or of several tables, what it may say, and what owners see."""

import contextlib
import json
import sqlite3

import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.sources.schema_file import load_schema

FILES = {
    "people": "id,kind\n1,a\n2,b\n3,a\n3,a\n,b\n",
    "visits": "number,patient,cost\n10,1,5\n11,1,900\n12,2,7\n12,3,8\n13,77,9\n14,,1\n",
    "items": "visit,drug\n10,x\n12,y\n12,x\n99,x\n,y\n",
    "drugs": "name,weight\nx,1\ny,2\n",
}
LINKED = (
    *("--person", "people", "--key", "people=id", "--key", "visits=number", "--key", "drugs=name"),
    *("--link", "visits.patient=people", "--link", "items.visit=visits", "--link", "items.drug=drugs"),
    *("--public", "drugs", "--column", "visits.cost=real:0:100", "--column", "people.kind=category:a:b"),
    *("--column", "drugs.weight=real:0:9", "--epsilon", "5"),
)
LINKS = {"visits": {"patient": "people"}, "items": {"visit": "visits", "drug": "drugs"}}


@pytest.fixture
def folder(tmp_path):
    """Four files: people, their visits, what was given to them, and a public list."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def run(folder, *words):
    """Run a command in a folder."""
    with contextlib.chdir(folder):
        return CliRunner().invoke(main, words)


def registered(folder, *words):
    """The schema that a command writes."""
    done = run(folder, "register", *words)
    assert done.exit_code == 0, done.stderr
    return load_schema(folder / "clinic.toml")


@pytest.mark.parametrize("limit", ["2", "private"])
def test_several_files_are_linked_tables(folder, limit):
    """Keys, links, the table of people, public tables and columns stand in the schema, which answers questions."""
    schema = registered(
        folder, *(f"{name}.csv" for name in FILES), "-o", "clinic.toml", *LINKED, "--rows-per-unit", limit
    )
    assert schema.person == "people"
    assert schema.rows_per_unit == (int(limit) if limit.isdecimal() else limit)
    assert {name: table.links for name, table in schema.tables.items() if table.links} == LINKS
    assert [name for name, table in schema.tables.items() if table.public] == ["drugs"]
    assert list(schema.columns) == ["kind", "cost", "weight"]
    with dt.open(folder / "clinic.toml", ledger=":memory:") as session:
        text = "SELECT count(*) FROM items JOIN visits ON visit = number JOIN drugs ON drug = name"
        assert session.sql(text, epsilon=1.0).loss.epsilon == 1.0


def test_several_tables_of_a_database_are_linked_tables(folder):
    """By --table, each under its own name."""
    with sqlite3.connect(folder / "clinic.sqlite") as connection:
        connection.execute("CREATE TABLE people (id INTEGER, kind TEXT)")
        connection.execute("CREATE TABLE visits (patient INTEGER, cost REAL)")
    schema = registered(
        folder,
        *("clinic.sqlite", "--table", "people", "--table", "visits", "-o", "clinic.toml", "--person", "people"),
        *("--key", "people=id", "--link", "visits.patient=people", "--column", "visits.cost=real:0:9"),
        *("--epsilon", "1", "--rows-per-unit", "1"),
    )
    assert {name: (table.source, table.table) for name, table in schema.tables.items()} == {
        "people": ("clinic.sqlite", "people"),
        "visits": ("clinic.sqlite", "visits"),
    }


def test_the_layout_of_text_files_stands_with_each_of_them(folder):
    """Files that are separated by bars are read so when the schema is opened."""
    for name in ("people", "visits"):
        (folder / f"{name}.csv").write_text(FILES[name].replace(",", "|"))
    schema = registered(
        folder,
        *("people.csv", "visits.csv", "-o", "clinic.toml", "--delimiter", "|", "--person", "people"),
        *("--key", "people=id", "--link", "visits.patient=people", "--column", "visits.cost=real:0:9"),
        *("--epsilon", "1", "--rows-per-unit", "1"),
    )
    assert [table.layout.delimiter for table in schema.tables.values()] == ["|", "|"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--key", "peple=id"), "did you mean people"),
        (("--key", "people=nr"), "must be a column of the table"),
        (("--link", "visits.patient=persons"), "must be a table"),
        (("--unit", "id"), "is for one table"),
        (("--person", "peple"), "person must be a table"),
        (("--rows-per-unit", "many"), "must be a whole number"),
        (("--rows-per-unit", "0"), "must be a whole number"),
        (("--column", "cost=real:0:1"), "must be written TABLE.COLUMN"),
        ((*LINKED, "--link", "items.drug=people", "--rows-per-unit", "1"), "two people"),
    ],
)
def test_flags_that_can_not_be_are_refused(folder, words, message):
    """Nothing is written."""
    done = run(folder, "register", *(f"{name}.csv" for name in FILES), "-o", "clinic.toml", *words)
    assert done.exit_code != 0
    assert message in " ".join(done.stderr.split())
    assert not (folder / "clinic.toml").exists()


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["2", "private"])
def test_owners_see_keys_that_lead_nowhere_repeat_or_are_shared(folder, limit):
    """Exact figures of every link, key and table, as a table and as JSON."""
    registered(folder, *(f"{name}.csv" for name in FILES), "-o", "clinic.toml", *LINKED, "--rows-per-unit", limit)
    done = run(folder, "check", "clinic.toml", "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["private"] is False
    links = {f"{one['table']}.{one['column']}": one for one in report["links"]}
    figures = {name: (one["rows"], one["missing"], one["orphans"]) for name, one in links.items()}
    assert figures == {"visits.patient": (6, 1, 1), "items.visit": (5, 1, 1), "items.drug": (5, 0, 0)}
    assert [(one["table"], one["repeated"], one["shared"]) for one in report["keys"]] == [
        ("people", 1, None),
        ("visits", 1, 1),
    ]
    people = {one["table"]: (one["people"], one["most"], one["beyond"]) for one in report["people"]}
    assert people == {"people": (3, 2, 0), "visits": (4, 2, 0), "items": (3, 2, 0)}
    assert set(report["columns"]) == {"kind", "cost"}
    shown = run(folder, "check", "clinic.toml").stdout
    assert "visits.patient -> people" in shown
    assert "3 people; exact, not private" in shown
