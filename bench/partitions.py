"""A range join of a table that is partitioned by its key: `python bench/partitions.py [--runs N]`.

A million events in 100 partitions, one a day, are joined by day and range with windows of which a
filter leaves three days, so that dynamic partition pruning reads three partitions. Contestants take
turns after a round that warms up; medians of seconds, and of processor seconds of the whole JVM:

    both           this project
    range alone    likewise with spark.sql.optimizer.dynamicPartitionPruning.enabled=false
    stock          the flag off: pruned, every pair of a day compared

Needs `rangejoin`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from sessions import ADAPTIVE, FLAG, session

DPP = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
CONTESTANTS = {
    "both": {FLAG: "true", DPP: "true"},
    "range alone": {FLAG: "true", DPP: "false"},
    "stock": {FLAG: "false", DPP: "true"},
}
DAY = 1_000_000


class Run(NamedTuple):
    """What was counted, and what it took."""

    counted: tuple[Any, ...]
    seconds: float
    processor: float


def write(spark: SparkSession, rows: int, windows: tuple[int, ...]) -> None:
    """The events, and tables of `windows` windows a day, each a thousandth of the day long."""
    spark.range(0, rows, 1, 1).selectExpr(
        f"pmod(xxhash64(id), {DAY}) AS t", "id % 1000 AS v", "cast(id % 100 AS int) AS day"
    ).repartition(4, "day").write.mode("overwrite").partitionBy("day").saveAsTable("events")
    for number in windows:
        spark.range(100 * number).selectExpr(
            "cast(id % 100 AS int) AS day",
            f"pmod(xxhash64(id, 1), {DAY}) AS s",
            "id % 100 % 33 AS kind",
        ).selectExpr("*", f"s + {DAY // 1000} AS e").write.mode("overwrite").saveAsTable(
            f"windows{number}"
        )


def processor(spark: SparkSession) -> float:
    """Seconds that the JVM has taken."""
    jvm: Any = spark.sparkContext._jvm
    pid = jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(spark: SparkSession, number: int, settings: dict[str, str]) -> Run:
    """The join, under these settings."""
    for key, value in settings.items():
        spark.conf.set(key, value)
    begin, taken = time.monotonic(), processor(spark)
    rows = spark.sql(
        f"SELECT /*+ BROADCAST(w) */ count(*), sum(v) FROM events JOIN windows{number} w "
        "ON events.day = w.day AND t BETWEEN s AND e WHERE w.kind = 3"
    ).collect()
    return Run(tuple(rows[0]), time.monotonic() - begin, processor(spark) - taken)


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--windows", type=int, nargs="+", default=[1, 10, 100, 1000])
    args = parser.parse_args()
    spark = session()
    tables = ["events", *(f"windows{number}" for number in args.windows)]
    try:
        write(spark, args.rows, tuple(args.windows))
        print(f"| windows a day | adaptive | {' | '.join(CONTESTANTS)} |")
        print("|---:|---|---:|---:|---:|")
        for number in args.windows:
            for adaptive in ("true", "false"):
                turns: list[list[Run]] = []
                for _ in range(args.runs + 1):
                    settings = ({**of, ADAPTIVE: adaptive} for of in CONTESTANTS.values())
                    turns.append([run(spark, number, of) for of in settings])
                assert len({counted for turn in turns for counted, _, _ in turn}) == 1
                cells = []
                for i in range(len(CONTESTANTS)):
                    runs = [turn[i] for turn in turns[1:]]
                    seconds = statistics.median(of.seconds for of in runs)
                    cells.append(
                        f"{seconds:.2f} / {statistics.median(of.processor for of in runs):.2f}"
                    )
                print(f"| {number} | {adaptive} | {' | '.join(cells)} |", flush=True)
    finally:
        for table in tables:
            spark.sql(f"DROP TABLE IF EXISTS {table}")


if __name__ == "__main__":
    main()
