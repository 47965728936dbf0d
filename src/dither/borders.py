"""What comes in from outside, read strictly: models of JSON and of schema files, and errors that name the place.

A model says which fields there are and what each may hold.  It reads values that a strict reader of JSON or TOML has
made, so numbers are still the decimals that were written.  What pydantic finds wrong becomes an error of the house.
This module loads pydantic: import it where something is read, not where ``import dither`` would.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import EllipsisType, GenericAlias, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeGuard, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from dither.errors import DitherError, InvalidArgument, UnknownField
from dither.numbers import exact
from dither.plain import Given, Json, without_contents

if TYPE_CHECKING:
    from typing import _SpecialForm

    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import TaggedUnionSchema, WithDefaultSchema

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Form: TypeAlias = "type | UnionType | GenericAlias | _SpecialForm"
"""What may stand in an annotation, as a value: a class, ``list[...]``, ``... | ...`` or ``Annotated[...]``."""
Exact: TypeAlias = int | float | Decimal
"""A number as it was written."""
Path: TypeAlias = tuple[str | int, ...]
"""Names of fields and positions in lists, from the top down."""
OBJECT = "must be an object such as {...}"
MISSING = "is missing"
_SENTENCES = {"dict_type": OBJECT, "list_type": "must be a list", "string_type": "must be a text"}


class Model(BaseModel):
    """An object with these fields and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Given) -> dict[str, Given]:
        if not isinstance(given, dict):
            raise InvalidArgument("", given, OBJECT)
        accepted = fields_of(cls)
        for name in given:
            if name not in accepted and cls.model_config["extra"] == "forbid":
                raise UnknownField(name, accepted)
        return given


def model(name: str, /, **fields: tuple[Form, EllipsisType | None]) -> type[Model]:
    """A model from what a registry says: each field with its type and its default, or ``...`` if it is needed."""
    return create_model(name, __base__=Model, **fields)  # type: ignore[call-overload, no-any-return]


def fields_of(model: type[BaseModel]) -> tuple[str, ...]:
    """The names of a model's fields as they are written."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


def given_fields(read: Model) -> dict[str, Any]:  # of the types that the model declares
    """The fields that were given."""
    return {name: value for name, value in read if name in read.model_fields_set}


@dataclass(frozen=True)
class Accepts:
    """What a field accepts; the annotation before it is what the field then holds."""

    accepted: Form

    def __get_pydantic_core_schema__(self, _: Form, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.accepted)


# --- what a field may hold: each of these is a type for ``Accepts`` ---------------------------------------------------


def says(sentence: str) -> WrapValidator:
    """The sentence of an error about the value itself; what is wrong inside of it has its own."""

    def checked(value: Given, inner: Callable[[Given], T]) -> T:
        try:
            return inner(value)
        except ValidationError as refused:
            # (Lists stop at their first error, so these are few.)
            if any(error["loc"] for error in refused.errors(include_url=False, include_input=False)):
                raise
        raise InvalidArgument("", value, sentence)

    return WrapValidator(checked)


def text(longest: int = 200) -> Form:
    """A text that is not empty."""
    limits = Field(strict=True, min_length=1, max_length=longest)
    return Annotated[str, limits, says(f"must be a text of 1 to {longest} characters")]


def digest() -> Form:
    """A hash of the ledger."""
    digits = Field(strict=True, pattern="^[0-9a-f]{64}$")
    return Annotated[str, digits, says("must be a hash of 64 characters, 0 to 9 and a to f, as the ledger shows it")]


def choice(*options: str, sentence: str = "") -> Form:
    """One of some texts."""
    return Annotated[Literal.__getitem__(options), says(sentence or f"must be one of {', '.join(options)}")]


def flag() -> Form:
    """True or false."""
    return Annotated[bool, Field(strict=True), says("must be true or false")]


def whole(least: int | None = None, most: int | None = None) -> Form:
    """A whole number."""
    limits = Field(strict=True, ge=least, le=most)
    return Annotated[int, limits, says(f"must be {_within('a whole number', least, most)}")]


def number(least: float | None = None, most: float | None = None, *, above: float | None = None) -> Form:
    """A finite number: whole, decimal or float, as it was read."""

    def checked(value: Given) -> Exact:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise InvalidArgument("", value, "must be a finite number")
        if not isinstance(value, int) and not math.isfinite(value):
            raise InvalidArgument("", value, "must be a finite number")
        if above is None and least is None and most is None:
            return value
        # A decimal such as 0.2 is not below the float that prints as 0.2.
        given = exact(value)
        if above is not None and given <= exact(above):
            raise InvalidArgument("", value, f"must be a number above {above:g}")
        if (least is not None and given < exact(least)) or (most is not None and given > exact(most)):
            raise InvalidArgument("", value, f"must be {_within('a number', least, most)}")
        return value

    return Annotated[Any, PlainValidator(checked), WithJsonSchema({"type": "number"} | limits(least, most, above))]


def limits(least: float | None, most: float | None, above: float | None = None) -> dict[str, Json]:
    """The limits of a number, as JSON Schema names them."""
    given = {"minimum": least, "maximum": most, "exclusiveMinimum": above}
    return {name: argument for name, argument in given.items() if argument is not None}


def listed(of: Form, most: int, least: int = 0, what: str = "values") -> Form:
    """A list; it becomes a tuple."""
    count = f"at most {most}" if least == 0 else f"{least} to {most}"
    limits = Field(min_length=least, max_length=most, fail_fast=True)
    several = GenericAlias(list, (of,))
    return Annotated[several, limits, says(f"must be a list of {count} {what}"), AfterValidator(tuple)]


def names(most: int, of: Form | None = None) -> Form:
    """A list of texts."""
    text_of = Annotated[str, Field(strict=True), says("must be a text")] if of is None else of
    several = GenericAlias(list, (text_of,))
    limits = Field(max_length=most, fail_fast=True)
    return Annotated[several, limits, says(f"must be a list of at most {most} texts")]


def pair(of: Form, sentence: str) -> Form:
    """A list of two; it becomes a tuple."""
    several = GenericAlias(list, (of,))
    return Annotated[several, Field(min_length=2, max_length=2, fail_fast=True), says(sentence), AfterValidator(tuple)]


def by_name(of: Form, most: int, what: str = "values") -> Form:
    """An object with any names; its length is looked at before its values."""
    sentence = f"must be an object of at most {most} {what}"

    def checked(value: Given) -> Given:
        if not isinstance(value, dict) or len(value) > most:
            raise InvalidArgument("", value, sentence)
        return value

    named = GenericAlias(dict, (str, of))
    return Annotated[named, Field(max_length=most), BeforeValidator(checked)]


def followed(accepted: Form, change: Callable[[Any], Any]) -> Form:  # what is accepted is only known when it runs
    """What a type accepts, changed or refused by a function."""
    return Annotated[accepted, AfterValidator(change)]


def either(test: Callable[[Given], bool], yes: Form, no: Form) -> Form:
    """What one type accepts where the value passes a test, and otherwise what another does."""
    chosen = Discriminator(lambda value: "<yes>" if test(value) else "<no>")
    return Annotated[Annotated[yes, Tag("<yes>")] | Annotated[no, Tag("<no>")], chosen]


def is_list(value: Given) -> TypeGuard[list[Given]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def tagged(field: str, models: Mapping[str, type[Model]], sentence: Callable[[Given], str] | None = None) -> Form:
    """One of several models, chosen by the text in one of their fields; ``sentence`` says what that must be."""

    def checked(value: Given, inner: Callable[[Given], T]) -> T:
        if not isinstance(value, dict):
            raise InvalidArgument("", value, OBJECT)
        given = value.get(field)
        if not isinstance(given, str) or given not in models:
            accepted = f"must be one of {', '.join(models)}" if sentence is None else sentence(given)
            raise InvalidArgument(field, given, accepted)
        return inner(value)

    several = functools.reduce(operator.or_, (Annotated[item, Tag(name)] for name, item in models.items()))
    return Annotated[several, Discriminator(lambda value: value[field]), WrapValidator(checked)]


def _within(what: str, least: float | None, most: float | None) -> str:
    low = "" if least is None else f" of at least {least:g}" if most is None else f" from {least:g}"
    high = "" if most is None else f" to {most:g}" if least is not None else f" of at most {most:g}"
    return f"{what}{low}{high}"


# --- reading, and what is wrong -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    """The first thing that is wrong: where it stands, what was given, and what is accepted instead."""

    path: Path
    given: Any  # also what was made of it by the time it was refused
    accepted: str
    fields: tuple[str, ...] = ()
    """Of a field that is not known: those that are."""

    def error(self, at: str = "") -> InvalidArgument | UnknownField:
        """The error that names the path in JSON; ``at`` is what the path starts from."""
        name = at
        for step in self.path:
            name += f"[{step}]" if isinstance(step, int) else f"{'.' if name else ''}{_printable(step)}"
        if self.fields:
            return UnknownField(name, self.fields)
        return InvalidArgument(name, without_contents(self.given), self.accepted)


def read(model: type[M], payload: Given, at: str = "") -> M:
    """What a payload says, or the error that names the path in JSON."""
    return read_with(model.model_validate, payload, at)


def read_with(validate: Callable[[Given], T], payload: Given, at: str = "") -> T:
    """The same for whatever validates: a model, or the reader of a type."""
    try:
        return validate(payload)
    except ValidationError as refused:
        problem = first_mistake(refused, payload)
    raise problem.error(at)


def first_mistake(refused: ValidationError, payload: Given) -> Mistake:
    """What to say of a payload that does not fit its model."""
    first = refused.errors(include_url=False, include_input=False)[0]
    path, given = _place(payload, first["loc"])
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UnknownField):
        return Mistake((*path, cause.field), None, "", cause.accepted)
    if type(cause) is InvalidArgument:
        below: Path = (int(cause.argument) if is_list(given) else cause.argument,) if cause.argument else ()
        return Mistake((*path, *below), cause.given, cause.accepted)
    if isinstance(cause, DitherError):
        raise cause from None  # as the house says it, without what pydantic makes of it
    if first["type"] == "missing":
        return Mistake(
            (*path, first["loc"][-1]),
            None,
            f"{MISSING}: {given['kind']} needs it" if isinstance(given, dict) and "kind" in given else MISSING,
        )
    if first["type"] == "too_long":
        return Mistake(path, given, f"must have at most {first['ctx']['max_length']} entries")
    return Mistake(path, given, _SENTENCES.get(first["type"], first["msg"].replace("Input should be", "must be")))


def _place(payload: Given, steps: Path) -> tuple[Path, Given]:
    """The path and the value there.  Which member of a union was tried is also a step, but is not in the payload."""
    path: Path = ()
    for step in steps:
        if isinstance(payload, dict) and isinstance(step, str) and step in payload:  # noqa: SIM114  (types differ)
            path, payload = (*path, step), payload[step]
        elif isinstance(payload, list) and isinstance(step, int):
            path, payload = (*path, step), payload[step]
    return path, payload


def _printable(step: str) -> str:
    return "".join(item if item.isprintable() else "\ufffd" for item in step[:80])


# --- as JSON Schema ---------------------------------------------------------------------------------------------------


class _Described(GenerateJsonSchema):
    """JSON Schema without titles; what may be left out has no default in it but a plain one."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  (a type that pydantic keeps to itself)
        return False

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if described.get("default", 0) is None:
            del described["default"]
        return described

    def tagged_union_schema(self, schema: TaggedUnionSchema) -> JsonSchemaValue:
        """A value may fit several: an empty list is a list of numbers, and one of points."""
        described = super().tagged_union_schema(schema)
        if "oneOf" in described:
            described["anyOf"] = described.pop("oneOf")
        return described

    def encode_default(self, dft: Any) -> Any:  # as pydantic has it
        return float(dft) if isinstance(dft, Decimal) else super().encode_default(dft)


def json_schema(what: type[T] | TypeAdapter[T]) -> JsonSchemaValue:
    """The JSON Schema of a model or reader; parts that have names are below ``$defs``."""
    result = what if isinstance(what, TypeAdapter) else TypeAdapter(what)
    return result.json_schema(ref_template="#/components/schemas/{model}", schema_generator=_Described)
