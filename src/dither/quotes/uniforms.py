"""Numbers that look random and are the same every time: a quote can be had again.  No release is made of them."""

from __future__ import annotations

import hashlib

import numpy as np

from dither.kernels.elementary import Floats


def uniforms(name: str, count: int) -> Floats:
    """Numbers strictly between 0 and 1 that look random and are the same for the same name."""
    words = np.frombuffer(hashlib.shake_256(name.encode()).digest(8 * count), dtype="<u8")
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
