"""What pages of the documentation take from recorded rows: rows that others win, rows of the report, single figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from dither_lab.bench.intervals import Figure
from dither_lab.bench.result_rows import FIGURES, NOT_MEASURED, PEER_LOWER, ResultRow
from dither_lab.bench.texts import figure_text, guarantee_text, ratio_text, subject_text

YARDSTICKS = (
    "*not private*",
    "DuckDB",
    "igraph*",
    "networkit*",
    "sorting the records*",
    "bare durable insert*",
    "same server, a constant",
    "bounds=*, a good guess",
)
"""What is not private, or knows more: it says what privacy takes."""
OWN = (
    "*(ours*",
    "* of ours",
    "inverse*",
    "smooth*",
    "permute_and_flip",
    "largest local*",
    "one release for each",
    "step=1 declared",
    "interval='sample'",
    "beta = eps/14",
    "race, base 8",
    "scale (DL09's S)",
)
"""Other mechanisms and options of dither, and papers' methods that it offers under their names."""
REPORTED = (
    "noise/factor/*/error/*",
    "noise/staircase/*",
    "quantiles/a/median/epsilon=1/error/*",
    "quantiles/b/median/epsilon=1/error/*",
    "quantiles/deciles/error/*",
    "quantiles/trimmed mean with an interval/*",
    "quantiles/filtered mean/error/error/*not private",
    "quantiles/mean without bounds/any sign/*",
    "graphs/triangles/ca-GrQc/epsilon=[01]*/error/*",
    "graphs/triangles/email-Enron/epsilon=1/error/*",
    "models/kmeans/10000/error/diffprivlib",
    "models/kmeans/10000/error/NRS11's centre of attention",
    "models/kmeans/10000/error/*not private",
    "models/regression/two features*/error/diffprivlib",
    "models/regression/two features*/error/*not private",
    "models/regression/one feature, 5% outliers/error/OpenDP*",
    "composition/within/*",
    "people/Q*/error/*",
)
"""Rows of the report, in this order; rows of the methods below follow."""
METHODS = (
    "PolyPlace",
    "staircase",
    "JointExp",
    "SliceQuantiles",
    "PostRI",
    "TukeyEM",
    "AdaSSP",
    "race to the top",
    "cwida",
)
"""Published methods: every error of these is in the report."""
MISSING = "(not recorded yet)"
_INLINE = re.compile(rf"<!-- ({'|'.join(FIGURES)}): (.+?) -->.*?<!-- / -->", re.DOTALL)


def is_other(peer: str) -> bool:
    """True for another library or a published method: whatever is neither a yardstick nor our own.

    >>> is_other("OpenDP"), is_other("JointExp, written from its authors' code"), is_other("least squares, not private")
    (True, True, False)
    """
    return peer != "-" and not any(fnmatchcase(peer, pattern) for pattern in (*YARDSTICKS, *OWN))


def lost(rows: Iterable[ResultRow]) -> str:
    """The rows in which another library or a published method is better, as a table, errors before times."""
    listed = [row for row in rows if row.verdict == PEER_LOWER]
    others = [row for row in listed if is_other(row.peer)]
    body = [
        (subject_text(row), *_ends(row), row.why or "not explained yet")
        for row in sorted(others, key=lambda row: row.quantity in ("time", "growth"))
    ]
    more = len(listed) - len(others)
    table = _table(("what", "dither", "better", "", "why"), body)
    return (
        f"{table}\n\n{more} more rows are against yardsticks that are not private, or other ways of dither."
        if more
        else table
    )


def reported(rows: Iterable[ResultRow]) -> str:
    """The rows of the report: by the list of patterns, then those of published methods; a line for each subject."""
    measured = [row for row in rows if row.verdict != NOT_MEASURED]
    chosen = {row.key: row for pattern in REPORTED for row in measured if fnmatchcase(row.key, pattern)}
    chosen |= {row.key: row for row in measured if row.measure == "error" and _is_published(row)}
    subjects: dict[tuple[str, ...], list[str]] = {}
    for row in chosen.values():
        what = row.what if row.quantity in row.what else subject_text(row)
        subject = (what, guarantee_text(row), figure_text(row.ours, row.unit))
        beside = (
            [] if row.theirs is None else [f"{row.peer}: {figure_text(row.theirs, row.unit)}, ratio {ratio_text(row)}"]
        )
        subjects.setdefault(subject, []).extend(beside)
    body = [(*subject, "<br>".join(beside)) for subject, beside in subjects.items()]
    return _table(("what", "guarantee; neighbours", "dither", "beside"), body)


def with_figures(text: str, rows: Iterable[ResultRow]) -> str:
    """A page whose single figures, ``<!-- ours: KEY -->0.02<!-- / -->``, are those of the rows."""
    by_key = {row.key: row for row in rows}

    def current(found: re.Match[str]) -> str:
        name, key = found.groups()
        return f"<!-- {name}: {key} -->{_plain(by_key.get(key), name)}<!-- / -->"

    return _INLINE.sub(current, text)


def keys_in(text: str) -> set[str]:
    """The rows that single figures of a page are from."""
    return {key for _, key in _INLINE.findall(text)}


def _plain(row: ResultRow | None, name: str) -> str:
    """A value without its interval."""
    figure = None if row is None else getattr(row, name)
    if row is None or figure is None:
        return MISSING
    return figure_text(Figure(figure.value, figure.value, figure.value), "" if name == "ratio" else row.unit)


def _is_published(row: ResultRow) -> bool:
    return "(ours" not in row.peer and any(name in row.peer for name in METHODS)


def _ends(row: ResultRow) -> tuple[str, str, str]:
    return figure_text(row.ours, row.unit), row.peer, figure_text(row.theirs, row.unit)


def _table(head: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
