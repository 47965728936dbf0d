"""Which executor a name stands for."""

from __future__ import annotations

import contextlib
from typing import Any

from dither.errors import InvalidArgument
from dither.procedures.executor import Executor, Output, Trusted
from dither.sandbox.pool import Sandbox


def open_executor(
    executor: str, program: Any, *, output: Output, **settings: Any
) -> contextlib.AbstractContextManager[Executor]:
    """An executor to be used in a ``with`` statement.

    ``"sandbox"`` isolates on this machine, ``"ray://host:port"`` on every node of a cluster and ``"ray"`` on a cluster
    of this machine alone.  ``"trusted"`` runs the owner's own function in this process, without any isolation.

    >>> with open_executor("trusted", max, output=Output(1, bounds=(0, 9))) as trusted:
    ...     float(trusted.run([[3.0, 4.0]])[0, 0])
    4.0
    """
    if executor == "sandbox":
        return Sandbox(program, output=output, **settings)
    if executor == "trusted":
        return contextlib.nullcontext(Trusted(program, output=output))
    if executor == "ray" or (isinstance(executor, str) and executor.startswith("ray://")):
        from dither.sandbox.cluster import Cluster  # noqa: PLC0415 - an extra

        alone = {"losses": 0} if executor == "ray" else {}
        address = None if executor == "ray" else executor
        return Cluster(program, output=output, address=address, **{**alone, **settings})
    raise InvalidArgument("executor", executor, "'sandbox', 'ray://host:port', 'ray', or 'trusted' for own functions")
