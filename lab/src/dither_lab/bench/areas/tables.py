"""Tables: private medians of a large Parquet file beside DuckDB's own exact ones, in time and memory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, Data, Dataset, MeasuringEffort, Way

GROUPS = 1_000
SIZES = {False: (3_000_000, 10_000_000, 30_000_000), True: (300_000, 1_000_000, 3_000_000)}
OTHERS = {False: 10_000_000, True: 2_000_000}
"""Rows of what is asked at one size alone."""
HUGE = {False: 100_000_000, True: 3_000_000}
GROWTH = (100_000, 1_000_000, 100_000_000)
"""More sizes of which only the time is measured, for how it grows."""
GROUPINGS = (10, 100, 1_000, 10_000)
"""Numbers of groups of one table."""

AGGREGATES = {"mean": 2.0, "sum": 2.0, "variance": 2.0}
STATISTICS = {"maximum": None, "trimmed_mean": None, "quantiles": None}
"""Each with the ratio that was asked for, if any."""


def pay_file(rows: int, index: int, folder: Path, groups: int = GROUPS) -> Dataset:
    """Lognormal pay, uniform jobs."""
    import duckdb  # noqa: PLC0415  (only where a file is made)

    path = folder / "pay.parquet"
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    rows_of_pay = duckdb.sql(
        f"SELECT exp(10.9 + 0.7 * {normal}) AS pay, (floor(random() * {int(groups)}))::INT AS job, "  # noqa: S608
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


def _comparison(
    name: str,
    task: str,
    what: str,
    data: Data,
    size: int,
    *,
    rounds: int,
    limit: Asked | None = None,
    by: str | None = None,
    measures: tuple[str, ...] = ("time",),
    clock: str | None = None,
    series: str | None = None,
    groups: int = GROUPS,
) -> Comparison:
    options = {"rows": size, "groups": groups, "epsilon": 1.0, "by": by}
    return Comparison(
        name=f"{name}/{size}",
        what=what,
        data=data,
        ours=Way(OURS, task, "private, with an interval", options),
        others=(Way("DuckDB", task, options=options, note="exact, not private"),),
        measures=measures,
        guarantee="epsilon 1 (the peer has none)",
        neighbours=CHANGE_ONE,
        effort=MeasuringEffort(rounds, 1, 0.0),
        asked=() if limit is None else (limit,),
        clock=clock,
        series=series,
        size=size,
    )


def _pay(rows: int) -> Data:
    return Data(f"pay {rows}", partial(pay_file, rows))


def comparisons(quick: bool) -> list[Comparison]:
    """Medians at several sizes, by both clocks at the largest; other statistics, groups, a statement, a CSV file."""
    rounds = 5 if quick else 7
    results = []
    for size in SIZES[quick]:
        data, largest = _pay(size), size == SIZES[quick][-1]
        what = f"median of {size:,} rows of Parquet"
        limit = Asked("time", 1.0) if largest else None
        measures = ("time", "memory") if largest else ("time",)
        clock = "processor" if largest else None
        results.append(
            _comparison(
                "median",
                "median",
                what,
                data,
                size,
                rounds=rounds,
                limit=limit,
                measures=measures,
                clock=clock,
                series="median of a Parquet file",
            )
        )
        if not largest:
            continue
        wall = f"{what}, by the wall clock"
        results.append(
            _comparison("wall", "median", wall, data, size, rounds=rounds, limit=Asked("time", 0.8), clock="wall")
        )
        groups = f"medians of {GROUPS:,} groups of {size:,} rows"
        results.append(
            _comparison("grouped", "median", groups, data, size, rounds=rounds, limit=Asked("time", 1.5), by="job")
        )
        results += [
            _comparison(
                name,
                name,
                f"{name} of {size:,} rows of Parquet",
                data,
                size,
                rounds=rounds,
                limit=Asked("time", most),
            )
            for name, most in AGGREGATES.items()
        ]
    listed = [*results, *_others(quick, rounds), _huge(quick), *([] if quick else _growth())]
    # What was promised is about the full sizes.
    return [replace(item, asked=()) for item in listed] if quick else listed


def _others(quick: bool, rounds: int) -> list[Comparison]:
    size = OTHERS[quick]
    parquet, csv = _pay(size), Data(f"pay csv {size}", partial(csv_file, size))
    rows = [
        *((name, f"{name} of {size:,} rows of Parquet", parquet, limit) for name, limit in STATISTICS.items()),
        ("statement", f"six statistics by twenty groups of {size:,} rows, one statement", parquet, 1.5),
        ("csv_median", f"median of {size:,} rows of CSV", csv, 1.5),
    ]
    return [
        _comparison(
            name,
            name,
            what,
            data,
            size,
            rounds=rounds,
            limit=None if limit is None else Asked("time", limit),
        )
        for name, what, data, limit in rows
    ]


def _growth() -> list[Comparison]:
    """Times alone, of tables of more sizes and by more groups."""
    series, named = "median of a Parquet file", "median of {:,} rows of Parquet"
    sizes = [
        _comparison("median", "median", named.format(size), _pay(size), size, rounds=3, series=series)
        for size in GROWTH
    ]
    rows = OTHERS[False]
    groupings = [
        replace(
            _comparison(
                "groups",
                "median",
                f"medians of {groups:,} groups of {rows:,} rows",
                Data(f"pay by {groups}", partial(pay_file, rows, groups=groups)),
                rows,
                rounds=3,
                by="job",
                groups=groups,
                series="medians by groups",
            ),
            name=f"groups/{groups}",
            size=groups,
        )
        for groups in GROUPINGS
    ]
    return sizes + groupings


def _huge(quick: bool) -> Comparison:
    """The memory of one median, above that of a process that has answered a median of a thousand rows."""
    size = HUGE[quick]
    return _comparison(
        "huge",
        "median_after_another",
        f"median of {size:,} rows of Parquet, in a process that has answered one of 1,000",
        _pay(size),
        size,
        rounds=2,
        limit=Asked("memory", 300.0, of="ours"),
        measures=("memory",),
    )


AREA = Area("tables", "Tables", comparisons)
