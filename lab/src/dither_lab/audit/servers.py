"""A real server, asked over HTTP about datasets that differ in one record.

*Everything but the numbers*: whatever a client sees beside what is drawn (states, headers, words, fields, sizes of
lists, budgets) must be the same for all neighbours.  *Answers*: the numbers themselves are attacked as those of any
mechanism, from the request to the reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from dither.privacy import Loss
from dither_lab.audit.attacks import Direction
from dither_lab.audit.blackbox import audit
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.traces import LEARNT
from dither_lab.served import HttpReply, Json, Served

SLOT = 0.02
DRAWN = frozenset({"value", "interval", "at", "id", "entry", "hash", "request_id"})
"""Fields that are drawn, or that name an answer or its moment."""
VARYING = frozenset({"date", "content-length"})
"""Headers that depend on the moment, or on how many figures a drawn number has."""
SCHEMA = """version = 2
[dataset]
source = "{name}.csv"
rows = 10
[budget]
epsilon = 100000.0
delta = 0.1
[columns.v]
type = "real"
bounds = [0, 8]
[columns.g]
type = "category"
values = ["a", "b"]
"""
BASE = ("1,a", "2,a", "2,b", "3,a", "3,b", "4,b", "5,a", "6,b", "7,a", "8,b")
OTHER_ROWS = (
    "nan,a",
    ",a",
    "1e308,b",
    "-inf,a",
    "text,b",
    "8.0000001,",
    "0x10,c",
    "5e-324,a",
    '"1,5",b',
    "7,\N{SNOWMAN}",
)
"""What one record may be instead of the first."""
RELEASES = "/v1/datasets/{name}/releases"
ASKED: tuple[dict[str, Json], ...] = (
    {"kind": "median", "column": "v"},
    {"kind": "mean", "column": "v"},
    {"kind": "count"},
)
OPTIONS: tuple[dict[str, Json], ...] = ({}, {"where": "v < 5"}, {"by": "g"})
ANSWERED: list[dict[str, Json]] = [{"query": query, "epsilon": 1, **options} for query in ASKED for options in OPTIONS]
ANSWERED.append({"query": {"kind": "maximum", "column": "v"}, "epsilon": 1})
REFUSED: list[dict[str, Json]] = [
    {"query": {"kind": "median", "column": "none"}, "epsilon": 1},
    {"query": ASKED[0], "epsilon": 1e7},
]
QUESTIONS: tuple[tuple[int, str, str, Json], ...] = (
    (200, "GET", "/v1/datasets/{name}", None),
    (200, "POST", "/v1/datasets/{name}/quote", {"query": ASKED[0], "epsilon": 1}),
    *((200, "POST", RELEASES, body) for body in ANSWERED),
    *((422, "POST", RELEASES, body) for body in REFUSED[:1]),
    *((403, "POST", RELEASES, body) for body in REFUSED[1:]),
    (200, "GET", "/v1/datasets/{name}", None),
)
"""Asked of every neighbour in this order, with the state that is due: answers, and refusals before any charge."""
Ask: TypeAlias = Callable[[str, str, Json], HttpReply]


def seen(reply: HttpReply, name: str) -> tuple[int, str, str]:
    """What a client sees of a reply, without what is drawn and without the name of the dataset."""
    headers = sorted((key.lower(), value) for key, value in reply.headers if key.lower() not in VARYING)
    try:
        body: Json | bytes = _without_draws(json.loads(reply.body))
    except ValueError:
        body = reply.body
    return reply.status, str(headers).replace(name, "NAME"), str(body).replace(name, "NAME")


def _without_draws(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: type(item).__name__ if key in DRAWN else _without_draws(item) for key, item in value.items()}
    if isinstance(value, list):  # of sentences the one that follows from a drawn interval is left out
        return [_without_draws(item) for item in value if not (isinstance(item, str) and item.startswith(LEARNT))]
    return value


def differences(ask: Ask, names: Sequence[str]) -> Iterator[str]:
    """Questions whose replies differ between neighbours in something that is not drawn, or have another state."""
    for state, method, path, body in QUESTIONS:
        replies = [(name, ask(method, path.format(name=name), body)) for name in names]
        if len({repr(seen(reply, name)) for name, reply in replies}) > 1 or replies[0][1].status != state:
            yield f"{method} {path} {json.dumps(body)}"


def _served(rows: Sequence[Sequence[str]]) -> tuple[Served, list[str]]:
    names = [f"d{place:02}" for place in range(len(rows))]
    files = {f"datasets/{name}.toml": SCHEMA.format(name=name) for name in names}
    files |= {f"data/{name}.csv": "v,g\n" + "\n".join(each) + "\n" for name, each in zip(names, rows, strict=True)}
    return Served(files, slot=SLOT), names


def same_but_for_draws(effort: Effort) -> Evidence:
    """All questions, asked of a dataset and of neighbours with odd records."""
    others = OTHER_ROWS[: effort.of(3, len(OTHER_ROWS))]
    server, names = _served([BASE, *((other, *BASE[1:]) for other in others)])
    with server:
        connection = server.connect()
        found = list(differences(lambda *request: server.ask(connection, *request), names))
        connection.close()
    cases = len(QUESTIONS) * len(names)
    return Evidence(not found, cases=cases, note=f"differ: {'; '.join(found)}"[:200] if found else "the same for all")


def attacked_answers(effort: Effort) -> Evidence:
    """A count and a sum of groups: one record changes its group and goes from one bound to the other."""
    loss = Loss(8.0)
    server, names = _served([BASE, ("8,b", *BASE[1:])])
    body: Json = {"sql": "SELECT g, sum(v), count(*) FROM {name} GROUP BY g", "epsilon": loss.epsilon, "again": True}

    def sampler(name: str) -> Callable[[int], list[tuple[float, ...]]]:
        asked = json.loads(json.dumps(body).replace("{name}", name))

        def answers(count: int) -> list[tuple[float, ...]]:
            connection = server.connect()
            replies = [server.ask(connection, "POST", RELEASES.format(name=name), asked) for _ in range(count)]
            connection.close()
            if any(reply.status != 200 for reply in replies):
                raise RuntimeError(f"no answer: {replies[-1].body[:200]!r}")
            return [tuple(_values(json.loads(reply.body))) for reply in replies]

        return answers

    samples = effort.of(60, 400)
    with server:
        result = audit(
            *map(sampler, names),
            claimed=loss,
            attacks=[Direction()],
            samples=samples,
            failure_probability=effort.failure_probability,
        )
    return Evidence(not result.detected, loss, result.lower_bound, None, samples, f"event: {result.event}"[:120])


def _values(payload: Json) -> Iterator[float]:
    if isinstance(payload, dict):
        value = payload.get("value")
        if isinstance(value, int | float):
            yield float(value)
        for item in payload.values():
            yield from _values(item)
    if isinstance(payload, list):
        for item in payload:
            yield from _values(item)


def server_checks() -> Iterator[Check]:
    """What the HTTP server shows of its datasets."""
    covers = frozenset({"server", "HTTP"})
    yield Check(
        "server",
        "trace",
        same_but_for_draws,
        detail="HTTP, neighbours with odd records",
        covers=covers,
        proof="sessions",
    )
    yield Check("server", "black-box", attacked_answers, detail="HTTP, SQL by groups", covers=covers, proof="sessions")
