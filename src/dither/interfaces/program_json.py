"""Programs on their way to a server: source text and plain values; needs nothing of the server itself."""

from __future__ import annotations

from typing import Any

from dither.errors import InvalidArgument
from dither.procedures.executor import Output
from dither.queries.programs import Program
from dither.sandbox import Executable, as_program


def program_json(query: Program) -> dict[str, Any]:
    """A program as a client sends it."""
    if query.executor != "sandbox":
        raise InvalidArgument("executor", str(query.executor), "servers run programs in their own sandboxes")
    made = as_program(query.program)
    if isinstance(made, Executable):
        raise InvalidArgument("program", str(made.path), "a Python function travels to a server, an executable doesn't")
    for one in query.settings:
        if one not in ("slot", "preload"):
            raise InvalidArgument("settings", one, "slot and preload are accepted by servers")
    columns = [query.columns] if isinstance(query.columns, str) else query.columns
    shape = Output(query.output, bounds=query.bounds, default=query.default)
    told = {
        "kind": "program", "source": made.source, "function": made.name, "columns": columns, "output": query.output,
        "bounds": [list(pair) for pair in shape.bounds], "default": None if query.default is None else shape.default,
        "blocks": query.blocks, "aggregator": query.aggregator, "metric": query.metric, "sampling": query.sampling,
        **query.settings,
    }  # fmt: skip
    for name in ("aggregator", "metric"):
        if told[name] is not None and not isinstance(told[name], str):
            raise InvalidArgument(name, type(told[name]), "a name is accepted by servers")
    return {key: value for key, value in told.items() if value is not None}
