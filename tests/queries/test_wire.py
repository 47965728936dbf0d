"""Queries as JSON: whatever comes ends in a query or an error raised on purpose."""

import json
import math
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import dither as dt
from conftest import trials
from dither.borders import json_schema
from dither.interfaces.http.bodies import parse
from dither.queries.parameters import PARAMETERS
from dither.queries.registry import entries
from dither.queries.wire import catalogue, from_json, required, served, to_json

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 300),
    st.floats(),
    st.text(max_size=12),
    st.decimals(allow_nan=False, allow_infinity=False, places=4),
    st.sampled_from(["pay", "lower", "auto", "exact"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=10,
)


@st.composite
def payloads(draw):
    """Objects that look like queries: known names with known and unknown fields, and any value in them."""
    entry = draw(st.sampled_from(list(served().values())))
    names = draw(st.lists(st.sampled_from([*entry.parameters, *required(entry), "kind", "frobnicate"]), max_size=6))
    return {"kind": entry.name, **{name: draw(_values(entry, name)) for name in names if name != "kind"}}


def _values(entry, name):
    if name not in entry.parameters:
        return JSON
    return st.one_of(JSON, _fitting(json_schema(TypeAdapter(entry.parameters[name].accepts()))))


def _fitting(schema):
    """Values of the parts of JSON Schema that parameters use."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([_fitting(one) for one in schema["anyOf"]])
    if schema["type"] == "array":
        least = schema.get("minItems", 0)
        return st.lists(_fitting(schema["items"]), min_size=least, max_size=min(schema["maxItems"], least + 3))
    return {
        "string": st.sampled_from(["pay", "age", "job"]),
        "boolean": st.booleans(),
        "integer": st.integers(schema.get("minimum", -3), 400),
        "number": st.one_of(st.integers(-5, 500), st.decimals(-1000, 1000, places=3), st.floats(0, 1)),
    }[schema["type"]]


@pytest.mark.slow
@seed(15)
@settings(max_examples=trials(400, 20_000), deadline=None, database=None)
@given(st.one_of(JSON, payloads()))
def test_any_json_is_a_query_or_a_refusal(payload):
    """No other error, whatever the types and sizes; what is accepted can be sent again."""
    try:
        query = from_json(payload)
    except dt.DitherError:
        return
    again = from_json(json.loads(json.dumps(to_json(query))))
    assert type(again) is type(query)
    assert to_json(again) == to_json(query)


def test_decimals_keep_their_exactness():
    """What a client wrote is what the query holds, digit by digit."""
    text = b'{"kind": "median", "column": "pay", "bounds": [0.1000000000000000000001, 3], "step": 0.001}'
    query = from_json(parse(text))
    assert query.bounds == (Decimal("0.1000000000000000000001"), 3)
    assert query.step == Decimal("0.001")


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"kind": "median"}, "query.column is missing: median needs it"),
        ({"kind": "quantile", "column": "pay"}, "query.q is missing: quantile needs it"),
        ({"kind": "quantile", "column": "pay", "q": [0.5]}, "query.q must be a finite number"),
        ({"kind": "median", "column": 3}, "query.column must be a text of 1 to 200 characters; got 3"),
        ({"kind": "median", "column": "pay", "bounds": [0]}, "a list of two numbers"),
        ({"kind": "kmeans", "k": 101}, "query.k must be a whole number from 1 to 100; got 101"),
        ({"kind": "kmeans", "k": 2, "columns": ["x"] * 201}, "at most 200 texts"),
        ({"kind": "kmeans", "k": 2, "blocks": 10**6}, "a whole number from 1 to 100000"),
        ({"kind": "histogram", "column": "pay", "edges": list(range(1001))}, "1 to 1000 numbers"),
        ({"kind": "variance", "column": "pay", "ddof": 2}, "from 0 to 1"),
        ({"kind": "count", "bounds": [0, 5]}, "'query.bounds' is not known here"),
        ({"kind": "chain_sum", "values": [1]}, "query.kind must be .*; got 'chain_sum'"),
        ({"kind": "Median", "column": "pay"}, "query.kind must be .*; got 'Median'"),
        ({"kind": "program", "source": "x", "function": "f", "bounds": [0, 1], "slot": 0.1}, "query.slot"),
        ({"kind": "program", "source": "x", "function": "f", "bounds": [0, 1], "preload": ["a b"]}, "query.preload"),
    ],
)
def test_limits_and_needs_are_said(payload, words):
    """The argument, what was given, and what is accepted; nothing was read."""
    with pytest.raises(dt.DitherError, match=words) as refused:
        from_json(payload)
    assert "nothing was read, nothing was charged" in str(refused.value)


def test_what_only_an_object_can_hold_is_not_sent():
    """Infinite numbers, functions without text, and queries that servers do not have."""
    with pytest.raises(dt.InvalidArgument, match="finite"):
        to_json(dt.Quantile("pay", q=0.5, step=math.inf))
    with pytest.raises(dt.InvalidArgument, match="ask it here"):
        to_json(dt.ChainSum([1, 2]))
    with pytest.raises(dt.InvalidArgument, match="is not sent to a server"):
        to_json(dt.Program(len, bounds=(0, 1), executor="trusted"))
    with pytest.raises(dt.InvalidArgument, match="is not sent to a server with count"):
        to_json(dt.Count("flag", bounds=(0, 3)))


def test_every_field_has_a_parameter():
    """A new query with a new field declares it where it registers; the table has no leftovers."""
    used = {name for entry in entries().values() if entry.has("http") for name in entry.parameters}
    assert set(PARAMETERS) <= used
    for entry in served().values():
        assert set(required(entry)) <= set(entry.parameters)


def test_the_catalogue_has_every_query_with_a_place_in_the_menu():
    """Each once, in groups that are not scattered; every needed field is in the form."""
    listed = catalogue()
    assert sorted(one["name"] for one in listed) == sorted(served())
    groups = [one["group"] for one in listed]
    assert [group for place, group in enumerate(groups) if group not in groups[:place]] == list(dict.fromkeys(groups))
    assert sum(a != b for a, b in pairwise(groups)) == len(set(groups)) - 1
    assert listed[0]["name"] == "median"
    for one in listed:
        assert not [field for field in one["fields"] if field["required"] and field["advanced"]]
        assert len({each["label"] for each in listed if each["group"] == one["group"]}) == groups.count(one["group"])
    json.dumps(listed, allow_nan=False)
