"""From a question that was planned to its answer, for one token on one dataset."""

from __future__ import annotations

import dataclasses
import functools
import secrets
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from dither.errors import LedgerUnavailable
from dither.interfaces.http.bodies import Encoded, encoded, joined_text
from dither.interfaces.http.catalog import Dataset
from dither.interfaces.http.jobs import Job
from dither.interfaces.http.models import Delivery
from dither.interfaces.http.planning import DerivedQuote, PlannedQuestion, Quoted, best_answer
from dither.interfaces.http.schedule import LONGEST_WAIT, programs_of, seconds_of
from dither.interfaces.http.server_state import Curator
from dither.interfaces.http.store import Token
from dither.ledger.entries import DERIVED, FAILED, Body, Entry, charged_losses, derived_entries, derived_of
from dither.plain import JsonObject
from dither.privacy import Budget, Loss
from dither.release import Release
from dither.session.account import spent_loss
from dither.session.derived import StoredHistograms, derived_fields
from dither.session.statements import named
from dither.session.stored_quotes import answered_charge

MOST_PAGE_BYTES = 4 << 20
"""Of the stored text of a page; a page has one entry at least, whatever its size."""


def pair(loss: Loss | Budget) -> dict[str, float]:
    """A loss or a budget in plain values."""
    return {"epsilon": loss.epsilon, "delta": loss.delta}


def asked(
    curator: Curator, delivery: Delivery, made: PlannedQuestion, dataset: Dataset, token: Token, started: float
) -> Job:
    """Put a question that was planned to the workers."""
    request_id = delivery.request_id or secrets.token_hex(16)
    body: JsonObject = {"questions": [plan.asked for plan in made.plans if not plan.costs_nothing]}
    programs = programs_of(made.plans)
    seconds = curator.seconds_of(dataset.name) + sum(seconds_of(program) for program in programs)
    job = Job(token.name, dataset.name, request_id, seconds, started, body)

    def work() -> JsonObject:
        with dataset.session() as session:
            session._histograms = histograms_of(curator, dataset.name)
            answers = session._answers(made.plans, again=delivery.again, request_id=request_id, analyst=token.name)
        releases = (
            named(made.statement, answers)
            if made.statement is not None
            else [release for each in answers for release in each]
        )
        place = functools.partial(_place, curator, dataset.name, token)
        placed = [
            release
            if release.derived_from is None
            else dataclasses.replace(release, derived_from=place(release.derived_from))
            for release in releases
        ]
        return answer_of(dataset.name, request_id, spent_loss(made.plans, answers), placed)

    return curator.jobs.start(job, work, program=bool(programs))  # a retry waits for the same outcome, at the same time


def histograms_of(curator: Curator, dataset: str) -> StoredHistograms:
    """The histograms that may answer later counts: those whose answers may be seen, or when they do would be known."""
    histograms = curator.histograms_of(dataset)
    histograms.is_visible = functools.partial(_may_be_seen, curator)
    histograms.derive = lambda asked, listed: curator.planners.call(best_answer, asked, listed)
    return histograms


def _place(curator: Curator, dataset: str, token: Token, number: int) -> int:
    """How a charge is named: to owners by its number, to analysts by its place in their own history."""
    return number if token.is_owner else curator.ledger.place_of(dataset, token.name, number)


def is_stored(curator: Curator, quoted: Quoted, dataset: str) -> bool:
    """Whether the answer to this question is stored, and may be seen: when it was ready is not a public fact."""
    if quoted.is_assumed:
        return False  # it may choose the mechanism, and is not part of a question in SQL
    charge = answered_charge(curator.ledger, dataset, quoted.forms)
    return charge is not None and _may_be_seen(curator, charge)


def quotes_text(
    curator: Curator, quoted: Quoted, derived: Sequence[DerivedQuote | None], dataset: str, token: Token
) -> str:
    """Quotes as they are sent, with those of answers that a stored histogram gives, which are free."""
    free = [*derived, *[None] * (len(quoted.quotes) - len(derived))]
    rest = sum((loss for loss, way in zip(quoted.losses, free, strict=True) if way is None), Loss(0.0))
    return _written(
        {"dataset": dataset, **pair(rest)},
        [
            text
            if way is None
            else joined_text(_derived_fields(_place(curator, dataset, token, way.entry), way.instead), way.rest)
            for text, way in zip(quoted.quotes, free, strict=True)
        ],
    )


def _derived_fields(entry: int, instead: str) -> JsonObject:
    fields = derived_fields(entry, instead)
    return {"derived_from": fields["derived_from"], "assumptions": fields["assumptions"]}


def stored_text(quoted: Quoted, dataset: str) -> str:
    """Quotes of a question whose answer is stored."""
    return _written({"dataset": dataset, **pair(Loss(0.0)), "stored": True}, quoted.quotes)


def _written(head: JsonObject, quotes: list[str]) -> str:
    """JSON whose parts are written already."""
    return joined_text(head, f'{{"quotes": [{", ".join(quotes)}]}}')


def answer_of(dataset: str, request_id: str, loss: Loss, releases: list[Release]) -> JsonObject:
    """An answer as it is sent, without the budget."""
    return {
        "dataset": dataset,
        "request_id": request_id,
        **pair(loss),
        "releases": [release.to_dict() for release in releases],
    }


def with_budget(curator: Curator, dataset: str, answer: Encoded) -> Encoded:
    """An answer with the budget of the moment it leaves; that of the moment it was ready would reveal when that was.

    It is paid for and stored, whatever else can't be read.
    """
    try:
        budget = encoded(budget_of(curator, dataset))
    except LedgerUnavailable:
        budget = encoded(None)
    return Encoded(answer.removesuffix(b"}") + b', "budget": ' + budget + b"}")


def budget_of(curator: Curator, dataset: str, token: Token | None = None) -> JsonObject:
    """What may be spent, what was spent, what is left; of analysts with a budget of their own also that."""
    ledger = curator.ledger
    registered = ledger.dataset(dataset)
    payload: JsonObject = {
        "total": pair(registered.budget),
        "spent": pair(ledger.spent(dataset)),
        "left": pair(ledger.left(dataset)),
        "filter": registered.filter,
    }

    def own(analyst: str) -> JsonObject:
        return {
            "total": pair(registered.analysts[analyst]),
            "spent": pair(ledger.spent(dataset, analyst)),
            "left": pair(ledger.left(dataset, analyst)),
        }

    if token is not None and token.is_owner:
        payload["analysts"] = {analyst: own(analyst) for analyst in registered.analysts}
    elif token is not None and token.name in registered.analysts:
        payload["own"] = own(token.name)
    return payload


def history_of(curator: Curator, dataset: str, analyst: str | None, after: int, limit: int) -> Encoded:
    """A page of charges with their answers, oldest first; of one analyst unless None is named.

    Analysts get how many of their own came before, and the minute.  Numbers of the ledger count answers too, and
    the exact time of a charge reveals when a worker was free for it: both show how long other work really took.
    """
    payload: list[JsonObject] = []
    paging = {"after": after} if analyst is None else {"skip": after}
    within, more = curator.ledger.charges_within(dataset, analyst, limit=limit, most_bytes=MOST_PAGE_BYTES, **paging)
    for number, (entry, answered) in enumerate(
        curator.ledger.charges(dataset, analyst, limit=min(limit, within), **paging), 1
    ):
        loss = loss_of_entry(entry.body)
        stored = answered if answered is not None and _may_be_seen(curator, entry) else None
        question, releases = entry.body["question"], None
        if stored is not None and FAILED not in stored:
            releases = [
                {**release, "notes": [*Release.from_dict(release).notes()]}  # what the ledger keeps, in sentences too
                for each in stored["answers"]
                for release in each
            ]
        if analyst is not None and DERIVED in question:
            place = functools.partial(curator.ledger.place_of, dataset, analyst)
            question = _placed(place, question)
            releases = releases and [
                release | {"derived_from": place(release["derived_from"])} if "derived_from" in release else release
                for release in releases
            ]
        payload.append(
            {
                "number": entry.number if analyst is None else after + number,
                "at": entry.at if analyst is None else f"{entry.at[:16]}:00+00:00",
                "analyst": entry.analyst,
                "request_id": entry.request,
                "question": question,
                **pair(loss),
                "releases": releases,
            }
        )
    return encoded({"releases": payload, "more": more})


def _placed(place: Callable[[int], int], question: JsonObject) -> JsonObject:
    """A question with derived answers as its analyst sees it: charges are named by their place in the own history."""
    entries = derived_entries(question) or []
    return question | {DERIVED: derived_of([None if entry is None else place(entry) for entry in entries])}


def _may_be_seen(curator: Curator, entry: Entry) -> bool:
    """False while the slot of an answer has not ended.

    The process that answers knows its slots; where another one did, some time must have passed.
    """
    here = curator.jobs.of_request(entry.dataset, str(entry.analyst), entry.request)
    if here:
        return all(job.is_visible for job in here)
    age = (datetime.now(UTC) - datetime.fromisoformat(entry.at)).total_seconds()
    return age >= max(LONGEST_WAIT, 4.0 * curator.seconds_of(entry.dataset))


def loss_of_entry(body: Body) -> Loss:
    """What a charge cost."""
    return sum(charged_losses(body), Loss(0.0))


def now() -> float:
    """The clock of slots: it never jumps."""
    return time.monotonic()
