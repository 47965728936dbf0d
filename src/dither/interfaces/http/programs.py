"""Programs as questions: source text that runs in sandboxes, on blocks of people, on a public schedule.

Only what can be told apart by its text may be asked: a function's source, and settings in plain values.  Where it runs
is not for analysts to choose: always in a sandbox of this machine.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from typing import Any

from dither.errors import InvalidArgument
from dither.interfaces.http.bodies import known_fields, names_field, number_field, text_field
from dither.queries.programs import Program
from dither.sandbox import Function
from dither.sandbox.schedule import LEAST_SLOT, Schedule
from dither.session.plan import TablePlan

FIELDS = (
    "source", "function", "columns", "output", "bounds", "default", "blocks", "aggregator", "metric", "sampling",
    "slot", "preload",
)  # fmt: skip
LONGEST_SOURCE = 100_000
MOST_OUTPUTS = 1_000
MOST_BLOCKS = 100_000
MOST_PROGRAMS_ASKED = 2
SHORTEST_SLOT, LONGEST_SLOT = LEAST_SLOT, 3_600.0
LONGEST_RUN = 86_400.0
STARTING = 5.0
"""Seconds that are set aside for starting sandboxes and drawing blocks."""
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_DEFAULT_SLOT = 1.0


def program_of(told: dict[str, Any]) -> Program:
    """The program that a query of kind "program" describes; nothing of it runs here."""
    known_fields(told, ("kind", *FIELDS), "query.")
    source = text_field(told, "source", longest=LONGEST_SOURCE)
    name = text_field(told, "function")
    if source is None or name is None:
        raise InvalidArgument("query.source", None, "source and function are needed: a text, and the name it defines")
    made = Program(
        Function(source, name),
        names_field(told, "columns"),
        output=_whole(told, "output", MOST_OUTPUTS, 1),
        bounds=_bounds(told.get("bounds")),
        default=_numbers(told, "default"),
        blocks=None if told.get("blocks") is None else _whole(told, "blocks", MOST_BLOCKS, 0),
        aggregator=text_field(told, "aggregator", "auto"),
        metric=text_field(told, "metric"),
        sampling=text_field(told, "sampling", "partition"),
        executor="sandbox",
        settings={"slot": _slot(told), "preload": _preload(told), "files": False},
    )
    _ = made.answers
    return made


def programs_of(plans: list[Any]) -> list[TablePlan]:
    """The programs of a question; their sandboxes are all open at once, so there are few of them."""
    found = [one for one in plans if one.is_scheduled]
    if len(found) > MOST_PROGRAMS_ASKED:
        raise InvalidArgument("query", f"{len(found)} programs", f"at most {MOST_PROGRAMS_ASKED} in a question")
    return found


def seconds_of(plan: TablePlan) -> float:
    """How long a program takes on this machine, starting included: public, and the same whatever the data are."""
    cores = len(os.sched_getaffinity(0))
    program: Any = plan.inner
    running = Schedule(blocks=program.blocks, cores=cores, slot=program.query.settings["slot"]).seconds
    if running > LONGEST_RUN:
        raise InvalidArgument(
            "query.blocks", program.blocks,
            f"blocks and a slot that end within {LONGEST_RUN:g} seconds are accepted; these take {running:.0f}",
        )  # fmt: skip
    return running + STARTING


def _bounds(told: Any) -> Any:
    """One pair, or one for each number."""
    if not isinstance(told, list) or not 0 < len(told) <= MOST_OUTPUTS:
        raise InvalidArgument("query.bounds", type(told), "a pair [low, high], or a list of pairs, is accepted")
    pairs = told if isinstance(told[0], list) else [told]
    made = [tuple(_float(one) for one in pair) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    if len(made) != len(pairs):
        raise InvalidArgument("query.bounds", type(told), "a pair [low, high], or a list of pairs, is accepted")
    return made if isinstance(told[0], list) else made[0]


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise InvalidArgument("query.bounds", type(value), "numbers are accepted")
    return float(value)


def _numbers(told: dict[str, Any], field: str) -> Any:
    value = told.get(field)
    if value is None:
        return None
    if isinstance(value, list):
        if not 0 < len(value) <= MOST_OUTPUTS:
            raise InvalidArgument(f"query.{field}", type(value), f"at most {MOST_OUTPUTS} numbers are accepted")
        return tuple(_float(one) for one in value)
    return float(number_field(told, field))


def _whole(told: dict[str, Any], field: str, most: int, default: int) -> int:
    value = default if told.get(field) is None else told[field]
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidArgument(f"query.{field}", str(value)[:40], f"a whole number from 1 to {most} is accepted")
    return value


def _slot(told: dict[str, Any]) -> float:
    value = number_field(told, "slot", Decimal(str(_DEFAULT_SLOT)))
    if not SHORTEST_SLOT <= float(value) <= LONGEST_SLOT:
        raise InvalidArgument("query.slot", value, f"{SHORTEST_SLOT:g} to {LONGEST_SLOT:g} seconds are accepted")
    return float(value)


def _preload(told: dict[str, Any]) -> tuple[str, ...]:
    names = names_field(told, "preload", most=20) or []
    for one in names:
        if not _MODULE.fullmatch(one) or len(one) > 100:
            raise InvalidArgument("query.preload", one[:80], "names of modules are accepted")
    return tuple(names)
