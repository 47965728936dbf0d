"""Questions about graphs at the shell: ``triangles()``, ``kstars(3)``, ``mst_cost()``."""

from __future__ import annotations

import re
from typing import Any

from dither.errors import InvalidArgument

_QUESTION = re.compile(r"\s*([a-z_]+)\s*\(\s*(?:k\s*=\s*(?=[0-9]))?([0-9]*)\s*\)\s*")
_PLAIN = {"edges": "Edges", "triangles": "Triangles", "min_cut": "MinCut", "mst_cost": "MSTCost"}
_SIZED = {"kstars": "KStars", "ktriangles": "KTriangles", "kcliques": "KCliques"}


def graph_query(question: str) -> Any:
    """The query that a text names."""
    import dither as dt

    match = _QUESTION.fullmatch(question)
    if match and match[1] in _PLAIN and not match[2]:
        return getattr(dt, _PLAIN[match[1]])()
    if match and match[1] in _SIZED and match[2]:
        return getattr(dt, _SIZED[match[1]])(int(match[2]))
    forms = ", ".join([*(f"{name}()" for name in _PLAIN), *(f"{name}(k)" for name in _SIZED)])
    raise InvalidArgument("question", question, f"one of {forms} is accepted")
