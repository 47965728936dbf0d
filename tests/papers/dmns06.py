"""The items of DMNS06."""

import math

import numpy as np

from papers.formulas import complete, datasets, laplace_reach, lightest_cut, mean_laplace, neighbours
from papers.items import Item, near, within

CODE = [tuple((a + b * x) % 5 for x in range(4)) for a in range(5) for b in range(5)]
"""The Reed-Solomon code of length 4 and dimension 2 over the field of five elements: values of lines a + b x."""
TABLE = np.random.default_rng(6).random((400, 3))
"""Made-up rows of three columns in [0, 1]."""


def worst_ratio(mechanism, epsilon):
    """The pairs between which the log ratio of two Laplace densities exceeds epsilon somewhere, on a fine grid."""
    t = np.linspace(-200, 200, 400_001)

    def density(name):
        value, scale = mechanism[name]
        return -np.abs(t - value) / scale - math.log(2 * scale)

    found = [(a, b) for a in mechanism for b in mechanism if a < b]
    return [(a, b) for a, b in found if np.max(np.abs(density(a) - density(b))) > epsilon * (1 + 1e-9)]


def posterior(before, epsilon):
    """By Bayes' rule, with a likelihood ratio of e^-epsilon and of e^epsilon."""
    ratios = math.exp(-epsilon), math.exp(epsilon)
    return [before * ratio / (before * ratio + 1 - before) for ratio in ratios]


def to_code(x, code):
    """How many symbols must change until x is a codeword."""
    return min(sum(a != b for a, b in zip(x, word, strict=True)) for word in code)


def until_split(edges, n, cut):
    """How many edges must be added or removed until some part of at most half of the vertices has at most ``cut`` edges
    that leave it: 0 of them is "disconnected", more is "not expanding"."""
    sides = [{v for v in range(n) if bits >> v & 1} for bits in range(1, 2**n - 1)]
    return max(0, min(sum((u in side) != (v in side) for u, v in edges) for side in sides if 2 * len(side) <= n) - cut)


def law_of_a_ring(size, centre, rate):
    """Probabilities proportional to e^(-rate distance) on a ring."""
    weights = [math.exp(-rate * min((centre - p) % size, (p - centre) % size)) for p in range(size)]
    return [weight / sum(weights) for weight in weights]


def chance_of_a_set(d, epsilon):
    """DMNS06 Claim 1 for randomised response on {0, 1}^d, by Equation 6 as the proof expands it: a sum over x alone."""
    size = 2**d
    keep, stray = (chance / (math.exp(epsilon) + size - 1) for chance in (math.exp(epsilon), 1))
    above = [keep - stray] + [0.0] * (size - 1)
    pairs = sum(above) ** 2 - sum(one**2 for one in above)
    # For r != 0 and x != y, the signs (-1)^(r.x + b) and (-1)^(r.y + b) have a product of mean -1/(2^d - 1).
    return (sum(one**2 for one in above) - pairs / (size - 1)) / size**2


ITEMS: tuple[Item, ...] = (
    Item(
        number=140,
        place="Definition 1",
        title="indistinguishable: a check of Laplace noise made by hand, answer by answer",
        call="dt.inspect.unfit_pairs(laplace, [('a', 'b'), ('b', 'c')], epsilon=epsilon)",
        given={"laplace": {"a": (3, 2.0), "b": (4, 2.0), "c": (4, 2.0)}, "epsilon": 0.5},
        other={"laplace": {"a": (3, 2.0), "b": (4, 2.0), "c": (5.5, 2.0)}, "epsilon": 0.5},
        oracle=lambda laplace, epsilon: [pair for pair in worst_ratio(laplace, epsilon) if pair != ("a", "c")],
        proof="admissible.md#1-statement-of-the-problem",
        page="audit.md",
    ),
    Item(
        number=140,
        place="Definition 1, transcripts",
        title="what was asked and answered: the transcript with its losses",
        call="""session = dt.open({"x": x}, columns={"x": dt.Integer(0, 9)}, budget=dt.Budget(5.0))
for epsilon in losses: session.ask(dt.Sum("x"), epsilon=epsilon)
[(entry.loss.epsilon, entry.release is not None) for entry in session.history], session.budget.spent.epsilon""",
        given={"x": [1, 2, 3], "losses": [0.5, 0.25]},
        other={"x": [1, 2, 3], "losses": [1.0, 0.5, 0.125]},
        oracle=lambda x, losses: ([(one, True) for one in losses], sum(losses)),
        proof="sessions.md",
        page="ledger.md",
    ),
    Item(
        number=141,
        place="Example 1",
        title="a noisy sum of bits: mean |noise|",
        call="np.mean([abs(dt.count(x, epsilon=epsilon, confidence=None).value - sum(x)) for _ in range(2_000)])",
        given={"x": [1] * 400 + [0] * 400, "epsilon": 0.5},
        other={"x": [1] * 400 + [0] * 400, "epsilon": 0.25},
        oracle=lambda x, epsilon: mean_laplace(1 / epsilon),
        agrees=near(0.2),
        proof="sampling.md#the-laws",
        page="statistics/sum_and_count.md",
        remark="Answers are whole numbers: the noise is the integer Laplace law of scale 1/epsilon.",
    ),
    Item(
        number=142,
        place="Section 2, non-negligible leakage",
        title="with epsilon far below 1/n nothing is learned even about all n people together",
        call="""found = dt.belief(0.5, dt.Loss(epsilon), people=n)
found.lowest, found.highest""",
        given={"n": 1_000, "epsilon": 1e-5},
        other={"n": 1_000, "epsilon": 1e-3},
        oracle=lambda n, epsilon: tuple(posterior(0.5, n * epsilon)),
        proof="group-privacy.md",
        page="statistical-difference.md",
    ),
    Item(
        number=143,
        place="Example 2",
        title="statistical difference is not enough: with delta = 1/n limits on beliefs may fail for one person in n",
        call="n * dt.belief(0.01, dt.Loss(epsilon, 1 / n)).failure",
        given={"n": 10_000, "epsilon": 0.1},
        other={"n": 100, "epsilon": 2.0},
        oracle=lambda n, epsilon: (1 + math.exp(-2 * epsilon)) / (1 - math.exp(-epsilon)),
        proof="group-privacy.md",
        page="statistical-difference.md",
        remark="Never below 1: the promise allows to publish one random person. The page runs the example itself.",
    ),
    Item(
        number=144,
        place="Definition 2, Example 3",
        title="sensitivity of a sum, by enumeration of all datasets",
        call="""space = dt.FiniteSpace(all_data, neighbours=near, value=sum)
space.global_sensitivity""",
        given={"all_data": datasets((0, 1), 4), "near": lambda x: neighbours(x, (0, 1))},
        other={"all_data": datasets((0, 3, 7), 3), "near": lambda x: neighbours(x, (0, 3, 7))},
        oracle=lambda all_data, near: max(abs(sum(x) - sum(y)) for x in all_data for y in near(x)),
        proof="totals.md#1-trimmed-totals-t-x_m1-x_n-m-m-0-the-sum-divided-by-n-2m-the-trimmed-mean",
        page="extending.md#your-own-function",
    ),
    Item(
        number=144,
        place="Example 3, Proposition 1",
        title="a histogram has sensitivity 2 whatever the number of bins: mean |noise| of a bin",
        call="""draws = [dt.histogram(x, edges=edges, epsilon=epsilon, confidence=None).value for _ in range(500)]
np.mean(np.abs(np.array(draws) - np.histogram(x, edges)[0]))""",
        given={"x": [0, 0, 1, 3, 7], "edges": list(range(9)), "epsilon": 0.5},
        other={"x": [0, 0, 1, 3, 7], "edges": list(range(17)), "epsilon": 1.0},
        oracle=lambda x, edges, epsilon: mean_laplace(2 / epsilon),
        agrees=near(0.2),
        proof="totals.md#5-histograms",
        page="statistics/histogram.md",
    ),
    Item(
        number=145,
        place="Theorem 1",
        title="adaptive queries, and refusals by public facts alone: the third is over budget, before it reads",
        call="""session = dt.open({"x": x}, columns={"x": dt.Integer(0, 100)}, budget=dt.Budget(total))
first = session.ask(dt.Sum("x"), epsilon=0.5).value
session.ask(dt.Count(), where=f"x > {first / len(x):.0f}", epsilon=0.5)
try: session.ask(dt.Median("x"), epsilon=0.5) and None
except dt.BudgetExceeded as error: refused = error
else: refused = None
refused is not None, session.budget.spent.epsilon""",
        given={"x": [30, 40, 50], "total": 1.2},
        other={"x": [30, 40, 50], "total": 1.5},
        oracle=lambda x, total: (total < 3 * 0.5, min(3, total // 0.5) * 0.5),
        proof="sessions.md",
        page="ledger.md",
    ),
    Item(
        number=146,
        place="Section 3.2, disjoint analyses",
        title="groups that share no record: one loss for all of them",
        call="""columns = {"x": dt.Integer(0, 9), "g": dt.Category(groups)}
session = dt.open({"x": x, "g": [groups[i % len(groups)] for i in x]}, columns=columns, budget=dt.Budget(9.0))
releases = session.ask(dt.Sum("x"), by="g", epsilon=epsilon)
len(releases), session.budget.spent.epsilon""",
        given={"x": [1, 2, 3, 4], "groups": ["a", "b", "c"], "epsilon": 0.5},
        other={"x": [1, 2, 3, 4], "groups": ["a", "b"], "epsilon": 0.75},
        oracle=lambda x, groups, epsilon: (len(groups), epsilon),
        proof="filtered.md#1-what-one-person-can-do-to-a-selection",
        page="sql.md",
    ),
    Item(
        number=147,
        place="Section 3.2, mean vector",
        title="the mean vector",
        call="dt.mean(x, bounds=[(0, 1)] * 3, epsilon=1_000.0).value",
        given={"x": TABLE},
        other={"x": 1 - TABLE[:200]},
        oracle=lambda x: np.sum(x, axis=0) / len(x),
        agrees=within(5e-3),  # noise of a scale of at most 1.5e-4
        proof="totals.md",
        page="statistics/mean.md",
    ),
    Item(
        number=147,
        place="Section 3.2, covariance matrix",
        title="the covariance matrix, asked in a session",
        call="""data = {name: x[:, j] for j, name in enumerate("abc")}
session = dt.open(data, columns={name: dt.Real(0, 1) for name in data}, budget=dt.Budget(1e5), rows=400)
session.ask(dt.Covariance(list(data)), epsilon=1e5).value""",
        given={"x": TABLE},
        other={"x": TABLE[:, [0, 0, 2]]},
        oracle=lambda x: [
            sum((row[j] - x[:, j].mean()) * (row[k] - x[:, k].mean()) for row in x) / len(x)
            for j in range(3)
            for k in range(j, 3)
        ],
        agrees=within(2e-3),
        proof="totals.md#4-covariance-matrix",
        page="statistics/variance.md",
    ),
    Item(
        number=148,
        place="Section 3.2, the bound gamma",
        title="rows in an l1 ball of radius gamma: noise for 2 gamma/n in all, whatever the dimension",
        call="""draw = lambda: dt.ball_mean(x, radius=gamma, norm="l1", epsilon=2.0, confidence=None).value
np.mean(np.abs([draw() - x.mean(axis=0) for _ in range(300)]))""",
        given={"x": TABLE / 10, "gamma": 1},
        other={"x": np.hstack([TABLE, TABLE]) / 10, "gamma": 2},
        oracle=lambda x, gamma: 2 * gamma / len(x) / 2.0,
        agrees=near(0.25),
        proof="totals.md#vectors-in-a-ball-queriesball_meanspy",
        page="statistics/mean.md",
    ),
    Item(
        number=149,
        place="Section 3.2, distance from a property",
        title="how many records must change until all are equal",
        call="dt.distance_to_property(x, distance=lambda x: len(x) - max(map(x.count, x)), epsilon=30.0).value",
        given={"x": [1, 1, 2, 3, 1]},
        other={"x": [4, 1, 2, 3, 1]},
        oracle=lambda x: min(sum(a != b for a in x) for b in x),
        proof="metric_spaces.md#6-distance-to-a-property-distancespy",
        page="statistics/local.md",
    ),
    Item(
        number=150,
        place="Section 3.2, robustness of a network",
        title="edges to remove until the graph is disconnected",
        call="dt.inspect.value(dt.MinCut(), dt.Graph(edges, n=5))",
        given={"edges": complete(5)},
        other={"edges": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]},
        oracle=lambda edges: lightest_cut(edges, 5, [1] * len(edges)),
        proof="trees.md#5-minimum-cut",
        page="statistics/trees.md",
    ),
    Item(
        number=150,
        place="Section 3.2, robustness: expansion",
        title="edges to change until a part of at most half of the vertices has few edges that leave it",
        call="""far = dt.DistanceToProperty(distance=lambda g: split(g, 5, 2), most=10, neighbours=dt.Neighbours.EDGE)
dt.ask(far, edges, epsilon=30.0).value""",
        given={"edges": complete(5), "split": until_split},
        other={"edges": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (1, 3), (2, 4)], "split": until_split},
        oracle=lambda edges, split: max(
            0, min(lightest_cut(edges, 5, [1] * len(edges)), *(sum(v in e for e in edges) for v in range(5))) - 2
        ),
        proof="metric_spaces.md#6-distance-to-a-property-distancespy",
        page="statistics/local.md",
        remark='For any property with a distance of your own, "poorly clustered" included.',
    ),
    Item(
        number=151,
        place="Section 3.2, weighted minimum cut",
        title="the lightest cut of a graph with private weights in [0, 1]",
        call="""graph = dt.Graph(edges, n=5, weights=weights, cap=1, step=1e-4)
dt.inspect.value(dt.WeightedMinCut(), graph), dt.weighted_min_cut(graph, epsilon=2_000.0).value""",
        given={"edges": complete(5), "weights": [0.1, 0.9, 0.3, 0.4, 0.7, 0.6, 0.2, 0.8, 0.5, 1.0]},
        other={"edges": complete(5), "weights": [0.1, 0.2, 0.3, 0.1, 0.7, 0.6, 0.2, 0.8, 0.5, 1.0]},
        oracle=lambda edges, weights: (lightest_cut(edges, 5, weights),) * 2,
        # An epsilon above 100 is calibrated as 100: noise of scale 1/100, beyond 0.25 with probability e^-25.
        agrees=lambda got, expected: within(1e-6)(got[0], expected[0]) and within(0.25)(got[1], expected[1]),
        proof="trees.md#6-lightest-cut-of-private-weights-queriesweighted_cutspy",
        page="statistics/trees.md",
    ),
    Item(
        number=152,
        place="Section 3.2, spanning trees",
        title="one weight in [0, 1] moves the cost of a lightest spanning tree by at most 1: half of the interval",
        call="""graph = dt.Graph([(v, (v + 1) % 100) for v in range(100)], n=100, weights=weights, cap=1, step=1)
low, high = dt.mst_cost(graph, epsilon=epsilon, mechanism="worst_case").interval
(high - low) / 2""",
        given={"weights": [0, 1] * 50, "epsilon": 0.5},
        other={"weights": [0, 1] * 50, "epsilon": 1.0},
        oracle=lambda weights, epsilon: float(laplace_reach(1 / epsilon, 0.05)),
        proof="trees.md#1-the-ladder",
        page="statistics/trees.md",
    ),
    Item(
        number=153,
        place="Lemma 1",
        title="a function that a small sample nearly decides has sensitivity 2 sigma",
        call="""dt.sample_sensitivity(reads=reads, within=sigma, chance=0.9)
release = dt.low_sample_release(x, function=lambda x: [sum(x)], dimension=1, reads=reads, within=sigma, chance=0.9,
    epsilon=1.0, step=1)
(release.interval[0][1] - release.interval[0][0]) / 2""",
        given={"x": [1, 2, 3], "sigma": 3, "reads": 0.1},
        other={"x": [1, 2, 3], "sigma": 5, "reads": 0.1},
        oracle=lambda x, sigma, reads: 2 * sigma * math.log(1 / 0.05),
        agrees=near(0.05),
        proof="metric_spaces.md#5-low-sample-complexity-low_samplepy-dmns06-lemma-1",
        page="statistics/local.md",
        remark="The chance must exceed (1 + alpha)/2: at equality the lemma is false (a coin guesses one bit).",
    ),
    Item(
        number=154,
        place="Section 3.2, no converse",
        title="the distance to a Reed-Solomon code is 1-sensitive, yet two symbols of a word say nothing about it",
        call="""words = dt.FiniteSpace(datasets, neighbours=near, value=to_code)
words.global_sensitivity, [words.local_sensitivity(w) for w in some], [dt.inspect.value(words, w) for w in some]""",
        given={
            "datasets": datasets(range(5), 4),
            "near": lambda x: neighbours(x, range(5)),
            "to_code": lambda x: to_code(x, CODE),
            "some": [(0, 0, 0, 0), (1, 2, 3, 0), (0, 1, 3, 1)],
        },
        other={
            "datasets": datasets(range(5), 4),
            "near": lambda x: neighbours(x, range(5)),
            "to_code": lambda x: to_code(x, CODE),
            "some": [(0, 0, 1, 3), (4, 3, 2, 1), (2, 2, 2, 0)],
        },
        oracle=lambda datasets, near, to_code, some: (
            1,
            [max(abs(to_code(w) - to_code(y)) for y in near(w)) for w in some],
            [to_code(w) for w in some],
        ),
        proof="metric_spaces.md#5-low-sample-complexity-low_samplepy-dmns06-lemma-1",
        page="statistics/local.md",
    ),
    Item(
        number=155,
        place="Definition 3, Theorem 2",
        title="an answer in any finite metric space: how often each point of a ring is drawn",
        call="""ring = dt.MetricSpace.of(range(5), lambda p, q: min((p - q) % 5, (q - p) % 5))
draw = lambda: dt.metric_release(x, space=ring, sensitivity=1, epsilon=epsilon, confidence=None).value
(np.bincount([draw() for _ in range(4_000)], minlength=5) / 4_000).tolist()""",
        given={"x": 3, "epsilon": 1.0},
        other={"x": 1, "epsilon": 0.5},
        oracle=lambda x, epsilon: law_of_a_ring(5, x, epsilon),
        agrees=within(0.05),
        proof="metric_spaces.md#3-finite-metric-spaces-metric_spacepy",
        page="statistics/local.md",
        remark="Equation 4 lacks a minus sign. Where the space looks the same from every point the factor 2 goes.",
    ),
    Item(
        number=155,
        place="Theorem 2, Remark 1",
        title="the decay per unit of distance: never below epsilon/2S, and epsilon/S on a space alike everywhere",
        call="""space = dt.MetricSpace.of(range(5), distance)
space.same_around_every_point, float(space.rate(1, 1, constants="paper"))""",
        given={"distance": lambda p, q: min((p - q) % 5, (q - p) % 5)},
        other={"distance": lambda p, q: abs(p - q)},
        oracle=lambda distance: (
            len({tuple(sorted(distance(p, q) for q in range(5))) for p in range(5)}) == 1,
            1.0 if len({tuple(sorted(distance(p, q) for q in range(5))) for p in range(5)}) == 1 else 0.5,
        ),
        proof="metric_spaces.md#3-finite-metric-spaces-metric_spacepy",
        page="statistics/local.md",
    ),
    Item(
        number=155,
        place="Theorem 2, Hamming cube",
        title="bits flipped independently: the share of flips",
        call="""blurred = dt.flip_bits([0] * 20_000, epsilon=epsilon, sensitivity=sensitivity)
np.mean(blurred.value), blurred.flip""",
        given={"epsilon": 2.0, "sensitivity": 1},
        other={"epsilon": 2.0, "sensitivity": 4},
        oracle=lambda epsilon, sensitivity: (1 / (1 + math.exp(epsilon / sensitivity)),) * 2,
        agrees=within(0.03),
        proof="metric_spaces.md#2-bit-flipping-bit_flippingpy",
        page="statistics/local.md",
        remark="The chance that the paper gives roughly, 1/2 - epsilon/2S, costs up to 2 epsilon; ours is exact.",
    ),
    Item(
        number=155,
        place="Theorem 2, normed spaces",
        title="vectors with noise of density exp(-epsilon |z|/S) in a norm: the mean length is d S/epsilon",
        call="""draw = lambda: dt.norm_release(x, sensitivity=1, norm="linf", epsilon=epsilon, confidence=None).value
np.mean([np.max(np.abs(np.subtract(draw(), x))) for _ in range(800)])""",
        given={"x": [1.0, 2.0, 3.0], "epsilon": 2.0},
        other={"x": [1.0, 2.0, 3.0, 4.0, 5.0], "epsilon": 1.0},
        oracle=lambda x, epsilon: len(x) / epsilon,
        agrees=near(0.2),
        proof="metric_spaces.md#4-rd-with-a-norm-normspy",
        page="statistics/local.md",
        remark="Infinite spaces without a norm have no common way to draw: offer a finite grid of them.",
    ),
    Item(
        number=156,
        place="Theorem 3, Proposition 2",
        title="reports of all records once and for all against an answer to the query: mean errors of a sum",
        call="""blurred = [dt.randomized_response(x, epsilon=1.0, confidence=None).estimate for _ in range(300)]
asked = [dt.count(x, epsilon=1.0, confidence=None).value for _ in range(1_000)]
[np.std(blurred), np.mean(np.abs(np.array(asked) - sum(x)))]""",
        given={"x": [1, 0] * 200},
        other={"x": [1, 0] * 1_800},
        oracle=lambda x: [math.sqrt(len(x) * math.e) / (math.e - 1), mean_laplace(1)],
        agrees=near(0.35),
        proof="metric_spaces.md#1-randomised-response-randomized_responsepy",
        page="reproduce.md",
        remark="What holds for every non-interactive mechanism is measured by `dither reproduce dmns06`.",
    ),
    Item(
        number=156,
        place="Lemma 2, Claim 1",
        title="how little one report says about which half of {0, 1}^d a record is in: the variance of its chance",
        call="""keep = dt.randomized_response([0], categories=range(2**d), epsilon=epsilon, confidence=None).keep
stray = (1 - keep) / (2**d - 1)
halves = [[x for x in range(2**d) if (x & r).bit_count() % 2 == b] for r in range(1, 2**d) for b in (0, 1)]
np.var([np.mean([keep if x == 0 else stray for x in half]) for half in halves])""",
        given={"d": 4, "epsilon": 1.0},
        other={"d": 6, "epsilon": 1.0},
        oracle=chance_of_a_set,
        proof="metric_spaces.md#1-randomised-response-randomized_responsepy",
        page="reproduce.md",
    ),
    Item(
        number=157,
        place="Section 1.2, randomised response",
        title="everybody blurs their own record: the estimated number of ones",
        call="dt.randomized_response(x, epsilon=3.0).estimate",
        given={"x": [1] * 3_000 + [0] * 7_000},
        other={"x": [1] * 6_000 + [0] * 4_000},
        oracle=lambda x: sum(x),  # noqa: PLW0108  (called by name)
        agrees=within(500),
        proof="metric_spaces.md#1-randomised-response-randomized_responsepy",
        page="statistics/local.md",
    ),
    Item(
        number=157,
        place="Appendix A, Definitions 4 and 5, Claim 2",
        title="k people together: k times the loss",
        call="dt.Loss(epsilon).for_group(k).epsilon",
        given={"epsilon": 0.1, "k": 3},
        other={"epsilon": 0.25, "k": 4},
        oracle=lambda epsilon, k: math.log(math.prod(math.exp(epsilon) for _ in range(k))),
        proof="group-privacy.md",
        page="epsilon.md",
    ),
    Item(
        number=157,
        place="Appendix A, Definition 6, Claim 3",
        title="how far a belief can move, whatever was believed before",
        call="""found = dt.belief(before, dt.Loss(epsilon))
[found.lowest, found.highest]""",
        given={"before": 0.1, "epsilon": 0.5},
        other={"before": 0.5, "epsilon": 1.0},
        oracle=posterior,
        proof="group-privacy.md",
        page="epsilon.md",
    ),
)
