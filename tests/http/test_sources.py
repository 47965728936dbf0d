"""Files and columns that owners see before a dataset is registered: names and stored types, and nothing of a record."""

import os
from pathlib import Path

import pytest

from curators import CuratorProcess, median, until, with_dataset

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
