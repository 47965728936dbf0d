"""Checks of ``describe``: all that is asked of its columns costs no more than the whole, whatever they hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import product

from dither.accounting.composition import compose
from dither.descriptions.plan import DescriptionPlan
from dither.descriptions.reading import Kind, Storage
from dither.privacy import Loss
from dither.queries.plan import Options
from dither.queries.query import Query
from dither_lab.audit.checks import Check, Effort, Evidence

Changed = Callable[[DescriptionPlan], DescriptionPlan]
RECORDS = 50_000
TABLES: tuple[tuple[tuple[str, Storage], ...], ...] = (
    (("pay", "real"),),
    (("pay", "real"), ("job", "text"), ("hired", "date")),
    (("age", "whole"), ("free", "untyped"), ("other", "untyped"), ("active", "boolean")),
)


def branches(plan: DescriptionPlan, storage: Storage) -> Iterator[list[Loss]]:
    """What the questions about a column cost, for everything that the answer to the first may say."""
    kinds: tuple[Kind, ...] = ("whole", "real", "date")
    first = plan.kinds() if storage == "untyped" else plan.presence()
    numbers = [plan.quantiles(kind, present) for kind, present in product(kinds, (900, RECORDS))]
    seconds: list[tuple[Query, Options]] = [plan.frequent(), *(asked[:2] for asked in numbers if asked is not None)]
    for second in seconds:
        yield [query.plan(plan.shape, options).loss for query, options in (first, second)]


def described_evidence(changed: Changed = lambda plan: plan) -> Evidence:
    """Public plans of several tables at several losses, in which every column goes the way that costs most."""
    cases = 0
    for columns, epsilon, confidence in product(TABLES, (1.0, 4.0), (0.95, None)):
        claimed = Loss(epsilon, 1e-6)
        plan = changed(DescriptionPlan.of(columns, RECORDS, epsilon, claimed.delta, confidence))
        losses: list[Loss] = []
        for _, storage in columns:
            ways = list(branches(plan, storage))
            cases += len(ways)
            losses += max(ways, key=lambda way: sum(loss.concentrated.rho for loss in way))
        spent = compose(losses, delta=claimed.delta)
        if spent.exact_epsilon > claimed.exact_epsilon:
            return Evidence(False, claimed, spent.epsilon, None, cases, f"{len(columns)} columns cost {spent}")
    return Evidence(True, cases=cases, note="questions of all columns, composed")


def description_checks() -> Iterator[Check]:
    """Of plans; the questions themselves are audited as counts, quantiles and histograms are."""
    yield Check(
        "describe",
        "exact",
        lambda effort: described_evidence(),
        detail="parts cost no more than the whole",
        covers=frozenset({"describe"}),
        proof="concentrated",
    )


def in_descriptions() -> Iterator[Check]:
    """Descriptions whose parts cost more than the whole."""
    broken: dict[str, Changed] = {
        "a description whose columns cost the whole each": lambda plan: dataclasses.replace(
            plan, rho=plan.rho * max(2, len(plan.columns))
        ),
        "a description with 30% more for each column": lambda plan: dataclasses.replace(plan, rho=plan.rho * 13 / 10),
    }
    for name, changed in broken.items():

        def run(effort: Effort, changed: Changed = changed) -> Evidence:  # noqa: ARG001
            return described_evidence(changed)

        yield Check(name, "exact", run, proof="audit")
