"""The routes that exist, the table of endpoints in docs/server.md, and the models of what each answers."""

import re
from pathlib import Path

import pytest

from curators import PAYROLL, CuratorProcess, median, with_dataset
from dither.borders import fields_of, read
from dither.interfaces.http.openapi import document
from dither.interfaces.http.routes import ALL, OWNER, endpoint, registered_endpoints

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


def documented(text):
    """(method, path) -> whether it is for owners alone, by the table of the page."""
    table = text.split("## The API")[1].split("### Questions")[0]
    rows = (line.split("|") for line in table.splitlines() if line.startswith("| `"))
    return {found: row[2].strip() == "owner" for row in rows for found in re.findall(r"`([A-Z]+) (/[^`?]*)`", row[1])}


def test_the_page_lists_every_endpoint_and_who_may_use_it():
    """An endpoint without a row, a row without an endpoint, or one with another role fails here."""
    routes = {(one.method, one.path): one.who == OWNER for one in registered_endpoints()}
    assert documented(PAGE.read_text(encoding="utf-8")) == routes


def test_the_page_says_which_endpoints_need_no_token():
    """Above the table; the OpenAPI document and the page itself are no endpoints."""
    sentence = PAGE.read_text(encoding="utf-8").split("Every request but ")[1].split(" and the page needs")[0]
    free = {one.path for one in registered_endpoints() if one.who == ALL}
    assert set(re.findall(r"`([^`]+)`", sentence)) == {*free, "/openapi.json"}


def test_a_row_that_is_left_out_is_noticed():
    """The comparison can fail."""
    text = PAGE.read_text(encoding="utf-8")
    shorter = re.sub(r"^\| `GET /v1/ledger/verify`.*\n", "", text, flags=re.MULTILINE)
    assert documented(text).keys() - documented(shorter).keys() == {("GET", "/v1/ledger/verify")}


def test_a_second_endpoint_of_the_same_method_and_path_is_refused():
    """It would take the place of the first without a word."""
    (first,) = [one for one in registered_endpoints() if one.path == "/v1/me"]
    with pytest.raises(RuntimeError, match="two endpoints are GET /v1/me"):
        endpoint(first.method, first.path, ALL)(first.handler)
    assert [one for one in registered_endpoints() if one.path == "/v1/me"] == [first]


@pytest.mark.slow
def test_every_answer_has_a_model():
    """For every status of every endpoint, in the OpenAPI document too; Prometheus text is no JSON."""
    for one in registered_endpoints():
        if one.media_type == "application/json":
            assert set(one.answers) == set(one.outcomes), one.path
            described = document()["paths"][one.path][one.method.lower()]["responses"]
            for status in one.outcomes:
                reference = described[str(status)]["content"]["application/json"]["schema"]["$ref"]
                assert component(document(), reference).get("properties"), (one.path, status)


def component(described, reference):
    """The schema with this name."""
    return described["components"]["schemas"][reference.removeprefix("#/components/schemas/")]


def schema_of(server, name):
    """The schema of a table of its own."""
    (server.home / "data" / f"{name}.csv").write_text("pay,job\n" + f"{len(name)},nurse\n" * 200)
    return PAYROLL.format(epsilon=1).replace("pay.csv", f"{name}.csv")


def requests(server):
    """(method, path) -> (address, body) of a request to each endpoint, in an order that is possible."""
    name, token = "/v1/datasets/pay", server.call("POST", "/v1/tokens", {"name": "bob"})[1]["id"]
    job = server.call("POST", f"{name}/releases", median(0.02, wait=False, request_id="job"))[1]["id"]
    register = {"name": "other", "schema": schema_of(server, "other")}
    return {
        ("GET", "/healthz"): ("/healthz", None),
        ("GET", "/v1/me"): ("/v1/me", None),
        ("GET", "/v1/queries"): ("/v1/queries", None),
        ("GET", "/v1/sources"): ("/v1/sources", None),
        ("POST", "/v1/sources/columns"): ("/v1/sources/columns", {"source": "pay.csv"}),
        ("POST", "/v1/datasets"): ("/v1/datasets", register),
        ("GET", "/v1/datasets"): ("/v1/datasets", None),
        ("GET", "/v1/datasets/{name}"): (name, None),
        ("PATCH", "/v1/datasets/{name}"): (name, {"answer_seconds": 0.02}),
        ("POST", "/v1/datasets/{name}/quote"): (f"{name}/quote", median(0.1)),
        ("POST", "/v1/datasets/{name}/releases"): (f"{name}/releases", median(0.03)),
        ("GET", "/v1/datasets/{name}/releases"): (f"{name}/releases", None),
        ("GET", "/v1/datasets/{name}/budget"): (f"{name}/budget", None),
        ("GET", "/v1/ledger"): ("/v1/ledger", None),
        ("GET", "/v1/ledger/verify"): ("/v1/ledger/verify", None),
        ("GET", "/v1/jobs/{id}"): (f"/v1/jobs/{job}", None),
        ("GET", "/v1/tokens"): ("/v1/tokens", None),
        ("POST", "/v1/tokens"): ("/v1/tokens", {"name": "eve"}),
        ("DELETE", "/v1/tokens/{id}"): (f"/v1/tokens/{token}", None),
        ("DELETE", "/v1/datasets/{name}"): ("/v1/datasets/other", None),
    }


def test_a_real_answer_of_each_endpoint_is_as_its_model_says(tmp_path):
    """Every field that is sent is declared, down to the last, and every declared type is that of what is sent."""
    home = with_dataset(tmp_path / "home", epsilon=5)
    (home / "datasets" / "broken.toml").write_text("[dataset]\n")
    server = CuratorProcess(home, seconds=0.01).start()
    try:
        known = {(one.method, one.path): one for one in registered_endpoints() if one.media_type == "application/json"}
        sent = requests(server)
        assert sent.keys() == known.keys(), "requests(), above, has one for each endpoint and no other"
        undeclared = set()
        for place, (address, body) in sent.items():
            status, payload, _ = server.call(place[0], address, body)
            assert status in known[place].answers, (place, payload)
            model = known[place].answers[status]
            undeclared |= undeclared_in(model, read(model, payload), payload, place)
            assert misfits(document(), model.__name__, payload) == [], place
        assert not undeclared
        body = {"name": "third", "schema": schema_of(server, "third")}
        status, payload, _ = server.call("POST", "/v1/datasets", body)
        assert (status, len(payload["warnings"])) == (201, 1)
        assert "write the line version = 2 above its first section" in payload["warnings"][0]
        versioned = f"version = 2\n{schema_of(server, 'fourth')}"
        assert server.call("POST", "/v1/datasets", {"name": "fourth", "schema": versioned})[1]["warnings"] == []
        assert server.call("GET", "/v1/ledger/verify?known=abc")[1]["detail"].startswith(
            "known must be a hash of 64 characters, 0 to 9 and a to f, as the ledger shows it"
        )
    finally:
        server.stop()


def undeclared_in(model, found, payload, at):
    """The fields of an answer that are no fields of its model, and so on for the models in it."""
    undeclared = {(*at, name) for name in set(payload) - set(fields_of(model))}
    for name, one in found:
        alias = model.model_fields[name].alias or name
        inner = payload.get(alias)
        for value, given in zip(one, inner, strict=True) if isinstance(inner, list) else [(one, inner)]:
            if hasattr(value, "model_fields_set") and given is not None:
                undeclared |= undeclared_in(type(value), value, given, (*at, alias))
    return undeclared


def misfits(described, model, payload):
    """What JSON Schema, as the OpenAPI document has it, says is wrong with an answer."""
    from jsonschema import Draft202012Validator

    whole = {"$ref": f"#/components/schemas/{model}", "components": described["components"]}
    return [error.message for error in Draft202012Validator(whole).iter_errors(payload)]


RELEASE = {
    "epsilon": 1.0,
    "delta": 0.0,
    "confidence": 0.95,
    "neighbours": "change-one",
    "query": "median of pay",
    "calibration": "worst_case",
    "noise": None,
    "missing": None,
    "labels": None,
}


@pytest.mark.parametrize(
    ("value", "interval", "clamped"),
    [
        (5, [1, 2], [0, 10]),
        (None, None, None),
        ([1, 2, 3], [[1, 2], [3, 4], None], [[0, 1], [0, 2]]),
        ([], [], ["2024-01-01", "2024-12-31"]),
        ([[1.0, 2.0], [3, 4]], [[[1, 2], [3, 4]], [[1, 2], [3, 4]]], None),
        ("2024-01-31", ["2024-01-30", "2024-02-02"], None),
        ("a label", None, None),
        ([0.5], [["-Infinity", "Infinity"]], None),
    ],
)
def test_every_form_of_a_release_fits_the_document(value, interval, clamped):
    """A value may fit several alternatives at once, which JSON Schema must allow."""
    from dither.interfaces.answers import ReleaseAnswer

    neighbours = document()["components"]["schemas"]["ReleaseAnswer"]["properties"]["neighbours"]["enum"][0]
    payload = RELEASE | {"neighbours": neighbours, "value": value, "interval": interval, "clamped": clamped}
    read(ReleaseAnswer, payload)
    assert misfits(document(), "ReleaseAnswer", payload) == []
    assert misfits(document(), "ReleaseAnswer", payload | {"value": {"a": 1}}) != []


def test_bodies_have_names():
    """Generators make one type of each; alternatives exclude each other nowhere."""
    described = document()
    for methods in described["paths"].values():
        for operation in methods.values():
            sent = [operation.get("requestBody", {}), *operation["responses"].values()]
            for media_type, content in (item for part in sent for item in part.get("content", {}).items()):
                assert media_type == "text/plain" or list(content["schema"]) == ["$ref"], operation["operationId"]
    assert "'oneOf'" not in str(described)
