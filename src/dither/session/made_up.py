"""Public: rows made up from a schema, to try a program on before anything is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dither.session.reading import as_declared
from dither.sources.frames import arrow
from dither.sources.schema import Schema
from dither.sources.types import Measured


def made_up_rows(schema: Schema, columns: Sequence[str], rows: int = 100) -> Any:
    """Public: rows as the schema declares them, spread over the bounds; to try a program on before anything is read."""
    pa = arrow()
    built: dict[str, Any] = {}
    for place, name in enumerate(columns):
        kind = schema.columns[name]
        # Fractional parts of multiples of an irrational number, another one for each column, are spread evenly.
        spread = (np.arange(1, rows + 1) * math.sqrt(place + 2.1)) % 1.0
        if isinstance(kind, Measured):
            low, high = (int(end) for end in kind.grid.ends)
            steps = np.array([low + round(float(one) * (high - low)) for one in spread])
            built[name] = as_declared(pa, pa.array(steps), kind)
        else:
            values = getattr(kind, "values", None) or ("a", "b")
            built[name] = pa.array([values[int(one * len(values))] for one in spread], pa.string())
    return pa.table(built)
