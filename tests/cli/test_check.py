"""``dither check`` of linked tables: keys that lead nowhere, repeat or are shared, and what each person contributes."""

import json

import pytest
from click.testing import CliRunner

from dither.interfaces.cli.main import main

PEOPLE = "id,part\n1,a\n2,b\n3,a\n3,a\n"
ORDERS = "number,who,price\n10,1,5\n11,1,6\n12,9,7\n13,,8\n11,2,9\n"
ITEMS = "order,amount\n10,1\n10,2\n11,3\n99,4\n,5\n"


@pytest.fixture(params=["2", "private"])
def schema(request, tmp_path):
    """A schema of three linked tables, drafted by ``dither register``."""
    for name, text in (("people", PEOPLE), ("orders", ORDERS), ("items", ITEMS)):
        (tmp_path / f"{name}.csv").write_text(text)
    file = tmp_path / "shop.toml"
    options = ["--person", "people", "--key", "people=id", "--key", "orders=number", "--link", "orders.who=people"]
    options += [
        "--link",
        "items.order=orders",
        "--column",
        "orders.price=real:0:10",
        "--column",
        "people.part=category",
    ]
    options += ["--column", "items.amount=integer:0:10", "--rows-per-unit", request.param, "--epsilon", "1"]
    files = [str(tmp_path / f"{name}.csv") for name in ("people", "orders", "items")]
    drafted = CliRunner().invoke(main, ["register", *files, "-o", str(file), *options])
    assert drafted.exit_code == 0, drafted.output
    return file


def test_orphans_and_contributions_are_counted(schema):
    """For every link, every key and every table of people, whether limits are declared or private."""
    run = CliRunner().invoke(main, ["check", str(schema), "--json"])
    assert run.exit_code == 0, run.output
    report = json.loads(run.stdout)
    links = {(one["table"], one["target"]): (one["rows"], one["missing"], one["orphans"]) for one in report["links"]}
    assert links == {("orders", "people"): (5, 1, 1), ("items", "orders"): (5, 1, 1)}
    keys = {one["table"]: (one["repeated"], one["shared"]) for one in report["keys"]}
    assert keys == {"people": (1, None), "orders": (1, 1)}
    people = {one["table"]: (one["people"], one["most"]) for one in report["people"]}
    # Orders of 1, 1, 9 and 2; items of 1 (two of order 10, one of the shared 11) and of 2.
    assert people == {"people": (3, 2), "orders": (3, 2), "items": (2, 3)}
    assert report["private"] is False


def test_the_tables_say_the_same(schema):
    """For people to read, and that none of it is private."""
    run = CliRunner().invoke(main, ["check", str(schema)])
    assert run.exit_code == 0, run.output
    for words in ("orders.who -> people", "lead nowhere", "rows of one person", "of several people", "not private"):
        assert words in " ".join(run.output.split()).replace("NOT", "not"), run.output


def test_lines_that_end_inside_quotes_are_counted(tmp_path):
    """Every line is one record: the owner learns that fields with line breaks were cut."""
    file = tmp_path / "notes.csv"
    file.write_text('note,pay\n"a\nb",1\n"said ""so""",2\n"a\n\nb",3\n')
    done = CliRunner().invoke(main, ["check", str(file)])
    assert "3 lines end inside quotes, and every line is one record" in " ".join(done.output.split())
    assert json.loads(CliRunner().invoke(main, ["check", str(file), "--json"]).output)["lines_cut"] == 3
    file.write_text('note,pay\n"a, b",1\n')
    assert "quotes" not in CliRunner().invoke(main, ["check", str(file)]).output


def test_rows_of_people_are_those_that_are_used(tmp_path):
    """Fewer than the file has: the owner must not take them for the number of rows to declare."""
    (tmp_path / "visits.csv").write_text("who,pay\n" + "a,1\n" * 5 + "b,2\n")
    schema = tmp_path / "visits.toml"
    schema.write_text(
        'version = 2\n[dataset]\nsource = "visits.csv"\nunit = "who"\nrows = 6\nrows_per_unit = 2\n'
        '[budget]\nepsilon = 1\n[columns.pay]\ntype = "real"\nbounds = [0, 9]\n'
    )
    done = CliRunner().invoke(main, ["check", str(schema)])
    assert "3 rows are used, at most 2 of each who; exact, not private" in " ".join(done.output.split())
