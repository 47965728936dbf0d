"""The API as an OpenAPI document, from the same tables that the handlers use."""

from __future__ import annotations

from typing import Any

from dither.queries.registry import Entry
from dither.queries.wire import required, schema_of, served
from dither.sources.schema import PRIOR_PARAMETERS


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    from dither.interfaces.http.routes import ALL, registered_endpoints

    paths: dict[str, dict[str, Any]] = {}
    for one in registered_endpoints():
        name = one.handler.__name__
        described: dict[str, Any] = {
            "operationId": name,
            "summary": (one.handler.__doc__ or "").strip().split("\n")[0],
            "description": f"For: {one.who}.",
            "responses": _RESPONSES.get(name, _OK) | {"default": _PROBLEM},
            "security": [{}, {"token": []}] if one.who == ALL else [{"token": []}],
        }
        if name in _BODIES:
            described["requestBody"] = {"required": True, "content": {"application/json": {"schema": _BODIES[name]}}}
        parameters = [
            {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
            for part in one.path.split("/")
            if part.startswith("{")
        ]
        parameters += [{"name": word, "in": "query", "schema": _QUERY_SCHEMAS[word]} for word in _QUERIES.get(name, ())]
        paths.setdefault(one.path, {})[one.method.lower()] = described | (
            {"parameters": parameters} if parameters else {}
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": "1", "description": "Private answers to statistical questions."},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM_BODY, "Query": {"oneOf": [_query(one) for one in served().values()]}},
        },
    }


_NUMBER: dict[str, Any] = {"type": "number"}
_WHOLE_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
_QUERY_SCHEMAS: dict[str, dict[str, Any]] = {
    "after": _WHOLE_NUMBER,
    "limit": _WHOLE_NUMBER | {"maximum": 1_000},
    "dataset": {"type": "string", "minLength": 1, "maxLength": 64},
    "known": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
_QUERIES = {
    "history": ("after", "limit"),
    "ledger_entries": ("after", "limit", "dataset"),
    "verify_ledger": ("known",),
}
_PRICE: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "maxItems": 100}


def _query(entry: Entry) -> dict[str, Any]:
    return _object({"kind": {"const": entry.name}} | schema_of(entry), "kind", *required(entry))


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Fields that may be absent may also be null, but for flags and the question itself."""
    never_null = ("query", "sql", *required)
    fields = {
        name: one if name in never_null or one.get("type") == "boolean" else {"anyOf": [one, {"type": "null"}]}
        for name, one in properties.items()
    }
    described = {"type": "object", "properties": fields, "additionalProperties": False}
    return described | ({"required": list(required)} if required else {})


_ONE_QUERY = {"$ref": "#/components/schemas/Query"}
_ASKED: dict[str, Any] = {
    "query": {"anyOf": [_ONE_QUERY, {"type": "array", "items": _ONE_QUERY, "minItems": 1, "maxItems": 50}]},
    "sql": {"type": "string", "minLength": 1, "maxLength": 20_000},
    "epsilon": _PRICE,
    "delta": {"type": "number", "minimum": 0, "maximum": 1},
    "where": {"type": "string", "minLength": 1, "maxLength": 20_000},
    "by": {"anyOf": [_TEXT, _NAMES]},
    "mechanism": _TEXT,
    "calibration": _TEXT | {"deprecated": True},
    "noise": _TEXT,
    "confidence": _NUMBER,
    "weights": {"anyOf": [{"type": "array", "items": _PRICE}, {"type": "object", "additionalProperties": _PRICE}]},
}
_PRIOR = {
    "oneOf": [
        _object({"kind": {"const": distribution}} | dict.fromkeys(fields, _NUMBER), "kind")
        for distribution, fields in PRIOR_PARAMETERS.items()
    ]
}
_ASSUMED: dict[str, Any] = {"rows": {"type": "integer", "minimum": 1}, "prior": _PRIOR}
_AMOUNT = _object({"epsilon": _PRICE, "delta": {"type": "number", "minimum": 0, "maximum": 1}}, "epsilon")
_SECONDS = {"type": "number", "minimum": 0.01, "maximum": 86400}
_BODIES: dict[str, dict[str, Any]] = {
    "ask": _object(
        _ASKED | _ASSUMED | {"request_id": _TEXT, "again": {"type": "boolean"}, "wait": {"type": "boolean"}}, "epsilon"
    ),
    "quote": _object(_ASKED | _ASSUMED, "epsilon"),
    "register": _object(
        {"name": _TEXT, "schema": {"type": "string", "minLength": 1, "maxLength": 200_000}, "answer_seconds": _SECONDS},
        "name",
        "schema",
    ),
    "change_dataset": _object({"answer_seconds": _SECONDS, "grown": {"type": "boolean"}}),
    "create_token": _object(
        {
            "name": _TEXT,
            "role": {"enum": ["owner", "analyst"]},
            "expires_in": _PRICE,
            "epsilon_cap": _PRICE,
            "delta_cap": {"type": "number", "minimum": 0, "maximum": 1},
            "kinds": {"type": "array", "items": {"enum": list(served())}},
            "datasets": _NAMES,
            "budgets": {"type": "object", "additionalProperties": _AMOUNT},
        },
        "name",
    ),
}
_PROBLEM_BODY = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
    },
}
_PROBLEM = {
    "description": "Refused: see the code.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_ANY = {"content": {"application/json": {"schema": {"type": "object"}}}}
_OK: dict[str, Any] = {"200": {"description": "What was asked for.", **_ANY}}
_RESPONSES: dict[str, dict[str, Any]] = {
    "metrics": {"200": {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
    "ask": _OK | {"202": {"description": "A job; see Location.", **_ANY}},
    "register": {"201": {"description": "Registered.", **_ANY}},
    "create_token": {"201": {"description": "The token, shown once.", **_ANY}},
}
