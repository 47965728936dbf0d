"""Why a peer is lower, by row: shown with every such verdict and in docs/benchmarks.md."""

from __future__ import annotations

from fnmatch import fnmatchcase

_PRICE = "Not private: nothing is added and nothing is tested; the ratio is the price of privacy."
_FIXED = (
    "Ours checks its arguments and draws exactly in Python, which takes a third of a millisecond at any size; PyDP is "
    "compiled. At 10,000 records the two are close, from 100,000 on ours is faster."
)
_PASSES = (
    "Small tables cost what two passes of the engine (a sample, and one that counts and lists) and exact draws for the "
    "answer and its interval do, beside one plain pass."
)
_TIES = (
    "On whole numbers with many ties OpenDP's score measures the distance to the middle of a block of equal records, "
    "ours to its edge, and it draws by permute-and-flip; both help on coarse grids and neither on fine ones. Where the "
    "unit is declared `middle_score` does both (quantiles/median of ages in their unit)."
)
_EVEN = (
    "For even n diffprivlib centres on the gap between the two middle records and is scored by the kinder of two "
    "definitions, we release the lower median: 1.001 / 1.019 / 1.073 in exact expectation at epsilon 0.1 / 0.5 / 1."
)
_FLOATS = (
    "diffprivlib adds several draws in floating point, which guards against one known attack and is not exactly the "
    "law that the guarantee is about; ours is exact."
)
_ORACLE = (
    "The oracle knows the local sensitivity of the data at hand and adds noise of just that scale, which shows it: not "
    "private. Ours must hide it too."
)

_FIRST = (
    "Memory is that of the first answer of a fresh process. Ours loads its compiled kernels then, some 25 MiB for sums "
    "and 130 MiB for those of models, whatever the size of the data; the peers had loaded theirs, or have none."
)

EXPLANATIONS: dict[str, str] = {
    "arrays/*/memory/*": (
        "Some 40 MiB are kernels that the first answer of a process loads; quantiles and histograms keep the records "
        "as whole steps of a grid, eight bytes each, and numpy a copy of them or, for a histogram, a block."
    ),
    "models/*/memory/*": _FIRST,
    "people/*/memory/*": "What every customer contributes to every cell is kept, and not the cells alone.",
    "*not private": _PRICE,
    "noise/scalar/*/time/diffprivlib": _FLOATS,
    "people/*/error/cwida*": (
        "Archived figures at scale 30, ours at scale 1: one customer is hidden among thirty times as many. They rest "
        "on bounds that were placed around the true answers and on a delta; ours are given neither."
    ),
    "quantiles/a/median/*/error/diffprivlib": _EVEN,
    "quantiles/c/*/error/OpenDP": _TIES,
    "quantiles/d/median/*/error/PyDP": (
        "Between the modes lies a gap of 750, only 50 ranks away. A draw weighs it by its width: of 300 answers at "
        "epsilon 0.1 87% of ours lie in it and 74% of PyDP's, whose tree of noisy counts weighs no width."
    ),
    "quantiles/d/m[ai][xn]/*/error/PyDP": (
        "Between the outermost record and the bound all ranks are equal, and the answer is drawn evenly there; PyDP's "
        "tree answers inside the data. On the other inputs its errors are about 2 to 5 times ours."
    ),
    "quantiles/trimmed mean with an interval/*": (
        "The oracle's noise follows the data at hand and its interval shows how much, for nothing: not private. Ours "
        "spends a tenth of epsilon on the interval and a sixtieth on smoothing."
    ),
    "quantiles/mean without bounds/*/bounds at the largest record (not private)": (
        "Whoever knows the largest record spends nothing on bounds, and its noise is the least that cuts nothing: not "
        "private. Ours spends a fifth to three tenths of epsilon on bounds, which lie a little beyond or cut a few."
    ),
    "quantiles/permute and flip/*/time/inverse": (
        "Points are tried one by one, each with a coin, until one is admitted; a draw with replacement takes one "
        "random number."
    ),
    "quantiles/*/time/PyDP": _FIXED,
    "quantiles/private median/growth/OpenDP": (
        "OpenDP's time seems to be that of its 10,001 candidates until the records outnumber them, so it grows later; "
        "it is longer at every size measured."
    ),
    "quantiles/smooth/*": (
        "Sorting is no peer but a measure of time: the smooth sensitivity of records that are sorted costs about a "
        "millisecond for its window of ranks, whatever their number."
    ),
    "quantiles/iqr without bounds/*/inverse draw, no delta": (
        "A test must have a margin of ln(1/delta)/epsilon ranks and adds noise of that many; a draw is off by a few "
        "ranks. It is the default."
    ),
    "tables/median/*/time/DuckDB": _PASSES,
    "tables/wall/*/time/DuckDB": _PASSES,
    "tables/grouped/*/time/DuckDB": (
        "A thousand answers and their intervals are drawn exactly, after a sample and a pass that joins every record "
        "with the brackets of its group, where the plain query takes one pass and no draw."
    ),
    "tables/*/time/DuckDB": (
        "Records are clamped, rounded to the grid and added up as whole numbers; plain aggregates add floats."
    ),
    "people/*/time/DuckDB": (
        "Whose a row is takes a join that Q1 and Q6 do without; totals of every customer in every group are added up "
        "as exact whole numbers before a limit is drawn and totals within it are summed; that join and that grouping "
        "alone take more than three times Q1. Plain statements add up once, and push their filters into the files."
    ),
    "quantiles/median by mechanism/*/time/largest local*": (
        "Noise for a declared bound is one draw; the default draws among all points by how many records lie between, "
        "and reads a window of ranks for that."
    ),
    "quantiles/median of grades/*/error/step=1 declared": (
        "Where the owner declares that grades are whole numbers there are eleven answers. In a column of reals there "
        "are as many between two grades as the grid has, and weight on round numbers makes up for most of them only."
    ),
    "graphs/*triangles/*/error/beta = *": (
        "Beta follows a public rule that errs least over six graphs; on a single graph another beta can be better."
    ),
    "models/k-means/growth/NRS11's centre of attention": (
        "Both grow less than the number of records. The distances between the centres of its blocks, whose number does "
        "not follow the records, take most of its time at these sizes."
    ),
    "graphs/smoothed ladder/*/smooth, blunt power law": (
        "Where the best pair of vertices has few common neighbours beside 1/beta the ladder rises soon, and noise of "
        "one scale, the default, errs less."
    ),
    "graphs/ladder/heavy tail/10000/*": "Under a millisecond, most of it for a hundred small arrays.",
    "graphs/ladder/even/*": (
        "All degrees are alike and the largest common neighbourhood is tiny, so that no degree rules anything out and "
        "all paths of two steps must be walked, twice as many as a count of triangles looks at; from millions of edges "
        "on only those of one class of neighbours are."
    ),
    "tables/medians by groups/growth/*": (
        "Every group has a bracket, a draw and an interval of its own; a plain median by groups sorts the same rows "
        "in smaller parts."
    ),
    "models/kmeans/*/error/histogram alone (ours, blocks=0)": (
        "In two dimensions a noisy histogram is a good start and needs no blocks; in many dimensions there is none, "
        "and the default does not depend on how many there are."
    ),
    "models/kmeans/*/time/*(ours*": "A part of our own method by itself, less work than the whole.",
    "models/*k*means/*/diffprivlib": (
        "Ours clusters blocks and then makes private passes over all points, the peer only such passes; its centres "
        "are several times as far from the truth."
    ),
    "models/regression/*/time/*": (
        "Ours is given no bounds and resists outliers: it fits blocks and draws medians of their fits; the peers "
        "answer within bounds that they were given."
    ),
    "models/three coefficients/*/error/joint medians (ours, auto)": (
        "R_H answers with the middle of a cell that is wide enough for its test to pass with a margin of ln(1/delta) "
        "records; medians of blocks need no test and no delta. They are the default."
    ),
    "models/three coefficients/* refusals/error/*": (
        "R_H tests one cell for all coefficients, and a fit that happens to lie near its side is refused: one run in "
        "twenty. R_S tests every coefficient by itself, joint medians test nothing."
    ),
    "models/R_H, three coefficients/growth/*": (
        "The margin looks at the faces of the cell, where all records' planes meet: more than linear. The others fit "
        "blocks."
    ),
    "noise/counting queries/*/time/*(ours)": (
        "Noise for the largest error is drawn for all counts together; noise on each count by itself is a plain vector "
        "of draws, with up to five times the largest error."
    ),
    "models/three coefficients/*/time/*": (
        "R_H solves a linear programme on all records and bounds subgradients on the faces of eight cells; the others "
        "fit each block once."
    ),
    "composition/*/time/diffprivlib": ("Closed formulas of advanced composition; their epsilon is larger."),
    "composition/*/growth/*": "Ours sums exact tails in balls, term by term; it is faster at every number measured.",
    "server/releases/*/same server, a constant": (
        "A constant is not private: the ratio is the price of a release, which commits a charge and an answer durably, "
        "draws exactly and waits for its slot."
    ),
    "server/latency/*": "A constant is not private: an answer waits for those before it, and for its slot.",
    "server/releases/*": (
        "A release is two durable commits, the charge and the answer, on a chain that has one head; requests, workers, "
        "draws and slots come on top, some 15 ms of processor time. Where a disk syncs in half a millisecond that is "
        "nearly all there is; where a sync takes 15 to 20 ms a release took 2.3 to 2.4 times a bare insert."
    ),
    "server/charges/*": (
        "A charge reads and checks two budgets, chains a hash and writes its entry in one transaction; the insert "
        "writes a row."
    ),
    "*/error/Laplace noise of the local sensitivity (not private)": _ORACLE,
    "*/Laplace noise of the local sensitivity (not private)": (
        "The oracle was given the local sensitivity beforehand: it is one draw in floating point, and not private."
    ),
}
"""Patterns of keys (area/comparison/measure/peer); the first that fits counts."""

UNEXPLAINED = "no explanation yet: see whether another run says the same"


def why(key: str) -> str:
    """The explanation for a row.

    >>> why("no/such/row/here")
    'no explanation yet: see whether another run says the same'
    """
    return next((text for pattern, text in EXPLANATIONS.items() if fnmatchcase(key, pattern)), UNEXPLAINED)
