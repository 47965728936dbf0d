"""What a statistic says about its sensitivity, compared on two neighbouring datasets: either it holds or it is refuted.

NOT private: for the owner, who looks for data that refute a claim before anything is released under it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import Ladder
from dither.sensitivity.levels import HasLevels, Level
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.norms import HasNormLadder
from dither.statistics.statistic import Statistic, VectorStatistic

Dataset = TypeVar("Dataset")
SLACK = 1.0 + 2.0**-30
"""Smooth bounds are compared in floats."""


@dataclass(frozen=True)
class ClaimedFacts:
    """All that is claimed about one dataset, in grid steps; as private as the dataset."""

    values: tuple[int, ...]
    failed: bool
    rungs: tuple[int, ...] = ()
    smooth: tuple[float, ...] = ()
    level: Level | None = None
    local: tuple[int, int] | None = None
    """The Lipschitz proxy and the bound on the local sensitivity."""


def facts_of(
    statistic: Statistic[Data] | VectorStatistic[Data], data: Data, rungs: int, betas: Sequence[Fraction]
) -> ClaimedFacts:
    """What the statistic says about a dataset."""
    values, failed = tuple(int(number) for number in statistic.numbers(data)), statistic.fails(data)
    single = statistic.single
    if isinstance(statistic, HasNormLadder):
        return ClaimedFacts(values, failed, *_structure(statistic.norm_ladder(data), rungs, betas))
    if single is None:
        return ClaimedFacts(values, failed)
    ladder = single.ladder(data)
    return ClaimedFacts(
        values,
        failed,
        *_structure(ladder, rungs, betas),
        single.level_function().level(data) if isinstance(single, HasLevels) else None,
        (single.lipschitz_proxy(data), single.local(data)) if isinstance(single, HasLocalSensitivity) else None,
    )


def _structure(ladder: Ladder, rungs: int, betas: Sequence[Fraction]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Rungs, or the smooth bounds that are claimed in their place: those of a true ladder are true."""
    if ladder.follows_smooth_bound:
        return (), tuple(float(ladder.smooth(beta)) for beta in betas)
    return tuple(int(sensitivity) for sensitivity in ladder.sensitivity_at_distance(0, rungs)), ()


def refuted(
    statistic: Statistic[Data] | VectorStatistic[Data],
    here: ClaimedFacts,
    there: ClaimedFacts,
    betas: Sequence[Fraction],
) -> str | None:
    """The first claim that a pair of neighbours refutes, with its numbers; None: all hold on this pair."""
    if isinstance(statistic, VectorStatistic):
        return next(_broken_norms(statistic, here, there, betas), None)
    single = statistic.single
    step = float(single.answers.step)
    moved = abs(here.values[0] - there.values[0])
    move = _Move(
        step, moved, f"one change moves the value from {step * here.values[0]:g} to {step * there.values[0]:g}"
    )
    for broken in (
        _broken_global(single, move),
        _broken_levels(single, move, here, there),
        _broken_local(single, move, here, there),
        _broken_ladder(move, here, there),
        _broken_smooth(move, here, there, betas),
    ):
        first = next(broken, None)
        if first is not None:
            return first
    return None


@dataclass(frozen=True)
class _Move:
    """What one change does to the value."""

    step: float
    moved: float
    text: str

    def in_units(self, steps: float) -> str:
        """A number of steps in the answers' own units."""
        return f"{self.step * steps:g}"


def _broken_global(statistic: Statistic[Data], move: _Move) -> Iterator[str]:
    if move.moved > statistic.global_sensitivity:
        yield f"global sensitivity: {move.text}, which is more than {move.in_units(statistic.global_sensitivity)}"


def _broken_levels(statistic: Statistic[Data], move: _Move, here: ClaimedFacts, there: ClaimedFacts) -> Iterator[str]:
    if not isinstance(statistic, HasLevels) or here.level is None or there.level is None:
        return
    levels = statistic.level_function().levels
    sensitivity = levels.sensitivity(here.level)
    if move.moved > sensitivity:
        yield f"levels: {move.text}, and level {here.level} has the sensitivity {move.in_units(sensitivity)}"
    if not levels.are_related(here.level, there.level):
        yield f"levels: one change leads from level {here.level} to level {there.level}, which are not related"


def _broken_local(statistic: Statistic[Data], move: _Move, here: ClaimedFacts, there: ClaimedFacts) -> Iterator[str]:
    if not isinstance(statistic, HasLocalSensitivity) or here.local is None or there.local is None:
        return
    (proxy, own), (next_proxy, other) = here.local, there.local
    change = statistic.local_sensitivity_change(proxy)
    if move.moved > own:
        yield f"local sensitivity: {move.text}, which is more than {move.in_units(own)}"
    if abs(proxy - next_proxy) > 1:
        yield f"Lipschitz proxy: one change moves it from {proxy} to {next_proxy}"
    if abs(own - other) > change:
        by = f"from {move.in_units(own)} to {move.in_units(other)}, which is more than {move.in_units(change)}"
        yield f"change of the local sensitivity: one change moves it {by}"


def _broken_ladder(move: _Move, here: ClaimedFacts, there: ClaimedFacts) -> Iterator[str]:
    if here.rungs and move.moved > here.rungs[0]:
        yield f"ladder: {move.text}, and rung 0 is {move.in_units(here.rungs[0])}"
    for k, (own, above) in enumerate(zip(here.rungs, there.rungs[1:], strict=False)):
        if own > above:
            yield f"ladder: rung {k} is {move.in_units(own)} here, and rung {k + 1} there is {move.in_units(above)}"


def _broken_smooth(move: _Move, here: ClaimedFacts, there: ClaimedFacts, betas: Sequence[Fraction]) -> Iterator[str]:
    for beta, own, other in zip(betas, here.smooth, there.smooth, strict=False):
        at = f"at beta = {float(beta):g}"
        if move.moved > own * SLACK:
            yield f"smooth bound: {move.text}, and the bound {at} is {move.in_units(own)}"
        if own > other * math.exp(float(beta)) * SLACK:
            both = f"{move.in_units(own)} here and {move.in_units(other)} there"
            yield f"smooth bound: {at} it is {both}, a factor of more than e^beta"


def _broken_norms(
    statistic: VectorStatistic[Data], here: ClaimedFacts, there: ClaimedFacts, betas: Sequence[Fraction]
) -> Iterator[str]:
    moves = [abs(a - b) for a, b in zip(here.values, there.values, strict=True)]
    parts = [Fraction(item, max(most, 1)) for item, most in zip(moves, statistic.global_sensitivities, strict=True)]
    for norm, result, most in (
        ("l1", sum(parts, Fraction(0)), statistic.l1),
        ("l2 squared", sum((part * part for part in parts), Fraction(0)), statistic.l2_squared),
    ):
        if result > most:
            yield f"global sensitivity: one change moves the values by {float(result / most):g} of what {norm} allows"
    if isinstance(statistic, HasNormLadder):
        units = statistic.norm_units or (1,) * len(moves)
        scaled = [item / unit for item, unit in zip(moves, units, strict=True)]
        length = math.sqrt(sum(item * item for item in scaled)) / SLACK
        moved = sum(scaled) if statistic.norm == "l1" else length
        step = float(statistic.answers[0].step)
        move = _Move(step, moved, f"one change moves the values by {step * moved:g} in {statistic.norm}")
        yield from _broken_ladder(move, here, there)
        yield from _broken_smooth(move, here, there, betas)


# --- neighbouring datasets ------------------------------------------------------------------------------------


class Draws:
    """A seeded stream of numbers for searches: the same seed, the same search, on every machine."""

    def __init__(self, seed: int) -> None:
        self._seed, self._count = seed, 0

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit - 1``."""
        self._count += 1
        digest = hashlib.sha256(f"{self._seed}:{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def among(self, things: Sequence[Dataset]) -> Dataset:
        """One of them."""
        return things[self.below(len(things))]


@dataclass(frozen=True)
class Moves:
    """Datasets of records out of a list of values, and what one change makes of them."""

    values: tuple[Hashable, ...]
    relation: Neighbours
    most: int
    """The number of records, or the most there can be where they are added and removed."""

    @property
    def resizes(self) -> bool:
        """Whether one change can add or remove a record."""
        return self.relation in (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_CHANGE)

    @property
    def changes(self) -> bool:
        """Whether one change can replace a record."""
        return self.relation in (Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE_CHANGE)

    @property
    def count(self) -> int:
        """How many datasets there are."""
        sizes = range(self.most + 1) if self.resizes else (self.most,)
        return sum(len(self.values) ** size for size in sizes)

    def all(self) -> Iterator[tuple[int, ...]]:
        """Every dataset, as the places of its records' values."""
        places = range(len(self.values))
        for size in range(self.most + 1) if self.resizes else (self.most,):
            yield from product(places, repeat=size)

    def near(self, here: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every dataset that is one change away."""
        for index in range(len(here)):
            if self.resizes:
                yield here[:index] + here[index + 1 :]
            if self.changes:
                yield from ((*here[:index], v, *here[index + 1 :]) for v in range(len(self.values)) if v != here[index])
        if self.resizes and len(here) < self.most:
            for index in range(len(here) + 1):
                yield from ((*here[:index], v, *here[index:]) for v in range(len(self.values)))

    def random(self, draws: Draws) -> tuple[int, ...]:
        """A dataset of one of the shapes in which claims usually fail: spread, two heaps, one heap."""
        size = draws.below(self.most + 1) if self.resizes else self.most
        shape, low, high = draws.below(3), draws.below(len(self.values)), draws.below(len(self.values))
        if shape == 0:
            return tuple(draws.below(len(self.values)) for _ in range(size))
        split = draws.below(size + 1) if shape == 1 else size
        return (low,) * split + (high,) * (size - split)

    def random_near(self, here: tuple[int, ...], draws: Draws) -> tuple[int, ...]:
        """A dataset that is one change away."""
        value, grows = draws.below(len(self.values)), self.resizes and draws.below(2) == 0
        if (grows or not here) and self.resizes and len(here) < self.most:
            index = draws.below(len(here) + 1)
            return (*here[:index], value, *here[index:])
        if not here:
            return here
        index = draws.below(len(here))
        if self.resizes and (not self.changes or draws.below(2) == 0):
            return here[:index] + here[index + 1 :]
        return (*here[:index], value, *here[index + 1 :])


@dataclass(frozen=True)
class GraphMoves:
    """Graphs on so many vertices as the sets of their edges; one change adds or removes an edge."""

    vertices: int

    @property
    def edges(self) -> list[tuple[int, int]]:
        """All that a graph can have."""
        return list(combinations(range(self.vertices), 2))

    @property
    def count(self) -> int:
        """How many graphs there are."""
        return 1 << len(self.edges)

    def all(self) -> Iterator[tuple[int, ...]]:
        """Every graph, as the places of its edges."""
        for code in range(self.count):
            yield tuple(place for place in range(len(self.edges)) if code >> place & 1)

    def near(self, here: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every graph that is one edge away."""
        for place in range(len(self.edges)):
            yield tuple(sorted({place} ^ set(here)))

    def random(self, draws: Draws) -> tuple[int, ...]:
        """A sparse, even or dense graph."""
        share = draws.among((1, 4, 8, 12, 15))
        return tuple(place for place in range(len(self.edges)) if draws.below(16) < share)

    def random_near(self, here: tuple[int, ...], draws: Draws) -> tuple[int, ...]:
        """A graph that is one edge away."""
        return tuple(sorted({draws.below(len(self.edges))} ^ set(here)))


@dataclass(frozen=True)
class ListedSpace(Generic[Dataset]):
    """Datasets and neighbours that are listed one by one."""

    datasets: Sequence[Dataset]
    neighbours: Callable[[Dataset], Iterable[Dataset]]

    @property
    def count(self) -> int:
        """How many datasets there are."""
        return len(self.datasets)

    def all(self) -> Iterator[Dataset]:
        """Every dataset."""
        yield from self.datasets

    def near(self, here: Dataset) -> Iterable[Dataset]:
        """Every neighbour of a dataset."""
        return self.neighbours(here)

    def random(self, draws: Draws) -> Dataset:
        """One of the datasets."""
        return draws.among(self.datasets)

    def random_near(self, here: Dataset, draws: Draws) -> Dataset:
        """One of the neighbours, or the dataset itself where it has none."""
        return draws.among(list(self.neighbours(here)) or [here])


Space: TypeAlias = Moves | GraphMoves | ListedSpace[Any]  # listed datasets are the owner's own


class Neighbourhood(Protocol[Dataset]):
    """Datasets, and which of them are one change apart."""

    @property
    def count(self) -> int: ...
    def all(self) -> Iterator[Dataset]: ...
    def near(self, here: Dataset) -> Iterable[Dataset]: ...
    def random(self, draws: Draws) -> Dataset: ...
    def random_near(self, here: Dataset, draws: Draws) -> Dataset: ...


def pairs_of(
    space: Neighbourhood[Dataset], limit: int, seed: int, start: Dataset | None = None
) -> tuple[bool, Iterator[tuple[Dataset, Dataset]]]:
    """Pairs of neighbours: all of them where there are few datasets, else drawn; and which of the two it is.

    Drawn pairs walk: half of the time the next pair begins where the last one ended.  ``start``: where they begin.
    """
    if start is None and space.count <= limit:
        return True, ((here, there) for here in space.all() for there in space.near(here))
    return False, _drawn(space, limit, Draws(seed), start)


def _drawn(
    space: Neighbourhood[Dataset], limit: int, draws: Draws, start: Dataset | None
) -> Iterator[tuple[Dataset, Dataset]]:
    here = start
    for _ in range(limit):
        if here is None:
            here = space.random(draws)
        there = space.random_near(here, draws)
        yield here, there
        yield there, here
        here = there if draws.below(2) else start


def key_of(dataset: Dataset) -> Dataset | None:
    """Something to remember a dataset's facts by; None where it can't be hashed."""
    try:
        hash(dataset)
    except TypeError:
        return None
    return dataset
