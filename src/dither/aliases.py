"""Older public names that still work for one version, with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from dither.errors import InvalidArgument

P = ParamSpec("P")
R = TypeVar("R")
Thing = TypeVar("Thing")

CALIBRATION = "calibration"
"""The name that ``mechanism=`` had in version 0.1.0."""


def accepts_older(older: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function also takes the keyword ``older`` of an earlier version for its keyword ``new``."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **options: P.kwargs) -> R:
            if older in options:
                options.update(newer(options, older, new))
                del options[older]
            return function(*args, **options)

        return called

    return decorated


def accepts_calibration(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which also takes ``calibration=`` for ``mechanism=``."""
    return accepts_older(CALIBRATION, "mechanism")(function)


def older_name(new: str) -> property:
    """A property that is another one under the name of an older version."""

    def given(thing: Thing) -> Thing:
        warn_of_older_name(new)
        result: Thing = getattr(thing, new)
        return result

    return property(given, doc=f"The older name of ``{new}``.")


def warn_of_older_name(new: str) -> None:
    """Warn whoever uses an older name, from the function that stands for it."""
    warnings.warn(f"it is now called .{new}; the older name goes with version 0.3", DeprecationWarning, stacklevel=3)


def newer(
    options: Mapping[str, R], older: str = CALIBRATION, new: str = "mechanism", *, stacklevel: int = 3
) -> dict[str, R]:
    """The options with ``new`` (``mechanism``) in the place of ``older`` (``calibration``); a warning says so."""
    if older not in options:
        return dict(options)
    if new in options:
        raise InvalidArgument(older, options[older], f"{new}= is its new name: pass only that one")
    warnings.warn(
        f"{older}= is now called {new}=; the older name goes with version 0.3", DeprecationWarning, stacklevel
    )
    return {new if name == older else name: given for name, given in options.items()}
