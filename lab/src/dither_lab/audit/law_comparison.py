"""Compares three laws of an answer: the audit's own computation, the mechanism's (used by quotes), and its draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dither.errors import NotApplicable
from dither.mechanisms.mechanism import Prepared
from dither_lab.audit.checks import Evidence
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import Distribution, Outputs
from dither_lab.audit.laws.registry import NoIndependentLaw, law_of

TOLERANCE = 2e-4
"""Relative.  Smooth bounds are rounded up by some 1e-10 and the laboratory's tails are exact to 1e-7; stated tails of
heavy laws are floats that lose up to 1e-4 where the noise is a ten-thousandth of its scale."""
LEAST = 1e-30
"""Smaller probabilities are not compared."""
FIRST, MOST_DISTANCES = 24, 96
"""Tails of errors are compared at so many distances: all of the first ones, from there on fewer and fewer."""


def own_law(prepared: Prepared[D], facts: Facts[D], datasets: Sequence[D]) -> Evidence:
    """Whether the error that a mechanism states for itself is that of the laboratory's law, on each dataset."""
    try:
        law = law_of(prepared)
    except NoIndependentLaw as missing:
        return Evidence(False, prepared.loss, note=str(missing))
    if law.estimated:
        return Evidence(True, cases=len(datasets), note=f"states an estimate: {law.estimated}")
    worst, cases = 0.0, 0
    for data in datasets:
        try:
            own = prepared.error_laws(data)
        except NotApplicable as none:
            return Evidence(True, cases=len(datasets), note=f"states no law of its own: {none}"[:120])
        outputs = law.outputs(prepared, facts, data)
        for stated, value, number in zip(own, outputs.values, outputs.numbers, strict=True):
            for distance in distances(number, value):
                worst = max(worst, _difference(stated.beyond(distance), number.beyond(value, distance)))
                cases += 1
    note = f"tails differ by {worst:.2g} of themselves at most"
    return Evidence(
        worst <= TOLERANCE, cases=cases, note=note if worst <= TOLERANCE else f"its own law is wrong: {note}"
    )


def _difference(stated: float, computed: float) -> float:
    if max(stated, computed) < LEAST:
        return 0.0
    return abs(stated - computed) / max(computed, LEAST)


def distances(number: Distribution, value: int) -> Iterator[int]:
    """0, 1, 2, ... and then growing by a half, as far as errors are likely at all."""
    distance = 0
    for count in range(MOST_DISTANCES):
        yield distance
        if number.beyond(value, distance) < LEAST:
            return
        distance = distance + 1 if count < FIRST else distance * 3 // 2


def draws_follow(
    prepared: Prepared[D],
    facts: Facts[D],
    draws: Sequence[tuple[D, Sequence[Sequence[Any]]]],
    failure_probability: float,
) -> Evidence:
    """Whether the first numbers of answers follow the laboratory's law: wrong with the stated probability at most.

    Dvoretzky, Kiefer and Wolfowitz with Massart's constant for each number of each dataset, and Hoeffding for refusals.
    """
    law = law_of(prepared)
    laws = [law.outputs(prepared, facts, data) for data, _ in draws]
    allowance = failure_probability / sum(len(outputs.numbers) + 1 for outputs in laws)
    for outputs, (_, answers) in zip(laws, draws, strict=True):
        wrong = _astray(outputs, answers, allowance)
        if wrong:
            return Evidence(False, prepared.loss, cases=len(answers), note=wrong)
    return Evidence(True, cases=sum(len(answers) for _, answers in draws), note="draws follow the law")


def _astray(outputs: Outputs, answers: Sequence[Sequence[Any]], allowance: float) -> str:
    released = [answer for answer in answers if answer[0] is not None]
    refused = 1.0 - len(released) / len(answers)
    if abs(refused - outputs.refused) > _allowed(len(answers), allowance):
        return f"refuses {refused:.4f} of the time, and should {outputs.refused:.4f}"
    for index, number in enumerate(outputs.numbers):
        if not released:
            break
        drawn = np.sort(np.array([answer[index] for answer in released]))
        places = np.unique(drawn)
        before, after = (np.searchsorted(drawn, places, side=side) / len(drawn) for side in ("left", "right"))
        worst = max(
            max(abs(low - number.below(int(place))), abs(1.0 - high - number.above(int(place))))
            for place, low, high in zip(places.tolist(), before.tolist(), after.tolist(), strict=True)
        )
        if worst > _allowed(len(released), allowance):
            return f"draws do not follow the law: distance {worst:.4f} of {_allowed(len(released), allowance):.4f}"
    return ""


def _allowed(count: int, allowance: float) -> float:
    return math.sqrt(math.log(2.0 / allowance) / (2.0 * count))
