"""JSON, read strictly: UTF-8, bounded depth, no field twice, no NaN; numbers as they were written, if wanted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn

from dither.plain import Given

DEEPEST = 20
MOST_DIGITS = 60
# Possessive: a text that does not end is passed once, instead of once from each of its quotation marks.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class NotStrict(ValueError):
    """A text that is not JSON, or not as strict as it must be; says what is wrong."""


def parse(text: bytes, fraction: Callable[[str], float | Decimal] | None = None) -> dict[str, Given]:
    """The object that a text describes; numbers with a point stay decimals unless ``fraction`` reads them."""
    if depth_of(text) > DEEPEST:
        raise NotStrict(f"must have at most {DEEPEST} levels")
    try:
        decoded = text.decode("utf-8")
        payload = json.loads(
            decoded,
            parse_float=fraction or _decimal,
            parse_int=_whole,
            parse_constant=_constant,
            object_pairs_hook=_once,
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise NotStrict("must be JSON in UTF-8") from None
    if not isinstance(payload, dict):
        raise NotStrict("must be an object such as {...}")
    if "\x00" in decoded or "\\u0000" in decoded:
        raise NotStrict("must not have the character NUL in texts")
    if _SURROGATE.search(text) and not _encodable(payload):
        raise NotStrict("has a text with half of a surrogate pair such as \\ud800, which is no character")
    return payload


def depth_of(text: bytes) -> int:
    """How many brackets are open at once; it stops counting beyond the deepest that is allowed."""
    deepest = depth = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
            if depth > DEEPEST:
                break
        elif match[0] in (b"]", b"}"):
            depth -= 1
    return deepest


def _encodable(value: Given) -> bool:
    """False if a text has half of a surrogate pair: it can't be stored, hashed or sent."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if len(text) > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS:
        raise NotStrict(f"must have numbers of at most {MOST_DIGITS} digits")
    return number


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise NotStrict(f"must have numbers of at most {MOST_DIGITS} digits")
    return int(text)


def _constant(text: str) -> NoReturn:
    raise NotStrict(f"must not have {text}, which is no number of JSON")


def _once(pairs: list[tuple[str, Given]]) -> dict[str, Given]:
    payload = dict(pairs)
    if len(payload) != len(pairs):
        raise NotStrict("must not have an object that names a field twice")
    return payload
