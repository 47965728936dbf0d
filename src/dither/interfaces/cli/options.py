"""Options that several commands share, and their types.

Their help names examples only: to list a registry would load all of it, and help is to be quick.  A name that is not in
the registry is refused with all that are: the types below say what is meant, not what may be typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypedDict, TypeVar

import click

from dither.errors import InvalidArgument

if TYPE_CHECKING:
    from dither.privacy import Simultaneous
    from dither.quotes.priors import Prior
    from dither.sources.lines import TextLayout
    from dither.typing import AggregatorName, IntervalName, MechanismName, NoiseName, SamplingName

P = ParamSpec("P")
R = TypeVar("R")


class Selecting(TypedDict):
    """Which rows, and in which groups."""

    where: str | None
    by: tuple[str, ...]


class TextOptions(TypedDict):
    """How a text file is laid out."""

    delimiter: str | None
    skip_lines: int | None
    encoding: str | None


class LayoutOptions(TextOptions):
    """How a text file is laid out, and how its values are written."""

    format_: tuple[str, ...]


class CheckOptions(LayoutOptions):
    """What ``dither check`` takes beside the file."""

    columns: tuple[str, ...]


class FileOptions(LayoutOptions):
    """What is declared of a file without a schema."""

    columns: tuple[str, ...]
    bounds: tuple[tuple[str, str], ...]
    step: str | None
    nulls: str | None


class AskCommandOptions(Selecting, FileOptions):
    """What ``dither ask`` takes beside the file, the question and how the answer is shown."""

    epsilon: str
    delta: str
    mechanism: MechanismName
    noise: NoiseName
    confidence: str
    interval: IntervalName
    simultaneous: bool
    weights: str | None
    ledger: str | None
    again: bool


class QuoteCommandOptions(Selecting, FileOptions):
    """What ``dither quote`` takes beside the file and the question."""

    epsilon: str | None
    target_error: str | None
    of: str
    delta: str
    prior: str | None
    prior_sample: Path | None
    rows: int | None
    mechanism: MechanismName
    noise: NoiseName
    confidence: str
    interval: IntervalName
    simultaneous: bool
    server: str | None
    ledger: str | None
    again: bool
    token: str | None


class QuoteArguments(TypedDict):
    """What a quote is asked with beside its privacy loss."""

    prior: Prior | None
    rows: int | None
    mechanism: MechanismName
    noise: NoiseName
    confidence: Decimal | Simultaneous | None
    interval: IntervalName


class LossArguments(TypedDict):
    """What every question is asked with."""

    epsilon: Decimal
    delta: Decimal
    confidence: Decimal | Simultaneous | None
    interval: IntervalName


class StatementArguments(LossArguments):
    """What a statement is asked with."""

    weights: dict[str, Decimal] | list[Decimal] | None
    mechanism: MechanismName
    noise: NoiseName
    again: bool


class CommonOptions(TypedDict):
    """What ``dither run`` and ``dither clusters`` both take."""

    epsilon: str
    delta: str
    confidence: str
    interval: IntervalName
    columns: str | None
    blocks: int | None
    ledger: str | None
    again: bool


class RunOptions(CommonOptions):
    """What ``dither run`` takes beside the file and the program."""

    bounds: tuple[tuple[str, str], ...]
    step: tuple[str, ...]
    output: int
    space: str | None
    default: str | None
    where: str | None
    aggregator: AggregatorName
    metric: str | None
    sampling: SamplingName
    executor: str
    slot: float
    lead: float | None
    cores: int | None
    preload: str | None
    memory_mib: int | None
    files: bool
    format_: Literal["csv", "arrow"]
    argument: tuple[str, ...]


class RegisterFlags(LayoutOptions):
    """What ``dither register`` is told about columns, people and the budget."""

    columns: tuple[str, ...]
    nulls: tuple[str, ...]
    priors: tuple[str, ...]
    rows: str | None
    unit: str | None
    rows_per_unit: str | None
    epsilon: str | None
    delta: str | None
    person: str | None
    keys: tuple[str, ...]
    links: tuple[str, ...]
    public: tuple[str, ...]
    codebook: Path | None


def refuse(
    # options: as click has them
    options: Mapping[str, object],
    names: Sequence[str],
    why: str,
    *,
    as_text: bool = False,
    empty: bool = False,
) -> None:
    """Refuse options that do not belong here (also ``empty`` ones); each may be of any type."""
    for name in names:
        if options[name] or (empty and options[name] is not None):
            raise InvalidArgument(name, str(options[name]) if as_text else options[name], why)


OF_FILES = ("columns", "format_", "delimiter", "skip_lines", "encoding")
"""Options that say what a schema file says."""
DECLARED = ("bounds", "step", "nulls", *OF_FILES)
"""The same of a question about a file without a schema."""


class BoundsCommand(click.Command):
    """Takes ``--bounds 0,50000`` for two numbers: otherwise the next option would be the second."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        split: list[str] = []
        for place, argument in enumerate(args):
            pair = argument.split(",") if place and args[place - 1] == "--bounds" else []
            after = args[place + 1] if place + 1 < len(args) else "--"
            if len(pair) == 1 and after.startswith("--"):
                raise click.UsageError(f"--bounds {argument}: two numbers are needed, --bounds LOWER UPPER", ctx)
            split += pair if len(pair) == 2 and all(pair) else [argument]
        return super().parse_args(ctx, split)


def file_options(command: Callable[P, R]) -> Callable[P, R]:
    """What is declared of a file without a schema."""
    for option in (
        layout_options,
        column_option,
        click.option("--nulls", default=None, help='Missing values: "lower", "upper", a number, or "drop".'),
        click.option("--step", default=None, help="Public grid step of the column, e.g. 0.01; 1 gives whole answers."),
        click.option(
            "--bounds",
            nargs=2,
            type=str,
            multiple=True,
            metavar="LOWER UPPER",
            help="Public range of the columns, or once for each of them; never read off the data.",
        ),
    ):
        command = option(command)
    return command


def column_option(command: Callable[P, R]) -> Callable[P, R]:
    """What is declared about a column, in one flag."""
    return click.option(
        "--column", "columns", multiple=True, metavar="NAME=TYPE[:LOWER:UPPER[:STEP]]", help="Declare a column."
    )(command)


def text_options(command: Callable[P, R]) -> Callable[P, R]:
    """How a text file is laid out."""
    for option in (
        click.option("--encoding", default=None, help="Of a text file, such as latin-1; UTF-8 by default."),
        click.option("--skip-lines", type=int, default=None, help="Lines before the one that names the columns."),
        click.option("--delimiter", default=None, help="Between fields; by default as in the header."),
    ):
        command = option(command)
    return command


def layout_options(command: Callable[P, R]) -> Callable[P, R]:
    """How a text file is laid out, and how its values are written."""
    written = "How 1234.56 is written, such as 1.234,56, or a date, such as %d.%m.%Y; for one column NAME=FORMAT."
    option = click.option("--format", "format_", multiple=True, metavar="[NAME=]FORMAT", help=written)
    return option(text_options(command))


def layout_of(options: TextOptions) -> TextLayout:
    """The declared layout of a text file."""
    from dither.sources.lines import TextLayout

    delimiter = {"tab": "\t", "\\t": "\t"}.get(options["delimiter"] or "", options["delimiter"])
    return TextLayout(delimiter, options["skip_lines"] or 0, options["encoding"] or "utf-8")


def interval_option(command: Callable[P, R]) -> Callable[P, R]:
    """What the interval covers."""
    return click.option(
        "--interval",
        type=click.Choice(["sample", "population"]),
        default="sample",
        show_default=True,
        help="What the interval covers: the statistic of the records, or of the population that they are a sample of.",
    )(command)


def mechanism_option(command: Callable[P, R]) -> Callable[P, R]:
    """A mechanism by name; ``--calibration`` is its older name."""
    return click.option(
        "--mechanism",
        "--calibration",
        default="auto",
        show_default=True,
        help='"auto", or a mechanism by name, such as inverse, smooth or worst_case.',
    )(command)


def noise_option(command: Callable[P, R]) -> Callable[P, R]:
    """A law of noise by name."""
    return click.option(
        "--noise",
        default="auto",
        show_default=True,
        help='"auto", or a law of noise by name, such as laplace, gaussian or blunt_power_law.',
    )(command)


LIMIT_CHOICES = (
    "a number such as 10 uses at most 10 rows of each person and leaves out the others; private has each answer find a "
    "limit and pay for it"
)


def declared_limit(given: str | None, *, talking: bool) -> int | str:
    """How many rows of one person are used, asked for where the owner is there to answer; never a default."""
    if given is None and not talking:
        raise InvalidArgument("rows_per_unit", None, f"is missing, pass --rows-per-unit: {LIMIT_CHOICES}")
    if given is None:
        click.echo(f"How many rows of one person are used: {LIMIT_CHOICES}.")
        given = click.prompt("  rows of one person: a number, or private")
    return rows_per_unit_of(given.strip())


def rows_per_unit_of(text: str) -> int | str:
    """A number of rows, or "private"."""
    from dither.privacy import PRIVATE

    if text == PRIVATE:
        return text
    if not text.isdecimal() or int(text) < 1:
        raise InvalidArgument("rows_per_unit", text, "must be a whole number of at least 1, or private")
    return int(text)
