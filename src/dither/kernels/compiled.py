"""Compiled array code: one decorator for all kernels, so that they are typed and remembered alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """The function as machine code: compiled once per machine, run without the interpreter's lock."""
    return cast(Kernel, njit(cache=True, nogil=True)(function))
