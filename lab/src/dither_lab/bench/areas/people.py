"""People: statements over the linked tables of TPC-H, customers protected, beside the plain statements of DuckDB.

No bounds and no limits are declared: how much one customer may contribute is found by private draws, paid for by the
same epsilon.  Averages are left out: they follow from the sums and the count of the same statement at no further loss.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from dither_lab.bench.design import ORACLE, OURS, Area, Asked, Comparison, Data, DataMissing, MeasuringEffort, Way
from dither_lab.bench.peers import Peer, clean_environment, default_home, ensure, last_line

GENERATOR = Peer("tpchgen", "tpchgen-cli", "sysconfig", "generates tables")
"""A program without a module of its own."""
SMALL, FULL = "0.1", "1"
CUSTOMER = "change all rows of one customer, in all tables"
MILLION = 1_000_000
ITEMS_OF_CUSTOMERS = "lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey"
REVENUE = "sum(l_extendedprice * (1 - l_discount)) AS revenue"
STATEMENTS = {
    "Q1": (
        "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS base_price, "
        "sum(l_extendedprice * (1 - l_discount)) AS discounted, "
        "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge, count(*) AS items "
        "FROM lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus"
    ),
    "Q3": (
        f"SELECT o_orderpriority, {REVENUE} FROM {ITEMS_OF_CUSTOMERS} "  # noqa: S608
        "WHERE c_mktsegment = 'BUILDING' AND o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15' "
        "GROUP BY o_orderpriority"
    ),
    "Q5": (
        f"SELECT n_name, {REVENUE} FROM {ITEMS_OF_CUSTOMERS} "  # noqa: S608
        "JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey "
        "WHERE r_name = 'ASIA' AND o_orderdate >= '1994-01-01' AND o_orderdate < '1995-01-01' GROUP BY n_name"
    ),
    "Q6": (
        "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem "
        "WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01' "
        "AND l_discount >= 0.05 AND l_discount <= 0.07 AND l_quantity < 24"
    ),
    "Q12": (
        "SELECT l_shipmode, o_orderpriority, count(*) AS items "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        "AND l_receiptdate >= '1994-01-01' AND l_receiptdate < '1995-01-01' GROUP BY l_shipmode, o_orderpriority"
    ),
}
"""Shaped like those of the benchmark, with groups that anybody may know."""
CUSTOMER_OF = {
    name: statement
    if "orders" in statement
    else statement.replace("FROM lineitem", "FROM lineitem JOIN orders ON l_orderkey = o_orderkey")
    for name, statement in STATEMENTS.items()
}
"""The same, with the customer of every row at hand."""
KEYS = {"Q1": 2, "Q3": 1, "Q5": 1, "Q6": 0, "Q12": 2}
"""How many of their columns are keys of groups."""
TABLES = ("customer", "orders", "lineitem", "nation", "region")
OPENING = {"first statement, opening files included": True, "further statements": False}
"""Whether files are opened for a statement, of both sides: then whether keys repeat is asked too."""


def tpch(scale: str, index: int, folder: Path) -> dict[str, str | np.ndarray]:
    """The tables, and what plain statements say: of each the keys of its groups, their rows, and the numbers."""
    known = folder / "plain.json"
    if not known.exists():
        _generate(scale, folder)
        known.write_text(json.dumps({name: _plain(name, folder) for name in STATEMENTS}))
    dataset: dict[str, str | np.ndarray] = {"folder": str(folder)}
    for name, parts in json.loads(known.read_text()).items():
        dataset |= {f"{name} {part}": np.array(values) for part, values in parts.items()}
    return dataset


def _generate(scale: str, folder: Path) -> None:
    standing = ensure(GENERATOR, default_home())
    if standing.python is None:
        raise DataMissing(f"the generator of TPC-H: {standing.reason}")
    program = standing.python.parent / GENERATOR.package
    for table in TABLES:
        done = subprocess.run(
            [str(program), "parquet", "--scale-factor", scale, "--tables", table, "--output-dir", str(folder)],
            capture_output=True,
            text=True,
            check=False,
            env=clean_environment(),
        )
        if done.returncode != 0:
            raise DataMissing(f"the generator of TPC-H: {last_line(done.stderr)}")


def _plain(name: str, folder: Path) -> dict[str, list[str] | list[int] | list[float] | list[list[float]]]:
    import duckdb  # noqa: PLC0415  (only where data are made)

    keys, statement = KEYS[name], STATEMENTS[name]
    with duckdb.connect() as connection:
        for table in TABLES:
            connection.read_parquet(str(folder / f"{table}.parquet")).create_view(table)
        rows = connection.sql(statement).fetchall()
        largest = connection.sql(_largest_share(name)).fetchall()
        counted = connection.sql(statement.replace("SELECT ", "SELECT count(*) AS n, ", 1)).fetchall()
    sizes = {tuple(row[1 : 1 + keys]): row[0] for row in counted}
    return {
        "groups": ["|".join(map(str, row[:keys])) for row in rows],
        "rows": [sizes[tuple(row[:keys])] for row in rows],
        "truth": [[float(number) for number in row[keys:]] for row in rows],
        "largest": [float(number) for number in largest[0]],
    }


def _largest_share(name: str) -> str:
    """How much the cells of each column change together, at the most, when one customer's rows are taken out."""
    keys, statement = KEYS[name], CUSTOMER_OF[name].replace("SELECT ", "SELECT o_custkey, ", 1)
    statement = f"{statement}, o_custkey" if keys else f"{statement} GROUP BY o_custkey"
    columns = [part.split(",")[0].split(" ")[0] for part in STATEMENTS[name].split(" FROM ")[0].split(" AS ")[1:]]
    summed = ", ".join(f"sum(abs({column})) AS {column}" for column in columns)
    largest = ", ".join(f"max({column})" for column in columns)
    return f"SELECT {largest} FROM (SELECT {summed} FROM ({statement}) GROUP BY o_custkey)"  # noqa: S608


def largest_error(
    answer: list[float], data: Mapping[str, np.ndarray], *, name: str, above: int = 0, below: int = 1 << 62
) -> float:
    """The largest relative error, in percent, of the cells of groups of such sizes."""
    truth, rows = np.asarray(data[f"{name} truth"]), np.asarray(data[f"{name} rows"])
    errors = np.abs(np.asarray(answer).reshape(truth.shape) - truth) / np.abs(truth)
    return 100.0 * float(errors[(rows > above) & (rows <= below)].max())


ARCHIVED: dict[str, tuple[str, slice, tuple[float, ...]]] = {
    "Q1/sums": ("Q1", slice(0, 4), (4.4604649683799, 2.07033197006548, 2.90215455116656)),
    "Q1/counts": ("Q1", slice(4, 5), (15.9892158396585, 18.569240975927, 29.173839866204)),
    "Q5/revenue": ("Q5", slice(0, 1), (0.3106, 0.1674, 0.2546)),
    "Q6/revenue": ("Q6", slice(0, 1), (0.0112, 0.0369, 0.0094)),
}
"""The median over cells of the relative error, in percent, in the three runs that cwida/privacy archived.

benchmark/results/paper/dp_tpch_utility_raw.csv of its repository, 22 July 2026: mode dp_sass with 512 samples, the most
accurate of those it lists, at epsilon 1 and delta 1e-6, customers protected, scale 30, bounds "oracle-like" as it says.
"""


def median_error(answer: list[float], data: Mapping[str, np.ndarray], *, name: str, columns: slice) -> float:
    """The median over the cells of some columns of the relative error, in percent."""
    truth = np.asarray(data[f"{name} truth"])
    errors = np.abs(np.asarray(answer).reshape(truth.shape) - truth) / np.abs(truth)
    return 100.0 * float(np.median(errors[:, columns]))


def median_width(answer: list[float], data: Mapping[str, np.ndarray], *, name: str) -> float:
    """The median over all cells of the half-width over the true answer, in percent."""
    truth = np.asarray(data[f"{name} truth"])
    return 100.0 * float(np.median(np.asarray(answer).reshape(truth.shape) / np.abs(truth)))


def _oracle(task: str, options: Mapping[str, object]) -> Way:
    """Whoever knows what the largest customer contributes: each column has its part of epsilon, groups share it."""
    return Way(OURS, task, ORACLE, options, note="customers taken out; epsilon in equal parts for the columns")


def _archived(scale: str) -> list[Comparison]:
    """Beside what a DuckDB extension that fits noise to the data has published; it is not run here."""
    return [
        Comparison(
            name=f"median cell/{title}",
            what=f"median relative error of a cell, {title}: {name}-shaped statement of TPC-H at scale {scale}",
            data=_tables(scale),
            ours=Way(
                OURS,
                "statement",
                "private limits, no bounds",
                {"name": name, "statement": STATEMENTS[name], "epsilon": 1.0},
            ),
            others=(
                Way(
                    OURS,
                    "archived",
                    "cwida/privacy, archived at scale 30",
                    {"name": name, "percent": median(runs)},
                    note="delta 1e-6 on top, bounds around the true answers; median of three archived runs",
                ),
            ),
            measures=("error",),
            guarantee="epsilon 1 for the statement",
            neighbours=CUSTOMER,
            score=partial(median_error, name=name, columns=columns),
            quantity="relative error",
            unit="%",
            centre="median",
            effort=MeasuringEffort(10, 1, 0.0),
        )
        for title, (name, columns, runs) in ARCHIVED.items()
    ]


def comparisons(quick: bool) -> list[Comparison]:
    """Of every statement the error by cell, and the time; what was promised is about the full size."""
    # Named by its scale: a quick run is compared with the record of the same tables.
    small = [replace(item, name=f"scale {SMALL}/{item.name}", asked=()) for item in _statements(SMALL)]
    return small if quick else [*_statements(FULL), *_archived(FULL), *small]


def _tables(scale: str) -> Data:
    """The same tables many times: errors have intervals."""
    draws = 80 if scale == FULL else 10
    return Data(f"TPC-H {scale}", partial(tpch, scale), draws, f"TPC-H at scale {scale}, by tpchgen-cli")


def _statements(scale: str) -> list[Comparison]:
    is_full = scale == FULL
    large, data = MILLION if is_full else MILLION // 10, _tables(scale)
    listed: list[Comparison] = []
    for name, statement in STATEMENTS.items():
        options = {"name": name, "statement": statement, "epsilon": 1.0}
        ours = Way(OURS, "statement", "private limits, no bounds", options)
        both = Comparison(
            name=name,
            what=f"{name}-shaped statement over the tables of TPC-H at scale {scale}",
            data=data,
            ours=ours,
            guarantee="epsilon 1 for the statement",
            neighbours=CUSTOMER,
            unit="%",
            centre="median",
        )
        classes: list[tuple[str, int, int, float | None]] = [("all groups", 0, 1 << 62, None)]
        if name == "Q1":
            classes = [
                (f"groups above {large:,} rows", large, 1 << 62, 2.0),
                ("the smallest group", 0, large // 4, 15.0),
            ]
        for title, above, below, limit in classes:
            listed.append(
                replace(
                    both,
                    name=f"{name}/{title}",
                    what=f"largest relative error of a cell, {title}: {both.what}",
                    measures=("error",),
                    others=(_oracle("oracle", options),),
                    score=partial(largest_error, name=name, above=above, below=below),
                    quantity="relative error",
                    # The cell next to its limit has the most draws.
                    effort=MeasuringEffort(10 if above or limit is None else data.count, 1, 0.0),
                    asked=() if limit is None else (Asked("error", limit, of="ours"),),
                )
            )
        listed.append(
            replace(
                both,
                name=f"{name}/half-width",
                what=f"half-width of the 95% interval of the median cell: {both.what}",
                ours=replace(ours, task="half_widths"),
                others=(_oracle("oracle_half_widths", options),),
                measures=("error",),
                score=partial(median_width, name=name),
                quantity="half-width over the answer",
                effort=MeasuringEffort(10, 1, 0.0),
            )
        )
        for title, opens in OPENING.items():
            timed = {**options, "opens": opens}
            listed.append(
                replace(
                    both,
                    name=f"{name} time/{title}",
                    what=f"{both.what}, {title}",
                    measures=("time",) if opens else ("time", "memory"),
                    data=replace(data, count=1),
                    ours=replace(ours, options=timed),
                    others=(Way("DuckDB", "statement", options=timed, note="exact, not private"),),
                    effort=MeasuringEffort(7 if is_full else 5, 1, 0.0),
                    asked=(Asked("time", 3.0),),
                )
            )
    return listed


AREA = Area("people", "People", comparisons)
