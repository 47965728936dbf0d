"""Error against the number of records, for the pictures of the documentation.

Errors of columns are quotes under a public prior, those of graphs follow from the scale of the noise on generated
graphs: both repeat to the last digit.  Where only measurements tell, the figures are marked as measured.

    python docs/_site/curves.py            # computes docs/pictures/curves.json anew: about two minutes
    python docs/_site/curves.py filters    # these alone; the others stay as they were computed last
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dither as dt
from dither.mechanisms.choice import prepare

PICTURES = Path(__file__).parents[1] / "pictures"
KEPT = PICTURES / "curves.json"
PRIOR = dt.Lognormal(median=60_000, sigma=0.6)
PEOPLE = (100, 1_000, 10_000, 100_000, 1_000_000)
VERTICES = (300, 1_000, 3_000, 10_000, 30_000)
Curve = dict[str, Any]


def rounded(number: float) -> float:
    """Three digits: enough for a picture, and the same on every machine."""
    return float(f"{number:.3g}")


def quoted(query: Any, rows: int, epsilon: float, mechanism: str = "auto", where: str | None = None) -> float:
    """The expected error of an answer about lognormal pay, without a confidence interval."""
    columns = {"pay": dt.Real(0, 600_000), "active": dt.Boolean()}
    schema = dt.Schema("pay.csv", columns, rows=rows)
    quote = dt.quote(query, schema, epsilon=epsilon, prior=PRIOR, confidence=None, mechanism=mechanism, where=where)
    return rounded(quote.worst_expected)


def of_column(query: Any, *, worst: bool = True, unit: str = "dollars") -> Curve:
    """Quotes at epsilon 0.1 and 1, and for comparison noise for the worst data at epsilon 1."""
    lines = {f"epsilon {epsilon:g}": [quoted(query, n, epsilon) for n in PEOPLE] for epsilon in (0.1, 1.0)}
    if worst:
        lines["worst case, epsilon 1"] = [quoted(query, n, 1.0, "worst_case") for n in PEOPLE]
    return {"x": list(PEOPLE), "xlabel": "people", "ylabel": f"expected error, {unit}", "lines": lines}


def circle_of_friends(vertices: int) -> Any:
    """People along a circle who know most of their ten nearest neighbours, and a few far away."""
    rng = np.random.default_rng(7)
    place = np.arange(vertices)
    near = [np.column_stack([place, (place + step) % vertices])[rng.random(vertices) < 0.7] for step in range(1, 6)]
    far = rng.integers(0, vertices, size=(vertices // 2, 2))
    pairs = np.sort(np.vstack([*near, far]), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def typical_noise(query: Any, graph: Any, epsilon: float, mechanism: str) -> float:
    """The mean size of the noise that is added, as a share of the true value."""
    shape = query.shape(graph)
    statistic = query.resolve(shape)
    records = query.read(graph, shape)
    _, prepared = prepare(statistic, epsilon=epsilon, mechanism=mechanism)
    fitted = mechanism == "smooth"
    scale = statistic.ladder(records).smooth(prepared.point.beta) if fitted else statistic.global_sensitivity
    error = float(scale / prepared.point.alpha) * prepared.point.law.typical
    return rounded(min(error / statistic.value(records), 1e6))


def of_graph(query: Any, graph: Callable[[int], Any], sizes: tuple[int, ...] = VERTICES) -> Curve:
    """Noise on generated graphs at epsilon 0.1 and 1, and for comparison noise for the worst graph."""
    graphs = [graph(vertices) for vertices in sizes]
    lines = {
        f"epsilon {epsilon:g}": [typical_noise(query, one, epsilon, "smooth") for one in graphs]
        for epsilon in (0.1, 1.0)
    }
    lines["worst case, epsilon 1"] = [typical_noise(query, one, 1.0, "worst_case") for one in graphs]
    return {"x": list(sizes), "xlabel": "vertices", "ylabel": "typical error / true value", "lines": lines}


def calls(vertices: int) -> Any:
    """People on the crossings of a closed grid, each in touch with the 48 nearest, with minutes between 0 and 100."""
    side = round(vertices**0.5)
    place = np.arange(side * side).reshape(side, side)
    reach = range(-3, 4)
    steps = [(down, right) for down in range(4) for right in reach if down > 0 or right > 0]
    edges = np.vstack([np.column_stack([place.ravel(), np.roll(place, step, axis=(0, 1)).ravel()]) for step in steps])
    weights = np.random.default_rng(7).uniform(20, 60, size=len(edges))
    return dt.Graph(edges, n=side * side, weights=weights, cap=100)


def of_program() -> Curve:
    """Mean error of the median of medians of blocks: measured, thirty releases for each number of people."""
    rng = np.random.default_rng(5)
    sizes, errors = (1_000, 10_000, 100_000), []
    for n in sizes:
        pay = np.clip(rng.lognormal(np.log(60_000), 0.6, n), 0, 600_000)
        answers = [
            dt.sample_and_aggregate(
                pay, np.median, bounds=(0, 600_000), epsilon=1.0, confidence=None, executor="trusted"
            ).value
            for _ in range(30)
        ]
        errors.append(rounded(float(np.mean(np.abs(np.array(answers) - np.median(pay))))))
    direct = [quoted(dt.Median("pay"), n, 1.0) for n in sizes]
    lines = {"any program, here the median": errors, "median() itself": direct}
    return {"x": list(sizes), "xlabel": "people", "ylabel": "mean error, dollars", "lines": lines}


def calibration() -> Curve:
    """Noise for evenly spaced records, mean |Z| / (alpha beta): the papers' constants and the exact frontier."""
    x = [0.03, 0.1, 0.3, 1.0, 3.0]
    cauchy, laplace = dt.Cauchy(gamma=4), {"noise": "laplace", "delta": 1e-6}
    ways: dict[str, dict[str, Any]] = {
        "NRS11, Cauchy": {"noise": cauchy, "constants": "paper"},
        "NRS11, Laplace, delta 1e-6": {**laplace, "constants": "paper"},
        "exact, Laplace, delta 1e-6": laplace,
        "exact, Cauchy": {"noise": cauchy},
        "exact, power law": {"noise": "power_law"},
        "exact, blunt power law": {"noise": "blunt_power_law"},
    }
    lines = {
        name: [rounded(dt.inspect.admissible(**way, epsilon=epsilon).error_factor) for epsilon in x]
        for name, way in ways.items()
    }
    return {"x": x, "xlabel": "epsilon", "ylabel": "E|Z| / (alpha beta)", "lines": lines}


def laws_of_a_trimmed_mean() -> Curve:
    """How often errors of a trimmed mean of 20,000 pays exceed a distance, by mechanism, at epsilon 1."""
    from dither_lab.audit.laws.smoothed_ladder import tail_along

    pay = np.random.default_rng(1).lognormal(11, 0.6, 20_000)
    query = dt.TrimmedMean(trim=0.1, bounds=(0, 1_000_000))
    shape = query.shape(pay)
    statistic = query.resolve(shape)
    ladder = statistic.ladder(query.read(pay, shape))
    rungs = [float(ladder[k]) for k in range(4_000)]
    cap, unit = float(statistic.global_sensitivity), rungs[0]
    _, smooth = prepare(statistic, epsilon=1.0, mechanism="smooth")
    _, drawn = prepare(statistic, epsilon=1.0, mechanism="smoothed_ladder")
    decay, smoothed = np.exp(-float(drawn.beta)), [cap]
    for rung in reversed(rungs):
        smoothed.append(max(rung, decay * smoothed[-1]))
    x = np.linspace(0, 14, 57)
    point = smooth.point
    scale = float(ladder.smooth(point.beta) / point.alpha)
    tails = {
        "local sensitivity, not private": np.exp(-x),
        "smoothed ladder": tail_along(smoothed[:0:-1], cap, 1.0 - float(drawn.beta))(x * unit),
        "smooth, blunt power law": point.law.tail(x * unit / scale),
        "ladder mechanism": tail_along(rungs, cap, 0.5)(x * unit),
    }
    lines = {name: [rounded(float(share)) for share in tail] for name, tail in tails.items()}
    labels = {"xlabel": "distance, local sensitivities", "ylabel": "share of errors beyond", "scales": "linear log"}
    return {"x": [float(place) for place in x], **labels, "lines": lines}


def filters() -> Curve:
    """How many answers, each chosen by what the others said, fit into epsilon 1, delta 1e-6."""
    x = [0.003, 0.01, 0.03, 0.1, 0.3]
    budget = dt.Budget(1.0, 1e-6)
    ways: dict[str, tuple[Callable[[float], Any], Any]] = {
        "zcdp, drawn answers": (dt.Loss.bounded_range, "zcdp"),
        "zcdp, any pure answers": (dt.Loss, "zcdp"),
        "advanced": (dt.Loss, "advanced"),
        "basic": (dt.Loss, "basic"),
    }
    lines = {
        name: [dt.queries_within(loss(epsilon), budget, filter=chosen) or None for epsilon in x]
        for name, (loss, chosen) in ways.items()
    }
    return {"x": x, "xlabel": "epsilon of each answer", "ylabel": "answers", "lines": lines}


def measured(xlabel: str, ylabel: str, x: list[int], **lines: list[float | None]) -> Curve:
    """Figures of docs/benchmarks.md."""
    return {"x": x, "xlabel": xlabel, "ylabel": ylabel, "lines": {k.replace("_", " "): v for k, v in lines.items()}}


def mechanisms() -> Curve:
    """One median under every mechanism that never refuses, epsilon 1."""
    names = ("inverse", "smooth", "ladder", "worst_case")
    lines = {name: [quoted(dt.Median("pay"), n, 1.0, name) for n in PEOPLE] for name in names}
    return {"x": list(PEOPLE), "xlabel": "people", "ylabel": "expected error, dollars", "lines": lines}


def prices() -> Curve:
    """The median of 10,000 people against its price."""
    x = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
    lines = {f"{n:,} people": [quoted(dt.Median("pay"), n, epsilon) for epsilon in x] for n in (1_000, 10_000, 100_000)}
    return {"x": x, "xlabel": "epsilon", "ylabel": "expected error, dollars", "lines": lines}


CURVES: dict[str, Callable[[], Curve]] = {
    "mechanisms": mechanisms,
    "prices": prices,
    "calibration": calibration,
    "laws": laws_of_a_trimmed_mean,
    "filters": filters,
    "median": lambda: of_column(dt.Median("pay")),
    "quantiles": lambda: of_column(dt.Quantile("pay", q=0.9)),
    "iqr": lambda: of_column(dt.IQR("pay")),
    "extremes": lambda: of_column(dt.Minimum("pay")),
    "mean": lambda: of_column(dt.Mean("pay"), worst=False),
    "variance": lambda: of_column(dt.Variance("pay"), worst=False, unit="dollars squared"),
    "trimmed_mean": lambda: of_column(dt.TrimmedMean("pay")),
    "subgraphs": lambda: of_graph(dt.Triangles(), lambda n: dt.Graph(circle_of_friends(n), n=n)),
    "trees": lambda: of_graph(dt.MSTCost(), calls, (100, 300, 1_000)),
    "program": of_program,
    "scale": lambda: measured(
        "people",
        "median error / interquartile range",
        [1_000, 10_000, 100_000, 1_000_000],
        scale=[0.53, 0.057, 0.0056, 0.0012],
        median_without_bounds=[0.0026, 0.00025, 3.5e-5, 2.6e-6],
    ),
    "regression": lambda: measured(
        "people",
        "mean error of a slope of 2",
        [1_000, 10_000, 100_000, 1_000_000],
        auto=[None, 0.0071, 0.0020, 0.0006],
        shortcut=[None, 1.6, 0.122, 0.0028],
        robust=[None, 0.0099, 0.0012, 0.0006],
    ),
    "clusters": lambda: measured(
        "points",
        "mean distance of centres",
        [1_000, 10_000, 100_000, 1_000_000],
        kmeans=[0.21, 0.027, 0.0053, 0.0010],
        gaussian_mixture=[0.17, 0.028, 0.0051, 0.0010],
        diffprivlib=[1.4, 0.68, 0.063, None],
        Lloyd_without_privacy=[0.053, 0.017, 0.0046, None],
    ),
}


def kept() -> dict[str, Curve]:
    """The curves as they were computed last."""
    found: dict[str, Curve] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    computed = {name: CURVES[name]() for name in sys.argv[1:] or CURVES}
    curves = {name: computed[name] if name in computed else kept()[name] for name in CURVES}
    lines = [f"  {json.dumps(name)}: {json.dumps(curve)}" for name, curve in curves.items()]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    import draw

    draw.main()
