"""Tables: private medians of a large Parquet file beside DuckDB's own exact ones, in time and memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, Data, Dataset, MeasuringEffort, Way

GROUPS = 1_000
SIZES = {False: (3_000_000, 10_000_000, 30_000_000), True: (300_000, 1_000_000, 3_000_000)}


def pay_file(rows: int, index: int, folder: Path) -> Dataset:
    """Lognormal pay, uniform jobs."""
    import duckdb  # noqa: PLC0415  (only where a file is made)

    path = folder / "pay.parquet"
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    rows_of_pay = duckdb.sql(
        f"SELECT exp(10.9 + 0.7 * {normal}) AS pay, (floor(random() * {GROUPS}))::INT AS job "  # noqa: S608
        f"FROM range({int(rows)})"
    )
    if rows_of_pay is None:
        raise RuntimeError("DuckDB made no rows")
    rows_of_pay.write_parquet(str(path))
    return {"path": str(path)}


def comparisons(quick: bool) -> list[Comparison]:
    """One median at several sizes, and the medians of a thousand groups at the largest."""
    sizes = SIZES[quick]
    effort = MeasuringEffort(5 if quick else 7, 1, 0.0)
    found = []
    for size in sizes:
        largest = size == sizes[-1]
        data = Data(f"pay {size}", partial(pay_file, size))
        for by in (None, "job") if largest else (None,):
            options = {"rows": size, "groups": GROUPS, "epsilon": 1.0, "by": by}
            limit = 1.0 if by is None else 3.0
            found.append(
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
    return found


AREA = Area("tables", "Tables", comparisons)
