"""What happens in which order, and which decisions are made before anything is paid: auditors of whole sessions.

*Order of events*: a real session runs on an engine and a ledger that write down every call.  No record may be read
before its question is durably charged, none at all where the charge fails, and the answer must be stored before it is
told.  *Public decisions*: plans, losses, grids, error texts and types, made again on many neighbouring datasets, must
be the same; so must all that a release says beside its numbers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dither.errors import BudgetExceeded, DitherError
from dither.ledger import MemoryLedger
from dither.privacy import Loss
from dither.queries.query import Query
from dither.queries.registry import proved_columns
from dither.session.session import Session
from dither.sources.engines.factory import engine_for
from dither.sources.frames import arrow
from dither.sources.schema import Schema
from dither.wording import NOTHING_LEARNT
from dither_lab.audit.checks import Check, Effort, Evidence

READS = ("rows", "arrays", "stream", "estimated_rows")
"""The methods of an engine that look at records."""
Open = Callable[..., Session]
"""(schema, ledger, engine) -> a session; a broken one is audited by giving another maker."""


class Watched:
    """Forwards everything and writes down the calls that matter."""

    def __init__(self, inner: Any, events: list[str], noted: dict[str, str]) -> None:
        self._inner, self._events, self._noted = inner, events, noted

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._inner, name)
        if name not in self._noted or not callable(result):
            return result
        event = self._noted[name]

        def noted(*arguments: Any, **options: Any) -> Any:
            try:
                answer = result(*arguments, **options)
            except Exception:
                self._events.append(f"{event} failed")
                raise
            # After the call has come back: a charge counts once it is durable.
            self._events.append(event)
            return answer

        return noted


class WatchedEngine(Watched):
    """An engine under watch.  A read is recorded before its first record is returned."""

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._inner, name)
        if name not in READS:
            return result

        def noted(*arguments: Any, **options: Any) -> Any:
            self._events.append("read")
            return result(*arguments, **options)

        return noted


def watched_session(
    columns: dict[str, Any], table: Any, budget: Any, maker: Open = Session, **options: Any
) -> tuple[Session, list[str]]:
    """A real session over a table in memory, and the list of events that it will fill."""
    schema = Schema(_arrow(table) if isinstance(table, dict) else table, columns, "data", budget=budget, **options)
    events: list[str] = []
    engine = WatchedEngine(engine_for(schema), events, {})
    ledger = Watched(MemoryLedger(), events, {"charge": "charge", "store": "store"})
    session = maker(schema, ledger=ledger, engine=engine)
    # Registering reads nothing that counts: what the source says about its columns is public.
    events.clear()
    return session, events


def order_of_events(maker: Open = Session) -> Evidence:
    """Questions of every kind, asked of one session; the first event out of order is the finding."""
    import dither as dt  # noqa: PLC0415

    columns = {"v": dt.Integer(0, 8), "g": dt.Category(["a", "b"]), "free": dt.Category(), "ok": dt.Boolean()}
    table = {"v": [0, 1, 2, 8] * 10, "g": ["a", "b"] * 20, "free": ["x"] * 40, "ok": [True, False] * 20}
    session, events = watched_session(columns, table, dt.Budget(1000.0, 0.1), maker, rows=40)
    asked: list[tuple[str, Callable[[], Any]]] = [
        *((type(query).__name__, _asking(session, query)) for query in _column_queries()),
        ("filtered", lambda: session.ask(dt.Median("v"), epsilon=1.0, where="v < 5")),
        ("grouped", lambda: session.ask(dt.Mean("v"), epsilon=1.0, by="g")),
        ("found groups", lambda: session.ask(dt.Count(), epsilon=4.0, delta=0.01, by="free")),
        ("several", lambda: session.ask([dt.Median("v"), dt.Sum("v")], epsilon=1.0)),
        ("SQL", lambda: session.sql("SELECT g, avg(v), count(*) FROM data WHERE ok GROUP BY g", epsilon=1.0)),
        (
            "program",
            lambda: session.ask(dt.Program(_length, ["v"], bounds=(0, 9), blocks=5, executor="trusted"), epsilon=9.0),
        ),
    ]
    for name, ask in asked:
        events.clear()
        ask()
        problem = _out_of_order(events)
        if problem:
            return Evidence(False, cases=len(asked), note=f"{name}: {problem}")
        events.clear()
        ask()
        if events:
            return Evidence(
                False, cases=len(asked), note=f"{name}: a question that was answered is read or charged again"
            )
    return _beyond_budget(maker, len(asked))


def _column_queries() -> list[Query]:
    import dither as dt  # noqa: PLC0415

    return [
        dt.Median("v"),
        dt.Quantile("v", q=0.9),
        dt.Quantiles("v", q=[0.2, 0.8]),
        dt.Minimum("v"),
        dt.Maximum("v"),
        dt.OrderStatistic("v", rank=3),
        dt.TrimmedMean("v"),
        dt.IQR("v"),
        dt.Mean("v"),
        dt.Sum("v"),
        dt.Count("ok"),
        dt.CountPresent("v"),
        dt.Quality("v"),
        dt.Variance("v"),
        dt.Histogram("g"),
        dt.Histogram("v", edges=[0, 4, 8]),
        *(column.few_records(column="v") for column in proved_columns()),
    ]


def _asking(session: Session, query: Query) -> Callable[[], Any]:
    return lambda: session.ask(query, epsilon=1.0)


def _length(block: Any) -> float:
    return float(len(block) % 9)


def _out_of_order(events: list[str]) -> str:
    if "charge" not in events:
        return "nothing was charged"
    if "read" in events[: events.index("charge")]:
        return "records were read before the charge"
    if "read" not in events:
        return "nothing was read"
    if "store" not in events or "read" in events[events.index("store") :]:
        return "the answer was not stored after reading"
    return ""


def _beyond_budget(maker: Open, cases: int) -> Evidence:
    """A question that the budget does not cover is not read, whatever it is."""
    import dither as dt  # noqa: PLC0415

    session, events = watched_session({"v": dt.Integer(0, 8)}, {"v": [1, 2, 3]}, dt.Budget(0.5), maker, rows=3)
    refused = False
    try:
        session.ask(dt.Median("v"), epsilon=1.0)
    except BudgetExceeded:
        refused = True
    if "read" in events or not refused:
        return Evidence(False, cases=cases, note="records were read though the budget does not cover the question")
    return Evidence(True, cases=cases + 1, note="charged, read, stored; nothing read beyond the budget")


# --- public decisions -----------------------------------------------------------------------------------


def described(thing: Any, depth: int = 8) -> Any:
    """Everything public about a plan or a mechanism, as something that can be compared."""
    if depth == 0 or thing is None or isinstance(thing, (str, int, float, bool, Fraction)):
        return thing if isinstance(thing, (str, int, float, bool, Fraction)) else type(thing).__name__
    if isinstance(thing, (list, tuple)):
        return tuple(described(item, depth - 1) for item in thing)
    if isinstance(thing, dict):
        return tuple((str(key), described(thing[key], depth - 1)) for key in sorted(thing, key=str) if key != "source")
    if dataclasses.is_dataclass(thing):
        fields = (
            (f.name, described(getattr(thing, f.name), depth - 1))
            for f in dataclasses.fields(thing)
            if f.name != "source"
        )
        return (type(thing).__name__, *fields)
    return type(thing).__name__


def decision(make: Callable[[], Any]) -> Any:
    """What is decided, or the error that is raised, type and text."""
    with contextlib.suppress(DitherError):
        return described(make())
    try:
        make()
    except DitherError as error:
        return (type(error).__name__, str(error))
    return "an error that comes and goes"


def neighbouring_tables(count: int) -> Iterator[dict[str, list[Any]]]:
    """A table of ten records and many neighbours: values inside and far outside their bounds, and missing ones."""
    rng = np.random.default_rng(7)
    odd = [None, float("nan"), float("inf"), -1e300, 1e300, 0.0, 8.0, -5.0, 3.5, 1e-300]
    base: dict[str, list[Any]] = {"v": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.0], "g": ["a", "b"] * 5}
    yield base
    for number in range(count):
        place = int(rng.integers(10))
        values, groups = list(base["v"]), list(base["g"])
        values[place] = odd[number % len(odd)]
        groups[place] = ["a", "b", "elsewhere", None, ""][number % 5]
        yield {"v": values, "g": groups}


def public_decisions(
    effort: Effort, maker: Open = Session, prepare: Callable[[Any, Any], Any] | None = None
) -> Evidence:
    """Plans of sessions and of single calls on neighbouring datasets: one decision for each question, or a finding.

    maker, prepare: other sessions and another way to prepare calls, to see that broken ones are found.
    """
    seen: dict[str, Any] = {}
    tables = list(neighbouring_tables(effort.of(12, 40)))
    cases = 0
    for table in tables:
        for name, taken in (*_session_decisions(table, maker), *_call_decisions(table, prepare)):
            cases += 1
            if seen.setdefault(name, taken) != taken:
                return Evidence(False, cases=cases, note=f"{name}: decided from the data")
    return Evidence(True, cases=cases, note=f"{len(seen)} decisions on {len(tables)} neighbouring datasets")


def _session_decisions(table: dict[str, list[Any]], maker: Open) -> Iterator[tuple[str, Any]]:
    import dither as dt  # noqa: PLC0415

    columns = {"v": dt.Real(0, 8), "g": dt.Category(["a", "b"])}
    session, _ = watched_session(columns, _arrow(table), dt.Budget(100.0, 0.1), maker, rows=10)
    questions: dict[str, dict[str, Any]] = {
        "whole": {},
        "filtered": {"where": "v < 5"},
        "grouped": {"by": "g"},
        "smooth": {"mechanism": "smooth"},
        "ladder": {"mechanism": "ladder"},
        "unknown": {"mechanism": "nothing"},
        "bad filter": {"where": "w < 5"},
    }
    for name, options in questions.items():
        for query in (dt.Median("v"), dt.Mean("v"), dt.IQR("v"), dt.Sum("v")):
            asked = f"session, {type(query).__name__}, {name}"
            yield asked, decision(lambda q=query, o=options: session.plan(q, epsilon=1.0, **o))  # type: ignore[misc]
    yield "session, quote", decision(lambda: session.quote(dt.Median("v"), epsilon=1.0))
    yield "session, budget", str(session.budget)
    release = session.ask(dt.Median("v"), epsilon=1.0)
    yield "session, release", _metadata("median", release)


COUNTED = ("kmeans",)
"""How many things are found, or whether any is, is a result of these: drawn and paid for, as their numbers are."""


LEARNT = NOTHING_LEARNT.partition("{")[0]
"""How the sentence begins that an interval is the whole range."""


def _metadata(name: str, release: Any) -> Any:
    """All of a release but its results: types, grids and words."""
    results = ("value", "interval", "at", "id", *(("labels", "reason", "refused") if name in COUNTED else ()))
    payload = {key: value for key, value in release.to_dict().items() if key not in results}
    # (but for the sentence that follows from the interval, which is drawn and paid for)
    payload["notes"] = [note for note in payload["notes"] if not note.startswith(LEARNT)]
    return described(payload), None if name in COUNTED else type(release.value).__name__


def _call_decisions(
    table: dict[str, list[Any]], prepare: Callable[[Any, Any], Any] | None
) -> Iterator[tuple[str, Any]]:
    import dither as dt  # noqa: PLC0415
    from dither.mechanisms.choice import prepare as planned  # noqa: PLC0415

    def prepare_here(query: Any, data: Any) -> Any:
        return planned(query.resolve(query.shape(data)), epsilon=1.0, confidence=0.95)

    column = np.array([np.nan if value is None else value for value in table["v"]], dtype=float)
    for query in (
        dt.Median(bounds=(0, 8)),
        dt.Quantile(q=0.9, bounds=(0, 8)),
        dt.Quantiles(q=[0.2, 0.7], bounds=(0, 8)),
        dt.Minimum(bounds=(0, 8)),
        dt.Maximum(bounds=(0, 8)),
        dt.TrimmedMean(bounds=(0, 8)),
        dt.IQR(bounds=(0, 8)),
        dt.Mean(bounds=(0, 8)),
        dt.Sum(bounds=(0, 8)),
        dt.Variance(bounds=(0, 8)),
        dt.Histogram(edges=[0, 4, 8]),
        dt.SmallestSum(k=2, bounds=(0, 8)),
        dt.OrderStatistic(rank=2, bounds=(0, 8)),
        *(item.few_records(bounds=(0, 8)) for item in proved_columns()),
    ):
        taken = decision(lambda q=query: (prepare or prepare_here)(q, column))  # type: ignore[misc]
        yield f"call, {type(query).__name__}", taken
    for name, call in _calls().items():
        yield f"release, {name}", decision(lambda n=name, c=call: _metadata(n, c(column)))  # type: ignore[misc]


def _calls() -> dict[str, Callable[[Any], Any]]:
    import dither as dt  # noqa: PLC0415

    return {
        "median": lambda x: dt.median(x, bounds=(0, 8), epsilon=1.0),
        "mean": lambda x: dt.mean(x, bounds=(0, 8), epsilon=1.0),
        "histogram": lambda x: dt.histogram(x, edges=[0, 4, 8], epsilon=1.0),
        "kmeans": lambda x: dt.kmeans(np.column_stack([x, x]), k=2, bounds=(0, 8), epsilon=2.0, delta=0.01),
        "sample_and_aggregate": lambda x: dt.sample_and_aggregate(
            x, np.mean, bounds=(0, 8), blocks=5, executor="trusted", epsilon=2.0
        ),
    }


def _arrow(table: dict[str, list[Any]]) -> Any:
    """A table with typed columns: that a value may be missing is public, whether one is, is not."""
    pa = arrow()
    types = {"v": pa.float64(), "ok": pa.bool_()}
    return pa.table({name: pa.array(values, types.get(name, pa.string())) for name, values in table.items()})


def trace_checks() -> Iterator[Check]:
    """The order of events and the public decisions of what ships."""
    sessions = frozenset(
        {
            "Session",
            "open",
            "Schema",
            "Integer",
            "Real",
            "Category",
            "Boolean",
            "Program",
            "sql",
            "filtered rows",
            "grouped rows",
            "order of events",
        }
    )
    yield Check(
        "session",
        "trace",
        lambda effort: order_of_events(),
        detail="order of events",
        covers=sessions,
        proof="sessions",
    )
    yield Check(
        "graph session",
        "trace",
        lambda effort: graph_order(),
        detail="order of events",
        covers=frozenset({"GraphSession", "GraphSchema", "order of events"}),
        proof="sessions",
    )
    decided = frozenset({"public decisions", "quote", "Quote", "Quotes", "least_epsilon"})
    yield Check("session", "trace", public_decisions, detail="public decisions", covers=decided, proof="sessions")
    yield Check(
        "session",
        "black-box",
        _attacked_session,
        detail="SQL over a filter and groups",
        covers=sessions | {"several rows a person"},
        proof="sessions",
    )


def graph_order() -> Evidence:
    """A graph's session charges before it reads, too: a budget that does not cover a question leaves the file alone."""
    import dither as dt  # noqa: PLC0415
    from dither.session.graphs import GraphSession  # noqa: PLC0415

    events: list[str] = []

    class Noted(dt.GraphSchema):
        def read(self) -> Any:
            events.append("read")
            return super().read()

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "edges.csv").write_text("source,target\n0,1\n1,2\n0,2\n")
        schema = Noted(str(Path(folder, "edges.csv")), 4, budget=dt.Budget(1.0))
        ledger = Watched(MemoryLedger(), events, {"charge": "charge", "store": "store"})
        session = GraphSession(schema, ledger=ledger)  # type: ignore[arg-type]
        problem = _asked_twice(session, events)
    return Evidence(not problem, cases=2, note=problem or "charged, read, stored; nothing read beyond the budget")


def _asked_twice(session: Any, events: list[str]) -> str:
    import dither as dt  # noqa: PLC0415

    events.clear()
    session.ask(dt.Triangles(), epsilon=0.8)
    problem = _out_of_order(events)
    events.clear()
    with contextlib.suppress(BudgetExceeded):
        session.ask(dt.Edges(), epsilon=0.8)
        problem = problem or "a budget was exceeded"
    return problem or ("records were read though the budget does not cover it" if "read" in events else "")


def _attacked_session(effort: Effort) -> Evidence:
    """One person with two rows changes groups: SQL through DuckDB, from text to answers, on both sides."""
    import dither as dt  # noqa: PLC0415
    from dither_lab.audit.attacks import Direction  # noqa: PLC0415
    from dither_lab.audit.blackbox import audit  # noqa: PLC0415
    from dither_lab.audit.public_api import numbers  # noqa: PLC0415

    columns = {"v": dt.Integer(0, 8), "g": dt.Category(["a", "b"])}
    tables = [
        {"v": [8, 8, 1, 1], "g": ["a", "a", "a", "b"], "who": [1, 1, 2, 3]},
        {"v": [8, 8, 1, 1], "g": ["b", "b", "a", "b"], "who": [1, 1, 2, 3]},
    ]
    loss = Loss(8.0)
    sessions = [
        dt.open(table, columns=columns, unit="who", rows_per_unit=2, budget=dt.Budget(1e6), name="data")
        for table in tables
    ]
    text = "SELECT g, sum(v), count(*) FROM data WHERE v > 0 GROUP BY g"

    def sampler(session: Any) -> Callable[[int], Any]:
        def one() -> tuple[Any, ...]:
            return numbers([item.value for item in session.sql(text, epsilon=loss.epsilon, again=True)])

        return lambda count: [one() for _ in range(count)]

    samples = effort.of(60, 500)
    result = audit(
        *map(sampler, sessions),
        claimed=loss,
        attacks=[Direction()],
        samples=samples,
        failure_probability=effort.failure_probability,
    )
    return Evidence(not result.detected, loss, result.lower_bound, None, samples, f"event: {result.event}"[:120])
