"""Many small range joins in one session: `python bench/soak.py [--joins N]`.

Joins of all types and shapes, half of them with seven rows of a window in memory and the rest on
disk. Prints what the session holds as it goes; fails where memory grows or files are left. Needs
the package `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from sessions import BUFFER

import rangejoin

JOINS = ["INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI"]
RANGES = [
    "r.t BETWEEN l.t - 200 AND l.t + 200",
    "l.t BETWEEN r.t AND r.u",
    "l.t <= r.u AND r.t <= l.u",
    "r.t < l.t",
]
#: MiB by which the heap may be larger at the end than after the first quarter.
GROWTH = 16


def main() -> None:
    """Runs the joins, and judges what is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--joins", type=int, default=2000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as local:
        sys.exit(soak(args.joins, Path(local)))


def soak(joins: int, local: Path) -> int:
    """Returns 0 where memory is flat and no file is left, else 1."""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 1g pyspark-shell")
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.local.dir", str(local))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.retainedJobs", "5")
        .config("spark.ui.retainedStages", "5")
        .config("spark.ui.retainedTasks", "20")
        .config("spark.sql.ui.retainedExecutions", "5")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.unsafe.exceptionOnMemoryLeak", "true")
    )
    spark = rangejoin.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name, rows in (("l", 300), ("r", 250)):
        spark.range(0, rows, 1, 2).selectExpr(
            "id", "id % 3 AS k", "id * 5 AS t", "id * 5 + id % 7 * 90 AS u"
        ).cache().createOrReplaceTempView(name)
    jvm = spark._jvm
    assert jvm is not None
    runtime = jvm.java.lang.Runtime.getRuntime()
    memory = jvm.org.apache.spark.SparkEnv.get().memoryManager()

    spilled = planned = 0
    heaps: list[float] = []
    failed = False
    print("| joins | spilled | heap after GC | execution memory | files |")
    print("|---|---|---|---|---|")
    cases = itertools.cycle(itertools.product(JOINS, RANGES, ["7", "2147483632"]))
    for i, (join, condition, limit) in enumerate(itertools.islice(cases, joins), 1):
        spark.conf.set(BUFFER + "in.memory.threshold", limit)
        spark.conf.set(BUFFER + "spill.threshold", limit)
        df = spark.sql(f"SELECT * FROM l {join} JOIN r ON l.k = r.k AND {condition}")
        df.collect()
        metrics = rangejoin.metrics(df)
        planned += len(metrics)
        spilled += any(m["spilledRows"] for m in metrics)
        if i % max(1, joins // 20) == 0:
            for _ in range(3):
                jvm.System.gc()
            heap = (runtime.totalMemory() - runtime.freeMemory()) / 2**20
            heaps.append(heap)
            files = [f for f in local.rglob("temp_local_*") if f.is_file()]
            used = memory.executionMemoryUsed()
            failed |= bool(files) or used != 0
            print(
                f"| {i:,} | {spilled:,} | {heap:,.1f} MiB | {used:,} B | {len(files)} |", flush=True
            )
    spark.stop()
    growth = heaps[-1] - heaps[len(heaps) // 4]
    print(f"\n{planned:,} range joins; the heap grew by {growth:,.1f} MiB since the first quarter")
    return int(failed or planned < joins or spilled < joins // 4 or growth > GROWTH)


if __name__ == "__main__":
    main()
