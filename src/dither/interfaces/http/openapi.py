"""The API as an OpenAPI document, made of the routes and of the models that the handlers read with."""

from __future__ import annotations

from pydantic.json_schema import JsonSchemaValue

from dither.borders import Model, json_schema
from dither.interfaces.answers import Problem
from dither.interfaces.http.problems import MEDIA_TYPE
from dither.interfaces.http.routes import ALL, Endpoint, registered_endpoints

_PROBLEM = {
    "description": "Refused: see the code.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def document() -> JsonSchemaValue:
    """The OpenAPI document."""
    schemas: JsonSchemaValue = {"Problem": json_schema(Problem)}
    paths: dict[str, JsonSchemaValue] = {}
    for one in registered_endpoints():
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": "1", "description": "Private answers to statistical questions."},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": schemas},
    }


def _operation(one: Endpoint, schemas: JsonSchemaValue) -> JsonSchemaValue:
    """One method at one path; parts of its body that have names go into ``schemas``."""
    held = {"type": "object" if one.media_type == "application/json" else "string"}

    def described_by(model: type[Model]) -> JsonSchemaValue:
        schema = json_schema(model)
        for name, part in schema.pop("$defs", {}).items():
            if schemas.setdefault(name, part) != part:
                raise RuntimeError(f"two models are called {name}: rename one")
        return schema

    answers = {status: described_by(one.answers[status]) if status in one.answers else held for status in one.outcomes}
    described: JsonSchemaValue = {
        "operationId": one.handler.__name__,
        "summary": (one.handler.__doc__ or "").strip().split("\n")[0],
        "description": f"For: {one.who}.",
        "responses": {
            str(status): {"description": meaning, "content": {one.media_type: {"schema": answers[status]}}}
            for status, meaning in one.outcomes.items()
        }
        | {"default": _PROBLEM},
        "security": [{}, {"token": []}] if one.who == ALL else [{"token": []}],
    }
    parameters = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
        for part in one.path.split("/")
        if part.startswith("{")
    ]
    if one.parameters is not None:
        fields = described_by(one.parameters)["properties"]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]
    if parameters:
        described["parameters"] = parameters
    if one.body is not None:
        body = {"schema": described_by(one.body)}
        described["requestBody"] = {"required": True, "content": {"application/json": body}}
    return described
