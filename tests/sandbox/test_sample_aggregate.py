"""Sample and aggregate with isolation: the default for programs, and what is told when something is wrong with them."""

import time
import warnings

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotIsolated
from dither.privacy import Loss
from dither.procedures.executor import Output
from dither.queries.plan import Options
from dither.queries.programs import RowFacts
from dither.sandbox import Function, Sandbox, pool
from dither.sandbox.schedule import SETTLING

# On a busy machine drawing blocks may take longer than planned, which the owner is warned of.
pytestmark = pytest.mark.filterwarnings("ignore:reading and drawing the blocks")

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
            **({} if "executor" in options else {"slot": 0.4}),
            **options,
        },
    )


def test_programs_run_isolated_by_default():
    """A function travels as text and is answered from sandboxes."""
    assert 0.2 < ask().value < 0.8


@pytest.mark.slow
def test_an_open_sandbox_serves_several_releases():
    """Made for one program and one shape of answers; another shape is refused."""
    with Sandbox(average, output=Output(1, bounds=(0, 1)), slot=0.4) as box:
        assert all(0.2 < ask(executor=box).value < 0.8 for _ in range(2))
        with pytest.raises(InvalidArgument, match="executor"):
            ask(executor=box, bounds=(0, 2))


@pytest.mark.slow
def test_a_session_runs_programs_isolated_too():
    """Blocks are Arrow tables."""
    pytest.importorskip("pyarrow")

    def mean_age(rows):
        return rows["age"].to_numpy().mean()

    session = dt.open({"age": [20, 40, 60] * 200}, columns={"age": dt.Integer(0, 120)}, budget=dt.Budget(9.0))
    query = dt.Program(mean_age, bounds=(0, 120), blocks=20, settings={"slot": 0.5})
    assert 20 < session.ask(query, epsilon=8.0, confidence=None).value < 60


@pytest.mark.parametrize(
    ("program", "message"),
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
def test_what_is_wrong_with_a_program_is_said_before_data_are_read(program, message):
    """On public facts and a public example only."""
    with pytest.raises(InvalidArgument, match=message):
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


def test_programs_of_others_get_slots_that_suffice_for_starting_and_ending_them():
    """An open sandbox takes shorter ones."""
    with pytest.raises(InvalidArgument, match=r"slot.*0\.2"):
        ask(slot=0.1)


class Slow:
    """Rows that take long to draw: as long as somebody's record says."""

    def __init__(self, seconds):
        self.seconds = seconds

    def drawn(self, sampling):
        """Two blocks."""
        time.sleep(self.seconds)
        return [np.zeros(3), np.ones(3)]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "doublings"), [(0.0, 0), (0.6, 0), (1.2, 1), (2.2, 2)])
def test_drawing_that_takes_long_moves_the_answer_by_whole_leads(seconds, doublings):
    """Within the lead nothing changes; beyond, it is doubled until it suffices, and the owner hears of it.

    A busy machine can only delay; ``test_planned_moments.py`` shows that it is not doubled more than that.
    """
    with Sandbox(average, output=Output(1, bounds=(0, 1)), slot=0.4, lead=1.0) as box:
        query = dt.Program(average, bounds=(0, 1), blocks=2, executor=box)
        plan = query.plan(RowFacts(6, is_table=False), Options(Loss.asked(1.0, 0)))
        planned = box.schedule(2).seconds + SETTLING + (2**doublings - 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            begun = time.monotonic()
            plan.run(Slow(seconds))
            taken = time.monotonic() - begun
    assert taken >= planned
    assert len(caught) >= (doublings > 0)
    assert all("longer lead" in str(one.message) for one in caught)


@pytest.mark.slow
def test_progress_is_told_to_the_owner():
    """Rounds of the public schedule."""
    heard = []
    ask(progress=lambda done, planned: heard.append((done, planned)))
    assert heard[-1][0] == heard[-1][1] == len(heard)
