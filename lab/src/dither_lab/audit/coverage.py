"""What stands behind each claim: proof, enumeration, independent law, attack on answers and mutants, cell by cell.

A cell is a statistic under one relation of neighbours together with a mechanism that serves it.  Everything is counted
from the registries, the catalogue of checks and the list of mutants; only the reasons of ``UNWRITTEN`` are words.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dither.mechanisms.choice import MECHANISMS, applicable
from dither_lab.audit.audited_queries import LAW, MOST_POINTS, STATED, AuditedQuery, audited_queries
from dither_lab.audit.catalogue import catalogue
from dither_lab.audit.checks import Check
from dither_lab.audit.mutants import mutants

UNWRITTEN = (
    f"its answers lie on more than {MOST_POINTS:,} points of a grid, too many to write down a law answer by answer: "
    "answers are attacked, and the same mechanism is enumerated on other statistics"
)
"""Why a cell has no enumeration and no comparison of laws."""
TOO_FEW = "a test refuses on all data of so few records: there is nothing to tell apart"
"""Why a mechanism that serves a statistic is not audited on it."""
_CONSTANT = "one record may move the answer by the global sensitivity on all data, so no data could pass the test"
RULES = {
    "staircase": "it is no single number, or one record moves it less on some data, where noise can be fitted",
    "propose_test": _CONSTANT,
    "stable": _CONSTANT,
    "permute_and_flip": "far reachable values take long to find, and every point would be tried",
    "middle_score": "an extreme, or a rank by its number, has no middle",
}
"""Why a mechanism leaves out statistics that offer what it needs."""
INSTEAD = {
    "s": "a function as users call it: its statistic is enumerated, with its laws, in the first table",
    "p": "a procedure: its mechanisms have rows of their own, and what it adds is computed or listed here",
    "t": "one law, proved and compared answer by answer in the tests: [metric spaces](proofs/metric_spaces.md)",
    "f": "a law or a sum of losses is a formula: it is computed, and there are no data to list or attack",
    "n": "draws nothing by itself: readings are listed, the order of events is traced",
}
"""What stands for a sort of check that something beside statistics has none of."""
_RESTS = {
    "s": (
        *("trimmed_mean", "iqr", "order_statistic", "smallest_sum", "winsorised_mean", "ball_mean", "ask", "kstars"),
        *("ktriangles", "kcliques", "min_cut", "mst_cost", "weighted_min_cut", "mode", "kmeans_cost"),
        *("counting_queries", "count_from"),
    ),
    "p": ("scale", "regression", "kmeans", "gaussian_mixture", "sample_and_aggregate", "cascade", "describe"),
    "t": (
        *("flip_bits", "metric_release", "norm_release", "low_sample_release", "distance_to_property"),
        "randomized_response",
    ),
    "f": (
        *("independent laws", "blunt_power_law", "power_law", "cauchy", "student", "laplace", "gaussian"),
        *("integer laplace", "samplers in rationals", "composition", "filter", "group privacy"),
    ),
    "n": ("session", "graph session", "records", "linked tables", "server"),
}


def instead(name: str) -> str:
    """Which of ``INSTEAD`` it is for a row of ``others``; a law's parameters make no difference.

    >>> instead("cauchy(gamma=2)")
    'f'
    """
    return next(letter for letter, names in _RESTS.items() if name.split("(", maxsplit=1)[0] in names)


@dataclass(frozen=True)
class Cell:
    """A statistic and a mechanism that serves it, and what is known of the two together."""

    subject: str
    mechanism: str
    proofs: tuple[str, ...]
    enumerated: int
    """Checks of all pairs of neighbours of a small universe."""
    laws: int
    """Comparisons of the mechanism's own law with the laboratory's."""
    losses: int
    """Comparisons of the stated rho with what all pairs show."""
    attacked: int
    """Attacks on answers."""
    mutants: int
    """Things broken on purpose in this mechanism that the audit finds."""

    @property
    def explanation(self) -> str:
        """Words, where checks are missing; empty where nothing is."""
        if not self.attacked:
            return TOO_FEW
        return "" if self.enumerated and self.laws else UNWRITTEN


@functools.cache
def _by_cell() -> dict[tuple[str, str], list[Check]]:
    cells: dict[tuple[str, str], list[Check]] = {}
    for check in catalogue().values():
        cells.setdefault((check.subject, check.mechanism), []).append(check)
    return cells


@functools.cache
def _places() -> Counter[str]:
    """What mutants break: the mechanisms, noises and statistics that their details name, and how often."""
    return Counter(
        place.strip() for mutant in mutants() for place in set(re.split(r", | with | without ", mutant.detail)) if place
    )


def mutants_of(name: str) -> int:
    """How many mutants break this mechanism, noise or statistic."""
    return _places()[name]


def cells() -> Iterator[Cell]:
    """Every statistic that is audited, with every mechanism that serves it."""
    for audited in audited_queries():
        for name in applicable(audited.universe(True).statistic):
            yield _cell(audited, name)


def _cell(audited: AuditedQuery, mechanism: str) -> Cell:
    checks = _by_cell().get((audited.name, mechanism), [])
    exhaustive = [check for check in checks if check.method == "exhaustive"]
    details = Counter(check.detail for check in exhaustive)
    proofs = dict.fromkeys([audited.proof, *(check.proof for check in exhaustive if check.detail != STATED)])
    return Cell(
        audited.name,
        mechanism,
        tuple(proof for proof in proofs if proof),
        enumerated=len(exhaustive) - details[LAW] - details[STATED],
        laws=details[LAW],
        losses=details[STATED],
        attacked=sum(check.method == "black-box" for check in checks),
        mutants=mutants_of(mechanism),
    )


def left_out() -> dict[str, list[str]]:
    """The statistics that offer what a mechanism needs and that a public rule of the mechanism leaves out."""
    found: dict[str, list[str]] = {}
    for audited in audited_queries():
        statistic = audited.universe(True).statistic
        served = applicable(statistic)
        for name, mechanism in MECHANISMS.items():
            if isinstance(statistic, mechanism.needs) and name not in served:
                found.setdefault(name, []).append(audited.name)
    return found


def others() -> dict[str, Counter[str]]:
    """Everything else that is audited (procedures, noises, sessions, sources): its checks by method."""
    audited = {query.name for query in audited_queries()}
    counted: dict[str, Counter[str]] = {}
    for check in catalogue().values():
        if check.subject not in audited:
            counted.setdefault(check.subject, Counter())[check.method] += 1
    return counted


def unused() -> list[str]:
    """Mechanisms that no audited statistic is served by."""
    used = {cell.mechanism for cell in cells()}
    return [name for name in MECHANISMS if name not in used]


def found_in_all() -> int:
    """How many things are broken on purpose in all."""
    return sum(1 for _ in mutants())
