"""People with any number of rows: laws of limits and totals by brute force over toy tables, all neighbours of each.

A toy table is a list of people, a person a list of rows, a row a value and a group.  Neighbours differ in one person
with all rows: one more, one less, or another one.  The law of a release is that of its limit, by the formula, and then
of Laplace noise around totals within it: its loss is the largest of ``ln P(limit) ratio + L1 distance / scale``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, pairwise, product

from dither.privacy import Loss
from dither.procedures.people import PersonLimitDraw, limit_weights, row_limits, total_limits
from dither.queries.people import CountOfPeople, PeopleMean, PeoplePlan, SumOfPeople
from dither.queries.plan import Options, PeopleRead
from dither.sources.engines.duckdb import DuckDB
from dither.sources.grid import BIT, Grid
from dither.sources.people import PARTS, LimitedSum, PeopleRecords
from dither.sources.schema import Schema
from dither.sources.selection import Selection
from dither.sources.types import Category, Integer
from dither_lab.audit.checks import ROUNDING, Check, Effort, Evidence

Row = tuple[int, str]
Person = tuple[Row, ...]
People = tuple[Person, ...]
GROUPS = ("a", "b", "c")
EPSILON = 1.0
LOWEST, HIGHEST = -3, 5
SOME_ROWS: tuple[Person, ...] = (
    (),
    ((1, "a"),),
    ((5, "b"),),
    ((-3, "a"),),
    ((5, "a"), (5, "b")),
    ((5, "a"), (-3, "a"), (1, "b")),
    ((5, "b"),) * 4,
    ((-3, "a"),) * 3 + ((-3, "b"),) * 6,
    ((5, "a"),) * 9,
    ((1, "a"),) * 2 + ((5, "b"),) * 5,
    ((1, "a"),) * 4 + ((1, "b"),) * 4 + ((5, "c"),) * 4,
)
"""What a person may own; nothing: the person is not there."""
FEW_LIMITS = 9
"""Toy people exceed none of the limits behind these."""

Totals = Callable[[Person], tuple[int, ...]]
"""What a person has in each group."""
Limited = Callable[[Person, int], tuple[Fraction, ...]]
"""What is left of it under a limit."""


def tables(size: int) -> Iterator[People]:
    """All tables of so many people."""
    return combinations_with_replacement(SOME_ROWS, size)


def neighbours(size: int) -> Iterator[tuple[People, People]]:
    """All pairs that differ in one person with all rows; one who owns nothing is not there."""
    for rest in tables(size - 1):
        for before, after in combinations(SOME_ROWS, 2):
            yield (*rest, before), (*rest, after)


def counts(person: Person) -> tuple[int, ...]:
    """Rows in each group."""
    return tuple(sum(group == own for _, own in person) for group in GROUPS)


def sums(person: Person) -> tuple[int, ...]:
    """The sum of each group."""
    return tuple(sum(value for value, own in person if group == own) for group in GROUPS)


def positive(person: Person) -> tuple[int, ...]:
    """The same of values that are cut at 0."""
    return tuple(sum(max(value, 0) for value, own in person if group == own) for group in GROUPS)


def together(of: Totals) -> Totals:
    """The same without groups."""
    return lambda person: (sum(of(person)),)


def clamped(of: Totals) -> Limited:
    """One number, cut to the limit on either side."""
    return lambda person, limit: tuple(Fraction(max(min(item, limit), -limit)) for item in of(person))


def scaled(of: Totals) -> Limited:
    """All numbers of a person, scaled down together."""

    def limited(person: Person, limit: int) -> tuple[Fraction, ...]:
        size = sum(map(abs, of(person)))
        share = min(Fraction(1), Fraction(limit, size)) if size else Fraction(1)
        return tuple(share * item for item in of(person))

    return limited


@dataclass(frozen=True)
class PeopleShape:
    """A query shape: what is limited, how, and between which sensitivity and epsilon the noise is fitted."""

    name: str
    size: Callable[[Person], int]
    """What the limit is drawn for."""
    limited: Limited
    moves: int
    """How many limits one person may move all numbers by, together."""
    limits: tuple[int, ...]
    draw: float
    """The rate of the draw."""
    noise: float
    """The epsilon of the noise."""
    paid: float = EPSILON
    """What is charged for both."""


def shape_of(name: str, plan: PeoplePlan, limited: Limited, size: Callable[[Person], int], moves: int) -> PeopleShape:
    """The shape of a plan that ships, with its own draws and noise."""
    limits = plan.draw.limits[: FEW_LIMITS + 4]
    return PeopleShape(
        name, size, limited, moves, limits, float(plan.draw.rate), float(plan.options.loss.exact_epsilon)
    )


def plan_of(name: str) -> PeoplePlan:
    """The plan that ships, of toy columns."""
    options = Options(Loss(EPSILON))
    grid = Grid(Fraction(1), LOWEST if "signs" in name else 0, HIGHEST)
    grouped = "group" in name
    if name.startswith("count"):
        return CountOfPeople.planned("count", PeopleRead(None, BIT, 0), 1 << 20, options, grouped=grouped)
    if name.startswith("mean"):
        return PeopleMean.planned("mean", PeopleRead("v", Grid(Fraction(1), LOWEST, HIGHEST), 0), 1 << 20, options, 0)
    read = PeopleRead("v", grid, 0)
    return SumOfPeople.planned("sum", read, 1 << 20, options, grouped=grouped, bounded=True, missing=0)


def shapes() -> Iterator[PeopleShape]:
    """Every shape with one limit that ships."""

    def one(of: Totals) -> Callable[[Person], int]:
        return lambda person: sum(map(abs, of(person)))

    yield shape_of("count", plan_of("count"), clamped(together(counts)), one(counts), 1)
    yield shape_of("sum", plan_of("sum"), clamped(together(positive)), one(positive), 1)
    yield shape_of("count by group", plan_of("count by group"), scaled(counts), one(counts), 2)
    yield shape_of("sum by group", plan_of("sum by group"), scaled(positive), one(positive), 2)
    yield shape_of("sum of both signs by group", plan_of("sum of both signs by group"), scaled(sums), one(sums), 2)


def limit_law(people: People, shape: PeopleShape) -> list[float]:
    """The logarithms of the chances of all limits: (2/7)^k e^{-rate people above}."""
    logs = [
        place * math.log(2 / 7) - shape.draw * sum(shape.size(person) > limit for person in people)
        for place, limit in enumerate(shape.limits)
    ]
    most = max(logs)
    total = most + math.log(math.fsum(math.exp(log - most) for log in logs))
    return [log - total for log in logs]


def loss_of(here: People, there: People, shape: PeopleShape) -> float:
    """The largest logarithm of a ratio of densities, limit and noisy totals together."""
    laws = zip(limit_law(here, shape), limit_law(there, shape), shape.limits, strict=True)
    return max(
        a - b + distance(here, there, shape, limit) * shape.noise / (shape.moves * limit) for a, b, limit in laws
    )


def distance(here: People, there: People, shape: PeopleShape, limit: int) -> float:
    """How far the totals under a limit are apart, all groups together."""
    vectors = [
        [sum(column, Fraction(0)) for column in zip(*(shape.limited(person, limit) for person in people), strict=True)]
        for people in (here, there)
    ]
    return float(sum((abs(a - b) for a, b in zip(*vectors, strict=True)), Fraction(0)))


def loss_evidence(shape: PeopleShape, size: int) -> Evidence:
    """The largest loss over all neighbours, against what is charged."""
    shape = replace(shape, limited=functools.cache(shape.limited), size=functools.cache(shape.size))
    worst, cases = 0.0, 0
    for here, there in neighbours(size):
        worst = max(worst, loss_of(here, there, shape), loss_of(there, here, shape))
        cases += 2
    holds = worst <= shape.paid * (1 + ROUNDING)
    return Evidence(
        holds, Loss(shape.paid), worst, shape.paid if holds else None, cases, f"{worst:.4f} of {shape.paid:g}"
    )


def sides_evidence(size: int, paid: float = EPSILON, sides: int = 2) -> Evidence:
    """A sum of both signs has two limits: a person may leave one side and enter the other."""
    plan = plan_of("sum of both signs")
    limits = plan.draw.limits[: FEW_LIMITS + 4]
    rate, noise = float(plan.draw.rate), float(plan.options.loss.exact_epsilon)
    count = next(shapes())

    def side(sign: int) -> PeopleShape:
        return replace(count, draw=rate, limits=limits, size=lambda person: sign * sum(sums(person)))

    signs = side(1), side(-1)
    worst, cases = 0.0, 0
    for here, there in neighbours(size):
        above, below = ([limit_law(people, shape) for people in (here, there)] for shape in signs)
        for (i, high), (j, low) in product(enumerate(limits), enumerate(limits)):
            moved = sum(max(min(sum(sums(p)), high), -low) for p in here) - sum(
                max(min(sum(sums(p)), high), -low) for p in there
            )
            drawn = above[0][i] - above[1][i] + below[0][j] - below[1][j]
            worst = max(worst, abs(drawn) + abs(moved) * noise / (high + low if sides == 2 else max(high, low)))
            cases += 1
    holds = worst <= paid * (1 + ROUNDING)
    return Evidence(holds, Loss(paid), worst, paid if holds else None, cases, f"{worst:.4f} of {paid:g}")


@functools.lru_cache(maxsize=1)
def engine_of(people: People) -> tuple[Schema, DuckDB]:
    """A toy table in an engine."""
    import pyarrow as pa  # noqa: PLC0415  (slow to load)

    rows = [(str(who), value, group) for who, person in enumerate(people) for value, group in person]
    types = (pa.string(), pa.int64(), pa.string())
    columns = {key: pa.array([row[at] for row in rows], types[at]) for at, key in enumerate(("u", "v", "g"))}
    declared = {"v": Integer(LOWEST, HIGHEST), "g": Category(GROUPS)}
    schema = Schema(pa.table(columns), declared, unit="u", rows_per_unit="private")
    return schema, DuckDB(schema.source)


def read(people: People, name: str | None, grid: Grid, *, grouped: bool) -> PeopleRecords:
    """What each person has there, as it ships."""
    schema, engine = engine_of(people)
    return PeopleRecords(Selection(engine, schema, None, ("g",) if grouped else ()), name, grid, 0)


def same_evidence(effort: Effort) -> Evidence:
    """What engines make of toy tables is what brute force makes of them, up to rounding down; limits are as drawn."""
    whole = Grid(Fraction(1), LOWEST, HIGHEST)
    limits = row_limits(64)
    cases = 0
    for people in chain(tables(1), list(tables(3))[:: effort.of(120, 5)]):
        by_rows, by_sums = (read(people, name, whole, grouped=False) for name in (None, "v"))
        above, below = by_sums.totals_above(limits)
        totals, rows = [sum(sums(person)) for person in people], [len(person) for person in people]
        expected = [
            [sum(side > limit for side in sides) for limit in limits] for sides in (totals, [-t for t in totals])
        ]
        if [above, below] != expected or by_rows.rows_above(limits) != [sum(n > t for n in rows) for t in limits]:
            return Evidence(False, cases=cases, note=f"people above limits, {people}")
        for limit in (3,) if effort.quick else (1, 3, 8):
            clamps = sum(max(min(total, limit), -2) for total in totals)
            if by_sums.totals_within(2, limit) != [clamps] or by_rows.totals_within(0, limit) != [
                sum(min(n, limit) for n in rows)
            ]:
                return Evidence(False, cases=cases, note=f"clamped totals, {people}")
            for of, name, parts in ((counts, None, PARTS), (sums, "v", 1)):
                ours = read(people, name, whole, grouped=True).totals_within(limit, limit, parts)
                theirs = [sum(item) for item in zip(*(scaled(of)(person, limit) for person in people), strict=True)]
                if any(abs(a - parts * b) > len(people) for a, b in zip(ours, theirs, strict=True)):
                    return Evidence(False, cases=cases, note=f"scaled totals {ours}, not {theirs}, {people}")
                if len(people) == 1 and sum(map(abs, ours)) > limit * parts:
                    return Evidence(False, cases=cases, note=f"a vector longer than its limit, {people}")
            weighted = by_sums.weighted(limit)
            if not _is_weighted(weighted, people, limit):
                return Evidence(False, cases=cases, note=f"weighted rows, {people}")
            cases += 1
    return Evidence(True, cases=cases, note="the totals of brute force")


def _is_weighted(ours: LimitedSum, people: People, limit: int) -> bool:
    records = sum(min(len(person), limit) for person in people)
    shares = [min(Fraction(1), Fraction(limit, len(person))) for person in people if person]
    total = sum(
        (share * sum(sums(person)) for share, person in zip(shares, filter(None, people), strict=True)), Fraction(0)
    )
    exact = ours.sum == total if all(share == 1 for share in shares) else total - len(people) <= ours.sum <= total
    return ours.records == records and exact and LOWEST * records <= ours.sum <= HIGHEST * records


def mean_evidence(effort: Effort) -> Evidence:
    """Means of weighted rows: one person moves the value, and the ladder, by no more than the ladder says."""
    plan, cases = plan_of("mean"), 0
    for limit in (1, 2, 8):
        statistic = plan.statistic(0, limit)
        of = {}
        for people in tables(effort.of(2, 3)):
            present = [person for person in people if person]
            parts = [min(Fraction(1), Fraction(limit, len(person))) * sum(sums(person)) for person in present]
            # As it ships: what lies above the lower end is rounded down, person by person.
            rows = [min(len(person), limit) for person in present]
            shifted = sum(math.floor(part - LOWEST * n) for part, n in zip(parts, rows, strict=True))
            of[people] = LimitedSum(sum(rows), shifted + LOWEST * sum(rows))
        for here, there in neighbours(effort.of(2, 3)):
            one, two = (of[tuple(sorted(people, key=SOME_ROWS.index))] for people in (here, there))
            first, second = statistic.ladder(one), statistic.ladder(two)
            rungs, others = ([int(x) for x in ladder.sensitivity_at_distance(0, 5)] for ladder in (first, second))
            cases += 1
            if abs(statistic.value(one) - statistic.value(two)) > min(rungs[0], others[0]):
                return Evidence(False, cases=cases, note=f"a mean moves by more than its ladder says, {here}, {there}")
            if any(rungs[k] > others[k + 1] or others[k] > rungs[k + 1] for k in range(4)):
                return Evidence(False, cases=cases, note=f"a ladder moves by more than one, {here}, {there}")
    return Evidence(True, cases=cases, note="both axioms of ladders")


def spent_evidence(effort: Effort) -> Evidence:  # noqa: ARG001
    """Draws, noise and counts of people together spend no more than was asked; noise has the scale that is claimed."""
    cases = 0
    for name in ("count", "count by group", "sum", "sum of both signs", "sum by group", "mean"):
        plan = plan_of(name)
        halves = 2 if plan.is_grouped else 1
        for limit in plan.draw.limits:
            inner = plan.within(limit, limit)
            spent = plan.draws * plan.draw.rate + halves * inner.loss.exact_epsilon + plan.size_epsilon
            cases += 1
            if spent > Fraction(EPSILON):
                return Evidence(False, Loss(EPSILON), cases=cases, note=f"{name} costs more than the whole")
            if name == "mean":
                continue
            # One person moves the total by the limit, both sides together, or in two groups by that each.
            moved = (2 * limit if "signs" in name or plan.is_grouped else limit) * (
                PARTS if name == "count by group" else 1
            )
            scale = inner.prepared.noise_scale(LimitedSum(0, 0))
            if scale is None or scale * plan.options.loss.exact_epsilon < moved * (1 - Fraction(1, 10**6)):
                return Evidence(False, Loss(EPSILON), cases=cases, note=f"{name}: noise of {scale} under {limit}")
    return Evidence(True, cases=cases, note="sums in rationals")


def same_law(effort: Effort) -> Evidence:  # noqa: ARG001
    """The public weights of the draw are those of the formula; limits rise."""
    for limits in (row_limits(), total_limits(Grid(Fraction(1), 0, 1000), bounded=True)):
        listed = limit_weights(len(PersonLimitDraw(Fraction(1), limits).limits))
        falls = all(7 * after == 2 * before for before, after in pairwise(listed))
        if not falls or list(limits) != sorted(set(limits)):
            return Evidence(False, note="another law")
    return Evidence(True, cases=2, note="weights fall by 2/7")


def people_checks() -> Iterator[Check]:
    """All of them."""
    covers = frozenset({"count", "sum", "mean", "private limits"})
    for shape in shapes():

        def run(effort: Effort, shape: PeopleShape = shape) -> Evidence:
            return loss_evidence(shape, effort.of(2, 3))

        yield Check("count", "exact", run, detail=f"people: {shape.name}", covers=covers, proof="people")
    cases: dict[str, Callable[[Effort], Evidence]] = {
        "sum of both signs": lambda effort: sides_evidence(effort.of(2, 2)),
        "totals in the engine": same_evidence,
        "means of weighted rows": mean_evidence,
        "parts cost no more than the whole": spent_evidence,
        "limits by the formula": same_law,
    }
    for detail, check in cases.items():
        yield Check("count", "exhaustive", check, detail=f"people: {detail}", covers=covers, proof="people")


def _each_row(person: Person, limit: int) -> tuple[Fraction, ...]:
    """Broken: rows are clamped at the limit, and there may be any number of them."""
    return (Fraction(sum(min(max(value, 0), limit) for value, _ in person)),)


def _each_group(person: Person, limit: int) -> tuple[Fraction, ...]:
    """Broken: the counts of each group are clamped, and not all of them together."""
    return tuple(Fraction(min(count, limit)) for count in counts(person))


def in_people() -> Iterator[Check]:
    """Ways to break it, which the audit must find."""
    count, total, by_group, *_ = shapes()
    cases: dict[str, Callable[[], Evidence]] = {
        "a limit that is not paid for": lambda: loss_evidence(replace(count, noise=EPSILON), 2),
        "a limit of rows instead of people": lambda: loss_evidence(replace(total, limited=_each_row), 2),
        "groups that are not scaled": lambda: loss_evidence(replace(by_group, limited=_each_group), 2),
        "noise for one group of two": lambda: loss_evidence(replace(by_group, moves=1), 2),
        "a draw 30% sharp": lambda: loss_evidence(replace(count, draw=1.3 * count.draw), 2),
        "noise 30% small": lambda: loss_evidence(replace(count, noise=1.3 * count.noise), 2),
        "noise for one side of two": lambda: sides_evidence(2, sides=1),
    }
    for name, broken in cases.items():

        def run(effort: Effort, broken: Callable[[], Evidence] = broken) -> Evidence:  # noqa: ARG001
            return broken()

        yield Check(name, "exact", run, detail="people with many rows", proof="audit")
