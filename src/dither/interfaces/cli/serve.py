"""``dither serve``: the curator as a process."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from dither.errors import InvalidArgument, NeedsLinux, NotInstalled

if TYPE_CHECKING:
    import socket

    from dither.interfaces.http.server_state import Curator

MOST_RATE = 1_000_000


class ServeOptions(TypedDict):
    """What ``dither serve`` takes beside its place."""

    ledger: str | None
    data: tuple[Path, ...]
    answer_seconds: float
    longest_seconds: float
    rate: float
    workers: int
    connections: int
    certificate: Path | None
    key: Path | None


@click.command()
@click.option("--demo", is_flag=True, help="Generated data and fresh tokens, to try it out.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes any free port.")
@click.option(
    "--home",
    default=Path("dither-home"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder with everything the server keeps.",
)
@click.option("--ledger", default=None, help="A file or postgresql:// address; by default HOME/ledger.db.")
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with sources, besides HOME/data; repeatable.",
)
@click.option("--answer-seconds", default=1.0, show_default=True, help="First slot of datasets that declare none.")
@click.option("--longest-seconds", default=3600.0, show_default=True, help="Longest work on one question.")
@click.option("--rate", default=20.0, show_default=True, help="Requests a second from one token.")
@click.option("--workers", default=4, show_default=True, type=click.IntRange(1, 64), help="Threads that answer.")
@click.option(
    "--connections", default=1_000, show_default=True, type=click.IntRange(8, 60_000), help="Open at once, at most."
)
@click.option("--certificate", type=click.Path(path_type=Path), help="TLS certificate chain (PEM).")
@click.option("--key", type=click.Path(path_type=Path), help="Its private key (PEM).")
@click.option("--json", "as_json", is_flag=True, help="Print address and tokens as one JSON object.")
def serve(*, demo: bool, host: str, port: int, home: Path, as_json: bool, **options: Unpack[ServeOptions]) -> None:
    """Serve datasets, budgets and answers over HTTP, with a page for owners and analysts.

    The first start prints the owner's token.  Logs go to the standard error as JSON lines.  SIGTERM lets questions
    under way end before the process does.
    """
    from dither.systems import reason_without_linux

    if (reason := reason_without_linux()) is not None:
        raise NeedsLinux("dither serve", reason)
    try:
        import uvicorn

        from dither.interfaces.http.app import create_app
        from dither.interfaces.http.connections import BACKLOG, KEEP_ALIVE, LimitedServer, limited
        from dither.interfaces.http.fork_server import ForkServer
        from dither.interfaces.http.server_state import DRAIN, Curator, ServerSettings, prepare_home
    except ImportError:
        raise NotInstalled("dither serve", "the extra server", "dither[server]") from None
    from dither.interfaces.http.schedule import LEAST_SECONDS, MOST_SECONDS
    from dither.interfaces.http.telemetry import log_to_stderr
    from dither.sources.descriptors import raise_descriptors

    if not LEAST_SECONDS <= options["answer_seconds"] <= MOST_SECONDS:
        raise InvalidArgument("answer-seconds", options["answer_seconds"], "must be from 0.01 to 86400")
    if not 0 < options["longest_seconds"] <= 7 * MOST_SECONDS:
        raise InvalidArgument(
            "longest-seconds", options["longest_seconds"], "must be above 0 and at most a week, in seconds"
        )
    if not 0 < options["rate"] <= MOST_RATE:
        raise InvalidArgument("rate", options["rate"], f"must be a number above 0 and up to {MOST_RATE:,}")
    forks = ForkServer.forked()  # now, while there are no threads, sockets or data that helpers would inherit
    tls = _tls(options["certificate"], options["key"])
    listening = _listening(host, port)
    settings = ServerSettings(
        rate=options["rate"],
        burst=max(60, round(3 * options["rate"])),
        workers=options["workers"],
        answer_seconds=options["answer_seconds"],
        roots=options["data"],
        longest_seconds=options["longest_seconds"],
    )
    log_to_stderr()
    prepare_home(home)
    if demo:
        from dither.demo.home import prepare_demo

        prepare_demo(home)
    curator = Curator(home, options["ledger"], settings, forks)
    app = create_app(home, curator=curator)
    _tell(_address(listening, host, secure=bool(tls)), _tokens(curator, demo), as_json)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        lifespan="on",
        ws="none",
        loop="asyncio",
        http=limited(_connections(options["connections"], options["workers"]), raise_descriptors()),
        timeout_keep_alive=KEEP_ALIVE,
        backlog=BACKLOG,
        timeout_graceful_shutdown=round(DRAIN),
        proxy_headers=False,
        **tls,
    )
    server = LimitedServer(config, curator.stop)
    curator.ends_process = True
    for item in (signal.SIGTERM, signal.SIGINT):
        # For one that comes before the server listens for it; when it has drained it hands its own back, to no effect.
        signal.signal(item, lambda *_: setattr(server, "should_exit", True))
    server.run(sockets=[listening])
    if not curator.is_idle:
        # A program may have hours to go.  What was charged is asked again under its request id, which pays nothing.
        sys.stderr.flush()
        os._exit(1)


def _connections(most: int, workers: int) -> int:
    """As many as wanted and as leave descriptors for the questions of all workers, and for the server itself."""
    from dither.sources.descriptors import NEEDED, raise_descriptors

    left = raise_descriptors() - NEEDED * (workers + 2)
    if left < most:
        from dither.interfaces.http.telemetry import log

        log("fewer connections", wanted=most, accepted=max(8, left))
    return min(most, max(8, left))


class Tls(TypedDict, total=False):
    """Options of uvicorn for TLS."""

    ssl_certfile: str
    ssl_keyfile: str


def _tokens(curator: Curator, demo: bool) -> dict[str, str]:
    if demo:
        owner, analyst = curator.demo_tokens()
        return {"owner": owner, "analyst": analyst}
    first = curator.first_owner()
    return {} if first is None else {"owner": first}


def _tell(address: str, tokens: dict[str, str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"address": address, "tokens": tokens, "pid": os.getpid()}))
    else:
        click.echo(f"the curator is at {address}")
        for role, secret in tokens.items():
            click.echo(f"{role} token: {secret}")
    sys.stdout.flush()


def _address(listening: socket.socket, host: str, *, secure: bool) -> str:
    bracketed = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{bracketed}:{listening.getsockname()[1]}/"


def _listening(host: str, port: int) -> socket.socket:
    """The socket, taken before anything else happens: a port in use is an error that says so."""
    import socket

    try:
        # With its protocol: asyncio sets TCP_NODELAY on connections of sockets that say that they are TCP only.
        listening = socket.socket(*socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][:3])
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError as error:
        reason = error.strerror or "unknown host"
        raise InvalidArgument("port", f"{host}:{port}", f"must be an address that is free ({reason})") from None
    return listening


def _tls(certificate: Path | None, key: Path | None) -> Tls:
    if certificate is None and key is None:
        return {}
    if certificate is None or key is None:
        raise InvalidArgument("certificate" if key else "key", None, "is missing: pass certificate and key together")
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise InvalidArgument("certificate", str(certificate), "must be a readable PEM pair") from None
    return {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
