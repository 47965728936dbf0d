"""The peers we are measured beside, each in an environment of its own.

    python benchmarks/peers.py            set up what is missing and say what is there
    python benchmarks/peers.py --again    set everything up afresh

Environments live in ``.cache/peers/<name>`` of the project.  A peer that cannot be installed or does not start
is reported with the reason, here and in every table; it is never left out silently.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
HOME = PROJECT / ".cache" / "peers"
WORKERS = Path(__file__).resolve().parent / "workers"


@dataclass(frozen=True)
class Peer:
    """A package, what must be installed with it, and what its guarantee is about."""

    name: str
    package: str
    module: str
    extras: tuple[str, ...]
    neighbours: str

    @property
    def folder(self) -> Path:
        """Where its environment lives."""
        return HOME / self.name

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"


PEERS = {
    peer.name: peer
    for peer in (
        # Its scikit-learn models break with current scikit-learn, and importing it imports them.
        Peer(
            "diffprivlib",
            "diffprivlib",
            "diffprivlib",
            ("scikit-learn<1.6", "numpy"),
            "not stated; its quantiles are epsilon-DP for changing one record",
        ),
        Peer(
            "opendp",
            "opendp",
            "opendp.prelude",
            ("numpy",),
            "explicit: symmetric distance (add/remove); changing one record is distance 2",
        ),
        Peer(
            "pydp",
            "python-dp",
            "pydp",
            ("numpy",),
            "not stated; taken as adding or removing one record, so that changing one costs twice the epsilon",
        ),
    )
}


@dataclass(frozen=True)
class Standing:
    """Whether a peer can be measured, and if not, why."""

    peer: Peer
    version: str | None
    reason: str | None

    @property
    def ready(self) -> bool:
        """True if it can be measured."""
        return self.reason is None

    def __str__(self) -> str:
        return f"{self.peer.name} {self.version}" if self.ready else f"{self.peer.name}: NOT MEASURED, {self.reason}"


def ensure(peer: Peer, *, again: bool = False, timeout: float = 600.0) -> Standing:
    """The peer's environment, set up if it is not there yet."""
    marker = peer.folder / "ready"
    if again and peer.folder.exists():
        shutil.rmtree(peer.folder)
    if not marker.exists():
        reason = _install(peer, timeout)
        if reason is not None:
            return Standing(peer, None, reason)
        marker.touch()
    probe = (
        f"import importlib, importlib.metadata as m; importlib.import_module({peer.module!r}); "
        f"print(m.version({peer.package!r}))"
    )
    found = subprocess.run(
        [str(peer.python), "-W", "ignore", "-c", probe], capture_output=True, text=True, check=False, timeout=120
    )
    if found.returncode != 0:
        return Standing(peer, None, f"does not start: {_last_line(found.stderr)}")
    return Standing(peer, found.stdout.strip().splitlines()[-1], None)


def ensure_all(*, again: bool = False) -> dict[str, Standing]:
    """Every peer's standing, by name."""
    return {name: ensure(peer, again=again) for name, peer in PEERS.items()}


def _install(peer: Peer, timeout: float) -> str | None:
    """None, or the reason why it could not be installed."""
    try:
        venv.create(peer.folder, with_pip=True, clear=True)
        done = subprocess.run(
            [str(peer.python), "-m", "pip", "install", "--quiet", peer.package, *peer.extras],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return f"pip took longer than {timeout:.0f} s"
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no environment: {error}"
    return None if done.returncode == 0 else f"pip: {_last_line(done.stderr)}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no message"])[-1][:200]


class WorkerFailed(Exception):
    """A worker script ended without a result."""


def run_worker(
    python: str | Path, script: str, job: dict[str, Any], arrays: dict[str, np.ndarray] | None = None
) -> dict[str, Any]:
    """Run ``workers/<script>`` with a job (JSON) and arrays (npz); its result (JSON)."""
    with tempfile.TemporaryDirectory() as folder:
        job_file, data_file, result_file = (Path(folder) / name for name in ("job.json", "data.npz", "result.json"))
        job_file.write_text(json.dumps(job))
        np.savez(data_file, **(arrays or {}))
        done = subprocess.run(
            [str(python), "-W", "ignore", str(WORKERS / script), str(job_file), str(data_file), str(result_file)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not result_file.exists():
            raise WorkerFailed(f"{script}: {_last_line(done.stderr)}")
        result: dict[str, Any] = json.loads(result_file.read_text())
        return result


def machine() -> dict[str, Any]:
    """What every result is reported with."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def main() -> int:
    """Set up the peers and print their standing."""
    parser = argparse.ArgumentParser(description="Set up the peers in environments of their own.")
    parser.add_argument("--again", action="store_true", help="set up afresh")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    standings = ensure_all(again=options.again)
    if options.json:
        rows = {
            name: {"version": s.version, "reason": s.reason, "neighbours": s.peer.neighbours}
            for name, s in standings.items()
        }
        print(json.dumps(rows, indent=2))
    else:
        table = Table("peer", "version", "neighbours", title="Peers")
        for name, standing in standings.items():
            shown = standing.version or f"[red]NOT MEASURED: {standing.reason}[/red]"
            table.add_row(name, shown, standing.peer.neighbours)
        Console().print(table)
    return 0 if all(s.ready for s in standings.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
