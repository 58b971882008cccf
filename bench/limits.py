"""The first rows of joins without a key, beside stock Spark: `python bench/limits.py [--rows N]`.

Ten rows are asked for, of two Parquet tables of points. Contestants take turns after a round that
warms up: stock Spark, range joins, and range joins that do not try stock Spark's join first.
Medians of seconds, as a table in Markdown. Needs the package `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time

from pyspark.sql import SparkSession
from sessions import FLAG, SMALL, session

TIMEOUT = "spark.sql.join.rangePartitioning.firstRows.timeout"

#: By contestant: whether range joins are on, and how long stock Spark's join is tried.
CONTESTANTS = {
    "stock": ("false", "1s"),
    "range join": ("true", "1s"),
    "range join, not tried": ("true", "0"),
}
#: By case: the condition, and whether stock Spark, which may compare all pairs, takes part.
CASES = {
    "one-sided": ("a.t < b.t", True),
    "band of 100 matches a row": ("b.t BETWEEN a.t AND a.t + 100", True),
    "band without matches": ("b.t BETWEEN a.t + {rows} * 2 AND a.t + {rows} * 2 + 100", False),
}


def seconds(spark: SparkSession, query: str, contestant: str) -> float:
    """One run of a query."""
    flag, timeout = CONTESTANTS[contestant]
    spark.conf.set(FLAG, flag)
    spark.conf.set(TIMEOUT, timeout)
    begin = time.perf_counter()
    spark.sql(query).collect()
    return time.perf_counter() - begin


def main() -> None:
    """Runs the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    spark = session()
    spark.conf.set(SMALL, -1)
    print(f"| {given.rows:,} rows a side | {' | '.join(CONTESTANTS)} |\n|---" + "|---:" * 3 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for seed, name in enumerate("ab"):
            points = f"pmod(xxhash64(id, {seed}), {given.rows}) AS t"
            spark.range(0, given.rows, 1, 4).selectExpr("id", points).write.parquet(
                f"{folder}/{name}"
            )
            spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
        for case, (condition, with_stock) in CASES.items():
            on = condition.format(rows=given.rows)
            query = f"SELECT a.id, b.id AS other FROM a JOIN b ON {on} LIMIT 10"
            runs: dict[str, list[float]] = {
                name: [] for name in CONTESTANTS if with_stock or name != "stock"
            }
            for _ in range(given.runs + 1):
                for name, times in runs.items():
                    times.append(seconds(spark, query, name))
            cells = [
                f"{statistics.median(runs[name][1:]):.2f}" if name in runs else "not run"
                for name in CONTESTANTS
            ]
            print(f"| {case} | {' | '.join(cells)} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
