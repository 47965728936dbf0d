"""Who runs a program on blocks: the contract that procedures see, and the executor for the owner's own functions.

A procedure receives an executor and never asks which: a sandbox on this machine, sandboxes on many, or ``Trusted``.
Whatever happens to a block, its answer is ``outputs`` numbers within public bounds; a block that is late, crashes or
answers with something else counts as the public default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

TRIAL = "mend it, or pass example= rows of your own making to try it on; example=None leaves the trial out"
"""What to do about a program that fails on made-up rows."""
Answers: TypeAlias = NDArray[np.float64]
Block: TypeAlias = "ArrayLike | pa.Table"
"""Rows of some people, as a program gets them."""
OwnFunction: TypeAlias = Callable[..., ArrayLike]
"""A function of one block, of the owner's or the analyst's."""


@dataclass(frozen=True, slots=True)
class Output:
    """The public shape of an answer: how many numbers, within which bounds, and what a failed block counts as.

    ``bounds`` is one pair for all numbers or a pair for each; ``default`` is the middle of the bounds unless given.

    >>> Output(2, bounds=(0, 10)).default
    (5.0, 5.0)
    """

    length: int
    if TYPE_CHECKING:
        bounds: tuple[tuple[float, float], ...]
        default: tuple[float, ...]

        def __init__(self, length: int, *, bounds: ArrayLike, default: ArrayLike | None = None) -> None: ...

    else:
        bounds: ArrayLike = field(kw_only=True)
        default: ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int) or not 1 <= self.length <= 1_000_000:
            raise InvalidArgument(
                "output", self.length, "must be the number of numbers that the program returns, from 1 to 1,000,000"
            )
        bounds = _each(
            self.bounds, (self.length, 2), "bounds", "must be a pair (lower, upper), or one pair for each number"
        )
        if not (np.isfinite(bounds).all() and (bounds[:, 0] < bounds[:, 1]).all()):
            raise InvalidArgument("bounds", self.bounds, "must be finite pairs with lower < upper")
        middle = bounds[:, 0] / 2 + bounds[:, 1] / 2
        default = (
            middle
            if self.default is None
            else _each(self.default, (self.length,), "default", "must be one number, or one for each")
        )
        if not ((bounds[:, 0] <= default) & (default <= bounds[:, 1])).all():
            raise InvalidArgument("default", self.default, "must be numbers within the bounds")
        object.__setattr__(self, "bounds", tuple((float(low), float(high)) for low, high in bounds))
        object.__setattr__(self, "default", tuple(float(number) for number in default))

    def accept(self, answer: ArrayLike | None) -> Answers | None:
        """The answer within its bounds, or None where it is none: a wrong length, a NaN, not numbers at all."""
        try:
            numbers = np.asarray(answer, dtype=np.float64).ravel()
        except (TypeError, ValueError, OverflowError):
            return None
        if numbers.size != self.length or np.isnan(numbers).any():
            return None
        bounds = np.asarray(self.bounds)
        within: Answers = np.clip(numbers, bounds[:, 0], bounds[:, 1])
        return within

    def defaults(self, blocks: int) -> Answers:
        """A table of defaults, one row a block."""
        return np.tile(np.asarray(self.default, dtype=np.float64), (blocks, 1))


class Executor(Protocol):
    """Runs one program; made before any data are read, and used on one release after another."""

    @property
    def output(self) -> Output:
        """The public shape of an answer."""

    def run(self, blocks: Sequence[Block]) -> Answers:
        """One row of numbers for every block, in order; never raises for a reason that lies in the data."""


class Trusted:
    """Runs the owner's own function in this very process: no isolation, no time limit, no fixed schedule.

    Only for functions that the owner wrote or has read.  An analyst's program belongs into a sandbox: here it could
    read everything, remember one block while it answers the next, and let the time it takes depend on a person.

    >>> Trusted(lambda rows: rows.mean(), output=Output(1, bounds=(0, 1))).run([np.array([0.25, 0.75])])
    array([[0.5]])
    """

    def __init__(self, function: OwnFunction, *, output: Output) -> None:
        if not callable(function):
            raise InvalidArgument("program", function, "must be a function of one block")
        self._function = function
        self._output = output

    @property
    def output(self) -> Output:
        return self._output

    def tried(self, example: Block) -> Self:
        """Itself, if the function answers made-up, public rows; else what is wrong with it is said."""
        wrong = f"{self._output.length} numbers are needed"
        try:
            if self._output.accept(self._function(example)) is not None:
                return self
        except Exception as error:  # noqa: BLE001 - whatever it is, it is about public rows
            wrong = f"{type(error).__name__}: {error}"
        name = getattr(self._function, "__name__", type(self._function).__name__)
        raise InvalidArgument("program", name, f"does not answer made-up rows ({wrong[:500]}): {TRIAL}")

    def run(self, blocks: Sequence[Block]) -> Answers:
        answers = self._output.defaults(len(blocks))
        for place, block in enumerate(blocks):
            try:
                answer = self._output.accept(self._function(block))
            except KeyboardInterrupt:
                raise  # the owner's own
            except BaseException:  # noqa: BLE001 - whether it fails may depend on a person: the default, silently
                continue
            if answer is not None:
                answers[place] = answer
        return answers


def _each(given: ArrayLike, shape: tuple[int, ...], argument: str, accepted: str) -> NDArray[np.float64]:
    try:
        spread: NDArray[np.float64] = np.broadcast_to(np.asarray(given, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise InvalidArgument(argument, given, accepted) from None
    return spread
