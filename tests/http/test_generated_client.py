"""A client that others generate from the OpenAPI document reads what a real server answers."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from curators import CuratorProcess, with_dataset
from dither.interfaces.http.openapi import document

GENERATOR = "openapi_python_client"


@pytest.fixture
def generated(tmp_path, monkeypatch):
    """The package that the generator writes."""
    (tmp_path / "openapi.json").write_text(json.dumps(document()))
    words = ["generate", "--path", "openapi.json", "--output-path", "generated_client", "--meta", "none"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", GENERATOR, *words, "--fail-on-warning"],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("generated_client")
    for name in [name for name in sys.modules if name.partition(".")[0] == "generated_client"]:
        del sys.modules[name]


def call(operation, client, **arguments):
    """What the client reads of an answer, as plain values again."""
    endpoint = importlib.import_module(f"generated_client.api.default.{operation}")
    read = endpoint.sync(client=client, **arguments)
    return type(read).__name__, read.to_dict()


@pytest.mark.slow
def test_a_generated_client_reads_real_answers(generated, tmp_path):
    """Answers, quotes, histories and datasets, in the models that the document names."""
    models = importlib.import_module("generated_client.models")
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=100)).start()
    try:
        client = generated.AuthenticatedClient(base_url=server.url, token=server.tokens["owner"], timeout=120)
        queries = (
            models.Median(kind="median", column="pay"),
            models.Histogram(kind="histogram", column="job"),
            [models.Count(kind="count"), models.Quantiles(kind="quantiles", column="pay", q=[0.25, 0.75])],
        )
        for number, query in enumerate(queries):
            name, quoted = call("quote", client, name="pay", body=models.QuoteBody(epsilon=1, query=query))
            assert (name, len(quoted["quotes"])) == ("QuotesAnswer", 2 if isinstance(query, list) else 1)
            body = models.Ask(epsilon=1, query=query, request_id=f"request {number}")
            name, answered = call("ask", client, name="pay", body=body)
            assert (name, answered["request_id"]) == ("ReleasesAnswer", f"request {number}")
            raw = server.call("POST", "/v1/datasets/pay/releases", body.to_dict())[1]
            assert answered["releases"] == raw["releases"]
        name, page = call("history", client, name="pay")
        assert name == "History"
        assert page == server.call("GET", "/v1/datasets/pay/releases")[1]
        name, listed = call("list_datasets", client)
        assert name == "Datasets"
        assert [item["name"] for item in listed["datasets"]] == ["pay"]
        assert call("show_dataset", client, name="pay")[0] == "DatasetAnswer"
        assert call("budget", client, name="nothing")[1]["code"] == "unknown-dataset"
    finally:
        server.stop()
