"""Releases a second of a server with 16 analysts, against the same server answering a constant: what privacy costs.

Run: python benchmarks/server.py [--seconds 10] [--slot 0.01]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from curators import CuratorProcess, median, together, with_dataset

ANALYSTS = 16


def rate(server: CuratorProcess, path: str, seconds: float, *, ask: bool) -> float:
    """Answers a second to all analysts together."""
    end = time.monotonic() + seconds

    def analyst(_: int) -> int:
        count = 0
        while time.monotonic() < end:
            body = median(0.001, again=True) if ask else None
            status, _told, _headers = server.call("POST" if ask else "GET", path, body)
            count += status == 200
        return count

    return sum(together(analyst, ANALYSTS)) / seconds


def main() -> None:
    """Print both rates and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--slot", type=float, default=0.01)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = CuratorProcess(with_dataset(Path(folder) / "home", epsilon=10_000), seconds=chosen.slot).start()
        try:
            rate(server, "/v1/datasets/pay/releases", 2.0, ask=True)
            constant = rate(server, "/v1/me", chosen.seconds, ask=False)
            releases = rate(server, "/v1/datasets/pay/releases", chosen.seconds, ask=True)
        finally:
            server.stop()
    print(f"constant {constant:.0f}/s, releases {releases:.1f}/s, ratio {constant / releases:.1f}")


if __name__ == "__main__":
    main()
