"""Who goes into which block: random partitions, and NRS11's overlapping samples.  Nothing here depends on the data.

Privacy needs only that the blocks are drawn without looking at anybody's record, and that one person is in at most
``touched`` of them.  That the draw is random and secret serves accuracy, and keeps an analyst from choosing who shares
a block with whom.  Proof: docs/proofs/aggregate.md, section 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.noise.entropy import Source, random_words, system

Members = NDArray[np.int64]
"""The people of one block, as places in the data."""
MOST_BLOCKS = 1_000_000


class Sampling(ABC):
    """A way to draw blocks of a public number of people."""

    people: int
    blocks: int

    @property
    @abstractmethod
    def touched(self) -> int:
        """The most blocks that one person can be in: public."""

    @abstractmethod
    def draw(self, source: Source = system) -> list[Members]:
        """Fresh blocks."""


@dataclass(frozen=True)
class Partition(Sampling):
    """Everybody in exactly one block, chosen at random; sizes differ by at most one.

    >>> sorted(int(one) for block in Partition(5, 2).draw() for one in block)
    [0, 1, 2, 3, 4]
    """

    people: int
    blocks: int

    def __post_init__(self) -> None:
        checked_blocks(self.blocks, self.people)

    @property
    def touched(self) -> int:
        return 1

    def draw(self, source: Source = system) -> list[Members]:
        # Sorting by random words is a uniform permutation; ties (2**-64) only make two places less random.
        order = np.argsort(random_words(self.people, source), kind="stable")
        return [order[place :: self.blocks] for place in range(self.blocks)]


@dataclass(frozen=True)
class Overlapping(Sampling):
    """Independent samples of ``ceil(n / m)`` people, drawn again until nobody is in more than ``touched`` of them.

    Theorem    NRS11 Lemma 4.11: a draw succeeds with probability at least 1 - 2n/s!.
    Constants  ``touched`` is the square root of the number of blocks, or more where that would make success rarer
               than one half.
    """

    people: int
    blocks: int

    def __post_init__(self) -> None:
        checked_blocks(self.blocks, self.people)

    @property
    def size(self) -> int:
        """People in each block."""
        return -(-self.people // self.blocks)

    @property
    def touched(self) -> int:
        return overlap(self.people, self.blocks)

    def draw(self, source: Source = system) -> list[Members]:
        while True:
            drawn = [_sample(self.people, self.size, source) for _ in range(self.blocks)]
            if np.bincount(np.concatenate(drawn), minlength=self.people).max() <= self.touched:
                return drawn


def overlap(people: int, blocks: int) -> int:
    """How many blocks one person may be in: public.

    The sizes of samples are rounded up, so the number of blocks that hold a person has a mean of up to 1 + m/n <= 2
    instead of the lemma's 1, and P(at least s + 1) <= 2^(s+1) / (s+1)! * 2; the rule asks that n times this is at
    most one half.
    """
    touched = max(1, math.isqrt(blocks - 1) + 1 if blocks > 1 else 1)
    while touched < blocks and 4 * people * 2 ** (touched + 1) > math.factorial(touched + 1):
        touched += 1
    return touched


def _sample(people: int, size: int, source: Source) -> Members:
    """A uniform sample without replacement: the first ``size`` different ones of a run of uniform draws."""
    drawn = np.zeros(0, dtype=np.int64)
    while True:
        words = random_words(2 * size + 16, source)
        # The high half of word * n is uniform up to 2**-32 of its probability; privacy does not rest on it.
        high = (words >> np.uint64(32)).astype(np.uint64)
        more = ((high * np.uint64(people)) >> np.uint64(32)).astype(np.int64)
        drawn = np.concatenate([drawn, more])
        first = np.sort(np.unique(drawn, return_index=True)[1])
        if len(first) >= size:
            return drawn[first[:size]]


def checked_blocks(blocks: Any, people: int) -> int:
    """A number of blocks that so many people can fill."""
    if isinstance(blocks, bool) or not isinstance(blocks, (int, np.integer)) or blocks < 1:
        raise InvalidArgument("blocks", blocks, "a whole number of at least 1 is accepted")
    if blocks > min(people, MOST_BLOCKS):
        raise InvalidArgument("blocks", int(blocks), f"at most one for each of the {people} people is accepted")
    return int(blocks)


def random_assignment(count: int, blocks: int, source: Source = system) -> Members:
    """A block for each of ``count`` units, independently and uniformly: for selections whose size is private."""
    high = random_words(count, source) >> np.uint64(32)
    return ((high * np.uint64(blocks)) >> np.uint64(32)).astype(np.int64)
