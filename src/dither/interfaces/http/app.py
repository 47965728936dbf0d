"""The application: routes, who may use them, and what happens around every request."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from dither.errors import DitherError
from dither.interfaces.answers import OWNER
from dither.interfaces.http import endpoints
from dither.interfaces.http.bodies import json_response
from dither.interfaces.http.problems import Refused, forbidden, problem_response, unauthenticated
from dither.interfaces.http.response_headers import ApplicationWithHeaders
from dither.interfaces.http.routes import ALL, Endpoint, Handler, registered_endpoints
from dither.interfaces.http.server_state import Curator, ServerSettings
from dither.interfaces.http.store import Token
from dither.interfaces.http.telemetry import log, log_failure
from dither.plain import JsonObject

_CODES = {404: "not-found", 405: "method-not-allowed"}
_NOT_ADMITTED = ("unauthenticated", "too-many-requests")
"""Codes of requests without a known sender, of which there may be any number: they are logged as counts."""
_HEALTH = "/healthz"


def create_app(
    home: str | Path,
    *,
    ledger: str | Path | None = None,
    settings: ServerSettings | None = None,
    curator: Curator | None = None,
) -> Starlette:
    """The curator over everything below a home folder; ``ledger`` is a path or address elsewhere."""
    kept = curator or Curator(Path(home), ledger, settings)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        kept.workers.prepare()
        with contextlib.suppress(Exception):  # the first look is the slowest; what it finds is answered later
            await kept.health.check()
        yield
        kept.close()

    routes: list[BaseRoute] = []
    for path in dict.fromkeys(endpoint.path for endpoint in registered_endpoints()):
        here = {endpoint.method: endpoint for endpoint in registered_endpoints() if endpoint.path == path}
        routes.append(Route(path, _handled(path, here), methods=list(here)))
    routes.append(Route("/openapi.json", _openapi, methods=["GET"]))
    app = ApplicationWithHeaders(
        routes=routes,
        lifespan=life,
        exception_handlers={HTTPException: _not_there, Exception: _unexpected},
    )
    app.router.redirect_slashes = False
    app.state.curator = kept
    _with_page(app)
    return app


def _with_page(app: Starlette) -> None:
    """Serve the page too, where it is installed."""
    if importlib.util.find_spec("dither.interfaces.web") is not None:
        importlib.import_module("dither.interfaces.web").add_page(app, _visit)


def _handled(path: str, here: dict[str, Endpoint]) -> Handler:
    """What happens around the handlers of one address: tokens, limits, errors, counters, one line in the log."""

    async def handle(request: Request) -> Response:
        curator = endpoints.curator_of(request)
        endpoint = here["GET" if request.method == "HEAD" else request.method]
        code, token = None, None
        try:
            token = await _admitted(request, endpoint)
            request.state.token = token
            response = await endpoint.handler(request)
        except Exception as error:  # noqa: BLE001  (nothing of an unexpected error may leave)
            response = problem_response(error)
            code = error.code if isinstance(error, DitherError) else "internal"
            if not isinstance(error, DitherError):
                curator.metrics.count("dither_failures_total")
                log_failure(error, route=path)
        if response.status_code >= 400:
            curator.metrics.count("dither_refusals_total", code=code or response.status_code)
        curator.metrics.count("dither_requests_total", method=endpoint.method, route=path, status=response.status_code)
        if token is None and code in _NOT_ADMITTED:
            curator.refused.add(endpoint.method, path, response.status_code, code)
            return response
        facts: JsonObject = {"method": endpoint.method, "route": path, "status": response.status_code, "code": code}
        facts |= {key: getattr(request.state, key, None) for key in ("dataset", "request_id")}
        log("request", **facts, analyst=None if token is None else token.name)
        return response

    return handle


async def _admitted(request: Request, endpoint: Endpoint) -> Token | None:
    """The token of a request, if it may come in.  Health needs none, and has a limit of its own."""
    curator, who = endpoints.curator_of(request), endpoint.who
    stranger = request.client.host if request.client is not None else "?"
    if endpoint.path == _HEALTH:
        curator.probes.take(stranger)
        return None
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    token = None
    if scheme.lower() == "bearer" and 0 < len(secret.strip()) <= 200:
        token = await curator.threads.run_reserved(curator.store.find, secret.strip())
    if token is not None:
        curator.limit.take(token.id)
    else:
        curator.strangers.take(stranger)
        if who != ALL:
            raise unauthenticated()
    if who == OWNER and (token is None or not token.is_owner):
        raise forbidden("this needs the token of an owner")
    return token


def _visit(request: Request) -> Response | None:
    """Count a request for a public page; a refusal if one address sends too many."""
    curator = endpoints.curator_of(request)
    try:
        curator.visitors.take(request.client.host if request.client is not None else "?")
    except Refused as error:
        curator.refused.add(request.method, "page", error.status, error.code)
        return problem_response(error)
    return None


async def _openapi(request: Request) -> Response:
    return _visit(request) or json_response(_document())


@functools.cache
def _document() -> JsonObject:
    from dither.interfaces.http.openapi import document

    return document()


async def _not_there(request: Request, error: Exception) -> Response:
    refused = _visit(request)
    if refused is not None:
        return refused
    status = error.status_code if isinstance(error, HTTPException) else 500
    allowed = dict(getattr(error, "headers", None) or {})
    code = _CODES.get(status, "malformed")
    return problem_response(Refused(status, code, "there is nothing at this address for this method", allowed))


async def _unexpected(request: Request, error: Exception) -> Response:
    log_failure(error, route="?")
    endpoints.curator_of(request).metrics.count("dither_failures_total")
    return problem_response(error)
