"""Programs in a session: planned from public facts, charged, and only then read, in blocks of people.

The engine hashes each person under a fresh secret and streams the rows as Arrow; every person then gets a block at
random, independently of all others.  Where the number of rows is public, blocks are of equal size.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dither.errors import InvalidArgument, NotApplicable, SourceFailed
from dither.privacy import Loss, fraction_of_unit
from dither.procedures.executor import Executor
from dither.procedures.metrics import Matching
from dither.procedures.partition import Independent, Members
from dither.procedures.rows import table_block
from dither.procedures.sample_aggregate import SampleAggregatePlan
from dither.programs import Program, answered, released
from dither.release import Release
from dither.sandbox import Executable, as_program
from dither.session.plan import schema_digest
from dither.sources.engines.engine import Engine, arrow, arrow_schema
from dither.sources.predicates import Predicate, parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import Selection
from dither.sources.types import Boolean, ColumnType, Date, Measured


@dataclass(frozen=True)
class ProgramPlan:
    """Everything public about a program that met a schema."""

    schema: Schema
    query: Program
    columns: tuple[str, ...]
    made: SampleAggregatePlan
    predicate: Predicate | None
    expected_rows: int | None
    """The public number of rows that will be read; None: it is private."""
    level: Fraction | None
    asked: dict[str, Any]
    costs_nothing = False
    is_dated = False
    by = ()

    @property
    def loss(self) -> Loss:
        """The whole price."""
        return self.made.loss

    @property
    def label(self) -> str:
        """How releases name the question."""
        return self.query.label if self.predicate is None else f"{self.query.label} where {self.predicate}"


def plan_program(
    query: Program,
    schema: Schema,
    *,
    epsilon: object,
    delta: object = 0.0,
    where: object = None,
    by: object = None,
    mechanism: object = "auto",
    noise: object = "auto",
    confidence: object = 0.95,
) -> ProgramPlan:
    """The plan for a program, or an error that says what is accepted; nothing is read."""
    if by is not None:
        raise InvalidArgument("by", by, "no groups are accepted for a program; ask with where= for each")
    if mechanism != "auto" or noise != "auto":
        raise NotApplicable("mechanism", mechanism, "a program has aggregators instead", "Program(aggregator=)")
    columns = _columns(query, schema)
    predicate = where if isinstance(where, Predicate) or where is None else parse_filter(where, schema)
    whole = isinstance(schema.rows, int) and schema.unit is None and predicate is None
    drops = any(schema.columns[name].drops_nulls for name in columns)
    rows = schema.most_rows if whole and not drops else None
    level = None if confidence is None else fraction_of_unit("confidence", confidence)
    loss = Loss.asked(epsilon, delta)
    made = query.plan(rows, loss, level)
    asked = {
        "query": {"kind": "Program", "columns": list(columns), **_told(query)},
        "where": None if predicate is None else str(predicate),
        "epsilon": loss.epsilon,
        "delta": loss.delta,
        "confidence": None if level is None else float(level),
        "schema": schema_digest(schema, {*columns, *(predicate.columns() if predicate else ())}),
    }
    return ProgramPlan(schema, query, columns, made, predicate, rows, level, asked)


def _columns(query: Program, schema: Schema) -> tuple[str, ...]:
    given = query.columns
    if given is None:
        return tuple(schema.columns)
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or len(set(names)) != len(names):
        raise InvalidArgument("columns", given, "the name of a column, or a list of different names, is accepted")
    for name in names:
        schema.column(name, "columns")
    return tuple(str(name) for name in names)


def _told(query: Program) -> dict[str, Any]:
    """The question in plain values.  What cannot be told apart by its text is a new question every time."""
    metric = query.metric
    if metric is not None and not isinstance(metric, (str, Matching)):
        metric = secrets.token_hex(8)
    aggregator = query.aggregator if isinstance(query.aggregator, str) else secrets.token_hex(8)
    shape = query.shape
    return {
        "name": query.label,
        "program": _program_digest(query.program),
        "output": shape.length,
        "bounds": [list(pair) for pair in shape.bounds],
        "default": list(shape.default),
        "blocks": query.blocks,
        "metric": None if metric is None else str(metric),
        "aggregator": aggregator,
        "sampling": query.sampling,
    }


def _program_digest(program: Any) -> str:
    try:
        known = as_program(program)
        if isinstance(known, Executable):
            text = Path(known.path).read_bytes() + repr((known.arguments, known.format, known.columns)).encode()
        else:
            text = f"{known.name}\n{known.source}".encode()
    except (InvalidArgument, OSError):  # the owner's own function, whose text says nothing or cannot be found
        return secrets.token_hex(16)
    return hashlib.sha256(text).hexdigest()


def answer_program(plan: ProgramPlan, engine: Engine, executor: Executor) -> Release:
    """Run a plan that was paid for."""
    arrow()  # (loading it takes a second, once a process, which is no matter of the data)

    def drawn() -> list[Any]:
        with engine.snapshot():
            return drawn_blocks(plan, engine)

    found = answered(plan.query, plan.made, executor, drawn)
    return released(plan.query, plan.made, found, plan.schema.neighbours, plan.level, plan.label)


def drawn_blocks(plan: ProgramPlan, engine: Engine) -> list[Any]:
    """The rows of every block as Arrow tables: private."""
    table, shown = declared_rows(plan.schema, engine, plan.columns, plan.predicate, plan.expected_rows)
    return [table_block(shown, members) for members in _members(plan, table)]


def declared_rows(
    schema: Schema, engine: Engine, columns: Sequence[str], predicate: Predicate | None, expected: int | None
) -> tuple[Any, Any]:
    """Private: the rows as they were streamed, and their declared columns as users of their types expect them."""
    pa = arrow()
    selection = Selection(engine, schema, predicate, secret=secrets.token_hex(16))
    query, kinds = selection.tuples(columns)
    streamed = arrow_schema([one.alias_or_name for one in query.selects], kinds)
    table = pa.Table.from_batches(engine.stream(query, kinds), streamed)
    if expected is not None and table.num_rows != expected:
        raise SourceFailed(
            f"the source does not have the {expected} rows that its schema declares: correct rows in the schema, "
            "or make it private; what was charged stays charged"
        )
    shown = {name: _shown(pa, table.column(place), schema.columns[name]) for place, name in enumerate(columns)}
    return table, pa.table(shown)


def made_up_rows(schema: Schema, columns: Sequence[str], rows: int = 100) -> Any:
    """Public: rows as the schema declares them, spread over the bounds; to try a program on before anything is read."""
    pa = arrow()
    made = {}
    for place, name in enumerate(columns):
        kind = schema.columns[name]
        # Fractional parts of multiples of an irrational number, another one for each column, are spread evenly.
        spread = (np.arange(1, rows + 1) * math.sqrt(place + 2.1)) % 1.0
        if isinstance(kind, Measured):
            low, high = (int(end) for end in kind.grid.ends)
            steps = np.array([low + round(float(one) * (high - low)) for one in spread])
            made[name] = _shown(pa, pa.array(steps), kind)
        else:
            values = getattr(kind, "values", None) or ("a", "b")
            made[name] = pa.array([values[int(one * len(values))] for one in spread], pa.string())
    return pa.table(made)


def _members(plan: ProgramPlan, table: Any) -> list[Members]:
    """Which rows each block has; rows of a block are in random order, for that of the engine may depend on anybody."""
    sampling = plan.made.sampling
    if plan.schema.unit is None:
        return sampling.draw(table.num_rows)
    if not isinstance(sampling, Independent):
        raise RuntimeError("people with several rows are drawn independently")
    encoded = table.column("h").dictionary_encode().unify_dictionaries()
    person = np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
    return sampling.draw_groups(person.astype(np.int64), int(person.max(initial=-1)) + 1)


def _shown(pa: Any, values: Any, declared: ColumnType) -> Any:
    """A streamed column as users of its type expect it."""
    if not isinstance(declared, Measured):
        return values
    steps = values.to_numpy()
    if isinstance(declared, Boolean):
        return pa.array(steps.astype(np.bool_))
    if isinstance(declared, Date):
        # Grids of dates have whole days.
        days = (steps * int(declared.grid.step)).astype(np.int32)
        return pa.array(days, pa.int32()).cast(pa.date32())
    if declared.grid.step == 1:
        return pa.array(steps)
    step = declared.grid.step
    return pa.array(steps.astype(np.float64) * step.numerator / step.denominator)
