"""Which executor a name stands for."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Unpack, cast

from dither.errors import InvalidArgument
from dither.procedures.executor import Executor, Output, Trusted
from dither.sandbox.pool import Sandbox
from dither.sandbox.programs import Executable, Function, GivenProgram
from dither.sandbox.schedule import LEAD, LEAST_SLOT, checked_seconds

if TYPE_CHECKING:
    from dither.sandbox.cluster import ClusterSettings
    from dither.typing import SandboxSettings


def open_executor(
    executor: str, program: GivenProgram, *, output: Output, **settings: Unpack[ClusterSettings]
) -> contextlib.AbstractContextManager[Executor]:
    """An executor to be used in a ``with`` statement.

    ``"sandbox"`` isolates on this machine, ``"ray://host:port"`` on every node of a cluster and ``"ray"`` on a cluster
    of this machine alone; both with slots of 0.2 s or more and time for drawing the blocks.  ``"trusted"`` runs the
    owner's own function in this process, without any isolation.

    >>> with open_executor("trusted", max, output=Output(1, bounds=(0, 9))) as trusted:
    ...     float(trusted.run([[3.0, 4.0]])[0, 0])
    4.0
    """
    if executor == "trusted":
        if isinstance(program, (Function, Executable, str)):
            raise InvalidArgument("program", program, "must be a function of one block")
        trusted, example = Trusted(program, output=output), settings.get("example")
        return contextlib.nullcontext(trusted if example is None else trusted.tried(example))
    if "slot" in settings:
        checked_seconds("slot", settings["slot"], LEAST_SLOT)
    scheduled: ClusterSettings = {"lead": LEAD, **settings}
    if executor == "sandbox":
        return Sandbox(program, output=output, **cast("SandboxSettings", scheduled))  # which refuses what it lacks
    if executor == "ray" or (isinstance(executor, str) and executor.startswith("ray://")):
        from dither.sandbox.cluster import Cluster  # noqa: PLC0415 - an extra

        if executor == "ray":
            scheduled.setdefault("losses", 0)
        return Cluster(program, output=output, address=None if executor == "ray" else executor, **scheduled)
    raise InvalidArgument(
        "executor", executor, "must be 'sandbox', 'ray://host:port', 'ray', or 'trusted' for own functions"
    )
