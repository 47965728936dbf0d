"""Errors as problem+json: a stable code, a status, and a detail made of public facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from starlette.responses import Response

from dither.errors import AFTER_DRAW, DitherError, NotIsolated, TooFewDescriptors, came_after_draw
from dither.interfaces.answers import Problem
from dither.sources.descriptors import is_short

MEDIA_TYPE = "application/problem+json"
_NOT_ISOLATED = (
    "programs are not run on this server, because isolation does not hold (its log says what is missing); nothing was "
    "read, nothing was charged"
)
"""The error itself quotes bubblewrap, and with it paths of the machine."""


_HIDDEN: dict[str, str] = {}
"""Folders of this process's servers, and what messages call them."""


_NO_DESCRIPTORS = (
    "no file descriptor is left (ulimit -n, LimitNOFILE of a service); if the question had been charged, the charge "
    "stays: ask again with the same request_id, which pays nothing more"
)


def hide_folder(folder: Path, replacement: str) -> None:
    """From now on the text of every problem has ``replacement`` in place of this folder's path."""
    for item in (folder.absolute(), folder.resolve()):
        if item != Path(item.anchor):
            _HIDDEN.setdefault(str(item), replacement)


class Refused(DitherError):
    """A request that the server itself declines, before anything is read or charged."""

    def __init__(self, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status  # type: ignore[misc]
        self.code = code  # type: ignore[misc]
        self.headers = headers or {}

    @classmethod
    def by(cls, problem: Problem) -> Self:
        """The same error again, of a problem that another process or thread found."""
        return cls(problem.status, problem.code, problem.detail)


def problem(error: BaseException) -> Problem:
    """The body for an error; the text of an unexpected one is left out."""
    drawn = f"; {AFTER_DRAW}" if came_after_draw(error) and AFTER_DRAW not in str(error) else ""
    if isinstance(error, NotIsolated):
        return _body(error.status, error.code, f"{_NOT_ISOLATED}{drawn}")
    if is_short(error):
        return _body(503, TooFewDescriptors.code, _NO_DESCRIPTORS)
    if isinstance(error, DitherError):
        return _body(error.status, error.code, f"{error}{drawn}")
    asked_again = drawn or ": ask again with the same request_id, which pays nothing more"
    return _body(
        500, "internal", f"an unexpected failure; if the question had been charged, the charge stays{asked_again}"
    )


def problem_response(error: BaseException) -> Response:
    """The response for an error."""
    body = problem(error)
    headers = {"WWW-Authenticate": "Bearer"} if body.status == 401 else {}
    headers |= getattr(error, "headers", {})
    return Response(problem_text(body), status_code=body.status, media_type=MEDIA_TYPE, headers=headers)


def problem_text(body: Problem) -> str:
    """The JSON of a problem."""
    return json.dumps(body.model_dump())


def _body(status: int, code: str, detail: str) -> Problem:
    title = code.replace("-", " ")
    for folder, replacement in sorted(_HIDDEN.items(), key=lambda item: -len(item[0])):
        detail = detail.replace(folder, replacement)
    return Problem(type="about:blank", title=title, status=status, code=code, detail=detail)


def malformed(detail: str) -> Refused:
    """A body that is not what JSON, or this API, looks like."""
    return Refused(400, "malformed", f"{detail}; nothing was read, nothing was charged")


def unauthenticated() -> Refused:
    """No token, or none that is valid: the answer is the same."""
    return Refused(401, "unauthenticated", "a valid token is needed: Authorization: Bearer TOKEN")


def forbidden(detail: str) -> Refused:
    """Something that this token may not do."""
    return Refused(403, "forbidden", f"{detail}; nothing was read, nothing was charged")


def last_owner() -> Refused:
    """The end of the last token that manages all datasets and tokens."""
    return Refused(
        409,
        "last-owner",
        "this is the last valid owner's token for all datasets, and no other could create tokens: create one first; "
        "nothing was changed",
    )


def not_found(detail: str = "there is nothing at this address") -> Refused:
    """An address with nothing behind it, or nothing for this token."""
    return Refused(404, "not-found", detail)
