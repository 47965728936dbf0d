"""Fresh cryptographic bits, and tapes of them that can be read further and further.

A draw never asks for *another* random number when its first bits do not decide the answer: it reads more
bits of the *same* number.  Redrawing would bias the result and would make the number of draws depend on
the secret scale.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.numbers import Ball, ball_of_bits

Source: TypeAlias = Callable[[int], bytes]
"""Returns the given number of fresh, uniform, independent bytes."""


class WatchedDraws:
    """Whether a number was drawn while this was watching."""

    def __init__(self, notice: Callable[[], None] | None = None) -> None:
        self.have_begun = False
        self._notice = notice

    def begin(self) -> None:
        """A number is about to be drawn."""
        if not self.have_begun:
            self.have_begun = True
            if self._notice is not None:
                self._notice()


class _Watch(threading.local):
    """Who watches this thread."""

    draws: WatchedDraws | None = None


_watch = _Watch()


def system(count: int) -> bytes:
    """Bytes of the operating system, for everything that an answer depends on."""
    notice_draw()
    return os.urandom(count)


def notice_draw() -> None:
    """Say that a number is drawn, here or in a process that works for this thread, to whoever watches it."""
    if _watch.draws is not None:
        _watch.draws.begin()


splitting: Source = os.urandom
"""The same, for which record is in which block: that is decided before anything is drawn."""


@contextlib.contextmanager
def watched(notice: Callable[[], None] | None = None) -> Iterator[WatchedDraws]:
    """Watch the draws of this thread; ``notice`` is called before the first of them."""
    before, _watch.draws = _watch.draws, WatchedDraws(notice)
    try:
        yield _watch.draws
    finally:
        _watch.draws = before


MOST_BITS = 1 << 16


class LazyBits:
    """Uniform reals in (0, 1), each known to a number of bits that ``extend`` increases."""

    __slots__ = ("_source", "_words", "bits")

    def __init__(self, bits: int, source: Source = system) -> None:
        self.bits = -(-bits // 8) * 8
        self._source = source
        self._words: list[int] = []

    @classmethod
    def continuing(cls, prefixes: list[int], bits: int, source: Source = system) -> LazyBits:
        """A tape whose first reals begin with bits that were drawn before."""
        lazy_bits = cls(bits, source)
        if lazy_bits.bits != bits:
            raise ValueError(f"bits must be a multiple of 8; got {bits}")
        lazy_bits._words = list(prefixes)
        return lazy_bits

    def __repr__(self) -> str:
        return "LazyBits(<secret>)"

    def word(self, index: int) -> int:
        """The first ``bits`` bits of real number ``index``, as an integer."""
        while index >= len(self._words):
            self._words.append(int.from_bytes(self._source(self.bits // 8), "big"))
        return self._words[index]

    def uniform(self, index: int) -> Ball:
        """A ball that contains real number ``index``."""
        return ball_of_bits(self.word(index), self.bits)

    def signed(self, index: int) -> tuple[int, Ball]:
        """A fair sign and an independent uniform, from one real: its first bit and the others."""
        word = self.word(index)
        top = self.bits - 1
        return (1 if word >> top else -1), ball_of_bits(word & ((1 << top) - 1), top)

    def extend(self, bits: int = 64) -> None:
        """Read ``bits`` more bits of every real on the tape.

        Every loop that waits for a draw to be decided calls this, so this is where all of them end.  That a draw around
        a finite number is open after b bits has probability below ``2**(2500 - b / 2)`` for all data (docs/proofs/
        sampling.md, "Every loop ends"), hence below 2**-30000 here: only a number that is none gets here.
        """
        if self.bits > MOST_BITS:
            raise RuntimeError("a draw that so many random bits do not decide is around no finite number")
        self._words = [(word << bits) | int.from_bytes(self._source(bits // 8), "big") for word in self._words]
        self.bits += bits


def random_words(count: int, source: Source = system) -> NDArray[np.uint64]:
    """``count`` uniform 64-bit words: AES-256 in counter mode under a fresh key for long vectors."""
    if count <= 512 or source not in (system, splitting):
        return np.frombuffer(source(8 * count), dtype=np.uint64)
    # Imported here: the cryptography package takes longer to load than a scalar release takes to run.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415

    stream = Cipher(algorithms.AES(source(32)), modes.CTR(source(16))).encryptor()
    return np.frombuffer(stream.update(bytes(8 * count)), dtype=np.uint64)


def uniform_integer(bound: int, source: Source = system) -> int:
    """A uniform integer in [0, bound), exactly, by rejection."""
    if bound < 1:
        raise ValueError(f"bound must be a whole number of at least 1; got {bound}")
    bits = (bound - 1).bit_length()
    if bits == 0:
        return 0
    size = -(-bits // 8)
    while True:
        candidate = int.from_bytes(source(size), "big") >> (8 * size - bits)
        if candidate < bound:
            return candidate
