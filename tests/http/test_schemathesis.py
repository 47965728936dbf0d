"""schemathesis over the OpenAPI document of a running server: no server error, and only what is documented."""

import importlib.util
import subprocess
import sys

import pytest

from conftest import missing, trials
from curators import CuratorProcess, with_dataset

pytestmark = pytest.mark.slow

CONFIGURED = """[parameters]
"path.name" = "pay"

[checks]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422]
"""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "missing_required_header",
    "use_after_free",
    "ignored_auth",
)
"""All but one: what JSON schemas cannot say (which columns there are, what SQL is) may be refused."""


def test_no_server_error(tmp_path):
    """Right and wrong requests to every operation but the one that ends the dataset, with an owner's token."""
    if importlib.util.find_spec("schemathesis") is None:
        missing("needs the package schemathesis")
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=20), seconds=0.01).start()
    (tmp_path / "schemathesis.toml").write_text(CONFIGURED)
    command = [
        sys.executable,
        "-c",
        "from schemathesis.cli import schemathesis; schemathesis()",
        "--config-file",
        str(tmp_path / "schemathesis.toml"),
        "run",
        f"{server.url}/openapi.json",
        "--header",
        f"Authorization: Bearer {server.tokens['owner']}",
        "--checks",
        ",".join(CHECKS),
        "--exclude-operation-id",
        "retire",
        "--exclude-operation-id",
        "revoke_token",
        "--max-examples",
        str(trials(4, 200)),
        "--phases",
        ("fuzzing", "examples,coverage,fuzzing")[trials(0, 1)],
        "--seed",
        "8",
        "--no-color",
        "--suppress-health-check",
        "all",
    ]
    try:
        process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=3_000)
        assert process.returncode == 0, process.stdout[-6_000:] + process.stderr[-2_000:]
        assert " passed" in process.stdout
        assert server.call("GET", "/healthz", token=None)[0] == 200
        lines = server.call("GET", "/metrics")[1].splitlines()
        assert not [one for one in lines if one.startswith("dither_failures_total")]
        assert '"failure"' not in server.logs()
    finally:
        server.stop()
