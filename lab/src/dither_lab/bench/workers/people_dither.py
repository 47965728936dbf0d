"""Statements over linked tables through a session: customers protected, no bounds and no limits declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

import dither as dt


class PrivateStatementOptions(TypedDict):
    """What is asked."""

    name: str
    statement: str
    epsilon: float
    opens: NotRequired[bool]


Tables: TypeAlias = dict[str, str | np.ndarray]
"""Where the tables are, and what plain statements say about them."""
NATIONS = [
    *("ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "CHINA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA"),
    *("INDONESIA", "IRAN", "IRAQ", "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "ROMANIA", "RUSSIA"),
    *("SAUDI ARABIA", "UNITED KINGDOM", "UNITED STATES", "VIETNAM"),
]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]


def _tables(folder: str) -> dict[str, dt.LinkedTable]:
    def day() -> dt.Date:
        return dt.Date("1992-01-01", "1998-12-31")

    def number() -> dt.Real:
        return dt.Real(None, None)

    return {
        "customer": dt.LinkedTable(
            f"{folder}/customer.parquet",
            {"c_mktsegment": dt.Category(SEGMENTS)},
            key="c_custkey",
            links={"c_nationkey": "nation"},
        ),
        "orders": dt.LinkedTable(
            f"{folder}/orders.parquet",
            {"o_orderdate": day(), "o_orderpriority": dt.Category(PRIORITIES)},
            key="o_orderkey",
            links={"o_custkey": "customer"},
        ),
        "lineitem": dt.LinkedTable(
            f"{folder}/lineitem.parquet",
            {
                **{f"l_{name}": number() for name in ("quantity", "extendedprice", "discount", "tax")},
                **{f"l_{name}date": day() for name in ("ship", "commit", "receipt")},
                "l_returnflag": dt.Category(["A", "N", "R"]),
                "l_linestatus": dt.Category(["F", "O"]),
                "l_shipmode": dt.Category(MODES),
            },
            links={"l_orderkey": "orders"},
        ),
        "nation": dt.LinkedTable(
            f"{folder}/nation.parquet",
            {"n_name": dt.Category(NATIONS)},
            key="n_nationkey",
            links={"n_regionkey": "region"},
            public=True,
        ),
        "region": dt.LinkedTable(
            f"{folder}/region.parquet", {"r_name": dt.Category(REGIONS)}, key="r_regionkey", public=True
        ),
    }


class ArchivedOptions(TypedDict):
    """A relative error that others published, in percent."""

    name: str
    percent: float


def archived(options: ArchivedOptions, data: Tables) -> Callable[[], list[float]]:
    """Cells that are off by what was published."""
    truth = np.asarray(data[f"{options['name']} truth"], dtype=float).ravel()
    return lambda: [float(cell) for cell in truth * (1.0 + options["percent"] / 100.0)]


def oracle(options: PrivateStatementOptions, data: Tables) -> Callable[[], list[float]]:
    """Cells with Laplace noise of what the largest customer contributes to their column, which is not private."""
    truth = np.asarray(data[f"{options['name']} truth"], dtype=float)
    scales, rng = _oracle_scales(options, data), np.random.default_rng()
    return lambda: [float(cell) for cell in (truth + rng.laplace(0.0, scales, truth.shape)).ravel()]


def oracle_half_widths(options: PrivateStatementOptions, data: Tables) -> Callable[[], list[float]]:
    """Half of the widths of its 95% intervals, which it knows."""
    truth = np.asarray(data[f"{options['name']} truth"], dtype=float)
    widths = np.broadcast_to(_oracle_scales(options, data) * np.log(20.0), truth.shape)
    return lambda: [float(width) for width in widths.ravel()]


def _oracle_scales(options: PrivateStatementOptions, data: Tables) -> NDArray[np.float64]:
    largest = np.atleast_1d(np.asarray(data[f"{options['name']} largest"], dtype=float))
    return largest * len(largest) / options["epsilon"]


def half_widths(options: PrivateStatementOptions, data: Tables) -> Callable[[], list[float] | None]:
    """Half of the widths of the 95% intervals of all cells of the groups that are there."""
    return _cells(options, data, _half_width)


def _half_width(release: dt.Release) -> float:
    low, high = release.interval or (0.0, 0.0)
    return float(high - low) / 2.0


def statement(options: PrivateStatementOptions, data: Tables) -> Callable[[], list[float] | None]:
    """All cells of the groups that are there, group by group; None if one of them is refused."""
    return _cells(options, data, lambda release: float(release.value))


def _cells(
    options: PrivateStatementOptions, data: Tables, number: Callable[[dt.Release], float]
) -> Callable[[], list[float] | None]:
    """A number of every cell of the groups that are there, group by group; None if one of them is refused."""
    groups, budget = np.atleast_1d(data[f"{options['name']} groups"]), dt.Budget(1e6)

    def opened() -> dt.Session:
        tables = _tables(str(data["folder"]))
        return dt.open(dt.Schema.linked(tables, person="customer", rows_per_unit="private", budget=budget))

    session = opened()

    def work() -> list[float] | None:
        asked = opened() if options.get("opens") else session
        answered = asked.sql(options["statement"], epsilon=options["epsilon"], again=True)
        releases = [answered] if isinstance(answered, dt.Release) else list(answered)
        cells: dict[str, list[float]] = {str(group): [] for group in groups}
        for release in releases:
            own = cells.get("|".join(map(str, (release.group or {}).values())))
            if own is not None and release.refused:
                return None
            if own is not None:
                own.append(number(release))
        return [number for own in cells.values() for number in own]

    return work
