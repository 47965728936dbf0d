"""What a ledger keeps and returns: entries chained by hashes, charges, registered datasets, the report of a check."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, TypedDict

from dither.accounting.filters import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Units, units_without_law
from dither.accounting.rounding import printed_down, printed_up
from dither.aliases import older_name
from dither.errors import InvalidArgument
from dither.plain import Json, JsonObject
from dither.privacy import Budget, Concentrated, FilterName, Loss, Relation

ALIAS = 0
"""The version of fingerprints that were stated beside another one: they lead to the account of that one."""
GENESIS = "0" * 64
"""What the first entry names as the hash before it."""

LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000
DEEPEST = 50
_SURROGATE = "\\ud"
"""How JSON in ASCII begins half of a surrogate pair."""


Stored: TypeAlias = dict[str, Any]  # JSON, of a form that is known to who stored it


class Filter(TypedDict):
    """A budget and the rule that guards it, in whole units."""

    kind: FilterName
    epsilon: int
    delta: int
    slack: int


class Body(TypedDict, total=False):
    """What an entry says, by its kind."""

    account: int
    filter: Filter
    fingerprint: str | None
    aliases: list[str]
    """Further fingerprints of the same data; missing where there are none."""
    relation: JsonObject | None
    version: int
    question: JsonObject
    losses: list[list[int]]
    rhos: list[list[int]]
    """Of each loss: rho, and the delta beside it.  Missing in entries before version 3."""
    release: Stored
    source: str


def fingerprints_of(body: Body) -> list[str]:
    """All fingerprints that a registration states.

    >>> fingerprints_of({"fingerprint": "data:pay.csv", "aliases": ["file:/home/data/pay.csv"]})
    ['data:pay.csv', 'file:/home/data/pay.csv']
    """
    first = body["fingerprint"]
    return [*([] if first is None else [first]), *body.get("aliases", [])]


FAILED = "failed"
"""Beside the answers of a charge, of which there are none then: nothing will be drawn for it again."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.  ``hash`` covers everything else in it, ``previous`` being the hash of the line before."""

    number: int
    at: str
    kind: str
    dataset: str
    analyst: str | None
    request: str | None
    key: str | None
    charge: int | None
    body: Body
    previous: str
    hash: str

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Charge:
    """A payment that is on disk.  ``release`` is what was answered for it, if anything was yet."""

    number: int
    dataset: str
    analyst: str
    request_id: str
    losses: tuple[Loss, ...]
    question: JsonObject
    version: int
    release: Stored | None = field(default=None, compare=False)
    source: str | None = field(default=None, compare=False)
    """The mark of the state of the source that the release was computed from, if it is known."""
    fresh: bool = field(default=True, compare=False)
    """False if the same request had been charged before: nothing was paid this time."""

    @property
    def loss(self) -> Loss:
        """All that was paid, in whole units."""
        return sum(self.losses, Loss(0.0))


@dataclass(frozen=True)
class Registered:
    """A dataset's name, the account that pays for it (names of the same data share one) and the rules in force."""

    name: str
    account: int
    budget: Budget
    filter: str
    slack: float
    version: int
    retired: bool
    fingerprint: str | None
    relation: Relation | None
    analysts: dict[str, Budget]

    kind = older_name("filter")


@dataclass(frozen=True)
class Report:
    """What ``verify`` found: how many entries, the hash of the last, and the first thing that is wrong."""

    entries: int
    head: str
    problem: str | None = None
    first_bad: int | None = None
    relations: dict[str, JsonObject | None] = field(default_factory=dict)
    """Between which datasets the losses of each name hold, as the entries say."""

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return self.problem is None

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return {"ok": self.ok, **self.__dict__}


def canonical(value: Json | Body) -> str:
    """The one JSON text of a value: sorted keys, no spaces, ASCII.

    >>> canonical({"b": [1, 2.5], "a": "é"})
    '{"a":"\\\\u00e9","b":[1,2.5]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def plain_json(argument: str, value: Mapping[str, Json]) -> str:
    """The canonical text of a dictionary of JSON values; infinities are kept in Python's spelling."""
    try:
        if isinstance(value, dict):
            return canonical(value)
    except (TypeError, ValueError, RecursionError):
        pass
    raise InvalidArgument(argument, type(value), "must be a dictionary of plain JSON values")


def public_json(argument: str, value: Mapping[str, Json]) -> str:
    """The canonical text of a dictionary that is plain JSON, of a size and depth that every reader can take."""
    accepted = (
        f"must be a dictionary of plain JSON values (finite numbers, strings as keys), at most {DEEPEST} levels deep "
        f"and {LONGEST_TEXT:,} characters long"
    )
    if not isinstance(value, dict) or _too_deep(value):
        raise InvalidArgument(argument, value, accepted)
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidArgument(argument, value, accepted) from None
    if len(text) > LONGEST_TEXT:
        raise InvalidArgument(argument, value, accepted)
    if _SURROGATE in text and not _is_unicode(value):
        raise InvalidArgument(argument, type(value), "must have Unicode texts: no half of a surrogate pair")
    return text


def _is_unicode(value: Mapping[str, Json]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _too_deep(value: Mapping[str, Json]) -> bool:
    level: list[Json] = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for node in level
            if isinstance(node, (dict, list, tuple))
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
        if len(level) > LONGEST_TEXT:
            return True
    return bool(level)


def chained(number: int, at: str, kind: str, labels: Mapping[str, str | int | None], body: str, previous: str) -> str:
    """The hash of an entry, with everything in it and the hash before it."""
    text = canonical({"number": number, "at": at, "kind": kind, **labels, "body": body, "previous": previous})
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def question_key(question: str, version: int) -> str:
    """Questions are the same if their canonical text is, and the data have not grown in between."""
    return hashlib.sha256(f"{version}:{question}".encode("ascii")).hexdigest()


DERIVED = "derived"
"""The key of a charge's question under which it says which of its answers were computed from earlier releases."""
DERIVED_VERSION = 1


def derived_of(entries: Sequence[int | None]) -> JsonObject:
    """What a charge says of answers that were computed from earlier releases: for each question the charge that paid
    for that release, or None where the question is paid for itself.
    """
    return {"version": DERIVED_VERSION, "entries": list(entries)}


def derived_entries(question: Mapping[str, Json]) -> list[int | None] | None:
    """The same, read; None where no answer was derived."""
    payload = question.get(DERIVED)
    if payload is None:
        return None
    if not isinstance(payload, dict) or payload.get("version") != DERIVED_VERSION:
        raise ValueError("answers are derived in a way that this program does not know")
    return list(payload["entries"])


def name(argument: str, value: str | None) -> str:
    """A name of people or data: short, printable text."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME or not value.isprintable():
        raise InvalidArgument(argument, value, f"must be a printable text of 1 to {LONGEST_NAME} characters")
    return value


def charged_units(body: Body) -> list[Units]:
    """The losses of a charge in whole units; older charges say nothing of the laws of their losses."""
    losses, rhos = body["losses"], body.get("rhos")
    if rhos is None:
        return [units_without_law(epsilon, delta) for epsilon, delta in losses]
    return [Units(*loss, *rho) for loss, rho in zip(losses, rhos, strict=True)]


def charged_losses(body: Body) -> tuple[Loss, ...]:
    """The losses of a charge."""
    return tuple(loss_of(*units) for units in charged_units(body))


def loss_of(epsilon: int, delta: int, rho: int | None = None, rho_delta: int = 0) -> Loss:
    """A loss of whole units, never printed below them."""
    stated = None if rho is None else Concentrated(Fraction(rho, RHO_UNITS), Fraction(rho_delta, DELTA_UNITS))
    amounts = printed_up(Fraction(epsilon, EPSILON_UNITS)), min(1.0, printed_up(Fraction(delta, DELTA_UNITS)))
    return Loss(*amounts, stated=stated)


def budget_of(epsilon: int, delta: int) -> Budget:
    """A budget of whole units, never printed above them (0.1.0 stored less than a unit as none: next to nothing)."""
    least = math.ulp(0.0)
    return Budget(printed_down(Fraction(epsilon, EPSILON_UNITS)) or least, printed_down(Fraction(delta, DELTA_UNITS)))
