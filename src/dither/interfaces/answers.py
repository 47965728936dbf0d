"""What servers answer: the models of the JSON that a client reads.  Newer servers may send more than these fields."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import ConfigDict, Field, RootModel, model_validator

from dither.borders import MISSING, Accepts, Exact, Model, choice, either, number, says, whole
from dither.errors import InvalidArgument
from dither.plain import Given
from dither.privacy import Neighbours

if TYPE_CHECKING:
    Read: TypeAlias = Given
else:
    Read = Any  # pydantic takes it as it was read

Epsilon = Annotated[Exact, Accepts(number(least=0))]
Delta = Annotated[Exact, Accepts(number(0, 1))]
Finite = Annotated[Exact, Accepts(number())]
Whole = Annotated[int, Accepts(whole(0))]
Key = str | int | float | bool | None
"""What stands in the key of a group."""
_SOME = Field(min_length=1, fail_fast=True)
_NOTHING = says("must be a list with at least one answer")


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
    labels: list[str] | None
    group: dict[str, Key] | None = None
    reason: str | None = None
    alias: str | None = None
    claim: str | None = None

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        """Where several values have labels, there are as many of them, and as many intervals if any."""
        if isinstance(self.value, list) and self.labels is not None:
            for name, several in (("value", self.value), ("interval", self.interval or self.labels)):
                if not isinstance(several, list) or len(several) != len(self.labels):
                    raise InvalidArgument("labels", list, f"must be as many as there are in {name}")
        return self


class Releases(LossAnswer):
    """The answer to a question."""

    releases: Annotated[list[ReleaseAnswer], _SOME, _NOTHING]


class Problem(Answer):
    """Why there is no answer."""

    type: str
    title: str
    status: Whole
    code: str
    detail: str


class Job(Answer):
    """A question in the background."""

    id: str
    state: Annotated[str, Accepts(choice("running", "done", "failed"))]
    ready_in: Finite
    answer: Releases | None = None
    problem: Problem | None = None

    @model_validator(mode="after")
    def _settled(self) -> Self:
        if self.state == "done" and self.answer is None:
            raise InvalidArgument("answer", None, MISSING)
        if self.state == "failed" and self.problem is None:
            raise InvalidArgument("problem", None, MISSING)
        return self


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

    quotes: Annotated[list[QuoteAnswer], _SOME, _NOTHING]


class Total(Answer):
    """What may be spent."""

    epsilon: Annotated[Exact, Accepts(number(above=0))]
    delta: Delta


class Spent(Answer):
    """What may be spent, what was spent, what is left."""

    total: Total
    spent: LossAnswer
    left: LossAnswer


class Account(Spent):
    """The same of a dataset; of an analyst with a budget of their own also that."""

    own: Spent | None = None


class Charge(LossAnswer):
    """One charge, with its answer as far as it may be seen."""

    number: Whole
    question: Read
    releases: Annotated[list[ReleaseAnswer], Field(fail_fast=True)] | None


class History(Answer):
    """A page of charges."""

    releases: Annotated[list[Charge], Field(fail_fast=True)]

    @model_validator(mode="after")
    def _rising(self) -> Self:
        numbers = [one.number for one in self.releases]
        if any(later <= earlier for earlier, later in itertools.pairwise(numbers)):
            raise InvalidArgument("releases", list, "must have rising numbers")
        return self


class Dataset(Answer):
    """What is public about a dataset."""

    name: str


class Datasets(Answer):
    """All datasets that a token may see."""

    datasets: list[Dataset]
