"""What all commands share: numbers that people type, tables of answers, pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dither.errors import InvalidArgument


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be saved, before anything is spent."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf") or not path.absolute().parent.is_dir():
        raise InvalidArgument(
            "plot", str(path), "a path ending in .png, .svg or .pdf in an existing folder is accepted"
        )


def number(argument: str, text: str) -> Any:
    """A decimal that a person typed, exactly."""
    from decimal import Decimal, InvalidOperation

    try:
        value = Decimal(text)
    except InvalidOperation:
        raise InvalidArgument(argument, text, "a number is accepted") from None
    if not value.is_finite():
        raise InvalidArgument(argument, text, "a finite number is accepted")
    return value


def show(releases: list[Any], labels: list[str] | None = None) -> None:
    """A table of answers with their error bars and prices."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from dither.release import shown, shown_all

    keys = list(dict.fromkeys(key for release in releases for key in release.group or {}))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (*keys, "question", "answer", "error bar", "price", "calibration"):
        table.add_column(escape(heading), justify="right" if heading == "answer" else "left")
    for label, release in zip(labels or [r.query for r in releases], releases, strict=True):
        group = [escape(shown_key(release, key)) for key in keys]
        rows = release.rows()
        if len(rows) > 1:
            table.add_row(*group, escape(label), "", "", str(release.loss), release.calibration)
        for name, value, bar in rows:
            shown_bar = "-" if bar is None else f"{shown(bar[0])} .. {shown(bar[1])} ({release.confidence:.0%})"
            answer = "refused" if value is None else shown(value)
            if len(rows) > 1:
                table.add_row(*("" for _ in keys), f"  {escape(name)}", answer, shown_bar, "", "")
            else:
                table.add_row(*group, escape(label), answer, shown_bar, str(release.loss), release.calibration)
    console = Console(width=None if sys.stdout.isatty() else 110 + 12 * len(keys), highlight=False)
    console.print(table)
    if len({str(release.group) for release in releases if release.group}) > 1:
        console.print("[dim]a price pays for all groups of its question together[/dim]")
    missing = [r.missing for r in releases if r.missing is not None]
    if missing:
        note = ", ".join(sorted({shown_all(one) for one in missing}))
        console.print(f"[dim]missing values (in a CSV also what is not a number) count as {escape(note)}[/dim]")


def shown_key(release: Any, key: str) -> str:
    """A key of a release's group, as it was declared: a year has no thousands."""
    value = (release.group or {}).get(key)
    return "" if value is None else str(value)
