"""What a broadcast range join need not read: `python bench/pruning.py [--rows N] [--runs N]`.

A Parquet table of events is joined with 1,000 intervals, which are broadcast; pairs are counted.
The events are written in the order of their time (16 files) or in no order, and the intervals lie
in a hundredth, a tenth or the whole of the time, or in twenty stretches of a thousandth.
Contestants take turns after a round that warms up; medians are quoted:

    pruned     this project
    not pruned likewise with spark.sql.join.rangePruning.enabled=false
    by hand    likewise with a WHERE from the first to the last interval in the query

Needs `rangejoin`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from pyspark.sql import SparkSession
from sessions import session

DOMAIN = 100_000_000
PRUNING = "spark.sql.join.rangePruning.enabled"
#: Where the intervals are: the number of stretches, and the share of the time that all of them are.
PLACES = {"1 %": (1, 0.01), "10 %": (1, 0.1), "20 x 0.1 %": (20, 0.02), "100 %": (1, 1.0)}


def write(spark: SparkSession, rows: int) -> None:
    """The events, in no order and in the order of their time, and the intervals."""
    events = spark.range(0, rows, 1, 8).selectExpr(
        "pmod(xxhash64(id), 1000) AS k",
        f"pmod(xxhash64(id, 1), {DOMAIN}) AS t",
        "xxhash64(id, 3) % 1000 AS v",
        "xxhash64(id, 4) % 1000 AS w",
    )
    events.write.mode("overwrite").saveAsTable("scattered")
    ordered = spark.table("scattered").repartitionByRange(16, "t").sortWithinPartitions("t")
    ordered.write.mode("overwrite").saveAsTable("clustered")
    for i, (stretches, share) in enumerate(PLACES.values()):
        width = int(DOMAIN * share / stretches)
        spark.range(1000).selectExpr(
            "pmod(xxhash64(id, 9), 1000) AS k",
            f"(id % {stretches}) * {DOMAIN // stretches} + {(DOMAIN // stretches - width) // 2} "
            f"+ pmod(xxhash64(id, 10), {width - 500}) AS s",
        ).selectExpr("k", "s", "s + 500 AS e").localCheckpoint().createOrReplaceTempView(f"i{i}")


def contestants(
    spark: SparkSession, table: str, intervals: str, keyed: bool
) -> dict[str, Callable[[], tuple[object, ...]]]:
    """What runs, by its name; each returns what was counted."""
    row = spark.sql(f"SELECT min(s) AS first, max(e) AS last FROM {intervals}").collect()[0]
    query = (
        f"SELECT /*+ BROADCAST(i) */ count(*), sum(v), sum(w) FROM {table} JOIN {intervals} i "
        f"ON t BETWEEN s AND e{f' AND {table}.k = i.k' if keyed else ''}"
    )

    def run(pruned: bool, where: str = "") -> tuple[object, ...]:
        spark.conf.set(PRUNING, str(pruned).lower())
        return tuple(spark.sql(query + where).collect()[0])

    return {
        "pruned": lambda: run(True),
        "not pruned": lambda: run(False),
        "by hand": lambda: run(False, f" WHERE t BETWEEN {row['first']} AND {row['last']}"),
    }


def timed(body: Callable[[], object]) -> float:
    """Seconds."""
    begin = time.monotonic()
    body()
    return time.monotonic() - begin


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    spark = session()
    try:
        write(spark, args.rows)
        print("| events | intervals in | key | pruned | not pruned | by hand |")
        print("|---|---|---|---:|---:|---:|")
        for table in ("clustered", "scattered"):
            for i, place in enumerate(PLACES):
                for keyed in (False, True):
                    ways = contestants(spark, table, f"i{i}", keyed)
                    counted = {name: way() for name, way in ways.items()}  # warms up
                    assert len(set(counted.values())) == 1, counted
                    turns = [[timed(way) for way in ways.values()] for _ in range(args.runs)]
                    times = [statistics.median(of) for of in zip(*turns, strict=True)]
                    cells = " | ".join(f"{t:.2f}" for t in times)
                    print(
                        f"| {table} | {place} | {'yes' if keyed else 'no'} | {cells} |", flush=True
                    )
    finally:
        for table in ("clustered", "scattered"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")


if __name__ == "__main__":
    main()
