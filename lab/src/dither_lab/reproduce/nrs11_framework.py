"""NRS11: Figures 1 and 2, the minimum, hard functions, sample and aggregate in any metric, and Lemmas 5.3 to 5.5."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.kernels.clusters import kmeans
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.centre import Centre, CentreOfAttention, centre_and_bound
from dither.procedures.executor import Output
from dither.procedures.metrics import L1
from dither_lab.reproduce import drawing
from dither_lab.reproduce.counterfactual import power, put, times
from dither_lab.reproduce.experiment import (
    SEEDED,
    Claim,
    Experiment,
    Judged,
    MeasuredPoints,
    Point,
    Rule,
    Setting,
    settle,
    untested,
)
from dither_lab.reproduce.intervals import exact, share, short, slope
from dither_lab.reproduce.nrs11_blocks import CENTRES, K, blobs, cost, separation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# --- Figure 1 -----------------------------------------------------------------------------------------------------

MOVED = 0.3
SOLID, SLID, DILATED = "h(z)", "h(z + 0.3)", "e^0.3 h(e^0.3 z)"


def _sliding(setting: Setting) -> Iterator[Point]:
    del setting
    for z in np.linspace(-4, 4, 81).round(10).tolist():
        here = math.exp(-abs(z)) / 2
        slid = math.exp(-abs(z + MOVED)) / 2
        dilated = math.exp(MOVED - math.exp(MOVED) * abs(z)) / 2
        yield Point("sliding", SOLID, z, exact(here))
        yield Point("sliding", SLID, z, exact(slid))
        yield Point("dilation", SOLID, z, exact(here))
        yield Point("dilation", DILATED, z, exact(dilated))
        yield Point("log ratio", "sliding", z, exact(abs(math.log(slid / here))))
        yield Point("log ratio", "dilation", z, exact(abs(math.log(dilated / here))))
    beyond = 2 * MOVED / math.expm1(MOVED)
    yield Point("probability", "that dilation costs more than 0.3", 0, exact(math.exp(-beyond)))


def _judge_sliding(points: MeasuredPoints) -> Judged:
    slid, dilated = points.of("log ratio", "sliding").ys, points.of("log ratio", "dilation").ys
    rare = float(points.of("probability").ys[0])
    return settle(
        abs(float(slid.max()) - MOVED) < 1e-9 and float(dilated.max()) > 2 * MOVED and 0 < rare < 0.5,
        f"the log ratio of the densities is at most {short(slid.max())} after sliding by 0.3; after dilation by e^0.3 "
        f"it "
        f"reaches {short(dilated.max())} at |z| = 4, and exceeds 0.3 with probability {short(rare)}",
        "the densities differ otherwise",
    )


def _draw_sliding(figure: Figure, points: MeasuredPoints) -> None:
    for ax, quantity, dotted in zip(
        drawing.panels(figure, ["Sliding", "Dilation"]), ("sliding", "dilation"), (SLID, DILATED), strict=True
    ):
        for name, style in ((SOLID, "-"), (dotted, ":")):
            chosen = points.of(quantity, name)
            ax.plot(chosen.xs, chosen.ys, style, color=drawing.COLOURS[0 if style == "-" else 1], label=name)
        drawing.finish(ax, "z", "density")


# --- Figure 2 -----------------------------------------------------------------------------------------------------

WIDE = 10.0


def best_pair(points: np.ndarray) -> tuple[float, np.ndarray]:
    """The optimal 2-means by listing all partitions: cost and centres."""
    n = len(points)
    codes = np.arange(1, 2 ** (n - 1))
    member = (codes[:, None] >> np.arange(n)) & 1
    sizes = member.sum(axis=1)
    first = member @ points / sizes[:, None]
    second = (points.sum(axis=0) - member @ points) / (n - sizes)[:, None]
    squares = float((points**2).sum())
    costs = (squares - sizes * (first**2).sum(axis=1) - (n - sizes) * (second**2).sum(axis=1)) / n
    at = int(costs.argmin())
    return float(costs[at]), np.stack([first[at], second[at]])


def wasserstein(item: np.ndarray, other: np.ndarray) -> float:
    """The root of the least sum of squares over matchings."""
    return min(float(np.linalg.norm(item[list(order)] - other)) for order in itertools.permutations(range(len(item))))


def sensitive(each: int) -> tuple[np.ndarray, np.ndarray]:
    """Figure 2: equal groups at the corners of a square; one point moved along one side or along the other."""
    half = WIDE / math.sqrt(8)
    corners = np.repeat(half * np.array([(-1.0, -1), (-1, 1), (1, -1), (1, 1)]), each, axis=0)
    here, there = corners.copy(), corners.copy()
    here[-1] = (half * 0.9, half)
    there[-1] = (half, half * 0.9)
    return here, there


def _instances(setting: Setting) -> Iterator[Point]:
    for each in setting.pick(tiny=(1, 2), quick=(1, 2, 3), full=(1, 2, 3, 4)):
        here, there = sensitive(each)
        (before, centres), (after, others) = best_pair(here), best_pair(there)
        n = len(here)
        yield Point("move of the centres / Lambda", "Figure 2", n, exact(wasserstein(centres, others) / WIDE))
        yield Point("change of the cost, n / Lambda^2", "Figure 2", n, exact(abs(before - after) * n / WIDE**2))
        # n - 1 points at one place and one far away cost nothing; a third place costs what the two singles are apart.
        lone = np.zeros((n, 2))
        lone[0] = (WIDE, 0)
        third = lone.copy()
        third[1] = (WIDE / 2, WIDE * math.sqrt(3) / 2)
        change = abs(best_pair(lone)[0] - best_pair(third)[0])
        yield Point("change of the cost, n / Lambda", "a third place", n, exact(change * n / WIDE))
        yield Point("change of the cost, n / Lambda^2", "a third place", n, exact(change * n / WIDE**2))
    for name, chosen in zip(("here", "one point moved"), sensitive(2), strict=True):
        for (x, y), label in [((x, y), f"points, {name}") for x, y in chosen.tolist()]:
            yield Point(label, "y", x, exact(y))
        for x, y in best_pair(chosen)[1].tolist():
            yield Point(f"centres, {name}", "y", x, exact(y))


def _judge_centres(points: MeasuredPoints) -> Judged:
    moved = points.of("move of the centres / Lambda")
    return settle(
        bool(moved.ys.min() > 0.3),
        f"one of {moved.xs[0]:.0f} to {moved.xs[-1]:.0f} points, moved by a twentieth of a side, moves the two optimal "
        f"centres by {short(moved.ys.min())} to {short(moved.ys.max())} of Lambda",
        "they hardly move",
    )


def _judge_cost(points: MeasuredPoints) -> Judged:
    plain = points.of("change of the cost, n / Lambda").ys.max()
    squared = max(p.y.value for p in points.of("change of the cost, n / Lambda^2"))
    return settle(
        squared <= 1,
        f"one point changes the optimal cost by up to {short(plain)} Lambda/n and {short(squared)} Lambda^2/n (Lambda "
        f"= "
        f"{WIDE:g})",
        "it moves by more",
        correction="the cost is a mean of squares, so that the bound is Lambda^2/n; Lambda/n is exceeded where Lambda "
        "> 2"
        if plain > 1
        else "",
    )


def _draw_instances(figure: Figure, points: MeasuredPoints) -> None:
    for ax, name in zip(
        drawing.panels(figure, ["A sensitive instance", "One point moved"]), ("here", "one point moved"), strict=True
    ):
        for label, marker, colour in (("points", "o", drawing.COLOURS[0]), ("centres", "*", drawing.COLOURS[1])):
            chosen = points.of(f"{label}, {name}")
            size = 60 if label == "centres" else 30
            ax.scatter(chosen.xs, chosen.ys, marker=marker, color=colour, s=size, label=label, zorder=3)
        ax.set_aspect("equal")
        ax.set_xlim(-5, 5)
        ax.set_ylim(-5, 5)
        drawing.finish(ax, "", "")


# --- the minimum, and hard functions ------------------------------------------------------------------------------


def enumerated(table: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Local and smooth sensitivity of a function given for all data: one axis for each record."""
    axes = range(table.ndim)
    local = np.max(
        [np.maximum(table.max(axis=a, keepdims=True) - table, table - table.min(axis=a, keepdims=True)) for a in axes],
        axis=0,
    )
    reached, smooth = local, local.astype(float)
    for k in range(1, table.ndim + 1):
        reached = np.max([np.broadcast_to(reached.max(axis=a, keepdims=True), reached.shape) for a in axes], axis=0)
        smooth = np.maximum(smooth, math.exp(-beta * k) * reached)
    return local, smooth


def _minimum(setting: Setting) -> Iterator[Point]:
    points, records = 6, setting.pick(tiny=3, quick=4, full=5)
    table = np.min(np.indices((points,) * records), axis=0)
    for beta in (0.1, 0.5, 1.0):
        _, brute = enumerated(table, beta)
        worst = 0.0
        for x in itertools.product(range(points), repeat=records):
            worst = max(worst, abs(_by_formula(x, points, beta) - brute[x]))
        yield Point("difference", "formula and brute force", beta, exact(worst))
    few = (0, 1, 1, 3, 3)[:records]
    for beta in np.linspace(0.1, 2.0, 20).round(3).tolist():
        _, brute = enumerated(table, beta)
        yield Point("S*", "brute force", beta, exact(brute[few]))
        yield Point("S*", "Claim 3.6", beta, exact(_by_formula(few, points, beta)))


def _by_formula(x: tuple[int, ...], points: int, beta: float) -> float:
    """Claim 3.6, the upper bound beyond the last record."""
    ranks = [*sorted(x), points - 1, points - 1]
    return max(math.exp(-beta * k) * max(ranks[k], ranks[k + 1] - ranks[0]) for k in range(len(x) + 1))


def _judge_minimum(points: MeasuredPoints) -> Judged:
    worst = float(points.of("difference").ys.max())
    return settle(
        worst < 1e-9,
        f"all data of a few records on 0..5, beta 0.1, 0.5, 1: the formula differs from brute force by {short(worst)}",
        "the formula differs",
    )


@functools.cache
def hard_function(records: int, beta: float) -> tuple[float, float, float]:
    """Over all data x_1, .., x_n in {0,1}^n: least LS where a formula is satisfiable, largest where not, and S* there.

    Description c stands for one of four formulas in one variable: false, v, not v, true.
    """
    size = 2**records
    truth = np.array([[0, v & 1, 1 - (v & 1), 1] for v in range(size)])
    table = np.zeros((size,) * records, dtype=np.int8)
    equal: list[Any] = [(slice(None), *[code] * (records - 1)) for code in range(size)]
    for code in range(size):
        table[equal[code]] = truth[:, code % 4]
    local, smooth = enumerated(table, beta)
    yes = [local[equal[code]].min() for code in range(size) if code % 4]
    no = [local[equal[code]].max() for code in range(size) if code % 4 == 0]
    at = smooth[(0, *[0] * (records - 1))]
    return float(min(yes)), float(max(no)), float(at)


def _hard(setting: Setting) -> Iterator[Point]:
    for records in setting.pick(tiny=(3,), quick=(3, 4), full=(3, 4)):
        beta = 0.5
        yes, no, smooth = hard_function(records, beta)
        yield Point("local sensitivity", "satisfiable, least", records, exact(yes))
        yield Point("local sensitivity", "not satisfiable, largest", records, exact(no))
        yield Point("exponent", "-ln S* / beta, not satisfiable", records, exact(-math.log(smooth) / beta))


def _judge_hard(points: MeasuredPoints) -> Judged:
    yes, no = (points.of("local sensitivity", name).ys for name in ("satisfiable, least", "not satisfiable, largest"))
    exponent = points.of("exponent")
    off = exponent.xs - exponent.ys
    return settle(
        bool(yes.min() == 1 and no.max() == 0) and bool(np.all((off >= -1e-9) & (off <= 2 + 1e-9))),
        f"all data of 3 and 4 records: LS is {yes.min():g} where the formula is satisfiable and {no.max():g} where "
        f"not; "
        f"there S* = exp(-beta k) with k = {', '.join(f'{k:g}' for k in exponent.ys)}",
        "LS does not tell satisfiable formulas from others",
        correction="k is n - 2, not n: n - 2 records can be changed to one that another description differs from in one"
        if bool(np.any(off > 1e-9))
        else "",
    )


def _draw_hard(figure: Figure, points: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["Local sensitivity decides satisfiability"])
    drawing.lines(ax, points, "local sensitivity")
    drawing.finish(ax, "records", "LS")
    drawing.whole(ax)


def _draw_minimum(figure: Figure, points: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["Smooth sensitivity of the minimum"])
    drawing.lines(ax, points, "S*", wide=["brute force"])
    drawing.finish(ax, "beta", "S* of the records 0, 1, 1, 3, 3 (or the first of them)")


# --- Theorem 4.2 and Corollary 4.3 --------------------------------------------------------------------------------

BETA = 0.5
RANKINGS = list(itertools.permutations(range(4)))


@functools.cache
def _kendall() -> np.ndarray:
    """Pairs in another order, for all pairs of rankings of four items."""
    signs = np.array([[np.sign(r[i] - r[j]) for i, j in itertools.combinations(range(4), 2)] for r in RANKINGS])
    return np.asarray((signs[:, None] != signs[None]).sum(axis=2), dtype=float)


def block_distances(metric: str, m: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Distances of the answers of m random samples, to each other and to that of all records; and the diameter."""
    n = m * size
    if metric.startswith("Kendall"):
        means = np.array([0.0, 0.25, 0.5, 0.75])
        data = rng.normal(means, 1.0, (n, 4))
        places = {r: k for k, r in enumerate(RANKINGS)}

        def answer(rows: np.ndarray) -> int:
            return places[tuple(np.argsort(np.argsort(rows.mean(axis=0))).tolist())]

        answers = np.array([answer(data[rng.choice(n, size, replace=False)]) for _ in range(m)])
        table = _kendall()
        return table[np.ix_(answers, answers)], table[answers, answer(data)], 6.0
    d = int(metric.rsplit(maxsplit=1)[-1])
    data = rng.random((n, d))
    result = np.array([data[rng.choice(n, size, replace=False)].mean(axis=0) for _ in range(m)])
    whole = data.mean(axis=0)
    if metric.startswith("l1"):
        apart = sum(np.abs(result[:, [j]] - result[None, :, j]) for j in range(d))
        return np.asarray(apart), np.abs(result - whole).sum(axis=1), float(d)
    apart = np.sqrt(sum((result[:, [j]] - result[None, :, j]) ** 2 for j in range(d)))
    return np.asarray(apart), np.linalg.norm(result - whole, axis=1), math.sqrt(d)


METRICS = ("l1, d = 1", "l1, d = 4", "l2, d = 4", "Kendall's, rankings of 4")


def _aggregated(setting: Setting) -> Iterator[Point]:
    rng, size = setting.rng("theorem-4-2"), 30
    for metric in METRICS:
        for m in setting.pick(tiny=(64, 400), quick=(64, 400, 1600), full=(64, 400, 1600, 2500)):
            apart, away, wide = block_distances(metric, m, size, rng)
            r = max(float(np.quantile(away, 0.75, method="higher")), 1e-12)
            touched = math.isqrt(m)
            place, bound = centre_and_bound(np.sort(apart, axis=1), wide, touched, BETA)
            yield Point("S / r", metric, m, exact(bound / r))
            yield Point("distance of the centre / r", metric, m, exact(float(away[place]) / r))
            yield Point("Lambda / r", metric, m, exact(wide / r))
    for size in setting.pick(tiny=(25, 100, 400), quick=(25, 100, 400, 1600), full=(25, 100, 400, 1600)):
        m, d = 400, 2
        data = rng.random((m * size, d))
        answers = np.array([data[rng.choice(len(data), size, replace=False)].mean(axis=0) for _ in range(m)])
        task = Aggregation(m, 1, Output(d, bounds=(0.0, 1.0)), Loss(4.0), None, L1())
        aggregate = Centre().prepare(task)
        assert isinstance(aggregate, CentreOfAttention)  # noqa: S101
        place, bound = aggregate.located(answers)
        noise = float(bound * aggregate.norm_factor / aggregate.point.alpha * aggregate.grids[0].step)
        yield Point("error", "mean |noise| of a coordinate", size, exact(noise * aggregate.point.law.typical))
        away = np.abs(answers - data.mean(axis=0)).sum(axis=1)
        yield Point("error", "r, of three quarters of the samples", size, exact(np.quantile(away, 0.75)))
        yield Point("error", "distance of the centre", size, exact(max(float(away[place]), 1e-9)))


def _judge_main(points: MeasuredPoints) -> Judged:
    last = {name: points.of("S / r", name)[-1].y.value for name in METRICS}
    first = {name: points.of("S / r", name)[0].y.value for name in METRICS}
    centre = max(points.of("distance of the centre / r", name)[-1].y.value for name in METRICS)
    said = ", ".join(f"{name}: {short(first[name])} and {short(last[name])}" for name in METRICS)
    m = points.of("S / r")[0].x, points.of("S / r")[-1].x
    return settle(
        all(value <= 4 for value in last.values())
        and centre <= 3
        and all(last[name] <= first[name] * (1 + 1e-9) for name in METRICS),
        f"S / r at {min(m):.0f} and {max(m):.0f} samples, each record in sqrt(m) of them: {said}; the centre is at "
        f"{short(centre)} r at most",
        "S is not of the order of r",
    )


def _judge_corollary(points: MeasuredPoints) -> Judged:
    noise, r = (
        points.of("error", name) for name in ("mean |noise| of a coordinate", "r, of three quarters of the samples")
    )
    fit, ratio = slope(noise.xs, noise.ys), noise.ys / r.ys
    return settle(
        abs(fit.value + 0.5) < 0.1 and bool(ratio.max() <= 1.3 * ratio.min()),
        f"the mean |noise| of a coordinate falls like n'^{fit.value:.2f}, as r does: {short(ratio.min())} to "
        f"{short(ratio.max())} of r at eps 4, d = 2",
        "the error is not of the order of r",
        remark=f"the constant in O() is about {short(ratio.max() * 4)}/eps: noise is larger than what three quarters "
        "of the samples already err by"
        if ratio.min() > 1
        else "",
    )


def _draw_main(figure: Figure, points: MeasuredPoints) -> None:
    left, right = drawing.panels(figure, ["Samples of 30 records, beta = 0.5", "Mean vectors in the plane, eps 4"])
    drawing.lines(left, points, "S / r")
    drawing.finish(left, "m, samples", "S / r", log="xy")
    drawing.lines(right, points, "error")
    drawing.finish(right, "n', records in a sample", "l1 distance", log="xy")


# --- Lemmas 5.3 to 5.5 --------------------------------------------------------------------------------------------


def _clusters(setting: Setting) -> Iterator[Point]:
    rng, trials = setting.rng("lemmas-5"), setting.pick(tiny=20, quick=40, full=200)
    data = np.sort(rng.beta(2, 5, 5000)).astype(np.float32)
    grid = np.linspace(0, 1, 21, dtype=np.float32)
    pairs = list(itertools.combinations_with_replacement(range(21), 2))
    squares = (data[None] - grid[:, None]) ** 2
    costs = np.stack([np.minimum(squares[i], squares[j]) for i, j in pairs])
    whole = costs.mean(axis=1)
    for gamma in (0.2, 0.1, 0.05):
        size = math.ceil(2 / gamma**2 * math.log(1 / gamma))
        near = 0
        for _ in range(trials):
            some = rng.choice(len(data), min(size, len(data) - 1), replace=False)
            near += float(np.abs(costs[:, some].mean(axis=1) - whole).max()) <= gamma
        yield Point("Lemma 5.3", "samples whose costs are within gamma", gamma, share(near, trials))
    points = blobs(5000, 0.03, rng)
    # Two points half-way between clusters, so that assignments can differ at all.
    points[:2] = (CENTRES[0] + CENTRES[1]) / 2 + rng.normal(0, 0.01, (2, 2))
    phi = separation(points)
    best = kmeans(np.ascontiguousarray(points), np.ones(len(points)), K)
    allowed = (1 - 401 * phi) / 400 * cost(points, kmeans(np.ascontiguousarray(points), np.ones(len(points)), K - 1))
    own, worst, tried = _nearest(points, best), 0.0, 0
    for _ in range(20 * trials):
        other = best + rng.normal(0, rng.uniform(0, 0.15), best.shape)
        if cost(points, other) <= allowed:
            tried += 1
            theirs = _nearest(points, other)
            sizes = [((own == j) != (theirs == j)).sum() / (own == j).sum() for j in range(K)]
            worst = max(worst, float(max(sizes)))
    yield Point("Lemma 5.4", "largest symmetric difference", phi, exact(worst))
    yield Point("Lemma 5.4", "28 phi^2", phi, exact(28 * phi))
    yield Point("Lemma 5.4", "candidates", phi, exact(tried))
    for factor in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0):
        apart = factor * K**0.25 * math.sqrt(math.log(2 * K))
        centres = apart / math.sqrt(3) * np.array([(math.cos(a), math.sin(a)) for a in (0, 2.0944, 4.18879)])
        right = 0
        for _ in range(trials):
            labels = rng.integers(0, K, 200)
            sample = np.ascontiguousarray(centres[labels] + rng.normal(0, 1, (200, 2)))
            result = _nearest(sample, kmeans(sample, np.ones(200), K))
            right += (
                all(len(set(result[labels == j].tolist())) == 1 for j in range(K)) and len(set(result.tolist())) == K
            )
        yield Point("Lemma 5.5", "samples partitioned without a mistake", factor, share(right, trials))


def _nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return np.asarray(((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1))


def _judge_costs(points: MeasuredPoints) -> Judged:
    least = min(points.of("Lemma 5.3"), key=lambda p: p.y.value)
    return settle(
        least.y.value >= 0.75,
        f"at least {least.y} of samples of 2/gamma^2 ln(1/gamma) records, gamma = {least.x:g}, 231 pairs of centres",
        "fewer samples are close",
    )


def _judge_regions(points: MeasuredPoints) -> Judged:
    worst, bound, tried = (
        float(points.of("Lemma 5.4", name).ys[0]) for name in ("largest symmetric difference", "28 phi^2", "candidates")
    )
    ours = (
        f"{tried:.0f} sets of centres of cost at most a Delta_(k-1)^2: their clusters differ from the best by "
        f"{short(worst)} of a cluster at most, 28 phi^2 is {short(bound)}"
    )
    if worst == 0 or tried < 50:
        return untested(ours, "too few sets of centres, or no assignment changed")
    return settle(worst <= bound, ours, "clusters differ by more")


def _judge_partition(points: MeasuredPoints) -> Judged:
    chosen = points.of("Lemma 5.5")
    low, high = chosen[0].y, chosen[-1].y
    return settle(
        high.value >= 0.95 and low.value <= 0.5,
        f"200 samples of three Gaussians in the plane, centres c sigma k^(1/4) sqrt(ln(l/w)) apart: without a mistake "
        f"in "
        f"{low} of the cases at c = {chosen.xs[0]:g}, {high} at c = {chosen.xs[-1]:g}",
        "the separation does not matter, or does not suffice",
    )


def _draw_clusters(figure: Figure, points: MeasuredPoints) -> None:
    left, right = drawing.panels(figure, ["Lemma 5.3", "Lemma 5.5"])
    drawing.lines(left, points, "Lemma 5.3")
    left.axhline(0.75, color="#5b6770", label="3/4, the lemma's", **drawing.PAPER)
    left.set_ylim(0, 1.05)
    drawing.finish(left, "gamma", "share of samples")
    drawing.lines(right, points, "Lemma 5.5")
    drawing.finish(right, "c", "share of samples")


EXPERIMENTS = [
    Experiment(
        "nrs11",
        "figure-1",
        "Sliding and dilation of the Laplace density",
        _sliding,
        [
            Claim(
                "Figure 1, Definition 2.5",
                "a small slide changes the Laplace density by a bounded factor, a dilation except with probability "
                "delta",
                _judge_sliding,
                Rule(
                    "the largest log ratio after sliding by 0.3 is 0.3 to 1e-9; after dilation it exceeds 0.6 "
                    "somewhere, "
                    "and 0.3 with a probability between 0 and 1/2",
                    "bounded means by 0.3 itself; a ratio that is exceeded with probability 0 would need no delta",
                ),
                times("log ratio", "sliding", by=1.5),
            )
        ],
        _draw_sliding,
        note="The two panels of the paper's Figure 1.",
    ),
    Experiment(
        "nrs11",
        "figure-2",
        "A sensitive instance of 2-means",
        _instances,
        [
            Claim(
                "Figure 2, sec. 4.1",
                "changing a single point moves the two optimal centres by Omega(Lambda)",
                _judge_centres,
                Rule(
                    "the centres, optimal over all partitions, move by more than 0.3 Lambda at every n",
                    "half a side of the square is 0.35 Lambda",
                ),
                times("move of the centres / Lambda", by=0.1),
            ),
            Claim(
                "sec. 4.1",
                "the cost of the optimal clustering has global sensitivity at most Lambda/n",
                _judge_cost,
                Rule(
                    "no change found exceeds Lambda^2/n; a correction, if one exceeds Lambda/n at Lambda = 10",
                    "one pair of neighbours beyond a bound refutes it",
                ),
                times("change of the cost, n / Lambda^2", by=5),
            ),
        ],
        _draw_instances,
        note="All partitions of 4 to 16 points are listed.",
    ),
    Experiment(
        "nrs11",
        "minimum",
        "The smooth sensitivity of the minimum",
        _minimum,
        [
            Claim(
                "Claim 3.6",
                "S* = max_k e^(-k eps) max(x_(k+1), x_(k+2) - x_1)",
                _judge_minimum,
                Rule("the formula equals brute force over all data to 1e-9", "both are sums of a few floats"),
                put("difference", 0.1),
            )
        ],
        _draw_minimum,
    ),
    Experiment(
        "nrs11",
        "hard",
        "A function whose local sensitivity decides satisfiability",
        _hard,
        [
            Claim(
                "sec. 3.5",
                "LS and S* are 1 if a formula is satisfiable; else LS is 0 and S* = exp(-beta n)",
                _judge_hard,
                Rule(
                    "over all data with equal descriptions LS is 1 where the formula is satisfiable and 0 where not, "
                    "and "
                    "S* is exp(-beta k) with k from n - 2 to n; a correction, if k is not n",
                    "k = n is printed; what matters is that it grows with n",
                ),
                put("local sensitivity", 1.0, "not satisfiable, largest"),
            )
        ],
        _draw_hard,
        note="Four formulas in one variable; that deciding them is hard for many variables is not testable here.",
    ),
    Experiment(
        "nrs11",
        "theorem-4-2",
        "Sample and aggregate in any metric",
        _aggregated,
        [
            Claim(
                "Theorems 4.2 and 4.9",
                "if three quarters of the samples are within r, the centre is within O(r) and noise is O(r/eps), up "
                "to a "
                "term that falls exponentially with sqrt(m), in any metric",
                _judge_main,
                Rule(
                    "with the most samples S is at most 4 r and the centre within 3 r, for l1, l2 and Kendall's "
                    "metric, "
                    "and S/r is nowhere larger than with the fewest",
                    "S is 2 rho, and two answers within r of f(x) are 2 r apart; Lambda/r is 4 and more",
                    SEEDED,
                ),
                times("S / r", by=10),
            ),
            Claim(
                "Corollary 4.3",
                "for constant eps the error is O(r): privacy costs no more than a smaller sample",
                _judge_corollary,
                Rule(
                    "the mean |noise| falls like n' to a power within 0.1 of -1/2 at 400 samples, and its ratio to r "
                    "varies "
                    "by 30% at most; a remark, if it is above 1",
                    "r falls like n'^(-1/2); O() allows any constant, a reader wants to know it",
                    SEEDED,
                ),
                power("error", "mean |noise| of a coordinate", of=0.4),
            ),
        ],
        _draw_main,
        note="Means of samples of records in [0, 1]^d, and rankings of four columns by their means; every record is in "
        "sqrt(m) samples at most, as in sec. 4.5 (left), or in one (right, pure epsilon 4).",
    ),
    Experiment(
        "nrs11",
        "lemmas-5",
        "Costs, clusters and partitions of samples",
        _clusters,
        [
            Claim(
                "Lemma 5.3",
                "with probability 3/4 a sample of O(Lambda^4 d k / gamma^2 ln(d Lambda^2/gamma)) records has all costs "
                "within gamma",
                _judge_costs,
                Rule(
                    "at least 3/4 of the samples, the constant in O() taken as 1, d = 1, k = 2, Lambda = 1",
                    "the lemma itself, for centres on a grid of 21 places",
                    SEEDED,
                ),
                put("Lemma 5.3", 0.5),
            ),
            Claim(
                "Lemma 5.4",
                "centres of cost at most a Delta_(k-1)^2 have clusters that differ from the best by 28 phi^2 of each",
                _judge_regions,
                Rule(
                    "no set of centres tried differs by more than 28 phi^2; not testable with fewer than 50 of them "
                    "within the cost, or if none differs at all",
                    "the lemma itself; a = (1 - 401 phi^2)/400",
                    SEEDED,
                ),
                put("Lemma 5.4", 0.9, "largest symmetric difference"),
            ),
            Claim(
                "Lemma 5.5",
                "well separated Gaussians are partitioned without a mistake with high probability",
                _judge_partition,
                Rule(
                    "without a mistake in 95% of the samples at c = 8, and in at most half of them at c = 1",
                    "omega() means for c large; at c = 1 the centres are 1.8 sigma apart and must be mistaken",
                    SEEDED,
                ),
                put("Lemma 5.5", 0.5),
            ),
        ],
        _draw_clusters,
        note="Lloyd's algorithm with many starts in place of Vempala and Wang's, which projects first; there is "
        "nothing to "
        "project in the plane.",
    ),
]
