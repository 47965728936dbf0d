"""What an answer reads, moves and keeps, counted in rows and bytes at several sizes, and predicted for one more.

python lab/benchmarks/scale.py [tables] [spark] [graphs] [ledger] [blocks] --json

Nothing is timed: counts are the same on every machine, up to what is drawn at random.  Each quantity has a model with
one or two constants (docs/scale.md); they are fitted at all sizes but the last, which is predicted and then counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dither as dt
from dither.sources.engines.engine import Engine

SIZES = {
    "tables": (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000),
    "spark": (300_000, 600_000, 1_200_000, 3_000_000),
    "graphs": (300_000, 1_000_000, 3_000_000, 10_000_000),
    "ledger": (100, 300, 1_000, 3_000),
    "blocks": (100, 1_000, 10_000, 100_000),
}
"""The last of each is not used to fit."""
GROUPS = 1_000
COLUMNS = {"pay": dt.Real(0, 600_000), "job": dt.Integer(0, GROUPS - 1), "team": dt.Integer(0, 19)}
STATEMENT = "SELECT median(pay), mean(pay), sum(pay), maximum(pay), quantile(pay, 0.9), count(*) FROM pay GROUP BY team"
QUESTIONS: dict[str, Callable[[Any], object]] = {  # of a session
    "median": lambda session: session.ask(dt.Median("pay"), epsilon=1.0),
    "mean": lambda session: session.ask(dt.Mean("pay"), epsilon=1.0),
    f"median of {GROUPS:,} groups": lambda session: session.ask(dt.Median("pay"), epsilon=1.0, by="job"),
    "six statistics of 20 groups": lambda session: session.sql(STATEMENT, epsilon=1.0),
}
Model = Callable[[float], float]
CONSTANT: tuple[Model, ...] = (lambda _: 1.0,)
LINEAR: tuple[Model, ...] = (lambda size: size, lambda _: 1.0)
WINDOWS: tuple[Model, ...] = (lambda size: size ** (2 / 3), lambda _: 1.0)
"""A sample of n^(2/3) records, and brackets that hold as many; the windows of ranks themselves do not grow."""
TERMS = {id(CONSTANT): ("",), id(LINEAR): ("n", ""), id(WINDOWS): ("n^(2/3)", "")}


@dataclass(frozen=True)
class Prediction:
    """One quantity: its constants, and what it is at a size that was not used to find them."""

    quantity: str
    model: str
    size: int
    predicted: float
    counted: float

    @property
    def ratio(self) -> float:
        """Counted over predicted."""
        return self.counted / self.predicted if self.predicted else 1.0


def predicted(quantity: str, model: Sequence[Model], sizes: Sequence[int], counts: Sequence[float]) -> Prediction:
    """Constants by least squares of relative errors, none of them negative."""
    from scipy.optimize import nnls  # noqa: PLC0415  (slow to load)

    weights = [1.0 / max(count, 1.0) for count in counts[:-1]]
    terms = np.array([[term(size) for term in model] for size in sizes[:-1]]) * np.array(weights)[:, None]
    constants, _ = nnls(terms, np.array(counts[:-1]) * np.array(weights))
    written = [
        f"{constant:.3g} {name}".strip()
        for constant, name in zip(constants, TERMS[id(model)], strict=True)
        if constant > 0
    ]
    at = sum(constant * term(sizes[-1]) for constant, term in zip(constants, model, strict=True))
    return Prediction(quantity, " + ".join(written) or "0", sizes[-1], float(at), float(counts[-1]))


class Traffic:
    """How many statements read the source, and what leaves the engine."""

    def __init__(self) -> None:
        self.passes = self.fetched = 0

    @contextmanager
    def counted(self, kind: type[Engine]) -> Iterator[None]:
        """Count what every engine of a class gives away."""
        kept = {name: getattr(kind, name) for name in ("rows", "arrays", "arrays_and_list")}

        def wrap(name: str) -> Callable[..., Any]:
            def called(engine: Engine, query: Any) -> Any:
                result = kept[name](engine, query)
                self.passes += 1
                if name == "arrays_and_list":
                    self.fetched += len(result[0][0]) + len(result[2])
                else:
                    self.fetched += len(result[0]) if name == "arrays" else len(result)
                return result

            return called

        for name in kept:
            setattr(kind, name, wrap(name))
        try:
            yield
        finally:
            for name, function in kept.items():
                setattr(kind, name, function)


def table_counts(rows: int, folder: Path) -> dict[str, float]:
    """Passes, bytes of the file that they read, and records (of a sample, of brackets) that leave DuckDB."""
    import pyarrow.parquet  # noqa: PLC0415  (slow to load)

    from dither.sources.engines.duckdb import DuckDB  # noqa: PLC0415  (slow to load)
    from dither_lab.bench.areas.tables import pay_file  # noqa: PLC0415

    path = str(pay_file(rows, 0, folder)["path"])
    described = pyarrow.parquet.ParquetFile(path).metadata
    stored: dict[str, int] = {}
    for group in range(described.num_row_groups):
        for place in range(described.num_columns):
            chunk = described.row_group(group).column(place)
            stored[chunk.path_in_schema] = stored.get(chunk.path_in_schema, 0) + chunk.total_compressed_size
    counts: dict[str, float] = {}
    for name, ask in QUESTIONS.items():
        traffic = Traffic()
        session = dt.open(path, columns=COLUMNS, rows=rows, name="pay", budget=dt.Budget(100.0))
        with traffic.counted(DuckDB), session:
            ask(session)
        columns = [
            "pay",
            *(["job"] if "groups" in name and "20" not in name else []),
            *(["team"] if "20" in name else []),
        ]
        counts[f"{name}: passes"] = traffic.passes
        counts[f"{name}: bytes read"] = traffic.passes * sum(stored[column] for column in columns)
        counts[f"{name}: records that leave the engine"] = traffic.fetched
    Path(path).unlink()
    return counts


def spark_counts(rows: int, folder: Path) -> dict[str, float]:
    """The same of Spark, by its own books: rows and bytes read, shuffled, and sent to the driver."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  (slow to load)

    from dither_lab.bench.areas.tables import pay_file  # noqa: PLC0415
    from dither_lab.bench.spark_traffic import spark_traffic  # noqa: PLC0415

    path = str(pay_file(rows, 0, folder)["path"])
    master = os.environ.get("DITHER_SPARK_MASTER", "local[2]")
    spark = SparkSession.builder.master(master).config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame, counts = spark.read.parquet(path), {}
    for name in ("mean", "median", "six statistics of 20 groups"):
        with dt.open(frame, columns=COLUMNS, rows=rows, name="pay", budget=dt.Budget(100.0)) as session:
            before = spark_traffic(spark)
            QUESTIONS[name](session)
            traffic = spark_traffic(spark).since(before)
        counts[f"{name}: rows read"] = float(traffic.rows_read)
        counts[f"{name}: bytes shuffled"] = float(traffic.bytes_shuffled)
        counts[f"{name}: bytes sent to the driver"] = float(traffic.bytes_to_driver)
    return counts


def graph_counts(edges: int, folder: Path) -> dict[str, float]:
    """Peak memory above the edge list, of a process that asks for one statistic of an even random graph."""
    code = (
        "import sys, resource, numpy as np, dither as dt\n"
        "def asked(count, name):\n"
        "    n = max(count // 10, 10)\n"
        "    pairs = np.random.default_rng(0).integers(0, n, (count, 2), dtype=np.int32)\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    getattr(dt, name)(dt.Graph(pairs, n=n), epsilon=1.0, **({'k': 2} if name == 'kstars' else {}))\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "asked(1000, sys.argv[2])\n"
        "print(1024 * asked(int(sys.argv[1]), sys.argv[2]))\n"
    )
    counts = {}
    for name in ("edges", "triangles", "kstars"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(edges), name], capture_output=True, text=True, check=True, cwd=folder
        )
        counts[f"{name}: bytes above the list of pairs"] = float(done.stdout.split()[-1])
    return counts


def ledger_counts(releases: int, folder: Path) -> dict[str, float]:
    """The file of a SQLite ledger after so many charges with their releases."""
    from dither.ledger import SqliteLedger  # noqa: PLC0415

    file = folder / f"{releases}.sqlite"
    ledger = SqliteLedger(file)
    ledger.register("pay", dt.Budget(100_000.0))
    release = dt.median([1.0, 2.0, 3.0], bounds=(0, 10), epsilon=1.0).to_dict()
    for number in range(releases):
        ledger.store(ledger.charge("pay", dt.Loss(0.001), question={"number": number}), {"releases": [release]})
    ledger.close()
    return {"bytes of the ledger": float(sum(part.stat().st_size for part in folder.glob(f"{releases}.sqlite*")))}


def block_counts(rows: int, folder: Path) -> dict[str, float]:  # noqa: ARG001  (as the others)
    """What is sent to a sandbox for one block of three columns of doubles."""
    from dither.sandbox.memory import encode  # noqa: PLC0415

    return {"bytes of a block of three columns": float(len(encode(np.zeros((rows, 3)))))}


COUNTED: Mapping[str, Callable[[int, Path], dict[str, float]]] = {
    "tables": table_counts,
    "spark": spark_counts,
    "graphs": graph_counts,
    "ledger": ledger_counts,
    "blocks": block_counts,
}


def model_of(part: str, quantity: str) -> Sequence[Model]:
    """How a quantity grows."""
    if quantity.endswith("passes"):
        return CONSTANT
    leaves = quantity.endswith(("leave the engine", "to the driver", "shuffled"))
    if part in ("tables", "spark") and leaves:
        return CONSTANT if quantity.startswith("mean") else WINDOWS
    return LINEAR


def main() -> None:
    """Count, fit, predict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*COUNTED], choices=[*COUNTED, []])
    parser.add_argument("--sizes", type=int, nargs="+", help="other sizes; the last is predicted")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[dict[str, Any]] = []
    for part in options.parts:
        sizes, counts = options.sizes or SIZES[part], []
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="dither-scale-") as folder:
                counts.append(COUNTED[part](size, Path(folder)))
        for quantity in counts[0]:
            found = [count[quantity] for count in counts]
            line = predicted(quantity, model_of(part, quantity), sizes, found)
            lines.append({"part": part, **asdict(line), "ratio": line.ratio, "sizes": list(sizes), "counts": found})
            if not options.json:
                print(
                    f"| {part} | {quantity} | {line.model} | {line.size:,} | {line.predicted:,.4g} | "
                    f"{line.counted:,.4g} | {line.ratio:.3f} |"
                )
    if options.json:
        print(
            json.dumps({"memory of this process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "lines": lines})
        )


if __name__ == "__main__":
    main()
