"""Bring your own program: it runs on blocks of people, and only a private aggregate of its answers is released."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither.errors import InvalidArgument, NotIsolated
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures.aggregate import Aggregated
from dither.procedures.executor import Executor, Output
from dither.procedures.rows import Rows
from dither.procedures.sample_aggregate import SampleAggregatePlan, plan
from dither.release import Release
from dither.sandbox import Executable, open_executor
from dither.sandbox.schedule import SETTLING, public_moment, wait_until


def sample_and_aggregate(
    rows: Any,
    program: Any,
    *,
    output: int = 1,
    bounds: Any = None,
    blocks: int | None = None,
    metric: Any = None,
    aggregator: Any = "auto",
    sampling: str = "partition",
    executor: Any = "sandbox",
    default: Any = None,
    progress: Callable[[int, int], None] | None = None,
    epsilon: Any,
    delta: Any = 0.0,
    confidence: Any = 0.95,
    **settings: Any,
) -> Release:
    """Run any program on random blocks of people and release a private aggregate of its answers.

    Neighbours change one row.

    rows: an array, a frame, a mapping of names to columns, or a list of rows.  A program gets a block as an array where
        an array or list was given, and as an Arrow table where columns have names.
    program: a function of one block, ``"file.py:function"``, or an executable (``dither.sandbox.Executable``).
    output: how many numbers it returns.  bounds: their public range, one pair or a pair for each; answers outside are
        clamped.  default: what a block counts as that fails, is late or answers with something else.
    blocks: how many; by default a public rule.  Few blocks are large and answer well; many make the noise small.
    aggregator: "auto", "median", "smooth_median", "centre" (the centre of attention), ...
    metric: for the centre: "l1", "l2", ``dither.Matching(points)``, or a function of two answers.
    sampling: "partition", or "overlapping" for NRS11's independent samples.
    executor: "sandbox" isolates the program; "ray://host:port" on many machines.  "trusted" runs it in this process:
        only for functions that the owner of the data wrote or has read.  An open ``Sandbox`` serves several releases.
    progress: called with how much is done and how much there is to do; for the owner alone.
    settings: for the sandbox: ``slot=`` seconds for each block on a core (1 unless given, at least 0.2), ``lead=``
        seconds for drawing the blocks (2 unless given), ``preload=``, ``example=`` (public made-up rows), ...
    confidence: of the error bars, which are about the aggregate of the blocks' answers.

    >>> import numpy as np
    >>> pay = np.linspace(20_000, 120_000, 10_001)
    >>> release = sample_and_aggregate(pay, np.mean, bounds=(0, 600_000), epsilon=1.0, executor="trusted")
    >>> 60_000 < release.value < 80_000
    True
    """
    query = Program(
        program, output=output, bounds=bounds, blocks=blocks, metric=metric, aggregator=aggregator, sampling=sampling,
        executor=executor, default=default, progress=progress, settings=settings,
    )  # fmt: skip
    return query.ask(rows, epsilon=epsilon, delta=delta, confidence=confidence)


@dataclass(frozen=True)
class Program:
    """Sample and aggregate as a question: options as for ``sample_and_aggregate``.

    In a session ``columns`` names the columns that a block's Arrow table has; None: all declared ones.
    """

    program: Any
    columns: Any = None
    output: int = field(default=1, kw_only=True)
    bounds: Any = field(default=None, kw_only=True)
    blocks: int | None = field(default=None, kw_only=True)
    metric: Any = field(default=None, kw_only=True)
    aggregator: Any = field(default="auto", kw_only=True)
    sampling: str = field(default="partition", kw_only=True)
    executor: Any = field(default="sandbox", kw_only=True)
    default: Any = field(default=None, kw_only=True)
    progress: Callable[[int, int], None] | None = field(default=None, kw_only=True)
    settings: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if self.bounds is None:
            raise InvalidArgument(
                "bounds", None, "the public range of the program's answers, such as (0, 100), is needed"
            )
        self.shape  # noqa: B018  (refuses what is no shape)

    @property
    def label(self) -> str:
        """How a release names the question."""
        if isinstance(self.program, str):
            name: Any = self.program.rpartition(":")[2]
        elif isinstance(self.program, Executable):
            name = Path(self.program.path).name
        else:
            name = getattr(self.program, "name", None) or getattr(self.program, "__name__", None)
        return f"program {name}" if name else "program"

    @property
    def shape(self) -> Output:
        """The public shape of an answer."""
        return Output(self.output, bounds=self.bounds, default=self.default)

    def plan(self, people: int | None, loss: Loss, confidence: Fraction | None) -> SampleAggregatePlan:
        """How blocks are drawn and answers aggregated, from public facts alone."""
        return plan(
            people, self.shape, loss, blocks=self.blocks, metric=self.metric, aggregator=self.aggregator,
            sampling=self.sampling, confidence=confidence,
        )  # fmt: skip

    def open(self, *, tables: bool = False) -> Any:
        """The executor, to be used in a ``with`` statement; what is wrong with the program is said here.

        tables: blocks will be Arrow tables, so functions in sandboxes find that package loaded.
        """
        if hasattr(self.executor, "run"):
            if self.executor.output != self.shape:
                raise InvalidArgument("executor", type(self.executor), "one that was made for this output is accepted")
            return contextlib.nullcontext(self.executor)
        settings = dict(self.settings)
        if tables and self.executor != "trusted" and not isinstance(self.program, Executable):
            settings["preload"] = tuple(dict.fromkeys((*settings.get("preload", ()), "pyarrow")))
        try:
            return open_executor(self.executor, self.program, output=self.shape, **settings)
        except TypeError:
            raise InvalidArgument("settings", sorted(self.settings), "settings of the executor are accepted") from None

    def ask(self, rows: Any, *, epsilon: Any, delta: Any = 0.0, confidence: Any = 0.95) -> Release:
        """Ask it of rows in memory."""
        data = Rows(rows)
        loss = Loss.asked(epsilon, delta)
        level = None if confidence is None else fraction_of_unit("confidence", confidence)
        made = self.plan(data.people, loss, level)
        with opened(self, tables=data.is_table) as executor:
            found = answered(
                self, made, executor, lambda: [data.block(members) for members in made.sampling.draw(data.people)]
            )
        return released(self, made, found, Neighbours.CHANGE_ONE, level)


class opened:  # noqa: N801
    """The executor of a program while it is in use; where isolation fails it says what else there is."""

    def __init__(self, query: Program, *, tables: bool) -> None:
        self._context = query.open(tables=tables)

    def __enter__(self) -> Any:
        try:
            return self._context.__enter__()
        except NotIsolated as error:
            reason = f"{error.missing} (executor='trusted' runs the owner's own functions without isolation)"
        raise NotIsolated(reason)

    def __exit__(self, *exception: object) -> Any:
        return self._context.__exit__(*exception)


def answered(
    query: Program, made: SampleAggregatePlan, executor: Executor, draw: Callable[[], Sequence[Any]]
) -> Aggregated:
    """Draw, run, aggregate.  Where there is a schedule each of the three ends at a moment that it fixed beforehand."""
    scheduled: Any = executor
    if not hasattr(executor, "schedule"):
        return made.run(executor.run(draw()))
    begun = time.monotonic()
    answers = scheduled.run(draw(), begun=begun, progress=query.progress)
    planned = time.monotonic()
    found = made.run(answers)
    wait_until(public_moment(planned, SETTLING))
    return found


def released(
    query: Program,
    made: SampleAggregatePlan,
    found: Aggregated,
    neighbours: Neighbours,
    level: Fraction | None,
    label: str | None = None,
) -> Release:
    """The release of what was aggregated."""
    one = query.output == 1
    value: Any = found.values
    bar: Any = found.intervals if level is not None else None
    if one and value is not None:
        value, bar = value[0], None if bar is None else bar[0]
    return Release(
        value=value,
        interval=bar,
        confidence=None if level is None else float(level),
        loss=made.loss,
        neighbours=neighbours,
        query=label or query.label,
        mechanism=made.aggregate.mechanism,
        noise=made.aggregate.noise,
        reason=getattr(made.aggregate, "refusal", None) if value is None else None,
    )
