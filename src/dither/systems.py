"""Operating systems: arrays, files, sessions and the command line run on any; programs and servers need Linux.

Isolation is made of namespaces, seccomp filters and sealed memory, and a server keeps each dataset in processes of its
own, which it forks and limits.  Other systems do not have these parts.
"""

from __future__ import annotations

import importlib.util
import os
import sys

_MODULES = ("fcntl", "resource")
_CALLS = ("fork", "memfd_create", "pidfd_open", "sched_getaffinity")


def reason_without_linux() -> str | None:
    """Why nothing that needs Linux can run here; None on Linux."""
    if sys.platform != "linux":
        return f"Linux is needed, and this system is {sys.platform}"
    missing = [name for name in _MODULES if not _has_module(name)]
    missing += [f"os.{name}" for name in _CALLS if not hasattr(os, name)]
    return f"Linux is needed, and this Python has no {missing[0]}" if missing else None


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
