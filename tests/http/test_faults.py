"""kill -9 under load, of the server and of PostgreSQL; full disks; drains; bad starts: what was acknowledged stays."""

import contextlib
import random
import shutil
import socket
import sqlite3
import subprocess
import threading
import time

import pytest
from click.testing import CliRunner

from conftest import missing, trials
from crowds import ASK, EPSILON, Crowd, checked
from curators import CuratorProcess, median, until, with_dataset
from dither.interfaces.cli.main import main
from dither.ledger import open_ledger

pytestmark = pytest.mark.slow


def test_killed_servers(tmp_path):
    """kill -9 at random moments: acknowledged releases are all there, nothing is spent twice, restart is automatic."""
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=1000)).start()
    crowd = Crowd(server, 4)
    try:
        for _ in range(trials(3, 50)):
            before = len(crowd.answered)
            until(lambda seen=before: len(crowd.answered) > seen + 2)
            time.sleep(random.uniform(0, 0.1))
            server.kill()
            server.start()
        before = len(crowd.answered)
        until(lambda: len(crowd.answered) > before)
    finally:
        crowd.end()
        assert server.stop() == 0
    checked(str(tmp_path / "home" / "ledger.db"), crowd)


def test_killed_postgres(tmp_path, postgres_server):
    """PostgreSQL dies and comes back: the server refuses meanwhile, and goes on by itself."""
    import psycopg

    place = postgres_server.dsn()
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS faults CASCADE")
        connection.execute("CREATE SCHEMA faults")
    place += "?options=-csearch_path%3Dfaults"
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=1000), ledger=place).start()
    crowd = Crowd(server, 3)
    try:
        for _ in range(trials(1, 50)):
            before = len(crowd.answered)
            until(lambda seen=before: len(crowd.answered) > seen + 2)
            postgres_server.kill()
            time.sleep(0.3)
            postgres_server.start()
            until(lambda seen=before: len(crowd.answered) > seen + 4)
    finally:
        crowd.end()
        server.stop()
    assert {payload["code"] for _, payload in crowd.other} <= {"ledger-unavailable"}
    checked(place, crowd)


def test_disk_full(tmp_path):
    """No room for the ledger: a clear refusal, nothing half written, and answers again when there is room."""
    small = tmp_path / "small"
    small.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small]
    if shutil.which("mount") is None or subprocess.run(words, check=False, capture_output=True).returncode:
        missing("needs the right to mount a small file system")
    try:
        server = CuratorProcess(with_dataset(small / "home", epsilon=1000))
        server.log = tmp_path / "log"
        server.start()
        server.token("alice")
        assert server.call("POST", ASK, median(EPSILON), token="alice")[0] == 200
        ballast = small / "ballast"
        with ballast.open("wb", buffering=0) as out, contextlib.suppress(OSError):
            while True:
                out.write(b"x" * 512)
        codes = set()
        for number in range(20):
            _, payload, _ = server.call(
                "POST", ASK, median(EPSILON, request_id=f"f{number}", again=True), token="alice"
            )
            codes.add(payload.get("code"))
        assert "ledger-unavailable" in codes
        until(lambda: server.call("GET", "/healthz", token=None)[0] == 503)
        ballast.unlink()
        until(lambda: server.call("GET", "/healthz", token=None)[0] == 200)
        assert server.call("POST", ASK, median(EPSILON, request_id="after", again=True), token="alice")[0] == 200
        assert server.stop() == 0
        with open_ledger(small / "home" / "ledger.db", create=False) as ledger:
            assert ledger.verify().ok
    finally:
        subprocess.run(["umount", "-l", small], check=False)


def test_drain(tmp_path):
    """SIGTERM: a question under way is answered before the process ends, with exit code 0."""
    server = CuratorProcess(with_dataset(tmp_path / "home"), seconds=2).start()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(server.call("POST", ASK, median(0.5))))
    asking.start()
    until(lambda: server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == 0.5)
    assert server.stop() == 0
    asking.join()
    assert answers[0][0] == 200


def test_restart_keeps_everything(tmp_path):
    """Tokens, budgets, answers and schedules are there after a restart; no second owner is made."""
    server = CuratorProcess(with_dataset(tmp_path / "home")).start()
    server.token("alice")
    server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 0.07})
    first = server.call("POST", ASK, median(0.5), token="alice")[1]
    server.stop()
    tokens = dict(server.tokens)
    server.start()
    try:
        assert server.tokens == tokens
        assert server.call("GET", "/v1/datasets/pay")[1]["answer_seconds"] == 0.07
        again = server.call("POST", ASK, median(0.5), token="alice")[1]
        assert again["releases"] == first["releases"]
        assert again["budget"]["spent"]["epsilon"] == 0.5
    finally:
        server.stop()


def test_backup_and_restore(tmp_path):
    """The documented way: back up while it runs, restore, verify; tokens and budgets are those of the backup."""
    home = with_dataset(tmp_path / "home")
    server = CuratorProcess(home).start()
    server.token("alice")
    first = server.call("POST", ASK, median(0.5), token="alice")[1]
    with open_ledger(home / "ledger.db", create=False) as ledger:
        assert ledger.backup(tmp_path / "ledger.db").ok
    with contextlib.closing(sqlite3.connect(home / "server.db")) as tokens:
        tokens.execute("VACUUM INTO ?", [str(tmp_path / "server.db")])
    server.kill()
    shutil.copytree(home / "datasets", tmp_path / "new" / "datasets")
    shutil.copytree(home / "data", tmp_path / "new" / "data")
    shutil.rmtree(home)
    (tmp_path / "new").rename(home)
    shutil.copy(tmp_path / "ledger.db", home / "ledger.db")
    shutil.copy(tmp_path / "server.db", home / "server.db")
    assert CliRunner().invoke(main, ["ledger", "verify", str(home / "ledger.db")]).exit_code == 0
    server.start()
    try:
        assert server.call("POST", ASK, median(0.5), token="alice")[1]["releases"] == first["releases"]
    finally:
        server.stop()


def _serve(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["serve", "--port", "0", *map(str, words)])
    assert "token" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_bad_starts(tmp_path):
    """Port in use, a folder that can't be one, a ledger of a newer version: one clear line, exit code 2."""
    (tmp_path / "pay.csv").write_text("pay\n1\n")
    for other in ("pay.csv", "nowhere"):
        code, output = _serve("--home", tmp_path / "home", "--data", tmp_path / other)
        assert (code, other in output) == (2, True), output
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, output = _serve("--home", tmp_path / "a", "--port", taken.getsockname()[1])
    assert (code, "in use" in output) == (2, True)
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("")
    code, output = _serve("--home", tmp_path / "file" / "home")
    assert (code, "home must" in output) == (2, True)
    home = with_dataset(tmp_path / "home")
    open_ledger(home / "ledger.db").close()
    with contextlib.closing(sqlite3.connect(home / "ledger.db", isolation_level=None)) as connection:
        connection.execute("UPDATE dither_ledger SET version = 99")
    code, output = _serve("--home", home)
    assert (code, "newer" in output or "version" in output) == (2, True)
    code, output = _serve("--home", tmp_path / "b", "--ledger", "postgresql://127.0.0.1:1/nothing")
    assert code == 2
    assert _serve("--home", tmp_path / "c", "--answer-seconds", "0")[0] == 2
    assert _serve("--home", tmp_path / "c", "--rate", "0")[0] == 2
    assert _serve("--home", tmp_path / "c", "--host", "no.such.host.invalid")[0] == 2


def test_demo_answers(tmp_path):
    """--demo: generated data, tokens for both roles, and an answer."""
    server = CuratorProcess(tmp_path / "home", "--demo").start()
    try:
        assert set(server.tokens) == {"owner", "analyst"}
        until(lambda: server.call("GET", "/healthz", token=None)[0] == 200)
        names = [one["name"] for one in server.call("GET", "/v1/datasets", token="analyst")[1]["datasets"]]
        assert names == ["friends", "payroll"]
        body = {"query": {"kind": "triangles"}, "epsilon": 1}
        status, payload, _ = server.call("POST", "/v1/datasets/friends/releases", body, token="analyst")
        assert status == 200, payload
        sql = {"sql": "SELECT job, median(total_pay) FROM payroll GROUP BY job", "epsilon": 1}
        assert server.call("POST", "/v1/datasets/payroll/releases", sql, token="analyst")[0] == 200
    finally:
        assert server.stop() == 0
