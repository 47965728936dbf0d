"""``dither run``: an analyst's program on a registered dataset; ``dither clusters``: k-means and mixtures of one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import CommonOptions, LossArguments, RunOptions, interval_option
from dither.interfaces.cli.output import needs_schema, number, show

if TYPE_CHECKING:
    from dither.release import Release
    from dither.sandbox.programs import Program
    from dither.session.graphs import GraphSession
    from dither.session.session import Session
    from dither.typing import MetricChoice, SandboxSettings


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """Options of every question to a registered dataset."""
    options: list[Callable[[Callable[..., None]], Callable[..., None]]] = [
        click.option("--epsilon", required=True, help="Total privacy loss, intervals included."),
        click.option("--delta", default="0", show_default=True, help="Total delta."),
        click.option(
            "--confidence",
            default="0.95",
            show_default=True,
            help='Of the intervals; "none" spends all on the answer.',
        ),
        interval_option,
        click.option("--columns", default=None, metavar="A,B", help="Columns to use; all declared ones by default."),
        click.option("--blocks", type=int, default=None, help="How many blocks; by default from a public rule."),
        click.option("--ledger", default=None, help="Where charges are kept; by default beside the schema."),
        click.option("--again", is_flag=True, help="Pay for a new answer to a question answered before."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("program")
@click.option(
    "--bounds",
    nargs=2,
    multiple=True,
    metavar="LOWER UPPER",
    help="Public range of the answers: once for all numbers, or once for each; needed unless --space is given.",
)
@click.option(
    "--space",
    default=None,
    metavar="TEXT",
    help="Answers are points instead of numbers: 'rankings: a, b, c', 'sets: ...', 'labels: ...' or 'strings: ...'.",
)
@click.option(
    "--step",
    multiple=True,
    metavar="NUMBER",
    help="Public grid of the answers, such as 1 for whole numbers: once for all numbers, or once for each.",
)
@click.option("--output", default=1, show_default=True, help="How many numbers the program returns.")
@click.option("--default", default=None, help="What a block that fails counts as; if not given the middle.")
@click.option("--where", default=None, help="Which rows, e.g. \"year = 2014 AND job = 'nurse'\".")
@click.option(
    "--aggregator",
    default="auto",
    show_default=True,
    help="auto, median, smooth_median, centre or average; in a space medoid or centre.",
)
@click.option("--metric", default=None, help="For the centre: l1, l2, or matching:K for sets of K points.")
@click.option("--sampling", default="partition", show_default=True, help="partition or overlapping.")
@click.option("--executor", default="sandbox", show_default=True, help="sandbox, ray, or ray://host:port.")
@click.option("--slot", type=float, default=1.0, show_default=True, help="Seconds for each block on a core.")
@click.option("--lead", type=float, default=None, help="Seconds for drawing the blocks; 2 if not given.")
@click.option("--cores", type=int, default=None, help="How many cores; all by default.")
@click.option("--preload", default=None, metavar="A,B", help="Modules to load once, before any block.")
@click.option("--memory-mib", type=int, default=None, help="Memory that a block may take.")
@click.option(
    "--files/--no-files",
    default=True,
    show_default=True,
    help="Whether functions see libraries' files; without them only what they import or --preload names is there.",
)
@click.option("--format", "format_", default="csv", show_default=True, help="csv or arrow, for executables.")
@click.option("--argument", multiple=True, help="An argument for an executable; repeatable.")
@click.option("--dry-run", is_flag=True, help="Try PROGRAM on made-up rows, show the plan, charge nothing.")
@click.option("--untried", is_flag=True, help="Leave out the trial on made-up rows that comes before the charge.")
@_common
def run(
    file: Path, program: str, *, as_json: bool, dry_run: bool, untried: bool, **options: Unpack[RunOptions]
) -> None:
    """Run PROGRAM on blocks of people of a registered dataset (a schema FILE, .toml) and release a private aggregate.

    PROGRAM is FILE.py:FUNCTION, a function of one Arrow table that returns numbers; or an executable that reads a block
    as CSV (or Arrow) and writes numbers.  It runs isolated.  It is tried on made-up rows first, and if it fails there
    nothing is charged.  A block of people that fails, is late or answers with something else counts as the default,
    and nobody is told.

    \b
    dither run payroll.toml analysis.py:mean_pay --bounds 0 300000 --epsilon 1
    dither run payroll.toml ./median.sh --bounds 0 300000 --epsilon 1 --columns total_pay --dry-run
    dither run votes.toml analysis.py:order --space 'rankings: tea, coffee, water' --epsilon 1
    """
    import dither as dt

    query = dt.Program(
        _program(program, options),
        _names(options["columns"]),
        output=options["output"],
        bounds=_bounds(options["bounds"]),
        step=_step(options["step"]),
        space=options["space"],
        blocks=options["blocks"],
        metric=_metric(options["metric"]),
        aggregator=options["aggregator"],
        sampling=options["sampling"],
        executor=_executor(options["executor"]),
        default=_default(options["default"], options["space"]),
        progress=None if as_json or dry_run or not sys.stderr.isatty() else _show_progress,
        settings={**_settings(options), "example": None} if untried and not dry_run else _settings(options),
    )
    with dt.open(needs_schema(file), ledger=options["ledger"]) as session:
        _needs_table(session)
        asked = _asked(options)
        if dry_run:
            _show_plan(_tried(session.plan(query, where=options["where"], **asked)), as_json=as_json)
            return
        release = session.ask(query, where=options["where"], again=options["again"], **asked)
        _show(session, release, as_json=as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-k", "--k", "count", type=int, required=True, help="How many clusters.")
@click.option("--mixture", is_flag=True, help="Shares and standard deviations too: a mixture of Gaussians.")
@_common
def clusters(file: Path, *, count: int, mixture: bool, as_json: bool, **options: Unpack[CommonOptions]) -> None:
    """The centres of K clusters of a registered dataset (a schema FILE, .toml) whose number of rows is public.

    Bounds are those that the schema declares.  --delta above 0 is needed.

    \b
    dither clusters shops.toml -k 3 --columns x,y --epsilon 1 --delta 1e-6
    """
    import dither as dt

    query_class = dt.GaussianMixture if mixture else dt.KMeans
    query = query_class(_names(options["columns"]), k=count, blocks=options["blocks"])
    with dt.open(needs_schema(file), ledger=options["ledger"]) as session:
        _needs_table(session)
        release = session.ask(query, again=options["again"], **_asked(options))
        _show(session, release, as_json=as_json)


def _asked(options: CommonOptions) -> LossArguments:
    confidence = options["confidence"]
    return {
        "epsilon": number("epsilon", options["epsilon"]),
        "delta": number("delta", options["delta"]),
        "confidence": None if confidence.lower() == "none" else number("confidence", confidence),
        "interval": options["interval"],
    }


def _program(text: str, options: RunOptions) -> Program:
    from dither.sandbox import Executable, Function

    path, colon, name = text.rpartition(":")
    if colon and path.endswith(".py"):
        return Function.from_file(path, name)
    if text.endswith(".py") and not os.access(text, os.X_OK):
        raise InvalidArgument("program", text, f"must name a function too: {text}:FUNCTION")
    return Executable(text, options["argument"], format=options["format_"])


def _bounds(pairs: tuple[tuple[str, str], ...]) -> tuple[float, float] | list[tuple[float, float]] | None:
    built = [(float(number("bounds", low)), float(number("bounds", high))) for low, high in pairs]
    return None if not built else built[0] if len(built) == 1 else built


def _step(given: tuple[str, ...]) -> Decimal | list[Decimal] | None:
    built = [number("step", argument) for argument in given]
    return None if not built else built[0] if len(built) == 1 else built


def _default(text: str | None, space: str | None) -> float | str | tuple[str, ...] | None:
    """A number; in a space a point, of which rankings and sets have commas between their items."""
    if text is None:
        return None
    if space is None:
        return float(number("default", text))
    if space.partition(":")[0].strip() in ("rankings", "sets"):
        return tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    return text


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _metric(text: str | None) -> MetricChoice | None:
    from dither.procedures.metrics import Matching

    if text is None or not text.startswith("matching:"):
        return cast("MetricChoice | None", text)  # any other text is refused with the names that there are
    points = text.removeprefix("matching:")
    if not points.isdigit():
        raise InvalidArgument("metric", text, "must be matching:K with a whole number K")
    return Matching(int(points))


def _executor(name: str) -> str:
    """Never "trusted": on this machine that would run anybody's file with the owner's rights."""
    if name not in ("sandbox", "ray") and not name.startswith("ray://"):
        raise InvalidArgument("executor", name, "must be sandbox, ray, or ray://host:port")
    return name


def _settings(options: RunOptions) -> SandboxSettings:
    settings: SandboxSettings = {"slot": options["slot"]}
    if options["lead"] is not None:
        settings["lead"] = options["lead"]
    if options["cores"] is not None:
        settings["cores"] = options["cores"]
    if options["memory_mib"] is not None:
        settings["memory_mib"] = options["memory_mib"]
    settings["preload"], settings["files"] = tuple(_names(options["preload"]) or ()), options["files"]
    return settings


def _needs_table(session: Session | GraphSession) -> None:
    if hasattr(session.schema, "vertices"):
        raise InvalidArgument("file", session.schema.name, "must be the schema of a table, not of a graph")


def _show_progress(done: int, planned: int) -> None:
    """One line that is written over; rounds of the public schedule, or blocks that a cluster has done."""
    end = "\n" if done == planned else ""
    click.echo(f"\r{done} of {planned}", err=True, nl=False)
    click.echo(end, err=True, nl=False)


def _tried(plan: Any) -> dict[str, str | int | float]:  # the plan of a program, which knows its schema
    """What will be run, after the program has run on rows made up from the schema; what is wrong with it is said."""
    with plan.inner.tried.isolated(tables=True) as executor:
        seconds = executor.schedule(plan.inner.runs).seconds
    return {
        "question": plan.label,
        "blocks": plan.inner.blocks,
        "aggregator": plan.inner.procedure.aggregator,
        "epsilon": plan.loss.epsilon,
        "delta": plan.loss.delta,
        "seconds": round(seconds, 2),
        **({} if plan.advice is None else {"advice": plan.advice}),
    }


def _show_plan(payload: Mapping[str, str | int | float], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"plan": payload}))
        return
    click.echo("the program answers made-up rows; nothing was read, nothing was charged")
    for name, value in payload.items():
        click.echo(f"{name:<12}{value}")


def _show(session: Session | GraphSession, release: Release, *, as_json: bool) -> None:
    from dither.release import Releases

    account, releases = session.budget, Releases([release], release.loss)
    if not as_json:
        show(releases)
        click.echo(str(account))
        return
    budget = {
        name: {"epsilon": item.epsilon, "delta": item.delta}
        for name, item in (("total", account.total), ("spent", account.spent), ("left", account.left))
    }
    click.echo(json.dumps({"dataset": session.schema.name, **releases.to_dict(), "budget": budget}))
