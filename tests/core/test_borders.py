"""Models of what comes in: paths in errors, exact numbers, and JSON Schema that says what is checked."""

import traceback
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import Field, TypeAdapter, ValidationError

import dither as dt
from dither.borders import (
    Model,
    either,
    followed,
    is_list,
    json_schema,
    listed,
    number,
    pair,
    read,
    read_with,
    tagged,
    whole,
)
from dither.errors import InvalidText, UnknownField
from dither.interfaces.http.models import Ask, Known, NewToken, QuoteBody

MEDIAN = {"kind": "median", "column": "pay"}
ASKED = {"query": MEDIAN, "epsilon": Decimal("0.10")}


@pytest.mark.parametrize(
    ("model", "body", "words"),
    [
        (QuoteBody, ASKED | {"query": [MEDIAN, {"kind": "median", "column": 3}]}, r"query\[1\].column must be a text"),
        (QuoteBody, ASKED | {"query": [MEDIAN, {"kind": "median"}]}, r"query\[1\].column is missing: median needs it;"),
        (QuoteBody, ASKED | {"query": {"kind": "quantile", "column": "x", "q": 7}}, r"query.q must .*; got 7"),
        (QuoteBody, ASKED | {"query": []}, "query must be a list of 1 to 50 queries; got <list>"),
        (QuoteBody, ASKED | {"query": 5}, "query must be an object"),
        (QuoteBody, ASKED | {"query": [MEDIAN, MEDIAN], "weights": [1, "x"]}, r"weights\[1\] must be a finite number"),
        (QuoteBody, {"sql": "x", "epsilon": 1, "weights": {"a": True}}, "weights.a must be a finite number; got True"),
        (QuoteBody, ASKED | {"weights": {"a": 1}}, "weights must be a list of numbers"),
        (QuoteBody, ASKED | {"weights": [1] * 51}, "weights must be a list of at most 50 numbers; got <list>"),
        (QuoteBody, {"sql": "x", "epsilon": 1, "weights": dict.fromkeys(map(str, range(51)), 1)}, "at most 50 numbers"),
        (QuoteBody, {"sql": None, "epsilon": 1}, "sql must be a text of 1 to 20000 characters; got None"),
        (QuoteBody, ASKED | {"sql": None}, "sql must be a text"),
        (QuoteBody, {"query": None, "epsilon": 1}, "query must be an object"),
        (QuoteBody, ASKED | {"epsilon": 0}, "epsilon must be a number above 0; got 0"),
        (QuoteBody, ASKED | {"delta": Decimal("1.5")}, "delta must be a number from 0 to 1; got 1.5"),
        (QuoteBody, ASKED | {"prior": {"kind": "normal", "mean": 1}}, "prior.sd is missing: normal needs it"),
        (QuoteBody, ASKED | {"prior": {"kind": "odd"}}, "prior.kind must be one of lognormal, .*; got 'odd'"),
        (QuoteBody, ASKED | {"by": [1]}, r"by\[0\] must be a text"),
        (QuoteBody, {"query": MEDIAN}, "epsilon is missing"),
        (QuoteBody, ASKED | {"sql": "x"}, "^sql is sent beside query: send either query or sql; got 'x'"),
        (QuoteBody, {"epsilon": 1}, "^query is missing: send either query or sql;"),
        (
            QuoteBody,
            ASKED | {"query": {"kind": "medain"}},
            "kind must be one of .*; did you mean median.; got 'medain'",
        ),
        (QuoteBody, ASKED | {"mechanism": "auto", "calibration": "auto"}, "mechanism is its new name"),
        (Ask, ASKED | {"wait": 1}, "wait must be true or false; got 1"),
        (Ask, {"sql": "x", "epsilon": 1, "rows": 5}, "is used for quotes only"),
        (NewToken, {"name": "a", "budgets": {"pay": {"delta": 0}}}, "budgets.pay.epsilon is missing"),
        (NewToken, {"name": "a", "kinds": ["median", "nope"]}, r"kinds\[1\] must be one of .*; got 'nope'"),
        (NewToken, {"name": "a\nb"}, "name must be a printable text"),
    ],
)
def test_errors_name_the_path_in_the_body(model, body, words):
    """A sentence of the house, with what was given and that nothing was charged."""
    with pytest.raises(dt.InvalidArgument, match=words) as refused:
        read(model, body)
    assert str(refused.value).endswith("nothing was read, nothing was charged")


@pytest.mark.parametrize(
    ("model", "body", "field"),
    [
        (QuoteBody, ASKED | {"wait": True}, "wait"),
        (QuoteBody, ASKED | {"query": [MEDIAN | {"odd\n": 1}]}, "query[0].odd\ufffd"),
        (QuoteBody, ASKED | {"prior": {"kind": "normal", "mean": 1, "sd": 1, "low": 0}}, "prior.low"),
        (NewToken, {"name": "a", "budgets": {"pay": {"epsilon": 1, "slack": 0}}}, "budgets.pay.slack"),
    ],
)
def test_unknown_fields_are_named_at_any_depth(model, body, field):
    """With those that are known."""
    with pytest.raises(UnknownField) as refused:
        read(model, body)
    assert refused.value.field == field
    assert set(refused.value.accepted) > {"kind"} or "epsilon" in refused.value.accepted


_EMPTY = {"kind": "kmeans_cost", "centres": [[]] * 1_700}
_TEXTS = {"kind": "histogram", "column": "x", "edges": ["x"] * 1_000}


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (QuoteBody, ASKED | {"query": [_EMPTY] * 50}),
        (QuoteBody, ASKED | {"query": _EMPTY}),
        (QuoteBody, ASKED | {"query": [_TEXTS] * 50}),
        (QuoteBody, ASKED | {"query": [3] * 50}),
        (QuoteBody, ASKED | {"query": MEDIAN | {"bounds": ["a", "b"]}}),
        (QuoteBody, ASKED | {"query": {"kind": "covariance", "columns": [1] * 100}}),
        (QuoteBody, ASKED | {"by": [1] * 100}),
        (QuoteBody, ASKED | {"weights": ["x"] * 50}),
        (NewToken, {"name": "a", "datasets": [1] * 100}),
    ],
)
def test_reading_stops_at_the_first_error(model, body):
    """However many are wrong, one error is made: a refused body costs no more than its way to that error."""
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    assert refused.value.error_count() == 1


def test_no_entry_is_read_after_a_wrong_one():
    """Counted in a list of lists."""
    read_entries = []

    def noted(entry):
        read_entries.append(entry)
        return entry

    points = listed(listed(followed(number(), noted), 9), 9)
    with pytest.raises(dt.InvalidArgument, match=r"x\[1\]\[1\] must be a finite number"):
        read_with(TypeAdapter(points).validate_python, [[1, 2], [3, "x", 4], [5], ["y"]], "x")
    assert read_entries == [1, 2, 3]


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (QuoteBody, {"sql": "x", "epsilon": 1, "weights": dict.fromkeys(map(str, range(10_000)), "x")}),
        (NewToken, {"name": "a", "budgets": dict.fromkeys(map(str, range(10_000)), 0)}),
    ],
)
def test_the_length_of_an_object_is_looked_at_first(model, body):
    """So that no more errors are made than the object may have values."""
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    assert refused.value.error_count() == 1


def test_numbers_stay_as_they_were_written():
    """No digit is lost on the way into a question."""
    exact = Decimal("0.1000000000000000000000000001")
    asked = read(QuoteBody, {"query": MEDIAN | {"bounds": [exact, 3]}, "epsilon": exact})
    assert asked.epsilon == exact
    assert asked.query.bounds == (exact, 3)


@pytest.mark.parametrize("given", [True, "1", None, float("nan"), float("inf"), Decimal("NaN"), [1], {}])
def test_what_is_no_number(given):
    """Truth values, texts, infinities."""
    with pytest.raises(dt.InvalidArgument, match="x must be a finite number"):
        read_with(TypeAdapter(number()).validate_python, given, "x")


def test_limits_compare_what_is_printed():
    """A decimal 0.2 is not below a float 0.2, and whole numbers of any length are finite."""
    validate = TypeAdapter(number(0.2, 1e300)).validate_python
    assert read_with(validate, Decimal("0.2")) == Decimal("0.2")
    with pytest.raises(dt.InvalidArgument, match=r"from 0.2 to 1e\+300"):
        read_with(validate, 10**400)


def test_the_json_schema_is_that_of_what_is_checked():
    """Limits, needs and alternatives."""

    class Point(Model):
        kind: str
        at: float

    class Place(Model):
        kind: str

    accepted = either(is_list, listed(number(above=0), 5, 1), tagged("kind", {"point": Point, "place": Place}))
    schema = json_schema(TypeAdapter(accepted))
    several, one = schema["anyOf"]
    assert several == {
        "type": "array",
        "items": {"type": "number", "exclusiveMinimum": 0},
        "minItems": 1,
        "maxItems": 5,
    }
    assert one == {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Point", "Place")]}
    assert schema["$defs"]["Point"]["additionalProperties"] is False
    assert json_schema(TypeAdapter(whole(1, 9))) == {"type": "integer", "minimum": 1, "maximum": 9}
    assert json_schema(TypeAdapter(pair(number(), ""))) == {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 2,
        "maxItems": 2,
    }


def test_an_error_of_the_house_is_raised_without_what_pydantic_makes_of_it():
    """One with a class of its own goes through as it is; its traceback shows no ValidationError."""

    def refuse(_):
        raise InvalidText("sql", "SELECT", "no such thing", 0, 1)

    with pytest.raises(InvalidText, match="no such thing") as refused:
        read_with(TypeAdapter(followed(number(), refuse)).validate_python, 1)
    assert "ValidationError" not in "".join(traceback.format_exception(refused.value))


def test_a_hash_is_asked_for_in_words():
    """And a list that is too long, too: no sentence of pydantic is shown."""
    with pytest.raises(dt.InvalidArgument, match="known must be a hash of 64 characters, 0 to 9 and a to f"):
        read(Known, {"known": "xyz"})
    assert read(Known, {"known": "0" * 64}).known == "0" * 64
    several = TypeAdapter(Annotated[list[int], Field(max_length=2)])
    with pytest.raises(dt.InvalidArgument, match="a must have at most 2 entries"):
        read_with(several.validate_python, [1, 2, 3], "a")
