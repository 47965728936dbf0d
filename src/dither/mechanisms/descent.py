"""COQ17's Algorithm 1 step by step, as its Figure 9 shows it.  For comparison: no release uses it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.errors import InvalidArgument
from dither.mechanisms.largest_local import scales_fit
from dither.privacy import Loss
from dither.sensitivity.levels import Levels


@dataclass(frozen=True)
class DescentStep:
    """What the algorithm computes on one level."""

    level: int
    sensitivity: float
    """L_k, in the answers' own units."""
    lowest_neighbour: int
    """tau_k: the lowest level that neighbours of data on this one can have; the level itself if none is lower."""
    highest_neighbour: int
    """l_k: the highest."""
    rule: Literal["top", "kept", "jump"]
    """The highest level; lambda of the level above, because sensitivities are close; or the minimum of both terms."""
    parameter: float
    """lambda_k: one over the scale of the Laplace noise."""


@dataclass(frozen=True)
class Descent:
    """The steps from the highest level down to that of the data.  NOT private: where it ends is the level."""

    loss: Loss
    t: float
    """``epsilon / ln(1/delta)``."""
    steps: tuple[DescentStep, ...]
    unfit: tuple[tuple[int, int], ...]
    """Related levels whose noises are not within the loss for all data that they may hold: Algorithm 1 is unsound where
    levels skip, and for some losses."""

    @property
    def scale(self) -> float:
        """The amplitude of the noise: 1/lambda of the last level."""
        return 1 / self.steps[-1].parameter

    def __str__(self) -> str:
        lines = [f"t = epsilon / ln(1/delta) = {self.t:.6g}"]
        for step in self.steps:
            own, above = f"epsilon/(2 L_{step.level})", f"lambda_{step.level + 1}"
            why = {
                "top": own,
                "kept": f"{above}, because L_{step.level + 1}/L_{step.level} < 1 + t/2",
                "jump": f"min({own}, lambda_{step.highest_neighbour} (1 + t/2))",
            }[step.rule]
            near = f"tau_{step.level} = {step.lowest_neighbour}, l_{step.level} = {step.highest_neighbour}"
            lines.append(f"L_{step.level} = {step.sensitivity:g}, {near}")
            lines.append(f"  lambda_{step.level} = {why} = {step.parameter:.6g}")
        lines.append(f"scale of the noise 1/lambda_{self.steps[-1].level} = {self.scale:.6g}")
        pairs = ", ".join(f"{a} and {b}" for a, b in self.unfit)
        lines += [f"NOT private for neighbours on levels {pairs}"] if self.unfit else []
        return "\n".join(lines)


def descend(levels: Levels, level: int, loss: Loss, step: Fraction) -> Descent:
    """Algorithm 1 as printed, from the highest level to this one; sensitivities in units of ``step``."""
    if not 1 <= level <= levels.count:
        raise InvalidArgument("level", level, f"must be a level from 1 to {levels.count}")
    if loss.is_pure:
        raise InvalidArgument("delta", loss.delta, "must be above 0: COQ17's t is epsilon / ln(1/delta)")
    t = loss.epsilon / math.log(1 / loss.delta)
    size = [float(step * int(sensitivity)) for sensitivity in levels.sensitivities]
    if size[level - 1] == 0:
        raise InvalidArgument("level", level, "must have a sensitivity above 0")
    results: dict[int, DescentStep] = {}
    for k in range(levels.count, level - 1, -1):
        near = levels.related(k)
        own = loss.epsilon / (2 * size[k - 1])
        rule: Literal["top", "kept", "jump"] = "top"
        parameter = own
        if k < levels.count:
            rule = "kept" if size[k] / size[k - 1] < 1 + t / 2 else "jump"
            above = (
                results[k + 1 if rule == "kept" else max(near)].parameter if rule == "kept" or max(near) > k else own
            )
            parameter = above if rule == "kept" else min(own, above * (1 + t / 2))
        results[k] = DescentStep(k, size[k - 1], min(near), max(near), rule, parameter)
    return Descent(loss, t, tuple(results.values()), _unfit(levels, results, loss))


def _unfit(levels: Levels, results: dict[int, DescentStep], loss: Loss) -> tuple[tuple[int, int], ...]:
    """Neighbours' values are at most the lesser of both sensitivities apart."""

    def fits(low: int, high: int) -> bool:
        here, there = (Fraction(1 / results[item].parameter) for item in (low, high))
        return scales_fit(here, there, Fraction(results[low].sensitivity), loss)

    pairs = ((low, high) for low in results for high in levels.related(low) if low <= high and high in results)
    return tuple(sorted(pair for pair in pairs if not fits(*pair)))
