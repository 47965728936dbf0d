"""The items of DL09."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from oracle_arrangement import cell_of, outside_square
from papers.formulas import datasets, neighbours
from papers.items import Item, near, within

NORMAL = np.random.default_rng(9).normal(50.0, 10.0, 20_000)
"""Made-up records of a bell curve."""
CLIFF = np.concatenate([np.zeros(5_000), np.linspace(1e6, 2e6, 15_000)])
"""The lower quartile is the last record before a cliff: one change multiplies the interquartile range."""
FEATURES = np.random.default_rng(5).uniform(-1, 1, (30_000, 2))
ERRORS = np.random.default_rng(6).normal(0, 0.3, 30_000)
STUDY = "statistics/scale.md"
MIDDLE = "statistics/median.md"
SLOPES = "statistics/regression.md"
OWN = "extending.md#your-own-function"
EXACT_LINE = np.random.default_rng(84).permutation(np.arange(-500, 500)) / 512
"""Features whose lines through two records are exact in floats."""
ARROWS = [(1, 0), (0, 1), (3, 4), (4, -3), (5, 12), (12, -5), (-8, 15)]
"""Whole features of whole length."""
STRAY = np.random.default_rng(83).uniform(-1, 1, 21)
"""How far records are from the line (0.3, 0.6): no three of their lines meet."""


def at_rank(x, share):
    """The record of rank ceil(share n)."""
    return sorted(x)[max(1, math.ceil(share * len(x) - 1e-9)) - 1]


def at_rank_by_share(x, q):
    """The same, named as its input."""
    return at_rank(x, q)


def spread(x):
    """The interquartile range by ranks."""
    return at_rank(x, 0.75) - at_rank(x, 0.25)


def few_decide(x):
    """Whether one rank more at either end makes the interquartile range more than twice as large, or half of it."""
    ordered, n = sorted(x), len(x)
    low, high = math.ceil(n / 4) - 1, math.ceil(3 * n / 4) - 1
    found = [ordered[high + b] - ordered[low + a] for a, b in product((-1, 0, 1), repeat=2)]
    return max(found) > 2 * min(found)


def smooth_median(x, far, beta):
    """NRS11 Proposition 3.4 for records in [0, far]: distances of two ranks around the median, discounted."""
    ordered, n = sorted(x), len(x)
    m = max(1, math.ceil(n / 2))

    def rank(i):
        return 0.0 if i < 1 else far if i > n else ordered[i - 1]

    return max(math.exp(-beta * k) * max(rank(m + t) - rank(m + t - k - 1) for t in range(k + 2)) for k in range(n + 1))


def changes_until(x, values, bound, f):
    """How many records must change, over all datasets, until one more moves f by more than ``bound``."""
    far = [
        sum(a != b for a, b in zip(x, y, strict=True))
        for y in datasets(values, len(x))
        if max(abs(f(y) - f(z)) for z in neighbours(y, values)) > bound
    ]
    return min(far)


def refused(margin, epsilon, delta):
    """The chance that margin + Lap(1/epsilon) stays below ln(1/(2 delta))/epsilon."""
    short = epsilon * margin - math.log(1 / (2 * delta))
    return 0.5 * math.exp(-short) if short > 0 else 1 - 0.5 * math.exp(short)


def changes_in_cells(X, y):
    """The cells of side 1 around the fit, and how many changes each one bears: all vertices, in rationals."""
    lengths = [math.isqrt(a * a + b * b) for a, b in X]
    parts = [(Fraction(a, length), Fraction(b, length)) for (a, b), length in zip(X, lengths, strict=True)]
    lines = [(part, 2 * Fraction(v) / length) for part, v, length in zip(parts, y, lengths, strict=True)]
    found = []
    for shift in product((0, 1), repeat=2):
        corner = cell_of(lines, shift)
        if corner is None:
            found.append((None, 0))
        else:
            least = math.sqrt(outside_square(lines, corner))
            found.append(([at / 2 for at in corner], max(math.ceil(least / 2) - 1, 0)))
    return found


def changes_by_counting(y, z):
    """Half of the records speak about one coefficient and half about the other: each median has a grid of its own."""
    found = []
    for shift in product((0, 0.5), repeat=2):
        corner, least = [], len(y)
        for records, by in ((y, shift[0]), (z, shift[1])):
            at = math.floor(at_rank(records, 0.5) - by) + by
            corner.append(at)
            below, above = sum(v < at for v in records), sum(v > at + 1 for v in records)
            least = min(least, len(records) - 2 * below, len(records) - 2 * above)
        found.append((corner, max(math.ceil(least / 2) - 1, 0)))
    return found


def shift_of(f, x, at):
    """n times how far one more record moves a function."""
    return [len(x) * (f([*x, t]) - f(x)) for t in at]


def lower_median(x):
    """The lower median."""
    return at_rank(x, 0.5)


def plane(slopes):
    """Responses of a plane with errors, intercept 1."""
    return 1 + FEATURES @ np.array(slopes) + ERRORS


ITEMS: tuple[Item, ...] = (
    Item(
        number=65,
        place="Section 1.2, the answer bottom",
        title="a refusal is a result, and its loss is spent",
        call="""session = dt.open({"x": x}, columns={"x": dt.Real(-1e9, 1e9)}, budget=dt.Budget(5.0, 1e-3), rows=len(x))
release = session.ask(dt.Scale("x"), epsilon=1.0, delta=1e-6)
release.refused, session.budget.spent.epsilon""",
        given={"x": CLIFF},
        other={"x": NORMAL},
        oracle=lambda x: (few_decide(x), 1.0),
        proof="propose_test.md#2-the-test",
        page=STUDY,
    ),
    Item(
        number=66,
        place="Section 1.1, influence",
        title="what one more record does to a mean, without limit, and to a median, at most a gap",
        call="""bounds = (0, 1000)
mean, median = dt.Mean(bounds=bounds, step=1 / 2), dt.Median(bounds=bounds)
[[len(x) * (dt.inspect.value(q, [*x, t]) - dt.inspect.value(q, x)) for t in at] for q in (mean, median)]""",
        given={"x": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0], "at": [0.0, 35.0, 1000.0]},
        other={"x": [10.0, 20.0, 30.0, 40.0, 90.0, 90.0], "at": [0.0, 500.0, 1000.0]},
        oracle=lambda x, at: [shift_of(np.mean, x, at), shift_of(lower_median, x, at)],
        agrees=within(1e-6),
        proof="order.md",
        page=MIDDLE,
    ),
    Item(
        number=67,
        place="Section 1.3, smooth noise and the range",
        title="smooth sensitivity of a median grows with far bounds",
        call="dt.inspect.smooth(dt.Median(bounds=(0, far), step=1), x, beta=0.05)",
        given={"x": list(range(40, 61)), "far": 10**6},
        other={"x": list(range(40, 61)), "far": 10**9},
        oracle=lambda x, far: smooth_median(x, far, 0.05),
        agrees=near(1e-6),
        proof="order.md",
        page=MIDDLE,
    ),
    Item(
        number=67,
        place="Section 1.3, propose-test-release and the range",
        title="without any bounds the median is found as well",
        call="""tries = (dt.median(x, epsilon=1.0, delta=1e-6, mechanism='propose_test') for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"x": NORMAL},
        other={"x": NORMAL * 1e6},
        oracle=lower_median,
        agrees=near(0.5),
        proof="robust_scale.md#4-quantiles-algorithm-m-ranges-trimmed-means",
        page=MIDDLE,
    ),
    Item(
        number=68,
        place="Algorithm S, as printed",
        title="the scale with the paper's constants: the middle of some answers",
        call="""S = dt.ProposeTest(constants="paper")
tries = [dt.scale(x, epsilon=3.0, delta=1e-3, mechanism=S) for _ in range(25)]
np.median([one.value for one in tries if not one.refused])""",
        given={"x": NORMAL},
        other={"x": 3 * NORMAL},
        oracle=spread,
        agrees=near(0.4),
        proof="robust_scale.md#5-the-papers-constants",
        page=STUDY,
    ),
    Item(
        number=69,
        place="Algorithm S, delta of one's own",
        title="the scale without bounds: the middle of some answers",
        call="""tries = [dt.scale(x, epsilon=1.0, delta=1e-6) for _ in range(15)]
np.median([one.value for one in tries if not one.refused])""",
        given={"x": NORMAL},
        other={"x": 3 * NORMAL},
        oracle=spread,
        agrees=near(0.3),
        proof="robust_scale.md#3-scale-algorithm-s",
        page=STUDY,
    ),
    Item(
        number=70,
        place="Algorithm S, steps 2 to 4",
        title="it refuses where few records decide the order of magnitude: refusals of 10",
        call="sum(dt.scale(x, epsilon=1.0, delta=1e-6).refused for _ in range(10))",
        given={"x": CLIFF},
        other={"x": NORMAL},
        oracle=lambda x: 10 * few_decide(x),
        proof="robust_scale.md#2-margins",
        page=STUDY,
    ),
    Item(
        number=71,
        place="Footnote 5",
        title="records that are mostly tied have a scale of exactly 0",
        call="dt.scale(x, epsilon=1.0, delta=1e-6).value",
        given={"x": np.concatenate([np.full(19_000, 7.0), NORMAL[:1_000]])},
        other={"x": NORMAL},
        oracle=spread,
        agrees=near(0.95),
        proof="robust_scale.md#3-scale-algorithm-s",
        page=STUDY,
    ),
    Item(
        number=72,
        place="Theorem 4(a)",
        title="two tests in a row and one answer cost 3 e: mean |noise| of an answer is bound / e",
        call="""never = dt.Proposal(value=len, bound=bound, margin=lambda x, b: 0)
passes = dt.Proposal(value=len, bound=bound, margin=lambda x, b: 10**6)
query = dt.Cascade(levels=[[never, passes]])
np.mean([abs(dt.ask(query, x, epsilon=3 * e, delta=1e-6, confidence=None).value - len(x)) for _ in range(1500)])""",
        given={"x": [1, 2], "bound": 4.0, "e": 0.5},
        other={"x": [1, 2], "bound": 4.0, "e": 1.0},
        oracle=lambda x, bound, e: bound / e,
        agrees=near(0.3),
        proof="propose_test.md#4-arrangements",
        page=OWN,
    ),
    Item(
        number=73,
        place="Theorem 4(c), refusals",
        title="a margin m is refused with probability e^(-e m) / (4 delta), which falls with every record it grows by",
        call="""test = dt.Proposal(value=len, bound=1, margin=lambda x, b: m)
query = dt.Cascade(levels=[[test]])
np.mean([dt.ask(query, [1], epsilon=2 * e, delta=1e-2, confidence=None).refused for _ in range(1000)])""",
        given={"m": 5, "e": 1.0},
        other={"m": 3, "e": 1.0},
        oracle=lambda m, e: refused(m, e, 1e-2),
        agrees=within(0.1),
        proof="propose_test.md#2-the-test",
        page=OWN,
        remark="The paper's rate follows because margins of S grow like n/ln n; how often S refuses by n is measured.",
    ),
    Item(
        number=74,
        place="Theorem 4(d)",
        title="the answer lies within a factor n^alpha of the true range: how many of 20 do, alpha = 1/10",
        call="""found = [dt.scale(x, epsilon=1.0, delta=1e-6).value for _ in range(20)]
sum(size / len(x) ** 0.1 <= value <= size * len(x) ** 0.1 for value in found)""",
        given={"x": NORMAL, "size": 13.5},
        other={"x": NORMAL, "size": 135.0},
        oracle=lambda x, size: 20 * (size / len(x) ** 0.1 <= spread(x) <= size * len(x) ** 0.1),
        proof="robust_scale.md#3-scale-algorithm-s",
        page=STUDY,
    ),
    Item(
        number=75,
        place="Section 3.1, trimmed means",
        title="the mean of the middle, without bounds",
        call="""tries = (dt.trimmed_mean(x, trim=trim, epsilon=2.0, delta=1e-6) for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"x": NORMAL**2, "trim": 0.1},
        other={"x": NORMAL**2, "trim": 0.45},
        oracle=lambda x, trim: np.mean(np.sort(x)[int(trim * len(x)) : len(x) - int(trim * len(x))]),
        agrees=near(0.015),
        proof="robust_scale.md#4-quantiles-algorithm-m-ranges-trimmed-means",
        page="statistics/trimmed_mean.md",
    ),
    Item(
        number=76,
        place="Algorithm M, as printed",
        title="the median with the paper's constants: the middle of some answers",
        call="""M = dt.ProposeTest(constants="paper")
found = [dt.median(x, epsilon=epsilon, delta=1e-3, mechanism=M).value for _ in range(15)]
np.median([value for value in found if value is not None])""",
        given={"x": NORMAL, "epsilon": 12.0},
        other={"x": NORMAL + 20, "epsilon": 12.0},
        oracle=lambda x, epsilon: lower_median(x),
        agrees=within(8.0),
        proof="robust_scale.md#5-the-papers-constants",
        page=MIDDLE,
    ),
    Item(
        number=77,
        place="Theorem 5",
        title="the median without bounds: the middle of some answers",
        call="""tries = [dt.median(x, epsilon=1.0, delta=1e-6, mechanism='propose_test') for _ in range(15)]
np.median([one.value for one in tries if not one.refused])""",
        given={"x": NORMAL},
        other={"x": NORMAL + 10},
        oracle=lower_median,
        agrees=within(4.0),
        proof="robust_scale.md#4-quantiles-algorithm-m-ranges-trimmed-means",
        page=MIDDLE,
        remark="How often it refuses and how it converges is measured by `dither reproduce`.",
    ),
    Item(
        number=78,
        place="Section 3.2, general quantiles",
        title="any quantile by the same algorithm",
        call="""tries = (dt.quantile(x, q=q, epsilon=4.0, delta=1e-6, mechanism='propose_test') for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"x": NORMAL, "q": 0.3},
        other={"x": NORMAL, "q": 0.97},
        oracle=at_rank_by_share,
        agrees=within(10.0),
        proof="robust_scale.md#4-quantiles-algorithm-m-ranges-trimmed-means",
        page=MIDDLE,
    ),
    Item(
        number=79,
        place="Section 3.2, a better interquartile range",
        title="proposed from the coarse scale, its own ladder tested: the middle of some answers",
        call="""tries = [dt.iqr(x, epsilon=1.0, delta=1e-6, mechanism='propose_test') for _ in range(15)]
np.median([one.value for one in tries if not one.refused])""",
        given={"x": NORMAL},
        other={"x": 1.5 * NORMAL},
        oracle=spread,
        agrees=near(0.15),
        proof="robust_scale.md#6-how-much-to-propose",
        page=STUDY,
        remark="The paper's bins are no better than the coarse scale at such n; the range's own ladder is.",
    ),
    Item(
        number=80,
        place="Section 4.1, R_S",
        title="short-cut regression with two features",
        call="""options = dict(method='shortcut', epsilon=20.0, delta=1e-3, confidence=None)
tries = (dt.regression(X, y, **options) for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"X": FEATURES, "y": plane((2, -1))},
        other={"X": FEATURES, "y": plane((-3, 4))},
        oracle=lambda X, y: np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y)[0],
        agrees=within(2.0),
        proof="regression.md#5-short-cut-r_s",
        page=SLOPES,
    ),
    Item(
        number=81,
        place="Section 4.2, R_H with two coefficients",
        title="robust regression of one feature",
        call="""options = dict(method='robust', epsilon=4.0, delta=1e-3, confidence=None)
tries = (dt.regression(x, y, **options) for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"x": FEATURES[:, 0], "y": 1 + 2 * FEATURES[:, 0] + ERRORS},
        other={"x": FEATURES[:, 0], "y": 1 - 2 * FEATURES[:, 0] + ERRORS},
        oracle=lambda x, y: np.linalg.lstsq(np.column_stack([np.ones(len(y)), x]), y)[0],
        agrees=within(0.3),
        proof="regression.md#4-robust-regression-r_h",
        page=SLOPES,
    ),
    Item(
        number=82,
        place="Section 4.2, R_H with more coefficients",
        title="robust regression of two features: three coefficients, six at most",
        call="""options = dict(method='robust', epsilon=4.0, delta=1e-3, confidence=None)
tries = (dt.regression(X, y, **options) for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"X": FEATURES, "y": plane((2, -1))},
        other={"X": FEATURES, "y": plane((-3, 4))},
        oracle=lambda X, y: np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y)[0],
        agrees=within(0.3),
        proof="regression.md#4-robust-regression-r_h",
        page=SLOPES,
        remark="The paper needs all O(n^p) vertices of an arrangement. From three coefficients on a 2-Lipschitz bound "
        "from below takes the place of the exact distance. With seven the coarsest boxes that say anything are "
        "7 million (2q 4^(q-1) in each of 2^q grids), each over all records: that is an error, before the charge.",
    ),
    Item(
        number=83,
        place="Section 4.2, Q_2 and Lemma 11",
        title="the cell of the fit in each of four grids, and how many records can change with it staying the cell",
        call="""query = dt.Regression(method="robust", intercept=False)
[(one.lower and list(one.lower), one.changes) for one in dt.inspect.cells(query, (X, y), sides=[1, 1])]""",
        given={"X": ARROWS * 3, "y": (np.array(ARROWS * 3) @ [0.3, 0.6] + STRAY).tolist()},
        other={"X": ARROWS * 3, "y": (np.array(ARROWS * 3) @ [0.3, 0.6] + 9 * STRAY).tolist()},
        oracle=changes_in_cells,
        proof="regression.md#4-robust-regression-r_h",
        page=SLOPES,
        remark="The paper counts records that are added or deleted; a change of one is two of them, so ours is half.",
    ),
    Item(
        number=84,
        place="Theorem 6(a)",
        title="what R_H costs: with the paper's constants epsilon is 16 e, and the noise has the scale side/e",
        call="""options = {"method": "robust", "constants": "paper", "confidence": None, "delta": 1e-3}
draw = lambda: np.abs(np.subtract(dt.regression(x, x + 0.25, epsilon=epsilon, **options).value, [0.25, 1]))
np.mean([draw() for _ in range(350)]) * math.sqrt(len(x))""",
        given={"x": EXACT_LINE, "epsilon": 16.0},
        other={"x": EXACT_LINE, "epsilon": 48.0},
        oracle=lambda x, epsilon: 1 / (epsilon / (2**3 + 4 * 2)),
        agrees=near(0.28),
        proof="regression.md#4-robust-regression-r_h",
        page=SLOPES,
        remark="Theorem 6 as printed, 11 e for two coefficients, forgets that its count moves by 2 and that two "
        "coordinates have noise: it is (2^(p+1) + 4p) e = 16 e. Where all fits agree the side is 1/sqrt n.",
    ),
    Item(
        number=85,
        place="Theorem 6(b)",
        title="in polynomial time: four cells of 20,000 records, whose lines meet in 10^8 places",
        call="""X = [(1, 0)] * len(y) + [(0, 1)] * len(z)
query = dt.Regression(method="robust", intercept=False)
[(list(one.lower), one.changes) for one in dt.inspect.cells(query, (X, [*y, *z]), sides=[1, 1])]""",
        given={"y": (NORMAL[:10_000] / 10).tolist(), "z": (NORMAL[10_000:] / 50).tolist()},
        other={"y": (NORMAL[:10_000] / 30).tolist(), "z": (NORMAL[10_000:] / 10).tolist()},
        oracle=changes_by_counting,
        proof="regression.md#4-robust-regression-r_h",
        page=SLOPES,
        remark="A sweep along the sides of a cell takes O(n log n); how time grows is measured (benchmarks).",
    ),
    Item(
        number=86,
        place="Theorem 6(c)",
        title="R_H comes near the true coefficients as records become more",
        call="""options = dict(method='robust', epsilon=4.0, delta=1e-3, confidence=None)
tries = (dt.regression(X[:n], y[:n], **options) for _ in range(9))
next(one.value for one in tries if not one.refused)""",
        given={"X": FEATURES, "y": plane((2, -1)), "n": 15_000},
        other={"X": FEATURES, "y": plane((2, -0.5)), "n": 30_000},
        oracle=lambda X, y, n: np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y)[0],
        agrees=within(0.2),
        proof="regression.md#4-robust-regression-r_h",
        page=SLOPES,
        remark="How often it refuses and how the error falls is measured (benchmarks, `dither reproduce`).",
    ),
    Item(
        number=87,
        place="Definition 13, the distance",
        title="how many changes until one more moves the median by more than a bound, over all datasets",
        call="dt.inspect.margin(dt.Median(bounds=(0, 4), step=1), x, bound=bound)",
        given={"x": (0, 1, 1, 2, 4), "bound": 3},
        other={"x": (0, 1, 1, 2, 4), "bound": 1},
        oracle=lambda x, bound: changes_until(x, range(5), bound, lower_median),
        proof="propose_test.md#1-margins",
        page=OWN,
    ),
    Item(
        number=87,
        place="Definition 13, a proposal of one's own",
        title="propose, test, release for a function of one's own: mean |noise| is bound / (epsilon / 2)",
        call="""proposal = dt.Proposal(value=max, bound=bound, margin=lambda x, b: 10**6)
query = dt.Cascade(levels=[[proposal]])
np.mean([abs(dt.ask(query, x, epsilon=epsilon, delta=1e-6, confidence=None).value - max(x)) for _ in range(1500)])""",
        given={"x": [3, 9], "bound": 1.0, "epsilon": 1.0},
        other={"x": [3, 9], "bound": 3.0, "epsilon": 1.0},
        oracle=lambda x, bound, epsilon: bound / (epsilon / 2),
        agrees=near(0.3),
        proof="propose_test.md#5-functions-of-ones-own",
        page=OWN,
    ),
    Item(
        number=88,
        place="Definitions 14 and 15",
        title="a cascade runs: the first proposal that passes answers, and later levels see it",
        call="""sure, never = (lambda *_: 10**6), (lambda *_: 0)
margins = {step: sure if step > least else never for step in steps}
tries = [dt.Proposal(value=lambda x, step=step: step, bound=1e-9, margin=margins[step]) for step in steps]
after = dt.Proposal(value=lambda x, first: 10 * first, bound=1e-9, margin=sure)
dt.ask(dt.Cascade(levels=[tries, after]), [1], epsilon=8.0, delta=1e-6, confidence=None).value""",
        given={"steps": [1, 2, 4, 8], "least": 1},
        other={"steps": [1, 2, 4, 8], "least": 3},
        oracle=lambda steps, least: 10 * min(step for step in steps if step > least),
        agrees=within(1e-3),
        proof="propose_test.md#4-arrangements",
        page=OWN,
    ),
    Item(
        number=89,
        place="Theorems 16 and 17",
        title="a level of J tests costs (J + 1) e: mean |noise| after J tests is bound / e",
        call="""never = dt.Proposal(value=len, bound=1, margin=lambda x, b: 0)
passes = dt.Proposal(value=len, bound=1, margin=lambda x, b: 10**6)
query = dt.Cascade(levels=[[never] * (J - 1) + [passes]])
np.mean([abs(dt.ask(query, [1], epsilon=2.0, delta=1e-6, confidence=None).value - 1) for _ in range(1500)])""",
        given={"J": 2},
        other={"J": 5},
        oracle=lambda J: 1 / (2.0 / (J + 1)),
        agrees=near(0.3),
        proof="propose_test.md#4-arrangements",
        page=OWN,
    ),
    Item(
        number=90,
        place="Definitions 18 and 19, Corollary 20, Theorem 22",
        title="cascades side by side: their losses add up, so noise is that of an equal share",
        call="""passes = dt.Proposal(value=len, bound=1, margin=lambda x, b: 10**6)
query = dt.Cascade(levels=[{str(k): [passes] for k in range(beside)}])
found = [dt.ask(query, [1], epsilon=4.0, delta=1e-6, confidence=None).value[0] for _ in range(1500)]
np.mean(np.abs(np.array(found) - 1))""",
        given={"beside": 2},
        other={"beside": 4},
        oracle=lambda beside: 1 / (4.0 / (2 * beside)),
        agrees=near(0.3),
        proof="propose_test.md#4-arrangements",
        page=OWN,
    ),
    Item(
        number=91,
        place="Section 4.1, random partitions",
        title="blocks are drawn at random: records that are sorted by the response do no harm",
        call="""order = np.argsort(y)
dt.regression(X[order], y[order], epsilon=4.0, confidence=None).value""",
        given={"X": FEATURES, "y": plane((2, -1))},
        other={"X": FEATURES, "y": plane((-3, 4))},
        oracle=lambda X, y: np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y)[0],
        agrees=within(0.2),
        proof="regression.md#1-blocks",
        page=SLOPES,
    ),
    Item(
        number=92,
        place="Sections 3 and 4 under a budget",
        title="S, M and R_H in a session with a ledger: what is spent",
        call="""columns = {"x": dt.Real(-1e9, 1e9), "y": dt.Real(-1e9, 1e9)}
session = dt.open({"x": x, "y": y}, columns=columns, budget=dt.Budget(50.0, 1e-2), rows=len(x))
session.ask(dt.Scale("x"), epsilon=epsilon, delta=1e-6)
session.ask(dt.Median("y"), epsilon=epsilon, delta=1e-6, mechanism="propose_test")
session.ask(dt.Regression("y", ["x"], method="robust"), epsilon=epsilon, delta=1e-6)
session.budget.spent.epsilon""",
        given={"x": FEATURES[:, 0], "y": plane((2, 0)), "epsilon": 1.0},
        other={"x": FEATURES[:, 0], "y": plane((2, 0)), "epsilon": 2.5},
        oracle=lambda x, y, epsilon: 3 * epsilon,
        proof="sessions.md",
        page="ledger.md",
    ),
)
