"""Requests drawn from the OpenAPI document, right and wrong: never a server error, always the documented shapes."""

import copy
import json
import string

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from conftest import trials
from curators import CuratorProcess, with_dataset
from dither.interfaces.http.openapi import document

pytestmark = pytest.mark.slow

DOCUMENT = document()
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 0.5, 0.1, 1e-9, 1e9, 1e30, 2**63, -(2**70), 1e-50, 0.95, 3, 200, 1_000_000]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
)
WORDS = (
    "pay",
    "job",
    "nurse",
    "auto",
    "smooth",
    "laplace",
    "",
    "'; DROP TABLE pay; --",
    "<script>",
    "é" * 300,
    "SELECT",
    "SELECT median(pay) FROM pay",
    "job = 'nurse'",
    "pay > 1e400",
    "((((",
    "../..",
    "owner",
)
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=40))
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)


def drawn(schema: dict):
    """Values of a JSON schema, of the parts that our document uses."""
    if "$ref" in schema:
        return drawn(DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return st.one_of([drawn(one) for one in schema[several]])
    kind = schema["type"]
    if kind == "object":
        return _objects(schema)
    if kind == "array":
        return st.lists(
            drawn(schema["items"]), min_size=schema.get("minItems", 0), max_size=schema.get("minItems", 0) + 3
        )
    plain = {"string": TEXTS, "number": NUMBERS, "integer": st.integers(-3, 300), "boolean": st.booleans()}
    return plain.get(kind, st.none())


def _objects(schema: dict):
    properties, needed = schema.get("properties", {}), schema.get("required", [])
    optional = {key: drawn(one) for key, one in properties.items() if key not in needed}
    return st.fixed_dictionaries({key: drawn(properties[key]) for key in needed}, optional=optional)


def bodies(schema: dict):
    """Mostly as documented, sometimes with a field that is junk, sometimes junk altogether."""
    schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    spoiled = st.builds(_spoiled, _objects(schema), st.sampled_from([*schema["properties"], "frobnicate"]), JUNK)
    return st.one_of(_objects(schema), spoiled, JUNK)


def _spoiled(body: dict, field: str, junk: object) -> dict:
    body = copy.deepcopy(body)
    body[field] = junk
    return body


def requests():
    """(method, path, body) of all operations."""
    drawn_requests = []
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            places = st.sampled_from(["pay", "pay", "pay", "nope", "..", "%2e%2e%2f", "a b", "x" * 300])
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if operation["operationId"] in ("retire", "revoke_token"):
                places = st.sampled_from(["nope", "..", "%00"])
            query = st.sampled_from(["", "?after=1", "?limit=5", "?limit=x", "?after=-1", "?q=%ff"])
            drawn_requests.append(
                st.tuples(
                    st.just(method.upper()),
                    st.builds(_filled, st.just(path), places, query),
                    st.none() if body is None else bodies(body),
                )
            )
    return st.one_of(drawn_requests)


def _filled(path: str, place: str, query: str) -> str:
    filled = path.replace("{name}", place).replace("{id}", place).replace(" ", "%20")
    return "".join(one if one in string.printable else "%C3%A9" for one in filled) + query


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that may be mistreated."""
    one = CuratorProcess(with_dataset(tmp_path_factory.mktemp("fuzz") / "home", epsilon=3), seconds=0.01).start()
    one.token("alice")
    yield one
    one.stop()


@seed(8)
@settings(
    max_examples=trials(200, 10_000),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(request=requests(), who=st.sampled_from(["owner", "owner", "alice", None]))
def test_no_server_error(server, request, who):
    """Whatever comes: a documented status, problem+json where refused, and no 500."""
    method, path, body = request
    raw = None if body is None else json.dumps(body).encode()
    status, payload, headers = server.call(method, path, token=who, raw=raw)
    assert status < 500 or payload["code"] in ("source-failed", "busy"), (request, payload)
    if status >= 400:
        assert headers["Content-Type"] == "application/problem+json", request
        assert {"type", "title", "status", "code", "detail"} == set(payload)
        assert payload["status"] == status
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_broke(server):
    """After all that the server answers, and has counted no unexpected failure."""
    assert server.call("GET", "/healthz", token=None)[0] == 200
    counted = [
        line for line in server.call("GET", "/metrics")[1].splitlines() if line.startswith("dither_failures_total")
    ]
    assert counted == []
    assert '"failure"' not in server.logs()


def test_every_operation_is_documented():
    """Each operation says who may use it, what it answers, and what a refusal looks like."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert "default" in operation["responses"]
            assert operation["security"]
