"""What every result is reported with: the machine and the versions, and nothing that identifies anybody."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from typing import Any

_PARTS = ("numpy", "scipy", "numba", "duckdb", "igraph", "python-flint")


def machine() -> dict[str, Any]:
    """Cores, memory and Python."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (ValueError, OSError):  # not every system says
        memory = None
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gib": None if memory is None else round(memory, 1),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def versions() -> dict[str, str]:
    """dither and what it stands on."""
    results = {"dither": importlib.metadata.version("dither")}
    for name in _PARTS:
        try:
            results[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return results
