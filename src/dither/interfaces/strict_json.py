"""JSON, read strictly and written with all digits: servers and clients read what the other wrote with ``parse``.

UTF-8, bounded depth, no field twice, no NaN; numbers with a point are the decimals that were written.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import NoReturn

from dither.errors import InvalidArgument
from dither.plain import Given

DEEPEST = 20
MOST_DIGITS = 60
"""Of a number in a question, exponents counted."""
# Possessive: a text that does not end is passed once, instead of once from each of its quotation marks.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_HALVES = re.compile("[\ud800-\udfff]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class NotStrict(ValueError):
    """A text that is not JSON, or not as strict as it must be; says what is wrong."""


def parse(text: bytes, most_digits: int = MOST_DIGITS) -> dict[str, Given]:
    """The object that a text describes; numbers with a point stay decimals."""
    if depth_of(text) > DEEPEST:
        raise NotStrict(f"must have at most {DEEPEST} levels")
    try:
        decoded = text.decode("utf-8")
        payload = json.loads(
            decoded,
            parse_float=functools.partial(_decimal, most=most_digits),
            parse_int=functools.partial(_whole, most=most_digits),
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


def text_of(value: Given) -> str:
    """The JSON of plain values and decimals, which ``parse`` reads as they were.

    >>> text_of({"bounds": [Decimal("0.12345678901234567890"), 1], "name": "a"})
    '{"bounds": [0.12345678901234567890, 1], "name": "a"}'
    """
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except TypeError:  # a decimal is in it, which the encoder does not know
        pass
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{text_of(key)}: {text_of(part)}' for key, part in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    raise InvalidArgument("value", type(value), "must be a plain value of JSON")


def encoded(text: str) -> bytes:
    """JSON in UTF-8, whatever texts are in it: half of a surrogate pair, which is no character, becomes U+FFFD.

    >>> encoded('["a\\ud800b"]').decode()
    '["a\ufffdb"]'
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _HALVES.sub("\ufffd", text).encode("utf-8")


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


def _decimal(text: str, most: int) -> Decimal:
    number = Decimal(text)
    if len(text) > most or abs(number.adjusted()) > most:
        raise NotStrict(f"must have numbers of at most {most} digits")
    return number


def _whole(text: str, most: int) -> int:
    if len(text) > most:
        raise NotStrict(f"must have numbers of at most {most} digits")
    return int(text)


def _constant(text: str) -> NoReturn:
    raise NotStrict(f"must not have {text}, which is no number of JSON")


def _once(pairs: list[tuple[str, Given]]) -> dict[str, Given]:
    payload = dict(pairs)
    if len(payload) != len(pairs):
        raise NotStrict("must not have an object that names a field twice")
    return payload
