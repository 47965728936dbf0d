"""The names of the mechanisms, for type checkers.

Written by `make api` from the registries: do not edit.
"""

from typing import Literal, TypeAlias

MechanismName: TypeAlias = Literal[
    "auto",
    "drawn_limit",
    "inverse",
    "k_norm",
    "ladder",
    "largest_local",
    "middle_score",
    "noisy_count",
    "noisy_histogram",
    "noisy_local",
    "permute_and_flip",
    "propose_test",
    "race",
    "smooth",
    "smoothed_ladder",
    "stable",
    "staircase",
    "worst_case",
]
"""The registered mechanisms, and "auto"."""
