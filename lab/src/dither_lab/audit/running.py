"""Runs checks on several cores and gathers what they show."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from dither_lab.audit.checks import FALSE_ALARM, METHODS, Check, Effort, Evidence

TRIES = 3
"""How often a pool is begun anew after one of its processes has died."""
Progress = Callable[[str, int, int], None]
"""(key, done, all) after each check."""


@dataclass(frozen=True)
class Ran:
    """A check with what it has shown, and how long that took."""

    check: Check
    result: Evidence
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        check = self.check
        return {
            "key": check.key,
            "subject": check.subject,
            "mechanism": check.mechanism,
            "noise": check.noise,
            "detail": check.detail,
            "kind": check.method,
            "proof": check.proof,
            "seconds": round(self.seconds, 3),
            **self.result.to_dict(),
        }


@dataclass(frozen=True)
class AuditReport:
    """A whole audit."""

    ran: list[Ran]
    quick: bool
    seconds: float
    false_alarm: float = FALSE_ALARM
    """The probability that sound code has a finding."""
    mutants: bool = False
    """True if everything here was broken on purpose: then each one must be found."""
    findings: list[Ran] = field(init=False)

    def __post_init__(self) -> None:
        matches = [check for check in self.ran if not check.result.holds and (check.result.was_run or not self.mutants)]
        object.__setattr__(self, "findings", matches)

    @property
    def passed(self) -> bool:
        """No finding; or every mutant found."""
        return len(self.findings) == (len(self.ran) if self.mutants else 0)

    @property
    def counts(self) -> dict[str, int]:
        """Checks of each method."""
        counted = Counter(check.check.method for check in self.ran)
        return {method: counted[method] for method in METHODS if counted[method]}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "passed": self.passed,
            "mutants": self.mutants,
            "sabotage": self.mutants,
            "quick": self.quick,
            "seconds": round(self.seconds, 1),
            "false_alarm_probability": self.false_alarm,
            "checks": len(self.ran),
            "kinds": self.counts,
            "findings": [finding.check.key for finding in self.findings],
            "results": [check.to_dict() for check in self.ran],
        }


def run_checks(
    checks: Sequence[Check],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    false_alarm: float = FALSE_ALARM,
    mutants: bool = False,
) -> AuditReport:
    """Run checks in a pool of processes; those that fail to run are findings."""
    begun = time.monotonic()
    sampled = max(sum(check.method == "black-box" for check in checks), 1)
    effort = Effort(quick, false_alarm / sampled)
    count = min(workers or len(os.sched_getaffinity(0)), len(checks))
    results: dict[str, Ran] = {}
    if count <= 1:
        for number, check in enumerate(checks, 1):
            results[check.key] = Ran(check, *timed(check, effort))
            if progress is not None:
                progress(check.key, number, len(checks))
    else:
        by_key = {check.key: check for check in checks}

        def record(done: list[tuple[str, Evidence, float]]) -> None:
            for key, result, seconds in done:
                results[key] = Ran(by_key[key], result, seconds)
                if progress is not None:
                    progress(key, len(results), len(checks))

        for _ in range(TRIES):
            left = [key for key in by_key if key not in results]
            if left:
                _in_pool(left, count, effort, record, mutants=mutants)
        for key, check in by_key.items():
            # Nothing was shown where a process died again and again.
            results.setdefault(
                key, Ran(check, Evidence(False, note="could not be run: its process died", was_run=False), 0.0)
            )
    return AuditReport([results[check.key] for check in checks], quick, time.monotonic() - begun, false_alarm, mutants)


def _in_pool(
    keys: list[str],
    count: int,
    effort: Effort,
    record: Callable[[list[tuple[str, Evidence, float]]], None],
    *,
    mutants: bool,
) -> None:
    """Runs what can be run; a process that dies takes the others with it, and leaves the rest to the next try."""
    # Fresh interpreters: threads of engines and compiled kernels do not survive a fork.
    with contextlib.suppress(BrokenProcessPool), ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_by_key, part, effort, mutants) for part in _parts(keys, count)]
        for done in as_completed(waiting):
            record(done.result())


def _parts(keys: list[str], workers: int) -> list[list[str]]:
    """The checks in small parts for several processes; neighbours in the list share proofs and stay together."""
    size = max(len(keys) // (40 * workers), 1)
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def _by_key(keys: list[str], effort: Effort, mutants: bool) -> list[tuple[str, Evidence, float]]:
    from dither_lab.audit.catalogue import catalogue  # noqa: PLC0415  (loaded once in each worker)
    from dither_lab.audit.mutants import mutants as all_mutants  # noqa: PLC0415

    known = {check.key: check for check in all_mutants()} if mutants else catalogue()
    return [(key, *timed(known[key], effort)) for key in keys]


def timed(check: Check, effort: Effort) -> tuple[Evidence, float]:
    """One check; what cannot be run is a finding, because nothing was shown."""
    begun = time.monotonic()
    try:
        result = check.run(effort)
    except Exception as error:  # noqa: BLE001  (audits run on made-up data: the text may be shown)
        result = Evidence(False, note=f"could not be run: {type(error).__name__}: {error}"[:300], was_run=False)
    return result, time.monotonic() - begun
