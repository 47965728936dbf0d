"""What is worth knowing about each statistic, once; ``statistic_pages`` makes a page of each entry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One page.  Everything here is prose or code for the page; figures come from ``curves``."""

    slug: str
    title: str
    calls: str
    """How it is called: Python, queries, SQL."""
    releases: str
    good: str
    poor: str
    example: str
    proofs: tuple[str, ...]
    curve: str | None = None
    caption: str = ""


PAY = """import numpy as np
import dither as dt

pay = np.random.default_rng(1).lognormal(np.log(60_000), 0.6, 20_000)  # made up
"""
GRAPH = """import numpy as np
import dither as dt

rng = np.random.default_rng(1)
pairs = rng.integers(0, 400, size=(3_000, 2))
pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
"""
QUOTED = (
    "Expected error of `{}` for lognormal pay (median 60,000, bounds 0 to 600,000), without a confidence interval, as `dt.quote` tells it. "
    "A confidence interval takes a share of epsilon."
)

ENTRIES = (
    Entry(
        "median",
        "Median",
        "`dt.median`, `dt.Median`, SQL `median(c)`",
        "The lower median: a value that at least half of the records do not exceed. With `bounds=None` no range has to be known.",
        "Nearly always: it is the answer that dither is best at. The error falls like 1/(n epsilon) times the spread of the records around the middle, "
        "and hardly depends on the bounds.",
        "A gap in the middle (two groups of equal size): no private answer knows on which side of the gap it should be. Fewer than about 10/epsilon records.",
        PAY + "release = dt.median(pay, bounds=(0, 600_000), epsilon=0.5)\nprint(release)",
        ("order", "inverse", "smooth", "intervals"),
        "median",
        QUOTED.format("median"),
    ),
    Entry(
        "quantiles",
        "Quantiles",
        "`dt.quantile(q=)`, `dt.quantiles(q=[...])`, `dt.Quantile`, `dt.Quantiles`, SQL `quantile(c, 0.9)`, `quantiles(c, 0.1, 0.5)`",
        "The smallest value that a share q of the records does not exceed; several at once are one joint draw, in order, for the privacy loss of one.",
        "Between 1/(n epsilon) and 1 - 1/(n epsilon), with some room: there must be enough records beyond the quantile. Ask for several quantiles together, not one by one.",
        "Quantiles so far out that only a handful of records lie beyond; see [extremes](extremes.md). More than 20 at once are drawn level by level and are a little worse.",
        PAY
        + "low, middle, high = dt.quantiles(pay, q=[0.1, 0.5, 0.9], bounds=(0, 600_000), epsilon=0.5).value\nassert low <= middle <= high",
        ("order", "quantiles", "inverse"),
        "quantiles",
        QUOTED.format("quantile(q=0.9)"),
    ),
    Entry(
        "iqr",
        "Interquartile range",
        "`dt.iqr(low=, high=)`, `dt.IQR`, SQL `iqr(c)`",
        "The distance between two quantiles, by default the quartiles, as one number.",
        "To tell the spread of skewed or outlier-ridden records; far more precise than a [variance](variance.md) on wide bounds.",
        "If both quartiles are wanted as well: `quantiles` gives them for the same privacy loss, and their difference is free.",
        PAY + "print(dt.iqr(pay, bounds=(0, 600_000), epsilon=0.5))",
        ("order", "inverse"),
        "iqr",
        QUOTED.format("iqr"),
    ),
    Entry(
        "extremes",
        "Minimum and maximum",
        "`dt.minimum`, `dt.maximum`, `dt.Minimum`, `dt.Maximum`, SQL `min(c)`, `max(c)`",
        "The smallest or largest record.",
        "Where records crowd at the end (ages, ratings, a legal minimum wage): then a few records more or less do not move it.",
        "Heavy tails. One person may be the maximum, so no private answer can know it: expect an error of the size of the gaps between the outermost 1/epsilon records, or of the distance to the bound. "
        "Mostly a high quantile is the better question.",
        PAY + "print(dt.quantile(pay, q=0.999, bounds=(0, 600_000), epsilon=0.5))  # better than the maximum",
        ("order", "inverse"),
        "extremes",
        QUOTED.format("minimum")
        + " More epsilon helps little at first: the outermost gap is what it is. On whole numbers it does from epsilon 3 on (with an interval 5), on real ones from 8 (12) on.",
    ),
    Entry(
        "mean",
        "Mean",
        "`dt.mean`, `dt.Mean`, SQL `avg(c)`; a table with a pair of bounds for each column gives a vector",
        "The mean of the clamped records.",
        "Tight bounds: the error is (upper - lower)/(n epsilon), whatever the records are.",
        "Wide bounds: one record may be at the end of them. A [trimmed mean](trimmed_mean.md) or a [median](median.md) then has a fraction of the error. Clamping pulls the mean inwards, and no confidence interval tells by how much. "
        "Behind a filter or in groups the number of records is private too, which costs more. "
        "Where no bounds are known leave them out (from n epsilon = 484 on, 531 where entries may be missing): they are drawn around a private median, or above zero with `non_negative=True`, and are part of the release; "
        "answer and interval are about the records clamped to them, and `count_beyond=True` says how many lie beyond.",
        PAY
        + "print(dt.mean(pay, bounds=(0, 200_000), epsilon=0.5))  # pay above 200,000 counts as 200,000\n"
        + "print(dt.mean(pay, epsilon=0.5, count_beyond=True))  # no bounds are known",
        ("totals", "filtered", "fitted_bounds"),
        "mean",
        QUOTED.format("mean"),
    ),
    Entry(
        "sum_and_count",
        "Sum and count",
        "`dt.sum`, `dt.count(mask)`, `dt.Sum`, `dt.Count`, SQL `sum(c)`, `count(*)`, `count_if(flag)`",
        "The exact sum of the clamped records, or the number of true entries, plus integer Laplace noise on the grid.",
        "Always the same error, for all data and all n: 1/epsilon for a count, the larger bound's size over epsilon for a sum. So relative errors fall as the table grows.",
        "Sums with wide bounds, for the reason given at the [mean](mean.md). A table's own number of rows costs nothing where its schema declares it public.",
        PAY + "print(dt.count(pay > 100_000, epsilon=0.1))\nprint(dt.sum(pay, bounds=(0, 600_000), epsilon=0.5))",
        ("totals", "elementary"),
    ),
    Entry(
        "variance",
        "Variance and covariance",
        "`dt.variance(ddof=)`, `dt.covariance`, `dt.Variance`, `dt.Covariance`, SQL `variance(c)`, `var_pop(c)`",
        "The variance divided by n - ddof, or all entries of a covariance matrix at once.",
        "Bounds of a few standard deviations, and n epsilon well above (range / standard deviation) squared.",
        "Wide bounds: squares make them hurt twice. Mostly an [interquartile range](iqr.md) tells the same at a fraction of the error.",
        PAY + "print(dt.variance(pay, bounds=(0, 300_000), epsilon=0.5))",
        ("totals",),
        "variance",
        QUOTED.format("variance"),
    ),
    Entry(
        "correlation",
        "Correlation and least squares",
        "`dt.correlation`, `dt.least_squares`, `dt.pair_covariance`, SQL `corr(y, x)`, `regr_slope(y, x)`, `regr_intercept(y, x)`, `covar_pop(y, x)`",
        "Functions of one private vector of moments of two columns: sums, squares and products. Intercept and slope together have the privacy loss of one. It works behind filters and in groups, where the number of records is private.",
        "Bounds of a few standard deviations on both columns, and n epsilon well above (range / standard deviation) squared.",
        "Wide bounds: squares make them hurt twice. Where the noisy variance is not positive, the correlation is 0 and the line flat; the interval then says that nothing is known. "
        "Intervals are conservative, because they hold for all moments at once. A [regression](regression.md) needs no bounds and resists outliers.",
        PAY
        + "age = 20 + pay / 4_000 % 40\n"
        + "print(dt.correlation({'pay': pay, 'age': age}, bounds=[(0, 300_000), (20, 60)], epsilon=1.0))\n"
        + "print(dt.least_squares({'pay': pay, 'age': age}, bounds=[(0, 300_000), (20, 60)], epsilon=1.0))",
        ("moments", "totals"),
    ),
    Entry(
        "trimmed_mean",
        "Trimmed mean",
        "`dt.trimmed_mean(trim=)`, `dt.TrimmedMean`, SQL `trimmed_mean(c, 0.1)`",
        "The mean without the `trim` share of the smallest and of the largest records (a tenth each, unless told; per side, where DL09's alpha is both sides together).",
        "Wide bounds and skewed records: noise follows the records that are kept, not the bounds. With `bounds=None` no range has to be known (this needs a delta, and a test may refuse).",
        "Where the total must be reproduced: a trimmed mean times n is no sum. Behind filters and in groups it is refused, because it is not proved for a private number of records: ask for a median, quantiles or a mean there.",
        PAY + "print(dt.trimmed_mean(pay, trim=0.05, bounds=(0, 600_000), epsilon=0.5))",
        ("totals", "inverse", "smooth"),
        "trimmed_mean",
        QUOTED.format("trimmed_mean")
        + " Here the bounds are only ten times the median; at a hundred times the worst case grows tenfold and the others do not.",
    ),
    Entry(
        "histogram",
        "Histogram",
        "`dt.histogram(edges=)`, `dt.histogram(categories=)`, `dt.Histogram`, SQL `histogram(c, 0, 50, 100)`",
        "How many records fall into each declared bin. Without declared bins, those with enough people are found and shown; that needs a delta.",
        "One privacy loss for all bins: whoever changes bins changes two counts by one. The error of each count is 2/epsilon, for all data and all n.",
        "Many bins with few people each: noise of 2/epsilon in every one of them adds up when bins are summed. Counts are not cut off at 0, so that sums stay unbiased.",
        PAY
        + "release = dt.histogram(pay, edges=[0, 50_000, 100_000, 200_000], epsilon=0.5)\nfor label, count, bar in release.rows():\n    print(label, count, bar)",
        ("totals", "stable"),
    ),
    Entry(
        "mode",
        "Mode",
        "`dt.mode`",
        "The most common entry of a column of any kind, exactly, if it leads by enough; else a refusal, which is paid for.",
        "A clear winner: at epsilon 1 and delta 1e-6 a lead of about 30 people is told almost surely. No noise, no declared categories.",
        "A close race. Then a [histogram](histogram.md) says more.",
        'import dither as dt\n\nprint(dt.mode(["bus"] * 700 + ["car"] * 300, epsilon=1.0, delta=1e-6))',
        ("stable",),
    ),
    Entry(
        "scale",
        "Scale, and answers without bounds",
        "`dt.scale`; `median`, `quantile`, `iqr`, `trimmed_mean`, `mean`, `sum`, `variance`, `std` with `bounds=None`",
        "The interquartile range to a factor, from records of which nothing is known, not even the order of magnitude.",
        "As a first question about an unknown column, from some thousand records on; its answer gives bounds for the next questions, honestly paid for. "
        "A median without bounds is about as good as one with them.",
        "Fewer than about 110 records at epsilon 1 and delta 1e-6 (then it is an error before any charge). The test behind `scale` may refuse, which is paid for.",
        PAY + "print(dt.scale(pay, epsilon=1.0, delta=1e-6))\nprint(dt.median(pay, epsilon=0.5))  # no bounds at all",
        ("robust_scale", "propose_test"),
        "scale",
        "Measured on normal records at epsilon 1 and delta 1e-6 ([benchmarks](../benchmarks.md)).",
    ),
    Entry(
        "regression",
        "Linear regression",
        "`dt.regression(X, y)`, `dt.Regression`",
        "The coefficients of a linear model: least squares where bounds are known, else the middle of robust fits of random blocks of people.",
        'With `bounds` and `y_bounds`, or bounds declared in a schema, it is least squares of the records clamped to them (`method="ols"`), by one private vector of moments, with intervals that hold together. Without bounds, or with `method="medians"`, it is the middle of robust fits of blocks: from about 550 records on at epsilon 1 with one feature and 3,100 with five (1,000 and 4,700 with confidence intervals); delta stays unspent, and gross outliers in a minority of the records do little harm. That is not least squares: where errors are skewed, or grow with a feature, the middle of the response is fitted and not its mean, and slopes differ. The first line of a release names the estimator and what its intervals cover.',
        'Columns that are constant or collinear in most blocks give a refusal. `method="robust"` (DL09\'s R_H) needs features around zero: subtract a public number first; `dt.inspect.cells` shows the owner how many changes its cells bear.',
        "import numpy as np\nimport dither as dt\n\nrng = np.random.default_rng(1)\nX = rng.uniform(-1, 1, size=(20_000, 2))\n"
        "y = 2 * X[:, 0] - X[:, 1] + 0.5 + rng.normal(0, 0.3, 20_000)\nprint(dt.regression(X, y, bounds=(-1, 1), y_bounds=(-5, 5), epsilon=1.0))",
        ("joint_medians", "regression", "least_squares"),
        "regression",
        "Measured: one feature, clean records, epsilon 1, delta 1e-6 ([benchmarks](../benchmarks.md)).",
    ),
    Entry(
        "subgraphs",
        "Triangles, stars and cliques",
        "`dt.edges`, `dt.triangles`, `dt.kstars(k=)`, `dt.ktriangles(k=)`, `dt.kcliques(k=)`; "
        "at the shell `dither ask friends.toml 'kstars(2)'`",
        "How many of them a graph has. Who exists is public, who knows whom is private: neighbours differ in one edge.",
        "Sparse graphs without huge common neighbourhoods: friends, collaborations, roads. Noise follows the most triangles that one more edge could close here, not n - 2.",
        "Graphs where two people share almost everybody: there one edge really matters. Privacy of a whole person (all edges of a vertex) is not offered.",
        GRAPH
        + "graph = dt.Graph(pairs, n=400)\nprint(dt.triangles(graph, epsilon=1.0))\nprint(dt.kstars(graph, k=2, epsilon=1.0))",
        ("graphs", "ladder_mechanism", "noisy_local"),
        "subgraphs",
        "Triangles of people along a circle who know most of their ten nearest neighbours: typical size of the noise, computed from its scale.",
    ),
    Entry(
        "trees",
        "Spanning trees and cuts",
        "`dt.mst_cost`, `dt.min_cut`, `dt.MSTCost`, `dt.MinCut`",
        "The cost of a minimum spanning tree, where edges are public and weights private (neighbours differ in one weight); or the least number of edges that cut a graph in two, where edges are private (neighbours differ in one edge).",
        "Graphs with many ways around: if one weight grows, the tree avoids it. The more edge-disjoint paths, the less noise. A minimum cut has an error of 1/epsilon, always.",
        "Dead ends: an edge that every tree needs moves the cost by its whole range, and noise for the worst case is then as good. dither warns of it.",
        GRAPH
        + "weights = rng.uniform(20, 60, size=len(pairs))\ncalls = dt.Graph(pairs, n=400, weights=weights, cap=100)\nprint(dt.mst_cost(calls, epsilon=1.0))\nprint(dt.min_cut(dt.Graph(pairs, n=400), epsilon=1.0))",
        ("trees",),
        "trees",
        "Spanning tree of people on a closed grid, each in touch with the 48 nearest: typical size of the noise, computed from its scale. "
        'Fitted noise is smaller than that for the worst case by 1.3 to 1.9; with few ways around it is larger, and `mechanism="worst_case"` is the better choice.',
    ),
    Entry(
        "clusters",
        "Clusters and mixtures",
        "`dt.kmeans(k=)`, `dt.gaussian_mixture(k=)`, `dt.kmeans_cost(centres=)`, `dt.KMeans`, `dt.GaussianMixture`, `dt.KMeansCost`",
        "k centres (for a mixture also shares and spreads): found by agreement of blocks or a noisy histogram, then polished by private passes over all points.",
        "Clusters that are there: from some ten thousand points on the centres are nearly as good as without privacy.",
        "Clusters that a fresh sample would draw differently: no private answer can hold still where the question does not.",
        "import numpy as np\nimport dither as dt\n\nrng = np.random.default_rng(1)\ncentres = np.array([[-5, -5], [0, 5], [5, -2]])\n"
        "points = centres[rng.integers(0, 3, 20_000)] + rng.normal(0, 0.7, size=(20_000, 2))\n"
        "print(dt.kmeans(points, k=3, bounds=(-10, 10), epsilon=1.0, delta=1e-6))",
        ("certified_average", "aggregate"),
        "clusters",
        "Measured: three blobs, epsilon 1, delta 1e-6 ([benchmarks](../benchmarks.md)).",
    ),
    Entry(
        "program",
        "Any program",
        "`dt.sample_and_aggregate(rows, program)`, `dt.Program` in a session",
        "A private aggregate of what your own function answers on random blocks of people. It runs in a sandbox; nothing has to be proved about it ([bringing a program](../programs.md)).",
        "Programs whose answer on a part of the people is nearly that on all of them: model fits, robust statistics, scores.",
        "Statistics that have a page of their own here: those are better by one or two orders of magnitude. Answers that are biased on small samples stay biased: a private mean of biased answers is biased.",
        PAY
        + 'release = dt.sample_and_aggregate(pay, np.median, bounds=(0, 600_000), epsilon=1.0, executor="trusted")\nprint(release)',
        ("aggregate", "certified_average"),
        "program",
        "Measured: thirty releases for each number of people, epsilon 1, against the error of `dt.median`.",
    ),
    Entry(
        "counting_queries",
        "Counting queries",
        "`dt.counting_queries(rows)`, `dt.CountingQueries(columns, family=...)`, SQL `counting_queries(a, b)`",
        "How many records satisfy each predicate of a family: each attribute of rows of bits, each conjunction of some of them, each bin or threshold of a column, or functions of your own of its bins.",
        "Many related counts at once: the noise is fitted to the whole family, by the mechanism with the least expected error (noise on each count, the cube's noise, sums over one noisy histogram).",
        "One count alone: `dt.count` says the same with less to declare. Conjunctions of many attributes: noise grows with their number.",
        "import numpy as np\nimport dither as dt\n\nrows = np.random.default_rng(1).integers(0, 2, (5_000, 8))  # made up\nprint(dt.counting_queries(rows, epsilon=1.0))",
        ("counting_queries",),
    ),
    Entry(
        "local",
        "Reports and metric spaces",
        "`dt.randomized_response`, `dt.flip_bits`; for functions of one's own `dt.distance_to_property`, `dt.metric_release`, `dt.norm_release`, `dt.low_sample_release`, `dt.cascade`",
        "Further mechanisms of the papers, each with exact sampling and a proof: answers in any finite metric space, reports of people who trust nobody.",
        "When the question is about a structure of one's own: a menu of options with a distance.",
        "Randomized response has an error of sqrt(n)/epsilon where a trusted curator has 1/epsilon: it is for those who have none.",
        'import dither as dt\n\nreports = dt.randomized_response(["yes"] * 300 + ["no"] * 700, categories=["yes", "no"], epsilon=1.0)\nprint(reports)',
        ("metric_spaces",),
    ),
)
