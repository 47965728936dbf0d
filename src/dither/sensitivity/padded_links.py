"""Long chains of values between two bounds, which take no room beyond the records that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import overload

import numpy as np
from numpy.typing import NDArray

_SHORT = 8


class LinkArray(Sequence[int]):
    """Private: links in an array, whose entries are looked at as whole numbers of Python; few links at once, listed."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray[np.int64]) -> None:
        self.array = array

    def __repr__(self) -> str:
        return "LinkArray(<private>)"

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __reversed__(self) -> Iterator[int]:
        return iter(self.array[::-1].tolist())

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        part = self.array[place]
        if isinstance(place, slice):
            return part.tolist() if len(part) <= _SHORT else LinkArray(part)
        return int(part)


class PaddedLinks(Sequence[int]):
    """Private: links of a chain, and as many of its bounds on either side as somebody looks at; those take no room."""

    def __init__(self, low: int, before: int, inside: NDArray[np.int64], high: int, after: int) -> None:
        self._low, self._before, self._inside, self._high, self._after = low, before, inside, high, after

    def __repr__(self) -> str:
        return "PaddedLinks(<private>)"

    def __len__(self) -> int:
        return self._before + len(self._inside) + self._after

    def __iter__(self) -> Iterator[int]:
        return chain(repeat(self._low, self._before), self._inside.tolist(), repeat(self._high, self._after))

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, slice):
            return list(self)[place]
        within = range(len(self))[place] - self._before
        if 0 <= within < len(self._inside):
            return int(self._inside[within])
        return self._low if within < 0 else self._high


FEW_LINKS = 1 << 13
"""Up to so many links are an array, which is faster to look at."""


def padded(low: int, before: int, inside: NDArray[np.int64], high: int, after: int) -> Sequence[int]:
    """Links of a chain between its bounds."""
    if before + len(inside) + after > FEW_LINKS:
        return PaddedLinks(low, before, inside, high, after)
    if before or after:
        inside = np.concatenate([np.full(before, low, dtype=np.int64), inside, np.full(after, high, dtype=np.int64)])
    return LinkArray(inside)
