"""The items of V17."""

import math
from collections import Counter
from itertools import combinations, product
from statistics import NormalDist, median_low

import numpy as np

import oracle
from papers.formulas import (
    distance,
    laplace_divergence,
    laplace_reach,
    local_sensitivities,
    neighbours,
    smooth_sensitivity,
)
from papers.items import Item, between, near, within

BITS = np.random.default_rng(17).integers(0, 2, (4_000, 64))
"""Made-up rows of 64 bits."""


def hockey_stick(epsilons, total):
    """H_total between the truths and lies of independent randomised responses, over all outcomes."""
    outcomes = Counter({0: 1.0})
    ratio = {0: 0.0}
    if len(set(epsilons)) == 1:
        (epsilon,), k = set(epsilons), len(epsilons)
        keep = math.log(math.exp(epsilon) / (1 + math.exp(epsilon)))
        logs = [math.lgamma(k + 1) - math.lgamma(lies + 1) - math.lgamma(k - lies + 1) for lies in range(k + 1)]
        outcomes = {lies: math.exp(log + k * keep - lies * epsilon) for lies, log in enumerate(logs)}
        ratio = {lies: (k - 2 * lies) * epsilon for lies in range(k + 1)}
    else:
        every = list(product((1, -1), repeat=len(epsilons)))
        outcomes = {
            signs: math.prod(math.exp(e * (s > 0)) / (1 + math.exp(e)) for s, e in zip(signs, epsilons, strict=True))
            for signs in every
        }
        ratio = {signs: sum(s * e for s, e in zip(signs, epsilons, strict=True)) for signs in every}
    return math.fsum(p * -math.expm1(total - ratio[one]) for one, p in outcomes.items() if ratio[one] > total)


def least_epsilon(epsilons, delta):
    """The least epsilon with H at most delta, by bisection."""
    low, high = 0.0, sum(epsilons)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(epsilons, middle) <= delta else (middle, high)
    return high


def most_queries(epsilon, total, delta):
    """How many losses of epsilon compose to at most (total, delta), by trying."""
    low, high = 1, 100_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if hockey_stick([epsilon] * middle, total) <= delta else (low, middle)
    return low


def textbook(epsilon, k, delta):
    """V17 Lemma 2.4 with its constants written out."""
    return math.sqrt(2 * k * math.log(1 / delta)) * epsilon + k * epsilon * math.expm1(epsilon)


def gaussian_scale(sensitivity, epsilon, delta):
    """The least standard deviation of Gaussian noise that is (epsilon, delta)-private, by bisection."""

    def loss(sigma):
        a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
        return NormalDist().cdf(a - b) - math.exp(epsilon) * NormalDist().cdf(-a - b)

    low, high = 1e-3, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if loss(middle) <= delta else (middle, high)
    return high


def largest_of(count, scale):
    """The mean of the largest of so many sizes of integer Laplace noise."""
    q = math.exp(-1 / scale)
    return sum(1 - (1 - 2 * q ** (r + 1) / (1 + q)) ** count for r in range(int(60 * scale)))


def bit_family(family, width, d):
    """Size and l1 sensitivity of a family of counting queries on {0, 1}^d, over all pairs of records."""
    if family == "attribute_means":
        queries = [lambda row, j=j: row[j] for j in range(d)]
    else:
        queries = [
            lambda row, places=places, signs=signs: all(row[j] == s for j, s in zip(places, signs, strict=True))
            for places in combinations(range(d), width)
            for signs in product((0, 1), repeat=width)
        ]
    answers = [[int(query(row)) for query in queries] for row in product((0, 1), repeat=d)]
    return len(queries), max(distance(a, b) for a in answers for b in answers)


def bin_family(family, bins):
    """The same for points and thresholds on so many bins."""
    answers = [[int(v == y if family == "points" else v <= y) for y in range(bins)] for v in range(bins)]
    return bins, max(distance(a, b) for a in answers for b in answers)


def unfit(values, epsilon, delta):
    """The neighbours on a chain between which Laplace noise of scale (1 + LS)/epsilon is not private."""
    local = [
        max(abs(values[k] - values[j]) for j in (k - 1, k + 1) if 0 <= j < len(values)) for k in range(len(values))
    ]
    laws = [(values[k], (1 + local[k]) / epsilon) for k in range(len(values))]
    pairs = [(k, k + 1) for k in range(len(values) - 1)]
    return [
        (a, b)
        for a, b in pairs
        if max(laplace_divergence(laws[a], laws[b], epsilon), laplace_divergence(laws[b], laws[a], epsilon)) > delta
    ]


def to_larger_local(x, values, bound):
    """How many records must change until the local sensitivity of the median exceeds the bound."""
    local = local_sensitivities(median_low, values, len(x))
    return min(distance(x, y) for y, found in local.items() if found > bound)


def raised(scale, delta):
    """The least t with P(K < -t) at most delta, K integer Laplace."""
    t = 0
    while math.exp(-(t + 1) / scale) / (1 + math.exp(-1 / scale)) > delta:
        t += 1
    return t


ITEMS: tuple[Item, ...] = (
    Item(
        number=93,
        place="Lemma 2.3",
        title="basic composition",
        call='dt.compose([dt.Loss(e) for e in losses], method="basic").epsilon',
        given={"losses": [0.5, 0.25, 0.25]},
        other={"losses": [0.125] * 10},
        oracle=lambda losses: sum(losses),  # noqa: PLW0108  (called by name)
        proof="composition.md#2-basic",
        page="ledger.md",
    ),
    Item(
        number=93,
        place="Lemma 2.4",
        title="advanced composition: between the optimum and the lemma with its constants written out",
        call='dt.compose([dt.Loss(epsilon)] * k, method="advanced", delta=delta).epsilon',
        given={"epsilon": 0.01, "k": 1_000, "delta": 1e-6},
        other={"epsilon": 0.02, "k": 1_000, "delta": 1e-6},
        oracle=lambda epsilon, k, delta: (least_epsilon([epsilon] * k, delta), textbook(epsilon, k, delta)),
        agrees=between,
        proof="composition.md#3-advanced",
        page="ledger.md",
    ),
    Item(
        number=94,
        place="Section 2.2, optimal composition",
        title="the optimum for equal losses",
        call='dt.compose([dt.Loss(epsilon)] * k, method="optimal", delta=delta).epsilon',
        given={"epsilon": 0.1, "k": 30, "delta": 1e-5},
        other={"epsilon": 0.3, "k": 12, "delta": 1e-3},
        oracle=lambda epsilon, k, delta: least_epsilon([epsilon] * k, delta),
        agrees=near(1e-8),
        proof="composition.md#4-optimal",
        page="ledger.md",
    ),
    Item(
        number=95,
        place="Section 2.2, unequal losses",
        title="the same for unequal losses, which is hard to compute exactly: over all outcomes",
        call='dt.compose([dt.Loss(e) for e in losses], method="heterogeneous", delta=delta).epsilon',
        given={"losses": [0.1, 0.2, 0.3, 0.15, 0.25, 0.4], "delta": 0.01},
        other={"losses": [0.5, 0.2, 0.1, 0.7], "delta": 0.05},
        oracle=lambda losses, delta: least_epsilon(epsilons=losses, delta=delta),
        agrees=near(1e-3),
        proof="composition.md#4-optimal",
        page="ledger.md",
        remark="Exact values are #P-hard: losses are put on a fine grid, always rounded to the safe side.",
    ),
    Item(
        number=96,
        place="Section 2.2, n and n^2 queries",
        title="how many counting queries have noise of 1/sqrt(n) and of a constant, as shares of n",
        call="""share = {"root": 1 / math.sqrt(n), "constant": 0.02}[error]
dt.queries_within(dt.Loss(1 / (n * share)), dt.Budget(1.0, 1e-6), filter="fixed")""",
        given={"n": 10_000, "error": "root"},
        other={"n": 2_000, "error": "constant"},
        oracle=lambda n, error: most_queries(1 / (n / math.sqrt(n) if error == "root" else n * 0.02), 1.0, 1e-6),
        proof="composition.md#6-filters-adaptively-chosen-losses",
        page="ledger.md",
    ),
    Item(
        number=97,
        place="Section 2.2, how many questions fit",
        title="questions that are chosen on the way: by the basic and the advanced filter",
        call="[dt.queries_within(dt.Loss(epsilon), dt.Budget(1.0, 1e-6), filter=f) for f in ('basic', 'advanced')]",
        given={"epsilon": 0.01},
        other={"epsilon": 0.02},
        oracle=lambda epsilon: [
            round(1 / epsilon),
            max(k for k in range(1, 1_000) if math.sqrt(2 * k * epsilon**2 * math.log(2e6)) + k * epsilon**2 / 2 <= 1),
        ],
        proof="composition.md#6-filters-adaptively-chosen-losses",
        page="ledger.md",
    ),
    Item(
        number=98,
        place="Theorem 2.6",
        title="k counting queries with the cube's noise: the mean largest error is k/epsilon",
        call="""draw = lambda: dt.counting_queries(x, mechanism="k_norm", epsilon=1.0, confidence=None).value
np.mean([np.max(np.abs(draw() - x.sum(axis=0))) for _ in range(100)])""",
        given={"x": BITS},
        other={"x": BITS[:, :16]},
        oracle=lambda x: x.shape[1],
        agrees=near(0.25),
        proof="counting_queries.md#3-the-cubes-noise-k_normpy",
        page="statistics/counting_queries.md",
    ),
    Item(
        number=99,
        place="Theorem 2.7",
        title="with delta: Gaussian noise, whose deviation grows with the root of the number of queries",
        call="""release = lambda: dt.counting_queries(x, noise="gaussian", epsilon=1.0, delta=1e-6, confidence=None)
np.std([release().value - x.sum(axis=0) for _ in range(60)])""",
        given={"x": BITS},
        other={"x": BITS[:, :16]},
        oracle=lambda x: gaussian_scale(math.sqrt(x.shape[1]), 1.0, 1e-6),
        agrees=near(0.2),
        proof="counting_queries.md#1-counting-queries-workloadspy-bit_workloadspy-noisy_histogrampy",
        page="statistics/counting_queries.md",
        remark="The theorem's own mechanism, which finds the largest errors and answers again, is run by `dither "
        "reproduce v17` and not offered: with sqrt(log log k) in place of sqrt(log k) its largest error is below that "
        "of Gaussian noise from 10^20 queries on, and a release has 65,536 at most.",
    ),
    Item(
        number=100,
        place="Proposition 2.8",
        title="a histogram of many bins: the mean largest error grows with their logarithm",
        call="""count = np.histogram(x, bins=range(bins + 1))[0]
draw = lambda: dt.histogram(x, edges=list(range(bins + 1)), epsilon=1.0, confidence=None).value
np.mean([np.max(np.abs(draw() - count)) for _ in range(150)])""",
        given={"x": list(range(16)) * 100, "bins": 256},
        other={"x": list(range(16)) * 100, "bins": 16},
        oracle=lambda x, bins: largest_of(bins, 2.0),
        agrees=near(0.15),
        proof="totals.md#5-histograms",
        page="statistics/histogram.md",
    ),
    Item(
        number=101,
        place="Theorem 2.9",
        title="any later count of bins from one released histogram, for free",
        call="""ages = dt.histogram(x, edges=[0, 20, 40, 60, 80], epsilon=5.0)
found = dt.count_from(ages, lambda label: label in ("20 to 40", "60 to 80"))
found.value, found.loss.epsilon""",
        given={"x": [10, 30, 50, 70] * 100},
        other={"x": [10, 30, 50, 50] * 100},
        oracle=lambda x: (sum(20 <= age < 40 or 60 <= age <= 80 for age in x), 0.0),
        agrees=within(12),
        proof="counting_queries.md#4-free-counts-free_countspy",
        page="statistics/counting_queries.md",
    ),
    Item(
        number=102,
        place="Table 2.1, families on bits",
        title="size and sensitivity of attribute means and conjunctions: labels, and half of an interval",
        call="""release = dt.counting_queries(x, family=family, width=width, mechanism="worst_case", epsilon=1.0)
low, high = release.interval[0]
len(release.labels), (high - low) / 2""",
        given={"x": BITS[:, :4], "family": "conjunctions", "width": 2},
        other={"x": BITS[:, :6], "family": "attribute_means", "width": None},
        oracle=lambda x, family, width: (
            bit_family(family, width, x.shape[1])[0],
            laplace_reach(bit_family(family, width, x.shape[1])[1], 0.05),
        ),
        proof="counting_queries.md#1-counting-queries-workloadspy-bit_workloadspy-noisy_histogrampy",
        page="statistics/counting_queries.md",
    ),
    Item(
        number=102,
        place="Table 2.1, points and thresholds",
        title="the same for points and thresholds",
        call="""how = {"mechanism": "worst_case", "epsilon": 1.0}
release = dt.counting_queries(x, family=family, edges=edges, nulls="lower", **how)
low, high = release.interval[3]
len(release.labels), (high - low) / 2""",
        given={"x": list(range(8)) * 200, "family": "points", "edges": list(range(9))},
        other={"x": list(range(8)) * 200, "family": "thresholds", "edges": list(range(9))},
        oracle=lambda x, family, edges: (
            bin_family(family, len(edges) - 1)[0],
            laplace_reach(bin_family(family, len(edges) - 1)[1], 0.05),
        ),
        proof="counting_queries.md#1-counting-queries-workloadspy-bit_workloadspy-noisy_histogrampy",
        page="statistics/counting_queries.md",
    ),
    Item(
        number=103,
        place="Section 2.3, the same query again",
        title="asked again it gets the same answer and spends nothing, unless new noise is wanted",
        call="""session = dt.open({"x": x}, columns={"x": dt.Integer(0, 9)}, budget=dt.Budget(5.0))
for _ in range(3): session.ask(dt.Sum("x"), epsilon=0.5, again=again)
session.budget.spent.epsilon""",
        given={"x": [1, 2, 3], "again": False},
        other={"x": [1, 2, 3], "again": True},
        oracle=lambda x, again: 0.5 * (3 if again else 1),
        proof="sessions.md",
        page="ledger.md",
    ),
    Item(
        number=104,
        place="Section 2.3, families under a budget",
        title="counting queries in SQL",
        call="""data = {"a": x[:, 0] == 1, "b": x[:, 1] == 1}
session = dt.open(data, columns=dict.fromkeys("ab", dt.Boolean()), rows=len(x), budget=dt.Budget(5.0))
session.sql("SELECT counting_queries(a, b) FROM data", epsilon=5.0).value""",
        given={"x": BITS},
        other={"x": BITS[:1_000]},
        oracle=lambda x: x.sum(axis=0)[:2],
        agrees=within(40),
        proof="counting_queries.md",
        page="sql.md",
    ),
    Item(
        number=105,
        place="Proposition 3.1",
        title="no private answer stays within half of the local sensitivity more often than this",
        call="""found = dt.inspect.floor(dt.Median(bounds=(0, 9), step=1), x, epsilon=epsilon)
found.error, found.probability""",
        given={"x": [1, 2, 4, 8, 9], "epsilon": 1.0},
        other={"x": [1, 4, 4, 5, 9], "epsilon": 0.5},
        oracle=lambda x, epsilon: (
            oracle.local_sensitivity(median_low, tuple(x), range(10)) / 2,
            1 / (1 + math.exp(-epsilon)),
        ),
        proof="quotes.md#5-a-floor",
        page="quotes.md",
        remark="With delta the bound is (1 + delta/e^epsilon)/(1 + e^-epsilon), a little less than the paper's.",
    ),
    Item(
        number=106,
        place="Section 3, a neighbour of 10^9",
        title="noise scaled to the local sensitivity gives away where it jumps: the pairs that are not private",
        call="""space = dt.FiniteSpace(range(len(values)), neighbours="chain", value=lambda k: values[k])
laplace = {k: (values[k], (1 + space.local_sensitivity(k)) / 0.5) for k in range(len(values))}
dt.inspect.unfit_pairs(laplace, [(k, k + 1) for k in range(len(values) - 1)], epsilon=0.5, delta=1e-6)""",
        given={"values": [0, 0, 0, 10**9]},
        other={"values": [0, 1, 2, 3]},
        oracle=lambda values: unfit(values, 0.5, 1e-6),
        proof="largest_local.md#4-theorem-8-corrected",
        page="extending.md#your-own-function",
    ),
    Item(
        number=107,
        place="Section 3, restricted sensitivity of graphs",
        title="triangles where no vertex has more than D neighbours: noise for 2(D-1), whatever the number of vertices",
        call="""graph = dt.Graph([(c + i, c + j) for c in range(0, 300, 5) for i in range(5) for j in range(i)], n=300)
low, high = dt.triangles(graph, max_degree=degree, mechanism="worst_case", epsilon=1.0).interval
dt.inspect.value(dt.Triangles(max_degree=degree), graph), (high - low) / 2""",
        given={"degree": 4},
        other={"degree": 8},
        oracle=lambda degree: (60 * math.comb(5, 3), laplace_reach(2 * (degree - 1), 0.05)),
        proof="graphs.md#6-bounded-degrees",
        page="statistics/subgraphs.md",
    ),
    Item(
        number=107,
        place="Section 3, a hypothesis of one's own",
        title="a projection of one's own: claims that are too small are refuted",
        call="""query = dt.restricted(name="sales", value=sum, projection=lambda x: [min(v, 3) for v in x],
    projection_change=1, restricted_sensitivity=claim, bounds=(0, 100), step=1, default=0)
bool(dt.inspect.refute(query, values=[0, 1, 3, 7], records=3, failing=()))""",
        given={"claim": 3},
        other={"claim": 2},
        oracle=lambda claim: (
            claim < max(local_sensitivities(lambda x: sum(min(v, 3) for v in x), (0, 1, 3, 7), 3).values())
        ),
        proof="custom.md#8-a-hypothesis-of-ones-own",
        page="extending.md#your-own-function",
    ),
    Item(
        number=108,
        place="Section 3.1",
        title="smooth sensitivity, over all datasets",
        call="""space = dt.FiniteSpace(list(np.ndindex(4, 4, 4)), neighbours=near, value=lambda x: sorted(x)[1])
space.smooth_sensitivity(x, beta)""",
        given={"x": (0, 1, 3), "beta": 0.3, "near": lambda x: neighbours(x, range(4))},
        other={"x": (1, 1, 1), "beta": 0.3, "near": lambda x: neighbours(x, range(4))},
        oracle=lambda x, beta, near: smooth_sensitivity(median_low, x, range(4), beta),
        proof="smooth.md",
        page="reference/mechanisms.md",
    ),
    Item(
        number=109,
        place="Section 3.1, the ladder mechanism",
        title="how often each value is drawn",
        call="""median = dt.Median(bounds=(0, 5), step=1)
draws = [dt.ask(median, x, mechanism="ladder", epsilon=2.0, confidence=None).value for _ in range(2_500)]
(np.bincount(np.array(draws, int), minlength=6) / 2_500).tolist()""",
        given={"x": [0, 1, 4, 5, 5]},
        other={"x": [2, 2, 2, 3, 5]},
        oracle=lambda x: list(
            oracle.ladder_law(
                median_low(x), oracle.exact_ladder(median_low, tuple(x), range(6), 5), 5, 0, 5, 1.0
            ).values()
        ),
        agrees=within(0.06),
        proof="ladder_mechanism.md#1-statement",
        page="reference/mechanisms.md",
    ),
    Item(
        number=110,
        place="Section 3.2, propose-test-release",
        title="how many records must change until the proposed bound is too small",
        call="dt.inspect.margin(dt.Median(bounds=(0, 4), step=1), x, bound=bound)",
        given={"x": (2, 2, 2, 2, 2), "bound": 1},
        other={"x": (0, 1, 2, 3, 4), "bound": 1},
        oracle=lambda x, bound: to_larger_local(x, range(5), bound),
        proof="propose_test.md#1-margins",
        page="reference/mechanisms.md",
    ),
    Item(
        number=110,
        place="Section 3.2, the release",
        title="an answer with noise for the proposed bound, or a refusal that is paid for",
        call="""propose = dt.ProposeTest(bound=1)
release = dt.median(x, bounds=(0, 1_000), step=1, mechanism=propose, epsilon=4.0, delta=1e-9)
release.refused, release.loss.epsilon""",
        given={"x": [500] * 400},
        other={"x": [0] * 200 + [1_000] * 200},
        oracle=lambda x: (sorted(x)[len(x) // 2 - 100] != sorted(x)[len(x) // 2 + 100], 4.0),
        proof="propose_test.md#3-propose-test-release-on-a-ladder-is-e1-e2-d-dp",
        page="reference/mechanisms.md",
    ),
    Item(
        number=111,
        place="Section 3.3, stable values",
        title="the exact answer where few records can't change it, else a refusal",
        call="dt.mode(x, epsilon=1.0, delta=1e-9).value",
        given={"x": ["bus"] * 700 + ["car"] * 300},
        other={"x": ["bus"] * 500 + ["car"] * 500},
        oracle=lambda x: Counter(x).most_common(1)[0][0] if x.count("bus") - x.count("car") > 300 else None,
        proof="stable.md#2-choices-categories-models",
        page="statistics/mode.md",
    ),
    Item(
        number=111,
        place="Section 3.3, numbers",
        title="the same for any statistic with a ladder",
        call="dt.median(x, bounds=(0, 9), step=1, mechanism='stable', epsilon=1.0, delta=1e-9).value",
        given={"x": [5] * 301},
        other={"x": [7] * 301},
        oracle=lambda x: median_low(x),  # noqa: PLW0108  (called by name)
        proof="stable.md#1-stable-values",
        page="reference/mechanisms.md",
    ),
    Item(
        number=112,
        place="Section 3.4, bounding the local sensitivity privately",
        title="a function of one's own with a local sensitivity that moves by at most 1: mean |noise|",
        call="""query = dt.Custom(name="own", value=lambda x: 0, local_sensitivity=sum, local_sensitivity_change=1,
    bounds=(-10**6, 10**6), step=1, default=0)
draw = lambda: dt.ask(query, x, mechanism="noisy_local", epsilon=1.0, delta=1e-6, confidence=None).value
np.mean([abs(draw()) for _ in range(1_000)])""",
        given={"x": [1] * 500},
        other={"x": [1] * 100},
        oracle=lambda x: (sum(x) + raised(2, 1e-6)) * 2,
        agrees=near(0.25),
        proof="noisy_local.md#1-statement",
        page="extending.md#your-own-function",
    ),
)
