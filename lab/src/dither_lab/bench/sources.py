"""Real data where DITHER_DATA names its folder, else generated stand-ins that say so."""

from __future__ import annotations

import os
from pathlib import Path


def real_file(*parts: str) -> Path | None:
    """A file of the real data, or None."""
    folder = os.environ.get("DITHER_DATA")
    path = None if not folder else Path(folder).joinpath(*parts)
    return path if path is not None and path.exists() else None


def stand_in(name: str) -> str:
    """The source of generated data that replaces real data."""
    return f"generated stand-in for {name} (DITHER_DATA does not have it)"
