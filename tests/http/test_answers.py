"""What a client takes for an answer: the types that queries release, and nothing that a broken server may send."""

import dataclasses
import io
import json
import math
from decimal import Decimal
from types import SimpleNamespace

import pytest

import dither as dt
from dither.borders import read
from dither.interfaces import answers, client, strict_json
from dither.interfaces.client import RemoteSession, ServerRefused
from dither.plain import MOST_ANSWERED, plain
from dither.queries.registry import released_types
from dither.queries.wire import served
from server_answers import QUOTE, RELEASE


def answering(text: str) -> RemoteSession:
    """A session whose server says this to everything."""
    session = RemoteSession("http://curator.example", token="x", dataset="pay")
    session._opener = SimpleNamespace(open=lambda *_, **__: io.BytesIO(text.encode()))
    return session


def released(**changed: object) -> RemoteSession:
    """A session whose server answers every question with this release."""
    return answering(json.dumps({"releases": [RELEASE | changed], "epsilon": 1.0, "delta": 0.0}))


NESTED = {"a": {"b": [1]}}
SEVERAL = {"value": [1, 2], "labels": ["a", "b"], "interval": [[0, 1], [1, 2]]}
HOSTILE = [
    ("value", {"value": NESTED}),
    ("value", {"value": "many"}),
    ("value", {"value": "NaN"}),
    ("value", {"value": "Infinity"}),
    ("value", {"value": True}),
    ("value", {"value": 2.5}),
    ("value", {"value": [3], "interval": None}),
    ("value", {"value": [[[3]]], "interval": None}),
    ("value", {"value": [{}]}),
    ("interval", {"interval": 3}),
    ("interval", {"interval": "3 to 4"}),
    ("interval", {"interval": NESTED}),
    ("interval", {"interval": [1]}),
    ("interval", {"interval": [1, 2, 3]}),
    ("interval", {"interval": ["NaN", 2]}),
    ("interval", {"interval": ["low", "high"]}),
    ("interval", {"interval": [None, 2]}),
    ("interval", {"interval": [[1, 2], [1, 2]]}),
    ("interval", {"value": None}),
    ("refused", {"refused": "no"}),
    ("confidence", {"confidence": "0.95"}),
    ("confidence", {"confidence": 95}),
    ("confidence", {"confidence": True}),
    ("missing", {"missing": NESTED}),
    ("missing", {"missing": [[1]]}),
    ("labels", {"labels": "ab"}),
    ("labels", {"labels": NESTED}),
    ("group", {"group": {"job": [1]}}),
    ("group", {"group": {str(one): one for one in range(1_001)}}),
    ("epsilon", {"epsilon": "1"}),
    ("epsilon", {"epsilon": -1}),
    ("delta", {"delta": 2}),
    ("query", {"query": 3}),
    ("query", {"query": None}),
    ("calibration", {"calibration": []}),
    ("noise", {"noise": 1}),
    ("mechanism", {"mechanism": {}}),
    ("reason", {"reason": []}),
    ("alias", {"alias": 1}),
    ("claim", {"claim": {}}),
    ("neighbours", {"neighbours": None}),
]


@pytest.mark.parametrize(("field", "changed"), HOSTILE, ids=[f"{one[0]}-{place}" for place, one in enumerate(HOSTILE)])
def test_no_field_of_a_release_takes_what_it_does_not_hold(field, changed):
    """An error of dither's own, which names the field and says what to do."""
    with pytest.raises(ServerRefused, match=rf"releases\[0\]\.{field}.* (must|is) ") as refused:
        released(**changed).ask(dt.Count(), epsilon=1)
    assert (refused.value.status, refused.value.code) == (502, "malformed")
    assert "check that this is the address of a dither server" in str(refused.value)
    assert "pydantic" not in str(refused.value)
    assert "Input" not in str(refused.value)


@pytest.mark.parametrize("field", sorted(RELEASE.keys() - {"mechanism"}))
def test_no_field_of_a_release_may_be_left_out(field):
    """The mechanism may: 0.1.0 had another name for it."""
    rest = {name: one for name, one in RELEASE.items() if name != field}
    with pytest.raises(ServerRefused, match=f"{field} is missing"):
        answering(json.dumps({"releases": [rest], "epsilon": 1, "delta": 0})).ask(dt.Count(), epsilon=1)


HOSTILE_QUOTES = [
    (field, {field: wrong} | more)
    for field, wrongs in {
        "expected_error": ["1", "NaN", "-Infinity", -1, NESTED, [[1]], True, [None]],
        "bound": ["3", "NaN", -1, NESTED, [[1]], True, ["x"]],
        "confidence": ["0.95", 95, NESTED, True],
        "kind": ["guess", 1, []],
        "attained": ["yes", 1, None],
        "prior": [1, NESTED],
        "rows": ["5", -1, 1.5],
        "assumptions": ["a", [1], NESTED],
        "groups": ["5", -1, 1.5],
        "labels": ["a", [1], NESTED],
        "bar": ["3", -1, NESTED],
        "alternatives": [[], {"smooth": "NaN"}, {"smooth": -1}, {"smooth": NESTED}],
        "epsilon": ["1", -1],
        "mechanism": [1],
        "noise": [1],
        "query": [None, 1],
    }.items()
    for wrong in wrongs
    for more in ({},)
]


@pytest.mark.parametrize(
    ("field", "changed"), HOSTILE_QUOTES, ids=[f"{one[0]}-{place}" for place, one in enumerate(HOSTILE_QUOTES)]
)
def test_no_field_of_a_quote_takes_what_it_does_not_hold(field, changed):
    """The same for quotes."""
    with pytest.raises(ServerRefused, match=rf"quotes\[0\]\.{field}.* (must|is) ") as refused:
        answering(json.dumps({"quotes": [QUOTE | changed]})).quote(dt.Count(), epsilon=1)
    assert (refused.value.status, refused.value.code) == (502, "malformed")


def test_as_many_bounds_as_errors():
    """Of several numbers."""
    for bound in (3.0, [1.0], None):
        with pytest.raises(ServerRefused, match="bound must be as many"):
            answering(json.dumps({"quotes": [QUOTE | {"expected_error": [1, 2], "bound": bound}]})).quote(
                dt.Count(), epsilon=1
            )
    quoted = answering(json.dumps({"quotes": [QUOTE | {"expected_error": "Infinity"}]})).quote(dt.Count(), epsilon=1)
    assert quoted.expected_error == math.inf


def test_quotes_without_figures_are_printed():
    """A server sends no kind and no confidence where the error is not worked out; ``dither quote --server`` says so."""
    nothing = {"expected_error": None, "bound": None, "kind": None, "confidence": None}
    quoted = answering(json.dumps({"quotes": [QUOTE | nothing]})).quote(dt.Count(), epsilon=1)
    assert "not worked out beforehand" in str(quoted)
    assert "expected error 1" in str(answering(json.dumps({"quotes": [QUOTE]})).quote([dt.Count()], epsilon=1)[0])


@pytest.mark.slow
def test_a_huge_answer_is_not_read(monkeypatch):
    """Neither a body of any length, nor lists of any length."""
    monkeypatch.setattr(client, "LONGEST_ANSWER", 1_000)
    with pytest.raises(ServerRefused, match="more than 1,000 bytes, so ask for fewer groups or queries at once"):
        released(query="x" * 1_000).ask(dt.Count(), epsilon=1)
    for name, changed in (
        ("value", {"value": [0] * (answers.MOST_VALUES + 1), "interval": None}),
        ("interval", {"interval": [0] * (answers.MOST_VALUES + 1)}),
        ("missing", {"missing": [0] * (answers.MOST_VALUES + 1)}),
        ("labels", {"labels": ["a"] * (answers.MOST_VALUES + 1)}),
    ):
        with pytest.raises(dt.InvalidArgument, match=rf"{name} must .*4,?194,?304"):
            read(answers.ReleaseAnswer, RELEASE | changed)


def test_answers_are_of_the_type_that_was_asked_for():
    """A list is no median, a text no count; of SQL, which may ask for anything, each is an answer."""
    for query, changed in (
        (dt.Median("pay"), SEVERAL),
        (dt.Median("pay"), {"value": "clerk", "interval": None}),
        (dt.Quantiles("pay", q=(0.1, 0.9)), {}),
        (dt.KMeans(["pay"], k=2, bounds=(0, 10)), SEVERAL),
        (dt.Mode("job"), {"value": "clerk"}),
        (dt.Sum("pay"), {"value": "2024-01-31", "interval": None}),
    ):
        with pytest.raises(ServerRefused, match=r"releases\[0\]\.(value|interval)"):
            released(**changed).ask(query, epsilon=1)
    for changed in (SEVERAL, {}, {"value": "clerk", "interval": None}, {"value": "2024-01-31", "interval": None}):
        assert released(**changed).sql("SELECT ...", epsilon=1).query == "count"
    dates = {"value": "2024-01-31", "interval": ["2024-01-01", "2024-02-29"]}
    assert released(**dates).ask(dt.Median("day"), epsilon=1).value == "2024-01-31"
    both = json.dumps({"releases": [RELEASE, RELEASE | SEVERAL], "epsilon": 1, "delta": 0})
    asked = answering(both).ask([dt.Count(), dt.Histogram("job")], epsilon=1)
    assert [one.value for one in asked] == [3.0, (1, 2)]


def test_every_query_declares_what_it_releases():
    """So that there is a model of its answers, which takes no text, no NaN, no object and no nested list too many."""
    for name, entry in served().items():
        model = answers.values_model(name)
        value, _ = released_types(entry.query)
        for wrong in ({"a": 1}, "NaN", [[[[1]]]], [{}], math.nan, math.inf):
            if entry.query is dt.Mode and wrong == "NaN":
                continue  # a category may have any name
            with pytest.raises(dt.InvalidArgument):
                read(model, {"value": wrong, "interval": None})
            with pytest.raises(dt.InvalidArgument):
                read(model, {"value": None, "interval": wrong})
        assert read(model, {"value": None, "interval": None}), (name, value)


COLUMN = [float(one % 97) for one in range(400)]
TABLE = {"pay": COLUMN, "age": [float(one % 31) for one in range(400)]}
RELEASED = {
    "median": lambda: dt.median(COLUMN, bounds=(0, 100), epsilon=1.0),
    "quantiles": lambda: dt.quantiles(COLUMN, q=(0.25, 0.75), bounds=(0, 100), epsilon=1.0),
    "count": lambda: dt.count(COLUMN, epsilon=1.0),
    "sum": lambda: dt.sum(COLUMN, bounds=(0, 100), epsilon=1.0),
    "histogram": lambda: dt.histogram(COLUMN, edges=(0, 50, 100), epsilon=1.0),
    "mode": lambda: dt.mode(["bus"] * 900 + ["car"] * 100, epsilon=20.0, delta=1e-3),
    "mean_vector": lambda: dt.mean(TABLE, bounds=(0, 100), epsilon=1.0),
    "covariance": lambda: dt.covariance(TABLE, bounds=(0, 100), epsilon=1.0),
    "least_squares": lambda: dt.least_squares(TABLE, bounds=[(0, 100), (0, 100)], epsilon=1.0),
    "kmeans": lambda: dt.kmeans(TABLE, k=2, bounds=(0, 100), epsilon=50.0, delta=1e-2),
    "edges": lambda: dt.edges(dt.Graph([(0, 1), (1, 2)], n=4), epsilon=1.0),
    "std": lambda: dt.std(COLUMN, bounds=(0, 100), epsilon=1.0),
    "scale": lambda: dt.scale(COLUMN, epsilon=5.0, delta=1e-3),
}


@pytest.mark.parametrize("name", sorted(RELEASED))
def test_what_is_released_is_read_back(name):
    """Real releases of every declared type, through JSON: the same value and interval, and of the declared kind."""
    release = RELEASED[name]()
    text = strict_json.text_of(plain(release.to_dict()))
    payload = strict_json.parse(text.encode(), MOST_ANSWERED)
    read(answers.ReleaseAnswer, payload)
    read(answers.values_model(name), {part: payload[part] for part in ("value", "interval")})
    body = json.dumps({"releases": [json.loads(text)], "epsilon": 1.0, "delta": 0.0})
    again = answering(body).sql("SELECT ...", epsilon=1)
    assert dataclasses.replace(again, missing=release.missing) == release


def test_digits_survive_in_both_directions():
    """Numbers that no float prints stay decimals; losses are rounded up, budgets down, as everywhere."""
    digits = "0.1234567890123456789012345"
    body = json.dumps({"releases": [RELEASE], "epsilon": 1.0, "delta": 0.0}).replace("3.0", digits)
    assert answering(body).sql("SELECT ...", epsilon=1).value == Decimal(digits)
    above = "0.10000000000000000000001"
    loss = answering(body.replace('"epsilon": 1.0', f'"epsilon": {above}')).sql("SELECT ...", epsilon=1).loss
    assert loss.epsilon == math.nextafter(0.1, 1)
    tenths = answering(body.replace(digits, "0.10")).sql("SELECT ...", epsilon=1)
    assert (type(tenths.value), tenths.value) == (float, 0.1)
    large = answering(body.replace(digits, "1" + "0" * 200)).sql("SELECT ...", epsilon=1).value
    assert (type(large), large) == (int, 10**200)
    assert answering(body.replace(digits, "1e-300")).sql("SELECT ...", epsilon=1).value == 1e-300
    sent = []
    session = answering(body)
    session._opener = SimpleNamespace(
        open=lambda request, **_: (sent.append(request.data), io.BytesIO(body.encode()))[1]
    )
    session.sql("SELECT ...", epsilon=Decimal(digits))
    assert strict_json.parse(sent[0])["epsilon"] == Decimal(digits)


def test_declared_decimals_leave_a_server_with_all_digits():
    """Bounds of a schema, which are exact: as numbers of JSON."""
    from dither.interfaces.http.bodies import json_response

    digits = "12345678901234567.89012345"
    response = json_response({"bounds": [Decimal(digits), Decimal("0.1"), Decimal("1e9999")], "end": math.inf})
    assert response.body.decode() == f'{{"bounds": [{digits}, 0.1, "Infinity"], "end": "Infinity"}}'
    assert strict_json.parse(response.body)["bounds"][0] == Decimal(digits)


PROBLEM = {"type": "about:blank", "title": "no", "status": 422, "code": "invalid-argument", "detail": "x must be 1"}


@pytest.mark.parametrize("field", sorted(PROBLEM))
def test_problems_have_one_shape(field):
    """For servers, OpenAPI and clients; a broken one still ends in an error of dither's own."""
    import email.message
    import urllib.error

    from dither.interfaces.http.openapi import document
    from dither.interfaces.http.problems import malformed, problem

    assert set(problem(malformed("x")).model_dump()) == set(PROBLEM)
    assert set(document()["components"]["schemas"]["Problem"]["required"]) == set(PROBLEM)

    def refuse(payload):
        def opened(*_, **__):
            body = io.BytesIO(json.dumps(payload).encode())
            raise urllib.error.HTTPError("http://curator.example", 422, "no", email.message.Message(), body)

        session = answering("{}")
        session._opener = SimpleNamespace(open=opened)
        with pytest.raises(dt.DitherError) as refused:
            session.ask(dt.Count(), epsilon=1)
        return refused.value

    assert isinstance(refuse(PROBLEM), dt.InvalidArgument)
    for wrong in ([], {"a": 1}, None) if field != "status" else ():
        error = refuse(PROBLEM | {field: wrong})
        assert (error.status, error.code) == (422, "malformed")
        assert "did not say why" in str(error)
