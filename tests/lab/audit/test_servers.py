"""The audit of a real server: what ships passes, and a server that shows more for one of two neighbours is found."""

import json

import pytest

from conftest import needs_package
from dither_lab.audit.checks import Effort
from dither_lab.audit.servers import QUESTIONS, attacked_answers, differences, same_but_for_draws
from dither_lab.served import HttpReply

pytestmark = pytest.mark.slow

NAMES = ("d00", "d01")


def pretended(change):
    """An honest server whose reply about the second dataset is changed once."""
    states = {(method, path, json.dumps(body)): state for state, method, path, body in QUESTIONS}

    def ask(method, path, body):
        name = path.split("/")[3]
        state = states[method, path.replace(name, "{name}"), json.dumps(body)]
        payload = {"dataset": name, "releases": [{"value": hash(name) % 97, "mechanism": "inverse"}]}
        reply = HttpReply(state, [("Content-Type", "application/json")], json.dumps(payload).encode())
        is_odd = name == "d01" and body is not None and body.get("where") is not None
        return change(reply) if is_odd else reply

    return ask


@pytest.mark.parametrize(
    "change",
    [
        lambda reply: reply._replace(status=500),
        lambda reply: reply._replace(headers=[*reply.headers, ("X-Rows", "9")]),
        lambda reply: reply._replace(body=reply.body.replace(b"inverse", b"smooth")),
        lambda reply: reply._replace(body=b'{"releases": []}'),
        lambda reply: reply._replace(body=b"an odd record"),
    ],
    ids=["state", "header", "mechanism", "number of answers", "words"],
)
def test_whatever_differs_beside_drawn_numbers_is_found(change):
    """States, headers, fields and words may not depend on a record; numbers that are drawn may."""
    assert list(differences(pretended(lambda reply: reply), NAMES)) == []
    found = list(differences(pretended(change), NAMES))
    assert len(found) == 3
    assert all("v < 5" in question for question in found)


def test_a_refusal_of_all_is_found():
    """A server that refuses whatever is asked, alike for all, proves nothing."""

    def refusing(method, path, body):
        return HttpReply(503, [], b"{}")

    assert len(list(differences(refusing, NAMES))) == len(QUESTIONS)


def test_the_server_that_ships_passes():
    """A real one, over HTTP: neighbours with odd records look the same, and answers keep their epsilon.

    The attack gives a false alarm with probability at most 1e-9.
    """
    needs_package("uvicorn")
    assert same_but_for_draws(Effort(quick=True)).holds
    assert attacked_answers(Effort(quick=True)).holds
