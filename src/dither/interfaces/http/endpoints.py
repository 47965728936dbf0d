"""The handlers: one small function for each address and method."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from dither.borders import Model, fields_of, given_fields, read
from dither.errors import DitherError, InvalidArgument, NotIsolated, SourceFailed, UnknownDataset
from dither.interfaces import answers
from dither.interfaces.http import models, planning, shared_jobs
from dither.interfaces.http import service as answering
from dither.interfaces.http.bodies import (
    Encoded,
    body_text,
    encoded,
    encoded_response,
    json_object,
    json_response,
    parse_in_thread,
    text_response,
)
from dither.interfaces.http.catalog import Dataset
from dither.interfaces.http.jobs import Job
from dither.interfaces.http.openings import not_opened_yet
from dither.interfaces.http.problems import Refused, forbidden, not_found, problem, problem_response
from dither.interfaces.http.request_limits import TokenLimits
from dither.interfaces.http.routes import ALL, OWNER, SOMEBODY, endpoint
from dither.interfaces.http.schedule import LONGEST_WAIT
from dither.interfaces.http.server_state import Curator
from dither.interfaces.http.store import KeptJob, Token
from dither.interfaces.http.telemetry import log, log_failure
from dither.ledger.entries import canonical
from dither.plain import Json, JsonObject, Payload
from dither.queries import wire
from dither.session.account import LOCAL
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import Schema
from dither.sources.types import TYPES

M = TypeVar("M", bound=Model)
D = TypeVar("D", bound=models.QuoteDelivery)
Built = TypeVar("Built", planning.PlannedQuestion, planning.Quoted)


def curator_of(request: Request) -> Curator:
    """The server's state."""
    curator: Curator = request.app.state.curator
    return curator


def token_of(request: Request) -> Token:
    """Who asks."""
    token: Token = request.state.token
    return token


async def _body(request: Request, model: type[M]) -> M:
    """What the body of a request says."""
    payload = await json_object(request)
    return await curator_of(request).threads.run(read, model, payload)


def _parameters(request: Request, model: type[M]) -> M:
    """What stands after ``?``; others than those that are known are left out."""
    return read(
        model, {name: parameter for name, parameter in request.query_params.items() if name in fields_of(model)}
    )


async def _dataset(request: Request) -> Dataset:
    """The dataset in the address, if this token may see it."""
    name = request.path_params["name"]
    request.state.dataset = name if isinstance(name, str) and len(name) <= 64 and name.isprintable() else "?"
    if not token_of(request).may_see(name):
        raise UnknownDataset(name)
    try:
        return await curator_of(request).threads.run(curator_of(request).catalog.dataset, name)
    except UnknownDataset:
        raise
    except DitherError:
        if token_of(request).is_owner:
            raise  # it shows a line of the schema
        raise SourceFailed(f"the schema of {name!r} can't be used now; nothing was read, nothing was charged") from None


# --- health, metrics, oneself ------------------------------------------------------------------------------


@endpoint("GET", "/healthz", ALL, answers={200: answers.HealthAnswer})
async def health(request: Request) -> Response:
    """Whether ledger and tokens can be read and written."""
    await curator_of(request).health.check()
    return json_response({"status": "ok"})


@endpoint("GET", "/metrics", ALL, outcomes={200: "Prometheus text."}, media_type="text/plain")
async def metrics(request: Request) -> Response:
    """Counters; with an owner's token also budgets."""
    curator = curator_of(request)
    gauges: list[tuple[str, str, dict[str, str], float]] = [
        ("dither_questions_under_way", "Questions whose slots have not ended.", {}, float(curator.jobs.under_way))
    ]
    token = getattr(request.state, "token", None)
    if token is not None and token.is_owner:
        for item in await curator.threads.run(curator.ledger.datasets):
            if not token.may_see(item.name):
                continue
            left, spent = (
                await curator.threads.run(curator.ledger.left, item.name),
                await curator.threads.run(curator.ledger.spent, item.name),
            )
            labels = {"dataset": item.name}
            gauges += [
                ("dither_budget_epsilon", "What may be spent in all.", labels, item.budget.epsilon),
                ("dither_spent_epsilon", "The sum of all privacy losses.", labels, spent.epsilon),
                ("dither_left_epsilon", "The greatest privacy loss still accepted.", labels, left.epsilon),
            ]
    return Response(curator.metrics.text(gauges), media_type="text/plain; version=0.0.4")


@endpoint("GET", "/v1/me", SOMEBODY, answers={200: answers.Rights})
async def me(request: Request) -> Response:
    """What this token is and may do."""
    payload = token_of(request).to_dict()
    return json_response({key: payload[key] for key in answers.Rights.model_fields})


@endpoint("GET", "/v1/queries", ALL, answers={200: answers.Queries})
async def list_queries(request: Request) -> Response:  # noqa: ARG001
    """The queries that there are: their names, labels, fields and forms in SQL."""
    return json_response({"queries": wire.catalogue()})


# --- datasets ----------------------------------------------------------------------------------------------


@endpoint("GET", "/v1/datasets", SOMEBODY, answers={200: answers.Datasets})
async def list_datasets(request: Request) -> Response:
    """All datasets that this token may see."""
    curator, token = curator_of(request), token_of(request)

    def listed() -> list[dict[str, Payload]]:
        payload: list[dict[str, Payload]] = []
        for name in curator.catalog.names():
            if token.may_see(name):
                try:
                    payload.append(_summary(curator, curator.catalog.dataset(name)))
                except DitherError as error:
                    if token.is_owner:
                        payload.append({"name": name, "problem": problem(error).model_dump()})
        return payload

    return await _written(curator, {"datasets": await curator.threads.run(listed)})


async def _written(
    curator: Curator, payload: Payload, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A response of JSON that may be large: written by a thread."""
    return encoded_response(await curator.threads.run_writing(encoded, payload), status, headers)


def _summary(curator: Curator, dataset: Dataset) -> dict[str, Payload]:
    """A dataset in a list; one that the ledger does not know is opened in the background."""
    if curator.openings.is_registered(dataset.name):
        return _short(curator, dataset)
    failure = curator.openings.failure(dataset)
    if failure is not None:
        raise failure
    return _declared(dataset) | {"opened": False, "answer_seconds": curator.seconds_of(dataset.name), "budget": None}


async def _registered(curator: Curator, dataset: Dataset) -> None:
    """Wait, for some seconds, until a dataset whose schema file was laid by hand is opened, which registers it."""
    if await curator.threads.run(curator.openings.is_registered, dataset.name):
        return
    if not await curator.openings.wait(dataset):
        raise not_opened_yet(dataset.name)


def _declared(dataset: Dataset) -> dict[str, Payload]:
    """What the schema of a dataset says, in short."""
    schema = dataset.schema
    payload: dict[str, Payload] = {"name": dataset.name, "kind": "graph" if dataset.is_graph else "table"}
    if isinstance(schema, GraphSchema):
        return payload | {"vertices": schema.vertices, "weighted": schema.weight is not None}
    return payload | {"rows": schema.rows}


def _short(curator: Curator, dataset: Dataset) -> dict[str, Payload]:
    registered = curator.ledger.dataset(dataset.name)
    budget = answering.budget_of(curator, dataset.name)
    return _declared(dataset) | {
        "retired": registered.retired,
        "opened": True,
        "answer_seconds": curator.seconds_of(dataset.name),
        "budget": budget,
    }


def _full(curator: Curator, dataset: Dataset, token: Token) -> dict[str, Payload]:
    """The schema without its source, and what may be asked."""
    schema, payload = dataset.schema, _short(curator, dataset)
    payload["neighbours"] = str(schema.neighbours)
    if isinstance(schema, GraphSchema):
        payload |= {"cap": schema.cap, "step": schema.step}
        names = wire.served_of("graph" if schema.weight is None else "weighted graph")
    else:
        payload |= {"unit": schema.unit, "rows_per_unit": schema.rows_per_unit, "version": schema.version}
        if schema.tables:
            payload["person"] = schema.person
            payload["tables"] = {
                name: {"key": table.key, "links": dict(table.links), "public": table.public}
                for name, table in schema.tables.items()
            }
        payload["columns"] = {name: declared.to_dict() for name, declared in schema.columns.items()}
        payload["priors"] = {name: dict(prior) for name, prior in schema.priors.items()}
        names = wire.served_of(*wire.OF_TABLES)
    if token.is_owner:
        payload["source_changed"] = dataset.source_has_changed()
        payload["warnings"] = list(dataset.warnings)
    payload["kinds"] = {item: list(wire.served()[item].parameters) for item in names if token.may_ask(item)}
    return payload


@endpoint(
    "POST",
    "/v1/datasets",
    OWNER,
    body=models.Register,
    outcomes={201: "Registered."},
    answers={201: answers.DatasetAnswer},
)
async def register(request: Request) -> Response:
    """Register a dataset: its schema is checked against the source, and the ledger opens its account."""
    curator = curator_of(request)
    body = await _body(request, models.Register)
    if not token_of(request).may_see(body.name):
        raise forbidden("this token is for some datasets only, and this is none of them")

    def registered() -> dict[str, Payload]:
        dataset = curator.catalog.register(body.name, body.text)
        if body.answer_seconds is not None:
            curator.store.set_answer_seconds(body.name, float(body.answer_seconds))
        described = _full(curator, dataset, token_of(request))
        if described["retired"]:
            retired = "this dataset is retired, for good: it answers no new questions"
            described["warnings"] = [*dataset.warnings, retired]
        return described

    built = await curator.threads.run_long(body.name, registered)
    log("registered", dataset=body.name, by=token_of(request).name)
    return json_response(built, 201, {"Location": f"/v1/datasets/{body.name}"})


@endpoint("GET", "/v1/datasets/{name}", SOMEBODY, answers={200: answers.DatasetAnswer})
async def show_dataset(request: Request) -> Response:
    """One dataset."""
    return json_response(await _shown(request, await _dataset(request)))


async def _shown(request: Request, dataset: Dataset) -> dict[str, Payload]:
    """For an owner the source is looked at too, which may take long: others must not wait for that."""
    curator, token = curator_of(request), token_of(request)
    await _registered(curator, dataset)
    if not token.is_owner:
        return await curator.threads.run(_full, curator, dataset, token)
    if not dataset.is_open:
        with contextlib.suppress(DitherError):  # what is registered is shown all the same
            await curator.openings.wait(dataset)
    return await curator.threads.run_long(dataset.name, _full, curator, dataset, token)


@endpoint("PATCH", "/v1/datasets/{name}", OWNER, body=models.Change, answers={200: answers.DatasetAnswer})
async def change_dataset(request: Request) -> Response:
    """Declare another schedule, or that the data have grown."""
    dataset, curator = await _dataset(request), curator_of(request)
    body = await _body(request, models.Change)

    def change() -> None:
        if body.answer_seconds is not None:
            curator.store.set_answer_seconds(dataset.name, float(body.answer_seconds))
        if body.grown:
            curator.ledger.grow(dataset.name)

    await curator.threads.run(change)
    log("changed", dataset=dataset.name, by=token_of(request).name)
    return json_response(await _shown(request, dataset))


@endpoint("DELETE", "/v1/datasets/{name}", OWNER, answers={200: answers.DatasetAnswer})
async def retire(request: Request) -> Response:
    """No more questions about these data, for good."""
    dataset, curator = await _dataset(request), curator_of(request)
    await _registered(curator, dataset)
    await curator.threads.run(curator.ledger.retire, dataset.name)
    log("retired", dataset=dataset.name, by=token_of(request).name)
    return json_response(await _shown(request, dataset))


@endpoint("GET", "/v1/sources", OWNER, answers={200: answers.SourceFiles})
async def list_sources(request: Request) -> Response:
    """The files that a schema may name as its source: their names alone."""
    _all_datasets(token_of(request))
    curator = curator_of(request)
    files, complete = await curator.threads.run_long("/files", curator.catalog.files)
    return json_response({"files": files, "complete": complete})


@endpoint("POST", "/v1/sources/columns", OWNER, body=models.SourceBody, answers={200: answers.SourceColumns})
async def list_columns(request: Request) -> Response:
    """The columns of a source with their stored types, for a form that declares them; no record is read."""
    _all_datasets(token_of(request))
    curator, body = curator_of(request), await _body(request, models.SourceBody)
    stored = await curator.threads.run_long(f"/columns/{body.source}", curator.catalog.stored_types, given_fields(body))
    payload: list[Payload] = [
        {"name": name, "stored": found, "types": [key for key, declared in TYPES.items() if found in declared.sources]}
        for name, found in stored.items()
    ]
    return json_response({"columns": payload})


# --- questions ---------------------------------------------------------------------------------------------


@endpoint("POST", "/v1/datasets/{name}/quote", SOMEBODY, body=models.QuoteBody, answers={200: answers.QuotesAnswer})
async def quote(request: Request) -> Response:
    """What an answer would cost and how exact it would be; reads and charges nothing."""
    dataset, curator = await _dataset(request), curator_of(request)
    text = await body_text(request)
    body = await _admitted(request, models.QuoteDelivery, text)
    quoted = await _built(request, planning.quoted_text, text, body.key, dataset)
    derived: Sequence[planning.DerivedQuote | None] = ()
    if not body.delivery.again:
        if await curator.threads.run(answering.is_stored, curator, quoted, dataset.name):
            return text_response(answering.stored_text(quoted, dataset.name))
        if quoted.derivable is not None:
            derived = await _derived(request, quoted.derivable, body.key, dataset)
    token = token_of(request)
    return text_response(
        await curator.threads.run(answering.quotes_text, curator, quoted, derived, dataset.name, token)
    )


async def _admitted(request: Request, delivery: type[D], text: bytes) -> planning.Admitted[D]:
    """A question as far as the server itself reads it."""
    body = await parse_in_thread(text)
    return await curator_of(request).threads.run(planning.admitted, delivery, body, token_of(request))


async def _built(
    request: Request,
    work: Callable[[bytes, Schema | GraphSchema, Token], Built],
    text: bytes,
    key: str,
    dataset: Dataset,
) -> Built:
    """A plan or a quote from a helper process; a cached one is checked against the rights of the token that asks."""
    token, cached = token_of(request), (dataset, work.__name__, key) if dataset.is_planned_by_schema else None
    built = await curator_of(request).planners.run(
        token.name, work, text, dataset.schema, token, key=cached, gone=functools.partial(_gone, request)
    )
    planning.check_rights(built.names, built.stated, token)
    return built


async def _derived(
    request: Request, derivable: bytes, key: str, dataset: Dataset
) -> Sequence[planning.DerivedQuote | None]:
    """The quotes of answers that stored histograms give, from a helper process."""
    curator = curator_of(request)
    listed = await curator.threads.run(answering.histograms_of(curator, dataset.name).candidates)
    if not listed:
        return ()
    cached = (dataset, planning.derived_quotes.__name__, key, tuple(item.charge.number for item in listed))
    gone = functools.partial(_gone, request)
    return await curator.planners.run(
        token_of(request).name, planning.derived_quotes, derivable, listed, key=cached, gone=gone
    )


async def _gone(request: Request) -> None:
    """Ends when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@endpoint(
    "POST",
    "/v1/datasets/{name}/releases",
    SOMEBODY,
    body=models.Ask,
    outcomes={200: "What was asked for.", 202: "A job; see Location."},
    answers={200: answers.ReleasesAnswer, 202: answers.JobAnswer},
)
async def ask(request: Request) -> Response:
    """Pay, read, answer: at the end of a public slot."""
    dataset, curator = await _dataset(request), curator_of(request)
    text = await body_text(request)
    # Not before the body is here: a slow sender could choose how much of the slot is left for the work.
    started = answering.now()
    delivery, key = await _admitted(request, models.Delivery, text)
    built = await _built(request, planning.planned_text, text, key, dataset)
    job = await curator.threads.run(answering.asked, curator, delivery, built, dataset, token_of(request), started)
    request.state.request_id = job.request_id
    if not job.is_announced:
        job.is_announced = True
        curator.background(_announced(curator, job))
    with job.read():
        if delivery.wait and job.seconds <= LONGEST_WAIT and await job.wait(LONGEST_WAIT):
            # A token that was revoked meanwhile gets no answer; the answer stays in the ledger.
            await curator.threads.run_reserved(curator.store.still_valid, token_of(request))
            if job.problem is not None:
                return problem_response(Refused.by(job.problem))
            if job.answer is None:
                raise RuntimeError("a job ends with an answer or with a problem")
            content = await curator.threads.run(answering.with_budget, curator, dataset.name, job.answer)
            return encoded_response(content)
        await _kept(curator, job)
        payload = await _with_budget(curator, dataset.name, job.visible(owner=token_of(request).is_owner))
    return await _written(curator, payload, 202, {"Location": f"/v1/jobs/{job.id}", "Retry-After": "1"})


async def _with_budget(curator: Curator, dataset: str, payload: JsonObject) -> JsonObject:
    """The public state of a job, with the present budget where it has an answer."""
    answer = payload.get("answer")
    if not isinstance(answer, Encoded):
        return payload
    return payload | {"answer": await curator.threads.run(answering.with_budget, curator, dataset, answer)}


async def _kept(curator: Curator, job: Job) -> None:
    """Make a job known to other servers before its address is sent."""
    if job.is_kept:
        return
    job.is_kept = True
    if await curator.threads.run(shared_jobs.keep, curator, job) and not curator.is_beating:
        curator.is_beating = True
        curator.background(_beating(curator))


async def _beating(curator: Curator) -> None:
    try:
        await shared_jobs.beating(curator)
    finally:
        curator.is_beating = False


async def _announced(curator: Curator, job: Job) -> None:
    """Count and log an outcome when its slot ends: the real moment is not a public fact."""
    await job.wait(float("inf"))
    facts = {"dataset": job.dataset, "analyst": job.analyst, "request_id": job.request_id}
    if job.problem is not None:
        if job.failure is not None and not isinstance(job.failure, DitherError):
            curator.metrics.count("dither_failures_total")
            log_failure(job.failure, **facts)
        detail = {"detail": str(job.failure)} if isinstance(job.failure, NotIsolated) else {}
        log("refusal", **facts, **detail, code=job.problem.code)
        return
    curator.metrics.count("dither_releases_total")
    log("release", **facts, epsilon=job.loss[0], delta=job.loss[1])


@endpoint("GET", "/v1/datasets/{name}/releases", SOMEBODY, parameters=models.Page, answers={200: answers.History})
async def history(request: Request) -> Response:
    """Own questions with their answers; owners see everyone's."""
    dataset, curator, token = await _dataset(request), curator_of(request), token_of(request)
    page = _parameters(request, models.Page)
    analyst = None if token.is_owner else token.name
    await _registered(curator, dataset)
    return encoded_response(
        await curator.threads.run_writing(answering.history_of, curator, dataset.name, analyst, page.after, page.limit)
    )


@endpoint("GET", "/v1/datasets/{name}/budget", SOMEBODY, answers={200: answers.AccountAnswer})
async def budget(request: Request) -> Response:
    """What may be spent, what was spent, what is left."""
    dataset, curator = await _dataset(request), curator_of(request)
    await _registered(curator, dataset)
    return json_response(await curator.threads.run(answering.budget_of, curator, dataset.name, token_of(request)))


@endpoint("GET", "/v1/ledger", OWNER, parameters=models.LedgerPart, answers={200: answers.LedgerPage})
async def ledger_entries(request: Request) -> Response:
    """The raw entries of the ledger with their hashes, oldest first, and the head of the chain."""
    curator, token = curator_of(request), token_of(request)
    page = _parameters(request, models.LedgerPart)
    if page.dataset is None:
        if token.datasets is not None:
            raise forbidden("this token is for some datasets only: name one of them as ?dataset=")
    elif not token.may_see(page.dataset):
        raise UnknownDataset(page.dataset)
    return encoded_response(await curator.threads.run_writing(_ledger_page, curator, page))


def _ledger_page(curator: Curator, page: models.LedgerPart) -> Encoded:
    most = answering.MOST_PAGE_BYTES
    entries, (number, head) = curator.ledger.page(page.after, page.limit, page.dataset, most_bytes=most)
    last = entries[-1].number if entries else page.after
    return encoded(
        {
            # The text is what the hash is made of: numbers in it are spelled as they were.
            "entries": [{**entry.to_dict(), "text": canonical(entry.body)} for entry in entries],
            "more": 0 < len(entries) < page.limit and last < number,
            "head": {"number": number, "hash": head},
        }
    )


@endpoint("GET", "/v1/ledger/verify", OWNER, parameters=models.Known, answers={200: answers.Verified})
async def verify_ledger(request: Request) -> Response:
    """Recompute the whole ledger from its entries; ``known`` is a hash noted earlier that must still be in it."""
    curator = curator_of(request)
    _all_datasets(token_of(request))
    known = _parameters(request, models.Known).known
    return json_response((await curator.threads.run_long("/ledger", curator.verified, known)).to_dict())


def _all_datasets(token: Token) -> None:
    """The chain of entries is one for all datasets."""
    if token.datasets is not None:
        raise forbidden("this token is for some datasets only, and this is about all of them")


@endpoint("GET", "/v1/jobs/{id}", SOMEBODY, answers={200: answers.JobAnswer})
async def job(request: Request) -> Response:
    """A question in the background, as its schedule shows it."""
    token, curator, job_id = token_of(request), curator_of(request), request.path_params["id"]
    here = curator.jobs.find(job_id)
    result: Job | KeptJob | None = here
    if here is None or here.is_forgotten:
        result = await curator.threads.run(curator.store.find_job, job_id)
    if result is None or not token.may_see(result.dataset) or not (token.is_owner or result.analyst == token.name):
        raise not_found("there is no such job; ask again with the same request_id, which pays nothing more")
    payload = result.visible(owner=token.is_owner) if isinstance(result, Job) else shared_jobs.job_payload(result)
    return await _written(curator, await _with_budget(curator, result.dataset, payload))


# --- tokens ------------------------------------------------------------------------------------------------


@endpoint("GET", "/v1/tokens", OWNER, answers={200: answers.Tokens})
async def list_tokens(request: Request) -> Response:
    """All tokens that were given out, without their secrets."""
    curator, token = curator_of(request), token_of(request)
    listed = [item for item in await curator.threads.run(curator.store.tokens) if token.may_manage(item)]
    return json_response({"tokens": [candidate.to_dict() for candidate in listed]})


@endpoint(
    "POST",
    "/v1/tokens",
    OWNER,
    body=models.NewToken,
    outcomes={201: "The token, shown once."},
    answers={201: answers.NewSecret},
)
async def create_token(request: Request) -> Response:
    """A new token; its secret is sent this once."""
    curator, body = curator_of(request), await _body(request, models.NewToken)
    name, role, life = body.name, body.role or "analyst", body.expires_in
    if name == LOCAL:
        raise InvalidArgument("name", name, "must be another name: this one pays for sessions without a server")
    cap, delta_cap, queries, datasets = body.epsilon_cap, body.delta_cap, body.kinds, body.datasets
    budgets = {dataset: amount.budget for dataset, amount in (body.budgets or {}).items()}
    limits = TokenLimits(cap, delta_cap, queries, datasets, life)
    limits.check_within(token_of(request), budgets)

    for item in budgets:
        await _registered(curator, await curator.threads.run(curator.catalog.dataset, item))

    def created() -> tuple[str, Token]:
        known = curator.catalog.names()
        for item in (*(datasets or ()), *budgets):
            if item not in known:
                raise UnknownDataset(item)
        for item, amount in budgets.items():
            curator.ledger.allow(item, name, amount)
        caps = {"epsilon_cap": cap, "delta_cap": delta_cap}
        rules: dict[str, Json] = {key: None if item is None else float(item) for key, item in caps.items()}
        rules |= {"kinds": queries, "datasets": datasets}
        life_in_seconds = None if life is None else float(life)
        built = curator.store.create(name, role, expires_in=life_in_seconds, rules=rules, by=token_of(request).name)
        if built is None:
            raise RuntimeError("a token is always made here")
        return built

    secret, token = await curator.threads.run(created)
    log("token created", token=token.id, name=name, role=role, by=token_of(request).name)
    return json_response({"token": secret, **token.to_dict()}, 201)


@endpoint("DELETE", "/v1/tokens/{id}", OWNER, answers={200: answers.TokenAnswer})
async def revoke_token(request: Request) -> Response:
    """End a token at once."""
    curator, token = curator_of(request), token_of(request)

    def revoked() -> Token | None:
        matches = [item for item in curator.store.tokens() if item.id == request.path_params["id"]]
        return curator.store.revoke(matches[0].id) if matches and token.may_manage(matches[0]) else None

    ended = await curator.threads.run(revoked)
    if ended is None:
        raise not_found("there is no such token")
    log("token revoked", token=ended.id, by=token_of(request).name)
    return json_response(ended.to_dict())
