"""Tapes are read further and never rewritten; integers are uniform exactly."""

import itertools
from collections import Counter

import numpy as np
import pytest
from flint import arb

from dither.noise import entropy
from dither.noise.entropy import LazyBits, random_words, splitting, system, uniform_integer, watched
from dither.numbers import precision


class Bytes:
    """A source that hands out known bytes and counts how many."""

    def __init__(self, content):
        self.content, self.used = bytes(content), 0

    def __call__(self, count):
        start, self.used = self.used, self.used + count
        if self.used > len(self.content):
            raise EOFError
        return self.content[start : self.used]


def seeded(seed=3):
    """A long known stream."""
    return Bytes(np.random.default_rng(seed).bytes(200_000))


@pytest.mark.parametrize("bits", [8, 64, 136])
def test_extending_keeps_every_bit_that_was_read(bits):
    """After each extension the old word is the beginning of the new one, for every real on the tape."""
    tape = LazyBits(bits, seeded())
    before = [tape.word(index) for index in range(5)]
    for step in (64, 8, 128):
        old = tape.bits
        tape.extend(step)
        after = [tape.word(index) for index in range(5)]
        assert [word >> (tape.bits - old) for word in after] == before
        before = after


def test_a_first_draw_is_noticed_once_and_within_another_by_both():
    """Who watches a thread is called before its first draw; how records are split is no draw."""
    calls = []
    with watched(lambda: calls.append("outer")):
        splitting(8)
        with watched(lambda: calls.append("inner")):
            system(8)
            system(8)
        assert calls == ["inner"]
        system(8)
        system(8)
    system(8)
    assert calls == ["inner", "outer"]


def test_no_byte_is_used_twice():
    """Words and extensions together are exactly the bytes that the source handed out, in order."""
    source = seeded()
    tape = LazyBits(64, source)
    first = [tape.word(index) for index in range(3)]
    tape.extend()
    late = tape.word(3)
    handed = [int.from_bytes(source.content[k : k + 8], "big") for k in range(0, 48, 8)]
    assert first == handed[:3]
    assert [tape.word(index) & (2**64 - 1) for index in range(3)] == handed[3:6]
    assert late == int.from_bytes(source.content[48:64], "big")
    assert source.used == 64


def test_reading_a_word_again_costs_nothing():
    """A word, once read, stays."""
    source = seeded()
    tape = LazyBits(64, source)
    assert tape.word(2) == tape.word(2)
    assert source.used == 24


def test_enclosures_shrink_towards_the_same_real():
    """Each extension's enclosure lies inside the one before, up to the rounding of radii."""
    tape = LazyBits(8, seeded())
    with precision(600):
        outer = tape.uniform(0)
        for _ in range(4):
            tape.extend()
            inner = tape.uniform(0)
            assert outer.contains(inner)
            assert inner.rad() < outer.rad() * arb(2) ** -60
            outer = inner


def test_sign_and_uniform_are_independent():
    """Over all words of one byte every pair of a sign and a 7-bit uniform occurs exactly once."""
    pairs = Counter()
    for value in range(256):
        sign, uniform = LazyBits(8, Bytes([value])).signed(0)
        pairs[sign, float(uniform.mid())] += 1
    expected = {(sign, (2 * k + 1) / 256) for sign in (1, -1) for k in range(128)}
    assert set(pairs) == expected
    assert set(pairs.values()) == {1}


def test_the_sign_survives_extension():
    """The first bit is the sign whatever is read later, and the uniform shrinks around the same real."""
    for first in (0x00, 0x7F, 0x80, 0xFF):
        tape = LazyBits(8, Bytes([first, *range(16)]))
        with precision(300):
            sign, uniform = tape.signed(0)
            tape.extend()
            assert tape.signed(0)[0] == sign
            assert uniform.contains(tape.signed(0)[1])


def test_a_continued_tape_begins_with_the_given_bits():
    """Prefixes are kept and extended; prefixes of a broken length are refused."""
    tape = LazyBits.continuing([5, 2**64 - 1], 64, Bytes(range(16)))
    assert [tape.word(0), tape.word(1)] == [5, 2**64 - 1]
    tape.extend()
    assert tape.word(0) == 5 << 64 | int.from_bytes(bytes(range(8)), "big")
    with pytest.raises(ValueError, match="multiple of 8"):
        LazyBits.continuing([1], 63)


def test_a_tape_does_not_show_its_bits():
    """The repr holds no digit."""
    tape = LazyBits(64, Bytes(b"\x01" * 8))
    tape.word(0)
    assert repr(tape) == "LazyBits(<secret>)"


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 100, 128, 129, 200, 255, 256])
def test_integers_are_exactly_uniform(bound):
    """Over all one-byte sources every integer below the bound is accepted equally often, the rest are redrawn."""
    accepted = Counter()
    for value in range(256):
        try:
            accepted[uniform_integer(bound, Bytes([value]))] += 1
        except EOFError:
            accepted["rejected"] += 1
    rejected = accepted.pop("rejected", 0)
    assert sorted(accepted) == list(range(bound))
    assert len(set(accepted.values())) == 1
    assert rejected <= 128


@pytest.mark.parametrize("bound", [257, 1000, 4096, 40000])
def test_integers_of_two_bytes_are_exactly_uniform(bound):
    """The same over all two-byte sources."""
    accepted = Counter()
    for pair in itertools.product(range(256), repeat=2):
        try:
            accepted[uniform_integer(bound, Bytes(pair))] += 1
        except EOFError:
            continue
    assert sorted(accepted) == list(range(bound))
    assert len(set(accepted.values())) == 1


def test_a_rejected_integer_is_replaced_by_fresh_bytes():
    """After a rejection the next byte decides alone."""
    assert uniform_integer(5, Bytes([0xFF, 0xE0, 0x40])) == 2


def test_long_vectors_use_a_fresh_key_each_time(monkeypatch):
    """Above 512 words the words come from a cipher under a key and counter read from the source, once per call."""
    asked = []

    def spy(count):
        asked.append(count)
        return bytes([len(asked)]) * count

    monkeypatch.setattr(entropy, "system", spy)
    one, two = (random_words(2000, spy) for _ in range(2))
    assert asked == [32, 16, 32, 16]
    assert len(one) == len(two) == 2000
    assert len(np.intersect1d(one, two)) == 0
    assert len(np.unique(one)) == 2000


def test_the_cipher_stream_is_the_standard_one(monkeypatch):
    """AES-256-CTR, first block of NIST SP 800-38A, F.5.5: the stream is plaintext XOR ciphertext."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    monkeypatch.setattr(entropy, "system", source := Bytes(key + counter))
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
    cipher = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228")
    stream = random_words(600, source).tobytes()[:16]
    assert bytes(a ^ b for a, b in zip(plain, cipher, strict=True)) == stream


def test_short_vectors_come_straight_from_the_source():
    """Up to 512 words are the source's own bytes."""
    source = seeded()
    assert random_words(512, source).tobytes() == source.content[: 8 * 512]
