"""V17: composition against the number of queries, Table 2.1's error bounds, the floor of Proposition 3.1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.accounting.composition import advanced, basic, optimal
from dither.mechanisms.choice import prepare
from dither.noise.gaussian import Gaussian
from dither.privacy import Loss
from dither.sources.column import Column, Table
from dither.sources.grid import Grid
from dither.statistics.bit_workloads import attribute_means, conjunctions
from dither.statistics.workloads import Family, WorkloadCounts, points, thresholds
from dither_lab.reproduce import drawing
from dither_lab.reproduce.counterfactual import power, put, times
from dither_lab.reproduce.experiment import (
    Chance,
    Claim,
    Experiment,
    Judged,
    MeasuredPoints,
    Point,
    Rule,
    Setting,
    settle,
)
from dither_lab.reproduce.intervals import exact, median, share, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = 1e-6
EACH = 0.1
BASIC, TEXT, OURS, BEST = "basic (Lemma 2.3)", "advanced, textbook (Lemma 2.4)", "advanced, ours", "optimal"


# --- composition --------------------------------------------------------------------------------------------------


def textbook(epsilon: float, k: int, delta: float) -> float:
    """Dwork, Rothblum and Vadhan's form: eps sqrt(2 k ln(1/delta)) + k eps (e^eps - 1)."""
    return epsilon * math.sqrt(2 * k * math.log(1 / delta)) + k * epsilon * math.expm1(epsilon)


def responses_delta(epsilon: float, k: int, total: float) -> float:
    """The exact delta at ``total`` of k randomised responses, each epsilon: a sum over how many told the truth."""
    from scipy.stats import binom  # noqa: PLC0415

    truthful = np.arange(k + 1)
    log_ratio = epsilon * (2 * truthful - k)
    mass = binom.pmf(truthful, k, 1 / (1 + math.exp(-epsilon)))
    return float((mass * np.maximum(0.0, -np.expm1(np.minimum(total - log_ratio, 0.0)))).sum())


def _composition(setting: Setting) -> Iterator[Point]:
    most = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
    counts = setting.pick(tiny=(1, 10, 100), quick=most[:-2], full=most)
    for k in counts:
        losses = [Loss(EACH)] * k
        best = optimal(EACH, 0, k, DELTA).epsilon
        yield Point("epsilon", BASIC, k, exact(basic(losses).epsilon))
        yield Point("epsilon", TEXT, k, exact(textbook(EACH, k, DELTA)))
        yield Point("epsilon", OURS, k, exact(advanced(losses, delta=DELTA).epsilon))
        yield Point("epsilon", BEST, k, exact(best))
        yield Point("delta of randomised response", "at the optimal epsilon", k, exact(responses_delta(EACH, k, best)))
        yield Point("delta of randomised response", "at 1% less", k, exact(responses_delta(EACH, k, 0.99 * best)))
    alpha = float(Gaussian().point(Loss(1.0, DELTA), beta=Fraction(0)).alpha)
    for n in (10**3, 10**4, 10**5, 10**6, 10**8):
        linear, square = n / math.log(n) ** 2, n**2 / math.log(n) ** 2
        yield Point("error", "k = n / ln^2 n, times sqrt(n)", n, exact(math.sqrt(linear * n) / (n * alpha)))
        yield Point("error", "k = n^2 / ln^2 n", n, exact(math.sqrt(square) / (n * alpha)))


def _judge_optimal(result: MeasuredPoints) -> Judged:
    payload = result.of("delta of randomised response", "at the optimal epsilon")
    less = result.of("delta of randomised response", "at 1% less")
    close = [p for p in payload if p.y.value > 0]
    holds = all(p.y.value <= DELTA * (1 + 1e-6) for p in payload) and all(p.y.value > DELTA for p in less if p.x > 1)
    return settle(
        holds,
        f"k randomised responses have delta {short(min(p.y.value for p in close))} to "
        f"{short(max(p.y.value for p in close))} at the optimal epsilon, and more than {short(DELTA)} at 1% less",
        "randomised response does not attain it",
    )


def _judge_asymptotic(result: MeasuredPoints) -> Judged:
    best, text, plain = (result.of("epsilon", name) for name in (BEST, TEXT, BASIC))
    large = [(p.y.value / q.y.value, p.x) for p, q in zip(text, best, strict=True) if p.x >= 100]
    crossing = next((p.x for p, q in zip(text, plain, strict=True) if p.y.value < q.y.value), math.inf)
    ours = [p.y.value / q.y.value for p, q in zip(result.of("epsilon", OURS), best, strict=True)]
    return settle(
        max(ratio for ratio, _ in large) < 2,
        f"for k >= 100 the textbook form is {short(min(large)[0])} to "
        f"{short(max(large)[0])} of the optimum, ours {short(min(ours))} to {short(max(ours))}; it beats basic "
        f"composition from k = {crossing:,.0f} on (of those measured)",
        "it is far from the optimum",
    )


def _judge_many(result: MeasuredPoints) -> Judged:
    linear, square = result.of("error", "k = n / ln^2 n, times sqrt(n)").ys, result.of("error", "k = n^2 / ln^2 n").ys
    return settle(
        bool(np.all(np.diff(linear) < 0) and np.all(np.diff(square) < 0)),
        f"sqrt(n) times the standard deviation falls from {short(linear[0])} to {short(linear[-1])} for k = n/ln^2 n; "
        f"the standard deviation from {short(square[0])} to {short(square[-1])} for k = n^2/ln^2 "
        "n (n = 10^3 to 10^8)",
        "it does not fall",
        remark="" if linear[0] > 10 * linear[-1] else "slowly: like 1/ln n with these numbers of queries",
    )


def _draw_composition(figure: Figure, result: MeasuredPoints) -> None:
    left, right = drawing.panels(figure, ["k releases of epsilon 0.1, delta = 1e-6", "In units of the optimum"])
    drawing.lines(left, result, "epsilon")
    drawing.finish(left, "k", "epsilon together", log="xy")
    best = result.of("epsilon", BEST).ys
    for index, name in enumerate(result.series("epsilon")):
        chosen = result.of("epsilon", name)
        right.plot(chosen.xs, chosen.ys / best, color=drawing.COLOURS[index], label=name)
    right.set_ylim(0.9, 4)
    drawing.finish(right, "k", "ratio", log="x", legend=False)


# --- Table 2.1 ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableEntry:
    """A row and column of the table: a family, a mechanism, and what is said of the largest error (eps n = 1)."""

    family: str
    make: Callable[[int], Family]
    method: str
    sizes: tuple[int, ...]
    shape: Callable[[int], float]
    words: str
    reference: str
    unit: str = ""
    """What the error is divided by, where it is not what is in O() itself but of its order."""


def _root(queries: float) -> Callable[[int], float]:
    """sqrt(D log |Q|) for |Q| = queries^d: Theorem 2.9 without the ~."""
    return lambda d: math.sqrt(2**d * d * math.log(queries))


WIDTH = 2
GROWTH = 1.25
"""By how much a ratio to a bound in O() may be larger at the largest size than at the smallest."""


def _pairs(d: int) -> Family:
    return conjunctions(d, width=WIDTH)


FEW, SOME, MANY = (4, 8, 16, 24), (4, 6, 8, 10, 12, 14), (8, 16, 32, 64, 128, 256)
POINTS, MEANS = "points", "attribute means"
PAIRS = f"conjunctions of {WIDTH}"
ENTRIES = (
    TableEntry(POINTS, lambda d: points(range(2**d)), "histogram", SOME, float, "O(d)", "Prop. 2.8"),
    TableEntry("thresholds", lambda d: thresholds(range(2**d)), "histogram", SOME, _root(2), "~O(sqrt D)", "Thm. 2.9"),
    TableEntry("conjunctions", conjunctions, "histogram", (3, 4, 6, 8, 10), _root(3), "~O(sqrt D)", "Thm. 2.9"),
    TableEntry(MEANS, attribute_means, "linf", MANY, float, "O(d)", "Thm. 2.6"),
    TableEntry(PAIRS, _pairs, "linf", FEW, lambda d: math.comb(d, WIDTH), "O(d^t)", "Thm. 2.6", "C(d, t)"),
)
PLAIN = (
    TableEntry(MEANS, attribute_means, "laplace", MANY, float, "O(d)", ""),
    TableEntry(PAIRS, _pairs, "laplace", FEW, lambda d: math.comb(d, WIDTH), "O(d^t)", ""),
)
"""For comparison: independent Laplace noise has a largest error of k ln k, without being Theorem 2.6's mechanism."""


MECHANISMS = {
    "laplace": ("worst_case", "laplace"),
    "histogram": ("noisy_histogram", "auto"),
    "linf": ("k_norm", "auto"),
}
RUNS = 120
"""Of dither's own mechanism, at the second size of each row: do they follow the law that the row is judged by?"""
BAND = (0.2, 0.8)


def _prepared(entry: TableEntry, d: int, rng: np.random.Generator) -> tuple[WorkloadCounts, Any]:
    family, n = entry.make(d), 50_000
    if entry.family in ("points", "thresholds"):
        data: Any = Column(rng.integers(0, 2**d, n), Grid(Fraction(1), 0, 2**d - 1))
    else:
        data = Table([Column(rng.integers(0, 2, n), Grid(Fraction(1), 0, 1)) for _ in range(d)])
    return WorkloadCounts(family, ("",) * family.queries, n), data


def largest_errors(entry: TableEntry, d: int, trials: int, rng: np.random.Generator) -> list[float]:
    """The largest error over a family, in counts, for several releases at epsilon 1."""
    statistic, data = _prepared(entry, d, rng)
    mechanism, noise = MECHANISMS[entry.method]
    _, prepared = prepare(statistic, epsilon=1.0, delta=0.0, mechanism=mechanism, noise=noise)
    truth = np.array(statistic.values(data))
    return [float(np.abs(np.array(prepared.run(data).answer) - truth).max()) for _ in range(trials)]


def law_errors(entry: TableEntry, d: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """The same from the noise's law alone, which does not depend on the records; drawn with a fixed seed."""
    family = entry.make(d)
    if entry.method == "linf":
        # Density exp(-eps |z|_inf): the largest entry is Gamma(k) distributed.
        return np.asarray(rng.gamma(family.queries, 1.0, trials))
    if entry.method == "laplace":
        k, scale = family.queries, float(family.sensitivity)
        return np.array([np.abs(rng.laplace(0, scale, k)).max() for _ in range(trials)])
    results = np.empty(trials)
    for trial in range(trials):
        cells = rng.laplace(0, 2.0, 2**d)
        if entry.family == "thresholds":
            cells = np.cumsum(cells)
        elif entry.family == "conjunctions":
            cells = cells.reshape((2,) * d)
            for axis in range(d):
                cells = np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
        results[trial] = np.abs(cells).max()
    return results


def _series(entry: TableEntry) -> str:
    return f"{entry.family}, {entry.method}"


def _table(setting: Setting) -> Iterator[Point]:
    rng, trials = setting.rng("table"), setting.pick(tiny=100, quick=400, full=400)
    for entry in (*ENTRIES, *PLAIN):
        sizes = setting.pick(tiny=entry.sizes[:3], quick=entry.sizes[:-1], full=entry.sizes)
        for d in sizes:
            size = median(law_errors(entry, d, trials, rng))
            yield Point("largest error", _series(entry), d, size)
            yield Point("largest error / bound", _series(entry), d, size.times(1 / entry.shape(d)))
        middle = float(np.median(law_errors(entry, sizes[1], 2000, rng)))
        below = sum(error <= middle for error in largest_errors(entry, sizes[1], RUNS, rng))
        yield Point("runs below the median of the law", _series(entry), sizes[1], share(below, RUNS))


def _judge_entry(entry: TableEntry) -> Callable[[MeasuredPoints], Judged]:
    def judge(result: MeasuredPoints) -> Judged:
        ratio = result.of("largest error / bound", _series(entry))
        first, last = ratio[0].y, ratio[-1].y
        unit = entry.unit or (entry.words[2:-1] if entry.words[0] == "O" else "sqrt(D log |Q|)")
        there, here = f"{first} at d = {ratio.xs[0]:.0f}", f"{last} at d = {ratio.xs[-1]:.0f}"
        ours = f"largest error / {unit}: {there}, {here}"
        runs = result.of("runs below the median of the law", _series(entry))[0].y
        follows = BAND[0] <= runs.value <= BAND[1]
        return settle(
            follows and last.value <= GROWTH * first.value,
            f"{ours}; {runs} of dither's runs lie below the law's median",
            "the measured error grows faster than the bound" if follows else "dither's own runs do not follow the law",
            remark=_remark(result, entry),
        )

    return judge


def _remark(result: MeasuredPoints, entry: TableEntry) -> str:
    """How independent Laplace noise does on the same family, where it was measured and its ratio grows."""
    ratio = result.of("largest error / bound", f"{entry.family}, laplace")
    if not ratio or ratio.ys[-1] <= GROWTH * ratio.ys[0]:
        return ""
    return (
        f"with noise that is spread over the answers together; independent Laplace noise of scale k/eps, whose largest "
        f"error is k ln k, has {short(ratio.ys[0])} and {short(ratio.ys[-1])}"
    )


def _draw_table(figure: Figure, result: MeasuredPoints) -> None:
    left, right = drawing.panels(
        figure, ["Largest error of a family, in records (epsilon 1)", "Over Table 2.1's bound"], height=4.2
    )
    for ax, quantity, label in ((left, "largest error", "records"), (right, "largest error / bound", "ratio")):
        drawing.lines(ax, result, quantity)
        drawing.finish(ax, "d", label, log="xy", legend=False)
    drawing.shared_legend(figure, left)


# --- Proposition 3.1 ----------------------------------------------------------------------------------------------


def _floor(setting: Setting) -> Iterator[Point]:
    del setting
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        for delta in (0.0, 0.1):
            name = f"delta = {delta:g}"
            yield Point("chance", f"bound, {name}", epsilon, exact((1 + delta) / (1 + math.exp(-epsilon))))
            best = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
            yield Point("chance", f"randomised response, {name}", epsilon, exact(best))
        yield Point("chance", "Laplace, delta = 0", epsilon, exact(-math.expm1(-epsilon / 2)))


def _judge_floor(result: MeasuredPoints) -> Judged:
    gaps: dict[float, float] = {}
    for delta in (0.0, 0.1):
        bound, best = (result.of("chance", f"{who}, delta = {delta:g}") for who in ("bound", "randomised response"))
        gaps[delta] = float((bound.ys - best.ys).max())
    laplace, bound = result.of("chance", "Laplace, delta = 0"), result.of("chance", "bound, delta = 0")
    holds = all(p.y.low <= q.y.value for p, q in zip(laplace, bound, strict=True)) and min(gaps.values()) > -1e-12
    return settle(
        holds and abs(gaps[0.0]) < 1e-12,
        "randomised response attains it for delta = 0; at delta = 0.1 it stays "
        f"{short(gaps[0.1])} below at most; Laplace noise is right within LS/2 with probability {laplace[0].y} at eps "
        f"0.1, {laplace[-1].y} at 4",
        "something beats the bound",
        remark=""
        if gaps[0.1] < 1e-3
        else "not tight for delta > 0: from 1 - p >= e^-eps (p - delta) follows p <= (e^eps + delta)/(e^eps + 1), "
        "which is attained for every delta",
    )


def _draw_floor(figure: Figure, result: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["Chance of being within LS/2 on both of two neighbours"])
    dashed = [name for name in result.series("chance") if name.startswith("bound")]
    drawing.lines(ax, result, "chance", dashed=dashed, wide=["randomised response, delta = 0"])
    drawing.finish(ax, "epsilon", "probability", log="x")


EXPERIMENTS = [
    Experiment(
        "v17",
        "composition",
        "Basic, advanced and optimal composition",
        _composition,
        [
            Claim(
                "sec. 2.2, optimal composition",
                "an exact characterisation; randomised response is the worst mechanism",
                _judge_optimal,
                Rule(
                    "at the optimal epsilon k randomised responses have a delta of at most 1e-6 (1 + 1e-6), and at 1% "
                    "less one above 1e-6, for every k > 1",
                    "the characterisation is exact, up to rounding",
                ),
                times("delta of randomised response", "at the optimal epsilon", by=2),
            ),
            Claim(
                "sec. 2.2",
                "Lemmas 2.3 and 2.4 give the right asymptotic behaviour for most settings",
                _judge_asymptotic,
                Rule("for k >= 100 the textbook form is below twice the optimum", "asymptotics up to a constant of 2"),
                times("epsilon", TEXT, by=2),
            ),
            Claim(
                "sec. 2.2",
                "about n queries with error o(1/sqrt n), about n^2 queries with error o(1)",
                _judge_many,
                Rule(
                    "sqrt(n) times the error with n/ln^2 n queries, and the error with n^2/ln^2 n, fall from each n "
                    "to the "
                    "next, 10^3 to 10^8; a remark, if by less than a factor of 10 in all",
                    "o() means falling; five powers of ten of n for less than one of error is slow",
                ),
                power("error", "k = n^2 / ln^2 n", of=0.2),
            ),
        ],
        _draw_composition,
        note="k releases of epsilon 0.1 each, delta 1e-6 together. Error: standard deviation of "
        "Gaussian noise on each of k counting queries (as shares) at epsilon 1.",
    ),
    Experiment(
        "v17",
        "table-2-1",
        "Table 2.1: families of counting queries",
        _table,
        [
            Claim(
                f"Table 2.1, {entry.family}, {entry.reference} [{entry.method}]",
                f"largest error {entry.words} / (eps n), |X| = D = 2^d",
                _judge_entry(entry),
                Rule(
                    f"the median of the largest error over the bound, by the noise's law, is at the largest d at most "
                    f"{GROWTH} times that at the smallest; and of {RUNS} runs of dither's mechanism a share of "
                    f"{BAND[0]} to {BAND[1]} lies below the median of its law",
                    "a constant in O() does not grow; a missing logarithm grows by 1.5 at least over these sizes; "
                    "noise twice too large would put hardly any run below the median",
                    Chance(
                        1e-6,
                        f"laws are drawn with a fixed seed; rounding to whole numbers moves the share of {RUNS} coins "
                        "by less than 0.1, and with 0.6 it leaves the band with probability 9e-7",
                    ),
                ),
                power("largest error / bound", _series(entry), of=1.0),
            )
            for entry in ENTRIES
        ],
        _draw_table,
        note="50,000 random records, epsilon 1; errors in records, so that 1/(eps n) is one. The largest "
        "error over a family, median of several releases. Theorem 2.6 is about the existence of a mechanism; here it "
        "is the l-infinity mechanism. Trees and matrix mechanisms have polylogarithmic error for "
        "thresholds.",
    ),
    Experiment(
        "v17",
        "floor",
        "No mechanism beats the local sensitivity everywhere",
        _floor,
        [
            Claim(
                "Proposition 3.1",
                "on one of two neighbours the chance of an error below LS/2 is at most (1+delta)/(1+e^-eps)",
                _judge_floor,
                Rule(
                    "neither randomised response nor Laplace noise exceeds the bound at five epsilons and delta = 0 or "
                    "0.1, and randomised response attains it to 1e-12 at delta = 0; a remark, if it stays more than "
                    "1e-3 below at delta = 0.1",
                    "a bound has no exceptions; one that is attained cannot be improved",
                ),
                put("chance", 0.999, "Laplace, delta = 0"),
            )
        ],
        _draw_floor,
    ),
]
