"""Lays out what version 0.1.0 wrote: its data, schema files, ledgers and a home, in a folder of a test.

Ledgers name their sources by absolute paths, inside entries that are chained by hashes.  So the folder of the test is
put in for ``{FOLDER}`` and the chain is hashed again, by the rule of docs/ledger.md and in code of our own: a dither
that chains entries otherwise than 0.1.0 finds the ledger damaged.
"""

import contextlib
import hashlib
import importlib.util
import json
import math
import shutil
import sqlite3
import tomllib
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from pkgutil import resolve_name

import dither as dt

HERE = Path(__file__).parent / "v0_1_0"
PLACE = "{FOLDER}"
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def kept(name):
    """What one of the JSON files says."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def lay_data(folder):
    """Sources and schema files."""
    folder.mkdir(exist_ok=True)
    shutil.copytree(HERE / "datasets", folder / "datasets")
    lay_sources(folder / "data")
    return folder


def lay_sources(folder):
    """Tables, graphs and programs; the text of a program is part of stored questions, so it is kept as text."""
    shutil.copytree(HERE / "data", folder)
    write_visits(folder)
    (folder / "programs.txt").rename(folder / "programs.py")


def write_visits(folder):
    """The one source that is no text: made-up numbers, the same everywhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    golden = (math.sqrt(5) - 1) / 2
    table = {
        "hours": pa.array([None if one % 17 == 0 else 20.0 + 30 * ((one * golden) % 1.0) for one in range(200)]),
        "visits": pa.array([one * 7 % 23 for one in range(200)]),
        "ward": pa.array([f"ward {one % 4}" for one in range(200)]),
        "well": pa.array([one % 5 > 1 for one in range(200)]),
    }
    pq.write_table(pa.table(table), folder / "visits.parquet", compression="zstd")


def lay_sqlite(name, file, folder):
    """A SQLite file from its dump."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript((HERE / f"{name}.sql").read_text(encoding="utf-8").replace(PLACE, str(folder)))
        if name != "home_server":
            triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for trigger, _ in triggers:
                connection.execute(f"DROP TRIGGER {trigger}")
            hash_again(connection.execute, "?")
            for _, statement in triggers:
                connection.execute(statement)
            connection.commit()
    return file


def lay_postgres(address, folder):
    """The tables of a ledger, in an empty schema of PostgreSQL."""
    import psycopg

    text = (HERE / "ledger_postgres.sql").read_text(encoding="utf-8").replace(PLACE, str(folder))
    with psycopg.connect(address) as connection:
        connection.execute(text.encode())
        connection.execute("ALTER TABLE dither_entries DISABLE TRIGGER USER")
        hash_again(connection.execute, "%s")
        connection.execute("ALTER TABLE dither_entries ENABLE TRIGGER USER")
    return address


def hash_again(execute, mark):
    """Hash the chain of a ledger again: every entry, with the hash of the one before it."""
    columns = ("number", "at", "kind", "dataset", "analyst", "request", "key", "charge", "body")
    previous = "0" * 64
    for row in execute(f"SELECT {', '.join(columns)} FROM dither_entries ORDER BY number").fetchall():
        entry = dict(zip(columns, row, strict=True)) | {"previous": previous}
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        here = hashlib.sha256(text.encode("ascii")).hexdigest()
        execute(
            f"UPDATE dither_entries SET previous = {mark}, hash = {mark} WHERE number = {mark}",
            (previous, here, row[0]),
        )
        previous = here
    execute(f"UPDATE dither_ledger SET hash = {mark}", (previous,))


def lay_home(home):
    """The folder of a curator: sources, schema files, ledger, tokens."""
    home.mkdir(parents=True)
    lay_sources(home / "data")
    shutil.copytree(HERE / "home_datasets", home / "datasets")
    for name in ("ledger", "server"):
        lay_sqlite(f"home_{name}", home / f"{name}.db", home)
    return home


def run(statement, folder, **names):
    """Evaluate a statement of 0.1.0; old names may warn."""
    spec = importlib.util.spec_from_file_location("programs", folder / "data" / "programs.py")
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    sandbox = resolve_name("dither.sandbox")
    known = {"dt": dt, "sandbox": sandbox, "programs": programs, "Decimal": Decimal, "Fraction": Fraction}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(statement.replace(PLACE, str(folder)), known | names)  # noqa: S307


FRAME = (
    'dt.open({"x": list(range(60))}, columns={"x": dt.Integer(0, 100)}, budget=dt.Budget(100, 1e-3), rows=60, '
    'name="frame", ledger=ledger)'
)


def session(dataset, folder, ledger):
    """A session on one of the datasets, paid from a ledger that was laid out."""
    statement = FRAME if dataset == "frame" else f"dt.open('{PLACE}/datasets/{dataset}.toml', ledger=ledger)"
    return run(statement, folder, ledger=str(ledger))


def plain(answer):
    """An answer in plain JSON values."""
    if isinstance(answer, dt.Release):
        return json.loads(json.dumps(answer.to_dict()))
    return [plain(one) for one in answer]


def command_line():
    """The program ``dither``, from where the project says it is."""
    return resolve_name(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["scripts"]["dither"])


def differences(old, new, *, values=True, at=""):
    """Where a value lacks something that the old one had: fields, types and, if wanted, the values themselves."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, one in old.items():
            if key in new:
                yield from differences(one, new[key], values=values, at=f"{at}.{key}")
            else:
                yield f"{at}.{key} is gone"
    elif at.startswith(".kinds.") and isinstance(old, list) and isinstance(new, list):
        # The names of a query's fields, to which later versions add.
        yield from (f"{at} has no {name!r}" for name in old if name not in new)
    elif isinstance(old, list) and isinstance(new, list) and (values or (old and new)):
        if values and len(old) != len(new):
            yield f"{at} has {len(new)} parts instead of {len(old)}"
        for place, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, values=values, at=f"{at}[{place}]")
    elif at.endswith(".delta") and isinstance(old, float) and 0 <= old - new <= old * 1e-11:
        return  # 0.1.0 rounded a delta up that needs no rounding
    elif values and old != new:
        yield f"{at} is {new!r} instead of {old!r}"
    elif _type(old) != _type(new):
        yield f"{at} is {_type(new)} instead of {_type(old)}"


def _type(value):
    """Numbers are one type: JSON has no other."""
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
