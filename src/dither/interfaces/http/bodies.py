"""Bodies: bounded size and time, strict JSON, and what the model of each says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dither.interfaces import strict_json
from dither.interfaces.http.problems import Refused, malformed
from dither.ledger.entries import DEEPEST
from dither.plain import Given, Payload, answered_number, plain

MOST_BYTES = 256 * 1024
SLOWEST = 20.0
"""Seconds that a body may take to arrive."""
_DEPTH = 4
"""Levels of objects and lists that are written piece by piece: a history, its charges, and the releases of each."""
_READERS = ThreadPoolExecutor(2, thread_name_prefix="body")


async def json_object(request: Request) -> dict[str, Given]:
    """The object in a request's body."""
    return await parse_in_thread(await body_text(request))


async def parse_in_thread(text: bytes) -> dict[str, Given]:
    """The object that a body describes; a large body does not block the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_READERS, parse, text)


async def body_text(request: Request) -> bytes:
    """A request's body, which says that it is JSON."""
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
    return bytes(text)


def parse(text: bytes) -> dict[str, Given]:
    """The object that a body describes; numbers stay the decimals that were written."""
    try:
        return strict_json.parse(text)
    except strict_json.NotStrict as error:
        raise malformed(f"the body {error}") from None


class Encoded(bytes):
    """JSON that is written already: it becomes a part of a larger answer as it is."""


def encoded(value: Payload) -> Encoded:
    """A value as JSON, written in small pieces: no other thread waits long for one of them."""
    return Encoded(b"".join(_pieces(value, _DEPTH)))


def _pieces(value: Payload, depth: int) -> Iterator[bytes]:
    if isinstance(value, Encoded):
        yield value
    elif depth and value and isinstance(value, Mapping):
        start = b"{"
        for key, part in value.items():
            yield start + strict_json.encoded(strict_json.text_of(str(key))) + b": "
            yield from _pieces(part, depth - 1)
            start = b", "
        yield b"}"
    elif depth and isinstance(value, list) and any(isinstance(part, (Mapping, list, Encoded)) for part in value[:1]):
        start = b"["
        for part in value:
            yield start
            yield from _pieces(part, depth - 1)
            start = b", "
        yield b"]"
    else:
        yield strict_json.encoded(json_text(value))


def encoded_response(content: Encoded, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response of JSON that is written already."""
    return Response(content, status_code=status, media_type="application/json", headers=headers)


def json_response(value: Payload, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response of strict JSON; declared decimals keep their digits."""
    return encoded_response(encoded(value), status, headers)


def joined_text(first: Payload, rest: str) -> str:
    """The JSON of one object with the fields of two that are not empty; the second is written already.

    >>> joined_text({"a": 1}, '{"b": 2}')
    '{"a": 1, "b": 2}'
    """
    return f"{json_text(first)[:-1]}, {rest[1:]}"


def text_response(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response of JSON that is written already."""
    return encoded_response(Encoded(strict_json.encoded(text)), status, headers)


def json_text(value: Payload) -> str:
    """Strict JSON; declared decimals keep their digits.  What lies too deep to be written is left out."""
    try:
        return strict_json.text_of(plain(value, answered_number))
    except RecursionError:  # only a value that an earlier version stored
        return strict_json.text_of(plain(_shallow(value), answered_number))


def _shallow(value: Payload, levels: int = DEEPEST) -> Payload:
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if levels == 0:
        return "…"
    if isinstance(value, Mapping):
        return {key: _shallow(part, levels - 1) for key, part in value.items()}
    return [_shallow(part, levels - 1) for part in value]
