"""Small universes of the owner's own functions, with claims that are true by brute force, and with false ones.

The function is the largest record of at most three, which fails where a record is missing: the true claims are counted
over all datasets, failures included, in code that knows nothing of the library.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dither.inspect import refute
from dither.queries.custom import Custom, FiniteSpace
from dither.queries.restricted import restricted
from dither.sensitivity.levels import LevelFunction, Levels
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.exhaustive import axioms, structures
from dither_lab.audit.universes import Universe

Dataset = tuple[int | None, ...]
VALUES = (0, 1, 4, None)
"""A missing record makes the function fail; its value is then the default."""
DEFAULT = 1
TOP = 4


def largest(records: Dataset) -> float:
    """Fails where a record is missing."""
    return max(records)  # type: ignore[type-var, return-value]


@functools.cache
def datasets(count: int = 3) -> tuple[Dataset, ...]:
    """All of so many records."""
    return tuple(product(VALUES, repeat=count))


def near(here: Dataset) -> list[Dataset]:
    """All datasets that differ in one record."""
    return [(*here[:i], v, *here[i + 1 :]) for i in range(len(here)) for v in VALUES if v != here[i]]


def true_value(here: Dataset) -> int:
    """With the default where the function fails."""
    return DEFAULT if None in here else max(here)  # type: ignore[type-var, return-value]


@functools.cache
def true_rungs(here: Dataset) -> tuple[int, ...]:
    """The largest local sensitivity within 0, 1, 2, ... changes of a dataset."""
    reached, rungs = {here}, []
    for _ in range(len(here) + 1):
        rungs.append(max(abs(true_value(x) - true_value(y)) for x in reached for y in near(x)))
        reached |= {y for x in reached for y in near(x)}
    return tuple(rungs)


def true_smooth(here: Dataset, beta: float) -> float:
    """``max_k e^{-beta k} A^(k)``."""
    return max(sensitivity * math.exp(-beta * k) for k, sensitivity in enumerate(true_rungs(here)))


def own(**claims: Any) -> Custom:
    """The function with some claims."""
    facts: dict[str, Any] = {"bounds": (0, TOP), "step": 1, "default": DEFAULT} | claims
    return Custom(name="largest", value=largest, **facts)


def ladder_of(here: Dataset, k: int) -> int:
    """The exact ladder as an author would write it."""
    return true_rungs(here)[min(k, len(here))]


def level_function() -> LevelFunction:
    """Levels by local sensitivity; related are those that neighbours have."""
    result = sorted({true_rungs(x)[0] for x in datasets()} | {TOP})

    def level(here: Dataset) -> int:
        return result.index(true_rungs(here)[0]) + 1

    return LevelFunction(Levels(result, pairs={(level(x), level(y)) for x in datasets() for y in near(x)}), level)


def local_change() -> int:
    """The most that one change moves the local sensitivity."""
    return max(abs(true_rungs(x)[0] - true_rungs(y)[0]) for x in datasets() for y in near(x))


def universe_of(query: Custom, count: int = 3) -> Universe:
    """All datasets, and all that differ in one record."""
    listed = datasets(count)
    number = {x: i for i, x in enumerate(listed)}
    statistic = query.resolve(query.shape(listed[0]))
    return Universe(statistic, listed, [(number[x], number[y]) for x in listed for y in near(x)])


@functools.cache
def by_ladder(quick: bool) -> Universe:
    """With the exact ladder."""
    return universe_of(own(ladder=ladder_of), 2 if quick else 3)


@functools.cache
def by_smooth_bound(quick: bool) -> Universe:
    """With the exact smooth sensitivity."""
    return universe_of(own(smooth_bound=true_smooth), 2 if quick else 3)


@functools.cache
def by_levels(quick: bool) -> Universe:  # noqa: ARG001
    """With the levels of the local sensitivities."""
    return universe_of(own(levels=level_function()))


@functools.cache
def by_local(quick: bool) -> Universe:  # noqa: ARG001
    """With the local sensitivity and how far one change moves it."""
    return universe_of(own(local_sensitivity=lambda x: true_rungs(x)[0], local_sensitivity_change=local_change()))


@functools.cache
def between_steps(quick: bool) -> Universe:
    """Values that are no multiples of the step: a third of the largest record, in steps of a half."""
    third = Fraction(1, 3)
    query = Custom(
        name="a third of the largest",
        value=lambda x: largest(x) * third,
        ladder=lambda x, k: ladder_of(x, k) * third,
        global_sensitivity=TOP * third,
        bounds=(0, 2),
        step=Fraction(1, 2),
        default=DEFAULT * third,
    )
    return universe_of(query, 2 if quick else 3)


@functools.cache
def vector(quick: bool) -> Universe:
    """The largest and the smallest record together."""
    query = Custom(
        name="both ends",
        value=lambda x: (max(x), min(x)),
        bounds=[(0, TOP), (0, TOP)],
        global_sensitivity=TOP,
        step=1,
        default=(DEFAULT, DEFAULT),
    )
    return universe_of(query, 2 if quick else 3)


def both_ends(here: Dataset) -> tuple[int, int]:
    """The largest and the smallest record; fails where one is missing."""
    return max(here), min(here)  # type: ignore[type-var, return-value]


@functools.cache
def norm_rungs(here: Dataset) -> tuple[float, ...]:
    """How far one more change can move both ends together in l2, after 0, 1, 2, ... changes."""

    def ends(x: Dataset) -> tuple[int, int]:
        return (DEFAULT, DEFAULT) if None in x else both_ends(x)

    reached, rungs = {here}, []
    for _ in range(len(here) + 1):
        rungs.append(max(math.dist(ends(x), ends(y)) for x in reached for y in near(x)))
        reached |= {y for x in reached for y in near(x)}
    return tuple(rungs)


@functools.cache
def vector_by_ladder(quick: bool) -> Universe:
    """The same with a ladder of the l2 norm."""
    query = Custom(
        name="both ends",
        value=both_ends,
        ladder=lambda x, k: norm_rungs(x)[min(k, len(x))],
        bounds=[(0, TOP), (0, TOP)],
        norm="l2",
        step=Fraction(1, 8),
        default=(DEFAULT, DEFAULT),
    )
    return universe_of(query, 2 if quick else 3)


@functools.cache
def under_hypothesis(quick: bool) -> Universe:
    """The largest record if none were above 1: one change then moves it by 1 at most, failures included."""
    query = restricted(
        name="largest of small ones",
        value=largest,
        projection=lambda x: tuple(min(v, 1) for v in x),
        projection_change=1,
        restricted_sensitivity=1,
        bounds=(0, TOP),
        step=1,
        default=DEFAULT,
    )
    return universe_of(query, 2 if quick else 3)


@functools.cache
def finite_space(quick: bool) -> Universe:  # noqa: ARG001
    """Triangles of all graphs with four vertices."""
    edges = list(combinations(range(4), 2))
    graphs = [frozenset(e for bit, e in enumerate(edges) if code >> bit & 1) for code in range(64)]
    space = FiniteSpace(
        graphs,
        neighbours=lambda g: [g ^ {e} for e in edges],
        value=lambda g: sum({(a, b), (a, c), (b, c)} <= g for a, b, c in combinations(range(4), 3)),
    )
    statistic = space.statistic
    return Universe(statistic, list(range(len(graphs))), [(a, b) for a, b in statistic.pairs.T.tolist()])


# --- false claims -------------------------------------------------------------------------------------------


def in_claims() -> Iterator[Check]:
    """Claims that are wrong, which the axioms by enumeration and the owner's search must both find."""
    cases: tuple[tuple[str, Callable[[], Custom]], ...] = (
        ("a ladder of zeros", lambda: own(ladder=lambda x, k: 0)),
        ("a ladder 30% short", lambda: own(ladder=lambda x, k: Fraction(7, 10) * ladder_of(x, k))),
        ("a ladder that leaves out failures", lambda: own(ladder=_without_failures)),
        ("the local sensitivity as a smooth bound", lambda: own(smooth_bound=lambda x, beta: true_rungs(x)[0])),
        (
            "a smooth bound 30% small",
            lambda: own(smooth_bound=lambda x, beta: 0.7 * true_smooth(x, beta), step=Fraction(1, 64)),
        ),
        (
            "levels that skip",
            lambda: own(levels=LevelFunction(Levels([1, 2, 3, TOP]), lambda x: true_rungs(x)[0] or 1)),
        ),
        (
            "a projection that does not keep its hypothesis",
            lambda: restricted(
                name="largest of small ones",
                value=largest,
                projection=lambda x: x if sum(x) > 4 else tuple(min(v, 1) for v in x),
                projection_change=1,
                restricted_sensitivity=1,
                bounds=(0, TOP),
                step=1,
                default=DEFAULT,
            ),
        ),
        (
            "a local sensitivity that moves further",
            lambda: own(local_sensitivity=lambda x: true_rungs(x)[0], local_sensitivity_change=local_change() - 1),
        ),
    )
    for name, made in cases:

        def by_axioms(effort: Effort, made: Callable[[], Custom] = made) -> Evidence:  # noqa: ARG001
            universe = universe_of(made())
            bounds = frozenset({"ladder", "smooth"})
            result = structures(universe, bounds)
            return axioms(universe, 3) if result.holds else result

        def by_search(effort: Effort, made: Callable[[], Custom] = made) -> Evidence:  # noqa: ARG001
            result = refute(made(), values=VALUES, records=3, failing=(), build=tuple)
            return Evidence(not result, cases=result.pairs, note=str(result.claim))

        yield Check(name, "exhaustive", by_axioms, detail="axioms", proof="custom")
        yield Check(name, "exhaustive", by_search, detail="dt.inspect.refute", proof="custom")


def _without_failures(here: Dataset, k: int) -> int:
    """The ladder of the same function where no record can be missing."""
    if None in here:
        raise ValueError("a record is missing")
    present = [v for v in VALUES if v is not None]
    reached, most = {here}, 0
    for _ in range(min(k, len(here)) + 1):
        beyond = {(*x[:i], v, *x[i + 1 :]) for x in reached for i in range(len(x)) for v in present}
        most = max(abs(true_value(x) - true_value(y)) for x in reached for y in beyond)
        reached |= beyond
    return most
