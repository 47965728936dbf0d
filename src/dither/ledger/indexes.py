"""Whether the indexes of a ledger in PostgreSQL find what is in its tables.

A charge that a lookup misses would be paid a second time.  PostgreSQL's own check (the extension amcheck) needs rights
that a ledger's user seldom has; these queries need none.
"""

from __future__ import annotations

from dataclasses import dataclass

from dither.ledger.database import Transaction

_OTHER_PLANS = ["enable_seqscan", "enable_bitmapscan", "enable_indexonlyscan", "enable_sort", "enable_incremental_sort"]
"""What PostgreSQL shall not do while indexes are compared with tables, wherever it has a choice.

Versions before 13 do not know the last of them."""
_NUMBERS = ("number", "charge", "id", "parent")


@dataclass(frozen=True, slots=True)
class _Index:
    """An index that the ledger looks things up by: its table, its columns, and which rows it holds."""

    name: str
    table: str
    columns: tuple[str, ...]
    condition: str = "TRUE"
    hidden: str = "TRUE"
    """The same condition on an expression, for which no index is used."""

    def missed(self) -> str:
        """A query with a row if the index holds another number of rows than its table, or does not find one of them.

        Order and comparison are those of the index, which PostgreSQL then uses; the rows come from the table itself.
        """
        same = {True: "+ 0", False: "|| ''"}
        values = ", ".join(f"{column} {same[column in _NUMBERS]} AS {column}" for column in self.columns)
        rows = f"(SELECT {values} FROM {self.table} WHERE {self.hidden} OFFSET 0) scan"  # noqa: S608
        keys = ", ".join(self.columns)
        mine, theirs = (f"({', '.join(f'{which}.{column}' for column in self.columns)})" for which in ("found", "scan"))
        return (
            f"SELECT 1 WHERE (SELECT count(*) FROM {rows}) <> (SELECT count(*) FROM (SELECT 1 FROM {self.table} "  # noqa: S608
            f"WHERE {self.condition} ORDER BY {keys} OFFSET 0) indexed) UNION ALL "
            f"SELECT 1 FROM {rows} WHERE (SELECT {mine} = {theirs} FROM {self.table} found WHERE {self.condition} "
            f"AND {mine} >= {theirs} ORDER BY {keys} LIMIT 1) IS NOT TRUE LIMIT 1"
        )


_CHARGES, _RELEASES = (
    {"condition": f"kind = '{kind}'", "hidden": f"kind || '' = '{kind}'"} for kind in ("charge", "release")
)
_ANALYSTS = {"condition": "parent IS NOT NULL", "hidden": "parent + 0 IS NOT NULL"}
_NEEDED = (
    _Index("dither_one_charge_per_request", "dither_entries", ("dataset", "analyst", "request"), **_CHARGES),
    _Index("dither_one_release_per_charge", "dither_entries", ("charge",), **_RELEASES),
    _Index("dither_accounts_pkey", "dither_accounts", ("id",)),
    _Index("dither_accounts_parent_analyst_key", "dither_accounts", ("parent", "analyst"), **_ANALYSTS),
    _Index("dither_names_pkey", "dither_names", ("dataset",)),
    _Index("dither_fingerprints_pkey", "dither_fingerprints", ("fingerprint",)),
)
"""The indexes by which charges and accounts are found."""
_OTHERS = (
    _Index("dither_answers", "dither_entries", ("dataset", "key"), **_RELEASES),
    _Index("dither_histories", "dither_entries", ("dataset", "number")),
    _Index("dither_entries_pkey", "dither_entries", ("number",)),
)
"""The indexes by which stored answers and histories are found."""


def incomplete_index(look: Transaction, *, whole: bool) -> str | None:
    """The first index that does not find all rows of its table; of the needed ones, or of all."""
    look.all("SELECT set_config(name, 'off', true) FROM pg_settings WHERE name = ANY(?::text[])", _OTHER_PLANS)
    looked_at = (*_NEEDED, *_OTHERS) if whole else _NEEDED
    return next((item.name for item in looked_at if look.one(item.missed()) is not None), None)
