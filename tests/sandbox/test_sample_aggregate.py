"""Sample and aggregate with isolation: the default for programs, and what is told when something is wrong with them."""

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotIsolated
from dither.procedures.executor import Output
from dither.sandbox import Function, Sandbox, pool

ROWS = np.linspace(0.0, 1.0, 400)
EXAMPLE = np.array([0.25, 0.5])


def average(rows):
    """What is asked."""
    return rows.mean()


def ask(program=average, **options):
    """Of some rows, in sandboxes: 20 blocks."""
    return dt.sample_and_aggregate(
        ROWS,
        program,
        **{
            "bounds": (0, 1),
            "epsilon": 8.0,
            "blocks": 20,
            "confidence": None,
            **({} if "executor" in options else {"slot": 0.1}),
            **options,
        },
    )


def test_programs_run_isolated_by_default():
    """A function travels as text and is answered from sandboxes."""
    assert 0.2 < ask().value < 0.8


def test_an_open_sandbox_serves_several_releases():
    """Made for one program and one shape of answers; another shape is refused."""
    with Sandbox(average, output=Output(1, bounds=(0, 1)), slot=0.1) as box:
        assert all(0.2 < ask(executor=box).value < 0.8 for _ in range(2))
        with pytest.raises(InvalidArgument, match="executor"):
            ask(executor=box, bounds=(0, 2))


def test_a_session_runs_programs_isolated_too():
    """Blocks are Arrow tables."""
    pytest.importorskip("pyarrow")

    def mean_age(rows):
        return rows["age"].to_numpy().mean()

    session = dt.open({"age": [20, 40, 60] * 200}, columns={"age": dt.Integer(0, 120)}, budget=dt.Budget(9.0))
    query = dt.Program(mean_age, bounds=(0, 120), blocks=20, settings={"slot": 0.2})
    assert 20 < session.ask(query, epsilon=8.0, confidence=None).value < 60


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (lambda: Function("def f(rows:\n    return 1", "f"), "parses"),
        (lambda: Function("def f(rows):\n    return 1", "g"), "function that the source defines"),
        (lambda: Function("import no_such_module\ndef f(rows):\n    return 1", "f"), "no_such_module"),
        (lambda: Function("def f(rows):\n    return [1, 2]", "f"), "1 numbers"),
        (lambda: Function("def f(rows):\n    return rows.nothing", "f"), "nothing"),
        (lambda: "nowhere.py:f", "readable source file"),
        (lambda: 7, "program"),
    ],
)
def test_what_is_wrong_with_a_program_is_said_before_data_are_read(program, told):
    """On public facts and a public example only."""
    with pytest.raises(InvalidArgument, match=told):
        ask(program(), example=EXAMPLE)


def test_an_unknown_setting_is_named():
    """Settings are those of the executor."""
    with pytest.raises(InvalidArgument, match="settings"):
        ask(turbo=True)


def test_without_isolation_programs_are_refused_and_the_way_out_is_named(monkeypatch):
    """executor="trusted" is for the owner's own functions."""

    def broken():
        raise NotIsolated("no namespaces")

    monkeypatch.setattr(pool, "require_isolation", broken)
    with pytest.raises(NotIsolated, match="trusted"):
        ask()
    assert 0.0 <= ask(executor="trusted").value <= 1.0
