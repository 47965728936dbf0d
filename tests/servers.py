"""Real servers for tests, started here and stopped at the end: private, on this machine, gone when the tests are."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

_OTHERS = ("postgres", "nobody")
"""Who runs PostgreSQL if the tests run as root, which it refuses."""
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
}


def postgres_programs() -> Path | None:
    """The folder with initdb and postgres of the newest installed version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path and shutil.which("postgres") else None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _stop_with_parent() -> None:
    """In the child: a signal if the tests are killed, so that no server outlives them."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


class PostgresServer:
    """A PostgreSQL of its own, with a folder of its own; it may be killed and started again."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        # Not below pytest's folder: that is closed to the unprivileged user who runs the server.
        self.folder = Path(tempfile.mkdtemp(prefix="dither-postgres-"))
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._user: dict[str, object] = {}
        if os.geteuid() == 0:
            who = next(pwd.getpwnam(name) for name in _OTHERS if name in {one.pw_name for one in pwd.getpwall()})
            self._user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
            os.chown(self.folder, who.pw_uid, who.pw_gid)
        words = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run(
            [programs / "initdb", *words, "-D", self.folder / "data"],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self._user,
        )

    def dsn(self, database: str = "postgres") -> str:
        """An address that psycopg, DuckDB and JDBC drivers understand."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start, and wait until it answers; after a kill the old one's memory may be in use for a moment."""
        settings = {**_SETTINGS, "unix_socket_directories": str(self.folder), "port": str(self.port)}
        words = [self.programs / "postgres", "-D", self.folder / "data", *(f"--{k}={v}" for k, v in settings.items())]
        ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(600):
            if self.process is None or self.process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self.process = subprocess.Popen(
                        words,
                        stdout=log,
                        stderr=log,
                        cwd=self.folder,
                        **self._user,
                        preexec_fn=_stop_with_parent,  # noqa: PLW1509
                    )
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text())

    def kill(self) -> None:
        """kill -9, as a power cut would: its children notice and end too."""
        self._end(signal.SIGKILL)

    def _end(self, sign: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sign)
            self.process.wait(30)
        self.process = None

    def close(self) -> None:
        """Stop, and leave nothing behind."""
        self._end(signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server():
    """A running PostgreSQL; skips the test if it is not installed, or fails it if DITHER_REQUIRE=all."""
    from conftest import missing, needs_package

    needs_package("psycopg")
    programs = postgres_programs()
    if programs is None:
        missing("needs PostgreSQL (Debian: postgresql)")
    server = PostgresServer(programs)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """The address of a running PostgreSQL."""
    return postgres_server.dsn()


@pytest.fixture
def postgres_schema(postgres_server):
    """An address whose tables lie in an empty schema for one test."""
    import psycopg

    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield f"{postgres_server.dsn()}?options=-csearch_path%3D{name}"
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE")


def needs_java():
    """Spark, and what it runs on."""
    from conftest import missing, needs_package

    needs_package("pyspark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        missing("needs Java (Debian: default-jre-headless)")


@pytest.fixture(scope="session")
def spark():
    """A Spark session of our own, on two cores."""
    needs_java()
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("dither-tests")
        .config("spark.ui.enabled", "false")
        # Short statements only: compiling them thoroughly would cost more than running them (measured: half).
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    yield session
    session.stop()
