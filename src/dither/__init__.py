"""dither: private answers to statistical questions, with noise fitted to the data at hand.

>>> import dither as dt
>>> release = dt.median([21, 35, 40, 44, 58] * 100, bounds=(0, 120), epsilon=1.0)
>>> 0 <= release.value <= 120
True
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

# The stub is the list of public names: type checkers read it, and so does this module.
_HOME_OF = {
    name.asname or name.name: (node.module, name.name)
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom) and node.module is not None
    for name in node.names
}

__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:  # any public name
    """Load a public name when it is first used, so that ``import dither`` is quick."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dither' has no attribute {name!r}")
    home, there = _HOME_OF[name]
    value = (
        importlib.import_module(f"dither.{there}")
        if home == "dither"
        else getattr(importlib.import_module(home), there)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
