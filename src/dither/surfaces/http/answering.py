"""From a question to its quote or its answer, for one token on one dataset."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dither.errors import InvalidArgument, LedgerUnavailable
from dither.ledger.records import Entry, loss_of
from dither.privacy import Loss
from dither.release import Release
from dither.session.account import price_of
from dither.session.programs import ProgramPlan
from dither.session.statements import named, plans_of
from dither.sql.statement import parse_sql
from dither.surfaces.http.catalog import Dataset
from dither.surfaces.http.curator import Curator
from dither.surfaces.http.jobs import Job
from dither.surfaces.http.problems import forbidden
from dither.surfaces.http.programs import programs_of, seconds_of
from dither.surfaces.http.questions import Question, kinds_of
from dither.surfaces.http.schedule import LONGEST_WAIT
from dither.surfaces.http.store import Token


def pair(loss: Any) -> dict[str, float]:
    """A loss or a budget in plain values."""
    return {"epsilon": loss.epsilon, "delta": loss.delta}


@dataclass(frozen=True)
class Planned:
    """A question that may be asked: its plans and, of SQL, its statement."""

    plans: list[Any]
    statement: Any
    loss: Loss


def allowed(question: Question, dataset: Dataset, token: Token) -> Any:
    """The statement of SQL (None of a query); an error if this token may not ask this."""
    statement = None
    if question.sql is not None:
        if dataset.is_graph:
            raise InvalidArgument("sql", question.sql, "a graph is asked with query objects")
        statement = parse_sql(question.sql, dataset.schema)  # type: ignore[arg-type]
    kinds = kinds_of(question, statement)
    refused = sorted(one for one in kinds if not token.may_ask(one))
    if refused:
        instead = "" if token.kinds is None else f", only {', '.join(token.kinds) or 'nothing'}"
        raise forbidden(f"this token may not ask {', '.join(refused)}{instead}")
    asked = Loss.asked(question.epsilon, question.delta)
    if token.epsilon_cap is not None and asked.epsilon > token.epsilon_cap:
        raise forbidden(f"this token may spend at most epsilon {token.epsilon_cap:g} on one question")
    if token.delta_cap is not None and asked.delta > token.delta_cap:
        raise forbidden(f"this token may spend at most delta {token.delta_cap:g} on one question")
    return statement


def planned(question: Question, dataset: Dataset, token: Token) -> Planned:
    """What would be computed and charged: public facts only."""
    statement = allowed(question, dataset, token)
    if dataset.is_graph:
        with dataset.session() as session:
            plans = [session.plan(_one(question), **_graph_options(question))]
    elif statement is not None:
        asked = Loss.asked(question.epsilon, question.delta)
        plans = plans_of(statement, dataset.schema, asked, question.weights, **question.options)  # type: ignore[arg-type]
    else:
        with dataset.session() as session:
            plans = session.plans(
                question.queries, epsilon=question.epsilon, delta=question.delta, weights=question.weights,
                **question.options, **question.assumed,
            )  # fmt: skip
    return Planned(plans, statement, price_of(plans))


def _one(question: Question) -> Any:
    if isinstance(question.queries, list):
        raise InvalidArgument("query", "a list", "a graph is asked one query at a time")
    return question.queries


def _graph_options(question: Question) -> dict[str, Any]:
    for name in ("where", "by"):
        if question.options.get(name) is not None:
            raise InvalidArgument(name, question.options[name], "a graph is asked as a whole")
    for name in question.assumed:
        raise InvalidArgument(name, None, "of a graph nothing is assumed")
    options = {key: question.options[key] for key in ("calibration", "noise", "confidence")}
    return {"epsilon": question.epsilon, "delta": question.delta, **options}


def quoted(question: Question, dataset: Dataset, token: Token) -> dict[str, Any]:
    """Price, calibration and expected error; reads and charges nothing."""
    made = planned(question, dataset, token)
    if programs_of(made.plans):
        return {"dataset": dataset.name, **pair(made.loss), "quotes": [_priced(one) for one in made.plans]}
    with dataset.session() as session:
        asked: Any = question.sql if question.sql is not None else question.queries
        options = _graph_options(question) if dataset.is_graph else {
            "epsilon": question.epsilon, "delta": question.delta, "weights": question.weights, **question.options,
        }  # fmt: skip
        quotes = session.quote(asked, **options, **question.assumed)
    told = [one.to_dict() for one in (quotes if isinstance(quotes, list) else [quotes])]
    return {"dataset": dataset.name, **pair(made.loss), "quotes": told}


def _priced(planned: Any) -> dict[str, Any]:
    """The price where no error is known in advance: that of a program is its own affair."""
    told = {
        "query": planned.label, **pair(planned.loss), "expected_error": None, "bound": None, "kind": None,
        "confidence": None, "assumptions": [], "calibration": "", "noise": "",
    }  # fmt: skip
    if isinstance(planned, ProgramPlan):
        aggregate = planned.made.aggregate
        told |= {"calibration": aggregate.calibration, "noise": aggregate.noise}
        told |= {"blocks": planned.made.sampling.blocks, "seconds": seconds_of(planned)}
    return told


def asked(curator: Curator, question: Question, dataset: Dataset, token: Token, started: float) -> Job:
    """Plan the question and put it to the workers."""
    made = planned(question, dataset, token)
    request_id = question.request_id or secrets.token_hex(16)
    body = {"questions": [one.asked for one in made.plans if not one.costs_nothing]}
    programs = programs_of(made.plans)
    seconds = curator.seconds_of(dataset.name) + sum(seconds_of(one) for one in programs)
    job = Job(token.name, dataset.name, request_id, seconds, started, body)

    def work() -> dict[str, Any]:
        with dataset.session() as session:
            answers = session.answers(made.plans, again=question.again, request_id=request_id, analyst=token.name)
        releases = named(made.statement, answers) if made.statement is not None else [
            one for each in answers for one in each
        ]  # fmt: skip
        return answer_of(dataset.name, request_id, made.loss, releases)

    return curator.jobs.start(job, work, program=bool(programs))  # a retry waits for the same outcome, at the same time


def answer_of(dataset: str, request_id: str, loss: Loss, releases: list[Release]) -> dict[str, Any]:
    """An answer as it is sent, without the budget."""
    return {
        "dataset": dataset, "request_id": request_id, **pair(loss), "releases": [one.to_dict() for one in releases],
    }  # fmt: skip


def with_budget(curator: Curator, answer: dict[str, Any]) -> dict[str, Any]:
    """An answer and the budget when it leaves: that when it was ready would tell, by others' charges, when that was.

    It is paid for and stored, whatever else can't be read.
    """
    try:
        return answer | {"budget": budget_of(curator, answer["dataset"])}
    except LedgerUnavailable:
        return answer | {"budget": None}


def budget_of(curator: Curator, dataset: str, token: Token | None = None) -> dict[str, Any]:
    """What may be spent, what was spent, what is left; of analysts with a budget of their own also that."""
    ledger = curator.ledger
    registered = ledger.dataset(dataset)
    told: dict[str, Any] = {
        "total": pair(registered.budget), "spent": pair(ledger.spent(dataset)), "left": pair(ledger.left(dataset)),
        "filter": registered.kind,
    }  # fmt: skip

    def own(analyst: str) -> dict[str, Any]:
        return {
            "total": pair(registered.analysts[analyst]), "spent": pair(ledger.spent(dataset, analyst)),
            "left": pair(ledger.left(dataset, analyst)),
        }  # fmt: skip

    if token is not None and token.is_owner:
        told["analysts"] = {analyst: own(analyst) for analyst in registered.analysts}
    elif token is not None and token.name in registered.analysts:
        told["own"] = own(token.name)
    return told


def history_of(curator: Curator, dataset: str, analyst: str | None, after: int, limit: int) -> list[dict[str, Any]]:
    """Charges with their answers, oldest first; of one analyst unless None is named.

    Analysts are told how many of their own came before, and the minute.  Numbers of the ledger count answers too, and
    the exact time of a charge tells when a worker was free for it: both show how long other work really took.
    """
    told = []
    paging = {"after": after} if analyst is None else {"skip": after}
    for place, (entry, answered) in enumerate(curator.ledger.charges(dataset, analyst, limit=limit, **paging), 1):
        loss = price_of_entry(entry.body)
        stored = answered if answered is not None and _may_be_seen(curator, entry) else None
        told.append(
            {
                "number": entry.number if analyst is None else after + place,
                "at": entry.at if analyst is None else f"{entry.at[:16]}:00+00:00",
                "analyst": entry.analyst, "request_id": entry.request,
                "question": entry.body["question"], **pair(loss),
                "releases": None if stored is None else [one for each in stored["answers"] for one in each],
            }
        )  # fmt: skip
    return told


def _may_be_seen(curator: Curator, entry: Entry) -> bool:
    """False while the slot of an answer has not ended.

    The process that answers knows its slots; where another one did, some time must have passed.
    """
    here = curator.jobs.of_request(entry.dataset, str(entry.analyst), entry.request)
    if here:
        return all(job.is_visible for job in here)
    age = (datetime.now(UTC) - datetime.fromisoformat(entry.at)).total_seconds()
    return age >= max(LONGEST_WAIT, 4.0 * curator.seconds_of(entry.dataset))


def price_of_entry(body: dict[str, Any]) -> Loss:
    """What a charge cost."""
    return sum((loss_of(*units) for units in body["losses"]), Loss(0.0))


def now() -> float:
    """The clock of slots: it never jumps."""
    return time.monotonic()
