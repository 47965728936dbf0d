"""Answers without bounds and without declared categories: scale, quantiles, ranges, trimmed means, modes.

The functions of the public face come here when ``bounds=None``.  What the answer costs, and how many records it needs
at least, is decided from public facts before anything is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from dither.calibration.inverse import Inverse
from dither.calibration.mechanism import only_noises
from dither.calibration.propose_test import ProposeTest
from dither.calibration.stable import REFUSAL, Stable, stable_choice
from dither.calibration.stable_bins import StableBins
from dither.data.column import shape_of
from dither.errors import InvalidArgument, NotApplicable
from dither.planner import named_noise
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures.ordered import LARGEST, read_unbounded
from dither.procedures.plans import Plan, plan_location, plan_range, plan_scale, plan_trimmed
from dither.procedures.unbounded_quantiles import plan_drawn_quantile, plan_drawn_range
from dither.queries.totals import TrimmedMean
from dither.reals import exact
from dither.release import Release

AUTO = {
    "quantile": ("inverse", "propose_test"),
    "range": ("inverse", "propose_test"),
    "scale": ("propose_test", "inverse"),
    "trimmed mean": ("propose_test",),
}
"""The calibrations that serve each statistic without bounds, the default first (docs/decisions.md)."""
QUARTILES = (Fraction(1, 4), Fraction(3, 4))


def scale(
    data: Any,
    *,
    low: Any = 0.25,
    high: Any = 0.75,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    nulls: Any = None,
) -> Release:
    """The interquartile range (or that of other quantiles) of one column without bounds, to a factor.

    A test makes sure that no few records decide the order of magnitude; if it does not pass, the release is refused,
    and paid for.  Records that are mostly tied have a scale of exactly 0.

    epsilon, delta: the whole price; a test needs delta > 0 (less than one over the number of records is usual).
    calibration: "auto" or "propose_test"; ``ProposeTest(constants="paper")`` is DL09's algorithm S as printed.
    confidence: of the error bar, which costs nothing; None gives no bar.
    nulls: the number that a missing value (NaN) counts as, 0 by default; public.

    >>> import numpy as np
    >>> release = scale(np.linspace(20_000, 120_000, 20_001), epsilon=1.0, delta=1e-6)
    >>> 30_000 < release.value < 80_000
    True
    """
    return without_bounds(
        "scale", data, epsilon, delta, calibration, noise, confidence, nulls=nulls, shares=share_pair(low, high)
    )


def mode(data: Any, *, epsilon: Any, delta: Any = 0.0, confidence: Any = 0.95, rows_per_person: int = 1) -> Release:
    """The most common entry of a column of any kind, told exactly if it leads by enough, else refused.

    Categories need not be declared.  delta > 0 is needed.

    >>> mode(["bus"] * 700 + ["car"] * 300, epsilon=1.0, delta=1e-6).value
    'bus'
    """
    loss = Loss.asked(epsilon, delta)
    if loss.is_pure:
        raise InvalidArgument("delta", loss.delta, "a test needs delta > 0, such as 1e-6")
    if not isinstance(rows_per_person, int) or rows_per_person < 1:
        raise InvalidArgument("rows_per_person", rows_per_person, "a whole number of at least 1 is accepted")
    level = _level(confidence)
    winner = stable_choice(Counter(_entries(data)), loss, sensitivity=rows_per_person)
    return Release(
        value=winner, interval=None, confidence=level, loss=loss, neighbours=Neighbours.CHANGE_ONE, query="mode",
        calibration="stable", noise="none", reason=REFUSAL if winner is None else None,
    )  # fmt: skip


def undeclared_histogram(
    data: Any,
    *,
    epsilon: Any,
    delta: Any,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    rows_per_person: int = 1,
) -> Release:
    """Counts of categories that nobody has declared; those with few records are not shown.  delta > 0 is needed.

    >>> undeclared_histogram(["bus"] * 700 + ["car"] * 300 + ["rocket"], epsilon=1.0, delta=1e-6).labels
    ('bus', 'car')
    """
    loss, level = Loss.asked(epsilon, delta), _level(confidence)
    if calibration not in ("auto", "stable") and not isinstance(calibration, Stable):
        raise NotApplicable("calibration", calibration, "not for undeclared categories", "stable")
    only_noises("stable", named_noise(noise), "laplace")
    if loss.is_pure:
        raise InvalidArgument(
            "delta", loss.delta, "without declared edges or categories delta > 0 is needed, such as 1e-6"
        )
    bins = StableBins.of(loss, rows_per_person)
    counts = Counter(_entries(data))
    shown = bins.release(counts.keys(), counts.values())
    reach = None if level is None else bins.half_width(1 - exact(confidence))
    return Release(
        value=tuple(count for _, count in shown),
        interval=None if reach is None else tuple((count - reach, count + reach) for _, count in shown),
        confidence=level, loss=loss, neighbours=Neighbours.CHANGE_ONE, query="histogram", calibration="stable",
        noise="laplace", labels=tuple(str(key) for key, _ in shown),
    )  # fmt: skip


def without_bounds(
    kind: str,
    data: Any,
    epsilon: Any,
    delta: Any,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    *,
    step: Any = None,
    nulls: Any = None,
    shares: Any = QUARTILES,
) -> Release:
    """One statistic of a column without bounds; ``shares``: its quantile, pair of quantiles, or trimmed share."""
    if step is not None:
        raise InvalidArgument("step", step, "a step goes with bounds=(lower, upper); without bounds leave it out")
    loss, level, missing = Loss.asked(epsilon, delta), _level(confidence), _missing(nulls)
    shape = shape_of(data)
    plan = _plan(kind, shape.records, loss, shares, _manner(kind, calibration, noise), level is not None)
    answer = plan.run(read_unbounded(data, missing), None if level is None else 1 - exact(confidence))
    found = answer.found
    bar = None if found.low is None or found.high is None else (float(found.low), float(found.high))
    return Release(
        value=None if found.value is None else float(found.value),
        interval=None if level is None else bar,
        confidence=level,
        loss=plan.loss,
        neighbours=Neighbours.CHANGE_ONE,
        query=_label(kind, shares),
        calibration=plan.manner,
        noise=plan.noise,
        missing=missing if shape.nullable else None,
        reason=answer.refused_at,
    )


def _manner(kind: str, calibration: Any, noise: Any) -> Inverse | ProposeTest:
    """The calibration of a call without bounds."""
    served = AUTO[kind]
    named = {"inverse": Inverse, "propose_test": ProposeTest}
    if calibration == "auto":
        # A noise that was asked for by name is added noise, not a draw.
        chosen: Any = named[served[0] if noise == "auto" else "propose_test"]()
    else:
        chosen = named[calibration]() if isinstance(calibration, str) and calibration in named else calibration
    if not isinstance(chosen, (Inverse, ProposeTest)) or chosen.name not in served:
        name = getattr(chosen, "name", chosen)
        raise NotApplicable("calibration", name, f"not for a {kind} without bounds=(lower, upper)", ", ".join(served))
    law = named_noise(noise)
    if law is not None and (isinstance(chosen, Inverse) or law.name != "laplace"):
        raise NotApplicable("noise", law.name, "not without bounds=(lower, upper)", "noise='auto'")
    if isinstance(chosen, ProposeTest) and chosen.bound is not None:
        raise InvalidArgument("bound", chosen.bound, "without bounds the proposal follows from the scale: leave it out")
    return chosen


def _plan(kind: str, records: int, loss: Loss, shares: Any, manner: Inverse | ProposeTest, bar: bool) -> Plan:
    """The algorithm, from public facts alone."""
    if isinstance(manner, Inverse):
        return (plan_drawn_quantile if kind == "quantile" else plan_drawn_range)(records, loss, shares, bar=bar)
    if kind == "quantile":
        return plan_location(records, loss, shares, manner.constants)
    if kind == "scale":
        return plan_scale(records, loss, shares, manner.constants)
    if kind == "range":
        return plan_range(records, loss, shares, manner.constants)
    trimmed = TrimmedMean(trim=shares, bounds=(0, 1)).trimmed_of(records)
    return plan_trimmed(records, loss, trimmed, manner.constants)


def _label(kind: str, shares: Any) -> str:
    if kind == "quantile":
        return "median" if shares == Fraction(1, 2) else f"{float(shares):g} quantile"
    if kind == "trimmed mean":
        return f"{float(shares):g} trimmed mean"
    return f"{'scale' if kind == 'scale' else 'interquantile range'} ({float(shares[0]):g} to {float(shares[1]):g})"


def share_pair(low: Any, high: Any) -> tuple[Fraction, Fraction]:
    """Two shares in order."""
    ends = fraction_of_unit("low", low, closed=True), fraction_of_unit("high", high, closed=True)
    if not ends[0] < ends[1]:
        raise InvalidArgument("low", low, f"a share below high={high} is accepted")
    return ends


def _level(confidence: Any) -> float | None:
    return None if confidence is None else float(fraction_of_unit("confidence", confidence))


def _missing(nulls: Any) -> float:
    """The public number that a missing record counts as."""
    if nulls is None:
        return 0.0
    number = exact(nulls, "nulls")
    if abs(number) > Fraction(LARGEST):
        raise InvalidArgument("nulls", nulls, "a number within 2**1000 is accepted")
    return float(number)


def _entries(data: Any) -> list[Hashable]:
    """The records of a column of any kind; missing numbers are one category."""
    if isinstance(data, (str, bytes)) or not hasattr(data, "__len__") or len(data) == 0:
        raise InvalidArgument("data", type(data), "a list or array of at least one record is accepted")
    values = data.tolist() if isinstance(data, np.ndarray) else list(data)
    return ["missing" if value is None or value != value else _hashable(value) for value in values]


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)
