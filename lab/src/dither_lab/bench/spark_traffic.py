"""What Spark's own books say that was read, shuffled and sent to the driver."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTLED_SECONDS = 10.0


@dataclass(frozen=True)
class SparkTraffic:
    """Totals over all stages since the session began."""

    rows_read: int
    bytes_read: int
    bytes_shuffled: int
    bytes_to_driver: int
    stages: int

    def since(self, before: SparkTraffic) -> SparkTraffic:
        """What was added."""
        return SparkTraffic(
            self.rows_read - before.rows_read,
            self.bytes_read - before.bytes_read,
            self.bytes_shuffled - before.bytes_shuffled,
            self.bytes_to_driver - before.bytes_to_driver,
            self.stages - before.stages,
        )


def spark_traffic(session: SparkSession) -> SparkTraffic:
    """The books as they are once no stage is active: they are written a moment after the work is done."""
    context = session.sparkContext
    gateway, store = context._gateway, context._jsc.sc().statusStore()
    assert gateway is not None  # noqa: S101  (for the type checker)
    nothing, numbers = gateway.jvm.java.util.ArrayList(), gateway.new_array(gateway.jvm.double, 0)
    ends = time.monotonic() + _SETTLED_SECONDS
    while True:
        listed = store.stageList(None, False, False, numbers, nothing)
        stages = [listed.apply(place) for place in range(listed.size())]
        if time.monotonic() > ends or all(str(stage.status()) in ("COMPLETE", "SKIPPED") for stage in stages):
            break
        time.sleep(0.05)
    return SparkTraffic(
        sum(int(stage.inputRecords()) for stage in stages),
        sum(int(stage.inputBytes()) for stage in stages),
        sum(int(stage.shuffleWriteBytes()) for stage in stages),
        sum(int(stage.resultSize()) for stage in stages),
        len(stages),
    )


def busy_executors(session: SparkSession) -> int:
    """How many executors beside the driver have run tasks."""
    listed = session.sparkContext._jsc.sc().statusStore().executorList(True)
    executors = [listed.apply(place) for place in range(listed.size())]
    return sum(item.id() != "driver" and int(item.totalTasks()) > 0 for item in executors)
