"""What an owner discloses: the JSON schema of releases, and a dataset's entry for a public registry of deployments.

The entry has the parts of the deployment registry of arXiv 2509.13509: the data product, the flavour of differential
privacy, privacy unit and loss, the deployment model, accounting, implementation and security.  It is made of a ledger's
public facts and of a schema; nothing in it depends on records but what was released.  What only people know (who
curates the data, for what, and why these parameters) is stated by them, and null where it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from dither.interfaces.answers import ReleaseAnswer
from dither.ledger.entries import FAILED
from dither.plain import Json, JsonObject

if TYPE_CHECKING:
    from dither.ledger import Ledger
    from dither.privacy import Relation
    from dither.sources.graph_schema import GraphSchema
    from dither.sources.schema import Schema
    from dither.sources.types import Option

VERSION = 1
"""Of the form of an entry; what is added later keeps it, what changes meaning does not."""
DETAILS = ("curator", "description", "intended_use", "region", "sector", "url", "rationale")
"""What people state about a deployment."""
COMPOSITION = {
    "basic": "losses add up (basic composition), adaptively, under one budget",
    "advanced": "a privacy filter for adaptive advanced composition under one budget",
    "zcdp": "a privacy filter that adds up the rho of each release (zero-concentrated differential privacy)",
}
"""In words, how losses add up under each filter."""


def release_schema() -> JsonObject:
    """The JSON schema of ``Release.to_dict()`` and of ``--json``: keys, their types, and which are always there."""
    schema = cast("JsonObject", _any_of(ReleaseAnswer.model_json_schema()))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Release"}


def _any_of(schema: Json) -> Json:
    """The schema with alternatives of which several may fit: a pair of numbers is a pair of ends and a list, too."""
    if isinstance(schema, dict):
        return {"anyOf" if name == "oneOf" else name: _any_of(part) for name, part in schema.items()}
    return [_any_of(part) for part in schema] if isinstance(schema, list) else schema


def registry_entry(
    book: Ledger,
    dataset: str,
    schema: Schema | GraphSchema | None = None,
    details: Mapping[str, str] | None = None,
) -> JsonObject:
    """One dataset of a ledger as an entry for a registry of deployments."""
    registered = next(item for item in book.datasets() if item.name == dataset)
    entries = [entry for entry in book.entries(dataset) if FAILED not in entry.body.get("release", {})]
    spent, words = book.spent(dataset), dict(details or {})
    answers = [answer for entry in entries if entry.kind == "release" for answer in _answers(entry.body.get("release"))]
    known: dict[str, Json] = {name: words.get(name) for name in DETAILS}
    relation = registered.relation
    budget = registered.budget
    return {
        "version": VERSION,
        "data_product": {
            "name": dataset,
            **{name: known[name] for name in DETAILS if name != "rationale"},
            "published": max((entry.at[:10] for entry in entries if entry.kind == "release"), default=None),
            "statistics": cast("Json", sorted({str(answer["query"]) for answer in answers})),
        },
        "flavor": {
            "name": _flavor(registered.filter, budget.delta),
            "data_domain": _domain(schema),
            "unprotected_quantities": _unprotected(schema, relation),
        },
        "privacy_loss": {
            "privacy_unit": _unit(schema, relation),
            "neighbouring_relation": None if relation is None else str(relation.neighbours),
            "rows_per_unit": None if relation is None else relation.rows_per_unit,
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
            "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
        },
        "model": {"name": "central", "access": "interactive", "releases": len(answers)},
        "accounting": {
            "composition": COMPOSITION[registered.filter],
            "filter": registered.filter,
            "post_processing": "counts that are sums of bins of a released histogram are computed from it, at no loss",
        },
        "implementation": {
            "library": "dither",
            "mechanisms": _counted(answers, "mechanism"),
            "noises": _counted(answers, "noise"),
            "relies_on_claims": any("claim" in answer for answer in answers),
            "security": "exact samplers on integers, randomness of the operating system, charges stored before reading",
            "rationale": known["rationale"],
        },
    }


def _answers(release: Mapping[str, Json] | None) -> list[Mapping[str, Json]]:
    """The releases that a ledger's entry stores."""
    groups = cast("list[list[Mapping[str, Json]]]", (release or {}).get("answers") or [])
    return [answer for group in groups for answer in group]


def _counted(answers: list[Mapping[str, Json]], key: str) -> JsonObject:
    """How often each name occurs."""
    return dict(sorted(Counter(str(answer.get(key)) for answer in answers).items()))


def _flavor(filter_name: str, delta: float) -> str:
    if filter_name == "zcdp":
        return "zero-concentrated differential privacy within (epsilon, delta)"
    return "approximate differential privacy" if delta else "pure differential privacy"


def _domain(schema: Schema | GraphSchema | None) -> Json:
    """The declared columns with their public bounds or categories."""
    if schema is None:
        return None
    vertices = getattr(schema, "vertices", None)
    if vertices is not None:
        return f"graphs with {vertices:,} vertices"
    columns = cast("Schema", schema).columns
    return {name: {key: _text(item) for key, item in kind.to_dict().items()} for name, kind in columns.items()}


def _text(item: Option) -> Json:
    if isinstance(item, (list, tuple)):
        return [_text(part) for part in item]
    return item if isinstance(item, (bool, int, float)) or item is None else str(item)


def _unprotected(schema: Schema | GraphSchema | None, relation: Relation | None) -> Json:
    """What is public by declaration."""
    listed: list[Json] = [
        "names, types, bounds and categories of the declared columns",
        "the questions that were asked",
    ]
    rows = getattr(schema, "rows", None)
    if isinstance(rows, int) or (relation is not None and str(relation.neighbours) == "change-one"):
        listed.append("the number of rows" if not isinstance(rows, int) else f"the number of rows, {rows:,}")
    return listed


def _unit(schema: Schema | GraphSchema | None, relation: Relation | None) -> str:
    unit = getattr(schema, "unit", None)
    if unit is not None:
        return f"a person: all rows with the same {unit}"
    if hasattr(schema, "vertices"):
        return "an edge, a vertex with its edges, or a weight, as the neighbouring relation says"
    return "a person with several rows" if relation is not None and relation.unit else "a row"
