"""Calls of registered statistics of one column that no test lists by hand: they follow from the registry."""

from decimal import Decimal

from dither.queries.registry import entries


def needed_fields(entry):
    """A value for every field without a default: the example of a form, or 2."""
    found = {name: entry.parameters[name].example if name in entry.parameters else None for name in entry.needed}
    return {
        name: 2 if one is None else Decimal(str(one)) if isinstance(one, float) else one for name, one in found.items()
    }


def calls_of_columns(column, but):
    """Public name -> (call in SQL, the query object that it stands for), of all but the named ones."""
    found = {}
    for entry in entries().values():
        if entry.of == "column" and entry.name not in but and entry.has("sql"):
            fields = needed_fields(entry)
            named = "".join(
                f", {name} => {list(one) if isinstance(one, tuple) else one}" for name, one in fields.items()
            )
            found[entry.name] = f"{entry.name}({column}{named})", entry.query(column, **fields)
    return found
