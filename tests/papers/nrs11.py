"""The items of NRS11."""

import math
from itertools import combinations, permutations
from statistics import median_low

import numpy as np
from scipy import stats

import oracle
from papers.formulas import (
    complete,
    datasets,
    distance,
    laplace_divergence,
    local_sensitivities,
    mean_laplace,
    neighbours,
    random_graph,
    rung_formula,
    smooth_sensitivity,
)
from papers.items import Item, between, near, within

SPREAD = np.sort(np.random.default_rng(11).integers(0, 1_000, 301)).tolist()
"""Made-up whole numbers up to 1,000."""
EVEN = [one / 2 for one in range(2_001)]
"""Half numbers up to 1,000."""
DENSE = np.sort(np.random.default_rng(12).integers(400, 600, 301)).tolist()
"""The same around 500."""


BLOB_OF = np.arange(20_000) % 2
BLOBS = np.array([[0.2, 0.2], [0.8, 0.8]])[BLOB_OF] + np.random.default_rng(1).normal(0, 0.05, (20_000, 2))
"""Two clusters of made-up points."""
EIGHT = np.clip(
    np.array([[0.3] * 8, [0.7] * 8])[(np.arange(20_000) < 14_000).astype(int)]
    + np.random.default_rng(2).normal(0, 0.05, (20_000, 8)),
    0,
    1,
)
"""The same in eight dimensions: 14,000 points in one cluster, 6,000 in the other."""
CLOSE = 0.5 + 0.02 * np.random.default_rng(3).normal(size=(200, 2))
"""Made-up points near the middle of the unit square."""
PLANE = np.random.default_rng(12).random((41, 2))
"""Made-up points in the unit square."""
TRUE_MIXTURE = [((0.2, 0.2), 0.5, 0.05), ((0.8, 0.8), 0.5, 0.05)]
OTHER_MIXTURE = [((0.25, 0.2), 0.5, 0.05), ((0.8, 0.8), 0.5, 0.05)]


def halves(pair):
    """Two points from their four coordinates."""
    return [pair[:2], pair[2:]]


def split_at(x, low, high):
    """The points nearer to the first centre, and the others."""
    nearer = ((x - low) ** 2).sum(axis=1) < ((x - high) ** 2).sum(axis=1)
    return x[nearer], x[~nearer]


def two_means(x):
    """Lloyd's algorithm from the two ends of the diagonal; sorted by the first coordinate."""
    x = np.asarray(x)
    low, high = x[np.argmin(x.sum(axis=1))], x[np.argmax(x.sum(axis=1))]
    for _ in range(20):
        low, high = (part.mean(axis=0) for part in split_at(x, low, high))
    return (tuple(low), tuple(high))


def clustering_cost(parts):
    """The sum of squared distances to the means of the parts."""
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)


def best_two(x):
    """The least cost of two clusters, over all ways to split the points."""
    masks = (np.array([bits >> i & 1 for i in range(len(x))], bool) for bits in range(1, 2 ** (len(x) - 1)))
    return min(clustering_cost([x[mask], x[~mask]]) for mask in masks)


def fixed_cost(x):
    """The mean squared distance to the nearer of two fixed centres."""
    low, high = (((x - c) ** 2).sum(axis=1) for c in (0.2, 0.8))
    return float(np.minimum(low, high).mean())


def kendall(a, b):
    """How many pairs two rankings order differently."""
    return sum((a.index(p) < a.index(q)) != (b.index(p) < b.index(q)) for p, q in combinations(a, 2))


def smallest_circle(x):
    """The centre of the smallest circle that holds floor((m + 1)/2) + 1 of the points, by all pairs and triples."""
    enough = (len(x) + 1) // 2 + 1
    found = []
    for a, b in combinations(x, 2):
        found.append(((a + b) / 2, np.linalg.norm(a - b) / 2))
    for a, b, c in combinations(x, 3):
        system = 2 * np.array([b - a, c - a])
        centre = np.linalg.solve(system, [b @ b - a @ a, c @ c - a @ a])
        found.append((centre, np.linalg.norm(centre - a)))
    inside = [np.sum(np.linalg.norm(x - centre, axis=1) <= radius + 1e-12) for centre, radius in found]
    return min((radius, *centre) for (centre, radius), held in zip(found, inside, strict=True) if held >= enough)[1:]


def divergence(p, q):
    """The Kullback-Leibler divergence of two mixtures in the plane, by a sum over a grid."""
    grid = np.stack(np.meshgrid(np.linspace(-0.3, 1.3, 400), np.linspace(-0.3, 1.3, 400)), axis=-1)

    def density(mixture):
        return sum(
            share * np.exp(-((grid - centre) ** 2).sum(axis=-1) / (2 * sd**2)) / (2 * math.pi * sd**2)
            for centre, share, sd in mixture
        )

    here, there = density(p) + 1e-300, density(q) + 1e-300
    return float((here * np.log(here / there)).sum() * (1.6 / 399) ** 2)


CORNERS = ((0.0, 0.0), (0.0, 0.9), (1.0, 0.0), (1.0, 0.9), (0.0, 1.1), (1.0, 1.1))


def first_centre(x):
    """100 times the height of the lower one of the best two centres of four points among six places."""
    points = np.array([CORNERS[place] for place in x])
    masks = [np.array([bits >> i & 1 for i in range(4)], bool) for bits in range(1, 8)]
    best = min(masks, key=lambda mask: round(clustering_cost([points[mask], points[~mask]]), 9))
    return round(100 * min(points[best].mean(axis=0)[1], points[~best].mean(axis=0)[1]))


RECTANGLES = {
    "all_data": datasets(range(6), 4),
    "near": lambda x: neighbours(x, range(6)),
    "centre": first_centre,
}


def median_formula(x, beta, low, high):
    """Proposition 3.4, term by term."""
    return oracle.smooth_bound(oracle.order_ladder(x, (len(x) + 1) // 2, low, high, len(x) + 1), beta)


def largest_alpha(gamma, beta, epsilon):
    """The largest shift of the law 1/(1 + |z|^gamma) at dilations up to beta: log ratios on a grid, bisected."""
    z = np.concatenate([np.linspace(-60, 60, 240_001), np.geomspace(60, 1e9, 2_000), -np.geomspace(60, 1e9, 2_000)])
    log = -np.log1p(np.abs(z) ** gamma)

    def worst(alpha):
        most = 0.0
        for dilation in (-beta, 0.0, beta):
            shift = alpha * min(1.0, math.exp(dilation))
            moved = -dilation - np.log1p(np.abs((z - shift) * math.exp(-dilation)) ** gamma)
            most = max(most, np.max(np.abs(log - moved)))
        return most

    low, high = 0.0, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if worst(middle) <= epsilon else (low, middle)
    return low


def sum_of_ladders(x, shares, top, beta):
    """The smooth bound of the sum of several quantiles' ladders between 0 and ``top``."""
    ladders = [oracle.order_ladder(x, math.ceil(q * len(x)), 0, top, 400) for q in shares]
    return oracle.smooth_bound([sum(rungs) for rungs in zip(*ladders, strict=True)], beta)


def satisfied(x):
    """Section 3.5 in small: records 2, 3, 4 are equal and name a set of inputs, and record 1 is one of them."""
    first, *rest = x
    return int(len(set(rest)) == 1 and rest[0] >> first & 1)


def rungs_over_all_graphs(edges, n):
    """The ladder of triangles at one graph, by looking at all graphs."""
    pairs = complete(n)
    here = frozenset(edges)

    def count(graph):
        return sum({(a, b), (b, c), (a, c)} <= graph for a, b, c in combinations(range(n), 3))

    best = [0] * (len(pairs) + 1)
    for bits in range(2 ** len(pairs)):
        graph = {pair for place, pair in enumerate(pairs) if bits >> place & 1}
        local = max(abs(count(graph ^ {pair}) - count(graph)) for pair in pairs)
        best[len(graph ^ here)] = max(best[len(graph ^ here)], local)
    return [max(best[: k + 1]) for k in range(len(best))]


def largest_shift(density, beta, epsilon, delta):
    """The largest shift of a law at dilations up to beta, by sums over a fine grid and bisection."""
    z = np.linspace(-40, 40, 40_001)

    def loss(alpha):
        most = 0.0
        for scale in (math.exp(-beta), math.exp(beta)):
            p, q = density(z), density((z - alpha * min(1.0, scale)) / scale) / scale
            most = max(most, np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), z))
        return most

    low, high = 0.0, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= delta else (low, middle)
    return low


FIVE = datasets(range(4), 5)
MST_EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
FLIPS = {"x": (0, 0, 0, 0, 9), "y": (0, 0, 0, 9, 9)}
STEADY = {"x": (2, 3, 4, 5, 6), "y": (2, 3, 4, 5, 9)}

ITEMS: tuple[Item, ...] = (
    Item(
        number=1,
        place="Definition 1.1",
        title="differential privacy: a check of Laplace noise made by hand, scales that differ included",
        call="bool(dt.inspect.unfit_pairs(laplace, [('x', 'y')], epsilon=1.0, delta=1e-3))",
        given={"laplace": {"x": (3, 2.0), "y": (4, 2.1)}},
        other={"laplace": {"x": (3, 2.0), "y": (4, 2.8)}},
        oracle=lambda laplace: (
            max(
                laplace_divergence(laplace["x"], laplace["y"], 1.0), laplace_divergence(laplace["y"], laplace["x"], 1.0)
            )
            > 1e-3
        ),
        proof="largest_local.md#4-theorem-8-corrected",
        page="audit.md",
    ),
    Item(
        number=2,
        place="Lemma 1.2",
        title="adaptive composition: losses add up",
        call="""total = dt.compose([dt.Loss(epsilon, delta)] * t, method="basic")
[total.epsilon, total.delta]""",
        given={"epsilon": 0.25, "delta": 1e-6, "t": 4},
        other={"epsilon": 0.125, "delta": 1e-7, "t": 6},
        oracle=lambda epsilon, delta, t: [t * epsilon, t * delta],
        proof="composition.md#2-basic",
        page="ledger.md",
    ),
    Item(
        number=3,
        place="Definition 1.3",
        title="global sensitivity, over all datasets",
        call="dt.FiniteSpace(all_data, neighbours=near, value=value).global_sensitivity",
        given={"all_data": FIVE, "near": lambda x: neighbours(x, range(4)), "value": median_low},
        other={"all_data": FIVE, "near": lambda x: neighbours(x, range(4)), "value": lambda x: 2 * max(x) + min(x)},
        oracle=lambda all_data, near, value: max(local_sensitivities(value, range(4), 5).values()),
        proof="custom.md#7-finite-spaces",
        page="extending.md#your-own-function",
    ),
    Item(
        number=4,
        place="Definition 1.4",
        title="the Laplace law: P(|Z| > t), and mean |noise| of a sum",
        call="""draw = lambda: dt.sum(x, bounds=(0, 1), step=1, epsilon=epsilon, confidence=None).value
float(dt.Laplace().tail(np.array(2.0))), np.mean([abs(draw() - 500) for _ in range(2_000)])""",
        given={"x": [0, 1] * 500, "epsilon": 0.1},
        other={"x": [0, 1] * 500, "epsilon": 0.2},
        oracle=lambda x, epsilon: (float(stats.laplace.sf(2.0) * 2), mean_laplace(1 / epsilon)),
        agrees=near(0.2),
        proof="sampling.md#the-laws",
        page="reference/api.md",
    ),
    Item(
        number=5,
        place="Claim 1.5",
        title="a function of one's own with values in R^d: the mean l1 length of the noise is d GS/epsilon",
        call="""query = dt.NormRelease(function=lambda x: [sum(x)] * d, dimension=d, sensitivity=3, norm="l1")
draw = lambda: dt.ask(query, x, epsilon=2.0, confidence=None).value
np.mean([np.sum(np.abs(np.subtract(draw(), sum(x)))) for _ in range(500)])""",
        given={"x": [1, 0, 1], "d": 3},
        other={"x": [1, 0, 1], "d": 6},
        oracle=lambda x, d: d * 3 / 2.0,
        agrees=near(0.25),
        proof="metric_spaces.md#4-rd-with-a-norm-normspy",
        page="statistics/local.md",
    ),
    Item(
        number=6,
        place="Definition 1.6",
        title="local sensitivity",
        call="dt.inspect.ladder(dt.Median(bounds=(0, 9), step=1), x, rungs=1)[0]",
        given={"x": (1, 2, 4, 8, 9)},
        other={"x": (1, 4, 4, 5, 9)},
        oracle=lambda x: float(oracle.local_sensitivity(median_low, x, range(10))),
        proof="order.md#statement",
        page="statistics/median.md",
    ),
    Item(
        number=7,
        place="Section 1.3, the client may learn the noise magnitude",
        title="how often the interval of a smooth median covers it",
        call="""options = {"mechanism": "smooth", "noise": "laplace", "epsilon": 1.0, "delta": 1e-6}
median = dt.Median(bounds=(0, 1_000), step=1)
found = [dt.ask(median, x, confidence=confidence, **options).interval for _ in range(400)]
np.mean([low <= sorted(x)[150] <= high for low, high in found])""",
        given={"x": DENSE, "confidence": 0.95},
        other={"x": DENSE, "confidence": 0.5},
        oracle=lambda x, confidence: (confidence - 0.13, 1.0 if confidence > 0.9 else confidence + 0.27),
        agrees=between,
        proof="intervals.md#2-smooth-scale-a-pivot",
        page="release.md",
    ),
    Item(
        number=8,
        place="Example 1",
        title="noise scaled to the local sensitivity of a median gives neighbours away",
        call="""median = dt.Median(bounds=(0, 9), step=1)
scale = {k: (0.1 + dt.inspect.ladder(median, x, rungs=1)[0]) / 0.5 for k, x in pair.items()}
laplace = {k: (dt.inspect.value(median, x), scale[k]) for k, x in pair.items()}
dt.inspect.unfit_pairs(laplace, [("x", "y")], epsilon=1.0, delta=1e-6)""",
        given={"pair": FLIPS},
        other={"pair": STEADY},
        oracle=lambda pair: [
            ("x", "y")
            for laws in [
                {
                    k: (median_low(x), (0.1 + oracle.local_sensitivity(median_low, x, range(10))) / 0.5)
                    for k, x in pair.items()
                }
            ]
            if max(laplace_divergence(laws["x"], laws["y"], 1.0), laplace_divergence(laws["y"], laws["x"], 1.0)) > 1e-6
        ],
        proof="smooth.md#1-statement",
        page="extending.md#your-own-function",
    ),
    Item(
        number=9,
        place="Definition 2.1",
        title="a claimed smooth bound is looked at on all neighbours of a small universe",
        call="""query = dt.Custom(name="largest", value=max, smooth_bound=bound, bounds=(0, 3), step=0.01, default=0)
bool(dt.inspect.refute(query, values=range(4), records=3, failing=(), betas=[0.5]))""",
        given={"bound": lambda x, beta: 3 * math.exp(-beta * (sorted(x)[-2] == 3))},
        other={"bound": lambda x, beta: 3 * math.exp(-2 * beta * (sorted(x)[-2] == 3))},
        oracle=lambda bound: any(
            abs(max(x) - max(y)) > bound(x, 0.5) + 1e-9 or bound(x, 0.5) > math.exp(0.5) * bound(y, 0.5) + 1e-9
            for x in datasets(range(4), 3)
            for y in neighbours(x, range(4))
        ),
        proof="custom.md#3-smooth-bounds",
        page="extending.md#your-own-function",
    ),
    Item(
        number=10,
        place="Definition 2.2, Lemma 2.3",
        title="smooth sensitivity, the least smooth bound",
        call="dt.inspect.smooth(dt.Median(bounds=(0, 5), step=1), x, beta=beta)",
        given={"x": [0, 1, 4, 5, 5], "beta": 0.5},
        other={"x": [0, 3, 3, 4, 5], "beta": 0.25},
        oracle=lambda x, beta: oracle.smooth_bound(oracle.exact_ladder(median_low, tuple(x), range(6), 5), beta),
        agrees=near(1e-8),
        proof="smooth.md#1-statement",
        page="statistics/median.md",
    ),
    Item(
        number=11,
        place="Corollary 2.4(1)",
        title="noise of density 1/(1 + |z|^gamma), gamma = 2: median |noise| is 6 S/epsilon",
        call="""query = dt.Custom(name="own", value=lambda x: 0, ladder=lambda x, k: min(s + k, 900),
    bounds=(-1e6, 1e6), step=1, default=0)
paper, cauchy = dt.Smooth(constants="paper"), dt.Cauchy(gamma=2)
draw = lambda: dt.ask(query, [0], mechanism=paper, noise=cauchy, epsilon=epsilon, confidence=None).value
np.median([abs(draw()) for _ in range(700)])""",
        given={"s": 50, "epsilon": 1.0},
        other={"s": 50, "epsilon": 0.4},
        oracle=lambda s, epsilon: max((s + k) * math.exp(-epsilon / 6 * k) for k in range(800)) * 6 / epsilon,
        agrees=near(0.45),
        proof="admissible.md#3-the-family-1-zca-pa-generalised-cauchy-student-t",
        page="reference/mechanisms.md",
        remark="With the exact constants, the default, the same noise is several times smaller.",
    ),
    Item(
        number=12,
        place="Corollary 2.4(2)",
        title="Laplace noise: mean |noise| is 2 S/epsilon",
        call="""query = dt.Custom(name="own", value=lambda x: 0, ladder=lambda x, k: min(s + k, 900),
    bounds=(-1e6, 1e6), step=1, default=0)
options = {"mechanism": dt.Smooth(constants="paper"), "noise": "laplace", "confidence": None}
draws = [dt.ask(query, [0], epsilon=epsilon, delta=1e-3, **options).value for _ in range(700)]
np.mean(np.abs(draws))""",
        given={"s": 50, "epsilon": 1.0},
        other={"s": 150, "epsilon": 0.8},
        oracle=lambda s, epsilon: (
            max((s + k) * math.exp(-epsilon / (2 * math.log(2 / 1e-3)) * k) for k in range(900 - s)) * 2 / epsilon
        ),
        agrees=near(0.2),
        proof="admissible.md#4-laplace-density-e-z2",
        page="reference/mechanisms.md",
    ),
    Item(
        number=13,
        place="Definition 2.5",
        title="sliding and dilation: the largest shift at a given dilation",
        call="float(dt.inspect.admissible(dt.Cauchy(gamma=gamma), epsilon=1.0, beta=beta).alpha)",
        given={"gamma": 2, "beta": 0.2},
        other={"gamma": 4, "beta": 0.1},
        oracle=lambda gamma, beta: largest_alpha(gamma, beta, 1.0),
        agrees=near(1e-3),
        proof="admissible.md#1-statement-of-the-problem",
        page="reference/mechanisms.md",
    ),
    Item(
        number=14,
        place="Figure 1",
        title="what the figure shows: the greatest log ratio of a density and of the same one slid or dilated",
        call="""log, z = dt.Cauchy(gamma=2).log_density, np.linspace(-50, 50, 100_001)
slid = log(np.abs(z)) - log(np.abs(z + shift))
dilated = log(np.abs(z)) - dilation - log(np.abs(z * np.exp(dilation)))
[np.max(np.abs(slid)), np.max(np.abs(dilated))]""",
        given={"shift": 0.3, "dilation": 0.2},
        other={"shift": 0.6, "dilation": 0.1},
        oracle=lambda shift, dilation: [
            2 * math.asinh(shift / 2),
            dilation,
        ],
        agrees=near(1e-3),
        proof="admissible.md#1-statement-of-the-problem",
        page="reference/mechanisms.md",
        remark="Numbers instead of a picture.",
    ),
    Item(
        number=15,
        place="Lemma 2.6",
        title="noise with a smooth scale: mean |noise| is S/alpha, alpha the largest that is private for beta",
        call="""query = dt.Custom(name="own", value=lambda x: 0, ladder=lambda x, k: min(50 + k, 900),
    bounds=(-1e6, 1e6), step=1, default=0)
options = {"mechanism": dt.Smooth(beta=0.05), "noise": "laplace", "confidence": None}
np.mean(np.abs([dt.ask(query, [0], epsilon=epsilon, delta=1e-3, **options).value for _ in range(700)]))""",
        given={"epsilon": 1.0},
        other={"epsilon": 0.5},
        oracle=lambda epsilon: (
            max((50 + k) * math.exp(-0.05 * k) for k in range(850))
            / largest_shift(stats.laplace.pdf, 0.05, epsilon, 1e-3)
        ),
        agrees=near(0.25),
        proof="admissible.md#where-the-papers-differ",
        page="reference/mechanisms.md",
        remark="The lemma adds up two halves, delta/2 (1 + e^(epsilon/2)), which is more than delta; our points "
        "are proved for shift and dilation at once.",
    ),
    Item(
        number=16,
        place="Lemma 2.6 in R^d",
        title="a function of one's own with several values and a ladder: mean |noise| of each",
        call="""query = dt.Custom(name="own", value=lambda x: [0] * d, ladder=lambda x, k: 100,
    bounds=[(-1e6, 1e6)] * d, step=1, global_sensitivity=5_000, default=0, rungs=150)
options = {"mechanism": dt.Smooth(constants="paper"), "noise": "laplace", "confidence": None}
np.mean(np.abs([dt.ask(query, [0], epsilon=1.0, delta=1e-3, **options).value for _ in range(500)]))""",
        given={"d": 2},
        other={"d": 10},
        oracle=lambda d: max(100, 5_000 * math.exp(-150 / (2 * stats.gamma(d).isf(5e-4)))) * 2,
        agrees=near(0.25),
        proof="custom.md#6-several-numbers",
        page="extending.md#your-own-function",
    ),
    Item(
        number=16,
        place="Lemma 2.6 in R^d, mean vectors",
        title="means of columns of different widths: mean |noise| of a sum, in parts of its width, is 2 d/epsilon",
        call="""widths = np.arange(1, x.shape[1] + 1)
options = {"mechanism": dt.Smooth(constants="paper"), "noise": "laplace", "confidence": None}
draw = lambda: dt.mean(x, bounds=[(0, width) for width in widths], epsilon=1.0, delta=1e-3, **options).value
np.mean([np.abs(draw() - x.mean(axis=0)) / widths * len(x) for _ in range(400)])""",
        given={"x": np.full((1_000, 2), 0.5)},
        other={"x": np.full((1_000, 4), 0.5)},
        oracle=lambda x: 2 * x.shape[1],
        agrees=near(0.3),
        proof="smooth.md#4-several-quantiles-and-mean-vectors",
        page="statistics/mean.md",
    ),
    Item(
        number=16,
        place="Lemma 2.6 in R^d, quantiles",
        title="three quantiles with noise for the sum of their ladders: mean |noise| is 2 S/epsilon",
        call="""options = {"mechanism": dt.Smooth(constants="paper"), "noise": "laplace", "confidence": None}
ask = dt.Quantiles(q=[0.25, 0.5, 0.75], bounds=(0, 1_000), step=1 / 16)
draws = [dt.ask(ask, x, epsilon=1.0, delta=1e-3, **options).value for _ in range(400)]
np.mean(np.abs(np.array(draws) - np.quantile(x, [0.25, 0.5, 0.75], method="inverted_cdf")))""",
        given={"x": EVEN},
        other={"x": [400 + one / 8 for one in EVEN]},
        oracle=lambda x: 2 * sum_of_ladders(x, (0.25, 0.5, 0.75), 1_000, 1 / (2 * stats.gamma(3).isf(5e-4))),
        agrees=near(0.3),
        proof="smooth.md#4-several-quantiles-and-mean-vectors",
        page="statistics/quantiles.md",
    ),
    Item(
        number=17,
        place="Lemma 2.7",
        title="independent copies in R^d",
        call="""point = dt.inspect.admissible(dt.Cauchy(gamma=gamma), epsilon=1.0, dimension=d, constants="paper")
[float(point.alpha), float(point.beta)]""",
        given={"gamma": 3, "d": 4},
        other={"gamma": 2, "d": 1},
        oracle=lambda gamma, d: [1 / (2 * (gamma + 1)), 1 / (2 * d * (gamma + 1))],
        proof="admissible.md#3-the-family-1-zca-pa-generalised-cauchy-student-t",
        page="reference/mechanisms.md",
    ),
    Item(
        number=18,
        place="Definition 2.8",
        title="quantiles of the noise, here of the Laplace law",
        call="dt.Laplace().quantile(tail)",
        given={"tail": 1e-3},
        other={"tail": 0.05},
        oracle=lambda tail: float(stats.laplace.isf(tail / 2)),
        proof="admissible.md#4-laplace-density-e-z2",
        page="reference/mechanisms.md",
    ),
    Item(
        number=19,
        place="Lemma 2.9",
        title="the Laplace law in R^d",
        call="""point = dt.inspect.admissible("laplace", epsilon=epsilon, delta=1e-3, dimension=d, constants="paper")
[float(point.alpha), float(point.beta)]""",
        given={"epsilon": 0.5, "d": 1},
        other={"epsilon": 0.5, "d": 5},
        oracle=lambda epsilon, d: [epsilon / 2, epsilon / (2 * stats.gamma(d).isf(5e-4))],
        agrees=near(1e-6),
        proof="admissible.md#4-laplace-density-e-z2",
        page="reference/mechanisms.md",
        remark='The lemma\'s form with the quantile rho; `constants="exact"` is better.',
    ),
    Item(
        number=20,
        place="Lemma 2.10",
        title="the Gaussian law in R^d, exact: the divergence at the greatest shift and dilation is delta",
        call="""point = dt.inspect.admissible("gaussian", epsilon=1.0, delta=delta, beta=0.02)
float(point.alpha)""",
        given={"delta": 1e-3},
        other={"delta": 1e-5},
        oracle=lambda delta: largest_shift(stats.norm.pdf, 0.02, 1.0, delta),
        agrees=near(0.01),
        proof="admissible.md#5-gaussian-in-rd-l2",
        page="reference/mechanisms.md",
    ),
    Item(
        number=21,
        place="Definition 3.1",
        title="sensitivity at distance k, every rung",
        call="dt.inspect.ladder(dt.Median(bounds=(0, 5), step=1), x, rungs=5)",
        given={"x": (0, 1, 4, 5, 5)},
        other={"x": (0, 3, 3, 4, 5)},
        oracle=lambda x: [float(rung) for rung in oracle.exact_ladder(median_low, x, range(6), 5)],
        proof="order.md#statement",
        page="statistics/median.md",
    ),
    Item(
        number=22,
        place="Claim 3.2",
        title="a ladder cut off at k0, from where on it counts as the global sensitivity",
        call="""query = dt.Custom(name="own", value=sum, ladder=lambda x, k: 1 + k, rungs=k0, bounds=(0, 50), step=1,
    default=0)
dt.inspect.smooth(query, [1, 2], beta=0.2)""",
        given={"k0": 3},
        other={"k0": 12},
        oracle=lambda k0: max(50 * math.exp(-0.2 * k0), *((1 + k) * math.exp(-0.2 * k) for k in range(k0))),
        agrees=near(1e-8),
        proof="smooth.md#2-truncation-early-stop-step-size",
        page="extending.md#your-own-function",
    ),
    Item(
        number=23,
        place="Claim 3.3",
        title="upper bounds U_k of one's own: accepted, or refuted by neighbours",
        call="""query = dt.Custom(name="second", value=lambda x: sorted(x)[1], ladder=rungs, bounds=(0, 3), step=1,
    default=0)
bool(dt.inspect.refute(query, values=range(4), records=3, failing=()))""",
        given={"rungs": lambda x, k: 3},
        other={"rungs": lambda x, k: max(x) - min(x)},
        oracle=lambda rungs: any(
            abs(sorted(x)[1] - sorted(y)[1]) > rungs(x, 0) or any(rungs(x, k) > rungs(y, k + 1) for k in range(4))
            for x in datasets(range(4), 3)
            for y in neighbours(x, range(4))
        ),
        proof="custom.md#1-statement",
        page="extending.md#your-own-function",
    ),
    Item(
        number=24,
        place="Section 3, any function on an explicit finite space",
        title="local, smooth and global sensitivity by enumeration",
        call="""space = dt.FiniteSpace(all_data, neighbours=near, value=value)
space.local_sensitivity(x), space.smooth_sensitivity(x, 0.5), space.global_sensitivity""",
        given={
            "all_data": FIVE,
            "near": lambda x: neighbours(x, range(4)),
            "value": lambda x: len(set(x)) ** 2,
            "x": (0, 0, 0, 1, 1),
        },
        other={
            "all_data": FIVE,
            "near": lambda x: neighbours(x, range(4)),
            "value": lambda x: len(set(x)) ** 2,
            "x": (0, 1, 2, 3, 3),
        },
        oracle=lambda all_data, near, value, x: (
            local_sensitivities(value, range(4), 5)[x],
            smooth_sensitivity(value, x, range(4), 0.5),
            max(local_sensitivities(value, range(4), 5).values()),
        ),
        proof="custom.md#7-finite-spaces",
        page="extending.md#your-own-function",
    ),
    Item(
        number=25,
        place="Section 2, a bound that the user proved",
        title="a value with a smooth bound S of one's own: mean |noise| is 2 S/epsilon with the paper's constants",
        call="""query = dt.Custom(name="own", value=lambda x: 0, smooth_bound=lambda x, beta: s,
    bounds=(-1e6, 1e6), step=1, default=0)
options = {"mechanism": dt.Smooth(constants="paper"), "noise": "laplace", "confidence": None}
np.mean(np.abs([dt.ask(query, [0], epsilon=0.5, delta=1e-3, **options).value for _ in range(1_500)]))""",
        given={"s": 40},
        other={"s": 90},
        oracle=lambda s: s * 2 / 0.5,
        agrees=near(0.2),
        proof="custom.md#3-smooth-bounds",
        page="extending.md#your-own-function",
    ),
    Item(
        number=26,
        place="Proposition 3.4",
        title="smooth sensitivity of the median, by the formula",
        call="dt.inspect.smooth(dt.Median(bounds=(0, 1_000), step=1), x, beta=beta)",
        given={"x": SPREAD, "beta": 0.1},
        other={"x": DENSE, "beta": 0.05},
        oracle=lambda x, beta: median_formula(x, beta, 0, 1_000),
        agrees=near(1e-8),
        proof="order.md#statement",
        page="statistics/median.md",
    ),
    Item(
        number=27,
        place="Algorithm 1",
        title="the same in O(n log n), for the other quantiles too",
        call="dt.inspect.smooth(dt.Quantile(q=q, bounds=(0, 1_000), step=1), x, beta=0.1)",
        given={"x": SPREAD, "q": 0.25},
        other={"x": SPREAD, "q": 0.9},
        oracle=lambda x, q: oracle.smooth_bound(
            oracle.order_ladder(x, math.ceil(q * len(x)), 0, 1_000, len(x) + 1), 0.1
        ),
        agrees=near(1e-8),
        proof="order.md#proof",
        page="statistics/quantiles.md",
        remark="Rungs are looked at in a window that grows until later ones can't matter.",
    ),
    Item(
        number=28,
        place="Claim 3.5(1)",
        title="a bound of at most 2 S* in linear time",
        call='dt.inspect.smooth(dt.Median(bounds=(0, 1_000), step=1), x, beta=0.1, algorithm="linear")',
        given={"x": SPREAD},
        other={"x": DENSE},
        oracle=lambda x: max(
            (at(151 + k + 1) - at(151 - k - 1)) * math.exp(-0.1 * k)
            for at in [oracle.padded(x, 0, 1_000)]
            for k in range(302)
        ),
        agrees=near(1e-8),
        proof="order.md#proof",
        page="statistics/median.md",
    ),
    Item(
        number=29,
        place="Claim 3.5(2)",
        title="a bound in sublinear time: between S* and S* with a small addition",
        call='dt.inspect.smooth(dt.Median(bounds=(0, 1_000), step=1), x, beta=0.1, algorithm="sublinear")',
        given={"x": SPREAD},
        other={"x": DENSE},
        oracle=lambda x: (median_formula(x, 0.1, 0, 1_000) * (1 - 1e-9), median_formula(x, 0.1, 0, 1_000) + 1.0),
        agrees=between,
        proof="smooth.md#2-truncation-early-stop-step-size",
        page="statistics/median.md",
    ),
    Item(
        number=30,
        place="Section 3.1, evenly spaced records",
        title="a smooth sensitivity of about (gap)/(e beta)",
        call="dt.inspect.smooth(dt.Median(bounds=(0, 10_000), step=1), range(0, 10_001, gap), beta=0.02)",
        given={"gap": 10},
        other={"gap": 40},
        oracle=lambda gap: gap * max((k + 1) * math.exp(-0.02 * k) for k in range(1_000)),
        agrees=near(1e-8),
        proof="order.md#statement",
        page="statistics/median.md",
    ),
    Item(
        number=31,
        place="Claim 3.6",
        title="minimum and maximum",
        call="""lowest, highest = dt.Minimum(bounds=(0, 5), step=1), dt.Maximum(bounds=(0, 5), step=1)
[dt.inspect.smooth(one, x, beta=0.4) for one in (lowest, highest)]""",
        given={"x": (1, 1, 3, 4, 5)},
        other={"x": (0, 2, 2, 3, 3)},
        oracle=lambda x: [oracle.smooth_bound(oracle.exact_ladder(f, x, range(6), 6), 0.4) for f in (min, max)],
        agrees=near(1e-8),
        proof="order.md#statement",
        page="statistics/extremes.md",
    ),
    Item(
        number=32,
        place="Lemma 3.9, Claims 3.10 and 3.11",
        title="local sensitivity of the cost of a lightest spanning tree, over all weightings",
        call="""graph = dt.Graph(edges, n=4, weights=weights, cap=3, step=1)
dt.inspect.value(dt.MSTCost(), graph), dt.inspect.ladder(dt.MSTCost(), graph, rungs=1)[0]""",
        given={"edges": MST_EDGES, "weights": (0, 1, 3, 2, 2)},
        other={"edges": MST_EDGES, "weights": (1, 1, 1, 1, 2)},
        oracle=lambda edges, weights: tuple(
            float(found[weights])
            for costs, ladders in [oracle.all_tree_ladders(edges, 4, range(4), 1)]
            for found in (costs, ladders[0])
        ),
        proof="trees.md#1-the-ladder",
        page="statistics/trees.md",
    ),
    Item(
        number=33,
        place="Lemmas 3.7 and 3.12",
        title="the same at distance k, every rung",
        call="dt.inspect.ladder(dt.MSTCost(), dt.Graph(edges, n=4, weights=weights, cap=3, step=1), rungs=4)",
        given={"edges": MST_EDGES, "weights": (0, 1, 3, 2, 2)},
        other={"edges": MST_EDGES, "weights": (0, 0, 1, 0, 0)},
        oracle=lambda edges, weights: [
            float(found[weights]) for found in oracle.all_tree_ladders(edges, 4, range(4), 4)[1]
        ],
        proof="trees.md#1-the-ladder",
        page="statistics/trees.md",
    ),
    Item(
        number=34,
        place="Lemma 3.8",
        title="in polynomial time: a graph with too many cuts to look at, by connectivity of its threshold graphs",
        call="dt.inspect.ladder(dt.MSTCost(), dt.Graph(edges, n=16, weights=weights, cap=50, step=1), rungs=5)",
        given={"edges": complete(16), "weights": [(7 * i * i) % 41 for i in range(120)]},
        other={"edges": complete(16), "weights": [(11 * i * i + 3) % 23 for i in range(120)]},
        oracle=lambda edges, weights: [float(rung) for rung in oracle.threshold_ladder(edges, weights, 16, 50, 5)],
        proof="trees.md#2-what-decides-a-rung",
        page="statistics/trees.md",
    ),
    Item(
        number=35,
        place="Claim 3.13",
        title="triangles: sensitivity at distance s",
        call="dt.inspect.ladder(dt.Triangles(), dt.Graph(edges, n=30), rungs=40)",
        given={"edges": random_graph(30, 0.2, 1)},
        other={"edges": random_graph(30, 0.5, 2)},
        oracle=lambda edges: rung_formula(edges, 30, 40),
        proof="graphs.md#2-triangles",
        page="statistics/subgraphs.md",
    ),
    Item(
        number=36,
        place="Claim 3.14",
        title="smooth sensitivity of triangles, over all graphs of five vertices",
        call="dt.inspect.smooth(dt.Triangles(), dt.Graph(edges, n=5), beta=0.4)",
        given={"edges": [(0, 1), (1, 2), (0, 2)]},
        other={"edges": [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (1, 3)]},
        oracle=lambda edges: oracle.smooth_bound(rungs_over_all_graphs(edges, 5), 0.4),
        agrees=near(1e-8),
        proof="graphs.md#2-triangles",
        page="statistics/subgraphs.md",
    ),
    Item(
        number=37,
        place="Section 3.4, random graphs",
        title="G(n, p): the smooth sensitivity is far below n, of the order of n p^2 log n",
        call="dt.inspect.smooth(dt.Triangles(), dt.Graph(edges, n=n), beta=0.5)",
        given={"edges": random_graph(200, 0.3, 3), "n": 200},
        other={"edges": random_graph(200, 0.1, 4), "n": 200},
        oracle=lambda edges, n: oracle.smooth_bound(rung_formula(edges, n, 60), 0.5),
        agrees=near(1e-8),
        proof="graphs.md#2-triangles",
        page="statistics/subgraphs.md",
    ),
    Item(
        number=38,
        place="Section 3.5",
        title="a function whose local sensitivity says whether a formula can be satisfied",
        call="""space = dt.FiniteSpace(all_data, neighbours=near, value=satisfied)
x = (0, formula, formula, formula)
space.local_sensitivity(x), space.smooth_sensitivity(x, 0.5)""",
        given={
            "all_data": datasets(range(4), 4),
            "near": lambda x: neighbours(x, range(4)),
            "satisfied": satisfied,
            "formula": 2,
        },
        other={
            "all_data": datasets(range(4), 4),
            "near": lambda x: neighbours(x, range(4)),
            "satisfied": satisfied,
            "formula": 0,
        },
        oracle=lambda all_data, near, satisfied, formula: (
            int(formula > 0),
            smooth_sensitivity(satisfied, (0, formula, formula, formula), range(4), 0.5),
        ),
        proof="custom.md#7-finite-spaces",
        page="extending.md#your-own-function",
        remark="Small enough to be enumerated; that nobody can for long formulas is the point of the example.",
    ),
    Item(
        number=39,
        place="Section 4.1, f_cc",
        title="the centres of k clusters",
        call="dt.kmeans(x, k=2, bounds=(0, 1), epsilon=4.0, delta=1e-6).value",
        given={"x": BLOBS},
        other={"x": 1 - 0.9 * BLOBS},
        oracle=two_means,
        agrees=within(0.03),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
    ),
    Item(
        number=40,
        place="Section 4.1, the cost of k-SED",
        title="the cost of public centres",
        call="dt.kmeans_cost(x, centres=centres, bounds=(0, 1), epsilon=100.0).value",
        given={"x": BLOBS[:2_000], "centres": [(0.2, 0.2), (0.8, 0.8)]},
        other={"x": BLOBS[:2_000], "centres": [(0.2, 0.2), (0.5, 0.8)]},
        oracle=lambda x, centres: (
            sum(min((p[0] - c[0]) ** 2 + (p[1] - c[1]) ** 2 for c in centres) for p in x) / len(x)
        ),
        agrees=within(0.002),
        proof="certified_average.md#8-the-cost-of-public-centres",
        page="statistics/clusters.md",
    ),
    Item(
        number=41,
        place="Section 4.1, Wasserstein distance",
        title="distances of sets of points under the best matching: how far answers on few people are from that on all",
        call="""program = dt.Program(lambda b: pairs[len(b) == 2], output=4, bounds=(0, 10), metric=dt.Matching(2))
10 * dt.inspect.blocks(program, range(9), sizes=[2], draws=10)[0].radius""",
        given={"pairs": [(1, 2, 7, 9), (7, 8, 1, 2)]},
        other={"pairs": [(1, 2, 7, 9), (3, 3, 9, 9)]},
        oracle=lambda pairs: math.sqrt(
            min(
                sum((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a, b in zip(halves(pairs[0]), order, strict=True))
                for order in permutations(halves(pairs[1]))
            )
        ),
        agrees=near(1e-6),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md#sets-of-points",
    ),
    Item(
        number=42,
        place="Section 4.1, noise for earthmover metrics",
        title="sets that blocks return in any order: a private set of points",
        call="""shuffled = lambda b: np.roll(np.sort(b, axis=0)[[0, -1]], int(1e9 * b[0, 0]) % 2, axis=0).ravel()
options = {"bounds": (0, 1), "output": 4, "blocks": 300, "metric": dt.Matching(2), "aggregator": "centre"}
dt.sample_and_aggregate(x, shuffled, epsilon=100.0, executor="trusted", **options).value""",
        given={"x": np.repeat([[0.2, 0.3], [0.8, 0.6]], 3_000, axis=0)},
        other={"x": np.repeat([[0.4, 0.1], [0.9, 0.9]], 3_000, axis=0)},
        oracle=lambda x: [*x[0], *x[-1]],
        agrees=within(0.05),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md#sets-of-points",
        remark="Points are sorted instead of shuffled before they are released: the same set.",
    ),
    Item(
        number=43,
        place="Figure 2",
        title="an instance whose best two clusters change with one point, and one whose do not: local sensitivity",
        call="""space = dt.FiniteSpace(all_data, neighbours=near, value=centre)
space.local_sensitivity(x)""",
        given={**RECTANGLES, "x": (0, 1, 2, 3)},
        other={**RECTANGLES, "x": (0, 0, 0, 0)},
        oracle=lambda all_data, near, centre, x: max(abs(centre(x) - centre(y)) for y in near(x)),
        proof="custom.md#7-finite-spaces",
        page="statistics/clusters.md",
        remark="Where blocks disagree `dt.kmeans` begins from a noisy histogram instead, and says so.",
    ),
    Item(
        number=44,
        place="Figure 3, Section 4.2",
        title="sample and aggregate: any program on random blocks",
        call='dt.sample_and_aggregate(x, np.median, bounds=(0, 1), epsilon=10.0, executor="trusted").value',
        given={"x": np.linspace(0.2, 0.4, 10_001)},
        other={"x": np.linspace(0.5, 0.9, 10_001)},
        oracle=lambda x: sorted(x)[5_000],
        agrees=within(0.1),
        proof="aggregate.md#statement",
        page="programs.md",
    ),
    Item(
        number=45,
        place="Definition 4.1",
        title="how well a program on few people approximates itself on all: the radius of three quarters of the blocks",
        call="""share = dt.Program(np.mean, bounds=(0, 1), metric="l2")
dt.inspect.blocks(share, x, sizes=[size], draws=400)[0].radius""",
        given={"x": np.tile([0.0, 1.0], 5_000), "size": 400},
        other={"x": np.tile([0.0, 1.0], 5_000), "size": 100},
        oracle=lambda x, size: float(
            min(
                r
                for r in np.arange(size) / size
                if stats.hypergeom.cdf(size / 2 + r * size, 10_000, 5_000, size)
                - stats.hypergeom.cdf(size / 2 - r * size - 1, 10_000, 5_000, size)
                >= 0.75
            )
        ),
        agrees=near(0.35),
        proof="aggregate.md#statement",
        page="programs.md#is-it-worth-it",
    ),
    Item(
        number=46,
        place="Theorem 4.2",
        title="independent samples, the centre of attention and l1: near f(x) although a tenth of blocks are far off",
        call="""first = lambda b: b[0]
options = {"bounds": (0, 1), "output": 2, "blocks": 400, "metric": "l1", "aggregator": "centre"}
dt.sample_and_aggregate(x, first, sampling="overlapping", epsilon=100.0, executor="trusted", **options).value""",
        given={"x": np.repeat([[0.3, 0.6], [0.9, 0.9]], [3_600, 400], axis=0)},
        other={"x": np.repeat([[0.7, 0.2], [0.1, 0.9]], [3_600, 400], axis=0)},
        oracle=lambda x: x[0],
        agrees=within(0.05),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md",
    ),
    Item(
        number=47,
        place="Corollary 4.3, Remark 1",
        title="an error of the order of a block's own error r: the middle of nine releases of a mean",
        call="""options = {"bounds": (0, 1), "metric": "l2", "aggregator": "centre", "executor": "trusted"}
np.median([dt.sample_and_aggregate(x, np.mean, blocks=200, epsilon=20.0, **options).value for _ in range(9)])""",
        given={"x": np.linspace(0.2, 0.4, 10_001)},
        other={"x": np.linspace(0.5, 0.9, 10_001)},
        oracle=lambda x: (x[0] + x[-1]) / 2,
        agrees=within(0.1),
        proof="aggregate.md#statement",
        page="programs.md",
    ),
    Item(
        number=48,
        place="Definition 4.4",
        title="local sensitivity with step size s",
        call="""near = lambda z: [y for y in all_data if 0 < apart(y, z) <= s]
space = dt.FiniteSpace(all_data, neighbours=near, value=median)
space.local_sensitivity(z)""",
        given={"all_data": datasets(range(4), 4), "apart": distance, "median": median_low, "z": (0, 1, 1, 3), "s": 1},
        other={"all_data": datasets(range(4), 4), "apart": distance, "median": median_low, "z": (0, 1, 1, 3), "s": 2},
        oracle=lambda all_data, apart, median, z, s: max(
            abs(median(y) - median(z)) for y in all_data if apart(y, z) <= s
        ),
        proof="smooth.md#2-truncation-early-stop-step-size",
        page="extending.md#your-own-function",
    ),
    Item(
        number=49,
        place="Definition 4.5",
        title="an aggregate stays where most answers are: the centre of attention of labels on a line",
        call="""line = dt.MetricSpace.of(range(8), lambda p, q: abs(p - q))
options = {"space": line, "blocks": len(x), "aggregator": "centre", "executor": "trusted", "confidence": None}
dt.sample_and_aggregate(x, lambda b: int(b[0]), epsilon=200.0, **options).value""",
        given={"x": [1, 1, 1, 1, 1, 2, 7, 7]},
        other={"x": [6, 6, 6, 6, 5, 6, 0, 0]},
        oracle=lambda x: min(range(8), key=lambda c: oracle.centre_cost(range(8), lambda p, q: abs(p - q), x, c)),
        proof="answer_spaces.md#2-the-centres-cost-moves-by-at-most-1",
        page="programs.md#rankings-sets-labels-strings",
    ),
    Item(
        number=50,
        place="Example 2",
        title="the median as an aggregate",
        call="""options = {"bounds": (0, 1), "aggregator": "smooth_median", "executor": "trusted"}
dt.sample_and_aggregate(x, lambda b: b[0], blocks=400, epsilon=20.0, **options).value""",
        given={"x": np.repeat([0.3, 0.9], [3_600, 400])},
        other={"x": np.repeat([0.7, 0.1], [3_600, 400])},
        oracle=lambda x: sorted(x)[2_000],
        agrees=within(0.05),
        proof="aggregate.md#5-medians",
        page="programs.md",
    ),
    Item(
        number=51,
        place="Definition 4.6, Claim 4.7",
        title="the unconstrained centre in the plane: that of the smallest circle around a majority",
        call="""options = {"bounds": (0, 1), "output": 2, "blocks": len(x), "metric": "l2", "executor": "trusted"}
dt.sample_and_aggregate(x, lambda b: b[0], aggregator="unconstrained_centre", epsilon=1e5, **options).value""",
        given={"x": BLOBS[:15]},
        other={"x": BLOBS[15:30] ** 2},
        oracle=smallest_circle,
        agrees=within(0.01),
        proof="aggregate.md#7-the-unconstrained-centre-in-the-plane-nrs11-definition-46-claim-47",
        page="programs.md",
        remark="For one and two numbers. With the dimension as part of the input the smallest ball around half of the "
        "points is NP-hard to find; from three numbers on the centre of attention serves.",
    ),
    Item(
        number=51,
        place="Definition 4.6 for numbers",
        title="the unconstrained centre of numbers: the middle of the shortest interval that holds a majority",
        call="""options = {"bounds": (0, 1), "metric": "l2", "executor": "trusted", "confidence": None}
dt.sample_and_aggregate(x, lambda b: b[0], blocks=len(x), aggregator="centre", epsilon=2e3, **options).value""",
        given={"x": CLOSE[:60, 0]},
        other={"x": CLOSE[60:120, 1] ** 2},
        oracle=lambda x: min((b - a, (a + b) / 2) for a, b in zip(sorted(x), sorted(x)[30:], strict=False))[1],
        agrees=within(1e-3),
        proof="aggregate.md#2-the-unconstrained-centre-of-numbers",
        page="programs.md",
    ),
    Item(
        number=52,
        place="Definition 4.8, Theorem 4.9",
        title="the centre of attention: the answer with the smallest ball around it that holds a majority",
        call="""options = {"bounds": (0, 1), "output": 2, "metric": "l2", "executor": "trusted", "confidence": None}
dt.sample_and_aggregate(x, lambda b: b[0], blocks=len(x), aggregator="centre", epsilon=1e4, **options).value""",
        given={"x": PLANE},
        other={"x": PLANE**2},
        oracle=lambda x: min(x, key=lambda c: sorted(math.dist(c, z) for z in x)[21]),
        agrees=within(0.02),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md",
    ),
    Item(
        number=53,
        place="Claim 4.10",
        title="radii bound the noise: answers c times as far apart have c times the noise",
        call="""options = {"bounds": (0, 1), "output": 2, "metric": "l2", "executor": "trusted", "confidence": None}
ask = lambda z: dt.sample_and_aggregate(z, lambda b: b[0], blocks=200, aggregator="centre", epsilon=5.0, **options)
spread = {}
for size in (1, c):
    z = 0.5 + size * (x - 0.5)
    centre = min(z, key=lambda p: np.sort(np.linalg.norm(z - p, axis=1))[100])
    spread[size] = np.median([math.dist(ask(z).value, centre) for _ in range(500)])
spread[c] / spread[1]""",
        given={"x": CLOSE, "c": 9},
        other={"x": CLOSE, "c": 1.5},
        oracle=lambda x, c: c,
        agrees=near(0.7),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md",
    ),
    Item(
        number=54,
        place="Section 4.4, any metric space",
        title="rankings under Kendall's tau: the consensus of blocks",
        call="""options = {"space": dt.Rankings("abcd"), "blocks": len(x), "executor": "trusted", "confidence": None}
"".join(dt.sample_and_aggregate(x, lambda b: tuple(b[0]), epsilon=200.0, aggregator="medoid", **options).value)""",
        given={"x": ["abcd", "abcd", "bacd", "abdc", "acbd"]},
        other={"x": ["dcba", "dcab", "dcba", "cdba", "abcd"]},
        oracle=lambda x: min(map("".join, permutations("abcd")), key=lambda c: sum(kendall(c, answer) for answer in x)),
        proof="answer_spaces.md#1-the-medoids-cost-moves-by-at-most-1-with-one-answer",
        page="programs.md#rankings-sets-labels-strings",
    ),
    Item(
        number=55,
        place="Section 4.4, a metric of one's own",
        title="a function of two answers decides which one is the centre",
        call="""options = {"bounds": (0, 1), "output": 2, "metric": dt.OwnMetric(apart), "executor": "trusted"}
ask = lambda: dt.sample_and_aggregate(x, lambda b: b[0], blocks=len(x), aggregator="centre", epsilon=1e4, **options)
ask().value""",
        given={"x": PLANE, "apart": lambda p, q: float(abs(p[0] - q[0]) + abs(p[1] - q[1]))},
        other={"x": PLANE, "apart": lambda p, q: 1.5 * float(max(abs(p[0] - q[0]), abs(p[1] - q[1])))},
        oracle=lambda x, apart: min(x, key=lambda c: sorted(apart(c, z) for z in x)[21]),
        agrees=within(0.02),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md",
        remark="Noise is added in l2, which the metric has to bound; for others list the points of the space.",
    ),
    Item(
        number=56,
        place="Remark 2",
        title="the medoid: the answer with the least sum of distances",
        call="""options = {"bounds": (0, 1), "metric": "l2", "executor": "trusted", "confidence": None}
dt.sample_and_aggregate(x, lambda b: b[0], blocks=len(x), aggregator="medoid", epsilon=1e4, **options).value""",
        given={"x": BLOBS[:61, 0] ** 3},
        other={"x": 1 - BLOBS[60:121, 1] ** 3},
        oracle=lambda x: min(x, key=lambda c: sum(abs(c - z) for z in x)),
        agrees=within(0.01),
        proof="aggregate.md#6-the-medoid-nrs11-remark-2",
        page="programs.md",
    ),
    Item(
        number=57,
        place="Section 4.5, Lemma 4.11",
        title="m samples of n/m people, drawn again until nobody is in more than sqrt(m) of them",
        call="""seen = []
options = {"bounds": (0, 1), "sampling": "overlapping", "executor": "trusted", "aggregator": "smooth_median"}
dt.sample_and_aggregate(np.arange(n), lambda b: seen.append(b) or 0.0, blocks=m, epsilon=1.0, example=None, **options)
len(seen), len(seen[0]), bool(np.bincount(np.concatenate(seen).astype(int)).max() <= math.sqrt(m))""",
        given={"n": 1_000, "m": 100},
        other={"n": 1_000, "m": 200},
        oracle=lambda n, m: (m, math.ceil(n / m), True),
        proof="aggregate.md#1-blocks",
        page="programs.md",
    ),
    Item(
        number=58,
        place="Definition 5.1",
        title="phi squared, the cost of k clusters as a share of that of k - 1: over all clusterings of ten points",
        call="dt.inspect.separation(x, k=2).phi_squared",
        given={"x": BLOBS[:10]},
        other={"x": BLOBS[:10] ** 4},
        oracle=lambda x: best_two(x) / clustering_cost([x]),
        agrees=near(1e-6),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
        remark="On larger data the best of several runs of Lloyd's algorithm stands for the optimum, which is NP-hard.",
    ),
    Item(
        number=59,
        place="Lemma 5.2",
        title="on separated data the centres of a block are near those of all points: the radius",
        call="""program = dt.Program(lambda b: means(b), output=4, bounds=(0, 1), metric=dt.Matching(2))
dt.inspect.blocks(program, x, sizes=[size], draws=300)[0].radius""",
        given={"x": BLOBS, "size": 100, "means": lambda b: np.ravel(two_means(b))},
        other={"x": BLOBS, "size": 1_600, "means": lambda b: np.ravel(two_means(b))},
        oracle=lambda x, size, means: (
            0.05 * math.sqrt(2 / size * (1 - size / len(x))) * math.sqrt(stats.chi2.ppf(0.75, 4))
        ),
        agrees=near(0.35),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
    ),
    Item(
        number=60,
        place="Lemma 5.3",
        title="the cost of centres on a sample is near that on all points",
        call="""program = dt.Program(lambda b: cost(b), bounds=(0, 1), metric="l2")
dt.inspect.blocks(program, x, sizes=[size], draws=400)[0].radius""",
        given={"x": BLOBS, "size": 100, "cost": fixed_cost},
        other={"x": BLOBS, "size": 1_600, "cost": fixed_cost},
        oracle=lambda x, size, cost: (
            stats.norm.ppf(0.875)
            * np.std([fixed_cost(x[i : i + 1]) for i in range(len(x))])
            / math.sqrt(size)
            * math.sqrt(1 - size / len(x))
        ),
        agrees=near(0.35),
        proof="certified_average.md#8-the-cost-of-public-centres",
        page="statistics/clusters.md",
    ),
    Item(
        number=60,
        place="Lemma 5.4",
        title="good centres split the points nearly as the best ones: how many are nearest to the first",
        call="""centres = np.array(dt.kmeans(x, k=2, bounds=(0, 1), epsilon=4.0, delta=1e-6).value)
int(np.sum(np.argmin(((x[:, None] - centres) ** 2).sum(axis=2), axis=1) == 0))""",
        given={"x": BLOBS},
        other={"x": BLOBS[(np.arange(20_000) % 4) != BLOB_OF]},
        oracle=lambda x: int(np.sum(x.sum(axis=1) < 1)),
        agrees=within(20),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
    ),
    Item(
        number=61,
        place="Section 5.1",
        title="clustering as the paper does it: blocks, Wasserstein distance, centre of attention",
        call="""options = {"output": 4, "bounds": (0, 1), "metric": dt.Matching(2), "aggregator": "centre"}
ask = lambda: dt.sample_and_aggregate(x, means, blocks=200, epsilon=50.0, executor="trusted", **options).value
np.median([ask() for _ in range(7)], axis=0)""",
        given={"x": BLOBS, "means": lambda b: np.ravel(two_means(b))},
        other={"x": 1 - 0.6 * BLOBS, "means": lambda b: np.ravel(two_means(b))},
        oracle=lambda x, means: means(x),
        agrees=within(0.1),
        proof="aggregate.md#3-the-centre-of-attention-in-any-metric",
        page="programs.md#sets-of-points",
    ),
    Item(
        number=62,
        place="Lemma 5.5",
        title="a mixture of spherical Gaussians in eight dimensions is told apart: the shares",
        call="[one[8] for one in dt.gaussian_mixture(x, k=2, bounds=(0, 1), epsilon=4.0, delta=1e-6).value]",
        given={"x": EIGHT},
        other={"x": EIGHT[4_000:]},
        oracle=lambda x: [float(np.mean(x[:, 0] < 0.5)), float(np.mean(x[:, 0] >= 0.5))],
        agrees=within(0.05),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
    ),
    Item(
        number=63,
        place="Lemma 5.6, Section 5.2",
        title="centres, shares and standard deviations of a mixture",
        call="dt.gaussian_mixture(x, k=2, bounds=(0, 1), epsilon=4.0, delta=1e-6).value",
        given={"x": BLOBS},
        other={"x": 1 - 0.6 * BLOBS},
        oracle=lambda x: [
            (*part.mean(axis=0), len(part) / len(x), math.sqrt(part.var(axis=0).mean()))
            for low, high in [two_means(x)]
            for part in split_at(x, low, high)
        ],
        agrees=within(0.03),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
    ),
    Item(
        number=64,
        place="Section 5.2, Kullback-Leibler divergence",
        title="the divergence of the estimated mixture from a reference: almost 0 from the true one",
        call="""parts = dt.gaussian_mixture(x, k=2, bounds=(0, 1), epsilon=4.0, delta=1e-6).value
divergence(reference, [(centre, share, sd) for *centre, share, sd in parts])""",
        given={"x": BLOBS, "reference": TRUE_MIXTURE, "divergence": divergence},
        other={"x": BLOBS, "reference": OTHER_MIXTURE, "divergence": divergence},
        oracle=lambda x, reference, divergence: divergence(reference, TRUE_MIXTURE),
        agrees=within(0.05),
        proof="certified_average.md#7-clusterings",
        page="statistics/clusters.md",
    ),
)
