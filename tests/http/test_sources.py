"""Files and columns that owners see before a dataset is registered: names and stored types, and nothing of a record."""

import os
from pathlib import Path

import pytest

from curators import CuratorProcess, median, until, with_dataset

pytestmark = pytest.mark.slow

NORMAL = {"kind": "normal", "mean": 5e5, "sd": 1e5}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose data folder has files of several types."""
    folder = tmp_path_factory.mktemp("sources")
    home = with_dataset(folder / "home", epsilon=5)
    data = home / "data"
    (data / "deep").mkdir()
    (data / "deep" / "semicolons.csv").write_text("a;b\n1;2\n")
    (data / ".hidden.csv").write_text("a\n1\n")
    (folder / "outside.csv").write_text("secret\n1\n")
    (data / "link.csv").symlink_to(folder / "outside.csv")
    (data / "circle.csv").symlink_to("circle.csv")
    Path(os.fsdecode(os.fsencode(data) + b"/\xff.csv")).write_text("a\n1\n")
    os.mkfifo(data / "pipe.csv")
    started = CuratorProcess(home).start()
    yield started
    started.stop()


def columns(server, place, **more):
    """What the server answers about a source."""
    return server.call("POST", "/v1/sources/columns", {"source": place}, **more)[:2]


def test_files_of_the_data_folder_are_listed(server):
    """By their paths there; hidden ones, links out of it or in a circle, pipes and names that are no text are not."""
    status, payload, _ = server.call("GET", "/v1/sources")
    assert status == 200
    assert payload == {"files": ["pay.csv", "deep/semicolons.csv"], "complete": True}


def test_columns_have_names_and_stored_types(server):
    """And the types that they may be declared as; a semicolon in the first line separates."""
    status, payload = columns(server, "deep/semicolons.csv")
    assert status == 200
    assert [(one["name"], one["stored"]) for one in payload["columns"]] == [("a", "text"), ("b", "text")]
    assert {"real", "category", "date"} <= set(payload["columns"][0]["types"])


def test_no_record_changes_what_is_listed(server):
    """Whatever stands below the first line: the same answer."""
    file = server.home / "data" / "varied.csv"
    seen = []
    for records in ("", "1,2\n", "x,\x00\n", "1,2,3,4\n", '"\n', "1" * 100_000 + ",2\n"):
        file.write_text("first,second\n" + records)
        seen.append(columns(server, "varied.csv"))
    file.unlink()
    assert seen[0][0] == 200
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize(
    "place", ["../outside.csv", "link.csv", "circle.csv", "/etc/passwd", "${HOME}/x.csv", "none.csv", "spark", "\0.csv"]
)
def test_nothing_else_is_opened(server, place):
    """Neither paths out of the folder, nor links, nor variables of the server."""
    status, payload = columns(server, place)
    assert 400 <= status < 500
    assert "secret" not in str(payload)
    assert "root" not in str(payload)


LINKED = """
version = 2
[dataset]
person = "people"
rows_per_unit = {limit}
[budget]
epsilon = 5
[tables.people]
source = "{people}"
key = "id"
[tables.visits]
source = "{visits}"
links = {{ patient = "people" }}
[tables.visits.columns.cost]
type = "real"
bounds = [0, 100]
"""


@pytest.fixture(scope="module")
def linked(server):
    """Two linked tables in the data folder, and one beside it."""
    data = server.home / "data"
    (data / "people.csv").write_text("id\n1\n2\n")
    (data / "visits.csv").write_text("patient,cost\n1,5\n1,6\n2,7\n")
    (server.home.parent / "elsewhere.csv").write_text("patient,cost,id\n1,5,secret\n")
    (data / "away.csv").symlink_to(server.home.parent / "elsewhere.csv")
    yield server
    for name in ("people.csv", "visits.csv", "away.csv"):
        (data / name).unlink()


OUTSIDE = ["../../elsewhere.csv", "{home}/../elsewhere.csv", "away.csv", "${{HOME}}/x.csv", "spark", "/etc/passwd"]


@pytest.mark.parametrize("place", OUTSIDE)
@pytest.mark.parametrize("table", ["people", "visits"])
def test_no_linked_table_may_lie_outside_of_the_data_folder(linked, table, place):
    """Each source is looked at, the first and the last; the error names the table."""
    places = {"people": "people.csv", "visits": "visits.csv", table: place.format(home=linked.home)}
    body = {"name": "outside", "schema": LINKED.format(limit=3, **places)}
    status, payload, _ = linked.call("POST", "/v1/datasets", body)
    assert status == 422, payload
    assert table in payload["detail"]
    assert "secret" not in str(payload)
    assert linked.call("GET", "/v1/datasets/outside")[0] == 404


def test_linked_tables_of_the_data_folder_are_answered(linked):
    """By a worker, with a limit that is found."""
    text = LINKED.format(limit='"private"', people="people.csv", visits="visits.csv")
    body = {"name": "clinic", "schema": text, "answer_seconds": 0.05}
    status, payload, _ = linked.call("POST", "/v1/datasets", body)
    assert status == 201, payload
    asked = {"sql": "SELECT count(*) FROM visits JOIN people ON patient = id", "epsilon": 1}
    status, payload, _ = linked.call("POST", "/v1/datasets/clinic/releases", asked)
    assert status == 200, payload


def test_a_table_of_a_database_is_no_path(linked):
    """A name that DuckDB would take for a file outside of the folder is none of its tables."""
    import duckdb

    data = linked.home / "data"
    outside = linked.home.parent / "outside.parquet"
    with duckdb.connect(str(data / "some.duckdb")) as connection:
        connection.execute("CREATE TABLE pay AS SELECT 1 AS cost")
        connection.execute(f"COPY (SELECT 7 AS cost) TO '{outside}'")
    text = """
version = 2
[dataset]
source = "some.duckdb"
table = "TABLE"
[budget]
epsilon = 1
[columns.cost]
type = "real"
bounds = [0, 9]
"""
    for table, expected in (("pay", 201), (str(outside), 422)):
        body = {"name": f"some{expected}", "schema": text.replace("TABLE", table)}
        status, payload, _ = linked.call("POST", "/v1/datasets", body)
        assert status == expected, payload
    (data / "some.duckdb").unlink()


def test_owners_of_everything_alone_see_them(server):
    """An analyst, and an owner for some datasets, are refused."""
    analyst = server.call("POST", "/v1/tokens", {"name": "ann"})[1]["token"]
    partly = server.call("POST", "/v1/tokens", {"name": "part", "role": "owner", "datasets": ["pay"]})[1]["token"]
    for token in (analyst, partly):
        assert server.call("GET", "/v1/sources", token=token)[0] == 403
        assert columns(server, "pay.csv", token=token)[0] == 403


def test_a_quote_says_that_the_answer_is_stored(server):
    """Free for exactly the same question, and not with again, another epsilon, or an assumption."""
    path = "/v1/datasets/pay"
    assert "stored" not in server.call("POST", f"{path}/quote", median(0.3))[1]
    assert server.call("POST", f"{path}/releases", median(0.3))[0] == 200
    payload = server.call("POST", f"{path}/quote", median(0.3))[1]
    assert (payload["stored"], payload["epsilon"], payload["delta"]) == (True, 0.0, 0.0)
    for other in (median(0.3, again=True), median(0.31), median(0.3, prior=NORMAL)):
        payload = server.call("POST", f"{path}/quote", other)[1]
        assert "stored" not in payload
        assert payload["epsilon"] > 0
    spent = server.call("GET", f"{path}/budget")[1]["spent"]["epsilon"]
    assert server.call("POST", f"{path}/releases", median(0.3))[0] == 200
    assert server.call("GET", f"{path}/budget")[1]["spent"]["epsilon"] == spent


def test_an_answer_that_is_not_due_yet_is_not_said_to_be_stored(tmp_path):
    """When it was ready is not a public fact: until its slot ends the quote is as before."""
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=5), seconds=4).start()
    try:
        path = "/v1/datasets/pay"
        status, job, _ = server.call("POST", f"{path}/releases", median(0.4, wait=False, request_id="slow"))
        assert status == 202

        def is_stored():
            entries = server.call("GET", "/v1/ledger?dataset=pay")[1].get("entries", [])
            return any(one["kind"] == "release" for one in entries)

        def is_running():
            return server.call("GET", f"/v1/jobs/{job['id']}")[1]["state"] == "running"

        until(is_stored, what="an answer in the ledger")
        quote = server.call("POST", f"{path}/quote", median(0.4))[1]
        assert "stored" not in quote or not is_running()  # (the slot may have ended meanwhile)
        until(lambda: not is_running(), what="the end of the slot")
        assert server.call("POST", f"{path}/quote", median(0.4))[1]["stored"]
    finally:
        server.stop()
