"""Writes tests/compatibility/v0_1_0: what version 0.1.0 (commit 1872073) stored, answered and offered.

It runs under 0.1.0 and nowhere else; what it wrote is kept, and is not to be written again by a later version::

    git worktree add --detach ../v0.1.0 1872073
    cd ../v0.1.0 && PYTHONPATH=src:tests python <this file> <a new folder>

with the packages of that version's extra ``dev``, PostgreSQL and a machine that can isolate programs.  The data are
generated.  Paths are written as ``{FOLDER}``; ``laying.py`` puts them back.  Answers are noisy, so a second run writes
others; everything else is the same.  Statements and bodies are data, not code: a rename in dither does not touch them.
"""

# ruff: noqa: E501, ERA001, I001, ISC004  (long statements; modules of 0.1.0 that are elsewhere now)

import contextlib
import importlib.util
import inspect
import json
import math
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

PLACE = "{FOLDER}"

# --- data ------------------------------------------------------------------------------------------------------------


def spread(place: int, of: float) -> float:
    """Numbers between 0 and 1 that are the same everywhere."""
    return (place * of) % 1.0


def write_data(folder: Path) -> None:
    """Small generated tables and graphs."""
    from laying import write_visits

    folder.mkdir(parents=True)
    golden, root = (math.sqrt(5) - 1) / 2, math.sqrt(2)
    lines = ["pay,age,rate,since,active,job,the town"]
    for one in range(240):
        day = date(2015, 1, 1) + timedelta(days=int(2000 * spread(one, root)))
        lines.append(
            f"{20_000 + 90_000 * spread(one, golden):.2f},{18 + one % 60},{spread(one, root):.3f},{day},"
            f"{'true' if one % 3 else 'false'},{('clerk', 'nurse', 'cook')[one % 3]},{('ash', 'elm', 'oak')[one % 7 % 3]}"
        )
    lines[5] = ",,,,,,"
    (folder / "pay.csv").write_text("\n".join(lines) + "\n")
    write_visits(folder)  # (removed from what is kept: tests write it again)
    lines = [f"p{one % 90},{100 + 300 * spread(one, golden):.1f},{('day', 'night')[one % 2]}" for one in range(270)]
    (folder / "shifts.csv").write_text("person,wage,shift\n" + "\n".join(lines) + "\n")
    pairs = [(0.2 if one % 2 else 0.8, 0.01 * math.sin(one * one)) for one in range(900)]
    lines = [f"{at + off:.4f},{at - off:.4f}" for at, off in pairs]
    (folder / "points.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    edges = sorted(
        {(min(a, b), max(a, b)) for a in range(40) for b in ((a + 1) % 40, (a + 2) % 40, a * 7 % 40) if a != b}
    )
    (folder / "friends.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    streets = [(a, b) for a in range(12) for b in range(a + 1, 12)]
    lines = [f"{a},{b},{10 * spread(a * 12 + b, golden):.1f}" for a, b in streets]
    (folder / "streets.tsv").write_text("from\tto\tkm\n" + "\n".join(lines).replace(",", "\t") + "\n")
    (folder / "programs.py").write_text(
        "def mean_pay(block):\n    pay = block['pay'].to_numpy()\n    return pay.sum() / max(len(pay), 1)\n\n\n"
        "def ends(block):\n    pay = block['pay'].to_numpy()\n    return [pay.min(), pay.max()]\n"
    )
    (folder / "count.sh").write_text("#!/bin/sh\nwc -l\n")
    (folder / "count.sh").chmod(0o755)


BUDGET = "[budget]\nepsilon = 10000\ndelta = 0.01\n"
SCHEMAS = {
    "pay": f"""[dataset]
source = "../data/pay.csv"
rows = 240

{BUDGET}
[columns]
pay = {{ type = "real", bounds = [0, 200_000], step = 0.01 }}
age = {{ type = "integer", bounds = [0, 120], nulls = 40 }}
rate = {{ type = "decimal", bounds = [0, 1], step = 0.001, nulls = "upper" }}
since = {{ type = "date", bounds = [2010-01-01, 2030-12-31] }}
active = {{ type = "boolean" }}
job = {{ type = "category", values = ["clerk", "nurse", "cook"] }}
"the town" = {{ type = "category", values = ["ash", "elm", "oak"] }}

[priors.pay]
kind = "lognormal"
median = 60000
sigma = 0.5
""",
    "visits": """[dataset]
name = "visits"
source = "../data/visits.parquet"
rows = "private"

[budget]
epsilon = 500
delta = 0.01
filter = "advanced"
slack = 0.001

[columns.hours]
type = "real"
bounds = [0, 100.5]
nulls = "drop"
[columns.visits]
type = "integer"
bounds = [0, 30]
[columns.ward]
type = "category"
[columns.well]
type = "boolean"
nulls = true
""",
    "shifts": f"""[dataset]
source = "../data/shifts.csv"
unit = "person"
rows_per_unit = 3

{BUDGET}
[columns.wage]
type = "decimal"
bounds = [0, 1000]
[columns.shift]
type = "category"
values = ["day", "night"]
""",
    "points": f"""[dataset]
source = "../data/points.csv"
rows = 900

{BUDGET}
[columns.x]
type = "real"
bounds = [0, 1]
[columns.y]
type = "real"
bounds = [0, 1]
""",
    "friends": f"""[dataset]
source = "../data/friends.csv"

{BUDGET}
[graph]
vertices = 40
""",
    "streets": f"""[dataset]
name = "streets"
source = "../data/streets.tsv"

{BUDGET}
[graph]
vertices = 12
ends = ["from", "to"]
weight = "km"
cap = 10
step = 0.1
""",
}
"""The datasets that questions are about."""

# --- questions -------------------------------------------------------------------------------------------------------

OPTIONS = {
    "pay": [
        # every statistic
        'ask(dt.Median("pay"), epsilon=0.5)',
        'ask(dt.Quantile("pay", q=0.9), epsilon=0.5)',
        'ask(dt.Quantiles("pay", q=[0.25, 0.5, 0.75]), epsilon=0.5)',
        'ask(dt.Minimum("pay"), epsilon=0.5)',
        'ask(dt.Maximum("pay"), epsilon=0.5)',
        'ask(dt.OrderStatistic("pay", rank=100), epsilon=0.5)',
        "ask(dt.Count(), epsilon=0.5)",
        'ask(dt.Count("active"), epsilon=0.5)',
        'ask(dt.Count("active", nulls=1), epsilon=0.5)',
        'ask(dt.Sum("pay"), epsilon=0.5)',
        'ask(dt.Mean("pay"), epsilon=0.5)',
        'ask(dt.TrimmedMean("pay"), epsilon=0.5)',
        'ask(dt.TrimmedMean("pay", trim=0.2), epsilon=0.5)',
        'ask(dt.Variance("pay"), epsilon=0.5)',
        'ask(dt.Variance("pay", ddof=0), epsilon=0.5)',
        'ask(dt.IQR("pay"), epsilon=0.5)',
        'ask(dt.IQR("pay", low=0.1, high=0.9), epsilon=0.5)',
        'ask(dt.Histogram("job"), epsilon=0.5)',
        'ask(dt.Histogram("job", categories=["cook", "nurse"]), epsilon=0.5)',
        'ask(dt.Histogram("pay", edges=[0, 50_000, 100_000]), epsilon=0.5)',
        'ask(dt.Histogram("age", edges=[0, 30, 60], nulls=30), epsilon=0.5)',
        'ask(dt.SmallestSum("pay", k=5), epsilon=0.5)',
        # types of columns
        'ask(dt.Median("age"), epsilon=0.5)',
        'ask(dt.Median("rate"), epsilon=0.5)',
        'ask(dt.Mean("rate"), epsilon=0.5)',
        'ask(dt.Median("active"), epsilon=0.5)',
        'ask(dt.Median("since"), epsilon=0.5)',
        'ask(dt.Quantiles("since", q=(0.1, 0.9)), epsilon=0.5)',
        'ask(dt.Mean("since"), epsilon=0.5)',
        'ask(dt.TrimmedMean("since", trim=0.1), epsilon=0.5)',
        'ask(dt.IQR("since"), epsilon=0.5)',
        # parameters, and numbers written in several ways
        'ask(dt.Median("pay", bounds=(10_000, 150_000)), epsilon=0.5)',
        'ask(dt.Median("pay", step=100), epsilon=0.5)',
        'ask(dt.Median("pay", nulls="upper"), epsilon=0.5)',
        'ask(dt.Median("pay", nulls=30_000), epsilon=0.5)',
        'ask(dt.Sum("pay", bounds=(0, Decimal("99999.5")), step=Fraction(1, 2)), epsilon=Decimal("0.5"), delta=0)',
        'ask(dt.Quantile("pay", q=Fraction(1, 3)), epsilon=Fraction(1, 2))',
        # mechanisms by name
        'ask(dt.Median("pay"), epsilon=0.5, calibration="inverse")',
        'ask(dt.Median("pay"), epsilon=0.5, calibration="smooth")',
        'ask(dt.Median("pay"), epsilon=0.5, calibration="ladder")',
        'ask(dt.Median("pay"), epsilon=0.5, calibration="worst_case")',
        'ask(dt.Median("pay"), epsilon=4, delta=1e-4, calibration="propose_test")',
        'ask(dt.Median("pay"), epsilon=4, delta=1e-4, calibration="stable")',
        'ask(dt.Quantiles("pay", q=[0.5, 0.9]), epsilon=0.5, calibration="worst_case")',
        'ask(dt.SmallestSum("pay", k=5), epsilon=0.5, calibration="smooth")',
        # mechanisms as objects
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.Inverse())',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.LadderMechanism())',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.WorstCase())',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.Smooth())',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.Smooth(beta=0.05), confidence=None)',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.Smooth(constants="paper"), confidence=None)',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.Smooth(algorithm="linear"))',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.Smooth(algorithm="sublinear"))',
        'ask(dt.Median("pay"), epsilon=4, delta=1e-4, calibration=dt.ProposeTest())',
        'ask(dt.Median("pay"), epsilon=4, delta=1e-4, calibration=dt.ProposeTest(bound=20_000))',
        'ask(dt.Median("pay"), epsilon=4, delta=1e-3, calibration=dt.ProposeTest(constants="paper"), confidence=None)',
        'ask(dt.Median("pay"), epsilon=4, delta=1e-4, calibration=dt.Stable())',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.LargestLocal(dt.Margin(5_000)))',
        'ask(dt.Median("pay"), epsilon=0.5, calibration=dt.LargestLocal(dt.Margin(bound=5_000, depth=60)))',
        # noises by name and as objects
        'ask(dt.Median("pay"), epsilon=0.5, noise="power_law")',
        'ask(dt.Median("pay"), epsilon=0.5, noise="cauchy")',
        'ask(dt.Median("pay"), epsilon=0.5, noise="student")',
        'ask(dt.Median("pay"), epsilon=0.5, delta=1e-6, noise="laplace")',
        'ask(dt.Median("pay"), epsilon=0.5, delta=1e-6, noise="gaussian")',
        'ask(dt.Mean("pay"), epsilon=0.5, noise="laplace")',
        'ask(dt.Mean("pay"), epsilon=0.5, delta=1e-6, noise="gaussian")',
        'ask(dt.Histogram("job"), epsilon=0.5, delta=1e-6, noise="gaussian")',
        'ask(dt.Median("pay"), epsilon=0.5, noise=dt.PowerLaw())',
        'ask(dt.Median("pay"), epsilon=0.5, noise=dt.PowerLaw(p=3))',
        'ask(dt.Median("pay"), epsilon=0.5, noise=dt.Cauchy())',
        'ask(dt.Median("pay"), epsilon=0.5, noise=dt.Cauchy(gamma=3))',
        'ask(dt.Median("pay"), epsilon=0.5, noise=dt.Student())',
        'ask(dt.Median("pay"), epsilon=0.5, noise=dt.Student(dof=5))',
        'ask(dt.Median("pay"), epsilon=0.5, delta=1e-6, noise=dt.Laplace())',
        'ask(dt.Median("pay"), epsilon=0.5, delta=1e-6, noise=dt.Gaussian())',
        'ask(dt.Mean("pay"), epsilon=0.5, calibration=dt.WorstCase(), noise=dt.Laplace())',
        # intervals
        'ask(dt.Median("pay"), epsilon=0.5, confidence=None)',
        'ask(dt.Median("pay"), epsilon=0.5, confidence=0.9)',
        'ask(dt.Mean("pay"), epsilon=0.5, confidence=Fraction(99, 100))',
        'ask(dt.Histogram("job"), epsilon=0.5, confidence=None)',
        # filters
        'ask(dt.Count(), epsilon=0.5, where="age = 30")',
        'ask(dt.Count(), epsilon=0.5, where="age <> 30")',
        'ask(dt.Count(), epsilon=0.5, where="30 < age AND age <= 40.5")',
        'ask(dt.Count(), epsilon=0.5, where="age BETWEEN 30 AND 40 OR NOT (pay >= 50000)")',
        'ask(dt.Count(), epsilon=0.5, where="age NOT BETWEEN -1 AND 40")',
        "ask(dt.Count(), epsilon=0.5, where=\"job IN ('clerk', 'nurse') AND active\")",
        "ask(dt.Count(), epsilon=0.5, where=\"job NOT IN ('clerk') AND NOT active\")",
        "ask(dt.Count(), epsilon=0.5, where=\"job <> 'cook' AND active = true\")",
        "ask(dt.Count(), epsilon=0.5, where=\"since >= '2017-01-31' AND since < DATE '2019-01-01'\")",
        "ask(dt.Count(), epsilon=0.5, where='\"the town\" = \\'elm\\'')",
        'ask(dt.Count(), epsilon=0.5, where="pay IS NULL OR job IS NOT NULL")',
        'ask(dt.Median("pay"), epsilon=0.5, where="age > 40")',
        'ask(dt.Quantiles("pay", q=[0.1, 0.9]), epsilon=0.5, where="age > 40")',
        'ask(dt.Minimum("pay"), epsilon=0.5, where="age > 40")',
        'ask(dt.Sum("pay"), epsilon=0.5, where="age > 40")',
        'ask(dt.Mean("pay"), epsilon=0.5, where="age > 40")',
        'ask(dt.TrimmedMean("pay", trim=0.1), epsilon=0.5, where="age > 40")',
        'ask(dt.Variance("pay"), epsilon=0.5, where="age > 40")',
        'ask(dt.IQR("pay"), epsilon=0.5, where="age > 40")',
        'ask(dt.Histogram("job"), epsilon=0.5, where="age > 40")',
        'ask(dt.Median("pay"), epsilon=0.5, where="age > 40", calibration="smooth", noise="cauchy", confidence=None)',
        # groups
        'ask(dt.Median("pay"), epsilon=2, by="job")',
        'ask(dt.Count(), epsilon=2, by=["job", "active"], confidence=None)',
        'ask(dt.Mean("pay"), epsilon=2, by="active", where="age > 40")',
        'ask(dt.Histogram("pay", edges=[0, 60_000, 200_000]), epsilon=2, by="the town")',
        'ask(dt.Median("since"), epsilon=2, by="job")',
        # several at once
        'ask([dt.Median("pay"), dt.Mean("age")], epsilon=1)',
        'ask([dt.Median("pay"), dt.Count(), dt.Sum("pay")], epsilon=1, weights=[1, 2, 3])',
        'ask([dt.Median("pay"), dt.Mean("pay")], epsilon=1, where="active", by="job", confidence=None)',
        # what is publicly known
        'ask(dt.TrimmedMean("pay", trim=0.1), epsilon=0.5, prior=dt.Lognormal(60_000, 0.5))',
        'ask(dt.Median("pay"), epsilon=0.5, where="age > 40", prior=dt.Uniform(20_000, 110_000), rows=150)',
        # who asks, and under which name
        'ask(dt.Median("pay"), epsilon=0.125, request_id="first", analyst="ann")',
        'ask(dt.Median("pay"), epsilon=0.125, request_id="second", analyst="bob", again=True)',
        'ask([dt.Median("pay"), dt.Mean("age")], epsilon=0.25, request_id="third")',
        # SQL
        'sql("SELECT median(pay) FROM pay", epsilon=0.75)',
        'sql("SELECT count(*) FROM pay WHERE age > 40", epsilon=0.75)',
        'sql("SELECT count_if(active), countif(active) FROM pay", epsilon=0.75)',
        'sql("SELECT sum(pay), avg(pay), mean(age) FROM pay", epsilon=0.75)',
        'sql("SELECT variance(pay), var_samp(rate), var_pop(pay) FROM pay", epsilon=0.75)',
        'sql("SELECT quantile(pay, 0.9), quantile_disc(pay, 0.9), quantile(pay, [0.1, 0.2]) FROM pay", epsilon=0.75)',
        'sql("SELECT quantiles(pay, 0.1, 0.5, 0.9) AS three FROM pay", epsilon=0.75)',
        'sql("SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY pay) FROM pay", epsilon=0.75)',
        'sql("SELECT min(pay), minimum(age), max(pay), maximum(age) FROM pay", epsilon=0.75)',
        'sql("SELECT trimmed_mean(pay), trimmed_mean(pay, 0.2), iqr(pay) FROM pay", epsilon=0.75)',
        'sql("SELECT histogram(job), histogram(pay, 0, 50000, 100000) FROM pay", epsilon=0.75)',
        'sql("SELECT job, avg(pay) AS mean_pay, count(*) AS people FROM pay WHERE active GROUP BY job", epsilon=3)',
        'sql("select MEDIAN(PAY) as m, count(*) as n from pay where Age >= 30", epsilon=0.75, weights={"m": 3, "n": 1})',
        'sql("SELECT median(pay) AS a, mean(pay) AS b FROM pay", epsilon=0.75, weights=[2, 1], confidence=None)',
        'sql("SELECT median(pay) FROM pay", epsilon=0.75, calibration="smooth", noise="cauchy", request_id="by sql")',
        "sql('SELECT count(*), median(pay) FROM pay', epsilon=0.75)",
        'sql("SELECT median(since) FROM pay WHERE \\"the town\\" = \'oak\' AND since IS NOT NULL", epsilon=0.75)',
        # programs: sample and aggregate
        'ask(dt.Program("{FOLDER}/data/programs.py:mean_pay", ["pay"], bounds=(0, 200_000), blocks=20, '
        'settings={"slot": 0.2}), epsilon=1)',
        'ask(dt.Program(programs.mean_pay, "pay", bounds=(0, 200_000), blocks=30, '
        'aggregator="smooth_median", default=50_000, executor="trusted"), epsilon=1, where="age > 20", confidence=None)',
        'ask(dt.Program(programs.ends, ["pay", "age"], output=2, bounds=[(0, 100_000), (0, 200_000)], '
        'blocks=40, aggregator="centre", metric="l1", executor="trusted"), epsilon=2)',
        'ask(dt.Program(programs.ends, output=2, bounds=(0, 200_000), blocks=40, aggregator="centre", '
        'metric=dt.Matching(2), executor="trusted"), epsilon=2)',
        'ask(dt.Program(programs.mean_pay, bounds=(0, 200_000), blocks=20, aggregator="median", '
        'sampling="overlapping", executor="trusted"), epsilon=2)',
        'ask(dt.Program(sandbox.Function("def one(block):\\n    return 1.0", "one"), bounds=(0, 2), blocks=20, '
        'aggregator="median", settings={"slot": 0.2}), epsilon=1)',
        'ask(dt.Program(sandbox.Executable("{FOLDER}/data/count.sh", columns=["pay"]), ["pay"], bounds=(0, 50), blocks=20, '
        'settings={"slot": 0.2}), epsilon=1)',
        'ask([dt.Median("pay"), dt.Program(programs.mean_pay, bounds=(0, 200_000), executor="trusted")], epsilon=2)',
        # refused before anything is charged
        'ask(dt.Median("pay"), epsilon=20_000)',
        'ask(dt.Median("nobody"), epsilon=0.5)',
        'ask(dt.Median("pay"), epsilon=0)',
        'ask(dt.Median("job"), epsilon=0.5)',
        'ask(dt.Median("pay"), epsilon=0.5, calibration="noisy_local")',
        'ask(dt.Median("pay"), epsilon=0.5, where="pay + 1 > 2")',
        'ask(dt.Median("pay"), epsilon=0.5, where="pay > 2 AND")',
        'ask(dt.Median("pay"), epsilon=0.625, request_id="first", analyst="ann")',
        'sql("SELECT pay FROM pay", epsilon=0.5)',
        'sql("SELECT stddev(pay) FROM pay", epsilon=0.5)',
        'sql("SELECT median(pay) FROM nothing", epsilon=0.5)',
    ],
    "visits": [
        'ask(dt.Median("hours"), epsilon=2)',
        "ask(dt.Count(), epsilon=2)",
        'ask(dt.Count("well"), epsilon=2)',
        'ask(dt.Mean("hours"), epsilon=2)',
        'ask(dt.Sum("visits"), epsilon=2)',
        'ask(dt.Variance("visits"), epsilon=2)',
        'ask(dt.Quantiles("visits", q=[0.1, 0.9]), epsilon=2)',
        'ask(dt.TrimmedMean("visits", trim=0.1), epsilon=2)',
        'ask(dt.Histogram("visits", edges=[0, 10, 20, 30]), epsilon=2)',
        'ask(dt.Count(), epsilon=4, delta=1e-3, by="ward")',
        'ask(dt.Median("visits"), epsilon=8, delta=1e-3, by="ward", confidence=None)',
        'ask(dt.Count(), epsilon=4, by="visits")',
        "ask(dt.Count(), epsilon=2, where=\"ward = 'ward 1' AND well\")",
        'ask(dt.Median("hours"), epsilon=2, calibration=dt.Smooth(algorithm="linear"))',
        'sql("SELECT ward, count(*) FROM visits GROUP BY ward", epsilon=4, delta=1e-3)',
        'sql("SELECT count(*), avg(hours) FROM visits", epsilon=4)',
    ],
    "shifts": [
        'ask(dt.Median("wage"), epsilon=2)',
        "ask(dt.Count(), epsilon=2)",
        'ask(dt.Mean("wage"), epsilon=2, where="shift = \'day\'")',
        'ask(dt.Sum("wage"), epsilon=2)',
        'ask(dt.Count(), epsilon=6, by="shift")',
        'ask(dt.Median("wage"), epsilon=2, calibration="smooth")',
        'ask(dt.Histogram("shift"), epsilon=2)',
    ],
    "points": [
        'ask(dt.KMeans(["x", "y"], k=2), epsilon=40, delta=1e-4)',
        "ask(dt.KMeans(k=2, bounds=(0, 1), blocks=60), epsilon=40, delta=1e-4, confidence=None)",
        'ask(dt.GaussianMixture(("x", "y"), k=2), epsilon=40, delta=1e-4)',
        "ask(dt.GaussianMixture(k=2, bounds=[(0, 1), (0, 2)]), epsilon=40, delta=1e-4, confidence=0.9)",
    ],
    "friends": [
        "ask(dt.Edges(), epsilon=0.5)",
        "ask(dt.Triangles(), epsilon=0.5)",
        "ask(dt.Triangles(max_degree=8), epsilon=0.5)",
        "ask(dt.Edges(max_degree=8), epsilon=0.5)",
        "ask(dt.KStars(k=2), epsilon=0.5)",
        "ask(dt.KTriangles(k=2), epsilon=0.5)",
        "ask(dt.KCliques(k=4), epsilon=0.5)",
        "ask(dt.MinCut(), epsilon=0.5)",
        'ask(dt.Triangles(), epsilon=0.5, calibration="smooth", noise="cauchy", confidence=None)',
        'ask(dt.Triangles(), epsilon=0.5, calibration="ladder")',
        "ask(dt.Triangles(), epsilon=0.5, calibration=dt.LadderMechanism(), confidence=0.9)",
        'ask(dt.Triangles(), epsilon=0.5, calibration="worst_case")',
        'ask(dt.Triangles(), epsilon=0.5, delta=1e-6, calibration="noisy_local")',
        "ask(dt.KStars(k=3), epsilon=0.5, delta=1e-6, calibration=dt.NoisyLocal())",
        "ask(dt.Triangles(), epsilon=0.5, delta=1e-6, calibration=dt.NoisyLocal(shares=(0.25, 0.25, 0.5)))",
        'ask(dt.Triangles(), epsilon=4, delta=1e-4, calibration="propose_test")',
        "ask(dt.Triangles(), epsilon=4, delta=1e-4, calibration=dt.Stable())",
        "ask(dt.Triangles(), epsilon=0.5, calibration=dt.LargestLocal(dt.Margin(10)))",
        'ask(dt.KStars(k=2), epsilon=0.5, delta=1e-6, noise=dt.Laplace(), request_id="stars", analyst="ann")',
        "ask(dt.MSTCost(), epsilon=0.5)",
    ],
    "streets": [
        "ask(dt.MSTCost(), epsilon=0.5)",
        'ask(dt.MSTCost(), epsilon=0.5, calibration="smooth", noise=dt.Student(dof=4))',
        'ask(dt.MSTCost(), epsilon=0.5, calibration="worst_case", confidence=None)',
        "ask(dt.MinCut(), epsilon=0.5)",
    ],
    "frame": [
        'ask(dt.Median("x"), epsilon=0.5)',
        'ask(dt.Mean("x"), epsilon=0.5, where="x > 3")',
        'sql("SELECT max(x) FROM frame", epsilon=0.5)',
    ],
}
"""What is asked of each dataset."""
FRAME = (
    'dt.open({"x": list(range(60))}, columns={"x": dt.Integer(0, 100)}, budget=dt.Budget(100, 1e-3), rows=60, '
    'name="frame", ledger=ledger)'
)


def names(folder: Path, **more: Any) -> dict[str, Any]:
    """What a statement may use."""
    import dither as dt
    from dither import sandbox

    spec = importlib.util.spec_from_file_location("programs", folder / "data" / "programs.py")
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    return {"dt": dt, "sandbox": sandbox, "programs": programs, "Decimal": Decimal, "Fraction": Fraction, **more}


def told(answer: Any) -> Any:
    """An answer in plain JSON values."""
    import dither as dt

    if isinstance(answer, dt.Release):
        return json.loads(json.dumps(answer.to_dict()))
    return [told(one) for one in answer]


def ask_all(folder: Path, ledger: str, chosen: Any = None) -> list[dict[str, Any]]:
    """Ask every question of a ledger."""
    import dither as dt

    asked = []
    for dataset, statements in OPTIONS.items():
        schema = folder / "datasets" / f"{dataset}.toml"
        session = eval(FRAME, names(folder, ledger=ledger)) if dataset == "frame" else dt.open(schema, ledger=ledger)  # noqa: S307
        with session:
            for text in statements:
                if chosen is not None and not chosen(dataset, text):
                    continue
                one: dict[str, Any] = {"dataset": dataset, "statement": f"session.{text}"}
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        there = f"session.{text}".replace(PLACE, str(folder))
                        one["answer"] = told(eval(there, names(folder, session=session)))  # noqa: S307
                except dt.DitherError as error:
                    one["error"] = {"type": type(error).__name__, "code": error.code}
                asked.append(one)
    return asked


def budgets(folder: Path, ledger: str, asked: list[dict[str, Any]]) -> dict[str, Any]:
    """What was spent and what is left of every dataset."""
    import dither as dt

    found = {}
    for dataset in dict.fromkeys(one["dataset"] for one in asked):
        schema = folder / "datasets" / f"{dataset}.toml"
        session = eval(FRAME, names(folder, ledger=ledger)) if dataset == "frame" else dt.open(schema, ledger=ledger)  # noqa: S307
        with session:
            account = session.budget
            found[dataset] = {
                part: [getattr(account, part).epsilon, getattr(account, part).delta]
                for part in ("total", "spent", "left")
            } | {"charges": len(session.history)}
    return found


def dumped(file: Path, folder: Path) -> str:
    """A SQLite file as SQL, without paths."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return "\n".join(connection.iterdump()).replace(str(folder), PLACE) + "\n"


def dumped_postgres(server: Any, database: str, folder: Path) -> str:
    """A database of PostgreSQL as SQL that runs in any schema, without paths."""
    words = ["--inserts", "--no-owner", "--no-privileges", "--schema=public", server.dsn(database)]
    text = subprocess.run([server.programs / "pg_dump", *words], check=True, capture_output=True, text=True).stdout
    lines = [
        one
        for one in text.splitlines()
        if one and not one.startswith(("--", "\\", "SET ", "SELECT pg_catalog.set_config"))
    ]
    kept = [one for one in lines if not re.match(r"(CREATE|COMMENT ON) SCHEMA ", one)]
    return "\n".join(kept).replace("public.dither_", "dither_").replace(str(folder), PLACE) + "\n"


def write_json(file: Path, value: Any) -> None:
    """Compact, but one line for each part."""
    if isinstance(value, list):
        text = "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in value) + "\n]\n"
    else:
        text = (
            "{\n"
            + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
            + "\n}\n"
        )
    file.write_text(text)


# --- schema files ----------------------------------------------------------------------------------------------------

FORMS = {
    "least": '[dataset]\nsource = "data/pay.csv"\n[columns.pay]\ntype = "real"\nbounds = [0, 1]\n[budget]\nepsilon = 1\n',
    "full": """# every key, in several forms of TOML
[dataset]
name = "payroll"
source = "data/pay.csv"
engine = "duckdb"
rows = 2_40
[budget]
epsilon = 1.5
delta = 1e-6
filter = "advanced"
slack = 0.0000005

[columns.pay]
type = "real"
bounds = [0, 600_000.5]
nulls = "upper"
step = "1/4"

[columns]
age = { type = "integer", bounds = [-1, 120], step = 1, nulls = "lower" }
"the town".type = "category"
"the town".values = ["ash", "elm", 7]
since.type = "date"
since.bounds = [1980-01-01, "2030-12-31"]
since.nulls = 2000-01-01

[columns.'rate']
type = "decimal"
bounds = [-1, 1]
step = 0.001
nulls = 0.5

[columns.active]
type = "boolean"
nulls = "drop"

[columns.job]
type = "category"

[priors.pay]
kind = "lognormal"
median = 60000
sigma = 0.5
[priors.age]
kind = "normal"
mean = 40
sd = 12.5
[priors.rate]
kind = "uniform"
low = 0
high = 1
[priors.since]
kind = "exponential"
mean = 100
""",
    "people": """[dataset]
source = "data/shifts.csv"
rows = "private"
unit = "person"
rows_per_unit = 4
[budget]
epsilon = "3/2"
[columns.wage]
type = "decimal"
bounds = ["1/3", 1000]
nulls = "drop"
[columns.shift]
type = "category"
values = ["day", "night"]
""",
    "unit_alone": """[dataset]
source = "data/shifts.csv"
unit = "person"
[budget]
epsilon = 1
[columns]
wage = { type = "real", bounds = [0, 1e3], nulls = 12.5 }
""",
    "flags": """[dataset]
source = "data/visits.parquet"
[budget]
epsilon = 1
[columns]
well = { type = "boolean", nulls = true }
hours = { type = "real", bounds = [-0.5, 100], nulls = "drop" }
visits = { type = "integer", bounds = [0, 30], step = 2 }
[priors]
hours = { kind = "exponential", mean = 30, low = 5 }
""",
    "dates": """[dataset]
source = "data/pay.csv"
[budget]
epsilon = 1
delta = 1e-5
filter = "advanced"
[columns.since]
type = "date"
bounds = ["2010-01-01", 2020-12-31]
nulls = "drop"
""",
    "graph": '[dataset]\nsource = "data/friends.csv"\n[graph]\nvertices = 40\n[budget]\nepsilon = 2\n',
    "weights": """[dataset]
name = "streets of a town"
source = "data/streets.tsv"
[graph]
vertices = 12
ends = ["from", "to"]
weight = "km"
cap = 10.0
step = "1/10"
[budget]
epsilon = 2
delta = 1e-6
filter = "advanced"
slack = 5e-7
""",
}
"""All forms of a schema file that 0.1.0 read."""


def write_schemas(out: Path, folder: Path) -> None:
    """Schema files, and what 0.1.0 read in them."""
    import dither as dt

    (out / "schemas").mkdir()
    known = {}
    shutil.copytree(folder / "data", out / "schemas" / "data")
    for name, text in FORMS.items():
        file = out / "schemas" / f"{name}.toml"
        file.write_text(text)
        with dt.open(file, ledger=":memory:") as session:
            schema = session.schema
            found = {key: getattr(schema, key) for key in ("name", "filter", "slack")}
            found["budget"] = [schema.budget.epsilon, schema.budget.delta]
            found["neighbours"] = str(schema.neighbours)
            keys = (
                ("vertices", "ends", "weight", "cap", "step")
                if hasattr(schema, "vertices")
                else ("rows", "unit", "rows_per_unit")
            )
            found |= {key: getattr(schema, key) for key in keys}
            if not hasattr(schema, "vertices"):
                found["columns"] = {key: one.to_dict() for key, one in schema.columns.items()}
                found["priors"] = {key: dict(one) for key, one in schema.priors.items()}
            known[name] = json.loads(json.dumps(found, default=str))
    shutil.rmtree(out / "schemas" / "data")
    write_json(out / "schemas.json", known)


# --- the command line ------------------------------------------------------------------------------------------------

COMMANDS = [
    ["ask", "{FOLDER}/datasets/pay.toml", "median(pay)", "--epsilon", "0.5"],
    ["ask", "{FOLDER}/datasets/pay.toml", "quantile(pay, 0.9), iqr(pay)", "--epsilon", "1", "--weights", "2,1"],
    ["ask", "{FOLDER}/datasets/pay.toml", "SELECT job, avg(pay) AS m FROM pay GROUP BY job", "--epsilon", "3"],
    [
        "ask",
        "{FOLDER}/datasets/pay.toml",
        "mean(pay)",
        "--where",
        "age > 40",
        "--by",
        "job",
        "--epsilon",
        "2",
        "--delta",
        "1e-6",
        "--calibration",
        "worst_case",
        "--noise",
        "gaussian",
        "--confidence",
        "none",
    ],
    ["ask", "{FOLDER}/datasets/friends.toml", "kstars(2)", "--epsilon", "0.5"],
    ["ask", "{FOLDER}/datasets/friends.toml", "triangles()", "--epsilon", "0.5", "--calibration", "ladder"],
    ["ask", "{FOLDER}/datasets/streets.toml", "mst_cost()", "--epsilon", "0.5"],
    ["clusters", "{FOLDER}/datasets/points.toml", "-k", "2", "--columns", "x,y", "--epsilon", "40", "--delta", "1e-4"],
    [
        "clusters",
        "{FOLDER}/datasets/points.toml",
        "-k",
        "2",
        "--mixture",
        "--epsilon",
        "41",
        "--delta",
        "1e-4",
        "--confidence",
        "none",
        "--blocks",
        "60",
    ],
    [
        "run",
        "{FOLDER}/datasets/pay.toml",
        "{FOLDER}/data/programs.py:mean_pay",
        "--bounds",
        "0",
        "200000",
        "--epsilon",
        "1",
        "--columns",
        "pay",
        "--blocks",
        "20",
        "--slot",
        "0.2",
        "--where",
        "age > 20",
        "--untried",
    ],
]
READERS = [["ledger", "show"], ["ledger", "show", "pay"], ["ledger", "verify"], ["ledger", "export"]]
"""Commands that only read: their first words; the ledger's path comes behind the second."""


def command(words: list[str], folder: Path) -> tuple[int, str]:
    """Run a command here; its exit code and what it printed."""
    from click.testing import CliRunner
    from dither.surfaces.cli import main

    found = CliRunner().invoke(main, [one.replace(PLACE, str(folder)) for one in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


def write_commands(out: Path, folder: Path, ledger: str) -> None:
    """Questions by the command line: asked once, and what is printed for them afterwards."""
    asked = []
    for again in (False, True):
        for words in COMMANDS:
            code, text = command([*words, "--ledger", ledger, "--json"], folder)
            if code:
                raise RuntimeError(f"{words}: {text}")
            if again:
                asked.append({"words": words, "printed": json.loads(text)})
    write_json(out / "commands.json", asked)


def write_readers(out: Path, folder: Path, ledger: str) -> None:
    """What commands print that only look at a ledger."""
    printed = []
    for words in READERS:
        more = [] if words[1] == "export" else ["--json"]
        code, text = command([*words[:2], ledger, *words[2:], *more], folder)
        if code:
            raise RuntimeError(f"{words}: {text}")
        if words[1] == "export":
            lines = text.splitlines()
            printed.append(
                {"words": words, "lines": len(lines), "last": json.loads(lines[-1].replace(str(folder), PLACE))}
            )
        else:
            value = json.loads(text.replace(str(folder), PLACE))
            printed.append(
                {
                    "words": words,
                    "printed": value if words != READERS[1] else {"keys": sorted(value), "first": _first(value)},
                }
            )
    write_json(out / "readers.json", printed)


def _first(value: Any) -> Any:
    """The first item of the only list."""
    return (
        next((one[0] for one in value.values() if isinstance(one, list)), None) if isinstance(value, dict) else value[0]
    )


# --- HTTP ------------------------------------------------------------------------------------------------------------

HOME_SCHEMAS = {name: text.replace('"../data/', '"') for name, text in SCHEMAS.items() if name != "visits"}
VISITS = SCHEMAS["visits"].replace('"../data/', '"')
PROGRAM = {
    "kind": "program",
    "source": "def one(block):\n    return 1.0",
    "function": "one",
    "bounds": [0, 2],
    "blocks": 10,
    "aggregator": "median",
    "slot": 0.2,
    "columns": ["pay"],
    "output": 1,
    "default": 0.5,
    "sampling": "partition",
}
RELEASES: dict[str, list[dict[str, Any]]] = {
    "pay": [
        {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.5},
        {
            "query": {"kind": "median", "column": "pay", "bounds": [0, 150000], "step": 0.5, "nulls": "upper"},
            "epsilon": 0.5,
        },
        {"query": {"kind": "quantile", "column": "pay", "q": 0.9}, "epsilon": 0.5, "delta": 0},
        {"query": {"kind": "quantiles", "column": "pay", "q": [0.1, 0.9]}, "epsilon": 0.5},
        {"query": {"kind": "minimum", "column": "pay"}, "epsilon": 0.5},
        {"query": {"kind": "maximum", "column": "age"}, "epsilon": 0.5},
        {"query": {"kind": "order_statistic", "column": "pay", "rank": 20}, "epsilon": 0.5},
        {"query": {"kind": "count"}, "epsilon": 0.5},
        {"query": {"kind": "count", "column": "active"}, "epsilon": 0.5},
        {"query": {"kind": "count"}, "epsilon": 0.5, "where": "age > 40 AND job = 'nurse'"},
        {"query": {"kind": "sum", "column": "pay"}, "epsilon": 0.5},
        {"query": {"kind": "mean", "column": "pay"}, "epsilon": 0.5, "delta": 1e-6, "noise": "gaussian"},
        {"query": {"kind": "trimmed_mean", "column": "pay", "trim": 0.1}, "epsilon": 0.5},
        {"query": {"kind": "variance", "column": "pay", "ddof": 0}, "epsilon": 0.5},
        {"query": {"kind": "iqr", "column": "pay", "low": 0.1, "high": 0.9}, "epsilon": 0.5},
        {"query": {"kind": "histogram", "column": "job"}, "epsilon": 0.5},
        {"query": {"kind": "histogram", "column": "job", "categories": ["cook"]}, "epsilon": 0.5},
        {"query": {"kind": "histogram", "column": "pay", "edges": [0, 50000, 100000]}, "epsilon": 0.5},
        {"query": {"kind": "median", "column": "since"}, "epsilon": 0.5},
        {
            "query": {"kind": "median", "column": "pay"},
            "epsilon": 0.5,
            "calibration": "smooth",
            "noise": "cauchy",
            "confidence": None,
        },
        {"query": {"kind": "median", "column": "pay"}, "epsilon": 4, "delta": 1e-4, "calibration": "stable"},
        {"query": {"kind": "median", "column": "pay"}, "epsilon": 2, "by": "job", "confidence": 0.9},
        {"query": {"kind": "count"}, "epsilon": 2, "by": ["job", "active"], "where": "age > 40"},
        {
            "query": [{"kind": "median", "column": "pay"}, {"kind": "mean", "column": "age"}],
            "epsilon": 1,
            "weights": [2, 1],
        },
        {
            "query": {"kind": "trimmed_mean", "column": "pay", "trim": 0.2},
            "epsilon": 0.5,
            "prior": {"kind": "lognormal", "median": 60000, "sigma": 0.5},
            "rows": 240,
        },
        {"sql": "SELECT median(pay) FROM pay", "epsilon": 0.75},
        {
            "sql": "SELECT job, avg(pay) AS m, count(*) AS n FROM pay GROUP BY job",
            "epsilon": 3,
            "weights": {"m": 3, "n": 1},
        },
        {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.125, "request_id": "r-1"},
        {
            "query": {"kind": "median", "column": "pay"},
            "epsilon": 0.125,
            "request_id": "r-2",
            "again": True,
            "wait": True,
        },
    ],
    "visits": [
        {"query": {"kind": "count"}, "epsilon": 2},
        {"query": {"kind": "count"}, "epsilon": 4, "delta": 1e-3, "by": "ward"},
        {"query": {"kind": "median", "column": "hours"}, "epsilon": 2},
    ],
    "shifts": [{"query": {"kind": "median", "column": "wage"}, "epsilon": 2}],
    "friends": [
        {"query": {"kind": "edges"}, "epsilon": 0.5},
        {"query": {"kind": "triangles", "max_degree": 8}, "epsilon": 0.5},
        {"query": {"kind": "triangles"}, "epsilon": 0.5, "delta": 1e-6, "calibration": "noisy_local"},
        {"query": {"kind": "kstars", "k": 2}, "epsilon": 0.5},
        {"query": {"kind": "ktriangles", "k": 2}, "epsilon": 0.5},
        {"query": {"kind": "kcliques", "k": 4}, "epsilon": 0.5},
        {"query": {"kind": "min_cut"}, "epsilon": 0.5, "confidence": None},
    ],
    "streets": [{"query": {"kind": "mst_cost"}, "epsilon": 0.5}],
}
NOT_QUOTED = ("request_id", "again", "wait")
MEDIAN = {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.5}


def requests() -> list[dict[str, Any]]:
    """Every request of the recording, in order.  ``keep`` names what later paths use of the answer."""

    def one(method: str, path: str, body: Any = None, token: str | None = "owner", **more: Any) -> dict[str, Any]:
        given = {} if body is None else {"body": body}
        return {"token": token, "method": method, "path": path, **given, **more}

    pay = "/v1/datasets/pay"
    return [
        one(
            "POST",
            f"{pay}/releases",
            {"query": PROGRAM, "epsilon": 1, "wait": False, "request_id": "program"},
            keep="job",
        ),
        *(
            one("GET", path, token=token)
            for token in ("owner", "ann", "bob")
            for path in ("/v1/me", "/v1/datasets", pay, f"{pay}/budget", f"{pay}/releases?limit=3")
        ),
        *(one("GET", f"/v1/datasets/{name}") for name in (*HOME_SCHEMAS, "visits")),
        *(one("GET", f"/v1/datasets/{name}/budget") for name in ("visits", "friends", "points")),
        one("GET", "/healthz", token=None),
        one("GET", "/metrics", text=True),
        one("POST", "/v1/datasets", {"name": "visits", "schema": VISITS, "answer_seconds": 0.05}),
        one("PATCH", pay, {"answer_seconds": 0.05}),
        *(
            one("POST", f"/v1/datasets/{name}/releases", body, "ann" if place % 3 else "owner")
            for name, bodies in RELEASES.items()
            for place, body in enumerate(bodies)
        ),
        *(
            one("POST", f"/v1/datasets/{name}/quote", {k: v for k, v in body.items() if k not in NOT_QUOTED}, "ann")
            for name, bodies in RELEASES.items()
            for body in bodies[::2]
        ),
        one("POST", f"{pay}/quote", {"query": PROGRAM, "epsilon": 1}),
        one(
            "POST",
            f"{pay}/quote",
            {
                "sql": "SELECT median(pay), mean(pay) FROM pay",
                "epsilon": 1,
                "rows": 240,
                "prior": {"kind": "normal", "mean": 60000, "sd": 20000},
            },
        ),
        one("POST", f"{pay}/releases", MEDIAN | {"wait": False}, "ann", keep="quick"),
        one("GET", "/v1/jobs/{quick}", token="ann"),
        one("GET", f"{pay}/releases?after=1&limit=2", token="ann"),
        one("GET", f"{pay}/budget", token="ann"),
        one("GET", "/v1/tokens"),
        one(
            "POST",
            "/v1/tokens",
            {
                "name": "guest",
                "role": "analyst",
                "expires_in": 3600,
                "epsilon_cap": 1,
                "delta_cap": 1e-5,
                "kinds": ["median", "count"],
                "datasets": ["pay"],
            },
            keep="guest",
        ),
        one("DELETE", "/v1/tokens/{guest}"),
        one("GET", "/v1/ledger?limit=2"),
        one("GET", "/v1/ledger?dataset=friends&after=0&limit=2"),
        one("GET", "/v1/ledger/verify"),
        # refusals
        one("GET", "/v1/me", token=None),
        one("GET", "/v1/me", token="dither_nobody"),
        one("GET", "/v1/tokens", token="ann"),
        one("GET", "/v1/datasets/nothing"),
        one("GET", "/v1/datasets/friends", token="bob"),
        one("GET", "/v1/jobs/nothing"),
        one("GET", "/v1/nothing"),
        one("PUT", pay),
        one("POST", f"{pay}/releases", raw="{", token="ann"),
        one("POST", f"{pay}/releases", raw='{"epsilon": 1, "epsilon": 2}', token="ann"),
        one("POST", f"{pay}/releases", {"epsilon": 1}, "ann"),
        one("POST", f"{pay}/releases", MEDIAN | {"epsilom": 1}, "ann"),
        one("POST", f"{pay}/releases", MEDIAN | {"epsilon": 0}, "ann"),
        one("POST", f"{pay}/releases", MEDIAN | {"epsilon": 20000}),
        one("POST", f"{pay}/releases", MEDIAN | {"epsilon": 900}, "ann"),
        one("POST", f"{pay}/releases", MEDIAN | {"calibration": "noisy_local"}, "ann"),
        one("POST", f"{pay}/releases", MEDIAN | {"where": "pay + 1 > 2"}, "ann"),
        one("POST", f"{pay}/releases", MEDIAN | {"request_id": "r-1", "epsilon": 0.25}),
        one("POST", f"{pay}/releases", {"query": {"kind": "mode", "column": "job"}, "epsilon": 1}, "ann"),
        one("POST", f"{pay}/releases", {"query": {"kind": "sum", "column": "pay"}, "epsilon": 1}, "bob"),
        one("POST", f"{pay}/releases", MEDIAN | {"epsilon": 3}, "bob"),
        one("POST", f"{pay}/releases", {"sql": "SELECT pay FROM pay", "epsilon": 1}, "ann"),
        one("POST", f"{pay}/releases", {"query": PROGRAM, "epsilon": 1}, "ann"),
        one("POST", "/v1/datasets/friends/releases", {"sql": "SELECT count(*) FROM friends", "epsilon": 1}, "ann"),
        one("POST", "/v1/datasets/points/releases", {"query": {"kind": "median", "column": "x"}, "epsilon": 1}, "ann"),
        one("POST", "/v1/datasets", {"name": "x", "schema": "[dataset]"}),
        one("DELETE", "/v1/tokens/nothing"),
        one("GET", "/v1/ledger/verify?known=1"),
        # last, because they change what is stored
        one("DELETE", "/v1/datasets/points"),
        one("PATCH", "/v1/datasets/shifts", {"grown": True}),
        one("GET", "/v1/jobs/{job}", until="done"),
    ]


class Server:
    """``dither serve`` of this version, on a home."""

    def __init__(self, home: Path) -> None:
        words = ["serve", "--json", "--home", str(home), "--port", "0", "--answer-seconds", "0.05", "--rate", "10000"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dither", *words], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
        )
        started = json.loads(self.process.stdout.readline())
        self.port, self.tokens = int(started["address"].rstrip("/").rpartition(":")[2]), started["tokens"]

    def stop(self) -> None:
        """Let it end."""
        self.process.terminate()
        self.process.wait(120)

    def play(self, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send requests in order; each with what was answered."""
        from curators import call

        kept: dict[str, str] = {}
        played = []
        for one in listed:
            path = re.sub(r"\{(\w+)\}", lambda match: kept[match[1]], one["path"])
            token = self.tokens.get(one["token"], one["token"])
            raw = one["raw"].encode() if "raw" in one else None
            for _ in range(600):
                status, answer, headers = call(self.port, one["method"], path, one.get("body"), token, raw=raw)
                if one.get("until") in (None, answer.get("state") if isinstance(answer, dict) else None):
                    break
                time.sleep(0.1)
            if "keep" in one:
                kept[one["keep"]] = headers["Location"].rpartition("/")[2] if "Location" in headers else answer["id"]
            shown = (
                sorted({line.split("{")[0].split(" ")[0] for line in answer.splitlines() if line[:1] not in ("#", "")})
                if "text" in one
                else answer
            )
            played.append({**one, "status": status, "type": headers["Content-Type"], "answer": shown})
        return played


def write_home(out: Path, folder: Path) -> None:
    """A home that 0.1.0 served, and what it answers to every request once more."""
    home = folder / "home"
    (home / "datasets").mkdir(parents=True)
    shutil.copytree(folder / "data", home / "data")
    for name, text in HOME_SCHEMAS.items():
        (home / "datasets" / f"{name}.toml").write_text(text)
    server = Server(home)

    def done(method: str, path: str, body: Any) -> Any:
        (found,) = server.play([{"token": "owner", "method": method, "path": path, "body": body}])
        if found["status"] >= 300:
            raise RuntimeError(found)
        return found["answer"]

    done("POST", "/v1/datasets", {"name": "visits", "schema": VISITS, "answer_seconds": 0.05})
    ann = {"name": "ann", "budgets": {"pay": {"epsilon": 800, "delta": 1e-3}}}
    bob = {"name": "bob", "kinds": ["median", "count"], "datasets": ["pay"], "epsilon_cap": 2, "delta_cap": 1e-6}
    for rules in (ann, bob):
        server.tokens[rules["name"]] = done("POST", "/v1/tokens", rules)["token"]
    done("DELETE", f"/v1/tokens/{done('POST', '/v1/tokens', {'name': 'gone', 'expires_in': 60})['id']}", None)
    done("POST", "/v1/datasets/shifts/releases", RELEASES["shifts"][0])
    done("PATCH", "/v1/datasets/shifts", {"grown": True})
    done("POST", "/v1/datasets/points/releases", {"query": {"kind": "median", "column": "x"}, "epsilon": 0.5})
    done("DELETE", "/v1/datasets/points", None)
    asking = [one for one in requests() if one["path"].endswith("/releases") or one["path"] == "/v1/jobs/{job}"]
    for one in server.play(asking):
        if one["status"] >= 500:
            raise RuntimeError(one)
    tokens = dict(server.tokens)
    server.stop()
    for name in ("ledger", "server"):
        (out / f"home_{name}.sql").write_text(dumped(home / f"{name}.db", home))
    write_json(out / "tokens.json", tokens)
    time.sleep(65)  # a history shows answers a minute after they were charged
    server = Server(home)
    server.tokens = tokens
    played = server.play(requests())
    from curators import call

    write_json(out / "openapi.json", call(server.port, "GET", "/openapi.json")[1])
    server.stop()
    write_json(out / "requests.json", json.loads(json.dumps(played).replace(str(home), PLACE)))
    (out / "home_datasets").mkdir()
    for file in (home / "datasets").glob("*.toml"):
        shutil.copy(file, out / "home_datasets")


# --- names -----------------------------------------------------------------------------------------------------------


def parameters(called: Any) -> list[list[Any]] | None:
    """Name, kind and default of every parameter."""
    try:
        found = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return None
    return [
        [one.name, one.kind.name, None if one.default is inspect.Parameter.empty else _shown(one.default)]
        for one in found
    ]


def _shown(value: Any) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def described(value: Any) -> dict[str, Any]:
    """A public object: what it is, how it is called, and its public members."""
    if inspect.ismodule(value):
        held = [
            name
            for name in vars(value)
            if not name.startswith("_") and getattr(vars(value)[name], "__module__", "") == value.__name__
        ]
        return {"is": "module", "members": {name: described(getattr(value, name)) for name in sorted(held)}}
    if not inspect.isclass(value):
        return {"is": "function", "parameters": parameters(value)} if callable(value) else {"is": "value"}
    ours = {
        name
        for base in value.__mro__
        if base.__module__.startswith("dither")
        for name in (*vars(base), *getattr(base, "__annotations__", {}))
    }
    members = {}
    for name in sorted(one for one in ours if not one.startswith("_")):
        member = inspect.getattr_static(value, name, None)
        plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        members[name] = {"parameters": parameters(plain)} if inspect.isfunction(plain) else {}
    bases = [
        one.__name__ for one in value.__mro__[1:] if one.__module__.startswith("dither") or one.__module__ == "builtins"
    ]
    return {"is": "class", "parameters": parameters(value), "members": members, "bases": bases}


MODULES = ("dither.ledger", "dither.sandbox", "dither.errors")
"""Modules whose names the documentation and docstrings of 0.1.0 use, beside ``dither`` itself."""
LEDGERS = ("MemoryLedger", "SqliteLedger", "PostgresLedger", "open_ledger")


def write_names(out: Path) -> None:
    """Public names with their parameters, commands with their options, and the functions of SQL."""
    import click
    import dither as dt
    from dither import sandbox
    from dither.errors import DitherError
    from dither.sql.functions import FUNCTIONS
    from dither.surfaces.cli import main

    listed = {f"dither.{name}": described(getattr(dt, name)) for name in dt.__all__}
    listed |= {f"dither.sandbox.{name}": described(getattr(sandbox, name)) for name in sandbox.__all__}
    ledger, errors = (importlib.import_module(name) for name in ("dither.ledger", "dither.errors"))
    listed |= {f"dither.ledger.{name}": described(getattr(ledger, name)) for name in LEDGERS}
    for name, one in vars(errors).items():
        if inspect.isclass(one) and issubclass(one, DitherError):
            listed[f"dither.errors.{name}"] = {"is": "error", "code": one.code, "status": getattr(one, "status", None)}
    write_json(out / "names.json", listed)

    def commands(one: Any, path: str) -> Any:
        if isinstance(one, click.Group):
            for name, inner in one.commands.items():
                yield from commands(inner, f"{path} {name}")
        options = [[*each.opts, *each.secondary_opts] for each in one.params if isinstance(each, click.Option)]
        arguments = [each.name for each in one.params if isinstance(each, click.Argument)]
        needed = [each.opts[0] for each in one.params if isinstance(each, click.Option) and each.required]
        yield path, {"options": options, "arguments": arguments, "required": needed}

    write_json(out / "options.json", dict(commands(main, "dither")))
    write_json(out / "sql.json", sorted(FUNCTIONS))


# --- all of it -------------------------------------------------------------------------------------------------------


def for_postgres(dataset: str, text: str) -> bool:
    """Some of the questions about pay, and all others: the texts are those of the other ledger."""
    return dataset != "pay" or zlib.crc32(text.encode()) % 8 == 0


def write_postgres(out: Path, folder: Path) -> None:
    """A ledger in PostgreSQL."""
    from dither_lab.postgres import PostgresServer, postgres_programs

    server = PostgresServer(postgres_programs())
    try:
        server.start()
        asked = ask_all(folder, server.dsn(), for_postgres)
        (out / "ledger_postgres.sql").write_text(dumped_postgres(server, "postgres", folder))
        write_json(out / "questions_postgres.json", asked)
        write_json(out / "budgets_postgres.json", budgets(folder, server.dsn(), asked))
    finally:
        server.close()


def main(out: Path) -> None:
    """Write everything into a new folder."""
    out.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        write_data(folder / "data")
        (folder / "datasets").mkdir()
        for name, text in SCHEMAS.items():
            (folder / "datasets" / f"{name}.toml").write_text(text)
        shutil.copytree(folder / "data", out / "data")
        # Its text is part of stored questions: no formatter may touch it.
        (out / "data" / "programs.py").rename(out / "data" / "programs.txt")
        shutil.copytree(folder / "datasets", out / "datasets")
        write_names(out)
        write_schemas(out, folder)
        write_home(out, folder)
        ledger = str(folder / "ledger.db")
        asked = ask_all(folder, ledger)
        write_commands(out, folder, ledger)
        write_readers(out, folder, ledger)
        write_json(out / "questions.json", asked)
        write_json(out / "budgets.json", budgets(folder, ledger, asked))
        (out / "ledger.sql").write_text(dumped(folder / "ledger.db", folder))
        write_postgres(out, folder)


if __name__ == "__main__":
    import dither

    if dither.__version__ != "0.1.0":
        raise SystemExit("this writes what version 0.1.0 stored")
    main(Path(sys.argv[1]))
