"""Stored forms: what the ledger keeps of a question, the same for the same question however it was written.

A form is the registry's: the public name of the query and the fields that differ from their defaults, never the name of
a class.  Its version is part of it.  Rules for changing it: a form that was written once is never written
otherwise; a new one gets the next version and ``older_forms`` keeps telling how the same question was stored before, so
that an answer that was paid for stays free.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from typing import TYPE_CHECKING

from dither.mechanisms.choice import MECHANISMS, NOISES
from dither.plain import exact_number, exact_text, plain
from dither.privacy import Loss
from dither.queries.query import Query
from dither.release import SAMPLE, IntervalName
from dither.sources.schema import Schema

if TYPE_CHECKING:
    from dither.typing import Json, MechanismChoice, NoiseChoice, Number

VERSION = 2


def form_of(
    query: Query,
    asked: Loss,
    about: dict[str, Json],
    mechanism: MechanismChoice,
    noise: NoiseChoice,
    level: float | None,
    interval: IntervalName = SAMPLE,
) -> dict[str, Json]:
    """The form of a question; ``about``: what it was asked of (a filter, groups, a digest of the schema)."""
    stored = {name: plain(value, exact_number) for name, value in query.stored().items()}
    return {
        "version": VERSION,
        "query": {"name": query.name, **stored},
        **about,
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "mechanism": _named(mechanism),
        "noise": _named(noise),
        "confidence": level,
        **_unusual(interval),
    }


def form_of_0_1_0(
    query: Query,
    asked: Loss,
    about: dict[str, Json],
    mechanism: MechanismChoice,
    noise: NoiseChoice,
    level: float | None,
    interval: IntervalName = SAMPLE,
) -> dict[str, Json]:
    """How version 0.1.0 stored the same question."""
    kept = query.stored_0_1_0()
    chosen = {
        "calibration": mechanism if isinstance(mechanism, str) else _text(mechanism),
        "noise": noise if isinstance(noise, str) else _text(noise),
    }
    left_out = set(query.not_stored_0_1_0)
    return {
        "query": kept if query.plain_0_1_0 else {name: plain(value, exact_text) for name, value in kept.items()},
        **{name: value for name, value in about.items() if name not in left_out},
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        **{name: value for name, value in chosen.items() if name not in left_out},
        "confidence": level,
        **_unusual(interval),  # (version 0.1.0 had no such question)
    }


def _unusual(interval: IntervalName) -> dict[str, Json]:
    """What the interval covers, where that is not the usual."""
    return {} if interval == SAMPLE else {"interval": interval}


def _named(thing: MechanismChoice | NoiseChoice) -> Json:
    """A mechanism or noise: its name, with the parameters that differ from their defaults if there are any.

    What is not the very class that is registered under a name is somebody's own: then its class is part of the form.
    """
    if isinstance(thing, str):
        return thing
    name, own = str(getattr(thing, "name", "")), type(thing)
    registered: tuple[type | None, ...] = (MECHANISMS.get(name), NOISES.get(name))
    if not dataclasses.is_dataclass(thing) or own not in registered:
        return {"own": f"{own.__module__}.{own.__qualname__}", "text": _text(thing)}
    given = {
        field.name: getattr(thing, field.name)
        for field in dataclasses.fields(thing)
        if field.init and getattr(thing, field.name) != field.default
    }
    return {"name": name} | {key: _plain_or_text(value) for key, value in given.items()} if given else name


def _plain_or_text(value: Number) -> Json:
    try:
        written: Json = plain(value, exact_number)
        return written
    except Exception:  # noqa: BLE001  (a parameter of anybody's own class)
        return _text(value)


def _text(thing: object) -> str:  # whatever a form holds
    """How it prints; where that is an address, which another object may have later, a text that is never used again."""
    written = repr(thing)
    return secrets.token_hex(16) if " at 0x" in written else written


def schema_digest(schema: Schema, used: set[str]) -> str:
    """What the schema says about the columns in use: another schema makes it another question."""
    view = schema.view
    read = used if view is None else used | {leaf for name in used for leaf in view.leaves(name)}
    columns = {name: kind.to_dict() for name, kind in schema.columns.items() if name in read}
    layout = [schema.layout.options] if schema.layout.options else []
    joined = [view.form(sorted(read))] if view is not None and schema.tables else []
    declared = [columns, schema.rows, schema.unit, schema.rows_per_unit, *layout, *joined]
    return hashlib.sha256(json.dumps(declared, sort_keys=True, default=str).encode()).hexdigest()[:16]
