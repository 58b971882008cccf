"""The session that benchmarks share, and what it knows of the stages it has run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

import rangejoin

FLAG = rangejoin.ENABLED_CONF
AGGREGATED = "spark.sql.join.aggregatedMatches.enabled"
SMALL = "spark.sql.autoBroadcastJoinThreshold"
ADAPTIVE = "spark.sql.adaptive.enabled"
#: What settings of the buffer of a sort-merge join, or the window of a range join, begin with.
BUFFER = "spark.sql.sortMergeJoinExec.buffer."


def session(master: str = "local[2]") -> SparkSession:
    """A session with the extension; on two cores, unless another master is given."""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 8g pyspark-shell")
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        # What comes out is counted by an aggregate: a join is to make its pairs for it.
        .config(AGGREGATED, "false")
    )
    spark = rangejoin.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def stages(spark: SparkSession) -> dict[int, Any]:
    """By number, the stages of the session up to now, with their metrics; without those skipped."""
    gateway: Any = spark.sparkContext._gateway
    context: Any = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    none = gateway.new_array(gateway.jvm.double, 0)
    nothing = gateway.jvm.java.util.ArrayList()
    found = context.statusStore().stageList(nothing, False, False, none, nothing)
    all_of = (found.apply(i) for i in range(found.size()))
    return {stage.stageId(): stage for stage in all_of if str(stage.status()) != "SKIPPED"}


def cpu_seconds(of: Iterable[Any]) -> float:
    """What all tasks of stages have taken of a processor."""
    return sum(int(stage.executorCpuTime()) for stage in of) / 1e9


def cpu_seconds_of_tasks(spark: SparkSession, stage: int) -> list[float]:
    """What each task of a stage has taken of a processor, at its first attempt."""
    context: Any = spark.sparkContext._jsc.sc()
    tasks = context.statusStore().taskList(stage, 0, 100000)
    found = (tasks.apply(i) for i in range(tasks.size()))
    return [task.taskMetrics().get().executorCpuTime() / 1e9 for task in found]


def run(spark: SparkSession, sql: str) -> tuple[float, float]:
    """Seconds, and processor seconds of the tasks, of a query whose rows go nowhere."""
    before = stages(spark)
    begin = time.monotonic()
    spark.sql(sql).write.format("noop").mode("overwrite").save()
    seconds = time.monotonic() - begin
    return seconds, cpu_seconds(s for i, s in stages(spark).items() if i not in before)
