"""Attacks: choosing a set of answers that tells two datasets apart.

A histogram learns where the answers of the two sides differ; a likelihood-ratio attack knows it from exact laws; a
score attack is given a number by which to sort answers.  All three end with the same question: sorted from the most to
the least telling, how many answers should the event hold?  Few are telling but seldom seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither_lab.audit.blackbox import Aim, Attack, Event, Outputs

Law = Mapping[Any, float]
"""The probabilities of all answers."""


@dataclass(frozen=True)
class HistogramAttack(Attack):
    """Sorts answers into cells and tests the cells that were seen too often on one side.

    features: numbers or categories (one, or a tuple of them) that are made of an answer; by default the answer itself.
    A tuple makes joint cells: (value, lower, upper) is an answer with its interval.
    bins: at most so many cells per feature; features with fewer different values get a cell for each.

    Guarantee  None needed: events are chosen on samples that are not tested.
    Cost       O(samples log samples).
    """

    features: Callable[[Any], Any] | None = None
    bins: int = 48
    learns = True

    def __post_init__(self) -> None:
        if self.bins < 2:
            raise InvalidArgument("bins", self.bins, "must be at least 2")

    def events(self, here: Outputs, there: Outputs, aim: Aim) -> list[Event]:
        seen = [self._table(outputs) for outputs in (here, there)]
        width = len(seen[0][0])
        cuts = [_cuts([row[i] for table in seen for row in table], self.bins) for i in range(width)]
        counts = []
        for table in seen:
            cells, often = np.unique(_cells(table, cuts), axis=0, return_counts=True)
            counts.append({tuple(cell): int(times) for cell, times in zip(cells.tolist(), often, strict=True)})
        results = []
        for reverse in (False, True):
            likely, rare = reversed(counts) if reverse else counts
            chosen = _most_telling(likely, rare, len(here), aim)
            results.append(Event(self._name(chosen, cuts), self._membership(chosen, cuts), reverse))
        return results

    def _table(self, outputs: Outputs) -> list[tuple[Any, ...]]:
        rows = outputs if self.features is None else [self.features(output) for output in outputs]
        return [tuple(row) if isinstance(row, (tuple, list, np.ndarray)) else (row,) for row in rows]

    def _membership(self, chosen: set[Any], cuts: list[_Cut]) -> Callable[[Outputs], NDArray[np.bool_]]:
        return lambda outputs: np.array(
            [tuple(cell) in chosen for cell in _cells(self._table(outputs), cuts).tolist()], dtype=np.bool_
        )

    def _name(self, chosen: set[Any], cuts: list[_Cut]) -> str:
        cells = ["(" + ", ".join(cut.name(code) for code, cut in zip(cell, cuts, strict=True)) + ")" for cell in chosen]
        return " or ".join(sorted(cells)[:3]) + (f" or {len(cells) - 3} more cells" if len(cells) > 3 else "")


@dataclass(frozen=True)
class _Cut:
    """How one feature falls into numbered cells; -1 is whatever was not foreseen, a refusal among it."""

    categories: tuple[Any, ...] | None
    edges: NDArray[np.float64]

    def codes(self, column: list[Any]) -> NDArray[np.int64]:
        if self.categories is not None:
            number = {value: code for code, value in enumerate(self.categories)}
            return np.array([number.get(value, -1) for value in column], dtype=np.int64)
        values = np.array([math.nan if value is None else float(value) for value in column])
        return np.where(np.isnan(values), -1, np.searchsorted(self.edges, values, side="right"))

    def name(self, code: int) -> str:
        if code < 0:
            return "anything else"
        if self.categories is not None:
            return repr(self.categories[code])
        ends = [-math.inf, *self.edges.tolist(), math.inf]
        return f"{ends[code]:.6g} to {ends[code + 1]:.6g}"


def _cuts(column: list[Any], bins: int) -> _Cut:
    different = set(column)
    if len(different) <= bins:
        return _Cut(tuple(sorted(different, key=repr)), np.zeros(0))
    try:
        values = np.array([float(value) for value in column if value is not None])
    except (TypeError, ValueError):
        raise InvalidArgument("features", len(different), f"must be numbers, or at most {bins} categories") from None
    return _Cut(None, np.unique(np.quantile(values, np.linspace(0.0, 1.0, bins + 1)[1:-1])))


def _cells(table: list[tuple[Any, ...]], cuts: list[_Cut]) -> NDArray[np.int64]:
    return np.stack([cut.codes([row[i] for row in table]) for i, cut in enumerate(cuts)], axis=1)


def _most_telling(likely: dict[Any, int], rare: dict[Any, int], runs: int, aim: Aim) -> set[Any]:
    """The cells, taken by falling ratio, that would have given the best bound on these very samples."""
    cells = sorted(likely.keys() | rare.keys(), key=lambda c: (-(likely.get(c, 0) + 1) / (rare.get(c, 0) + 1), c))
    often = np.cumsum([likely.get(cell, 0) for cell in cells])
    seldom = np.cumsum([rare.get(cell, 0) for cell in cells])
    bounds = [aim.bound(int(p), int(q), runs) for p, q in zip(often, seldom, strict=True)]
    return set(cells[: int(np.argmax(bounds)) + 1])


@dataclass(frozen=True)
class LikelihoodRatio(Attack):
    """Tests the answers whose exact probabilities differ most: the strongest event there is (Neyman-Pearson).

    here, there: the laws that the answers should have.  If the mechanism is broken they are not the laws that it has,
    which makes the event weaker but never the bound wrong.

    Guarantee  None needed: the events do not depend on samples at all, so all of them are tested.
    """

    here: Law
    there: Law
    learns = False

    def events(self, here: Outputs, there: Outputs, aim: Aim) -> list[Event]:  # noqa: ARG002
        results = []
        for reverse in (False, True):
            likely, rare = (self.there, self.here) if reverse else (self.here, self.there)
            answers = sorted(likely.keys() | rare.keys(), key=lambda z: (-_log_ratio(likely, rare, z), str(z)))
            p = np.cumsum([likely.get(z, 0.0) for z in answers])
            q = np.cumsum([rare.get(z, 0.0) for z in answers])
            hits, false_hits = (np.clip(np.rint(aim.samples * share), 0, aim.samples).astype(int) for share in (p, q))
            bounds = [aim.bound(int(a), int(b)) for a, b in zip(hits, false_hits, strict=True)]
            at = int(np.argmax(bounds))
            least = _log_ratio(likely, rare, answers[at])
            chosen = frozenset(answers[: at + 1])
            results.append(Event(f"log-ratio at least {least:#.4g}", _is_in(chosen), reverse))
        return results


def _log_ratio(likely: Law, rare: Law, answer: Hashable) -> float:
    p, q = likely.get(answer, 0.0), rare.get(answer, 0.0)
    if p == 0.0:
        return -math.inf
    return math.inf if q == 0.0 else math.log(p) - math.log(q)


def _is_in(chosen: frozenset[Hashable]) -> Callable[[Outputs], NDArray[np.bool_]]:
    return lambda outputs: np.array([output in chosen for output in outputs], dtype=np.bool_)


@dataclass(frozen=True)
class Score(Attack):
    """Sorts answers by a number, for example an exact log-likelihood ratio of densities, and learns only the threshold.

    score: answers -> numbers; large where the first dataset is the likelier.
    """

    score: Callable[[Outputs], NDArray[np.float64]]
    learns = True

    def events(self, here: Outputs, there: Outputs, aim: Aim) -> list[Event]:
        scores = np.sort(self.score(here)), np.sort(self.score(there))
        tried = np.unique(np.quantile(np.concatenate(scores), np.linspace(0.0, 1.0, 512), method="nearest"))
        # From the threshold on the first dataset is the likelier, below it the second.
        above = [len(side) - np.searchsorted(side, tried) for side in scores]
        below = [np.searchsorted(side, tried) for side in scores]
        first = [aim.bound(int(a), int(b), len(here)) for a, b in zip(*above, strict=True)]
        second = [aim.bound(int(b), int(a), len(here)) for a, b in zip(*below, strict=True)]
        high, low = float(tried[int(np.argmax(first))]), float(tried[int(np.argmax(second))])
        return [
            Event(f"score at least {high:.6g}", lambda outputs: self.score(outputs) >= high),
            Event(f"score below {low:.6g}", lambda outputs: self.score(outputs) < low, reverse=True),
        ]


@dataclass(frozen=True)
class Direction(Attack):
    """Learns along which direction answers of many numbers differ, and then a threshold on that line.

    Every number is brought to a common size by its median and spread and bent so that heavy tails do not drown the
    rest; what is missing is far from everything that is not.

    Guarantee  None needed: events are chosen on samples that are not tested.
    """

    features: Callable[[Any], Any] | None = None
    learns = True

    def events(self, here: Outputs, there: Outputs, aim: Aim) -> list[Event]:
        tables = [self._numbers(outputs) for outputs in (here, there)]
        together = np.concatenate(tables)
        middle = np.median(together, axis=0)
        spread = np.median(np.abs(together - middle), axis=0)
        spread[spread == 0.0] = np.abs(together - middle).max(axis=0)[spread == 0.0]
        spread[spread == 0.0] = 1.0

        def bent(table: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.arctan((table - middle) / spread))

        first, second = (bent(table) for table in tables)
        # Fisher's direction with a ridge, so that numbers that move together are not counted twice.
        shared = np.cov(np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)]).T).reshape(
            first.shape[1], first.shape[1]
        )
        ridge = shared + np.eye(len(shared)) * (1e-3 + np.trace(shared) / (10.0 * len(shared)))
        direction = np.linalg.solve(ridge, first.mean(axis=0) - second.mean(axis=0))
        return Score(lambda outputs: bent(self._numbers(outputs)) @ direction).events(here, there, aim)

    def _numbers(self, outputs: Outputs) -> NDArray[np.float64]:
        rows = outputs if self.features is None else [self.features(output) for output in outputs]
        table = np.array(
            [[_number(value) for value in (row if isinstance(row, (tuple, list)) else (row,))] for row in rows]
        )
        return np.asarray(np.clip(table, -1e100, 1e100))


def _number(value: Any) -> float:
    """A number as it is; anything else as a number that no answer is likely to be."""
    return -1e100 if value is None else float(value)
