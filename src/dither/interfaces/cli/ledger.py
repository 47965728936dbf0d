"""``dither ledger``: show, verify, export and back up what was registered, spent and answered."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dither.errors import InvalidArgument, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dither.ledger import Ledger, Registered
    from dither.plain import Json, JsonObject

_place = click.argument("place", metavar="PATH")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def ledger() -> None:
    """Look into a ledger: PATH is its file, or a postgresql:// address."""


@ledger.command()
@_place
@click.argument("dataset", required=False)
@_json
def show(place: str, dataset: str | None, *, as_json: bool) -> None:
    """Show all datasets with their budgets, or the history of one DATASET."""
    with _opened(place) as book:
        if dataset is None:
            payload = [_account(book, item) for item in book.datasets()]
            columns = ["dataset", "filter", "relation", "budget", "spent", "left", "version", "state", "analysts"]
        else:
            payload = [entry.to_dict() for entry in book.entries(dataset)]
            columns = ["number", "at", "kind", "analyst", "request", "loss", "question", "hash"]
    if as_json:
        click.echo(json.dumps({"datasets": payload} if dataset is None else {"dataset": dataset, "entries": payload}))
    else:
        _table(columns, [_formatted(row) for row in payload])


@ledger.command()
@_place
@click.option("--head", default=None, metavar="HASH", help="A hash noted earlier, which must still be in the chain.")
@_json
def verify(place: str, head: str | None, *, as_json: bool) -> None:
    """Work everything out again from the entries; exit code 1 and the first wrong entry if something does not fit."""
    with _opened(place, check=False) as book:
        report = book.verify(head)
    if as_json:
        click.echo(json.dumps(report.to_dict()))
    elif report.ok:
        click.echo(f"{report.entries} entries, all in order; head {report.head}")
        for name, relation in report.relations.items():
            click.echo(f"{name}: {_related(relation)}")
    else:
        click.secho(f"damaged: {report.problem}", fg="red", err=True)
    if not report.ok:
        sys.exit(1)


@ledger.command()
@_place
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="A file instead of the screen.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of one line per entry.")
@click.option("--registry", is_flag=True, help="An entry for a public registry of deployments, for each dataset.")
@click.option("--dataset", default=None, help="With --registry: this dataset alone.")
@click.option("--schema", type=click.Path(path_type=Path), help="With --registry: the schema file of the dataset.")
@click.option(
    "--detail", multiple=True, metavar="NAME=TEXT", help="With --registry: curator, intended_use, rationale, ... of it."
)
def export(
    place: str,
    out: Path | None,
    *,
    as_json: bool,
    registry: bool,
    dataset: str | None,
    schema: Path | None,
    detail: tuple[str, ...],
) -> None:
    """Write all entries with their hashes, one JSON object per line.

    --registry writes what is disclosed about a deployment instead: privacy unit and relation, parameters, accounting,
    mechanisms, and what you state about it (docs/ledger.md).

    \b
    dither ledger export payroll.ledger --registry --schema payroll.toml --detail curator='City of Springfield'
    """
    with _opened(place) as book:
        if registry:
            lines = [_disclosed(book, dataset, schema, detail)]
        else:
            for name, given in (("dataset", dataset), ("schema", schema), ("detail", detail)):
                if given:
                    raise InvalidArgument(name, str(given), "is for --registry: leave it out, or pass --registry")
            entries = list(book.export())
            lines = [json.dumps({"entries": entries})] if as_json else [json.dumps(entry) for entry in entries]
    try:
        with click.open_file("-" if out is None else str(out), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise InvalidArgument("out", str(out), f"must be a file that can be written ({error.strerror})") from None


@ledger.command()
@_place
@click.argument("copy", type=click.Path(path_type=Path))
@_json
def backup(place: str, copy: Path, *, as_json: bool) -> None:
    """Copy a ledger's file to COPY while it is in use, and verify the copy."""
    from dither.ledger import SqliteLedger

    with _opened(place, check=False) as book:
        if not isinstance(book, SqliteLedger):
            raise NotApplicable("PATH", "postgresql", "PostgreSQL has tools of its own for this", "pg_dump")
        report = book.backup(copy)
    if as_json:
        click.echo(json.dumps({"copy": str(copy), **report.to_dict()}))
    else:
        click.echo(f"{copy}: {report.entries} entries; head {report.head}")
    if not report.ok:
        click.secho(f"damaged: {report.problem}", fg="red", err=True)
        sys.exit(1)


def _disclosed(book: Ledger, dataset: str | None, schema: Path | None, detail: tuple[str, ...]) -> str:
    """Entries for a registry, as one JSON document."""
    from dither.interfaces.disclosure import registry_entry
    from dither.sources.schema_file import load_schema

    declared = None if schema is None else load_schema(schema)
    wanted = dataset if dataset is not None or declared is None else declared.name
    stated = dict(_detail(item) for item in detail)
    names = [item.name for item in book.datasets()]
    if wanted is not None and wanted not in names:
        raise InvalidArgument("dataset", wanted, f"must be a dataset of the ledger: {', '.join(names)}")
    chosen = names if wanted is None else [wanted]
    return json.dumps({"deployments": [registry_entry(book, name, declared, stated) for name in chosen]}, indent=2)


def _detail(text: str) -> tuple[str, str]:
    from dither.interfaces.disclosure import DETAILS

    name, equals, stated = text.partition("=")
    if not equals or name not in DETAILS:
        raise InvalidArgument("detail", text, f"must be NAME=TEXT, NAME one of {', '.join(DETAILS)}")
    return name, stated


def _opened(place: str, *, check: bool = True) -> Ledger:
    from dither.ledger import open_ledger

    return open_ledger(place, check=check, read_only=True)


def _account(book: Ledger, registered: Registered) -> JsonObject:
    spent, left = book.spent(registered.name), book.left(registered.name)
    return {
        "dataset": registered.name,
        "kind": registered.filter,
        "budget": {"epsilon": registered.budget.epsilon, "delta": registered.budget.delta},
        "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
        "left": {"epsilon": left.epsilon, "delta": left.delta},
        "version": registered.version,
        "state": "retired" if registered.retired else "open",
        "account": registered.account,
        "fingerprint": registered.fingerprint,
        "relation": None if registered.relation is None else registered.relation.to_dict(),
        "analysts": {
            who: {
                "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
                "spent": {
                    "epsilon": book.spent(registered.name, who).epsilon,
                    "delta": book.spent(registered.name, who).delta,
                },
            }
            for who, budget in registered.analysts.items()
        },
    }


def _formatted(row: dict[str, Any]) -> dict[str, str]:  # JSON: an account, or an entry
    """A row as people read it: privacy losses as words, analysts by name, hashes cut."""
    payload = {name: _loss(value) if isinstance(value, dict) else str(value) for name, value in row.items()}
    if "analysts" in row:
        payload["filter"] = row["kind"]
        payload["relation"] = _related(row["relation"])
        payload["analysts"] = ", ".join(f"{who}: {_loss(own['budget'])}" for who, own in row["analysts"].items())
    if "body" in row:
        units = row["body"].get("losses", [])
        payload["loss"] = f"epsilon {sum(pair[0] for pair in units) / 1e9:g}" if units else ""
        if any(pair[1] for pair in units):
            payload["loss"] += f", delta {sum(pair[1] for pair in units) / 1e18:g}"
        payload["question"] = _asked(row["body"].get("question"))
        payload["hash"] = f"{row['hash'][:12]}…"
        payload |= {name: row[name] or "" for name in ("analyst", "request")}
        payload["request"] = payload["request"] if len(payload["request"]) <= 12 else f"{payload['request'][:12]}…"
    return payload


def _related(relation: JsonObject | None) -> str:
    """Between which datasets losses hold, in words."""
    from dither.privacy import Relation

    return "no neighbour relation yet" if relation is None else str(Relation.from_dict(relation))


def _asked(question: Json) -> str:
    """The questions of a session in few words; nothing for those that others wrote."""
    listed = question.get("questions") if isinstance(question, dict) else None
    texts = []
    for candidate in listed if isinstance(listed, list) else []:
        query = candidate.get("query") if isinstance(candidate, dict) else None
        if isinstance(query, dict):
            where = f" where {candidate['where']}" if candidate.get("where") else ""
            by = f" by {', '.join(map(str, candidate['by']))}" if candidate.get("by") else ""
            texts.append(f"{_called(query)}{where}{by}")
    return "; ".join(texts)


def _called(query: JsonObject) -> str:
    """A query as a call; version 0.1.0 stored its name as ``kind``."""
    columns = query.get("columns")
    listed = columns if isinstance(columns, list) else [query.get("column"), query.get("target")]
    named = ", ".join(str(column) for column in listed if column is not None)
    return f"{query.get('name') or query.get('kind') or ''}({named})"


def _loss(loss: Mapping[str, float]) -> str:
    if "epsilon" not in loss:
        return ""
    return f"{loss['epsilon']:g}" + (f", delta {loss['delta']:g}" if loss["delta"] else "")


def _table(columns: list[str], rows: list[dict[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(Text(row[column]) for column in columns))
    Console(width=None if sys.stdout.isatty() else 140).print(table)
