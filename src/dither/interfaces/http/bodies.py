"""Bodies, read strictly: bounded size and depth, plain JSON, no field twice, no field that is not known."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dither.errors import InvalidArgument, UnknownField
from dither.interfaces.http.problems import Refused, malformed
from dither.plain import plain
from dither.queries.parameters import without_contents

MOST_BYTES = 256 * 1024
SLOWEST = 20.0
"""Seconds that a body may take to arrive."""
DEEPEST = 20
MOST_DIGITS = 60
# Possessive: a text that does not end is passed once, instead of once from each of its quotation marks.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_READERS = ThreadPoolExecutor(2, thread_name_prefix="body")


async def json_object(request: Request) -> dict[str, Any]:
    """The object in a request's body."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type != "application/json":
        raise Refused(415, "unsupported-media-type", "send Content-Type: application/json")
    text = bytearray()
    try:
        async with asyncio.timeout(SLOWEST):
            async for part in request.stream():
                text += part
                if len(text) > MOST_BYTES:
                    raise Refused(413, "too-large", f"the body must have at most {MOST_BYTES} bytes")
    except ClientDisconnect:
        raise malformed("the body ended early") from None
    except TimeoutError:
        raise Refused(408, "too-slow", f"the body must arrive within {SLOWEST:g} seconds") from None
    # In a thread, so that a large body does not block the event loop.
    return await asyncio.get_running_loop().run_in_executor(_READERS, parse, bytes(text))


def parse(text: bytes) -> dict[str, Any]:
    """The object that a text describes; numbers stay the decimals that were written."""
    if _depth(text) > DEEPEST:
        raise malformed(f"the body must have at most {DEEPEST} levels")
    try:
        payload = json.loads(
            text.decode("utf-8"),
            parse_float=_decimal,
            parse_int=_whole,
            parse_constant=_constant,
            object_pairs_hook=_once,
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise malformed("the body is not JSON in UTF-8") from None
    if not isinstance(payload, dict):
        raise malformed("the body must be an object such as {...}")
    if "\x00" in text.decode("utf-8") or "\\u0000" in text.decode("utf-8"):
        raise malformed("texts must not have the character NUL")
    if _SURROGATE.search(text) and not _encodable(payload):
        raise malformed("a text has half of a surrogate pair such as \\ud800, which is no character")
    return payload


def _encodable(value: Any) -> bool:
    """False if a text has half of a surrogate pair: it can't be stored, hashed or sent."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _depth(text: bytes) -> int:
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


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if len(text) > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS:
        raise malformed(f"numbers must have at most {MOST_DIGITS} digits")
    return number


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise malformed(f"numbers must have at most {MOST_DIGITS} digits")
    return int(text)


def _constant(text: str) -> Any:
    raise malformed(f"{text} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    payload = dict(pairs)
    if len(payload) != len(pairs):
        raise malformed("an object names a field twice")
    return payload


def known_fields(payload: dict[str, Any], accepted: Iterable[str], what: str = "") -> dict[str, Any]:
    """The same object, if it has no other fields."""
    allowed = tuple(accepted)
    for field in payload:
        if field not in allowed:
            raise UnknownField(f"{what}{field}", allowed)
    return payload


def text_field(payload: dict[str, Any], field: str, default: Any = None, *, longest: int = 200) -> Any:
    """A text, or the default where it is absent or null."""
    value = payload.get(field)
    if value is None:
        return default
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise InvalidArgument(field, value, f"must be a text of 1 to {longest} characters")
    return value


def number_field(payload: dict[str, Any], field: str, default: Any = None) -> Any:
    """A number, or the default where it is absent or null."""
    value = payload.get(field)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise InvalidArgument(field, without_contents(value), "must be a number")
    return value


def flag_field(payload: dict[str, Any], field: str, default: bool) -> bool:
    """True or false."""
    value = payload.get(field, default)
    if not isinstance(value, bool):
        raise InvalidArgument(field, without_contents(value), "must be true or false")
    return value


def names_field(payload: dict[str, Any], field: str, *, most: int = 100) -> list[str] | None:
    """A list of texts, or None."""
    value = payload.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > most or not all(isinstance(one, str) for one in value):
        raise InvalidArgument(field, without_contents(value), f"must be a list of at most {most} texts")
    return value


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response of strict JSON."""
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=False)
    return Response(text, status_code=status, media_type="application/json", headers=headers)
