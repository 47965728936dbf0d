"""The areas; each module has ``AREA``."""

from __future__ import annotations

import importlib

from dither.errors import InvalidArgument
from dither_lab.bench.design import Area

AREAS = ("noise", "quantiles", "arrays", "tables", "people", "graphs", "models", "composition", "server")


def area_of(name: str) -> Area:
    """The area of a name.

    >>> area_of("noise").title
    'Exact noise'
    """
    if name not in AREAS:
        raise InvalidArgument("area", name, f"must be one of {', '.join(AREAS)} or all")
    area: Area = importlib.import_module(f"dither_lab.bench.areas.{name}").AREA
    return area
