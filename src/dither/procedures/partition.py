"""Who goes into which block: random partitions, and NRS11's overlapping samples.  Nothing here depends on the data.

Privacy needs only that the blocks are drawn without looking at anybody's record, and that one person is in at most
``touched`` of them.  That the draw is random and secret serves accuracy, and keeps an analyst from choosing who shares
a block with whom.  Proof: docs/proofs/aggregate.md, section 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.noise.entropy import Source, random_words, splitting

Members = NDArray[np.int64]
"""The people of one block, as places in the data."""
MOST_BLOCKS = 1_000_000


class Sampling(ABC):
    """A way to draw blocks."""

    blocks: int

    @property
    @abstractmethod
    def touched(self) -> int:
        """The most blocks that one person can be in: public."""

    @abstractmethod
    def draw(self, people: int, source: Source = splitting) -> list[Members]:
        """Fresh blocks of people 0 .. people - 1, each in random order."""


@dataclass(frozen=True)
class Partition(Sampling):
    """Every person in exactly one block, chosen at random; sizes differ by at most one.

    >>> sorted(int(one) for block in Partition(2).draw(5) for one in block)
    [0, 1, 2, 3, 4]
    """

    blocks: int

    @property
    def touched(self) -> int:
        return 1

    def draw(self, people: int, source: Source = splitting) -> list[Members]:
        order = random_order(people, source)
        return [order[place :: self.blocks] for place in range(self.blocks)]


@dataclass(frozen=True)
class Independent(Sampling):
    """Every person in one block, drawn independently: for selections whose number of people is private.

    The blocks of all others then do not depend on who else is there, nor on how many.
    """

    blocks: int

    @property
    def touched(self) -> int:
        return 1

    def draw(self, people: int, source: Source = splitting) -> list[Members]:
        return self.draw_groups(np.arange(people), people, source)

    def draw_groups(self, group: Members, groups: int, source: Source = splitting) -> list[Members]:
        """The same for people with several rows: ``group[i]`` is whose row i is.  Rows are in random order."""
        order = random_order(len(group), source)
        high = random_words(groups, source) >> np.uint64(32)
        block = ((high * np.uint64(self.blocks)) >> np.uint64(32)).astype(np.int64)[group[order]]
        together = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[together], np.arange(self.blocks + 1))
        return [order[together[ends[place] : ends[place + 1]]] for place in range(self.blocks)]


@dataclass(frozen=True)
class Overlapping(Sampling):
    """Independent samples of ``ceil(n / m)`` people, drawn again until no person is in more than ``touched`` of them.

    Theorem    NRS11 Lemma 4.11: a draw succeeds with probability at least 1 - 2n/s!.
    Constants  The paper takes s = sqrt(m); ours is the least for which a draw succeeds with probability 1/2 or more.
    """

    blocks: int
    people: int

    @property
    def size(self) -> int:
        """People in each block."""
        return -(-self.people // self.blocks)

    @property
    def touched(self) -> int:
        return overlap(self.people, self.blocks)

    def draw(self, people: int, source: Source = splitting) -> list[Members]:
        if people != self.people:
            raise ValueError("the number of people is part of the promise")
        while True:
            drawn = [_sample(self.people, self.size, source) for _ in range(self.blocks)]
            if np.bincount(np.concatenate(drawn), minlength=self.people).max() <= self.touched:
                return drawn


def overlap(people: int, blocks: int) -> int:
    """How many blocks one person may be in: public.

    The number of blocks that hold a person is binomial with mean ``h = m ceil(n/m) / n <= 2``, and exceeds s with a
    probability of at most ``2 h^(s+1) / (s+1)!``.  The rule takes the least s for which n times this is at most 1/2.
    """
    size = -(-people // blocks)
    for touched in range(2, blocks):
        if 4 * people * (blocks * size) ** (touched + 1) <= math.factorial(touched + 1) * people ** (touched + 1):
            return touched
    return blocks


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


def random_order(count: int, source: Source = splitting) -> Members:
    """A uniform permutation: sorting by random words; ties (2**-64 a pair) only make two places less random."""
    return np.argsort(random_words(count, source), kind="stable")


def checked_blocks(blocks: int | None, people: int | None) -> int:
    """A number of blocks that so many people can fill; None: how many there are is private."""
    if isinstance(blocks, bool) or not isinstance(blocks, (int, np.integer)) or not 1 <= blocks <= MOST_BLOCKS:
        raise InvalidArgument("blocks", blocks, f"must be a whole number from 1 to {MOST_BLOCKS:,}")
    if people is not None and blocks > people:
        raise InvalidArgument("blocks", int(blocks), f"must be at most {people}, one for each person")
    return int(blocks)
