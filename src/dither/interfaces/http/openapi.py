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
    for endpoint in registered_endpoints():
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": "1", "description": "Private answers to statistical questions."},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": schemas},
    }


def _operation(endpoint: Endpoint, schemas: JsonSchemaValue) -> JsonSchemaValue:
    """One method at one path; its bodies, which have names, go into ``schemas`` with their parts."""
    held = {"type": "object" if endpoint.media_type == "application/json" else "string"}

    def described_by(model: type[Model]) -> JsonSchemaValue:
        schema = json_schema(model)
        for name, part in {**schema.pop("$defs", {}), model.__name__: schema}.items():
            if schemas.setdefault(name, part) != part:
                raise RuntimeError(f"two models are called {name}: rename one")
        return {"$ref": f"#/components/schemas/{model.__name__}"}

    answers = {
        status: described_by(endpoint.answers[status]) if status in endpoint.answers else held
        for status in endpoint.outcomes
    }
    described: JsonSchemaValue = {
        "operationId": endpoint.handler.__name__,
        "summary": (endpoint.handler.__doc__ or "").strip().split("\n")[0],
        "description": f"For: {endpoint.who}.",
        "responses": {
            str(status): {"description": meaning, "content": {endpoint.media_type: {"schema": answers[status]}}}
            for status, meaning in endpoint.outcomes.items()
        }
        | {"default": _PROBLEM},
        "security": [{}, {"token": []}] if endpoint.who == ALL else [{"token": []}],
    }
    parameters = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
        for part in endpoint.path.split("/")
        if part.startswith("{")
    ]
    if endpoint.parameters is not None:
        fields = json_schema(endpoint.parameters)["properties"]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]
    if parameters:
        described["parameters"] = parameters
    if endpoint.body is not None:
        body = {"schema": described_by(endpoint.body)}
        described["requestBody"] = {"required": True, "content": {"application/json": body}}
    return described
