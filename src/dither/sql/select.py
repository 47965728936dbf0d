"""SELECT as a text: whether a question is one, and how calls are made into one.  Nothing is parsed here."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SELECT = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)


def is_select(text: str) -> bool:
    """Whether a text is a statement of SQL, and no list of calls."""
    return _SELECT.match(text) is not None


def selecting(calls: str, table: str, where: str | None, by: Sequence[str]) -> str:
    """The SELECT that asks a list of calls of a table."""
    names = ", ".join(map(quoted_name, by))
    condition, groups = "" if where is None else f" WHERE {where}", f" GROUP BY {names}" if names else ""
    return f"SELECT {calls} FROM {quoted_name(table)}{condition}{groups}"  # noqa: S608  (dither's own SQL)


def quoted_name(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'
