"""The examples for running a curator, tried as far as a test can: nginx with TLS in front, the systemd unit."""

import re
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

import dither as dt
from conftest import missing
from curators import CuratorProcess, certificate, median, until, with_dataset

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def proxied(tmp_path):
    """A curator behind nginx as the example configures it, at other places: (curator, https address, certificate)."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        missing("needs nginx (Debian: nginx-light)")
    chain, key = certificate(tmp_path)
    curator = CuratorProcess(with_dataset(tmp_path / "home", epsilon=10)).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = (EXAMPLES / "nginx.conf").read_text()
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8080", f"127.0.0.1:{curator.port}"),
        ("/etc/dither/chain.pem", str(chain)),
        ("/etc/dither/key.pem", str(key)),
        ("/var/log/nginx/dither.log", str(tmp_path / "access.log")),
    ):
        assert old in text
        text = text.replace(old, new)
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off;\nworker_processes 1;\npid {tmp_path}/nginx.pid;\nerror_log {tmp_path}/error.log;\n"
        f"user root;\nevents {{}}\nhttp {{\n{paths}{text}\n}}\n"
    )
    process = subprocess.Popen(
        [nginx, "-p", tmp_path, "-e", tmp_path / "error.log", "-c", tmp_path / "nginx.conf"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, process.stderr.read()
        yield curator, f"https://127.0.0.1:{port}", chain, tmp_path / "access.log"
    finally:
        process.terminate()
        process.wait(300)
        process.stderr.close()
        curator.stop()


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_behind_nginx(proxied):
    """Questions, jobs, refusals and the page come through, encrypted; the log has no token."""
    curator, address, chain, log = proxied
    session = dt.connect(address, token=curator.tokens["owner"], dataset="pay", certificate=str(chain))
    assert session.ask(dt.Median("pay"), epsilon=0.5).loss == dt.Loss(0.5)
    assert session.ask(dt.Median("pay"), epsilon=0.25, wait=False).loss == dt.Loss(0.25)
    with pytest.raises(dt.BudgetExceeded):
        session.ask(dt.Median("pay"), epsilon=50)
    import httpx

    with httpx.Client(base_url=address, verify=ssl.create_default_context(cafile=chain)) as client:
        page = client.get("/")
        assert "trusted-types" in page.headers["content-security-policy"]
        assert page.headers["strict-transport-security"]
        response = client.post(
            "/v1/datasets/pay/releases",
            content=b"x" * 300_000,
            headers={
                "Authorization": f"Bearer {curator.tokens['owner']}",
                "Content-Type": "application/json",
            },
        )
        assert (response.status_code, response.json()["code"]) == (413, "too-large")
        limited = [client.get("/v1/me").status_code for _ in range(150)]
        assert set(limited) <= {401, 429}
        assert 429 in limited
    written = log.read_text()
    assert "/v1/datasets/pay/releases" in written
    assert not any(secret in written for secret in curator.tokens.values())


def test_a_slow_answer_comes_through(proxied):
    """A client waits through the proxy until the slot ends."""
    curator, address, chain, _ = proxied
    curator.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 3})
    session = dt.connect(address, token=curator.tokens["owner"], dataset="pay", certificate=str(chain))
    releases: list[object] = []
    asking = threading.Thread(target=lambda: releases.append(session.ask(dt.Median("pay"), epsilon=0.125)))
    asking.start()
    asking.join()
    assert releases
    assert curator.call("POST", "/v1/datasets/pay/releases", median(0.125))[0] == 200


def test_the_systemd_unit(tmp_path):
    """systemd finds nothing wrong with it, once its command is there."""
    verify = shutil.which("systemd-analyze")
    if verify is None:
        missing("needs systemd-analyze (Debian: systemd)")
    text = (EXAMPLES / "dither.service").read_text()
    command = re.search(r"^ExecStart=(\S+)", text, re.MULTILINE)[1]
    stand_in = shutil.which("true")
    (tmp_path / "dither.service").write_text(text.replace(command, stand_in))
    process = subprocess.run(
        [verify, "verify", tmp_path / "dither.service"], capture_output=True, text=True, check=False
    )
    about = [line for line in (process.stdout + process.stderr).splitlines() if "dither" in line]
    assert (process.returncode, about) == (0, [])
    assert "LimitCORE=0" in text  # a core dump would hold records
    assert re.search(r"^LimitNOFILE=65536$", text, re.MULTILINE)  # what the server raises its own limit to


def test_the_container_file_names_what_exists():
    """Extras that are declared, options that ``serve`` has, an address that answers without a token."""
    text = (EXAMPLES / "Containerfile").read_text()
    project = (EXAMPLES.parent / "pyproject.toml").read_text()
    for extra in re.search(r"/src\[([a-z,]+)\]", text)[1].split(","):
        assert f"\n{extra} = [" in project
    from dither.interfaces.cli.serve import serve

    options = {word for one in serve.params for word in one.opts}
    assert set(re.findall(r'"(--[a-z-]+)"', text)) <= options
    assert "/healthz" in text
    assert "USER dither" in text
