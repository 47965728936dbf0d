"""Tables: private medians of a large Parquet file beside DuckDB's own exact ones, in time and memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, Data, Dataset, MeasuringEffort, Way

GROUPS = 1_000
SIZES = {False: (3_000_000, 10_000_000, 30_000_000), True: (300_000, 1_000_000, 3_000_000)}


STATISTICS = {"mean": 2.0, "variance": 2.0, "maximum": None, "trimmed_mean": None, "quantiles": None}
"""Each with the ratio that was asked for, if any."""


def pay_file(rows: int, index: int, folder: Path) -> Dataset:
    """Lognormal pay, uniform jobs."""
    import duckdb  # noqa: PLC0415  (only where a file is made)

    path = folder / "pay.parquet"
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    rows_of_pay = duckdb.sql(
        f"SELECT exp(10.9 + 0.7 * {normal}) AS pay, (floor(random() * {GROUPS}))::INT AS job, "  # noqa: S608
        "(floor(random() * 20))::INT AS team "
        f"FROM range({int(rows)})"
    )
    if rows_of_pay is None:
        raise RuntimeError("DuckDB made no rows")
    rows_of_pay.write_parquet(str(path))
    return {"path": str(path)}


def csv_file(rows: int, index: int, folder: Path) -> Dataset:
    """The same rows as a CSV file."""
    import duckdb  # noqa: PLC0415  (only where a file is made)

    made = pay_file(rows, index, folder)
    path = folder / "pay.csv"
    duckdb.read_parquet(str(folder / "pay.parquet")).write_csv(str(path))
    return made | {"path": str(path)}


def others(quick: bool) -> list[Comparison]:
    """Other statistics of a Parquet file, six of them by twenty groups in one statement, and a median of a CSV file."""
    size = 2_000_000
    effort = MeasuringEffort(5 if quick else 7, 1, 0.0)
    parquet, csv = Data(f"pay {size}", partial(pay_file, size)), Data(f"pay csv {size}", partial(csv_file, size))
    rows = [
        *((name, f"{name} of {size:,} rows of Parquet", parquet, limit) for name, limit in STATISTICS.items()),
        ("statement", f"six statistics by twenty groups of {size:,} rows, one statement", parquet, 1.5),
        ("csv_median", f"median of {size:,} rows of CSV", csv, 1.5),
    ]
    options = {"rows": size, "groups": GROUPS, "epsilon": 1.0, "by": None}
    return [
        Comparison(
            name=f"{name}/{size}",
            what=what,
            data=data,
            ours=Way(OURS, name, "private, with an interval", options),
            others=(Way("DuckDB", name, options=options, note="exact, not private"),),
            measures=("time",),
            guarantee="epsilon 1 (the peer has none)",
            neighbours=CHANGE_ONE,
            effort=effort,
            asked=() if quick or limit is None else (Asked("time", limit),),
            size=size,
        )
        for name, what, data, limit in rows
    ]


def comparisons(quick: bool) -> list[Comparison]:
    """One median at several sizes, the medians of a thousand groups at the largest, and other work."""
    sizes = SIZES[quick]
    effort = MeasuringEffort(5 if quick else 7, 1, 0.0)
    results = []
    for size in sizes:
        largest = size == sizes[-1]
        data = Data(f"pay {size}", partial(pay_file, size))
        for by in (None, "job") if largest else (None,):
            options = {"rows": size, "groups": GROUPS, "epsilon": 1.0, "by": by}
            limit = 1.0 if by is None else 3.0
            results.append(
                Comparison(
                    name=f"{'median' if by is None else 'grouped'}/{size}",
                    what=f"median of {size:,} rows of Parquet"
                    if by is None
                    else f"medians of {GROUPS:,} groups of {size:,} rows",
                    data=data,
                    ours=Way(OURS, "median", "private, with a bar", options),
                    others=(Way("DuckDB", "median", options=options, note="exact, not private"),),
                    measures=("time", "memory") if largest else ("time",),
                    guarantee="epsilon 1 (the peer has none)",
                    neighbours=CHANGE_ONE,
                    effort=effort,
                    asked=(Asked("time", limit),) if largest and not quick else (),
                    series="median of a Parquet file" if by is None else None,
                    size=size,
                )
            )
    return [*results, *others(quick)]


AREA = Area("tables", "Tables", comparisons)
