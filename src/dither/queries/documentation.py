"""The documentation's table of queries, written from the registry when the site is built.

``python -m dither.queries.documentation`` prints it.
"""

from __future__ import annotations

import sys

from dither.privacy import LEFT_OUT
from dither.queries.registry import GROUPS, QueryEntry, entries
from dither.queries.wire import OF_TABLES, required
from dither.release import missing_text

HEAD = """# Queries

Every query has a class, and is asked in the same way everywhere: `dt.ask`, `session.ask`, `session.quote`, SQL,
`dither ask`, HTTP, the page and `dt.connect`. This table is written from the registry of queries.

Fields in *italics* have a default, or the schema declares them. What a field may hold stands in `GET /v1/queries` and
`/openapi.json`; SQL is on [a page of its own](../sql.md).

Missing values are left out of a statistic unless something else is declared. Where that is not proved yet they are not
left out, and count as a public value; the column *missing values* says which, and so does every answer.
"""
TABLE = """
## {group}

| name | what it is | in Python | in SQL | asked of | missing values | fields |
|---|---|---|---|---|---|---|
{lines}
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(group) for group in (*GROUPS, ""))


def _section(group: str) -> str:
    listed = [entry for entry in entries().values() if (entry.menu.group if entry.menu else "") == group]
    if not listed:
        return ""
    lines = [_line(candidate) for candidate in sorted(listed, key=lambda candidate: candidate.name)]
    return TABLE.format(group=group or "Elsewhere", lines="\n".join(lines))


def _line(entry: QueryEntry) -> str:
    meaning = (entry.query.__doc__ or "").strip().split("\n")[0].replace("``", "`").replace("|", "\\|")
    calls = f"`dt.{entry.query.__name__}`"
    if entry.has("function"):
        calls += f", `dt.{entry.function}()`"
    if entry.proof:
        meaning += f" [Proof](../proofs/{entry.proof}.md)"
    functions = ", ".join(dict.fromkeys(f"`{entry.form(function)}`" for function in entry.functions))
    asked = "tables" if entry.of in OF_TABLES and entry.of != "column" else entry.of
    cells = (f"`{entry.name}`", meaning, calls, functions, asked, missing_rule(entry), _fields(entry))
    return f"| {' | '.join(cells)} |"


def missing_rule(entry: QueryEntry) -> str:
    """What it does with missing values where nothing is declared, in the words of answers; nothing of own code."""
    if getattr(entry.query, "default_drop", False):
        return missing_text(LEFT_OUT)
    return missing_text("a public value") if entry.of in OF_TABLES and "nulls" in entry.fields else ""


def _fields(entry: QueryEntry) -> str:
    if not entry.has("http"):
        return f"{entry.without['http']}: only in this process"
    needed = required(entry)
    return ", ".join(f"`{name}`" if name in needed else f"*`{name}`*" for name in entry.parameters)


if __name__ == "__main__":
    sys.stdout.write(page())
