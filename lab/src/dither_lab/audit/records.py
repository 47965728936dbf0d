"""Where records become numbers: what a session reads out of files and frames, against a reading of our own.

Mechanisms are private for the statistic that they are centred on.  This auditor writes tables of odd records (missing,
NaN, infinite, huge, denormal, halfway between grid points, beyond the bounds) in several formats, opens them as owners
do, and compares the value that every statistic is centred on with plain arithmetic on the declared reading; for
neighbouring tables it must move by no more than the first rung of the ladder says.  Both ways of reading are taken:
whole tables, and brackets around ranks.  An error or a warning is a finding.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither.session.session import Session
from dither.sources.engines.duckdb import DuckDB
from dither.sources.engines.engine import Engine
from dither.sources.frames import arrow
from dither.sources.schema import Schema
from dither.sources.windows import FEW_ROWS_SETTING
from dither_lab.audit.checks import Check, Effort, Evidence

LOW, HIGH, STEP = -2, 10, Fraction(1, 2)
ODD: tuple[float | None, ...] = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    -0.0,
    -2.0,
    10.0,
    0.25,
    0.75,
    2.25,
    9.75,
    10.25,
    -2.25,
)
"""What one record may be."""
QUICK = (None, math.nan, math.inf, 5.0)
"""The same for a quick audit."""
BASE: tuple[float | None, ...] = (None, math.nan, 1.0, 1.0, 4.5, 9.0, 9.0, math.nan, None, 3.0)
MOSTLY_NAN: tuple[float | None, ...] = (math.nan,) * 9 + (5.0,)
FORMATS = ("csv", "parquet", "parquet in row groups", "frame", "database", "view over parquet")
Open = Callable[[Any, str | None], Engine]
"""(source, table) -> an engine; a broken one is audited by giving another maker."""


def steps(record: float | None, missing: int) -> int:
    """The declared reading of one record, in grid steps: clamped, then rounded to the nearest, ties to even."""
    if record is None or math.isnan(record):
        return missing
    if math.isinf(record):
        return int((HIGH if record > 0 else LOW) / STEP)
    return round(min(max(Fraction(record), Fraction(LOW)), Fraction(HIGH)) / STEP)


def _trimmed(ordered: list[int]) -> Fraction:
    cut = len(ordered) // 10
    kept = ordered[cut : len(ordered) - cut]
    return Fraction(sum(kept), len(kept)) * STEP


STATISTICS: dict[str, tuple[Callable[[], Any], Callable[[list[int]], Fraction]]] = {
    "sum": (lambda: _dither().Sum("v"), lambda x: sum(x) * STEP),
    "median": (lambda: _dither().Median("v"), lambda x: x[math.ceil(len(x) / 2) - 1] * STEP),
    "minimum": (lambda: _dither().Minimum("v"), lambda x: x[0] * STEP),
    "maximum": (lambda: _dither().Maximum("v"), lambda x: x[-1] * STEP),
    "mean": (lambda: _dither().Mean("v"), lambda x: Fraction(sum(x), len(x)) * STEP),
    "trimmed mean": (lambda: _dither().TrimmedMean("v"), _trimmed),
}
"""A query, and its value on sorted steps by plain arithmetic."""


def _dither() -> Any:
    import dither as dt  # noqa: PLC0415

    return dt


def written(folder: Path, form: str, records: tuple[float | None, ...]) -> tuple[Any, str | None]:
    """A source with these records in one column: what is opened, and the table in it."""
    import duckdb  # noqa: PLC0415

    pa = arrow()
    table = pa.table({"v": pa.array(records, pa.float64())})
    if form == "frame":
        return table, None
    name = folder / {"csv": "t.csv", "database": "t.duckdb", "view over parquet": "t.duckdb"}.get(form, "t.parquet")
    name.unlink(missing_ok=True)
    if form == "csv":
        lines = ("" if record is None else repr(record) for record in records)
        name.write_text("v\n" + "".join(f"{line}\n" for line in lines))
        return name, None
    if form.startswith("parquet"):
        _to_parquet(name, table, 3 if "groups" in form else len(records))
        return name, None
    with duckdb.connect(str(name)) as connection:
        if form == "database":
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT v FROM given")
        else:
            _to_parquet(folder / "below.parquet", table, len(records))
            connection.read_parquet(str(folder / "below.parquet")).create_view("below")
            connection.execute("CREATE VIEW t AS SELECT v FROM below")
    return name, "t"


def _to_parquet(name: Path, table: Any, rows: int) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415

    pq.write_table(table, name, row_group_size=rows)


def readings(effort: Effort, maker: Open = DuckDB, forms: tuple[str, ...] = FORMATS) -> Evidence:
    """Every format, both ways of reading, odd records in every table: the first difference is the finding."""
    cases = 0
    odd = QUICK if effort.quick else ODD
    with tempfile.TemporaryDirectory() as name:
        for form, whole, base in itertools.product(forms, (True, False), (BASE, MOSTLY_NAN)):
            centres: list[dict[str, tuple[float, float]]] = []
            for record in odd:
                records = (record, *base[1:])
                with _brackets(not whole):
                    problem, result = _compared(Path(name), form, records, maker)
                cases += len(STATISTICS)
                if problem:
                    path = "read whole" if whole else "read by brackets"
                    return Evidence(False, cases=cases, note=f"{form}, {path}, one record {record!r}: {problem}")
                centres.append(result)
            problem = _too_far(centres)
            if problem:
                return Evidence(False, cases=cases, note=f"{form}: {problem}")
    return Evidence(True, cases=cases, note=f"{len(forms)} sources, read whole and by brackets")


@contextlib.contextmanager
def _brackets(forced: bool) -> Iterator[None]:
    """Within it small tables are read as large ones are, if forced."""
    before = os.environ.get(FEW_ROWS_SETTING)
    os.environ[FEW_ROWS_SETTING] = "0" if forced else "1000"
    try:
        yield
    finally:
        if before is None:
            del os.environ[FEW_ROWS_SETTING]
        else:
            os.environ[FEW_ROWS_SETTING] = before


def _compared(
    folder: Path, form: str, records: tuple[float | None, ...], maker: Open
) -> tuple[str, dict[str, tuple[float, float]]]:
    """What is wrong, and each statistic's centre with the first rung of its ladder."""
    dt = _dither()
    source, table = written(folder, form, records)
    schema = Schema(source, {"v": dt.Real(LOW, HIGH, step=STEP, nulls=1)}, "t", rows=len(records), budget=dt.Budget(1))
    ordered = sorted(steps(record, int(1 / STEP)) for record in records)
    results: dict[str, tuple[float, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            engine = maker(source, table)
            with contextlib.closing(engine):
                session = Session(schema, engine=engine)
                for name, (query, expected) in STATISTICS.items():
                    centre = dt.inspect.value(query(), session)
                    if abs(Fraction(centre) - expected(ordered)) > Fraction(1, 10**6):
                        return f"{name} is centred on {centre:g}, plain arithmetic gives {expected(ordered)}", {}
                    results[name] = (float(centre), float(dt.inspect.ladder(query(), session, rungs=1)[0]))
        except Exception as error:  # noqa: BLE001 - any error at all is the finding
            return f"{type(error).__name__}: {error}"[:200], {}
    return "", results


def _too_far(centres: list[dict[str, tuple[float, float]]]) -> str:
    """Tables that differ in one record: centres may differ by the first rung, and no more."""
    for item, other in itertools.permutations(centres, 2):
        for name, (centre, sensitivity) in item.items():
            if abs(centre - other[name][0]) > sensitivity + 1e-6:
                return f"{name} moves from {centre:g} to {other[name][0]:g} where its ladder says {sensitivity:g}"
    return ""


def record_checks() -> Iterator[Check]:
    """Files and frames of the embedded engine."""
    for form in FORMATS:

        def run(effort: Effort, form: str = form) -> Evidence:
            return readings(effort, forms=(form,))

        yield Check(
            "records", "exhaustive", run, detail=form, covers=frozenset({"records of sources"}), proof="records"
        )
