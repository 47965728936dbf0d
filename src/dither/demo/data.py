"""A payroll that never existed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PEOPLE = 20_000
JOBS = ("clerk", "nurse", "engineer", "surgeon")
_CENTRES = np.log([42_000.0, 68_000.0, 96_000.0, 240_000.0])
_SHARES = (0.35, 0.35, 0.25, 0.05)


def payroll(people: int = PEOPLE, seed: int = 20) -> dict[str, NDArray[np.generic]]:
    """Total pay and age of generated people, the same for everyone who runs this."""
    rng = np.random.default_rng(seed)
    job = rng.choice(len(JOBS), size=people, p=_SHARES)
    pay = np.exp(_CENTRES[job] + rng.normal(0.0, 0.22, size=people))
    age = np.clip(np.rint(rng.normal(43.0, 11.0, size=people)), 18, 75).astype(np.int64)
    return {"job": np.array(JOBS)[job], "total_pay": np.round(pay, 2), "age": age}
