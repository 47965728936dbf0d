"""Every registered query through every door, on a small dataset; what a door does not have it says in one line.

A new query needs no line here: what is asked follows from the table of parameters and from what the query is asked of.
"""

import contextlib
import json
import pickle
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from curators import CuratorProcess
from dither.interfaces.cli.main import main
from dither.interfaces.http.planning import planned
from dither.interfaces.http.questions import question_of
from dither.mechanisms.choice import MECHANISMS
from dither.queries.documentation import page
from dither.queries.registry import entries, positionals
from dither.queries.wire import catalogue, from_json, served, to_json
from dither.session.plan import plan

DOORS = ("function", "ask", "session", "quote", "sql", "cli", "http", "page", "client", "docs", "audit")
OWN_CODE = {"custom", "finite_space"}
"""The owner's own functions: asked by ``dt.ask``, and ``custom`` in sessions (tests/queries/test_custom.py)."""
OWN = ("distance_to_property", "metric_release", "norm_release", "low_sample_release", "cascade")
ALLOWED = {("program", "sql")} | {(name, door) for name in ("chain_sum", *OWN_CODE) for door in DOORS}
ALLOWED -= {("custom", "session"), ("custom", "quote")}
ALLOWED |= {(name, door) for name in OWN for door in ("sql", "cli", "http", "page", "client")}
"""The cells that may be exempt: SQL holds no program text; the data of a chain sum are a place in a public chain; a
Python function of the owner's runs in the owner's process alone."""
ROWS = 4_000
LOSS = {"epsilon": 20.0, "delta": 1e-4}
COLUMNS = {"real": "x", "boolean": "flag", "category": "job"}
EDGES = [(a, b) for a in range(12) for b in range(a + 1, 12) if (a * b) % 3 != 1]
SCHEMAS = {
    "owners": """[dataset]
source = "people.csv"
unit = "job"
rows_per_unit = 3
[budget]
epsilon = 100000
delta = 0.5
[columns.x]
type = "real"
bounds = [0, 100]
""",
    "people": f"""[dataset]
source = "people.csv"
rows = {ROWS}
[budget]
epsilon = 100000
delta = 0.5
[columns.x]
type = "real"
bounds = [0, 100]
[columns.y]
type = "real"
bounds = [0, 100]
[columns.flag]
type = "boolean"
[columns.job]
type = "category"
values = ["clerk", "nurse"]
""",
    "friends": """[dataset]
source = "friends.csv"
[graph]
vertices = 12
[budget]
epsilon = 100000
delta = 0.5
""",
    "streets": """[dataset]
source = "streets.csv"
[graph]
vertices = 12
ends = ["from", "to"]
weight = "km"
cap = 10
step = 1
[budget]
epsilon = 100000
delta = 0.5
""",
}
SOURCE = "def rows(block):\n    return float(len(block))\n"


def columns():
    """Four columns of generated people; y follows x."""
    drawn = np.random.default_rng(15)
    x = drawn.uniform(0, 50, ROWS)
    return {
        "x": x,
        "y": x + drawn.uniform(0, 50, ROWS),
        "flag": drawn.integers(0, 2, ROWS).astype(bool),
        "job": ["nurse" if place % 3 else "clerk" for place in range(ROWS)],
    }


def write(folder: Path) -> Path:
    """The data of all schemas as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    table = columns()
    lines = [f"{x:.4f},{y:.4f},{str(flag).lower()},{job}" for x, y, flag, job in zip(*table.values(), strict=True)]
    (folder / "people.csv").write_text("x,y,flag,job\n" + "\n".join(lines) + "\n")
    (folder / "friends.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    (folder / "streets.csv").write_text("from,to,km\n" + "".join(f"{a},{b},{1 + (a + b) % 9}\n" for a, b in EDGES))
    return folder


OF_OWNERS = {
    "distance_to_property": dt.DistanceToProperty(distance=lambda rows: len(rows["x"]) // 2),
    "metric_release": dt.MetricRelease(
        function=lambda rows: "many" if len(rows["x"]) > 9 else "few",
        space=dt.MetricSpace.of(["few", "many"], [[0, 1], [1, 0]]),
        sensitivity=1,
    ),
    "norm_release": dt.NormRelease(function=lambda rows: [len(rows["x"]), 1.0], dimension=2, sensitivity=1),
    "low_sample_release": dt.LowSampleRelease(
        function=lambda rows: len(rows["x"]) / ROWS, dimension=1, reads=0.1, within=0.01, chance=0.9
    ),
    "cascade": dt.Cascade(
        levels=[dt.Proposal(value=lambda rows: len(rows["x"]), bound=1, margin=lambda rows, bound: 50)]
    ),
}
"""Functions of rows, which are a mapping of columns in memory and an Arrow table in a session."""


def example(entry):
    """A question in JSON that the small data can answer."""
    fixed = {"source": SOURCE, "function": "rows", "slot": 0.2}
    asked = {"kind": entry.name}
    for name, one in entry.parameters.items():
        if name in fixed:
            asked[name] = fixed[name]
        elif one.type == "column":
            asked[name] = COLUMNS[entry.column_types[0]]
        elif one.type == "columns" and not one.is_advanced:
            bits = [COLUMNS["boolean"]] if entry.column_types == ("boolean",) else ["x", "y"]
            asked[name] = ["y"] if "target" in entry.parameters and name != "columns" else bits
        elif one.type == "edges":
            asked[name] = [0, 50, 100]
        elif one.type == "bounds" and one.is_needed:
            asked[name] = [0, ROWS]
        elif not one.is_advanced and one.example is not None:
            asked[name] = list(one.example) if isinstance(one.example, tuple) else one.example
    return asked


def query_of(entry):
    """The same as an object; the owner's own code needs no sandbox."""
    if entry.in_json is not None:
        return dt.Program(len, bounds=(0, ROWS), executor="trusted")
    if entry.name in OWN:
        return OF_OWNERS[entry.name]
    return from_json(example(entry))


def in_memory(entry, query):
    """Data for a query about arrays and graphs, and the public range where the query has none of its own."""
    graph = dt.Graph(EDGES, n=12)
    if entry.of == "graph":
        return graph, {}
    if entry.of == "weighted graph":
        return dt.Graph(EDGES, n=12, weights=[1 + (a + b) % 9 for a, b in EDGES], cap=10), {}
    table = columns()
    if entry.of == "column":
        # (a histogram has bounds for bins of equal width only)
        needs = "bounds" in entry.fields and "bounds" in entry.parameters and entry.name != "histogram"
        return table[query.column], {"bounds": (0, 100)} if needs else {}
    numbers = {name: table[name] for name in (("flag",) if entry.column_types == ("boolean",) else ("x", "y"))}
    # (a regression without bounds has another default method)
    needs = "bounds" in entry.fields and entry.in_json is None and entry.name != "regression"
    return numbers, {"bounds": (0, 100)} if needs else {}


def dataset_of(entry, function=None):
    """The schema that a query, or one function of it, is asked of."""
    if function is not None and function.star and "limit" in entry.fields:
        return "owners"
    return {"graph": "friends", "weighted graph": "streets"}.get(entry.of, "people")


ENTRIES = [one for one in entries().values() if one.name not in {"chain_sum", *OWN_CODE}]
every = pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one.name)
with_http = pytest.mark.parametrize("entry", [one for one in ENTRIES if one.has("http")], ids=lambda one: one.name)
"""What has that door has those of the shell, the page and the client too, and SQL but for programs."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """The datasets, opened from schema files."""
    folder = write(tmp_path_factory.mktemp("doors"))
    for name, text in SCHEMAS.items():
        (folder / f"{name}.toml").write_text(text)
    opened = {name: dt.open(folder / f"{name}.toml", ledger=":memory:") for name in SCHEMAS}
    opened["folder"] = folder
    yield opened
    for name in SCHEMAS:
        opened[name].close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The same behind a server."""
    home = tmp_path_factory.mktemp("served") / "home"
    write(home / "data")
    (home / "datasets").mkdir()
    for name, text in SCHEMAS.items():
        (home / "datasets" / f"{name}.toml").write_text(text)
    one = CuratorProcess(home).start()
    yield one
    one.stop()


def test_exempt_cells_are_few_and_have_reasons(capsys):
    """Each says why in one line; all of them are among those that may be."""
    exempt = {(entry.name, door): why for entry in entries().values() for door, why in entry.without.items()}
    with capsys.disabled():
        print(f"\n{len(exempt)} of {len(entries()) * len(DOORS)} cells exempt")
    assert all(why and "\n" not in why for why in exempt.values())
    assert set(exempt) <= ALLOWED


@every
def test_function(entry):
    """One line of Python: data first, everything else by keyword."""
    assert hasattr(dt, entry.function), "src/dither/__init__.pyi has two lines for it: its class and its function"
    function = getattr(dt, entry.function)
    query = query_of(entry)
    data, options = in_memory(entry, query)
    if entry.in_json is not None:
        release = function(data["x"], len, bounds=(0, ROWS), blocks=20, executor="trusted", epsilon=20.0)
    elif "target" in entry.fields:
        release = function(data["x"][:, None], data["y"], **options, **LOSS)
    else:
        given = {name: one for name, one in query.parameters().items() if name not in ("column", "columns")}
        release = function(data, **options, **given, **LOSS)
    assert release.loss.epsilon <= LOSS["epsilon"]


@every
def test_ask(entry):
    """``dt.ask`` takes the same query object."""
    query = query_of(entry)
    data, options = in_memory(entry, query)
    asked = type(query)(**{**{name: getattr(query, name) for name in entry.fields}, **options})
    assert dt.ask(asked, data, **LOSS).loss.epsilon <= LOSS["epsilon"]


@pytest.mark.sampled(18)
@every
def test_session_and_quote(entry, sessions):
    """A session answers and charges; its quote says the privacy loss before."""
    session, query = sessions[dataset_of(entry)], query_of(entry)
    quote = session.quote(query, **LOSS)
    before = session.budget.spent.epsilon
    release = session.ask(query, **LOSS)
    assert release.loss == quote.loss
    assert session.budget.spent.epsilon == pytest.approx(before + quote.loss.epsilon)
    assert session.ask(query, **LOSS) == release or entry.in_json is not None  # from the store, free


@pytest.mark.sampled(6)
@with_http
def test_http_and_client(entry, server):
    """A quote and an answer by JSON; the remote client sends the same question and gets the stored answer."""
    place, body = f"/v1/datasets/{dataset_of(entry)}", {"query": example(entry), **LOSS}
    status, quoted, _ = server.call("POST", f"{place}/quote", body)
    assert status == 200, quoted
    assert quoted["quotes"][0]["epsilon"] <= LOSS["epsilon"]
    remote = dt.connect(server.url, token=server.tokens["owner"], dataset=dataset_of(entry))
    query = from_json(example(entry))
    assert to_json(query)["kind"] == entry.name
    assert remote.quote(query, **LOSS).loss.epsilon == quoted["epsilon"]
    if entry.in_json is not None:
        return  # tests/http/test_jobs.py runs programs, where sandboxes are
    status, answered, _ = server.call("POST", f"{place}/releases", body)
    assert status == 200, answered
    spent = remote.budget.spent
    release = remote.ask(query, **LOSS)
    assert json.loads(json.dumps(release.to_dict())) == answered["releases"][0]
    assert remote.budget.spent == spent


@pytest.mark.sampled(12)
@with_http
def test_plans_are_sent_to_workers(entry, sessions):
    """Whatever mechanism is asked for, the plan of a question over HTTP survives its way into another process."""
    anybody = SimpleNamespace(may_ask=lambda name: True, epsilon_cap=None, delta_cap=None)
    schema, sent = sessions[dataset_of(entry)].schema, []
    for mechanism in ("auto", *MECHANISMS):
        body = json.loads(json.dumps({"query": example(entry), "mechanism": mechanism, **LOSS}), parse_float=Decimal)
        with contextlib.suppress(dt.InvalidArgument, dt.NotApplicable, dt.NotProved):
            plans = planned(question_of(body), schema, anybody).plans
            again = pickle.loads(pickle.dumps(plans))
            assert [one.loss for one in again] == [one.loss for one in plans]
            sent.append(mechanism)
    assert "auto" in sent


@with_http
def test_sql(entry, sessions, server):
    """Every function that the registry names says the same in a statement, here and over HTTP."""
    if (entry.name, "sql") in ALLOWED:
        return
    for function in entry.functions:
        name = dataset_of(entry, function)
        text = f"SELECT {call_of(function, entry)} FROM {name}"
        assert sessions[name].quote(text, **LOSS)
    status, quoted, _ = server.call("POST", f"/v1/datasets/{name}/quote", {"sql": text, **LOSS})
    assert status == 200, quoted


def call_of(function, entry):
    """A call that says what the example says: columns, numbers, fields by name."""
    asked = {name: one for name, one in example(entry).items() if name != "kind"}
    words = ["*"] if function.star else []
    for one in entry.columns:
        words += [*np.atleast_1d(asked.pop(one.field))] if one.field in asked and not function.star else []
    asked.pop("column", None)
    numbers = []
    for one in positionals(function.arguments):
        value = asked.pop(one.field, None)
        if value is not None:
            listed = ", ".join(map(str, np.atleast_1d(value)))
            numbers.append(f"[{listed}]" if one.is_list else listed)
    if function.within:
        return f"{function.function}({', '.join(numbers)}) WITHIN GROUP (ORDER BY {words[0]})"
    named = [f"{name} => {value}" for name, value in asked.items()]
    return f"{function.function}({', '.join([*map(str, words), *numbers, *named])})"


@pytest.mark.sampled(8)
@with_http
def test_cli(entry, sessions, monkeypatch, request):
    """``dither quote`` takes the same calls as SQL; programs have ``dither run``."""
    monkeypatch.chdir(sessions["folder"])
    if entry.in_json is not None:
        request.getfixturevalue("isolated")
        words = ["run", "people.toml", "program.py:rows", "--bounds", "0", "4000", "--epsilon", "20", "--dry-run"]
        (sessions["folder"] / "program.py").write_text(SOURCE)
    else:
        function = [one for one in entry.functions if not one.within][-1]
        call = call_of(function, entry)
        words = ["quote", f"{dataset_of(entry, function)}.toml", call, "--epsilon", "20", "--delta", "1e-4"]
    done = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)


@with_http
def test_page(entry):
    """The page has it on its menu, with a control for every field that is needed."""
    (listed,) = [one for one in catalogue() if one["name"] == entry.name]
    assert listed["label"]
    assert listed["group"]
    assert all(field["label"] for field in listed["fields"])


SELECTIONS = {"where": {"where": "flag = true"}, "by": {"by": "job"}}


@pytest.mark.parametrize(
    "entry", [one for one in ENTRIES if one.has("http") and dataset_of(one) == "people"], ids=lambda one: one.name
)
@pytest.mark.parametrize("selection", list(SELECTIONS))
def test_filters_and_groups_are_offered_where_they_are_answered(entry, selection, sessions):
    """What the page offers is planned; what it does not is refused at planning, and says what to ask instead."""
    (listed,) = [one for one in catalogue() if one["name"] == entry.name]
    query, schema = query_of(entry), sessions["people"].schema
    if selection in listed["selections"]:
        refused = None
        try:
            assert plan(query, schema, **SELECTIONS[selection], **LOSS)
        except dt.NotProved as refusal:
            refused = str(refusal)
        assert refused is None, 'say so in its class, such as: instead = "ask median(c), which is answered there"'
        return
    with pytest.raises(dt.DitherError) as refusal:
        plan(query, schema, **SELECTIONS[selection], **LOSS)
    assert listed["instead"] in str(refusal.value)
    assert "nothing was read, nothing was charged" in str(refusal.value)
    if not listed["selections"]:
        assert "answered there" in listed["instead"]


@every
def test_docs(entry):
    """The documentation's table, which is written from the registry, has a line for it."""
    assert f"| `{entry.name}` |" in page()


@every
def test_audit(entry):
    """Nothing is released that no check tries to refute."""
    from dither_lab.audit.catalogue import catalogue as checks

    covered = {name for check in checks().values() for name in check.covers}
    remedy = f"no check covers {entry.name!r}: name its page of docs/proofs where it registers, @query(..., proof=...)"
    assert {type(query_of(entry)).__name__, entry.function} & covered, remedy


def test_servers_have_every_query_but_the_chain_and_functions_of_owners():
    """The list of what servers answer is the registry's."""
    assert set(served()) == set(entries()) - {"chain_sum", *OWN, *OWN_CODE}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", OWN)
def test_functions_of_owners_stay_here(name):
    """A client says why it does not send one; a server knows no such query."""
    with pytest.raises(dt.InvalidArgument, match="Python function"):
        to_json(OF_OWNERS[name])
    with pytest.raises(dt.InvalidArgument, match=r"query\.kind "):
        from_json({"kind": name})
