"""A session over HTTP: ``dt.connect(url, token=...)`` has the methods of a local session.

Every question carries a request id, so that one whose connection broke is
sent again and pays once.
"""

from __future__ import annotations

import dataclasses
import http.client
import io
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict, cast, overload

from dither import errors
from dither.aliases import newer
from dither.errors import AFTER_DRAW, DitherError, InvalidArgument
from dither.interfaces import strict_json
from dither.plain import MOST_ANSWERED, Json, JsonObject, as_float, finite_number, plain, with_infinities
from dither.plain import Given as Parsed
from dither.privacy import Budget, Loss, Simultaneous
from dither.queries.query import Query
from dither.queries.registry import entry_of
from dither.queries.wire import to_json
from dither.quotes.quote import LEVEL, Quote, Quotes
from dither.release import B, Release, Releases, V
from dither.session.account import Account, Spend, SpendHistory
from dither.sql.select import is_select, selecting

if TYPE_CHECKING:
    import socket
    import ssl
    from types import TracebackType
    from typing import Unpack

    from typing_extensions import Buffer

    from dither.interfaces.answers import Problem
    from dither.quotes.graph_priors import GraphPrior
    from dither.quotes.priors import Prior
    from dither.typing import (
        Answered,
        ErrorName,
        HowOptions,
        Interval,
        NamedWeights,
        Names,
        Number,
        RemoteAskOptions,
        RemoteLeastEpsilonOptions,
        RemoteQuoteOptions,
        RemoteSeveralOptions,
        RemoteSqlOptions,
        RemoteSqlQuoteOptions,
        Weights,
    )

Payload: TypeAlias = dict[str, Any]
"""A JSON object of a server of the same version; the form of each is known where it is read."""
Given: TypeAlias = Any
"""An option of one of the overloads above it; the server refuses unknown ones."""
QueryNames: TypeAlias = tuple[str, ...]
"""The public names of the queries that were asked; none: a statement said it."""

_ATTEMPTS = 5
_PATIENCE = 420.0
"""Seconds to wait for the next byte of a response: longer than the server's longest wait."""
LONGEST_WAIT = 2 * 86_400.0
"""Seconds that a client waits in all for the answer to a question: twice the longest slot of a server."""
LONGEST_PAUSE = 3_600.0
"""Seconds until a job is looked at again, whatever time its server names."""
LONGEST_ANSWER = 1 << 28
"""Bytes: about half a million releases."""
MOST_CHARGES = 1_000_000
"""Charges of one history, all of its pages together; each has a hundred bytes of JSON at least."""
LONGEST_RESPONSE = 900.0
"""Seconds that one whole response may take, from the end of the request to its last byte."""
_PAGE = 1_000
MOST_QUOTES = 1_000
"""Quotes that a search for the least epsilon takes at most; one for each of some mechanisms takes some tens."""
_LONGEST_PROBLEM = 1 << 20
_PAUSE = 0.05
_LONGEST_RETRY = 10.0
_ARGUMENT = re.compile(r"([\w.\[\]]+)(?: must | is |=)")
_LOCAL_ERRORS = {
    item.code: item
    for item in vars(errors).values()
    if isinstance(item, type) and issubclass(item, DitherError) and item is not DitherError
}


class _Outcome(TypedDict):
    """What the model ``Releases`` has read."""

    releases: list[JsonObject]
    epsilon: float
    delta: float


class _Job(TypedDict):
    """What the model ``Job`` has read."""

    id: str
    state: Literal["running", "done", "failed"]
    ready_in: float
    answer: _Outcome
    problem: JsonObject


UNKNOWN_TOKEN = (
    "the server does not know this token, or it has expired or was revoked: pass token= (at the shell --token, or "
    'DITHER_TOKEN) whole, as its owner gave it; it begins with "dither_"'
)


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
    @overload
    def ask(self, query: str, *, by: Names | None = None, **options: Unpack[RemoteSeveralOptions]) -> Answered: ...
    def ask(
        self, query: Query | Sequence[Query] | str, *, by: Names | None = None, **options: Given
    ) -> Release | Releases:
        """Ask one query or program, or several at once; options as for a local session, and ``dataset``."""
        if isinstance(query, str):
            return self._called(query, by=by, **options)
        payload: JsonObject = {"query": _queries_json(query)}
        if by is not None:
            payload["by"] = by if isinstance(by, str) else list(by)
        asked = [query] if isinstance(query, Query) else query
        answered = self._asked(payload, tuple(entry_of(item).name for item in asked), **options)
        # Of groups, which may have to be found, each has an answer to every query.
        if len(answered) % max(1, len(asked)) or (by is None and len(answered) != len(asked)):
            raise self._unreadable(f"releases must be one for each query, and {len(asked)} were asked")
        return answered[0] if isinstance(query, Query) and by is None else answered

    def _called(
        self, calls: str, *, by: Names | None, where: str | None = None, **options: Unpack[RemoteSqlOptions]
    ) -> Release | Releases:
        """Ask a text of calls: a server reads it as the list of a SELECT."""
        if is_select(calls):
            raise InvalidArgument("query", calls, "is SQL: ask it with session.sql(...)")
        keys = [] if by is None else [by] if isinstance(by, str) else list(by)
        name = str(options.get("dataset") or self.schema["name"])
        return self.sql(selecting(calls, name, where, keys), **options)

    def sql(self, text: str, **options: Unpack[RemoteSqlOptions]) -> Answered:
        """Ask in SQL; one release, or ``Releases`` where several queries or groups are asked for."""
        answered = self._asked({"sql": text}, (), **options)
        return cast("Answered", answered[0] if len(answered) == 1 and answered[0].group is None else answered)

    @overload
    def quote(self, query: Query, **options: Unpack[RemoteQuoteOptions]) -> Quote: ...
    @overload
    def quote(
        self, query: Sequence[Query], *, weights: Weights | None = None, **options: Unpack[RemoteQuoteOptions]
    ) -> Quotes: ...
    @overload
    def quote(
        self, query: str, *, weights: NamedWeights | None = None, **options: Unpack[RemoteSqlQuoteOptions]
    ) -> Quotes: ...
    def quote(
        self, query: Query | Sequence[Query] | str, *, dataset: str | None = None, **options: Given
    ) -> Quote | Quotes:
        """Privacy loss, mechanism and error of a question, before it is asked; reads and charges nothing.

        A text is SQL.  A server quotes programs with their ``blocks`` and ``seconds``.
        """
        payload: JsonObject = {"sql": query} if isinstance(query, str) else {"query": _queries_json(query)}
        answer = self._call(
            "POST", f"{self._path(dataset)}/quote", payload | _options(options), expected="QuotesAnswer"
        )
        level = options.get("confidence")
        level = level.confidence if isinstance(level, Simultaneous) else level
        asked = LEVEL if level is None else float(level)
        wanted = None if isinstance(query, str) else 1 if isinstance(query, Query) else len(query)
        if wanted not in (None, len(answer["quotes"])):
            raise self._unreadable(f"quotes must be one for each query, and {wanted} were asked")
        listed = [Quote.from_dict(number, asked) for number in answer["quotes"]]
        quotes = Quotes(quote.as_stored() for quote in listed) if answer.get("stored") else Quotes(listed)
        return quotes[0] if isinstance(query, Query) else quotes

    def least_epsilon(
        self,
        query: Query,
        *,
        target_error: Number,
        of: ErrorName = "expected_error",
        **options: Unpack[RemoteLeastEpsilonOptions],
    ) -> Quote:
        """The quote with the least epsilon whose error reaches a target; see ``dither.least_epsilon``.

        It takes some tens of quotes, one after the other; a server that has enough of them is waited for.
        """
        from dither.mechanisms.choice import MECHANISMS
        from dither.session.quoting import searched_epsilon

        named: list[str] = []
        delta = plain(options.get("delta") or 0.0, finite_number)  # as it is sent

        def quoted(epsilon: float, instead: HowOptions) -> Quote:
            asked = cast("RemoteQuoteOptions", {**options, **instead, "epsilon": epsilon})
            item = self.quote(query, **asked)
            is_free = item.mechanism == "public" or item.derived_from is not None or item.stored
            # A mechanism that needs no delta is quoted with none.
            accepted = [Loss.asked(epsilon), Loss.asked(epsilon, delta), *([Loss(0.0)] if is_free else [])]
            if item.loss not in accepted:
                raise self._unreadable(f"a quote for epsilon {epsilon:g} must not be one for {item.loss}")
            named.append(item.mechanism)
            # One more than are registered: what is public, or a program, has a name of its own.
            if len(named) > MOST_QUOTES or len(set(named)) > len(MECHANISMS) + 1:
                raise self._unreadable(
                    f"its quotes of one query name {len(set(named))} mechanisms and reach no end after {len(named)}"
                )
            return item

        return searched_epsilon(query, quoted, target_error, of)

    @property
    def budget(self) -> Account:
        """What may be spent in all, what was spent, what is left."""
        return self.budget_of(None)

    def budget_of(self, dataset: str | None) -> Account:
        """The budget of one dataset; of an analyst with a budget of their own, that."""
        payload = self._call("GET", f"{self._path(dataset)}/budget", expected="AccountAnswer")
        payload = payload.get("own") or payload
        total = payload["total"]
        return Account(Budget(total["epsilon"], total["delta"]), _loss(payload["spent"]), _loss(payload["left"]))

    @property
    def history(self) -> SpendHistory:
        """Own charges (an owner's: everyone's), oldest first, with their answers."""
        return self.history_of(None)

    def history_of(self, dataset: str | None) -> SpendHistory:
        """The same, of one dataset; a client reads ``MOST_CHARGES`` of them at most."""
        spends = SpendHistory()
        path = f"{self._path(dataset)}/releases"
        while True:
            after = spends[-1].number if spends else 0
            answer = self._call("GET", f"{path}?after={after}&limit={_PAGE}", expected="History")
            page = answer["releases"]
            if page and page[0]["number"] <= after:
                raise self._unreadable(f"releases must have numbers above {after}")
            if len(page) > _PAGE:
                raise self._unreadable(f"releases must be {_PAGE} at most, as many as were asked for")
            if len(spends) + len(page) > MOST_CHARGES:
                raise self._unreadable(f"a history must have at most {MOST_CHARGES:,} charges")
            spends += [
                Spend(
                    item["number"],
                    item["question"],
                    _loss(item),
                    None if item["releases"] is None else {"answers": [item["releases"]]},
                )
                for item in page
            ]
            if not page or (len(page) < _PAGE and not answer.get("more")):
                return spends

    @property
    def datasets(self) -> list[JsonObject]:
        """Everything that this token may ask."""
        return list(self._call("GET", "/v1/datasets", expected="Datasets")["datasets"])

    @property
    def schema(self) -> JsonObject:
        """What is public about the dataset."""
        return self._call("GET", self._path(None), expected="DatasetAnswer")

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

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        self.close()

    # --- requests ------------------------------------------------------------------------------------------

    def _path(self, dataset: str | None) -> str:
        name = dataset or self._dataset
        if name is None:
            known = [str(item["name"]) for item in self.datasets]
            if len(known) != 1:
                raise InvalidArgument("dataset", None, f"must be one of {', '.join(known) or 'none'}")
            name = self._dataset = known[0]
        return f"/v1/datasets/{urllib.parse.quote(name, safe='')}"

    def _asked(
        self, payload: JsonObject, queries: QueryNames, *, dataset: str | None = None, **options: Given
    ) -> Releases:
        payload = payload | _options(options) | {"request_id": options.get("request_id") or uuid.uuid4().hex}
        path = f"{self._path(dataset)}/releases"
        answer = self._call("POST", path, payload, expected="QuestionAnswer")
        for _ in range(_ATTEMPTS):
            outcome = self._settled(answer)
            if outcome is not None:
                break
            # The server that worked on it is gone: under the same request id this pays nothing more.
            answer = self._call("POST", path, payload, expected="QuestionAnswer")
        else:
            raise ServerUnreachable(f"{self._base} loses this question; ask again with the same request_id")
        self._check_values(outcome["releases"], queries)
        releases = [Release.from_dict(_finite(item)) for item in outcome["releases"]]
        return Releases(releases, Loss(outcome["epsilon"], outcome["delta"]))

    def _settled(self, answered: JsonObject) -> _Outcome | None:
        """The answer of a job, when its schedule says so; None if no server works on it any more."""
        from dither.interfaces.answers import is_job

        if not is_job(answered):
            return cast("_Outcome", answered)
        job = cast("_Job", answered)
        waited, least = 0.0, _PAUSE
        while True:
            if job["state"] == "done":
                return job["answer"]
            if job["state"] == "failed":
                problem = _read_problem(job["problem"])
                if problem.code == "lost":
                    return None
                raise _error(problem)
            if waited >= LONGEST_WAIT:
                raise ServerUnreachable(
                    f"{self._base} has no answer after {LONGEST_WAIT:g} seconds, the longest that a client waits; "
                    "ask again with the same request_id, which pays nothing more"
                )
            # A server that always says "now" is asked less and less often.
            pause = min(LONGEST_PAUSE, max(least, float(job["ready_in"]) + _PAUSE))
            waited, least = waited + pause, min(_LONGEST_RETRY, 1.5 * least)
            time.sleep(pause)
            try:
                path = f"/v1/jobs/{urllib.parse.quote(job['id'], safe='')}"
                job = cast("_Job", self._call("GET", path, expected="JobAnswer"))
            except DitherError as error:
                if error.code == "not-found":
                    return None
                raise

    def _call(self, method: str, path: str, body: JsonObject | None = None, *, expected: str) -> Payload:
        """One request, and the answer that a model of ``answers`` expects.

        It is sent again where no answer came, which is free since it has a request id.
        """
        data = None if body is None else _encoded(body)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        for attempt in range(_ATTEMPTS):
            request = urllib.request.Request(self._base + path, data=data, headers=headers, method=method)
            try:
                with self._opener.open(request, timeout=_PATIENCE) as response:
                    return self._read(response.read(LONGEST_ANSWER + 1), expected)
            except urllib.error.HTTPError as error:
                problem = _problem(error)
                if error.code not in (429, 503) or attempt == _ATTEMPTS - 1 or not _may_help(problem):
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

    def _read(self, text: bytes, expected: str) -> JsonObject:
        """What an answer says; its numbers are floats where these print as the server wrote them, else decimals."""
        from dither.borders import read
        from dither.interfaces import answers

        if len(text) > LONGEST_ANSWER:
            raise self._unreadable(
                f"it has more than {LONGEST_ANSWER:,} bytes, so ask for fewer groups or queries at once"
            )
        answer = strict_json.parse(text, MOST_ANSWERED)
        try:
            read(getattr(answers, expected), answer)
        except InvalidArgument as error:
            raise self._unreadable(error.rule) from None
        return cast("JsonObject", plain(answer, as_float))

    def _check_values(self, releases: list[JsonObject], queries: QueryNames) -> None:
        """Refuse answers that are not of the type that the queries release; of several queries each may be of any."""
        from dither.borders import read
        from dither.interfaces.answers import values_model

        models = list(dict.fromkeys(values_model(query) for query in queries))
        for place, release in enumerate(releases):
            wrong: InvalidArgument | None = None
            for model in models:
                try:
                    read(model, {name: release[name] for name in ("value", "interval")}, f"releases[{place}]")
                except InvalidArgument as error:
                    wrong = error
                else:
                    break
            else:
                if wrong is not None:
                    raise self._unreadable(wrong.rule)

    def _unreadable(self, rule: str) -> ServerRefused:
        return ServerRefused(
            502,
            "malformed",
            f"{self._base} sent an answer that can't be read: {rule}; check that this is the address of a dither "
            "server, and that its version is not newer than the one here",
        )


def connect(url: str, *, token: str, dataset: str | None = None, certificate: str | None = None) -> RemoteSession:
    """Ask a server as if its datasets were here: ``ask``, ``sql``, ``quote``, ``budget``, ``history``, ``datasets``.

    dataset: the one that questions are about, where there are several.  certificate: a file with the server's
    certificate, if no known authority signed it.
    """
    return RemoteSession(url, token=token, dataset=dataset, certificate=certificate)


def _opener(certificate: str | None) -> urllib.request.OpenerDirector:
    context: ssl.SSLContext | None = None
    if certificate is not None:
        import ssl

        try:
            context = ssl.create_default_context(cafile=certificate)
        except OSError:
            raise InvalidArgument("certificate", certificate, "must be a readable PEM file") from None
    return urllib.request.build_opener(_NoRedirect(), _Http(), _Https(context))


class _Timed(io.RawIOBase):
    """What comes from a socket until a moment of the monotonic clock; then reading is an error."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, until: float) -> None:
        self._raw, self._sock, self._until = raw, sock, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the response takes more than {LONGEST_RESPONSE:g} seconds")
        self._sock.settimeout(min(_PATIENCE, left))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response with a deadline for all of it, interim responses such as 100 Continue included."""

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_Timed(raw, sock, time.monotonic() + LONGEST_RESPONSE))


class _Connection(http.client.HTTPConnection):
    response_class = _Response


class _SafeConnection(http.client.HTTPSConnection):
    response_class = _Response


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext | None) -> None:
        super().__init__(context=context)
        self._trusted = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SafeConnection, req, context=self._trusted)


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


def _may_help(problem: Problem) -> bool:
    """Whether to send a request again may help: not where its source failed, or where it failed for good."""
    return problem.code != "source-failed" and AFTER_DRAW not in problem.detail


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


def _loss(payload: Mapping[str, float]) -> Loss:
    return Loss.from_fields(payload)


def _encoded(body: JsonObject) -> bytes:
    """A body as it is sent."""
    try:
        return strict_json.text_of(body).encode()
    except (UnicodeEncodeError, RecursionError):
        accepted = "must have Unicode texts (no half of a surrogate pair) and few levels"
        raise InvalidArgument("question", type(body), accepted) from None


def _problem(error: urllib.error.HTTPError) -> Problem:
    """What the body of an error says; what says nothing gets a problem of its own."""
    try:
        return _read_problem(strict_json.parse(error.read(_LONGEST_PROBLEM)) | {"status": error.code})
    except (OSError, ValueError):
        said = {"type": "about:blank", "title": "malformed", "code": "malformed"}
        return _read_problem(
            said
            | {"status": error.code, "detail": f"the server answered with status {error.code}, and did not say why"}
        )


def _read_problem(payload: Mapping[str, Parsed]) -> Problem:
    from dither.borders import read
    from dither.interfaces import answers

    return read(answers.Problem, payload)


def _error(problem: Problem) -> DitherError:
    """The error of a local session that has this code, so that callers can catch the same."""
    error_class = _LOCAL_ERRORS.get(problem.code)
    if problem.code == "unauthenticated":
        return ServerRefused(problem.status, problem.code, UNKNOWN_TOKEN)
    if error_class is None:
        return ServerRefused(problem.status, problem.code, problem.detail)
    rebuilt = error_class.__new__(error_class)
    Exception.__init__(rebuilt, problem.detail)
    if isinstance(rebuilt, InvalidArgument):
        # A server sends the sentence: it begins with the argument, and what was given is in it.
        named = _ARGUMENT.match(problem.detail)
        rebuilt.argument = named[1] if named else ""
        rebuilt.given, rebuilt.rule, rebuilt.accepted = None, problem.detail, problem.detail
    return rebuilt


def _options(options: Payload) -> JsonObject:
    """The options of ``ask`` in JSON; the server refuses unknown ones."""
    options = newer(options, stacklevel=5)
    for name in ("mechanism", "noise"):
        if options.get(name) is not None and not isinstance(options[name], str):
            raise InvalidArgument(name, options[name], 'must be a name such as "smooth" where a server is asked')
    if isinstance(confidence := options.get("confidence"), Simultaneous):
        options = {**options, "confidence": confidence.confidence, "simultaneous": True}
    payload: JsonObject = {
        key: plain(value, finite_number)
        for key, value in options.items()
        if value is not None and key not in ("dataset", "prior")
    }
    if options.get("prior") is not None:
        payload["prior"] = _prior_json(options["prior"])
    if "confidence" in options:
        payload["confidence"] = plain(options["confidence"], finite_number)
    return payload


def _queries_json(query: Query | Sequence[Query]) -> Json:
    if isinstance(query, Query) or not isinstance(query, Sequence) or isinstance(query, str):
        return to_json(query)
    return [to_json(item) for item in query]


def _prior_json(prior: Prior | GraphPrior) -> JsonObject:
    if not dataclasses.is_dataclass(prior):
        accepted = "must be one that is sent in few numbers, such as Lognormal or ErdosRenyi, where a server is asked"
        raise InvalidArgument("prior", type(prior), accepted)
    named = dataclasses.fields(prior)
    fields = {name.name: plain(getattr(prior, name.name), finite_number) for name in named}
    return {"kind": prior.distribution, **fields}


def _finite(payload: JsonObject) -> JsonObject:
    """A release with its infinite numbers back.  A single answer is finite: a text is a category or a date."""
    numbers = () if isinstance(payload["value"], str) else ("value", "interval", "missing", "clamped")
    return {key: with_infinities(value) if key in numbers else value for key, value in payload.items()}
