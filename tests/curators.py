"""Real server processes for tests: started on a free port of this machine, killed at will, asked over HTTP."""

import ctypes
import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

PAYROLL = """[dataset]
source = "pay.csv"
rows = 200

[budget]
epsilon = {epsilon}

[columns.pay]
type = "integer"
bounds = [0, 1000000]

[columns.job]
type = "category"
values = ["clerk", "nurse"]
"""
JUMPING_CLOCK = Path(__file__).parent / "jumping_clock.py"
ODD_WORKERS = Path(__file__).parent / "odd_workers.py"
PLANTED = 777_123
"""A value in the data that must be seen nowhere."""


def write_pay(home: Path, rows: int = 200) -> None:
    """A small table with a planted value in every second record, and a job that no schema declares."""
    (home / "data").mkdir(parents=True, exist_ok=True)
    (home / "datasets").mkdir(parents=True, exist_ok=True)
    lines = [f"{PLANTED if one % 2 else 100 + one},{'planted-job' if one % 9 == 0 else 'nurse'}" for one in range(rows)]
    (home / "data" / "pay.csv").write_text("pay,job\n" + "\n".join(lines) + "\n")


def with_dataset(home: Path, name: str = "pay", epsilon: object = 1.0) -> Path:
    """A home folder with one registered dataset."""
    write_pay(home)
    (home / "datasets" / f"{name}.toml").write_text(PAYROLL.format(epsilon=epsilon))
    return home


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for this machine, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    here = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "chain.pem").write_bytes(made.public_bytes(encoding))
    (folder / "key.pem").write_bytes(key.private_bytes(encoding, *plain))
    return folder / "chain.pem", folder / "key.pem"


def _end_with_tests() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class CuratorProcess:
    """``dither serve`` in a process of its own."""

    def __init__(
        self,
        home: Path,
        *words: str,
        ledger: str | None = None,
        seconds: float = 0.05,
        clock: Path | None = None,
        odd: bool = False,
    ) -> None:
        self.home = home
        self.program = ["-m", "dither"] if clock is None else [str(JUMPING_CLOCK), str(clock)]
        if odd:
            self.program = [str(ODD_WORKERS)]
        self.words = ["--answer-seconds", str(seconds), "--rate", "10000", *words]
        if ledger is not None:
            self.words += ["--ledger", ledger]
        self.tokens: dict[str, str] = {}
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.log = home.parent / f"{home.name}-{id(self)}.log"
        self.before: list[str] = []
        """What runs the command: another user, say."""
        self.python = Path(sys.executable)
        """Whose dither it is."""
        self.environment: dict[str, str] | None = None

    def start(self) -> "CuratorProcess":
        """Start, on the same port as before if there was one; returns when it is listening."""
        command = [
            *self.before,
            str(self.python),
            *self.program,
            "serve",
            "--json",
            "--home",
            str(self.home),
            "--port",
            str(self.port),
        ]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, *self.words],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self.environment,
                preexec_fn=_end_with_tests,  # noqa: PLW1509
            )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.log.read_text())
        payload = json.loads(line)
        self.url = payload["address"].rstrip("/")
        self.port = urlsplit(self.url).port
        self.tokens.update(payload["tokens"])
        return self

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 300) -> int:
        """SIGTERM; the exit code."""
        return self._end(signal.SIGTERM, seconds)

    def _end(self, sign: signal.Signals, seconds: float = 300) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(sign)
        code = process.wait(seconds)
        process.stdout.close()
        return code

    def call(self, method: str, path: str, body: object = None, token: str | None = "owner", **more: object):
        """(status, body as JSON or text, headers)."""
        return call(self.port, method, path, body, self.tokens.get(token, token), **more)

    def token(self, name: str, **rules: object) -> str:
        """A new token with rules; its secret is also remembered under its name."""
        status, payload, _ = self.call("POST", "/v1/tokens", {"name": name, **rules})
        assert status == 201, payload
        self.tokens[name] = payload["token"]
        return payload["token"]

    def logs(self) -> str:
        """Everything it wrote to standard error."""
        return self.log.read_text()


def call(port, method, path, body=None, token=None, *, raw=None, headers=None, timeout=300):
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    sent = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    if data is not None:
        sent["Content-Type"] = "application/json"
    try:
        connection.request(method, path, body=data, headers=sent | (headers or {}))
        response = connection.getresponse()
        text = response.read()
        kind = response.headers.get("Content-Type", "")
        return response.status, json.loads(text) if "json" in kind else text.decode(), response.headers
    finally:
        connection.close()


def median(epsilon: float = 0.1, **more: object) -> dict[str, object]:
    """The body of a question."""
    return {"query": {"kind": "median", "column": "pay"}, "epsilon": epsilon, **more}


def until(condition, seconds: float = 300.0, *, what: str = "a condition") -> None:
    """Wait for a condition; only one that never comes true takes so long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain for {what}"
        time.sleep(0.02)


_HOLDER = """
import sys
if sys.argv[1].startswith("postgresql://"):
    import psycopg
    held = psycopg.connect(sys.argv[1])
    held.execute("SELECT number FROM dither_ledger FOR UPDATE")
else:
    import sqlite3
    held = sqlite3.connect(sys.argv[1], isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(place: str):
    """Another process holds a write transaction on a database: a SQLite file, or a ledger in PostgreSQL."""
    words = [sys.executable, "-c", _HOLDER, place]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            yield
        finally:
            holder.stdin.close()


def together(work, count: int) -> list[object]:
    """``work(i)`` in as many threads; what they returned, or the exception that ended them."""
    results: list[object] = [None] * count

    def run(place: int) -> None:
        try:
            results[place] = work(place)
        except BaseException as error:  # noqa: BLE001
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return results
