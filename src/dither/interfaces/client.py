"""A session over HTTP: ``dt.connect(url, token=...)`` has the methods of a local session.

Every question carries a request id, so that one whose connection broke is
sent again and pays once.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias, TypedDict, cast, overload

from dither import errors
from dither.aliases import newer, older_name
from dither.errors import DitherError, InvalidArgument
from dither.interfaces import strict_json
from dither.plain import Json, JsonObject, finite_number, plain, with_infinities
from dither.privacy import Budget, Loss
from dither.queries.query import Query
from dither.queries.wire import to_json
from dither.release import B, Release, Releases, V
from dither.session.account import Account, Spend

if TYPE_CHECKING:
    from typing import Unpack

    from dither.quotes.priors import Prior
    from dither.typing import (
        Answered,
        Interval,
        NamedWeights,
        Names,
        RemoteAskOptions,
        RemoteOptions,
        RemoteQuoteOptions,
        RemoteSeveralOptions,
        RemoteSqlOptions,
        Weights,
    )

Payload: TypeAlias = dict[str, Any]
"""A JSON object of a server of the same version; the form of each is known where it is read."""
Given: TypeAlias = Any
"""An option of one of the overloads above it; the server refuses unknown ones."""
Errors: TypeAlias = float | tuple[float, ...] | None
"""The error of one number or of several; None: not known."""

_ATTEMPTS = 5
_PATIENCE = 420.0
"""Seconds to wait for one response: longer than the server's longest wait."""
LONGEST_WAIT = 2 * 86_400.0
"""Seconds that a client waits in all for the answer to a question: twice the longest slot of a server."""
LONGEST_PAUSE = 3_600.0
"""Seconds until a job is looked at again, whatever time its server names."""
_PAUSE = 0.05
_LONGEST_RETRY = 10.0
_ARGUMENT = re.compile(r"([\w.\[\]]+)(?: must | is |=)")
_LOCAL_ERRORS = {
    one.code: one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, DitherError) and one is not DitherError
}


class Problem(TypedDict):
    """What a server says about a request that it refused."""

    status: int
    code: str
    detail: str


class ServerRefused(DitherError):
    """What a server declined; ``code`` and ``status`` are the server's."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status  # type: ignore[misc]
        self.code = code  # type: ignore[misc]


class ServerUnreachable(DitherError):
    """No answer from the server; asking again with the same request id pays nothing more."""

    code = "unreachable"
    status = 503


@dataclasses.dataclass(frozen=True)
class RemoteQuote:
    """Privacy loss and expected error of a query, as a server quoted them."""

    query: str
    loss: Loss
    expected_error: Errors
    bound: Errors
    confidence: float | None
    mechanism: str
    noise: str
    payload: JsonObject = dataclasses.field(repr=False, compare=False)
    """Everything that the server said."""

    calibration = older_name("mechanism")
    told = older_name("payload")

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return dict(self.payload)


class RemoteSession:
    """Datasets behind a server.  ``dataset`` names the one to ask; with only one there is no need to."""

    def __init__(self, url: str, *, token: str, dataset: str | None = None, certificate: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidArgument("url", url, "must be an address such as https://curator.example/")
        if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
            raise InvalidArgument("token", type(token), "must be the token that an owner gave out")
        self._base = url.rstrip("/")
        self._token = token
        self._dataset = dataset
        self._opener = _opener(certificate)

    def __repr__(self) -> str:
        return f"<RemoteSession {self._base}{'' if self._dataset is None else f' {self._dataset}'}>"

    # --- what a local session has --------------------------------------------------------------------------

    @overload
    def ask(self, query: Query[V, B], *, by: None = None, **options: Unpack[RemoteAskOptions]) -> Release[V, B]: ...
    @overload
    def ask(self, query: Query[V, B], *, by: Names, **options: Unpack[RemoteAskOptions]) -> Releases[V, B]: ...
    @overload
    def ask(
        self,
        query: Sequence[Query[float, Interval]],
        *,
        by: Names | None = None,
        **options: Unpack[RemoteSeveralOptions],
    ) -> Releases[float, Interval]: ...
    @overload
    def ask(
        self, query: Sequence[Query], *, by: Names | None = None, **options: Unpack[RemoteSeveralOptions]
    ) -> Releases: ...
    def ask(self, query: Query | Sequence[Query], *, by: Names | None = None, **options: Given) -> Release | Releases:
        """Ask one query or program, or several at once; options as for a local session, and ``dataset``."""
        payload: JsonObject = {"query": _queries_json(query)}
        if by is not None:
            payload["by"] = by if isinstance(by, str) else list(by)
        answered = self._asked(payload, **options)
        return answered[0] if isinstance(query, Query) and by is None else answered

    def sql(self, text: str, **options: Unpack[RemoteSqlOptions]) -> Answered:
        """Ask in SQL; one release, or ``Releases`` where several queries or groups are asked for."""
        answered = self._asked({"sql": text}, **options)
        return cast("Answered", answered[0] if len(answered) == 1 and answered[0].group is None else answered)

    @overload
    def quote(self, query: Query, **options: Unpack[RemoteQuoteOptions]) -> RemoteQuote: ...
    @overload
    def quote(
        self, query: Sequence[Query], *, weights: Weights | None = None, **options: Unpack[RemoteQuoteOptions]
    ) -> list[RemoteQuote]: ...
    @overload
    def quote(
        self, query: str, *, weights: NamedWeights | None = None, **options: Unpack[RemoteOptions]
    ) -> list[RemoteQuote]: ...
    def quote(
        self, query: Query | Sequence[Query] | str, *, dataset: str | None = None, **options: Given
    ) -> RemoteQuote | list[RemoteQuote]:
        """Privacy loss and expected error; reads and charges nothing.  A text is SQL."""
        payload: JsonObject = {"sql": query} if isinstance(query, str) else {"query": _queries_json(query)}
        answer = self._call("POST", f"{self._path(dataset)}/quote", payload | _options(options), expected="Quotes")
        quotes = [_quote(one) for one in answer["quotes"]]
        return quotes[0] if isinstance(query, Query) else quotes

    @property
    def budget(self) -> Account:
        """What may be spent in all, what was spent, what is left."""
        return self.budget_of(None)

    def budget_of(self, dataset: str | None) -> Account:
        """The budget of one dataset; of an analyst with a budget of their own, that."""
        payload = self._call("GET", f"{self._path(dataset)}/budget", expected="Account")
        payload = payload.get("own") or payload
        total = payload["total"]
        return Account(Budget(total["epsilon"], total["delta"]), _loss(payload["spent"]), _loss(payload["left"]))

    @property
    def history(self) -> list[Spend]:
        """Own charges (an owner's: everyone's), oldest first, with their answers."""
        return self.history_of(None)

    def history_of(self, dataset: str | None) -> list[Spend]:
        """The same, of one dataset."""
        spends: list[Spend] = []
        path = f"{self._path(dataset)}/releases"
        while True:
            after = spends[-1].number if spends else 0
            page = self._call("GET", f"{path}?after={after}&limit=1000", expected="History")["releases"]
            if page and page[0]["number"] <= after:
                raise self._unreadable(f"releases must have numbers above {after}")
            spends += [
                Spend(
                    one["number"],
                    one["question"],
                    _loss(one),
                    None if one["releases"] is None else {"answers": [one["releases"]]},
                )
                for one in page
            ]
            if len(page) < 1000:
                return spends

    @property
    def datasets(self) -> list[JsonObject]:
        """Everything that this token may ask."""
        return list(self._call("GET", "/v1/datasets", expected="Datasets")["datasets"])

    @property
    def schema(self) -> JsonObject:
        """What is public about the dataset."""
        return self._call("GET", self._path(None), expected="Dataset")

    def on(self, dataset: str) -> RemoteSession:
        """The same connection, for another dataset."""
        other = object.__new__(RemoteSession)
        other.__dict__.update(self.__dict__)
        other._dataset = dataset
        return other

    def close(self) -> None:
        """Does nothing: no connection is kept open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:  # the exception, if there is one
        self.close()

    # --- requests ------------------------------------------------------------------------------------------

    def _path(self, dataset: str | None) -> str:
        name = dataset or self._dataset
        if name is None:
            known = [str(one["name"]) for one in self.datasets]
            if len(known) != 1:
                raise InvalidArgument("dataset", None, f"must be one of {', '.join(known) or 'none'}")
            name = self._dataset = known[0]
        return f"/v1/datasets/{urllib.parse.quote(name, safe='')}"

    def _asked(self, payload: JsonObject, *, dataset: str | None = None, **options: Given) -> Releases:
        payload = payload | _options(options) | {"request_id": options.get("request_id") or uuid.uuid4().hex}
        path = f"{self._path(dataset)}/releases"
        answer = self._call("POST", path, payload, expected="Asked")
        for _ in range(_ATTEMPTS):
            outcome = self._settled(answer)
            if outcome is not None:
                break
            # The server that worked on it is gone: under the same request id this pays nothing more.
            answer = self._call("POST", path, payload, expected="Asked")
        else:
            raise ServerUnreachable(f"{self._base} loses this question; ask again with the same request_id")
        answer = outcome
        releases = [Release.from_dict(_finite(one)) for one in answer["releases"]]
        return Releases(releases, _loss(answer))

    def _settled(self, answer: Payload) -> Payload | None:
        """The answer of a job, when its schedule says so; None if no server works on it any more."""
        waited, least = 0.0, _PAUSE
        while "releases" not in answer:
            if answer["state"] == "done":
                return dict(answer["answer"])
            if answer["state"] == "failed":
                if answer["problem"]["code"] == "lost":
                    return None
                raise _error(answer["problem"])
            if waited >= LONGEST_WAIT:
                raise ServerUnreachable(
                    f"{self._base} has no answer after {LONGEST_WAIT:g} seconds, the longest that a client waits; "
                    "ask again with the same request_id, which pays nothing more"
                )
            # A server that always says "now" is asked less and less often.
            pause = min(LONGEST_PAUSE, max(least, answer["ready_in"] + _PAUSE))
            waited, least = waited + pause, min(_LONGEST_RETRY, 1.5 * least)
            time.sleep(pause)
            try:
                answer = self._call("GET", f"/v1/jobs/{urllib.parse.quote(answer['id'], safe='')}", expected="Job")
            except DitherError as error:
                if error.code == "not-found":
                    return None
                raise
        return answer

    def _call(self, method: str, path: str, body: JsonObject | None = None, *, expected: str) -> Payload:
        """One request, and the answer that a model of ``answers`` expects.

        It is sent again where no answer came, which is free since it has a request id.
        """
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        for attempt in range(_ATTEMPTS):
            request = urllib.request.Request(self._base + path, data=data, headers=headers, method=method)
            try:
                with self._opener.open(request, timeout=_PATIENCE) as response:
                    return self._checked(strict_json.parse(response.read(), float), expected)
            except urllib.error.HTTPError as error:
                problem = _problem(error)
                if error.code not in (429, 503) or attempt == _ATTEMPTS - 1 or problem["code"] == "source-failed":
                    raise _error(problem) from None
                time.sleep(_retry_after(error.headers.get("Retry-After"), 0.2 * 2**attempt))
            except (OSError, ValueError, http.client.HTTPException):
                if attempt == _ATTEMPTS - 1:
                    break
                time.sleep(0.2 * 2**attempt)
        raise ServerUnreachable(
            f"no answer from {self._base}; ask again with the same request_id, which pays nothing more"
            if body is not None
            else f"no answer from {self._base}"
        )

    def _checked(self, answer: Payload, expected: str) -> Payload:
        from dither.borders import read
        from dither.interfaces import answers

        try:
            read(getattr(answers, expected), answer)
        except InvalidArgument as error:
            rule = error.rule
        else:
            return answer
        raise self._unreadable(rule)

    def _unreadable(self, rule: str) -> ServerRefused:
        return ServerRefused(502, "malformed", f"{self._base} sent an answer that can't be read: {rule}")


def connect(url: str, *, token: str, dataset: str | None = None, certificate: str | None = None) -> RemoteSession:
    """Ask a server as if its datasets were here: ``ask``, ``sql``, ``quote``, ``budget``, ``history``, ``datasets``.

    dataset: the one that questions are about, where there are several.  certificate: a file with the server's
    certificate, if no known authority signed it.
    """
    return RemoteSession(url, token=token, dataset=dataset, certificate=certificate)


def _opener(certificate: str | None) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if certificate is not None:
        import ssl

        try:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificate)))
        except OSError:
            raise InvalidArgument("certificate", certificate, "must be a readable PEM file") from None
    return urllib.request.build_opener(*handlers)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that a token is sent to no other address."""

    def redirect_request(
        self,
        req: urllib.request.Request,  # noqa: ARG002
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: http.client.HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None


def _retry_after(given: str | None, usual: float) -> float:
    """Seconds until a request is sent again: as a server says in seconds, or the usual ones (of a date, too).

    >>> _retry_after("2", 0.2), _retry_after("1000", 0.2), _retry_after("-5", 0.2), _retry_after("nan", 0.2)
    (2.0, 10.0, 0.2, 0.2)
    """
    try:
        seconds = float(given or "")
    except ValueError:
        return usual
    return min(_LONGEST_RETRY, seconds) if seconds >= 0 else usual


def _loss(payload: Payload) -> Loss:
    return Loss(payload["epsilon"], payload["delta"])


def _problem(error: urllib.error.HTTPError) -> Problem:
    try:
        payload = strict_json.parse(error.read(), float)
        return {"status": error.code, "code": str(payload["code"]), "detail": str(payload["detail"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"status": error.code, "code": "malformed", "detail": f"the server answered with status {error.code}"}


def _error(problem: Problem) -> DitherError:
    """The error of a local session that has this code, so that callers can catch the same."""
    error_class = _LOCAL_ERRORS.get(problem["code"])
    if error_class is None:
        return ServerRefused(problem["status"], problem["code"], problem["detail"])
    rebuilt = error_class.__new__(error_class)
    Exception.__init__(rebuilt, problem["detail"])
    if isinstance(rebuilt, InvalidArgument):
        # A server sends the sentence: it begins with the argument, and what was given is in it.
        named = _ARGUMENT.match(problem["detail"])
        rebuilt.argument = named[1] if named else ""
        rebuilt.given, rebuilt.rule, rebuilt.accepted = None, problem["detail"], problem["detail"]
    return rebuilt


def _options(options: Payload) -> JsonObject:
    """The options of ``ask`` in JSON; the server refuses unknown ones."""
    options = newer(options, stacklevel=5)
    payload: JsonObject = {
        key: plain(value, finite_number)
        for key, value in options.items()
        if value is not None and key not in ("dataset", "prior")
    }
    if options.get("prior") is not None:
        payload["prior"] = _prior_json(options["prior"])
    if "confidence" in options:
        payload["confidence"] = plain(options["confidence"], finite_number)
    for name in ("mechanism", "noise"):
        if name in payload and not isinstance(options[name], str):
            raise InvalidArgument(name, options[name], 'must be a name such as "smooth" where a server is asked')
    return payload


def _queries_json(query: Query | Sequence[Query]) -> Json:
    if isinstance(query, Query) or not isinstance(query, Sequence) or isinstance(query, str):
        return to_json(query)
    return [to_json(one) for one in query]


def _prior_json(prior: Prior) -> JsonObject:
    named = dataclasses.fields(prior)  # type: ignore[arg-type]
    fields = {one.name: plain(getattr(prior, one.name), finite_number) for one in named}
    return {"kind": type(prior).__name__.lower(), **fields}


def _finite(payload: JsonObject) -> JsonObject:
    """A release with its infinite numbers back.  A single answer is finite: a text is a category or a date."""
    numbers = () if isinstance(payload["value"], str) else ("value", "interval", "missing")
    return {key: with_infinities(value) if key in numbers else value for key, value in payload.items()}


def _quote(payload: Payload) -> RemoteQuote:
    return RemoteQuote(
        payload["query"],
        _loss(payload),
        with_infinities(payload["expected_error"]),
        with_infinities(payload["bound"]),
        payload["confidence"],
        payload["calibration"],
        payload["noise"],
        payload,
    )
