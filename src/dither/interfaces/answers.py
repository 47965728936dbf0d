"""What servers answer: the models of the JSON that a client reads.  Newer servers may send more than these fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import ConfigDict, RootModel

from dither.borders import Accepts, Exact, Model, choice, either, number
from dither.plain import Given
from dither.privacy import Neighbours

if TYPE_CHECKING:
    Read: TypeAlias = Given
else:
    Read = Any  # pydantic takes it as it was read

Epsilon = Annotated[Exact, Accepts(number(least=0))]
Delta = Annotated[Exact, Accepts(number(0, 1))]
Finite = Annotated[Exact, Accepts(number())]


class Answer(Model):
    """Fields that a client needs, among others."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class LossAnswer(Answer):
    """A privacy loss."""

    epsilon: Epsilon
    delta: Delta


class ReleaseAnswer(LossAnswer):
    """One release; servers of version 0.1.0 call its mechanism ``calibration``."""

    value: Read
    interval: Read
    confidence: Finite | None
    neighbours: Annotated[str, Accepts(choice(*map(str, Neighbours)))]
    query: str
    mechanism: str | None = None
    calibration: str
    noise: str | None
    missing: Read
    labels: list[Read] | None


class Releases(LossAnswer):
    """The answer to a question."""

    releases: list[ReleaseAnswer]


class Problem(Answer):
    """Why there is no answer."""

    type: str
    title: str
    status: int
    code: str
    detail: str


class Job(Answer):
    """A question in the background."""

    id: str
    state: Annotated[str, Accepts(choice("running", "done", "failed"))]
    ready_in: Finite
    answer: Releases | None = None
    problem: Problem | None = None


def _is_answered(given: Given) -> bool:
    return isinstance(given, dict) and "releases" in given


class Asked(RootModel["Releases | Job"]):
    """What a question gets: its answer, or the state of its job."""

    root: Annotated[Releases | Job, Accepts(either(_is_answered, Releases, Job))]


class QuoteAnswer(LossAnswer):
    """One quote."""

    query: str
    expected_error: Read
    bound: Read
    confidence: Finite | None
    calibration: str
    noise: str | None


class Quotes(Answer):
    """All quotes of a question."""

    quotes: list[QuoteAnswer]


class Spent(Answer):
    """What may be spent, what was spent, what is left."""

    total: LossAnswer
    spent: LossAnswer
    left: LossAnswer


class Account(Spent):
    """The same of a dataset; of an analyst with a budget of their own also that."""

    own: Spent | None = None


class Charge(LossAnswer):
    """One charge, with its answer as far as it may be seen."""

    number: int
    question: Read
    releases: list[ReleaseAnswer] | None


class History(Answer):
    """A page of charges."""

    releases: list[Charge]


class Dataset(Answer):
    """What is public about a dataset."""

    name: str


class Datasets(Answer):
    """All datasets that a token may see."""

    datasets: list[Dataset]
