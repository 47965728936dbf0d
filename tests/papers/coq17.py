"""The items of COQ17."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np

import oracle
from papers.formulas import (
    complete,
    datasets,
    local_sensitivities,
    mean_laplace,
    neighbours,
    random_graph,
    rung_formula,
    smooth_sensitivity,
)
from papers.items import Item, between, near, within

PAY = [24634, 29475, 37468, 48104, 69624, 113511]
"""The salaries of Example 5."""
OTHER_PAY = [10, 25, 70, 150, 400]


def middle(x):
    """The lower median."""
    return sorted(x)[(len(x) - 1) // 2]


def t_of(epsilon, delta):
    """The paper's t."""
    return epsilon / math.log(1 / delta)


def reached(pairs, start):
    """All datasets that steps from neighbour to neighbour reach."""
    found = {start}
    for _ in range(100):
        found |= {b for a, b in [*pairs, *((b, a) for a, b in pairs)] if a in found}
    return found


def triangle_errors(n, p, beta):
    """Mean errors of triangles in G(n, p) with the paper's Laplace noise, for S and for the worst case (epsilon 1)."""
    ladders = [rung_formula(random_graph(n, p, seed), n, 200) for seed in range(12)]
    return [2 * float(np.mean([oracle.smooth_bound(rungs, beta) for rungs in ladders])), mean_laplace(n - 2)]


def chain_sensitivities(pay):
    """|f(x_k) - f(x_(k+1))| is the salary that comes next."""
    return [max(pay[max(k - 1, 0) : k + 1]) for k in range(len(pay) + 1)]


def divergence(here, there, epsilon, density):
    """sup P(A) - e^eps Q(A) of (centre, scale) noises, by a sum over a fine grid around both centres."""
    (a, b), (c, d) = here, there
    z = np.sort(np.concatenate([x + s * np.linspace(-60, 60, 400_001) for x, s in (here, there)]))
    p, q = density((z - a) / b) / b, density((z - c) / d) / d
    gap = np.maximum(p - math.exp(epsilon) * q, 0.0)
    return float(np.sum((gap[1:] + gap[:-1]) / 2 * np.diff(z)))


def laplace(z):
    """Its density."""
    return np.exp(-np.abs(z)) / 2


def gaussian(z):
    """Its density."""
    return np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def logistic(z):
    """Its density."""
    return np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2


def not_private(mechanism, pairs, epsilon, delta, density):
    """The pairs of which one direction has a larger delta."""
    both = [(a, b, mechanism[a], mechanism[b]) for a, b in pairs]
    return [
        (a, b)
        for a, b, here, there in both
        if max(divergence(here, there, epsilon, density), divergence(there, here, epsilon, density)) > delta
    ]


def greatest_log_ratio(mechanism, pairs, epsilon):
    """The pairs of which Student noise (3 degrees of freedom) has a log ratio above epsilon somewhere."""
    z = np.concatenate([[0.0], np.logspace(-6, 9, 100_000)])
    z = np.concatenate([-z, z])

    def height(centre, scale):
        return -2 * np.log1p(((z - centre) / scale) ** 2 / 3) - math.log(scale)

    return [(a, b) for a, b in pairs if np.max(np.abs(height(*mechanism[a]) - height(*mechanism[b]))) > epsilon]


def laplace_beta(alpha, epsilon, delta):
    """The largest beta of Theorem 8, corrected: both exact conditions for a shift of alpha, by halving."""

    def holds(beta):
        growth = math.expm1(beta)
        masses = [math.exp(-(epsilon + sign * alpha + beta) / growth) for sign in (-1, 1)]
        return beta + alpha * math.exp(-beta) <= epsilon and (1 - math.exp(-beta)) / 2 * sum(masses) <= delta

    low, high = 0.0, epsilon
    for _ in range(60):
        low, high = ((low + high) / 2, high) if holds((low + high) / 2) else (low, (low + high) / 2)
    return low


def least_scales(values, share, epsilon, delta):
    """On a chain: ``max_y e^(-beta |x - y|) LS(y) / (share eps)``."""
    local = [
        max(abs(values[k] - values[j]) for j in (k - 1, k + 1) if 0 <= j < len(values)) for k in range(len(values))
    ]
    beta = laplace_beta(share * epsilon, epsilon, delta)
    return [
        max(own / (share * epsilon) * math.exp(-beta * abs(x - y)) for y, own in enumerate(local))
        for x in range(len(values))
    ]


def algorithm_1(sizes, pairs, level, epsilon, delta):
    """COQ17 Figure 1, line by line: (lambda_k, tau_k, l_k) for k = r down to the level."""
    t, r = t_of(epsilon, delta), len(sizes)
    related = {*pairs, *((b, a) for a, b in pairs), *((k, k) for k in range(1, r + 1))}
    tau = {k: min(low for low in range(1, k + 1) if (low, k) in related) for k in range(1, r + 1)}
    top = {k: max(high for high in range(k, r + 1) if (k, high) in related) for k in range(1, r + 1)}
    found = {r: epsilon / (2 * sizes[-1])}
    for k in range(r - 1, level - 1, -1):
        own = epsilon / (2 * sizes[k - 1])
        close = sizes[k] / sizes[k - 1] < 1 + t / 2
        found[k] = found[k + 1] if close else min(own, found[top[k]] * (1 + t / 2))
    return [(found[k], tau[k], top[k]) for k in found]


def largest_discounted(sizes, level, beta):
    """``max_j e^(-beta j) L_(level + j)``."""
    return max(size * math.exp(-beta * j) for j, size in enumerate(sizes[level - 1 :]))


def smooth_median(x, top, beta):
    """``max_k e^(-beta k) max_t x_(m+t) - x_(m+t-k-1)``, records beyond the ends at the bounds."""
    n, m = len(x), (len(x) - 1) // 2
    padded = [0.0] * n + sorted(x) + [top] * n
    at = n + m
    rungs = [max(padded[at + s] - padded[at + s - k - 1] for s in range(k + 2)) for k in range(n)]
    return max(rung * math.exp(-beta * k) for k, rung in enumerate(rungs))


def common(edges, pair):
    """How many vertices are joined to both."""
    near_to = [{v for edge in edges for v in edge if u in edge and v != u} for u in pair]
    return len(near_to[0] & near_to[1])


def two_triangles(edges):
    """Pairs of triangles that share an edge."""
    return sum(math.comb(common(edges, edge), 2) for edge in edges)


def graphs_of(n):
    """All graphs with n vertices but the complete one."""
    every = complete(n)
    return [frozenset(some) for size in range(len(every)) for some in combinations(every, size)]


def one_edge(n):
    """The neighbours among them."""
    every = complete(n)
    return lambda g: [g ^ {edge} for edge in every if len(g ^ {edge}) < len(every)]


def after_one_edge(n):
    """a_H: the most triangles on an edge after any edge has been added."""
    every = complete(n)
    return lambda g: max(common(g | {e}, f) for e in every if e not in g for f in g | {e})


def triangle_levels(n):
    """L = C(a, 2) + 2 a C(a, 1) for a = 0, 1, ..., n - 2, at most what one edge of the complete graph takes away."""
    every = set(complete(n))
    most = two_triangles(every) - two_triangles(every - {(0, 1)})
    return [min(math.comb(a, 2) + 2 * a * a, most) for a in range(n - 1)]


def by_triangle_levels(edges, n, epsilon, delta):
    """The scale of LLS on 2-triangles with the paper's constants and the sound levels of a."""
    a = max(common(edges, pair) for pair in complete(n))
    return 2 / epsilon * largest_discounted(triangle_levels(n), a + 1, math.log1p(t_of(epsilon, delta) / 2))


def salary(age, years):
    """Example 7: a known function of other attributes."""
    return 20_000 + 500 * min(age, 50) + 1_000 * years


def world(ages, years):
    """All tables that hold one person of each of the lowest classes, their neighbours, and the classes."""
    classes = {}
    for one in sorted(product(ages, years), key=lambda one: salary(*one)):
        classes.setdefault(salary(*one), []).append(one)
    listed = list(classes.values())
    tables = [table for k in range(len(listed) + 1) for table in product(*listed[:k])]

    def near_to(table):
        more = [(*table, one) for one in listed[len(table)]] if len(table) < len(listed) else []
        return [*more, *([table[:-1]] if table else [])]

    return {"tables": tables, "near": near_to, "paid": sorted(classes), "salary": salary}


def by_all_tables(tables, near, paid, salary):
    """Whether every table's sensitivity is at most that of its level, by going through all of them."""
    value = {table: sum(salary(*one) for one in table) for table in tables}
    levels = [*paid, paid[-1]]
    holds = all(abs(value[x] - value[y]) <= levels[len(x)] for x in tables for y in near(x))
    return (holds, len(tables), len(levels), levels[1])


def well_ordered(r, growth):
    """Salaries of which each is at least ``growth`` times the one before."""
    pay = [1_000_000]
    for _ in range(r - 1):
        pay.append(math.ceil(pay[-1] * growth))
    return pay


ITEMS: tuple[Item, ...] = (
    Item(
        number=113,
        place="Definition 1",
        title="a data space of one's own, connected or not: what changes can reach",
        call="""space = dt.FiniteSpace(range(5), neighbours=pairs, value=value)
[space.ladder(k)[-1] for k in range(5)]""",
        given={"pairs": [(0, 1), (1, 2), (2, 3), (3, 4)], "value": {0: 0, 1: 1, 2: 3, 3: 8, 4: 9}},
        other={"pairs": [(0, 1), (1, 2), (3, 4)], "value": {0: 0, 1: 1, 2: 3, 3: 8, 4: 9}},
        oracle=lambda pairs, value: [
            max(abs(value[a] - value[b]) for a, b in pairs if a in reached(pairs, k)) for k in range(5)
        ],
        proof="custom.md#7-finite-spaces",
        page="extending.md#your-own-function",
        remark="The paper assumes one connected space; here each part has levels of its own.",
    ),
    Item(
        number=114,
        place="Example 5",
        title="the sum of the k lowest salaries along a public chain",
        call="""chain = dt.FiniteSpace(range(len(pay) + 1), neighbours="chain", value=lambda k: sum(pay[:k]))
[chain.local_sensitivity(k) for k in range(len(pay) + 1)], chain.global_sensitivity""",
        given={"pay": PAY},
        other={"pay": OTHER_PAY},
        oracle=lambda pay: (chain_sensitivities(pay), max(pay)),
        proof="largest_local.md#5-levels-of-the-queries",
        page="extending.md#your-own-function",
        remark="LS(x_1) = 29475, as the paper says. `dt.ChainSum` is the same as a query.",
    ),
    Item(
        number=115,
        place="Example 7",
        title="salaries as a function of many attributes: few levels for many tables, checked on all of them",
        call="""levels = dt.Levels([*paid, paid[-1]])
query = dt.Custom(name="sum of salaries", value=lambda table: sum(salary(*one) for one in table), default=0, step=1,
    levels=dt.LevelFunction(levels, lambda table: len(table) + 1), neighbours="listed", bounds=(0, sum(paid)))
found = dt.inspect.refute(query, datasets=tables, neighbours=near)
found.claim is None, found.datasets, levels.count, levels.sensitivity(2)""",
        given=world([30, 40, 50, 60], [0, 5, 10]),
        other=world([20, 30, 70], [0, 5]),
        oracle=by_all_tables,
        proof="largest_local.md#8-the-examples-of-the-paper",
        page="levels.md#many-tables-few-levels-example-7",
    ),
    Item(
        number=116,
        place="Definitions 3, 4, 16, 17",
        title="global, local and smooth sensitivity of a median, over all data",
        call="""space = dt.FiniteSpace(all_data, neighbours=near, value=middle)
space.global_sensitivity, space.local_sensitivity(x), space.smooth_sensitivity(x, beta)""",
        given={
            "all_data": datasets((0, 1, 5), 3),
            "near": lambda x: neighbours(x, (0, 1, 5)),
            "middle": middle,
            "x": (0, 1, 1),
            "beta": 0.5,
        },
        other={
            "all_data": datasets((0, 2, 9), 3),
            "near": lambda x: neighbours(x, (0, 2, 9)),
            "middle": middle,
            "x": (2, 2, 2),
            "beta": 0.3,
        },
        oracle=lambda all_data, near, middle, x, beta: (
            max(local_sensitivities(middle, sorted({v for one in all_data for v in one}), 3).values()),
            max(abs(middle(x) - middle(y)) for y in near(x)),
            smooth_sensitivity(middle, x, sorted({v for one in all_data for v in one}), beta),
        ),
        proof="custom.md#7-finite-spaces",
        page="extending.md#your-own-function",
    ),
    Item(
        number=117,
        place="Theorem 8",
        title="Laplace noise made by hand, checked for every pair of neighbours",
        call='dt.inspect.unfit_pairs(mechanism, [("x", "y"), ("y", "z")], epsilon=epsilon, delta=delta)',
        given={"mechanism": {"x": (0, 1.0), "y": (3.5, 1 / 1.85), "z": (4.0, 0.54)}, "epsilon": 10.0, "delta": 5e-4},
        other={"mechanism": {"x": (0, 1.0), "y": (0.3, 1.05), "z": (1.2, 1.1)}, "epsilon": 1.0, "delta": 1e-3},
        oracle=lambda mechanism, epsilon, delta: not_private(
            mechanism, [("x", "y"), ("y", "z")], epsilon, delta, laplace
        ),
        proof="largest_local.md#4-theorem-8-corrected",
        page="levels.md#other-noises-theorem-8-remark-9",
        remark="As printed it drops the ratio of the two densities' normalisers: the first pair satisfies both printed "
        "conditions and has 3.7 times the delta.",
    ),
    Item(
        number=118,
        place="Theorem 8, as a tool",
        title="given the share alpha of the loss for shifts, the largest lambda of every dataset",
        call="""chain = dt.FiniteSpace(range(len(values)), neighbours="chain", value=lambda k: values[k])
found = dt.inspect.largest_lambdas(chain, epsilon=1.0, delta=1e-3, alpha=share)
[1 / found[k] for k in range(len(values))]""",
        given={"values": [0, 1, 2, 12, 90], "share": 0.5},
        other={"values": [0, 1, 2, 12, 90], "share": 0.8},
        oracle=lambda values, share: least_scales(values, share, 1.0, 1e-3),
        agrees=near(1e-6),
        proof="largest_local.md#6-theorem-8-as-a-tool-to-design-with",
        page="levels.md#other-noises-theorem-8-remark-9",
    ),
    Item(
        number=119,
        place="Remark 9, Gaussian noise",
        title="the same check for Gaussian noise",
        call='dt.inspect.unfit_pairs(mechanism, [("x", "y"), ("y", "z")], epsilon=1.0, delta=delta, noise="gaussian")',
        given={"mechanism": {"x": (0, 4.0), "y": (1, 4.2), "z": (2, 6.0)}, "delta": 1e-2},
        other={"mechanism": {"x": (0, 1.0), "y": (1, 1.0), "z": (2, 1.2)}, "delta": 1e-2},
        oracle=lambda mechanism, delta: not_private(mechanism, [("x", "y"), ("y", "z")], 1.0, delta, gaussian),
        proof="largest_local.md#7-the-checker-for-any-law",
        page="levels.md#other-noises-theorem-8-remark-9",
    ),
    Item(
        number=119,
        place="Remark 9, logistic noise",
        title="the same check for logistic noise",
        call='dt.inspect.unfit_pairs(mechanism, [("x", "y"), ("y", "z")], epsilon=1.0, delta=delta, noise="logistic")',
        given={"mechanism": {"x": (0, 4.0), "y": (1, 4.2), "z": (2, 6.0)}, "delta": 1e-2},
        other={"mechanism": {"x": (0, 0.5), "y": (1, 0.5), "z": (2, 3.0)}, "delta": 1e-2},
        oracle=lambda mechanism, delta: not_private(mechanism, [("x", "y"), ("y", "z")], 1.0, delta, logistic),
        proof="largest_local.md#7-the-checker-for-any-law",
        page="levels.md#other-noises-theorem-8-remark-9",
    ),
    Item(
        number=119,
        place="Remark 9, Student noise",
        title="the same check for noise with heavy tails, without delta",
        call='dt.inspect.unfit_pairs(mechanism, [("x", "y"), ("y", "z")], epsilon=epsilon, noise=dt.Student(dof=3))',
        given={"mechanism": {"x": (0, 3.0), "y": (1, 3.3), "z": (1, 6.0)}, "epsilon": 0.6},
        other={"mechanism": {"x": (0, 3.0), "y": (1, 3.3), "z": (1, 6.0)}, "epsilon": 0.3},
        oracle=lambda mechanism, epsilon: greatest_log_ratio(mechanism, [("x", "y"), ("y", "z")], epsilon),
        proof="largest_local.md#7-the-checker-for-any-law",
        page="levels.md#other-noises-theorem-8-remark-9",
    ),
    Item(
        number=120,
        place="Propositions 10, 11, Algorithm 1",
        title="lambda_k, tau_k and l_k under any relation of levels, from the highest down",
        call="""found = dt.inspect.descent(dt.Levels(sizes, pairs=pairs), level, epsilon=1.0, delta=1e-3)
[(one.parameter, one.lowest_neighbour, one.highest_neighbour) for one in found.steps]""",
        given={"sizes": [2, 3, 5, 9, 20], "pairs": [(1, 2), (2, 3), (3, 4), (4, 5), (2, 4)], "level": 2},
        other={"sizes": [10, 11, 12, 40], "pairs": [(1, 2), (2, 3), (3, 4), (1, 3)], "level": 1},
        oracle=lambda sizes, pairs, level: algorithm_1(sizes, pairs, level, 1.0, 1e-3),
        proof="largest_local.md#2-coq17s-recursion",
        page="levels.md#algorithm-1-step-by-step-figure-9",
        remark="Unsound where a higher level need not have a higher neighbour: `unfit` of the trace names such levels, "
        "and the mechanism `largest_local` takes the ladder instead.",
    ),
    Item(
        number=121,
        place="Section 4.1",
        title="bounds remembered at m places: the same bound with any memory",
        call="[float(dt.Levels(sizes, memory=m).ladder(level).smooth(beta)) for m in (1, 8, 128)]",
        given={"sizes": list(range(1, 2_001)), "level": 700, "beta": Fraction(1, 100)},
        other={"sizes": [k * k for k in range(1, 501)], "level": 3, "beta": Fraction(1, 20)},
        oracle=lambda sizes, level, beta: [largest_discounted(sizes, level, float(beta))] * 3,
        agrees=near(1e-8),
        proof="largest_local.md#2-coq17s-recursion",
        page="levels.md",
    ),
    Item(
        number=122,
        place="Proposition 12",
        title="the scale on well-ordered levels",
        call="""query, paper = dt.ChainSum(pay, step=1), dt.LargestLocal(constants="paper")
[dt.inspect.noise_scale(query, k, epsilon=epsilon, delta=1e-3, mechanism=paper) for k in range(len(pay))]""",
        given={"pay": well_ordered(12, 1.05), "epsilon": 0.5},
        other={"pay": well_ordered(9, 1.2), "epsilon": 1.0},
        oracle=lambda pay, epsilon: [
            2 * pay[-1] / epsilon * (1 + t_of(epsilon, 1e-3) / 2) ** (k + 1 - len(pay)) for k in range(len(pay))
        ],
        agrees=near(1e-6),
        proof="largest_local.md#2-coq17s-recursion",
        page="levels.md#well-ordered-levels-proposition-12-example-14",
    ),
    Item(
        number=123,
        place="Section 4.3, Figure 2",
        title="how deep a level must be for noise by levels to be less than noise of one scale",
        call="""query, paper = dt.ChainSum(pay, step=1), dt.LargestLocal(constants="paper")
loss = {"epsilon": epsilon, "delta": 1e-3}
flat = dt.inspect.noise_scale(query, 0, epsilon=epsilon, mechanism="worst_case")
sum(dt.inspect.noise_scale(query, k, **loss, mechanism=paper) < flat for k in range(len(pay)))""",
        given={"pay": well_ordered(60, 1.08), "epsilon": 0.5},
        other={"pay": well_ordered(60, 1.08), "epsilon": 1.0},
        oracle=lambda pay, epsilon: sum(
            2 * (1 + t_of(epsilon, 1e-3) / 2) ** (k + 1 - len(pay)) < 1 for k in range(len(pay))
        ),
        proof="largest_local.md#2-coq17s-recursion",
        page="levels.md#well-ordered-levels-proposition-12-example-14",
    ),
    Item(
        number=124,
        place="Section 4.3, before asking",
        title="the expected error of a mechanism, without a look at the data",
        call="""session = dt.open({"x": x}, columns={"x": dt.Integer(0, 100)}, budget=dt.Budget(1.0))
session.quote(dt.Sum("x"), epsilon=epsilon, mechanism="worst_case").expected_error""",
        given={"x": [50] * 1_000, "epsilon": 0.5},
        other={"x": [50] * 1_000, "epsilon": 0.1},
        oracle=lambda x, epsilon: mean_laplace(100 / epsilon),
        agrees=near(0.01),
        proof="quotes.md",
        page="quotes.md",
        remark="For noise fitted to data an estimate needs a prior of the data, which quotes take.",
    ),
    Item(
        number=124,
        place="Section 4.3, before asking about a graph",
        title="the same for triangles of graphs such as G(n, p): with smooth noise and with noise of one scale",
        call="""friends = dt.GraphSchema("friends.csv", n)
loss = {"epsilon": 1.0, "delta": 1e-3, "confidence": None, "prior": dt.ErdosRenyi(p=p)}
smooth = {"mechanism": dt.Smooth(constants="paper"), "noise": "laplace"}
quotes = [dt.quote(dt.Triangles(), friends, **loss, **how) for how in (smooth, {"mechanism": "worst_case"})]
[one.expected_error for one in quotes]""",
        given={"n": 60, "p": 0.25},
        other={"n": 60, "p": 0.6},
        oracle=lambda n, p: triangle_errors(n, p, 1 / (2 * math.log(2 / 1e-3))),
        agrees=near(0.15),
        proof="quotes.md",
        page="quotes.md",
    ),
    Item(
        number=125,
        place="Example 13",
        title="the bound S of a median by largest local sensitivities: at most 9/8 of the smooth sensitivity",
        call="""loss = {"epsilon": 1.0, "delta": 1e-6, "noise": "laplace"}
levels = dt.LargestLocal(levels=dt.Margins(), beta=beta)
scale = dt.inspect.noise_scale(dt.Median(bounds=(0, top)), x, **loss, mechanism=levels)
scale * float(dt.inspect.admissible(**loss, beta=beta).alpha)""",
        given={"x": [i / 2 for i in range(1, 201)], "top": 100.0, "beta": 0.05},
        other={"x": [i * 5.0 for i in range(1, 102)], "top": 510.0, "beta": 0.03},
        oracle=lambda x, top, beta: tuple(q * smooth_median(x, top, beta) for q in (1 - 1e-6, 9 / 8 + 1e-6)),
        agrees=between,
        proof="largest_local.md#5-levels-of-the-queries",
        page="levels.md#medians-several-public-bounds-example-13",
        remark="With LS as the level, as printed, neighbours can have any two levels: Proposition 12 does not apply. "
        "Nor is smooth noise Λ/(εn) there, but 4Λ ln(1/δ)/(e ε² n). By several public bounds the claim holds.",
    ),
    Item(
        number=126,
        place="Example 14",
        title="the mean scale over all of r well-ordered levels, in parts of the largest salary",
        call="""query, paper = dt.ChainSum(pay, step=1), dt.LargestLocal(constants="paper")
loss = {"epsilon": 1.0, "delta": 1 / len(pay), "mechanism": paper}
np.mean([dt.inspect.noise_scale(query, k, **loss) for k in range(len(pay))]) / pay[-1]""",
        given={"pay": well_ordered(40, 1 + 0.5 / math.log(40))},
        other={"pay": well_ordered(160, 1 + 0.5 / math.log(160))},
        oracle=lambda pay: (
            2 / len(pay) * (1 - (1 + 0.5 / math.log(len(pay))) ** -len(pay)) * (1 + 2 * math.log(len(pay)))
        ),
        agrees=near(1e-6),
        proof="largest_local.md#8-the-examples-of-the-paper",
        page="levels.md#well-ordered-levels-proposition-12-example-14",
        remark="O(ln(r)/r) for delta = 1/r, k times that for k questions, as printed; only where salaries grow by "
        "1 + t/2 from each to the next.",
    ),
    Item(
        number=127,
        place="Section 5.2, NLS",
        title="2-triangles with a private bound on the local sensitivity",
        call="""loss = {"epsilon": 500.0, "delta": 1e-3, "confidence": None}
dt.ktriangles(dt.Graph(edges, n=n), k=2, **loss, mechanism="noisy_local").value""",
        given={"edges": complete(8), "n": 8},
        other={"edges": [(0, i) for i in range(1, 12)] + [(1, i) for i in range(2, 12)], "n": 12},
        oracle=lambda edges, n: two_triangles(edges),
        agrees=within(40),
        proof="noisy_local.md",
        page="choosing.md",
    ),
    Item(
        number=128,
        place="Section 5.2, LF",
        title="2-triangles by the ladder mechanism",
        call='dt.ktriangles(dt.Graph(edges, n=n), k=2, epsilon=50.0, confidence=None, mechanism="ladder").value',
        given={"edges": complete(8), "n": 8},
        other={"edges": [(0, i) for i in range(1, 12)] + [(1, i) for i in range(2, 12)], "n": 12},
        oracle=lambda edges, n: two_triangles(edges),
        agrees=within(100),
        proof="ladder_mechanism.md",
        page="choosing.md",
    ),
    Item(
        number=129,
        place="Section 5.3",
        title="amplitudes of LLS and of SS on a small graph with levels i 5/2",
        call="""levels = dt.Levels([1, 2, 3, 4])
trace = dt.inspect.descent(levels, 3, epsilon=epsilon, delta=delta, step=2.5)
trace.scale, 2 * 2.5 / epsilon * float(levels.ladder(3).smooth(trace.t / 2))""",
        given={"epsilon": 5.0, "delta": 1 / 2000},
        other={"epsilon": 1.0, "delta": 1 / 2000},
        oracle=lambda epsilon, delta: (
            2 / epsilon * max(7.5, 10 / (1 + t_of(epsilon, delta) / 2)),
            2 / epsilon * max(7.5, 10 * math.exp(-t_of(epsilon, delta) / 2)),
        ),
        agrees=near(1e-6),
        proof="largest_local.md#5-levels-of-the-queries",
        page="levels.md#algorithm-1-step-by-step-figure-9",
        remark="3.01 and 3.00, as printed; with (5/2) a_H, which is no bound, neither is private. The printed 72 of "
        "NLS is 94.9 by the printed formula (72.3 with 3 in place of 4).",
    ),
    Item(
        number=130,
        place="Proposition 15",
        title="a_H on all graphs but the complete one: how far one edge moves it, and the largest",
        call="""space = dt.FiniteSpace(graphs, neighbours=near, value=most)
space.global_sensitivity, max(space.value(graph) for graph in graphs)""",
        given={"graphs": graphs_of(4), "near": one_edge(4), "most": after_one_edge(4)},
        other={"graphs": graphs_of(5), "near": one_edge(5), "most": after_one_edge(5)},
        oracle=lambda graphs, near, most: (
            max(abs(most(g) - most(h)) for g in graphs[:: max(len(graphs) // 200, 1)] for h in near(g)),
            len({v for edge in graphs[-1] for v in edge}) - 2,
        ),
        proof="largest_local.md#8-the-examples-of-the-paper",
        page="levels.md#levels-of-graphs-proposition-15",
        remark="True. The complete graph has no a_H, and (5/2) a_H is no bound on the local sensitivity.",
    ),
    Item(
        number=131,
        place="Section 5.2, 2-triangles",
        title="the number of pairs of triangles with a common edge",
        call="dt.inspect.value(dt.KTriangles(k=2), dt.Graph(edges, n=n))",
        given={"edges": complete(6), "n": 6},
        other={"edges": [edge for edge in complete(7) if edge != (2, 5)], "n": 7},
        oracle=lambda edges, n: two_triangles(edges),
        proof="graphs.md",
        page="choosing.md",
    ),
    Item(
        number=132,
        place="Figure 3",
        title="S of LLS and of SS for the sum of the k smallest salaries, by k",
        call="""query = dt.ChainSum(pay, step=1)
[dt.inspect.smooth(query, k, beta=beta) for k in range(len(pay)) for beta in betas]""",
        given={"pay": PAY, "betas": [math.log1p(0.05), 0.05]},
        other={"pay": OTHER_PAY, "betas": [math.log1p(0.2), 0.2]},
        oracle=lambda pay, betas: [largest_discounted(pay, k + 1, beta) for k in range(len(pay)) for beta in betas],
        agrees=near(1e-6),
        proof="largest_local.md#5-levels-of-the-queries",
        page="reproduce.md",
        remark="The two differ in beta alone, ln(1 + t/2) and t/2. `dither reproduce` draws the figure.",
    ),
    Item(
        number=133,
        place="Figure 4",
        title="the noise on the number of edges, by epsilon",
        call="""loss = {"epsilon": epsilon, "delta": 1e-3, "mechanism": dt.LargestLocal(constants="paper")}
dt.inspect.noise_scale(dt.Edges(), dt.Graph(edges, n=9), **loss)""",
        given={"edges": complete(5), "epsilon": 0.5},
        other={"edges": complete(5), "epsilon": 2.0},
        oracle=lambda edges, epsilon: 2 / epsilon,
        agrees=near(1e-6),
        proof="largest_local.md#5-levels-of-the-queries",
        page="reproduce.md",
        remark="One level, on all graphs; noise of one scale is half of it.",
    ),
    Item(
        number=134,
        place="Figure 5",
        title="what the time of LLS grows with: the levels from the highest down to that of the data",
        call="len(dt.inspect.descent(dt.Levels(sizes), level, epsilon=0.1, delta=1e-6).steps)",
        given={"sizes": list(range(1, 201)), "level": 19},
        other={"sizes": list(range(1, 201)), "level": 155},
        oracle=lambda sizes, level: sum(1 for k in range(1, len(sizes) + 1) if k >= level),
        proof="largest_local.md#2-coq17s-recursion",
        page="reproduce.md",
        remark="Times themselves are measured by `dither reproduce`: milliseconds instead of minutes.",
    ),
    Item(
        number=135,
        place="Figures 6 to 8",
        title="the noise of LLS on 2-triangles, with levels that are bounds",
        call="""paper = dt.LargestLocal(constants="paper")
graph = dt.Graph(edges, n=n)
dt.inspect.noise_scale(dt.KTriangles(k=2), graph, epsilon=epsilon, delta=1e-3, mechanism=paper)""",
        given={"edges": complete(5), "n": 12, "epsilon": 1.0},
        other={"edges": [(0, i) for i in range(1, 9)] + [(1, i) for i in range(2, 9)], "n": 14, "epsilon": 3.0},
        oracle=lambda edges, n, epsilon: by_triangle_levels(edges, n, epsilon, 1e-3),
        agrees=near(1e-6),
        proof="largest_local.md#5-levels-of-the-queries",
        page="reproduce.md",
        remark="The figures take (5/2) a_H, which is not private.",
    ),
    Item(
        number=136,
        place="Figure 9",
        title="the trace of Algorithm 1 on levels i 5/2",
        call="""trace = dt.inspect.descent(dt.Levels([1, 2, 3, 4]), 3, epsilon=epsilon, delta=delta, step=2.5)
[(one.parameter, one.lowest_neighbour, one.highest_neighbour) for one in trace.steps]""",
        given={"epsilon": 5.0, "delta": 1 / 2000},
        other={"epsilon": 2.0, "delta": 1e-6},
        oracle=lambda epsilon, delta: algorithm_1([2.5, 5, 7.5, 10], [(1, 2), (2, 3), (3, 4)], 3, epsilon, delta),
        proof="largest_local.md#8-the-examples-of-the-paper",
        page="levels.md#algorithm-1-step-by-step-figure-9",
    ),
    Item(
        number=137,
        place="Sections 5.3 and 6.2, tables",
        title="which of SS, LLS and noise of one scale is least for the sum of the smallest, by the paper's constants",
        call="""query = dt.ChainSum(pay, step=1)
flat = dt.inspect.noise_scale(query, k, epsilon=epsilon, mechanism="worst_case")
ss, lls = (2 / epsilon * dt.inspect.smooth(query, k, beta=beta) for beta in (t / 2, math.log1p(t / 2)))
sorted(["flat", "SS", "LLS"], key=dict(flat=flat, SS=ss, LLS=lls).get)""",
        given={"pay": well_ordered(30, 1.3), "k": 3, "epsilon": 1.0, "t": 0.2},
        other={"pay": well_ordered(30, 1.3), "k": 27, "epsilon": 1.0, "t": 0.2},
        oracle=lambda pay, k, epsilon, t: sorted(
            ["flat", "SS", "LLS"],
            key={
                "flat": pay[-1] / epsilon,
                "SS": 2 / epsilon * largest_discounted(pay, k + 1, t / 2),
                "LLS": 2 / epsilon * largest_discounted(pay, k + 1, math.log1p(t / 2)),
            }.get,
        ),
        proof="largest_local.md#2-coq17s-recursion",
        page="reproduce.md",
        remark="`dither reproduce` measures both tables, times included.",
    ),
    Item(
        number=138,
        place="Section 8.4",
        title="the constants of smooth sensitivity with Laplace noise",
        call="""point = dt.inspect.admissible("laplace", epsilon=epsilon, delta=delta, constants="paper")
float(point.alpha), float(point.beta)""",
        given={"epsilon": 1.0, "delta": 1e-6},
        other={"epsilon": 0.3, "delta": 1e-4},
        oracle=lambda epsilon, delta: (epsilon / 2, epsilon / (2 * math.log(2 / delta))),
        proof="largest_local.md#4-theorem-8-corrected",
        page="reproduce.md",
        remark="COQ17 has ln(1/delta) in place of NRS11's ln(2/delta), and needs |1 - e^beta| <= beta, which is false; "
        "the exact condition covers both.",
    ),
    Item(
        number=139,
        place="Section 5.1",
        title="any query: a function of one's own, with levels of one's own",
        call="""def gap(x): return max(np.diff(sorted(x)), default=0)
levels = dt.LevelFunction(dt.Levels(sizes), level)
query = dt.Custom(name="largest gap", value=gap, levels=levels, default=0, step=1, bounds=(0, sizes[-1]))
loss = {"epsilon": 1.0, "delta": 1e-3, "mechanism": dt.LargestLocal(constants="paper")}
dt.inspect.value(query, x), dt.inspect.noise_scale(query, x, **loss)""",
        given={"x": [3, 9, 10], "sizes": [5, 9, 20], "level": lambda x: 2},
        other={"x": [3, 4, 10, 19], "sizes": [5, 9, 20, 40], "level": lambda x: 1},
        oracle=lambda x, sizes, level: (
            max(b - a for a, b in zip(sorted(x), sorted(x)[1:], strict=False)),
            2 * largest_discounted(sizes, level(x), math.log1p(t_of(1.0, 1e-3) / 2)),
        ),
        agrees=near(1e-6),
        proof="custom.md",
        page="extending.md#your-own-function",
    ),
)
