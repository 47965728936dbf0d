"""Answers without bounds and without declared categories: scale, quantiles, ranges, trimmed means, modes.

The functions of the public face come here when ``bounds=None``.  What the answer costs, and how many records it needs
at least, is decided from public facts before anything is read.
"""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dither.aliases import accepts_calibration
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.choice import named_noise
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import only_noises
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.stable import REFUSAL, Stable, lead_margin, stable_choice
from dither.mechanisms.stable_bins import StableBins
from dither.numbers import exact
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures.ordered import LARGEST, read_unbounded
from dither.procedures.plans import Plan, plan_location, plan_range, plan_scale, plan_trimmed
from dither.procedures.robust import enough_records
from dither.procedures.unbounded_quantiles import plan_drawn_quantile, plan_drawn_range
from dither.queries.totals import TrimmedMean
from dither.release import Release
from dither.sources.column import shape_of

AUTO = {
    "quantile": ("inverse", "propose_test"),
    "range": ("inverse", "propose_test"),
    "scale": ("propose_test", "inverse"),
    "trimmed mean": ("propose_test",),
}
"""The mechanisms that serve each statistic without bounds, the default first (docs/decisions.md)."""
Category: TypeAlias = tuple[type, str]
"""The type of a record and how it prints."""
QUARTILES = (Fraction(1, 4), Fraction(3, 4))


@accepts_calibration
def scale(
    data: Any,
    *,
    low: Any = 0.25,
    high: Any = 0.75,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    nulls: Any = None,
) -> Release:
    """The interquartile range (or that of other quantiles) of one column without bounds, to a factor.

    A test makes sure that no few records decide the order of magnitude; if it does not pass, the release is refused,
    and paid for.  Records that are mostly tied have a scale of exactly 0.

    epsilon, delta: the whole price; a test needs delta > 0 (less than one over the number of records is usual).
    mechanism: "auto" or "propose_test"; ``ProposeTest(constants="paper")`` is DL09's algorithm S as printed.
    confidence: of the error bar, which costs nothing; None gives no bar.
    nulls: the number that a missing value (NaN) counts as, 0 by default; public.

    >>> import numpy as np
    >>> release = scale(np.linspace(20_000, 120_000, 20_001), epsilon=1.0, delta=1e-6)
    >>> 30_000 < release.value < 80_000
    True
    """
    return without_bounds(
        "scale", data, epsilon, delta, mechanism, noise, confidence, nulls=nulls, shares=share_pair(low, high)
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
    told = _entries(data)
    test = MarginTest(loss.exact_epsilon, min(loss.exact_delta, Fraction(49, 100)))

    def possible(records: int) -> bool:
        """Whether so many records that all agree would pass."""
        return lead_margin({"all": records}, rows_per_person) >= test.least_margin

    enough_records(len(told.keys), possible, loss.exact_epsilon, loss.exact_delta)
    winner = stable_choice(Counter(told.keys), loss, sensitivity=rows_per_person)
    return Release(
        value=None if winner is None else told.values[winner],
        interval=None, confidence=level, loss=loss, neighbours=Neighbours.CHANGE_ONE, query="mode",
        mechanism="stable", noise="none", reason=REFUSAL if winner is None else None,
    )  # fmt: skip


def undeclared_histogram(
    data: Any,
    *,
    epsilon: Any,
    delta: Any,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    rows_per_person: int = 1,
) -> Release:
    """Counts of categories that nobody has declared; those with few records are not shown.  delta > 0 is needed.

    Error bars cover the counts of those that are shown: one just above the threshold may have been small.

    >>> undeclared_histogram(["bus"] * 700 + ["car"] * 300 + ["rocket"], epsilon=1.0, delta=1e-6).labels
    ('bus', 'car')
    """
    loss, level = Loss.asked(epsilon, delta), _level(confidence)
    if mechanism not in ("auto", "stable") and not isinstance(mechanism, Stable):
        raise NotApplicable("mechanism", mechanism, "not for undeclared categories", "stable")
    only_noises("stable", named_noise(noise), "laplace")
    if loss.is_pure:
        raise InvalidArgument(
            "delta", loss.delta, "without declared edges or categories delta > 0 is needed, such as 1e-6"
        )
    bins = StableBins.of(loss, rows_per_person)
    told = _entries(data)
    enough_records(len(told.keys), lambda n: n >= bins.threshold, loss.exact_epsilon, loss.exact_delta)
    counts = Counter(told.keys)
    shown = bins.release(counts.keys(), counts.values())
    miss = None if level is None else 1 - exact(confidence)
    return Release(
        value=tuple(count for _, count in shown),
        interval=None if miss is None else tuple(bins.bar(count, miss) for _, count in shown),
        confidence=level, loss=loss, neighbours=Neighbours.CHANGE_ONE, query="histogram", mechanism="stable",
        noise="laplace", labels=tuple(str(told.values[key]) for key, _ in shown),
    )  # fmt: skip


def without_bounds(
    kind: str,
    data: Any,
    epsilon: Any,
    delta: Any,
    mechanism: Any = "auto",
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
    plan = _plan(kind, shape.records, loss, shares, _manner(kind, mechanism, noise), level is not None)
    answer = plan.run(read_unbounded(data, missing), None if level is None else 1 - exact(confidence))
    found = answer.found
    bar = None if found.low is None or found.high is None else (_float(found.low), _float(found.high))
    return Release(
        value=None if found.value is None else _float(found.value),
        interval=None if level is None else bar,
        confidence=level,
        loss=plan.loss,
        neighbours=Neighbours.CHANGE_ONE,
        query=_label(kind, shares),
        mechanism=plan.manner,
        noise=plan.noise,
        missing=missing if shape.nullable else None,
        reason=answer.refused_at,
    )


def _manner(kind: str, mechanism: Any, noise: Any) -> Inverse | ProposeTest:
    """The mechanism of a call without bounds."""
    served = AUTO[kind]
    named = {"inverse": Inverse, "propose_test": ProposeTest}
    if mechanism == "auto":
        # A noise that was asked for by name is added noise, not a draw.
        chosen: Any = named[served[0] if noise == "auto" else "propose_test"]()
    else:
        chosen = named[mechanism]() if isinstance(mechanism, str) and mechanism in named else mechanism
    if not isinstance(chosen, (Inverse, ProposeTest)) or chosen.name not in served:
        name = getattr(chosen, "name", chosen)
        raise NotApplicable("mechanism", name, f"not for a {kind} without bounds=(lower, upper)", ", ".join(served))
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
    return plan_trimmed(records, loss, trimmed, manner.constants, exact(shares))


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


def _float(number: Fraction) -> float:
    """A released number; one beyond all floats is the largest of them, and no error."""
    most = Fraction(sys.float_info.max)
    return float(min(max(number, -most), most))


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


class _Entries(NamedTuple):
    """Private: the category of each record, and what is told of each category."""

    keys: list[Category]
    values: dict[Category, Any]


def _entries(data: Any) -> _Entries:
    """The records of a column of any kind; missing numbers are one category.

    Which category a record falls into, and what is told of it, depend on that record alone.  Equality would not do: 1,
    1.0 and True are equal, and so are 0.0 and -0.0, but the first of them in the data would be the one told.
    """
    if isinstance(data, (str, bytes)) or not hasattr(data, "__len__") or len(data) == 0:
        raise InvalidArgument("data", type(data), "a list or array of at least one record is accepted")
    values = data.tolist() if isinstance(data, np.ndarray) else list(data)
    told = [_told(value) for value in values]
    keys = [(type(value), value if type(value) is str else repr(value)) for value in told]
    return _Entries(keys, dict(zip(keys, told, strict=True)))


def _told(value: Any) -> Any:
    """What is told of a record if its category is: a text where it is no plain value."""
    if _is_missing(value):
        return "missing"
    if type(value) is float:
        return value + 0.0  # -0.0 is 0.0
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _is_missing(value: Any) -> bool:
    """None, not a number, or what other libraries have for either."""
    if value is None:
        return True
    try:
        unlike = value != value
    except Exception:  # noqa: BLE001  (what does not even compare with itself; one record must not raise an error)
        return True
    return unlike is value or (isinstance(unlike, (bool, np.bool_)) and bool(unlike))
