"""Serves the page and its files from the package; nothing else of the disk can be reached.

The page is the same for all users and holds no data: it asks the API with the token that its user pastes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOME = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""No script, style or request but this server's own; no text may become markup."""

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class PageFile:
    """One file of the page, with the headers that it is served with."""

    content: bytes
    headers: dict[str, str]


def page_files() -> dict[str, PageFile]:
    """All files of the page by name, read once."""
    folder = files("dither.interfaces.web") / "static"
    return {path.name: _file(path.name, path.read_bytes()) for path in folder.iterdir() if _ending(path.name) in _TYPES}


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


def _file(name: str, content: bytes) -> PageFile:
    return PageFile(
        content,
        {
            "Content-Type": f"{_TYPES[_ending(name)]}; charset=utf-8",
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache",
            "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        },
    )


def add_page(app: Starlette, visit: Callable[[Request], Response | None] = lambda _: None) -> None:
    """Serve the page at ``/`` and its files below ``/static/`` of a FastAPI or Starlette application.

    visit: looks at every request first; what it returns is sent instead, unless that is None.
    """
    from starlette.responses import Response
    from starlette.routing import Route

    known = page_files()

    def serve(name: str, request: Request) -> Response:
        result = known[name]
        if request.headers.get("if-none-match") == result.headers["ETag"]:
            return Response(status_code=304, headers=result.headers)
        return Response(result.content, headers=result.headers)

    def route(path: str, name: str) -> Route:
        async def endpoint(request: Request) -> Response:
            refused: Response | None = visit(request)
            return serve(name, request) if refused is None else refused

        return Route(path, endpoint, methods=["GET"], include_in_schema=False)

    # A route for every file and no pattern: an address names one of these files or nothing.
    app.router.routes.append(route("/", HOME))
    for name in sorted(known):
        if name != HOME:
            app.router.routes.append(route(f"/static/{name}", name))
