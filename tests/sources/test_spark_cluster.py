"""Spark with two executors of their own: what is read, shuffled and sent to the driver, by its own books."""

import json
import os
import subprocess
import sys

import pytest

from servers import needs_java

pytestmark = pytest.mark.slow

SCRIPT = """
import json, sys, warnings
import dither as dt
from dither_lab.bench.spark_traffic import busy_executors, spark_traffic
from pyspark.sql import SparkSession

warnings.simplefilter("ignore")
rows, folder = int(sys.argv[1]), sys.argv[2]
quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
spark = (
    SparkSession.builder.master("local-cluster[2,1,768]")
    .config("spark.executor.memory", "512m")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.driver.extraJavaOptions", quick)
    .config("spark.executor.extraJavaOptions", quick)
    .config("spark.sql.warehouse.dir", folder + "/warehouse")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
made = "exp(10 + 2 * (pmod(xxhash64(id), 1000003) / 1000003)) AS pay", "pmod(xxhash64(id, 1), 20) AS team"
spark.range(rows).selectExpr(*made).repartition(8).write.parquet(folder + "/pay")
frame = spark.read.parquet(folder + "/pay")
columns = {"pay": dt.Real(0, 600_000), "team": dt.Integer(0, 19)}
session = dt.open(frame, columns=columns, rows=rows, name="pay", budget=dt.Budget(1000.0))
result = {}
for name, ask in {
    "mean": lambda: session.ask(dt.Mean("pay"), epsilon=50.0).value,
    "median": lambda: session.ask(dt.Median("pay"), epsilon=50.0).value,
    "six": lambda: len(session.sql(
        "SELECT median(pay), mean(pay), sum(pay), maximum(pay), quantile(pay, 0.9), count(*) FROM pay GROUP BY team",
        epsilon=50.0,
    )),
}.items():
    before = spark_traffic(spark)
    value = ask()
    traffic = spark_traffic(spark).since(before)
    result[name] = {"value": value, "read": traffic.rows_read, "shuffled": traffic.bytes_shuffled,
                    "driver": traffic.bytes_to_driver}
result["executors"] = busy_executors(spark)
print(json.dumps(result))
spark.stop()
"""


def test_only_windows_and_sums_reach_the_driver(tmp_path, trials):
    """A mean is one pass, a median and six statistics by groups are two; hardly anything is shuffled or collected.

    In the long form the table has more bytes than one executor has memory.
    """
    needs_java()
    rows = trials(400_000, 60_000_000)
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(rows), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["executors"] == 2
    # exp(10 + 2 u) for u uniform in (0, 1): its mean and its median, far closer than the bounds.
    assert found["mean"]["value"] == pytest.approx(70_361, rel=0.01)
    assert found["median"]["value"] == pytest.approx(59_874, rel=0.01)
    assert found["mean"]["read"] == rows
    assert found["median"]["read"] <= 2 * rows
    assert found["six"]["read"] <= 2 * rows
    # A sample and brackets, of (4 rows)^(2/3) records each, about; both with room, and what every task reports.
    window, report = 8 * 4 * (4 * rows) ** (2 / 3), 400_000
    assert found["mean"]["driver"] < report
    assert found["median"]["driver"] < window + report
    assert found["six"]["driver"] < 20 ** (1 / 3) * 3 * window + report
    assert max(found[name]["shuffled"] for name in ("mean", "median", "six")) < 20 ** (1 / 3) * 6 * window + report
