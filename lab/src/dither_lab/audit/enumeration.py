"""Small universes, looked at completely: every dataset, every neighbour, every output."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, TypeVar

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic
from dither_lab.audit.divergence import Divergence
from dither_lab.audit.laws.registry import law_of, published

Records = tuple[int, ...]
Output = TypeVar("Output")


@dataclass(frozen=True)
class Violation:
    """A pair of neighbours for which a claim does not hold."""

    claim: str
    here: Records
    there: Records
    excess: float


def datasets(values: Sequence[int], records: int) -> list[Records]:
    """Every dataset of so many records, as sorted tuples: statistics do not see the order."""
    return list(combinations_with_replacement(sorted(values), records))


def neighbours(here: Records, values: Sequence[int]) -> Iterator[Records]:
    """Every dataset that differs in one record."""
    seen = {here}
    for index in range(len(here)):
        for value in values:
            there = tuple(sorted((*here[:index], value, *here[index + 1 :])))
            if there not in seen:
                seen.add(there)
                yield there


def as_column(records: Records, grid: Grid) -> Column:
    """A dataset as private data."""
    return Column(np.array(records, dtype=np.int64), grid)


def ladder_violations(statistic: Statistic, values: Sequence[int], records: int, rungs: int) -> list[Violation]:
    """Where the two axioms of a ladder fail; empty if they hold on the whole universe."""
    universe = datasets(values, records)
    columns = {x: as_column(x, statistic.records_on) for x in universe}
    value = {x: statistic.value(column) for x, column in columns.items()}
    climbed = {
        x: [int(u) for u in statistic.ladder(column).sensitivity_at_distance(0, rungs + 1)]
        for x, column in columns.items()
    }
    results = []
    for here in universe:
        for there in neighbours(here, values):
            moved = abs(value[here] - value[there])
            if moved > climbed[here][0]:
                results.append(Violation("U_0 covers one change", here, there, moved - climbed[here][0]))
            results += [
                Violation(f"U_{k}(x) <= U_{k + 1}(y)", here, there, climbed[here][k] - climbed[there][k + 1])
                for k in range(rungs)
                if climbed[here][k] > climbed[there][k + 1]
            ]
    return results


def output_law(prepared: Prepared, data: Any) -> dict[int, float]:
    """The probabilities of all answers of a mechanism that draws by cost, intervals aside."""
    law: Any = law_of(prepared)
    results: dict[int, float] = law.costs(prepared, published(prepared), data).law()
    return results


def largest_log_ratio(here: dict[Output, float], there: dict[Output, float]) -> float:
    """The pure privacy loss between two finite output laws."""
    if here.keys() != there.keys():
        return math.inf
    return max(abs(math.log(here[point] / there[point])) for point in here)


def worst_log_ratio(
    law_of: Callable[[Records], dict[Output, float]], values: Sequence[int], universe: Iterable[Records]
) -> tuple[float, Records, Records]:
    """The largest pure loss over a whole universe, and the pair that shows it."""
    laws: dict[Records, dict[Output, float]] = {}

    def law(x: Records) -> dict[Output, float]:
        if x not in laws:
            laws[x] = law_of(x)
        return laws[x]

    return max(
        (largest_log_ratio(law(here), law(there)), here, there)
        for here in universe
        for there in neighbours(here, values)
    )


def noise_divergence(prepared: Prepared, here: Any, there: Any) -> Divergence:
    """The divergence between the outputs of an added-noise mechanism on two datasets, before rounding."""
    law: Any = law_of(prepared)
    divergence: Divergence = law.divergence(prepared, published(prepared), here, there)
    return divergence
