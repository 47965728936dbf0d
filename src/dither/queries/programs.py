"""Programs of analysts: run on blocks of people; only a private aggregate of their answers is released."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeAlias, cast, runtime_checkable

import numpy as np

from dither.errors import InvalidArgument, NotIsolated, check_callable
from dither.kernels.elementary import Floats
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.metric_space import MetricSpace
from dither.numbers import exact
from dither.plain import JsonObject
from dither.privacy import Loss, Neighbours
from dither.procedures.aggregate import answer_grids
from dither.procedures.answer_spaces import AnswerSpace, as_space
from dither.procedures.drawn_point import DrawnPoint
from dither.procedures.executor import Answers, Executor, Output
from dither.procedures.metrics import Matching, OwnMetric, as_metric
from dither.procedures.partition import Members, Sampling
from dither.procedures.rows import Rows
from dither.procedures.sample_aggregate import SampleAggregatePlan, plan
from dither.queries.parameters import Bounds, ColumnNames, Names, Number, NumbersParameter, SourceParameter, Text, Whole
from dither.queries.plan import Options, Plan, Result
from dither.queries.query import Field, Query
from dither.queries.registry import Menu, query
from dither.queries.tables import made_up_rows
from dither.queries.vectors import column_names
from dither.release import SAMPLE, IntervalName, Released
from dither.sandbox import Executable, Function, as_program, open_executor
from dither.sandbox.schedule import LEAST_SLOT, SETTLING, public_moment, wait_until
from dither.sources.column import Shape
from dither.sources.schema import Schema
from dither.typing import (
    AggregatorChoice,
    Array,
    ArrowTable,
    EachBounds,
    ExecutorChoice,
    Interval,
    Intervals,
    Json,
    MetricChoice,
    Mixed,
    NumberList,
    Numbers,
    PointAggregatorName,
    ProgramChoice,
    SamplingName,
    SandboxSettings,
)
from dither.typing import Names as ColumnChoice
from dither.typing import Number as AnyNumber

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dither.queries.tables import TableRecords


Block: TypeAlias = "Array | ArrowTable"
"""Private: the rows of one block, an array or an Arrow table, as the program gets them."""


class PublicSchedule(Protocol):
    """When blocks end: public."""

    @property
    def seconds(self) -> float:
        """How long all of them take."""


@runtime_checkable
class Scheduled(Protocol):
    """An executor with a public schedule: each release ends at a moment that was fixed before."""

    def schedule(self, blocks: int) -> PublicSchedule:
        """When so many blocks end."""

    def run(self, blocks: Sequence[Block], *, begun: float, progress: Callable[[int, int], None] | None) -> Floats:
        """One row of numbers for every block."""


class Blocks(Protocol):
    """Private: rows that can be cut into blocks of people."""

    def drawn(self, sampling: Sampling) -> Sequence[Block]:
        """The rows of every block of a sampling."""


@dataclass(frozen=True)
class RowFacts:
    """What is public about rows: how many people there are, if that is, and whether columns have names."""

    people: int | None
    is_table: bool
    private: bool = False
    rows_per_person: int = 1
    made_up: Callable[[int], Block | None] | None = field(default=None, compare=False)
    """Makes up so many public rows of the same types, to try a program on; None where types are not declared."""


@dataclass(frozen=True)
class ProgramPlan(Plan["Blocks"]):
    """Sample and aggregate, ready to run."""

    label: str
    query: Program
    procedure: SampleAggregatePlan
    confidence: float | None
    is_table: bool
    claim: str | None = None
    interval_of: IntervalName = SAMPLE
    made_up: Callable[[int], Block | None] | None = field(default=None, compare=False)
    """Of the facts: what the program is tried on before anything is charged."""
    neighbours = Neighbours.CHANGE_ONE
    is_scheduled = True

    @property
    def loss(self) -> Loss:
        return self.procedure.loss

    @property
    def mechanism(self) -> str:
        return self.procedure.aggregate.mechanism

    @property
    def noise(self) -> str:
        return self.procedure.aggregate.noise

    @property
    def advice(self) -> str | None:
        return self.procedure.advice

    @property
    def intervals(self) -> int:
        return self.query.output

    @property
    def blocks(self) -> int:
        """How many blocks there are: public."""
        return self.procedure.sampling.blocks

    @property
    def runs(self) -> int:
        """How often the program runs: public.  For an interval for the population also on both halves of a block."""
        return self.blocks if self.interval_of == SAMPLE else 3 * self.blocks

    def pieces(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """What the program runs on: private."""
        if self.interval_of == SAMPLE:
            return blocks
        return [*blocks, *(half for which in (0, 1) for half in (_half(block, which) for block in blocks))]

    def joined(self, answers: Answers) -> Answers:
        """The answer of each block: private.

        Of its own answer and those of its halves that is twice the former minus the mean of the latter, in which a
        bias that is inverse to the number of records cancels (Quenouille 1949); within the public bounds.
        """
        if self.interval_of == SAMPLE:
            return answers
        whole, first, second = np.split(answers, 3)
        low, high = np.asarray(self.query.answers.bounds).T
        joined: Answers = np.clip(2.0 * whole - (first + second) / 2.0, low, high)
        return joined

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[Blocks], Result]]:
        # What is wrong with a program or with isolation is said before anything is charged.
        with self.tried.isolated(tables=self.is_table) as executor:
            yield lambda records: self._answered(executor, records)

    @property
    def tried(self) -> Program:
        """The query with made-up rows that its program must answer first, unless the analyst gave some, or None."""
        settings = self.query.settings
        example = None if "example" in settings or self.made_up is None else self.made_up(MADE_UP_ROWS)
        if example is None:
            return self.query
        return dataclasses.replace(self.query, settings={**settings, "example": example})

    def run(self, records: Blocks) -> Result:
        with self.opened() as run:
            return run(records)

    def _answered(self, executor: Executor, records: Blocks) -> Result:
        """Draw, run, aggregate.  Where there is a schedule each of the three ends at a moment that it fixed before."""
        if not isinstance(executor, Scheduled):
            pieces = self.pieces(records.drawn(self.procedure.sampling))
            result = self.procedure.run(self.joined(executor.run(pieces)))
        else:
            begun = time.monotonic()
            pieces = self.pieces(records.drawn(self.procedure.sampling))
            answers = executor.run(pieces, begun=begun, progress=self.query.progress)
            planned = time.monotonic()
            result = self.procedure.run(self.joined(answers))
            wait_until(public_moment(planned, SETTLING))
        if self.procedure.space is not None:
            (place,) = result.values or (0.0,)  # a draw always ends with a point
            return Result(self.procedure.space.point(int(place)))
        value: Numbers | float | None = result.values
        interval: Intervals | Interval | None = result.intervals if self.confidence is not None else None
        if self.query.output == 1 and result.values is not None:
            value = result.values[0]
            interval = None if result.intervals is None or interval is None else result.intervals[0]
        return Result(value, interval, getattr(self.procedure.aggregate, "refusal", None) if value is None else None)


_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_SLOT = 1.0
"""Seconds for each block, where a client says nothing."""
LONGEST_SLOT = 3_600.0
MADE_UP_ROWS = 100
"""A program is tried on so many rows before anything is charged."""
MOST_OUTPUTS = 1_000
METRIC_CLAIM = "its privacy rests on what the author of the metric claims about it"


@query(
    "program",
    of="table",
    function="sample_and_aggregate",
    runs_code=True,
    menu=Menu("Own code", "Program"),
    without={"sql": "SQL can't hold the code of a program"},
    in_json={
        "source": SourceParameter("Python", "A function of one block of people.", is_needed=True, longest=100_000),
        "function": Text("Function", is_needed=True),
        "columns": ColumnNames("Columns", is_advanced=True),
        "output": Whole("Numbers in an answer", least=1, most=MOST_OUTPUTS, is_advanced=True),
        "bounds": Bounds("Least and greatest answer", "Of numbers.", example=(0, 100), most=MOST_OUTPUTS),
        "space": Text("Space of answers", "Instead of numbers: rankings: a, b, c.", longest=20_000, is_advanced=True),
        "step": NumbersParameter(
            "Step of the answers", "1: whole numbers.  Few values need few blocks.", or_one=True, most=MOST_OUTPUTS
        ),
        "default": NumbersParameter("Answer of a block that fails", or_one=True, most=MOST_OUTPUTS, is_advanced=True),
        "blocks": Whole("Blocks", "Empty: a public rule.", least=1, most=100_000),
        "aggregator": Text("Aggregator", is_advanced=True),
        "metric": Text("Metric", is_advanced=True),
        "sampling": Text("Sampling", choices=("partition", "overlapping"), is_advanced=True),
        "slot": Number(
            "Seconds for each block",
            "Generous: four times what it takes.",
            example=_SLOT,
            least=LEAST_SLOT,
            most=LONGEST_SLOT,
        ),
        "preload": Names("Modules to load first", most=20, is_advanced=True),
    },
)
@dataclass(frozen=True)
class Program(Query[Released, Released, Mixed]):
    """Sample and aggregate as a query: options as for ``sample_and_aggregate``.

    In a session ``columns`` names the columns that a block's Arrow table has; None: all declared ones.
    """

    program: ProgramChoice
    columns: ColumnChoice | None = None
    output: int = field(default=1, kw_only=True)
    bounds: EachBounds | None = field(default=None, kw_only=True)
    step: AnyNumber | NumberList | None = field(default=None, kw_only=True)
    blocks: int | None = field(default=None, kw_only=True)
    metric: MetricChoice | None = field(default=None, kw_only=True)
    aggregator: AggregatorChoice | PointAggregatorName = field(default="auto", kw_only=True)
    sampling: SamplingName = field(default="partition", kw_only=True)
    executor: ExecutorChoice = field(default="sandbox", kw_only=True)
    default: AnyNumber | NumberList | Hashable = field(default=None, kw_only=True)
    space: AnswerSpace | MetricSpace | str | None = field(default=None, kw_only=True)
    progress: Callable[[int, int], None] | None = field(default=None, kw_only=True)
    settings: SandboxSettings = field(default_factory=SandboxSettings, kw_only=True)
    noun: ClassVar[str] = "program"
    column = None
    accepts = ("where",)

    def __post_init__(self) -> None:
        check_callable("progress", self.progress)
        object.__setattr__(self, "space", as_space(self.space))
        if self.answer_space is not None:
            instead = "is for answers of numbers, not for points of a space: leave it out"
            if self.bounds is not None:
                raise InvalidArgument("bounds", self.bounds, instead)
            if self.step is not None:
                raise InvalidArgument("step", self.step, instead)
            if self.output != 1:
                raise InvalidArgument("output", self.output, instead)
        elif self.bounds is None:
            raise InvalidArgument("bounds", None, "must be the public range of the program's answers, such as (0, 100)")
        answer_grids(self.answers, self.steps)  # refuses what is no shape

    @property
    def answer_space(self) -> AnswerSpace | None:
        """The space whose points are answers; None: answers are numbers."""
        return self.space if isinstance(self.space, AnswerSpace) else None

    @property
    def label(self) -> str:
        if isinstance(self.program, str):
            name: str | None = self.program.rpartition(":")[2]
        elif isinstance(self.program, Executable):
            name = Path(self.program.path).name
        else:
            name = getattr(self.program, "name", None) or getattr(self.program, "__name__", None)
        return f"program {name}" if name else "program"

    def parameters(self) -> dict[str, Field]:
        """What a client sends: source text and plain values."""
        if self.executor != "sandbox":
            raise InvalidArgument(
                "executor",
                str(self.executor),
                "is not sent to a server, which runs programs in sandboxes of its own: leave it out",
            )
        code = as_program(self.program)
        if isinstance(code, Executable):
            raise InvalidArgument("program", str(code.path), "must be a Python function where a server is asked")
        for name in self.settings:
            if name not in ("slot", "preload", "files"):
                raise InvalidArgument("settings", name, "must be slot and preload where a server is asked")
        for name in ("aggregator", "metric"):
            if not isinstance(getattr(self, name), (str, NoneType)):
                raise InvalidArgument(name, type(getattr(self, name)), "must be a name where a server is asked")
        answers, space = self.answers, self.answer_space
        given = {
            "source": code.source,
            "function": code.name,
            "columns": None if self.columns is None else column_names(self.columns),
            "output": self.output if space is None else None,
            "bounds": answers.bounds if space is None else None,
            "step": self.step,
            "default": None if self.default is None else answers.default,
            "space": None if space is None else space.text,
            "blocks": self.blocks,
            "aggregator": self.aggregator,
            "metric": self.metric,
            "sampling": self.sampling,
            "slot": self.settings.get("slot"),
            "preload": self.settings.get("preload"),
        }
        return {name: argument for name, argument in given.items() if argument is not None}

    @classmethod
    def from_parameters(cls, given: dict[str, Field]) -> Self:
        """A program that was sent; nothing of it runs here, and where it will run is not for analysts to choose."""
        for name in given.get("preload", ()):
            if not _MODULE.fullmatch(name) or len(name) > 100:
                raise InvalidArgument("query.preload", name[:80], "must be names of modules")
        same = ("columns", "output", "step", "blocks", "metric", "aggregator", "sampling")
        named: dict[str, Field] = {name: given[name] for name in same if name in given}
        space = as_space(given.get("space"))
        if "default" in given:
            named["default"] = _floats(given["default"]) if space is None else _coded(space, given["default"])
        return cls(
            Function(given["source"], given["function"]),
            bounds=_floats(given["bounds"]) if "bounds" in given else None,
            space=space,
            settings={
                "slot": float(given.get("slot", _SLOT)),
                "preload": tuple(given.get("preload", ())),
                "files": False,
            },
            **named,
        )

    @property
    def answers(self) -> Output:
        """The public shape of an answer; of a point it is that of its code."""
        if self.answer_space is not None:
            return self.answer_space.output(self.default)
        bounds, default = cast("ArrayLike", self.bounds), cast("ArrayLike | None", self.default)
        return Output(self.output, bounds=bounds, default=default)

    @property
    def steps(self) -> tuple[Fraction, ...] | None:
        """The declared step of each number; None: none is declared, and they lie on a fine grid."""
        if self.step is None:
            return None
        try:
            several = np.ndim(cast("ArrayLike", self.step)) > 0
        except ValueError:  # lists of several lengths
            several = True
        given = self.step if several else [self.step] * self.output
        each = tuple(exact(item, "step") for item in cast("Sequence[AnyNumber]", given))
        if len(each) != self.output:
            raise InvalidArgument("step", self.step, f"must be one number, or one for each of the {self.output}")
        return each

    def plan(self, facts: RowFacts, options: Options) -> Plan:
        options.only_auto("a program has aggregators instead", "Program(aggregator=)")
        level = None if options.miss is None else 1 - options.miss
        procedure = plan(
            facts.people,
            self.answers,
            options.loss,
            blocks=self.blocks,
            metric=self.metric,
            aggregator=self.aggregator,
            sampling=self.sampling,
            confidence=level,
            space=self.answer_space,
            steps=self.steps,
            interval=options.interval,
        )
        label, drawn = self.label, procedure.aggregate
        if isinstance(drawn, DrawnPoint) and options.miss is not None:
            blocks = drawn.changes(options.miss)
            label = f"{label} ({options.level:.0%} within {blocks} changed blocks of a {drawn.mechanism})"
        own = isinstance(as_metric(self.metric), OwnMetric)
        claim = METRIC_CLAIM if own else None
        return ProgramPlan(
            label, self, procedure, options.level, facts.is_table, claim, options.interval, facts.made_up
        )

    def plan_for_population(self, facts: RowFacts, options: Options) -> Plan:
        return self.plan(facts, options)

    @contextlib.contextmanager
    def isolated(self, *, tables: bool) -> Iterator[Executor]:
        """The executor while it is in use; where isolation fails the error says what else there is."""
        with contextlib.ExitStack() as running:
            try:
                executor = running.enter_context(self._executor(tables=tables))
            except NotIsolated as error:
                reason = f"{error.missing} (executor='trusted' runs the owner's own functions without isolation)"
                raise NotIsolated(reason) from None
            yield executor

    def _executor(self, *, tables: bool) -> contextlib.AbstractContextManager[Executor]:
        """What is wrong with the program is said here.

        tables: blocks will be Arrow tables, so functions in sandboxes find that package loaded.
        """
        executor = self.executor
        if not isinstance(executor, str) and hasattr(executor, "run"):
            if executor.output != self.answers:
                raise InvalidArgument("executor", type(executor), "must be an executor for this output")
            return contextlib.nullcontext(executor)
        settings: SandboxSettings = {**self.settings}
        space = self.answer_space
        if tables and self.executor != "trusted" and not isinstance(self.program, Executable):
            settings["preload"] = tuple(dict.fromkeys((*settings.get("preload", ()), "pyarrow")))
        try:
            program = self.program if space is None else _in_space(self.program, space, executor)
            return open_executor(cast("str", executor), program, output=self.answers, **settings)
        except TypeError:
            known = sorted(SandboxSettings.__annotations__)
            unknown = [name for name in sorted(self.settings) if name not in known] or sorted(self.settings)
            accepted = f"{unknown[0]} is no setting of this executor; those of the sandbox are {', '.join(known)}"
            raise InvalidArgument("settings", unknown, accepted) from None

    def shape(self, data: Mixed) -> RowFacts:
        rows = Rows(data)
        return RowFacts(rows.people, rows.is_table, made_up=rows.made_up)

    def read(self, data: Mixed, shape: RowFacts) -> Blocks:  # noqa: ARG002
        return _InMemory(Rows(data))

    # --- in a table ----------------------------------------------------------------------------------------

    def bound(self, schema: Schema) -> Query:
        columns = tuple(schema.columns) if self.columns is None else column_names(self.columns)
        for name in columns:
            schema.column(name, "columns")
        return dataclasses.replace(self, columns=columns)

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.columns is None else tuple(self.columns)

    def table_facts(self, schema: Schema, shape: Shape) -> RowFacts:
        made_up = functools.partial(made_up_rows, schema, self.used)
        return RowFacts(None if shape.private else shape.records, is_table=True, made_up=made_up)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[Blocks]:  # noqa: ARG002
        return [records.blocks(self.used)]

    def stored(self) -> JsonObject:
        """In plain values.  Parts without a name or text (objects in memory) make a new query every time."""
        metric: MetricChoice | str | None = self.metric
        if metric is not None and not isinstance(metric, (str, Matching)):
            metric = secrets.token_hex(8)
        aggregator = self.aggregator if isinstance(self.aggregator, str) else secrets.token_hex(8)
        shape = self.answers
        return {
            "columns": list(self.columns or ()),
            "label": self.label,
            "program": _digest(self.program),
            "output": shape.length,
            "bounds": [list(pair) for pair in shape.bounds],
            "default": list(shape.default),
            "blocks": self.blocks,
            "metric": None if metric is None else str(metric),
            "aggregator": aggregator,
            "sampling": self.sampling,
            **({} if self.answer_space is None else {"space": _space_text(self.answer_space)}),
            **({} if self.steps is None else {"step": [str(step) for step in self.steps]}),
            "executor": self.executor if isinstance(self.executor, str) else type(self.executor).__name__,
            "settings": {
                name: _setting(setting)
                for name, setting in sorted(self.settings.items())
                if (name, setting) != ("example", None)  # (whether it is tried first changes no answer)
            },
            "defaults": repr([getattr(self.program, name, None) for name in ("__defaults__", "__kwdefaults__")]),
        }

    def stored_0_1_0(self) -> JsonObject:
        kept = {key: item for key, item in self.stored().items() if key not in ("executor", "settings", "defaults")}
        return {"kind": "Program", **{"name" if key == "label" else key: item for key, item in kept.items()}}

    not_stored_0_1_0 = ("by", "calibration", "noise")
    plain_0_1_0 = True


class _InMemory:
    """Private: rows that are here."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __repr__(self) -> str:
        return "Blocks(<private>)"

    def drawn(self, sampling: Sampling) -> Sequence[Block]:
        """The rows of every block."""
        members: Sequence[Members] = sampling.draw(self._rows.people)
        return [self._rows.block(each) for each in members]


def _half(block: Block, which: int) -> Block:
    """The first or the second half of the rows of a block, which are in random order."""
    middle = len(block) // 2
    return block[:middle] if which == 0 else block[middle:]


def _floats(given: Field) -> Field:
    """Numbers, or lists of them, in floats."""
    return type(given)(_floats(argument) for argument in given) if isinstance(given, (list, tuple)) else float(given)


def _coded(space: AnswerSpace, numbers: Field) -> Hashable:
    """The point whose code was sent as a default."""
    place = space.place([int(number) for number in (numbers if isinstance(numbers, tuple) else (numbers,))])
    if place is None:
        raise InvalidArgument("query.default", "<no code>", "must be the numbers of a point of the space")
    return space.point(place)


def _space_text(space: AnswerSpace) -> str:
    """What tells spaces apart in the ledger; one of objects that have no text is a space of its own every time."""
    try:
        return space.text
    except InvalidArgument:
        return secrets.token_hex(16)


def _in_space(program: ProgramChoice, space: AnswerSpace, executor: ExecutorChoice) -> ProgramChoice:
    """The same program with its answers turned into codes; an executable writes codes itself."""
    if executor == "trusted":
        return (lambda block: space.code(program(block))) if callable(program) else program
    known = as_program(program)
    if isinstance(known, Executable):
        return known
    name = f"{known.name}_in_space"
    lines = f"def {name}(block):\n    answer = {known.name}(block)\n    {space.translation}\n"
    return Function(f"{known.source}\n\n\n{lines}", name)


def _setting(value: Field) -> Json:
    return value if isinstance(value, (str, bool, int, float)) or value is None else repr(value)


def _digest(program: ProgramChoice) -> str:
    try:
        known = as_program(program)
        if isinstance(known, Executable):
            text = Path(known.path).read_bytes() + repr((known.arguments, known.format, known.columns)).encode()
        else:
            text = f"{known.name}\n{known.source}".encode()
    except (InvalidArgument, OSError):  # the owner's own function, whose text says nothing or cannot be found
        return secrets.token_hex(16)
    return hashlib.sha256(text).hexdigest()
