"""What notebooks show: tables as HTML, and a bar for long work that needs no widgets."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

_LEAST_PAUSE = 0.1
"""Seconds between two drawings of a bar."""
_WIDTH = 30
"""Signs of a bar in a terminal."""


def table_html(heads: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", note: str = "") -> str:
    """A table of texts, all of which are escaped.

    >>> table_html(["column"], [["<b>"]])
    '<div><table><tr><th>column</th></tr><tr><td>&lt;b&gt;</td></tr></table></div>'
    """
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    before = f"<b>{html.escape(title)}</b>" if title else ""
    after = f"<small>{html.escape(note)}</small>" if note else ""
    return f"<div>{before}<table><tr>{head}</tr>{body}</table>{after}</div>"


def share_html(share: float, text: str) -> str:
    """A bar that is filled up to a share, with a text behind it."""
    filled = min(1.0, max(0.0, share))
    return f'<div><progress value="{filled:.4f}" max="1"></progress> {html.escape(text)}</div>'


class _Handle(Protocol):
    """What IPython calls a display handle."""

    def update(self, shown: _Markup) -> None:
        """Replace what is shown."""


class _Markup:
    """Something that a notebook shows as HTML."""

    def __init__(self, text: str, plain: str) -> None:
        self._text, self._plain = text, plain

    def __repr__(self) -> str:
        return self._plain

    def _repr_html_(self) -> str:
        return self._text


class ProgressBar:
    """A bar for ``progress=``, in a notebook (with or without ipywidgets), in a terminal, or nowhere.

    It takes a share (``triangles`` and other graph statistics) or two whole numbers, done and all
    (``sample_and_aggregate``).  How far work has come depends on private data: it is for the owner's eyes, so nothing
    is written where neither a notebook nor a terminal is there to show it.

    >>> bar = ProgressBar("blocks")
    >>> bar(1, 4)
    >>> bar
    <ProgressBar blocks: 25%>
    """

    def __init__(self, label: str = "") -> None:
        self.label, self.share = label, 0.0
        self._began, self._drawn = time.monotonic(), -_LEAST_PAUSE
        self._handle: _Handle | None = None
        self._notebook = _display()

    def __call__(self, done: float, total: int | None = None) -> None:
        """Note how far the work is: a share, or so many of all."""
        self.share = min(1.0, max(0.0, done if total is None else done / max(1, total)))
        now = time.monotonic()
        if now - self._drawn >= _LEAST_PAUSE or self.share >= 1.0:
            self._drawn = now
            self._draw(now - self._began)

    def __repr__(self) -> str:
        return f"<ProgressBar{f' {self.label}' if self.label else ''}: {self.share:.0%}>"

    def _draw(self, seconds: float) -> None:
        text = f"{f'{self.label}: ' if self.label else ''}{self.share:.0%}, {seconds:.0f} s"
        if self._notebook is not None:
            shown = _Markup(share_html(self.share, text), text)
            if self._handle is None:
                self._handle = self._notebook(shown, display_id=True)
            else:
                self._handle.update(shown)
        elif sys.stderr is not None and sys.stderr.isatty():
            filled = round(self.share * _WIDTH)
            end = "\n" if self.share >= 1.0 else ""
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {text}{end}")
            sys.stderr.flush()


def _display() -> Callable[..., _Handle] | None:
    """IPython's ``display`` in a notebook's kernel; None elsewhere.  IPython is never loaded for this."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    shell = ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return cast("Callable[..., _Handle]", ipython.display.display)
