"""Quoted and measured errors: matching priors, five distributions, several statistics and prices.

``python lab/benchmarks/quotes.py [draws]``: expected error as quoted with the prior and without one, the mean error
measured over fresh samples, their ratio, and the share of errors within the quoted 95% bound.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import dither as dt
from dither.session.plan import plan
from dither.sources.column import Column

BOUNDS = (0, 600_000)
ROWS = 20_000
_old = np.concatenate(
    [
        np.random.default_rng(1).normal(30_000, 4_000, 5_000),
        np.full(2_500, 52_000.0),
        np.random.default_rng(2).lognormal(np.log(90_000), 0.5, 2_500),
    ]
)

DISTRIBUTIONS = {
    "lognormal": (dt.Lognormal(70_000, 0.8), lambda r, n: r.lognormal(np.log(70_000), 0.8, n)),
    "normal": (dt.Normal(300_000, 50_000), lambda r, n: r.normal(300_000, 50_000, n)),
    "uniform": (dt.Uniform(0, 500_000), lambda r, n: r.uniform(0, 500_000, n)),
    "exponential": (dt.Exponential(60_000), lambda r, n: r.exponential(60_000, n)),
    "mixture, ties": (dt.PublicSample(_old), lambda r, n: r.choice(_old, n) + r.normal(0, 20, n).round(-2)),
}
QUERIES = [
    dt.Median("pay"),
    dt.Quantile("pay", q=0.9),
    dt.Minimum("pay"),
    dt.Maximum("pay"),
    dt.IQR("pay"),
    dt.TrimmedMean("pay"),
    dt.Mean("pay"),
    dt.Quantiles("pay", q=[0.25, 0.5, 0.75]),
]


def measured(query: dt.Median, schema: dt.Schema, make: object, draws: int, **options: object) -> np.ndarray:
    """|answer - statistic|, one row for each draw; ten draws from each sample."""
    planned = plan(query, schema, **options)
    statistic, grid = planned.statistic, getattr(planned.statistic, "grid", planned.grid)
    step = getattr(statistic.answers, "step", None) or statistic.answers[0].step
    errors = []
    for number in range(-(-draws // 10)):
        records = make(np.random.default_rng(1000 + number), ROWS)
        data = Column(grid.quantise(records, 0), grid)
        true = np.atleast_1d(statistic.values(data) if hasattr(statistic, "values") else statistic.value(data))
        drawn = [np.atleast_1d(planned.prepared.run(data).answer) for _ in range(10)]
        errors += [np.abs(item - true) * float(step) for item in drawn]
    return np.array(errors, dtype=float)


def main(draws: int) -> None:
    """Print the table."""
    schemas = {
        "rows public": dt.Schema("-", {"pay": dt.Real(*BOUNDS)}, rows=ROWS),
        "rows private": dt.Schema("-", {"pay": dt.Real(*BOUNDS)}),
    }
    print(
        f"{'statistic':16} {'prior':14} {'rows':12} eps  {'mechanism':10} {'quoted':>11} {'measured':>11} ratio "
        f"in 95%  {'for all data':>12}  ms"
    )
    worst = 1.0
    for known, schema in schemas.items():
        for query in QUERIES:
            for name, (prior, make) in DISTRIBUTIONS.items():
                for epsilon in (0.1, 1.0):
                    started = time.perf_counter()
                    options = {"epsilon": epsilon, "confidence": None}
                    try:
                        quote = dt.quote(query, schema, prior=prior, rows=ROWS, **options)
                    except dt.NotProved:
                        continue
                    spent = time.perf_counter() - started
                    bound = dt.quote(query, schema, mechanism=quote.mechanism, **options)
                    # Joint draws take a hundred times as long.
                    count = draws // 5 if isinstance(query, dt.Quantiles) else draws
                    errors = measured(query, schema, make, count, mechanism=quote.mechanism, **options)
                    result = errors.mean(axis=0)
                    # Errors below a dollar (at ties) are not compared.
                    ratios = np.maximum(np.atleast_1d(quote.expected_error), 1.0) / np.maximum(result, 1.0)
                    ratio = max(ratios, key=lambda item: abs(np.log(item)))
                    within = np.mean(errors <= np.atleast_1d(quote.bound))
                    worst = max(worst, ratio, 1 / ratio)
                    print(
                        f"{query.kind[:16]:16} {name:14} {known:12} {epsilon:<4g} {quote.mechanism:10} "
                        f"{quote.worst_expected:11,.2f} {result.max():11,.2f} {ratio:5.2f} {within:6.1%}  "
                        f"{bound.worst_expected:12,.1f} {1000 * spent:4.0f}"
                    )
    print(f"farthest from 1: a factor {worst:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
