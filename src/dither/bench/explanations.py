"""Why a peer is lower, by row: shown with every such verdict, and told in docs/benchmarks.md in the same words."""

from __future__ import annotations

from fnmatch import fnmatchcase

EXPLANATIONS: dict[str, str] = {}
"""Patterns of keys (area/comparison/measure/peer), the first that fits counts."""

UNEXPLAINED = "no explanation yet: see whether another run says the same"


def why(key: str) -> str:
    """The explanation for a row.

    >>> why("no/such/row/here")
    'no explanation yet: see whether another run says the same'
    """
    return next((text for pattern, text in EXPLANATIONS.items() if fnmatchcase(key, pattern)), UNEXPLAINED)
