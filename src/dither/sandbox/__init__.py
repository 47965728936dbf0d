"""Isolation for programs that analysts bring: see docs/sandbox.md.

>>> from dither.sandbox import Function
>>> Function("def middle(rows):\\n    return sorted(rows)[len(rows) // 2]", "middle").name
'middle'
"""

from dither.sandbox.factory import open_executor
from dither.sandbox.pool import Sandbox
from dither.sandbox.probe import Finding, probe, require_isolation
from dither.sandbox.programs import Executable, Function, as_program
from dither.sandbox.schedule import Schedule

__all__ = [
    "Sandbox",
    "Schedule",
    "open_executor",
    "Function",
    "Executable",
    "as_program",
    "Finding",
    "probe",
    "require_isolation",
]
