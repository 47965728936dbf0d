"""Options that several commands share.

Their help names examples only: to list a registry would load all of it, and help is to be quick.  A name that is not in
the registry is refused with all that are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def mechanism_option(command: Command) -> Command:
    """A mechanism by name; ``--calibration`` is its older name."""
    return click.option(
        "--mechanism",
        "--calibration",
        default="auto",
        show_default=True,
        help='"auto", or a mechanism by name, such as inverse, smooth or worst_case.',
    )(command)


def noise_option(command: Command) -> Command:
    """A law of noise by name."""
    return click.option(
        "--noise",
        default="auto",
        show_default=True,
        help='"auto", or a law of noise by name, such as laplace, gaussian or power_law.',
    )(command)
