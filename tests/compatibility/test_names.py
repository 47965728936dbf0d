"""Names of version 0.1.0: Python, command line, HTTP and SQL.  What is removed is listed here with its reason."""

import inspect
import re
import warnings
from pkgutil import resolve_name

import click
import pytest

import dither as dt
from compatibility.laying import HERE, command_line, kept, lay_data, run, session
from curators import CuratorProcess
from dither import typing

PLANNING = "planning is plan(facts, options) and asking is dt.ask(query, data) for every query; it was not documented"
REMOVED: dict[str, str] = {
    "dither.Session.inspected": "served dt.inspect alone, which takes where= and by= since and has other means",
    **dict.fromkeys(
        (
            *(f"dither.Session.{name}" for name in ("answer", "answer_statement", "answers", "close_source")),
            *(f"dither.GraphSession.{name}" for name in ("answer", "answers", "close_source", "inspected")),
        ),
        "a part of ask, sql, close and dt.inspect that only dither calls; it was not documented",
    ),
    "dither.KMeans.planned": PLANNING,
    "dither.KMeans.released": PLANNING,
    "dither.KMeans.plan(records)": PLANNING,
    "dither.KMeans.plan(dimensions)": PLANNING,
    "dither.KMeans.plan(loss)": PLANNING,
    "dither.KMeans.plan(miss)": PLANNING,
    "dither.GaussianMixture.planned": PLANNING,
    "dither.GaussianMixture.released": PLANNING,
    "dither.GaussianMixture.plan(records)": PLANNING,
    "dither.GaussianMixture.plan(dimensions)": PLANNING,
    "dither.GaussianMixture.plan(loss)": PLANNING,
    "dither.GaussianMixture.plan(miss)": PLANNING,
    "dither.Program.open": PLANNING,
    "dither.Program.ask(rows)": PLANNING,
    "dither.Program.plan(people)": PLANNING,
    "dither.Program.plan(loss)": PLANNING,
    "dither.Program.plan(confidence)": PLANNING,
    "dither.Regression.answer": PLANNING,
    "dither.Regression.plan(model)": PLANNING,
    "dither.Regression.plan(loss)": PLANNING,
    "dither.Regression.plan(miss)": PLANNING,
    "dither.Covariance(column)": "it did nothing: columns= names those that are asked about",
    "dither.MeanVector(column)": "it did nothing: columns= names those that are asked about",
    "dither.Release.from_dict(told)": "its one argument is called payload",
    "dither.Release(calibration)": "releases are made by dither; the field is called mechanism, .calibration reads it",
    "dither.Quote(calibration)": "quotes are made by dither; the field is called mechanism, .calibration reads it",
    "dither.Quote(bar)": "quotes are made by dither; the field is called half_width, .bar reads it",
}
"""Names, members ("dither.Release.plot"), parameters ("dither.median(step)"), options ("dither ask --step"), routes
("GET /v1/me", "POST /v1/tokens name") and SQL functions that 0.1.0 had and that are gone, each with the reason."""
RENAMED = {"calibration": "mechanism", "kind": "filter"}
"""Parameters with a new name: the old one is still accepted, with a warning, though signatures show the new one."""
CHANGED_DEFAULTS: dict[str, str] = dict.fromkeys(
    ("dither.Schema(rows_per_unit)", "dither.open(rows_per_unit)"),
    "the rows of a person that count are declared, never assumed",
)
"""Parameters with another default than in 0.1.0, each with the reason."""


def looked_up(name):
    """A public object; old names may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, _, last = name.rpartition(".")
        return getattr(resolve_name(module), last)


def listed_options(parameters):
    """The keywords that ``**options: Unpack[X]`` lists."""
    listed = [re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation)) for one in parameters.values()]
    return {name for one in listed if one for name in getattr(getattr(typing, one[1], None), "__annotations__", ())}


def parameter_problems(name, old, called):
    """Parameters that are gone, that can no longer be given as before, or whose default is another."""
    if old is None:
        return
    try:
        new = inspect.signature(called).parameters
    except (TypeError, ValueError):
        yield f"{name} is no longer called"
        return
    takes_any = takes_any_keyword(called)
    positional = [one for one in new.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    known, listed = {one[0] for one in old}, listed_options(new)
    for place, (parameter, kind, default) in enumerate(old):
        here = f"{name}({parameter})"
        if here in REMOVED or parameter in listed:
            continue
        if parameter not in new:
            if not takes_any or RENAMED.get(parameter) not in new:
                yield f"{here} is gone"
        elif kind == "KEYWORD_ONLY" and new[parameter].kind.name not in ("KEYWORD_ONLY", "POSITIONAL_OR_KEYWORD"):
            yield f"{here} can't be given by name"
        elif kind == "POSITIONAL_OR_KEYWORD" and (
            new[parameter].kind.name != kind or positional.index(new[parameter]) != place
        ):
            yield f"{here} has another place"
        elif default is not None and here not in CHANGED_DEFAULTS:
            now = new[parameter].default
            if now is inspect.Parameter.empty:
                yield f"{here} has no default"
            elif "<" not in default and repr(now) != default:
                yield f"{here} is {now!r} by default instead of {default}"
    for parameter, one in new.items():
        variable = one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        instead = any(f"{name}({each})" in REMOVED for each in known - set(new))
        if parameter not in known and one.default is inspect.Parameter.empty and not variable and not instead:
            yield f"{name}({parameter}) is needed, and was not there"


def takes_any_keyword(called):
    """Whether the outermost function takes keywords that its signature does not show."""
    try:
        taken = inspect.signature(called, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.kind is one.VAR_KEYWORD for one in taken)


def problems(name, old):
    """What is missing of one public name."""
    if name in REMOVED:
        return
    try:
        found = looked_up(name)
    except (AttributeError, ImportError):
        yield f"{name} is gone"
        return
    if old["is"] == "error":
        if found.code != old["code"]:
            yield f"{name} has the code {found.code} instead of {old['code']}"
        return
    yield from parameter_problems(name, old.get("parameters"), found)
    for member, one in old.get("members", {}).items():
        here = f"{name}.{member}"
        if here in REMOVED:
            continue
        if old["is"] == "module":
            yield from problems(here, one)
        elif (
            not hasattr(found, member)
            and member not in getattr(found, "__annotations__", {})
            and not in_fields(found, member)
        ):
            yield f"{here} is gone"
        elif "parameters" in one:
            static = inspect.getattr_static(found, member)
            plain = static.__func__ if isinstance(static, (classmethod, staticmethod)) else static
            yield from parameter_problems(here, one["parameters"], plain)


ONE_LINE = {
    "median": {},
    "quantile": {"q": 0.5},
    "quantiles": {"q": [0.5]},
    "minimum": {},
    "maximum": {},
    "sum": {},
    "mean": {},
    "trimmed_mean": {},
    "variance": {},
    "iqr": {},
}


@pytest.mark.parametrize("name", sorted(ONE_LINE))
def test_the_old_keyword_still_chooses_the_mechanism(name):
    """``calibration=`` in one-line functions; sessions and statements are covered by the stored questions."""
    given = {"bounds": (0, 100), "epsilon": 1.0, "confidence": None, **ONE_LINE[name]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = getattr(dt, name)(list(range(100)), calibration="worst_case", **given)
    assert release.to_dict()["calibration"] == "worst_case"


CALLS = [
    "pay.quote(dt.Median('pay'), epsilon=0.5, calibration='smooth', noise='cauchy', where='age > 40', by='job')",
    "pay.quote([dt.Median('pay'), dt.Mean('pay')], epsilon=0.5, delta=0, weights=[1, 2], confidence=None)",
    "pay.quote('SELECT median(pay) FROM pay', epsilon=0.5, prior=dt.Normal(60_000, 20_000), rows=240)",
    "pay.least_epsilon(dt.Mean('pay'), target_error=5_000, calibration='worst_case', of='bound')",
    "pay.plan(dt.Median('pay'), epsilon=0.5, calibration='smooth')",
    "pay.plans([dt.Median('pay'), dt.Mean('pay')], epsilon=0.5, calibration='smooth', weights=[1, 2])",
    "dt.quote(dt.Median('pay'), pay.schema, epsilon=0.5, calibration='smooth')",
    "dt.quote('SELECT median(pay) FROM pay', pay.schema, epsilon=0.5, calibration=dt.Smooth(beta=0.1))",
    "dt.least_epsilon(dt.Mean('pay'), pay.schema, target_error=5_000, calibration='worst_case')",
    "dt.ask(dt.Median(bounds=(0, 100)), list(range(100)), epsilon=0.5, calibration='smooth')",
    "dt.ask(dt.Regression(), (list(range(4000)), list(range(4000))), epsilon=4)",
    "dt.ask(dt.Program(len, bounds=(0, 100), executor='trusted'), list(range(100)), epsilon=4)",
    "dt.median(list(range(100)), epsilon=4)",
    "dt.quantile(list(range(100)), q=0.9, epsilon=5, calibration='inverse')",
    "dt.scale(list(range(4000)), epsilon=4, delta=1e-6, calibration='propose_test')",
    "dt.mode(['a'] * 90 + ['b'], epsilon=4, delta=1e-6)",
    "dt.covariance([list(range(100))] * 2, bounds=(0, 100), epsilon=4, calibration='worst_case')",
    "dt.histogram(['a', 'b'] * 50, categories=['a', 'b'], epsilon=4, calibration='worst_case')",
    "dt.count([True, False], epsilon=4, calibration='worst_case')",
    "dt.triangles(dt.Graph([(0, 1), (1, 2), (0, 2)], n=5), epsilon=4, calibration='ladder')",
    "dt.inspect.value(dt.Median(bounds=(0, 9)), [1, 2, 3])",
    "dt.inspect.ladder(dt.Median(bounds=(0, 9)), [1, 2, 3], rungs=2)",
    "dt.inspect.smooth(dt.Median(bounds=(0, 9)), [1, 2, 3], beta=0.1, algorithm='linear')",
    "dt.compose([dt.Loss(0.1)] * 3)",
    "dt.budget_for(dt.Loss(0.1), dt.Budget(1.0))",
    "friends.quote(dt.Triangles(), epsilon=0.5, calibration='smooth')",
    "friends.plan(dt.Triangles(), epsilon=0.5, calibration='smooth')",
]
"""Calls of 0.1.0 that store nothing; the stored questions have the others."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A table and a graph."""
    folder = lay_data(tmp_path_factory.mktemp("names") / "old")
    with session("pay", folder, ":memory:") as pay, session("friends", folder, ":memory:") as friends:
        yield {"folder": folder, "pay": pay, "friends": friends}


@pytest.mark.parametrize("statement", CALLS)
def test_a_call_is_still_accepted(statement, opened):
    """Whatever it returns."""
    run(statement, **opened)


def test_what_is_listed_as_removed_is_missing():
    """An entry of the list that is no longer needed is taken out."""
    listed = dict(REMOVED)
    REMOVED.clear()
    try:
        missing = "\n".join(one for name, old in kept("names").items() for one in problems(name, old))
    finally:
        REMOVED.update(listed)
    assert [one for one in listed if one.startswith("dither.") and f"{one} is gone" not in missing] == []


def in_fields(found, member):
    """Fields without a default are no attributes of their class."""
    return any(member in getattr(base, "__annotations__", {}) for base in getattr(found, "__mro__", ()))


@pytest.mark.parametrize("name", sorted(kept("names")))
def test_a_public_name_is_still_there(name):
    """With its parameters and members."""
    wrong = [*problems(name, kept("names")[name])]
    assert not wrong, "\n".join(wrong)


def test_all_of_all_is_looked_at():
    """Every name of ``dither.__all__`` of 0.1.0 that was not removed is in today's."""
    old = {name.removeprefix("dither.") for name in kept("names") if name.count(".") == 1}
    assert len(old) > 100
    assert old - {name.removeprefix("dither.") for name in REMOVED} <= set(dt.__all__) | set(dir(dt))


@pytest.mark.parametrize("name", sorted(kept("options")))
def test_a_command_has_its_options(name):
    """Every spelling of every option; nothing is needed that was not."""
    found = command_line()
    for word in name.split()[1:]:
        found = found.get_command(click.Context(found), word)
        assert found is not None or name in REMOVED, f"{name} is gone"
    old = kept("options")[name]
    spellings = {word for one in found.params for word in (*one.opts, *one.secondary_opts)}
    lost = [f"{name} {word}" for one in old["options"] for word in one if word not in spellings]
    assert not [one for one in lost if one not in REMOVED]
    needed = {one.opts[0] for one in found.params if isinstance(one, click.Option) and one.required}
    assert needed <= set(old["required"])
    assert len([one for one in found.params if isinstance(one, click.Argument)]) == len(old["arguments"])


def fields_of(document, operation):
    """The fields of a request's body, with references followed: {path of the field}, and those that are needed."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    found, needed = set(), set()

    def walk(schema, at):
        if "$ref" in schema:
            where = document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                where = where[part]
            walk(where, at)
        for key in ("anyOf", "oneOf", "allOf"):
            for one in schema.get(key, ()):
                walk(one, at)
        if "items" in schema:
            walk(schema["items"], at)
        kind = schema.get("properties", {}).get("kind", {}).get("const")
        here = at if kind is None else f"{at}<{kind}>"
        for name, one in schema.get("properties", {}).items():
            found.add(f"{here}.{name}")
            walk(one, f"{here}.{name}")
        needed.update(f"{here}.{name}" for name in schema.get("required", ()))
        found.update(f"{at} {one}" for one in schema.get("enum", ()) if isinstance(one, str))

    walk(body, "")
    return found, needed


@pytest.mark.slow
def test_routes_are_still_there(tmp_path):
    """Methods, parameters, fields of bodies and kinds of queries of the OpenAPI document."""
    curator = CuratorProcess(tmp_path / "home").start()
    try:
        new = curator.call("GET", "/openapi.json", token=None)[1]
    finally:
        curator.stop()
    old, wrong = kept("openapi"), []
    for path, methods in old["paths"].items():
        for method, one in methods.items():
            route = f"{method.upper()} {path}"
            here = new["paths"].get(path, {}).get(method)
            if here is None:
                wrong.append(route)
                continue
            (fields, _), (today, needed) = fields_of(old, one), fields_of(new, here)
            wrong += [f"{route} {field}" for field in fields - today]
            # The server of 0.1.0 refused queries without these; its description did not say so.
            known = r"\.query<\w+>\.(column|q|k|rank)|\.prior<\w+>\.\w+"
            always = {field for field in needed if re.fullmatch(known, field)}
            wrong += [f"{route} needs {field}" for field in needed & fields - fields_of(old, one)[1] - always]
            given = {(each["name"], each["in"]) for each in here.get("parameters", ())}
            wrong += [
                f"{route} ?{name}" for name, kind in {(e["name"], e["in"]) for e in one.get("parameters", ())} - given
            ]
            wrong += [f"{route} {status}" for status in set(one["responses"]) - set(here["responses"])]
    assert not [one for one in wrong if one not in REMOVED], "\n".join(sorted(wrong))
    assert sum(map(len, old["paths"].values())) == 18


FORMS = {
    "count": "count(*)",
    "count_if": "count_if(active)",
    "countif": "countif(active)",
    "quantile": "quantile(pay, 0.9)",
    "quantile_disc": "quantile_disc(pay, 0.9)",
    "quantiles": "quantiles(pay, 0.1, 0.9)",
    "percentile_disc": "percentile_disc(0.9) WITHIN GROUP (ORDER BY pay)",
    "histogram": "histogram(job)",
}


@pytest.mark.parametrize("name", kept("sql"))
def test_a_function_of_sql_is_still_offered(name):
    """Planned from the schema alone, which reads nothing."""
    with dt.open(HERE / "datasets" / "pay.toml", ledger=":memory:") as session:
        plans = session.quote(f"SELECT {FORMS.get(name, f'{name}(pay)')} FROM pay", epsilon=1.0)
        assert plans
