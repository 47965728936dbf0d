"""``dither tokens``: a way back for owners whose tokens are lost, expired or revoked."""

from __future__ import annotations

import getpass
import json
from pathlib import Path

import click

from dither.errors import InvalidArgument, NotInstalled

_ADDRESSES = ("postgresql://", "postgres://")


@click.group()
def tokens() -> None:
    """Tokens of a server, for users who may write to its folder."""


@tokens.command()
@click.option(
    "--home",
    default=Path("dither-home"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="The folder of the curator, which may be running.",
)
@click.option("--ledger", default=None, help="The postgresql:// address that the curator was started with, if any.")
@click.option("--json", "as_json", is_flag=True, help="Print the token as JSON.")
def recover(home: Path, ledger: str | None, *, as_json: bool) -> None:
    """Make a new owner's token for all datasets; other tokens stay as they are.

    The list of tokens shows that it was made here and by whom; a line of the log says so on the standard error.
    """
    try:
        from dither.interfaces.answers import OWNER
        from dither.interfaces.http.store import Store
        from dither.interfaces.http.telemetry import log, log_to_stderr
    except ImportError:
        raise NotInstalled("dither tokens", "the extra server", "dither[server]") from None

    shared = ledger is not None and ledger.startswith(_ADDRESSES)
    if not (home / "datasets").is_dir() or not (shared or (home / "server.db").is_file()):
        raise InvalidArgument("home", str(home), "must be the folder of a curator that was started before")
    by = f"dither tokens recover ({_user()})"
    store = Store(str(ledger) if shared else home / "server.db")
    try:
        created = store.create("recovered-owner", OWNER, by=by)
    finally:
        store.close()
    if created is None:
        raise RuntimeError("a token is always made here")
    secret, token = created
    log_to_stderr()
    log("token recovered", token=token.id, name=token.name, role=token.role, by=by)
    click.echo(json.dumps({"token": secret, **token.to_dict()}) if as_json else f"owner token: {secret}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "unknown user"
