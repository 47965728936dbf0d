"""A server in a process of its own, with datasets made for tests of the page."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCHEMA = """[dataset]
source = "{name}.csv"
rows = 2000

[budget]
epsilon = {epsilon}

[columns.pay]
type = "real"
bounds = [0, 1000]

[columns.age]
type = "integer"
bounds = [0, 120]

[columns.job]
type = "category"
values = ["clerk", "nurse"]
"""


class Curator:
    """A server, its owner's token, and datasets made for a test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        (self.home / "data").mkdir(parents=True)
        command = [
            sys.executable,
            "-m",
            "dither",
            "serve",
            "--json",
            "--port",
            "0",
            "--home",
            str(self.home),
            "--answer-seconds",
            "0.1",
            "--rate",
            "1000",
        ]
        self._errors = (folder / "server.log").open("w")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._errors, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, (folder / "server.log").read_text()
        payload = json.loads(line)
        self.address, self.owner = payload["address"], payload["tokens"]["owner"]

    def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        """One request to the API, which must succeed."""
        import httpx

        answer = httpx.request(
            method,
            self.address.rstrip("/") + path,
            json=body,
            timeout=60,
            headers={"Authorization": f"Bearer {token or self.owner}"},
        )
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.text else None

    def source(self, name: str) -> None:
        """Two thousand generated people: half clerks who earn 300 to 400, half nurses who earn 600 to 700."""
        rows = (
            f"{300 + 300 * (row % 2) + row % 100},{20 + row % 40},{('clerk', 'nurse')[row % 2]}" for row in range(2000)
        )
        (self.home / "data" / f"{name}.csv").write_text("pay,age,job\n" + "\n".join(rows) + "\n")

    def dataset(self, name: str, *, epsilon: float = 10.0, answer_seconds: float | None = None) -> str:
        """Register a dataset without the page."""
        self.source(name)
        body: dict[str, Any] = {"name": name, "schema": SCHEMA.format(name=name, epsilon=epsilon)}
        if answer_seconds is not None:
            body["answer_seconds"] = answer_seconds
        self.call("POST", "/v1/datasets", body)
        return name

    def analyst(self, name: str, **limits: Any) -> str:
        """The token of a new analyst."""
        return str(self.call("POST", "/v1/tokens", {"name": name, "role": "analyst", **limits})["token"])

    def spent(self, dataset: str) -> float:
        """What was spent of a dataset's budget."""
        return float(self.call("GET", f"/v1/datasets/{dataset}/budget")["spent"]["epsilon"])

    def history(self, dataset: str) -> list[dict[str, Any]]:
        """Everything that was asked."""
        return list(self.call("GET", f"/v1/datasets/{dataset}/releases")["releases"])

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(30)
        self._errors.close()
