"""What all commands share: numbers that people type, tables of answers, pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from rich.console import Console
    from rich.table import Table

    from dither.privacy import Simultaneous
    from dither.release import Release


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be saved, before anything is spent."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf") or not path.absolute().parent.is_dir():
        raise InvalidArgument("plot", str(path), "must be a path ending in .png, .svg or .pdf in an existing folder")


def needs_schema(file: Path) -> Path:
    """Refuse data where a schema file belongs, by the name alone: an error about its text would show a record."""
    if file.suffix.lower() != ".toml":
        raise InvalidArgument("file", str(file), "must be a schema file (.toml); dither register drafts one")
    return file


def number(argument: str, text: str) -> Decimal:
    """A decimal that a person typed, exactly."""
    from decimal import Decimal, InvalidOperation

    try:
        value = Decimal(text)
    except InvalidOperation:
        accepted = "must be a number" + (", or a date such as 2024-01-31" if argument == "bounds" else "")
        raise InvalidArgument(argument, text, accepted) from None
    if not value.is_finite():
        raise InvalidArgument(argument, text, "must be a finite number")
    return value


def confidence_of(text: str, *, simultaneous: bool = False) -> Decimal | Simultaneous | None:
    """The confidence of an interval, or of all of them at once; None where somebody typed "none"."""
    if text.lower() == "none":
        return None
    if not simultaneous:
        return number("confidence", text)
    from dither.privacy import Simultaneous

    return Simultaneous(number("confidence", text))


NARROW = 100
"""Terminals below this width do without the column of mechanisms; it stands below the table."""

LEAST_WRAPPED = 18
"""A column that may be broken into lines still has room for a word."""

MOST_SHOWN = 60
"""Longer tables are cut on the screen."""


def show(releases: Sequence[Release], labels: list[str] | None = None) -> None:
    """A table of answers with their intervals and privacy losses."""
    from rich.markup import escape

    from dither.release import covered_text, derived_text, percent_text, table_notes

    keys = list(dict.fromkeys(key for release in releases for key in release.group or {}))
    levels = {release.confidence for release in releases if release.interval is not None}
    level = next(iter(levels)) if len(levels) == 1 else None
    covered = {covered_text(release.interval_of) for release in releases if release.interval is not None}
    about = next(iter(covered)) if len(covered) == 1 else None
    pure = not any(release.loss.delta for release in releases)
    console = console_of(120 + 12 * len(keys))
    wide = console.width >= NARROW
    headings = [
        *keys,
        "question",
        "answer",
        f"{'' if level is None else f'{percent_text(level)} '}interval{about or ''}",
    ]
    headings += ["epsilon" if pure else "loss", *(["mechanism"] if wide else [])]
    table = plain_table(headings, right=("answer", "epsilon"), wrapped="question")
    named = list(zip(labels or [r.query for r in releases], releases, strict=True))
    for label, release in named[:MOST_SHOWN]:
        group = [escape(formatted_key(release, key)) for key in keys]
        loss = [f"{release.loss.epsilon:g}" if pure else str(release.loss), *([release.mechanism] if wide else [])]
        rows = release.formatted_rows()
        if len(rows) > 1:
            table.add_row(*group, escape(label), "", "", *loss)
        for name, answer, ends in rows:
            words = "" if level is not None or release.confidence is None else percent_text(release.confidence)
            words += "" if about is not None else covered_text(release.interval_of)
            payload = f" ({words.strip()})" if words else ""
            interval = "-" if ends is None else f"{ends[0]} .. {ends[1]}{payload}"
            if len(rows) > 1:
                table.add_row(*("" for _ in keys), f"  {escape(name)}", answer, interval, *("" for _ in loss))
            else:
                table.add_row(*group, escape(label), answer, interval, *loss)
    if not sys.stdout.isatty():
        console.width = max(console.width, _least_width(console, table, [label for label, _ in named], releases))
    console.print(table)
    if len(named) > MOST_SHOWN:
        console.print(f"[dim]... and {len(named) - MOST_SHOWN:,} more: --json prints all of them[/dim]")
    if not wide:
        names = ", ".join(dict.fromkeys(release.mechanism for release in releases))
        console.print(f"[dim]mechanism: {names}[/dim]")
    for refused, reason in dict.fromkeys((release.refused, release.reason) for release in releases if release.reason):
        console.print(f"[dim]{'refused: ' if refused else ''}{escape(reason)}[/dim]")
    for entry in dict.fromkeys(release.derived_from for release in releases if release.derived_from is not None):
        console.print(f"[dim]free: {derived_text(entry)}; --again pays for a new answer[/dim]")
    for note in table_notes(releases):
        console.print(f"[dim]{escape(note)}[/dim]")
    if any(release.clamped is not None and release.clamped_to is None for release in releases):
        console.print("[dim]quality(column) says how many are clamped[/dim]")


def _least_width(console: Console, table: Table, labels: list[str], releases: Sequence[Release]) -> int:
    """Columns for a table of which nothing is cut off: only labels may be broken, and only between words."""
    inner = [f"  {name}" for release in releases if len(release.rows()) > 1 for name, *_ in release.rows()]
    words = [word for label in labels for word in label.split()]
    whole = console.measure(table, options=console.options.update(width=10_000)).maximum
    longest, least = (max([LEAST_WRAPPED, *map(len, texts)]) for texts in (labels + inner, words + inner))
    return int(whole - longest + least)


def console_of(width: int) -> Console:
    """A console as wide as the terminal, or as given where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


def plain_table(headings: list[str], *, right: tuple[str, ...], wrapped: str) -> Table:
    """A table without lines, in which only one column may be broken into lines."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(
            escape(heading),
            justify="right" if heading in right else "left",
            no_wrap=heading != wrapped,
            min_width=LEAST_WRAPPED if heading == wrapped else None,
        )
    return table


def formatted_key(release: Release, key: str) -> str:
    """A key of a release's group, as it was declared: a year has no thousands."""
    value = (release.group or {}).get(key)
    return "" if value is None else str(value)
