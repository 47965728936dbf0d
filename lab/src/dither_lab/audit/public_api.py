"""Black-box checks of the public functions: many runs on two neighbouring datasets, answers compared.

What is behind a public (reading, grids, plans, intervals, labels) is audited with it.  Pairs are those on which wrong
mechanisms of the kind break first: a record crosses the whole range, a margin stands at its threshold, a block changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dither.privacy import Loss
from dither.queries.registry import proved_columns
from dither_lab.audit.attacks import Direction, HistogramAttack
from dither_lab.audit.blackbox import audit
from dither_lab.audit.checks import Check, Effort, Evidence

LOUD = 3.0


@dataclass(frozen=True)
class PublicCall:
    """A public function, the arguments of a call, and two neighbouring datasets."""

    name: str
    call: Callable[[Any], Any] = field(repr=False)
    """One dataset -> a release."""
    here: Any = field(repr=False)
    there: Any = field(repr=False)
    loss: Loss
    covers: tuple[str, ...]
    detail: str = ""
    runs: tuple[int, int] = (300, 3_000)
    """On either side, in a quick and in a full audit; none in a quick one if zero."""
    flat: Callable[[Any], tuple[Any, ...]] | None = field(default=None, repr=False)
    """A release as numbers; by default its value and interval."""


def flattened(release: Any) -> tuple[Any, ...]:
    """The numbers of a release and of its interval, one after the other."""
    return (*numbers(getattr(release, "value", release)), *numbers(getattr(release, "interval", None)))


def numbers(payload: Any) -> tuple[Any, ...]:
    """All numbers in nested tuples."""
    if isinstance(payload, (tuple, list, np.ndarray)):
        return tuple(number for part in payload for number in numbers(part))
    return (
        (None,)
        if payload is None
        else (float(payload),)
        if isinstance(payload, (int, float, np.number))
        else (hash(payload) % 97,)
    )


def public_api_checks() -> Iterator[Check]:
    """A black-box check of every public."""
    for public in public_calls():
        yield Check(
            public.name,
            "black-box",
            _attack(public),
            detail=public.detail or "public function",
            covers=frozenset(public.covers),
            proof="audit",
            in_quick=public.runs[0] > 0,
        )


def _attack(public: PublicCall) -> Callable[[Effort], Evidence]:
    def run(effort: Effort) -> Evidence:
        width = max(
            len((public.flat or flattened)(public.call(data))) for data in (public.here, public.there) for _ in range(8)
        )

        def sampler(data: Any) -> Callable[[int], Any]:
            return lambda count: [_wide((public.flat or flattened)(public.call(data)), width) for _ in range(count)]

        samples = effort.of(*public.runs)
        attacks = [Direction(), HistogramAttack(bins=8, features=lambda answer: answer[0])]
        result = audit(
            sampler(public.here),
            sampler(public.there),
            claimed=public.loss,
            attacks=attacks,
            samples=samples,
            failure_probability=effort.failure_probability,
        )
        return Evidence(
            not result.detected, public.loss, result.lower_bound, None, samples, f"event: {result.event}"[:120]
        )

    return run


def _wide(answer: tuple[Any, ...], width: int) -> tuple[Any, ...]:
    """A refusal is as wide as other answers, and empty."""
    return (answer + (None,) * width)[:width]


def public_calls() -> Iterator[PublicCall]:
    """All of them."""
    yield from _column_calls()
    yield from _graph_calls()
    yield from _unbounded_calls()
    yield from _model_calls()
    yield from _program_calls()
    yield from _workload_calls()
    yield from _metric_calls()


def _column_calls() -> Iterator[PublicCall]:
    import dither as dt  # noqa: PLC0415  (loads every name lazily)

    spends = Loss(LOUD)
    # One record crosses the whole range.
    here, there = [0, 0, 0, 8, 8], [0, 0, 8, 8, 8]
    asked: dict[str, dict[str, Any]] = {
        "median": {},
        "quantile": {"q": 0.6},
        "quantiles": {"q": [0.3, 0.6]},
        "trimmed_mean": {"trim": 0.2},
        "iqr": {},
        "sum": {},
        "mean": {},
        "variance": {},
        "order_statistic": {"rank": 3},
        "smallest_sum": {"k": 3},
    }
    asked |= {column.function: dict(column.audited) for column in proved_columns() if column.function not in asked}
    for name, options in asked.items():
        function = getattr(dt, name)
        call = _bound(function, bounds=(0, 8), epsilon=LOUD, **options)
        yield PublicCall(name, call, here, there, spends, (name,))
    for name, pair in {"minimum": ([8] * 5, [0, 8, 8, 8, 8]), "maximum": ([0] * 5, [0, 0, 0, 0, 8])}.items():
        yield PublicCall(name, _bound(getattr(dt, name), bounds=(0, 8), epsilon=LOUD), *pair, spends, (name,))
    yield PublicCall("count", _bound(dt.count, epsilon=LOUD), [True] * 5, [True] * 4 + [False], spends, ("count",))
    bins = _bound(dt.histogram, edges=[0, 4, 8], epsilon=LOUD)
    yield PublicCall("histogram", bins, here, there, spends, ("histogram",))
    rows = np.array([[0, 0], [0, 0], [8, 8]]), np.array([[0, 0], [8, 8], [8, 8]])
    yield PublicCall("covariance", _bound(dt.covariance, bounds=(0, 8), epsilon=LOUD), *rows, spends, ("covariance",))
    opposite = np.array([[0, 0], [0, 0], [8, 0]]), np.array([[0, 0], [0, 0], [-8, 0]])
    ball = _bound(dt.ball_mean, radius=8, norm="l1", step=1, epsilon=LOUD)
    yield PublicCall("ball_mean", ball, *opposite, spends, ("ball_mean", "BallMean"))
    plain = _bound(lambda data, **options: dt.ask(dt.Median(bounds=(0, 8)), data, **options), epsilon=LOUD)
    yield PublicCall("ask", plain, here, there, spends, ("ask", "Release", "Releases"))


def _graph_calls() -> Iterator[PublicCall]:
    import dither as dt  # noqa: PLC0415

    spends = Loss(LOUD)
    ring = [(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)]
    here, there = dt.Graph([*ring, (0, 3)], n=4), dt.Graph(ring, n=4)
    asked: dict[str, dict[str, Any]] = {
        "edges": {},
        "triangles": {},
        "kstars": {"k": 2},
        "ktriangles": {"k": 2},
        "kcliques": {"k": 4},
        "min_cut": {},
    }
    for name, options in asked.items():
        function = getattr(dt, name)
        yield PublicCall(name, _bound(function, epsilon=LOUD, **options), here, there, spends, (name,))
    weights = [dt.Graph([(0, 1), (1, 2), (0, 2)], n=3, weights=w, cap=8) for w in ([0, 0, 8], [8, 0, 8])]
    yield PublicCall("mst_cost", _bound(dt.mst_cost, epsilon=LOUD), weights[0], weights[1], spends, ("mst_cost",))
    cut = [dt.Graph([(0, 1), (1, 2), (0, 2)], n=3, weights=w, cap=8) for w in ([8, 8, 0], [8, 8, 8])]
    asked_cut = _bound(dt.weighted_min_cut, epsilon=LOUD)
    yield PublicCall("weighted_min_cut", asked_cut, cut[0], cut[1], spends, ("weighted_min_cut",))


def _unbounded_calls() -> Iterator[PublicCall]:
    """Statistics without bounds: a scale that one change can move, at the threshold of its test."""
    import dither as dt  # noqa: PLC0415

    loss = Loss(8.0, 0.05)
    here = np.repeat([0.0, 64.0, 128.0, 1e6], [50, 26, 3, 22])
    there = np.repeat([0.0, 64.0, 128.0, 1e6], [49, 26, 3, 23])
    spends = {"epsilon": loss.epsilon, "delta": loss.delta}
    for name in ("median", "iqr", "trimmed_mean", "scale"):
        mechanisms = ("propose_test",) if name in ("trimmed_mean", "scale") else ("inverse", "propose_test")
        for mechanism in mechanisms:
            call = _bound(getattr(dt, name), mechanism=mechanism, **spends)
            detail = f"without bounds, {mechanism}"
            yield PublicCall(name, call, here, there, loss, (name, mechanism, "without bounds"), detail, (200, 2_000))
    # One record crosses from the far end of one side to that of the other; bounds are part of what is released.
    bulk = np.repeat([-3.0, 0.0, 3.0], [30, 45, 76])
    left, right = (np.append(bulk, item) for item in (-1e6, 1e6))

    def with_bounds(release: dt.Release[float, tuple[float, float]]) -> tuple[float, ...]:
        bounds = release.clamped_to
        return (*flattened(release), *(() if bounds is None else (bounds.low, bounds.high)))

    for name in ("mean", "sum", "variance", "std"):
        call, crossed = _bound(getattr(dt, name), epsilon=8.0), (name, "without bounds", "fitted bounds")
        yield PublicCall(name, call, left, right, Loss(8.0), crossed, "without bounds", (200, 2_000), with_bounds)
    fewer, more = (np.repeat([-3.0, 3.0], split) for split in ((1_000, 1_001), (1_001, 1_000)))
    joint = _bound(dt.quantiles, q=[0.4, 0.6], epsilon=LOUD)
    drawn = ("quantiles", "without bounds")
    yield PublicCall("quantiles", joint, fewer, more, Loss(LOUD), drawn, "without bounds", (0, 600))
    large = Loss(24.0, 0.3)
    long = [np.repeat(item, 6) for item in (here, here)]
    long[1][0] = 1e6
    for name in ("median", "iqr", "trimmed_mean", "scale"):
        printed = (name, "DL09 as printed")
        paper = _bound(getattr(dt, name), mechanism=dt.ProposeTest(constants="paper"), epsilon=24.0, delta=0.3)
        yield PublicCall(name, paper, long[0], long[1], large, printed, "without bounds, paper's constants", (0, 600))
    ballots = ["bus"] * 9 + ["car"] * 4, ["bus"] * 8 + ["car"] * 5
    yield PublicCall(
        "mode", _bound(dt.mode, epsilon=3.0, delta=0.05), *ballots, Loss(3.0, 0.05), ("mode", "Mode", "stable bins")
    )
    rare = ["bus"] * 9 + ["tram"], ["bus"] * 10
    undeclared = _bound(dt.histogram, epsilon=3.0, delta=0.05)
    empty = dict.fromkeys(("bus", "tram"), None)

    def counts_of(release: Any) -> tuple[Any, ...]:
        return tuple((empty | dict(zip(release.labels or (), release.value or (), strict=False))).values())

    yield PublicCall(
        "histogram", undeclared, *rare, Loss(3.0, 0.05), ("histogram", "stable bins"), "undeclared", flat=counts_of
    )


def _model_calls() -> Iterator[PublicCall]:
    import dither as dt  # noqa: PLC0415

    grid = np.linspace(-1.0, 1.0, 60)
    line = np.column_stack([grid, 2.0 * grid])
    moved = line.copy()
    moved[-1] = (1e6, -1e6)
    for method, copies, loss, runs in (
        ("medians", 10, Loss(6.0), (60, 800)),
        ("shortcut", 4, Loss(12.0, 0.3), (0, 600)),
        ("robust", 20, Loss(12.0, 0.3), (0, 400)),
        ("ols", 1, Loss(6.0), (60, 800)),
    ):
        here, there = np.tile(line, (copies, 1)), np.concatenate([np.tile(line, (copies - 1, 1)), moved])
        bounds = {"bounds": (-2, 2)} if method == "ols" else {}
        call = _regression(dt.regression, method=method, epsilon=loss.epsilon, delta=loss.delta, **bounds)
        covers = ("regression", "Regression", f"regression {method}")
        yield PublicCall("regression", call, here, there, loss, covers, method, runs)
        if method in ("shortcut", "robust"):
            paper = _regression(dt.regression, method=method, constants="paper", epsilon=60.0, delta=0.3)
            printed = (f"regression {method}", "DL09 as printed")
            yield PublicCall(
                "regression", paper, here, there, Loss(60.0, 0.3), printed, f"{method}, paper's constants", (0, 200)
            )
    corners = np.array([[0.1, 0.1], [0.9, 0.9]])[np.arange(30) % 2]
    strayed = corners.copy()
    strayed[0] = (1.0, 0.0)
    loss = Loss(6.0, 0.01)
    for name, query in (("kmeans", "KMeans"), ("gaussian_mixture", "GaussianMixture")):
        call = _bound(getattr(dt, name), k=2, bounds=(0, 1), epsilon=loss.epsilon, delta=loss.delta)
        yield PublicCall(name, call, corners, strayed, loss, (name, query, "private pass"), "", (100, 1_000))

    spread, gone = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    cost = _bound(dt.kmeans_cost, centres=[[0.5, 0.5]], bounds=(0, 1), epsilon=LOUD)
    yield PublicCall("kmeans_cost", cost, spread, gone, Loss(LOUD), ("kmeans_cost", "KMeansCost"))


def _program_calls() -> Iterator[PublicCall]:
    import dither as dt  # noqa: PLC0415

    here, there = np.repeat([0.0, 1.0], [10, 10]), np.repeat([0.0, 1.0], [9, 11])
    for aggregator, sampling, loss in (
        ("median", "partition", Loss(LOUD)),
        ("smooth_median", "partition", Loss(LOUD)),
        ("centre", "partition", Loss(6.0, 0.01)),
        ("medoid", "partition", Loss(6.0, 0.01)),
        ("median", "overlapping", Loss(6.0)),
    ):
        call = _bound(
            dt.sample_and_aggregate,
            program=np.mean,
            bounds=(0, 1),
            blocks=20 if sampling == "partition" else 16,
            aggregator=aggregator,
            sampling=sampling,
            executor="trusted",
            epsilon=loss.epsilon,
            delta=loss.delta,
        )
        covers = ("sample_and_aggregate", "Program", f"{aggregator} of blocks", f"{sampling} blocks")
        data = (
            (np.tile(here, 20), np.concatenate([np.tile(here, 19), there]))
            if sampling == "overlapping"
            else (here, there)
        )
        yield PublicCall("sample_and_aggregate", call, *data, loss, covers, f"{aggregator}, {sampling}", (150, 1_500))
    far = np.repeat([0.0, 1.0], [58, 2]), np.repeat([0.0, 1.0], [57, 3])
    average = _bound(
        dt.sample_and_aggregate,
        program=np.mean,
        bounds=(0, 1),
        blocks=60,
        aggregator="average",
        executor="trusted",
        epsilon=8.0,
        delta=0.05,
    )
    averaged = ("sample_and_aggregate", "average of blocks", "certified average")
    yield PublicCall(
        "sample_and_aggregate", average, *far, Loss(8.0, 0.05), averaged, "average, partition", (100, 1_000)
    )
    sets = _bound(
        dt.sample_and_aggregate,
        program=_two_points,
        output=2,
        metric=dt.Matching(2),
        bounds=(0, 1),
        blocks=20,
        aggregator="centre",
        executor="trusted",
        epsilon=6.0,
        delta=0.01,
    )
    matched = ("Matching", "centre of blocks")
    yield PublicCall("sample_and_aggregate", sets, here, there, Loss(6.0, 0.01), matched, "sets of points", (100, 800))

    circled = _bound(
        dt.sample_and_aggregate,
        program=_two_points,
        output=2,
        bounds=(0, 1),
        blocks=20,
        aggregator="unconstrained_centre",
        executor="trusted",
        epsilon=6.0,
    )
    around = ("sample_and_aggregate", "unconstrained_centre of blocks")
    yield PublicCall("sample_and_aggregate", circled, here, there, Loss(6.0), around, "smallest circle", (100, 800))
    own = _bound(
        dt.sample_and_aggregate,
        program=_two_points,
        output=2,
        metric=dt.OwnMetric(_widest, l2_per_unit=1.5),
        bounds=(0, 1),
        blocks=20,
        aggregator="centre",
        executor="trusted",
        epsilon=6.0,
        delta=0.01,
    )
    owned = ("OwnMetric", "centre of blocks")
    yield PublicCall("sample_and_aggregate", own, here, there, Loss(6.0, 0.01), owned, "own metric", (100, 800))
    voted = _bound(
        dt.sample_and_aggregate,
        program=_order,
        space=dt.Rankings("abc"),
        blocks=20,
        executor="trusted",
        epsilon=6.0,
        confidence=None,
    )
    drawn = ("sample_and_aggregate", "Rankings", "medoid of blocks")
    yield PublicCall("sample_and_aggregate", voted, here, there, Loss(6.0), drawn, "rankings", (150, 1_500))


def _widest(item: Any, other: Any) -> float:
    return float(np.abs(item - other).max())


def _order(block: Any) -> str:
    return "abc" if block[0] > 0.5 else "bca"


def _two_points(block: Any) -> Any:
    return [float(np.min(block)), float(np.max(block))]


def _workload_calls() -> Iterator[PublicCall]:
    """Families of counting queries, by every mechanism: a record that changes as many answers as any can."""
    import dither as dt  # noqa: PLC0415

    yield from _free_counts(dt)
    few, other, far = [0, 0, 1, 2], [0, 1, 1, 2], [2, 0, 1, 2]
    bits, flipped = np.array([[0, 0], [1, 1], [0, 1]], dtype=bool), np.array([[1, 1], [1, 1], [0, 1]], dtype=bool)
    bins: dict[str, Any] = {"categories": [0, 1, 2]}
    families: dict[str, tuple[dict[str, Any], Any, Any]] = {
        "points": ({"family": "points", **bins}, few, other),
        "thresholds": ({"family": "thresholds", **bins}, few, far),
        "predicates": ({"family": [lambda v: v == 0, lambda v: v in (0, 1)], **bins}, few, far),
        "attribute_means": ({}, bits, flipped),
        "conjunctions": ({"family": "conjunctions"}, bits, flipped),
    }
    ways = {"worst_case": ("laplace", 0.0), "noisy_histogram": ("auto", 0.0), "k_norm": ("auto", 0.0)}
    for name, (asked, here, there) in families.items():
        for mechanism, noise, delta in (*((key, *way) for key, way in ways.items()), ("worst_case", "gaussian", 0.01)):
            options = {"mechanism": mechanism, "noise": noise, "delta": delta}
            call = _bound(dt.counting_queries, epsilon=LOUD, **asked, **options)
            loss, detail = Loss(LOUD, delta), f"{name}, {mechanism}, {noise}"
            covers = ("counting_queries", "CountingQueries", mechanism)
            yield PublicCall(
                "counting_queries", call, here, there, loss, covers, detail, (0, 600), lambda item: numbers(item.value)
            )


def _free_counts(dt: Any) -> Iterator[PublicCall]:
    """Several counts of one histogram, as one release that cost what the histogram did."""

    def counted(data: Any) -> Any:
        bins = dt.histogram(data, edges=[0, 4, 8], epsilon=LOUD)
        return tuple(dt.count_from(bins, of).value for of in (["0 to 4"], ["4 to 8"], lambda _: True))

    here, there = [0, 0, 0, 8, 8], [0, 0, 8, 8, 8]
    yield PublicCall("count_from", counted, here, there, Loss(LOUD), ("count_from",), runs=(150, 1_500))


def _metric_calls() -> Iterator[PublicCall]:
    """Randomised response, flipped bits, and functions of the owner's own."""
    import dither as dt  # noqa: PLC0415
    from dither.statistics.distances import brute_distance  # noqa: PLC0415

    spends = Loss(LOUD)
    yield PublicCall(
        "flip_bits",
        _bound(dt.flip_bits, epsilon=LOUD),
        [0, 1, 1],
        [1, 1, 1],
        spends,
        ("flip_bits",),
        flat=lambda answer: numbers(np.asarray(answer.value, dtype=float)),
    )
    space = dt.MetricSpace.of(range(5), lambda a, b: abs(a - b))
    near = _bound(dt.metric_release, space=space, epsilon=LOUD, sensitivity=1)
    yield PublicCall("metric_release", near, 1, 2, spends, ("metric_release", "MetricRelease", "MetricSpace"))
    for norm in ("l1", "l2", "linf"):
        call = _bound(dt.norm_release, epsilon=LOUD, sensitivity=1, norm=norm)
        yield PublicCall(
            "norm_release", call, [0, 0], [0, 1], spends, ("norm_release", "NormRelease"), norm, (150, 1_500)
        )
    sampled = _bound(dt.low_sample_release, reads=0.1, within=0.5, chance=0.9, epsilon=LOUD)
    yield PublicCall(
        "low_sample_release",
        sampled,
        [0.0],
        [1.0],
        spends,
        ("low_sample_release", "LowSampleRelease", "sample_sensitivity"),
    )
    distance = brute_distance(lambda x: sum(x) == 0, domain=(0, 1))
    property_ = _bound(dt.distance_to_property, distance=distance, epsilon=LOUD)
    yield PublicCall(
        "distance_to_property", property_, (0, 1, 1), (1, 1, 1), spends, ("distance_to_property", "DistanceToProperty")
    )
    reports = _bound(dt.randomized_response, epsilon=LOUD)
    yield PublicCall(
        "randomized_response",
        reports,
        [True, False],
        [False, False],
        spends,
        ("randomized_response",),
        flat=lambda answer: numbers(np.asarray(answer.reports, dtype=float)),
    )


def _bound(function: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    """A call of one argument."""
    return lambda data: function(data, **options)


def _regression(function: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    return lambda data: function(data[:, 0], data[:, 1], **options)
