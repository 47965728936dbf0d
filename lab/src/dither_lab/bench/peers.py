"""The peers we are measured beside, each in an environment of its own that the command sets up.

A peer that cannot be installed or does not start is reported with the reason in all its rows, never left out silently.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dither_lab.bench.design import OURS

INSTALL_SECONDS = 900.0
CHANGE_COSTS_TWICE = "adding or removing one record; changing one costs twice the epsilon"


@dataclass(frozen=True)
class Peer:
    """A package, what must be installed with it, and what its guarantee is about."""

    name: str
    package: str
    module: str
    neighbours: str
    extras: tuple[str, ...] = ()
    heavy: bool = False
    """Its installation takes minutes: a quick run measures it only where it is there already."""


PEERS = {
    peer.name: peer
    for peer in (
        Peer("OpenDP", "opendp", "opendp.prelude", f"explicit: {CHANGE_COSTS_TWICE}", ("numpy",)),
        # Importing it imports its models, which break with scikit-learn of today.
        Peer(
            "diffprivlib",
            "diffprivlib",
            "diffprivlib",
            "not stated; its quantiles are epsilon-DP for changing one record",
            ("scikit-learn<1.6", "numpy"),
        ),
        Peer("PyDP", "python-dp", "pydp", f"not stated; taken as {CHANGE_COSTS_TWICE}", ("numpy",)),
        Peer(
            "Tumult",
            "tmlt.core",
            "tmlt.core.measurements.noise_mechanisms",
            f"explicit: {CHANGE_COSTS_TWICE}",
            ("numpy",),
            heavy=True,
        ),
        Peer("dp-accounting", "dp-accounting", "dp_accounting.pld.privacy_loss_distribution", "any", ("numpy",)),
        Peer("igraph", "igraph", "igraph", "not private", ("numpy",)),
        Peer("networkit", "networkit", "networkit", "not private", ("numpy",)),
        Peer("DuckDB", "duckdb", "duckdb", "not private", ("numpy",)),
    )
}


@dataclass(frozen=True)
class Standing:
    """Whether a peer can be measured, and if not, why."""

    name: str
    python: Path | None
    version: str | None = None
    reason: str | None = None

    @property
    def ready(self) -> bool:
        """True if it can be measured."""
        return self.reason is None


def default_home() -> Path:
    """The user's cache, or what DITHER_BENCH_PEERS names."""
    named = os.environ.get("DITHER_BENCH_PEERS")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "dither" / "peers"


def ensure(peer: Peer, home: Path, *, quick: bool = False, timeout: float = INSTALL_SECONDS) -> Standing:
    """The peer's environment, set up if it is not there yet."""
    folder = home / peer.name.lower()
    python, marker = folder / "bin" / "python", folder / "ready"
    if not marker.exists():
        if quick and peer.heavy:
            return Standing(peer.name, None, reason="left out by --quick: its installation takes minutes")
        reason = _install(peer, folder, python, timeout)
        if reason is not None:
            return Standing(peer.name, None, reason=reason)
        marker.touch()
    probe = (
        f"import importlib, importlib.metadata as m; importlib.import_module({peer.module!r}); "
        f"print(m.version({peer.package!r}))"
    )
    try:
        result = subprocess.run(
            [str(python), "-W", "ignore", "-c", probe],
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Standing(peer.name, None, reason=f"does not start: {type(error).__name__}")
    if result.returncode != 0:
        return Standing(peer.name, None, reason=f"does not start: {last_line(result.stderr)}")
    return Standing(peer.name, python, version=result.stdout.strip().splitlines()[-1])


def ensure_all(
    names: Iterable[str], home: Path, *, quick: bool, tell: Callable[[str], None] = lambda text: None
) -> dict[str, Standing]:
    """Standings by name, two set up at a time; our own way always stands."""

    def one(name: str) -> Standing:
        tell(f"peer {name}")
        return ensure(PEERS[name], home, quick=quick)

    wanted = sorted(set(names) - {OURS})
    with ThreadPoolExecutor(2) as pool:
        standings = {standing.name: standing for standing in pool.map(one, wanted)}
    return {OURS: Standing(OURS, Path(sys.executable)), **standings}


def clean_environment() -> dict[str, str]:
    """Ours, without what would bring our packages into another environment."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def last_line(text: str) -> str:
    """What a program said last, errors of pip before anything else."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no message"])[-1][:200]


def _install(peer: Peer, folder: Path, python: Path, timeout: float) -> str | None:
    """None, or the reason why it could not be installed."""
    try:
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.package, *peer.extras],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env=clean_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"pip took longer than {timeout:.0f} s"
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no environment: {type(error).__name__}"
    return None if done.returncode == 0 else f"pip: {last_line(done.stderr)}"
