"""Analysts who ask a server on and on, whatever happens to it, and what must be true afterwards."""

import threading
import time

from curators import CuratorProcess, median
from dither.ledger import open_ledger

ASK = "/v1/datasets/pay/releases"
EPSILON = 0.0625
"""A power of two, so that sums are exact."""


class Crowd:
    """Analysts who ask on and on, and repeat a request until it is answered."""

    def __init__(self, server: CuratorProcess, analysts: int) -> None:
        self.server = server
        self.answered: dict[str, dict] = {}
        self.other: list[tuple[int, dict]] = []
        self._stop = threading.Event()
        for number in range(analysts):
            server.token(f"analyst{number}")
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(analysts)]
        for one in self._threads:
            one.start()

    def _ask(self, number: int) -> None:
        count = 0
        while not self._stop.is_set():
            request = f"{number}-{count}"
            try:
                body = median(EPSILON, request_id=request, again=True)
                status, payload, _ = self.server.call("POST", ASK, body, token=f"analyst{number}", timeout=20)
            except OSError:
                time.sleep(0.05)
                continue
            except Exception:  # noqa: BLE001  (a connection that died in the middle of an answer)
                continue
            if status == 200:
                self.answered[request] = payload
                count += 1
            else:
                self.other.append((status, payload))
                time.sleep(0.05)

    def end(self) -> None:
        """Let them finish."""
        self._stop.set()
        for one in self._threads:
            one.join()


def checked(place: str, crowd: Crowd) -> None:
    """The ledger verifies, every acknowledged answer is in it as it was told, no request was charged twice."""
    with open_ledger(place, create=False) as ledger:
        assert ledger.verify().ok
        entries = ledger.entries("pay")
        spent = ledger.spent("pay").epsilon
    charges = {entry.number: entry.request for entry in entries if entry.kind == "charge"}
    assert len(set(charges.values())) == len(charges)
    assert spent == EPSILON * len(charges)
    stored = {charges[entry.charge]: entry.body["release"] for entry in entries if entry.kind == "release"}
    for request, payload in crowd.answered.items():
        assert stored[request]["answers"][0][0]["value"] == payload["releases"][0]["value"]
    assert len(crowd.answered) <= len(charges)
