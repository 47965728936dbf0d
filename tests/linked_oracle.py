"""Linked tables by nested loops: what a first-year student would write, for comparison with engines."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]
Database = Mapping[str, Rows]
Join = tuple[str, str, str, str, str]
"""(instance of the foreign key, foreign key, instance, table, key)."""


def joined(database: Database, facts: str, joins: Sequence[Join]) -> Iterator[dict[str, Mapping[str, Any]]]:
    """Every combination of rows whose keys are equal; a missing key is equal to none.

    Of rows on the way to a person that have the same key one is used for each person: that with the least hash.
    """
    for row in database[facts]:
        found = [{facts: row}]
        for child, foreign, name, table, key in joins:
            found = [
                {**before, name: other}
                for before in found
                for other in database[table]
                if before[child][foreign] is not None and before[child][foreign] == other[key]
            ]
        people: dict[Any, list[dict[str, Mapping[str, Any]]]] = {}
        for each in found:
            order = each.get("orders", {})
            people.setdefault(order.get("person", each.get("people", {}).get("id")), []).append(each)
        for own in people.values():
            yield min(own, key=lambda each: [_place(each[name], *HASHED[name]) for name in HASHED if name in each])


HASHED = {"orders": (("price",), ("person",)), "people": (("kind",), ("town",))}
"""What is declared of tables that rows may lead to: columns and foreign keys."""


def _place(row: Mapping[str, Any], columns: Sequence[str], links: Sequence[str]) -> tuple[str, str]:
    """The hash of a row, and what is hashed."""
    text = ""
    for name in (*columns, *links):
        value = row[name]
        text += "|" + ("" if value is None else str(round(value * 65536) if isinstance(value, float) else value))
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), text


def without(database: Database, person: Any) -> dict[str, list[Mapping[str, Any]]]:
    """The database without a person: all of their rows, and rows that only lead to them.

    An item whose order number others have too stays: it is theirs as well.
    """
    kept = {name: list(rows) for name, rows in database.items()}
    kept["people"] = [row for row in kept["people"] if row["id"] != person]
    theirs = {row["number"] for row in kept["orders"] if row["person"] == person}
    kept["orders"] = [row for row in kept["orders"] if row["person"] != person]
    others = {row["number"] for row in kept["orders"]}
    if "items" in kept:
        kept["items"] = [row for row in kept["items"] if row["order"] not in theirs or row["order"] in others]
    return kept


def least_by_hash(rows: Sequence[Any], person: Any, most: int, text: Any) -> list[Any]:
    """Of one person's rows so many with the least hashes, ties by what is hashed: the rule of ``Selection``."""

    def place(row: Any) -> tuple[str, str]:
        payload = text(row)
        return hashlib.md5(f"{person}|{payload}".encode(), usedforsecurity=False).hexdigest(), payload

    return sorted(rows, key=place)[:most]
