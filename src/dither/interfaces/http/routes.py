"""Routes: each endpoint declares its method, its path and who may use it, where it is defined."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypedDict, Unpack

from starlette.requests import Request
from starlette.responses import Response

from dither.borders import Model
from dither.interfaces.answers import OWNER, AnswerModel

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Who: TypeAlias = Literal["all", "somebody", "owner"]
ALL: Who = "all"
SOMEBODY: Who = "somebody"
"""Any client with a valid token."""


@dataclass(frozen=True)
class Endpoint:
    """One method at one path, and who may use it: all, somebody with a token, or owners."""

    method: str
    path: str
    handler: Handler
    who: str
    body: type[Model] | None = None
    parameters: type[Model] | None = None
    """What may stand after ``?``."""
    outcomes: Mapping[int, str] = field(default_factory=lambda: {200: "What was asked for."})
    answers: Mapping[int, type[AnswerModel]] = field(default_factory=dict)
    """The JSON of the answer of a status."""
    media_type: str = "application/json"


class Described(TypedDict, total=False):
    """What else describes an endpoint: the fields above with a default."""

    body: type[Model]
    parameters: type[Model]
    outcomes: Mapping[int, str]
    answers: Mapping[int, type[AnswerModel]]
    media_type: str


_ENDPOINTS: list[Endpoint] = []


def endpoint(method: str, path: str, who: str, **described: Unpack[Described]) -> Callable[[Handler], Handler]:
    """Registers the handler that follows; what else describes it are fields of ``Endpoint``."""

    def registered(handler: Handler) -> Handler:
        if any((known.method, known.path) == (method, path) for known in _ENDPOINTS):
            raise RuntimeError(f"two endpoints are {method} {path}: one of them needs another path")
        _ENDPOINTS.append(Endpoint(method, path, handler, who, **described))
        return handler

    return registered


def registered_endpoints() -> tuple[Endpoint, ...]:
    """All of them, in the order of their definition."""
    importlib.import_module("dither.interfaces.http.endpoints")
    return tuple(_ENDPOINTS)


__all__ = ["ALL", "OWNER", "SOMEBODY", "Endpoint", "Handler", "endpoint", "registered_endpoints"]
