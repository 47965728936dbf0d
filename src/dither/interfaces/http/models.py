"""What the API accepts: the models of bodies and of what stands after ``?``.  The OpenAPI document is made of them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Self, TypedDict

from pydantic import BeforeValidator, Field, model_validator

from dither.aliases import CALIBRATION
from dither.borders import (
    Accepts,
    Exact,
    Model,
    by_name,
    choice,
    digest,
    either,
    flag,
    followed,
    given_fields,
    is_list,
    listed,
    model,
    names,
    number,
    tagged,
    text,
    whole,
)
from dither.errors import InvalidArgument
from dither.interfaces.answers import ROLES
from dither.interfaces.http.schedule import LEAST_SECONDS, MOST_SECONDS
from dither.ledger.entries import name as checked_name
from dither.privacy import Budget
from dither.queries.query import Query
from dither.queries.wire import query_type, served
from dither.quotes.graph_priors import DegreeSequence, ErdosRenyi, GraphPrior, declared_graph_prior
from dither.quotes.priors import Prior, declared_prior
from dither.release import POPULATION, SAMPLE, IntervalName
from dither.sources.schema_models import prior_models

MOST_QUERIES = 50
LONGEST_TEXT = 20_000
LONGEST_SCHEMA = 200_000
MOST_LISTED = 1_000
MOST_DEGREES = 100_000
_LONGEST_LIFE = timedelta(days=3_650).total_seconds()
_MOST_EPSILON = 1_000_000


def _printable(given: str) -> str:
    if not given.isprintable():
        raise InvalidArgument("", given, "must have printable characters only, such as letters and digits")
    return given


Text = Annotated[str, Accepts(text())]
LongText = Annotated[str, Accepts(text(LONGEST_TEXT))]
Flag = Annotated[bool, Accepts(flag())]
Positive = Annotated[Exact, Accepts(number(above=0))]
Share = Annotated[Exact, Accepts(number(0, 1))]
Names = Annotated[list[str], Accepts(names(100))]
Seconds = Annotated[Exact, Accepts(number(LEAST_SECONDS, MOST_SECONDS))]

# --- questions ----------------------------------------------------------------------------------------------------

_QUERIES = either(is_list, followed(listed(query_type(), MOST_QUERIES, 1, "queries"), list), query_type())
_GRAPH_PRIORS: dict[str, type[Model]] = {
    ErdosRenyi.distribution: model(
        "ErdosRenyiPrior", kind=(choice(ErdosRenyi.distribution), ...), p=(number(0, 1), ...)
    ),
    DegreeSequence.distribution: model(
        "DegreeSequencePrior",
        kind=(choice(DegreeSequence.distribution), ...),
        degrees=(listed(whole(0), MOST_DEGREES, 1, "whole numbers"), ...),
    ),
}


def _prior(read: Model) -> Prior | GraphPrior:
    """The prior of a column, or of a graph, that was sent."""
    sent = given_fields(read)
    return declared_graph_prior(sent) if sent["kind"] in _GRAPH_PRIORS else declared_prior(sent)


_PRIOR = followed(tagged("kind", prior_models(number(), number(above=0)) | _GRAPH_PRIORS), _prior)
_SHARES = either(
    is_list,
    followed(listed(Positive, MOST_QUERIES, what="numbers"), list),
    by_name(Positive, MOST_QUERIES, "numbers"),
)
_KEYS = either(is_list, names(100), followed(text(), lambda name: [name]))


class Assumed(TypedDict, total=False):
    """What is publicly known of the records."""

    rows: int
    prior: Prior | GraphPrior


class QuoteDelivery(Model):
    """How a quote is given, whatever is asked."""

    again: Flag = False


class Delivery(QuoteDelivery):
    """How an answer is given, whatever is asked."""

    request_id: Annotated[str | None, Accepts(followed(text(), _printable) | None)] = None
    wait: Flag = True


class StatedLoss(Model):
    """The privacy loss of a question."""

    epsilon: Positive
    delta: Share | None = 0


class QuoteBody(StatedLoss, QuoteDelivery):
    """A question whose quote is wanted: queries or SQL, the privacy loss, and options."""

    query: Annotated[Query | list[Query] | None, Accepts(_QUERIES)] = None
    sql: Annotated[str | None, Accepts(text(LONGEST_TEXT))] = None
    where: LongText | None = None
    by: Annotated[list[str] | None, Accepts(_KEYS | None)] = None
    mechanism: Text | None = "auto"
    calibration: Annotated[Text | None, Field(json_schema_extra={"deprecated": True})] = None
    noise: Text | None = "auto"
    confidence: Annotated[Exact, Accepts(number())] | None = Decimal("0.95")
    interval: Annotated[IntervalName, Accepts(choice(SAMPLE, POPULATION))] | None = SAMPLE
    simultaneous: Flag = False
    weights: Annotated[list[Exact] | dict[str, Exact] | None, Accepts(_SHARES | None)] = None
    rows: Annotated[int, Accepts(whole(1))] | None = None
    prior: Annotated[Prior | GraphPrior | None, Accepts(_PRIOR | None)] = None

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        sent = self.model_fields_set
        if {"mechanism", CALIBRATION} <= sent:
            raise InvalidArgument(CALIBRATION, None, "mechanism is its new name: send only that one")
        if {"query", "sql"} <= sent:
            raise InvalidArgument("sql", self.sql, "is sent beside query: send either query or sql")
        if not {"query", "sql"} & sent:
            raise InvalidArgument("query", None, "is missing: send either query or sql")
        if "sql" not in sent:
            if isinstance(self.weights, dict):
                raise InvalidArgument("weights", dict, "must be a list of numbers (of SQL also an object of them)")
            return self
        for name in ("where", "by"):
            if getattr(self, name) is not None:
                raise InvalidArgument(name, getattr(self, name), f"write it into the SQL: {name.upper()} ...")
        return self

    @property
    def assumed(self) -> Assumed:
        """What is publicly known: rows and prior."""
        known: Assumed = {}
        if self.rows is not None:
            known["rows"] = self.rows
        if self.prior is not None:
            known["prior"] = self.prior
        return known


class Ask(QuoteBody, Delivery):
    """A question that is paid for."""

    @model_validator(mode="after")
    def _nothing_for_quotes(self) -> Self:
        if self.sql is not None and self.assumed:
            first = next(iter(self.assumed))
            raise InvalidArgument(first, None, "is used for quotes only where sql is sent: leave it out")
        return self


# --- datasets and tokens ------------------------------------------------------------------------------------------


class Register(Model):
    """A dataset's name, and the text of its schema file."""

    name: Text
    text: Annotated[str, Accepts(text(LONGEST_SCHEMA)), Field(alias="schema")]
    answer_seconds: Seconds | None = None


class SourceBody(Model):
    """A source whose columns are wanted: a file or an address, and how a text file is laid out."""

    source: Text
    table: Text | None = None
    delimiter: Text | None = None
    skip_lines: Annotated[int, Accepts(whole(0))] | None = None
    encoding: Text | None = None


class Change(Model):
    """Another schedule, or that the data have grown."""

    answer_seconds: Seconds | None = None
    grown: Flag = False


class Amount(Model):
    """A budget of one analyst."""

    epsilon: Positive
    delta: Share | None = 0

    @property
    def budget(self) -> Budget:
        """The same as a budget."""
        amounts: Any = (self.epsilon, self.delta or 0)  # it takes decimals as they are
        return Budget(*amounts)


class NewToken(Model):
    """Who gets a token, and what it may do."""

    name: Annotated[str, Accepts(followed(text(), lambda given: checked_name("", given)))]
    role: Annotated[str, Accepts(choice(*ROLES))] | None = "analyst"
    expires_in: Annotated[Exact, Accepts(number(most=_LONGEST_LIFE, above=0))] | None = None
    epsilon_cap: Annotated[Exact, Accepts(number(most=_MOST_EPSILON, above=0))] | None = None
    delta_cap: Share | None = None
    kinds: Annotated[list[str], Accepts(names(100, choice(*served())))] | None = None
    datasets: Names | None = None
    budgets: Annotated[dict[str, Amount], Accepts(by_name(Amount, 100, "budgets"))] | None = None


# --- after the question mark --------------------------------------------------------------------------------------


def _of_digits(given: str) -> str | int:
    return int(given) if given.isascii() and given.isdigit() and len(given) <= 18 else given


class Page(Model):
    """Which part of a list."""

    after: Annotated[int, Accepts(whole(0, 10**15)), BeforeValidator(_of_digits)] = 0
    limit: Annotated[int, Accepts(whole(0, MOST_LISTED)), BeforeValidator(_of_digits)] = 100


class LedgerPart(Page):
    """Which part of the ledger."""

    dataset: Annotated[str, Accepts(text(64))] | None = None


class Known(Model):
    """A hash noted earlier."""

    known: Annotated[str, Accepts(digest())] | None = None
