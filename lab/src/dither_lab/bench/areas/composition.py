"""Composition: the epsilon that many releases cost together at the same delta, and the time to find out."""

from __future__ import annotations

from dither_lab.bench.areas.noise import NOTHING
from dither_lab.bench.design import OURS, Area, Asked, Comparison, MeasuringEffort, Way

INTERVAL = 1e-4
"""dp-accounting's own default for the grid of losses."""


def _epsilon(answer: float, data: object) -> float:
    return float(answer)


def _comparison(
    name: str,
    what: str,
    task: str,
    options: dict[str, object],
    others: tuple[Way, ...],
    *,
    quick: bool,
    limit: float | None = None,
    size: int | None = None,
    series: str | None = None,
) -> Comparison:
    return Comparison(
        name=name,
        what=what,
        data=NOTHING,
        ours=Way(OURS, task, options=options),
        others=others,
        measures=("error", "time"),
        guarantee=f"delta {options['delta']:g} in all",
        neighbours="any",
        score=_epsilon,
        quantity="epsilon",
        effort=MeasuringEffort(5 if quick else 9, 5, 0.2),
        asked=() if limit is None else (Asked("error", limit, of="ours"),),
        size=size,
        series=series,
    )


def _others(options: dict[str, object], *, pure: bool, with_peers: bool = True) -> tuple[Way, ...]:
    without = None if pure else "its conversion to zCDP takes pure prices only"
    ways = [Way("dp-accounting", "compose", options=options), Way("diffprivlib", "compose", options=options)]
    if with_peers:
        ways.append(Way("OpenDP", "compose", options=options, absent=without, note="through zCDP"))
    return tuple(ways)


def comparisons(quick: bool) -> list[Comparison]:
    """Equal prices of several numbers, pure and unequal ones, Gaussian noise."""
    results = []
    for count in (10, 100, 1_000) if quick else (10, 100, 1_000, 10_000):
        options = {
            "prices": [(0.01, 1e-9, count)],
            "delta": 2e-6 if count == 1_000 else 1e-9 * count + 1e-6,
            "interval": INTERVAL,
        }
        results.append(
            _comparison(
                f"equal/{count}",
                f"{count:,} x (0.01, 1e-9)",
                "compose",
                options,
                _others(options, pure=False, with_peers=count == 1_000),
                quick=quick,
                limit=1.37 if count == 1_000 else None,
                size=count,
                series="composition of equal prices",
            )
        )
    pure = {"prices": [(0.01, 0.0, 1_000)], "delta": 1e-6, "interval": INTERVAL}
    mixed = {"prices": [(0.1, 0.0, 20), (0.02, 0.0, 200), (0.01, 0.0, 300)], "delta": 1e-6, "interval": INTERVAL}
    noise: dict[str, object] = {"sigma": 20.0, "count": 100, "delta": 1e-6, "interval": INTERVAL}
    results += [
        _comparison("pure/1000", "1,000 x 0.01", "compose", pure, _others(pure, pure=True), quick=quick),
        _comparison(
            "mixed",
            "20 x 0.1, 200 x 0.02, 300 x 0.01",
            "compose",
            mixed,
            _others(mixed, pure=True),
            quick=quick,
        ),
        _comparison(
            "gaussian/100",
            "Gaussian noise of 20 sensitivities, 100 times",
            "gaussian",
            noise,
            (Way("dp-accounting", "gaussian", options=noise), Way("OpenDP", "gaussian", options=noise)),
            quick=quick,
        ),
    ]
    return results + [_within(answers, most, quick=quick) for answers, most in (("drawn", 1_940), ("noisy", 480))]


def _within(answers: str, most: int, *, quick: bool) -> Comparison:
    """How small a part of (1, 1e-6) one of many answers takes that are chosen on the way; promised: 1/most."""
    options = {"answers": answers, "each": 0.01, "epsilon": 1.0, "delta": 1e-6}

    def way(name: str) -> Way:
        return Way(OURS, "within", f"{name} filter (ours)", {**options, "filter": name})

    return Comparison(
        name=f"within/{answers}",
        what=f"one of many {answers} answers of 0.01 within (1, 1e-6), chosen on the way",
        data=NOTHING,
        ours=way("zcdp"),
        others=(way("advanced"), way("basic")),
        measures=("error",),
        guarantee="(1, 1e-6) in all, by a filter",
        neighbours="any",
        score=_epsilon,
        quantity="share of the budget",
        effort=MeasuringEffort(3 if quick else 5, 1, 0.2),
        asked=(Asked("error", 1 / most, of="ours"),),
    )


AREA = Area("composition", "Composition", comparisons)
