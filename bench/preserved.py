"""A small, preserved side that Spark broadcasts, beside stock Spark: `python bench/preserved.py`.

2,000 intervals joined with 1,000,000 points, without a key and without a hint: Spark broadcasts the
intervals, whose rows come out without a match as well. One session; contestants take turns, a
query runs into the `noop` sink. Prints a table in Markdown. Needs the package `rangejoin` (see
README.md).
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

from sessions import FLAG, SMALL, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONTESTANTS = {"range join": "true", "stock": "false"}

ON = "big.y BETWEEN small.lo AND small.hi"
CASES = {
    "LEFT": f"SELECT small.lo, big.v FROM small LEFT JOIN big ON {ON}",
    "LEFT, with a residual": f"SELECT small.lo, big.v FROM small LEFT JOIN big ON {ON} "
    "AND big.v % 3 <> small.v % 3",
    "FULL": f"SELECT small.lo, big.v FROM small FULL JOIN big ON {ON}",
    "SEMI": f"SELECT small.lo FROM small LEFT SEMI JOIN big ON {ON}",
    "ANTI": f"SELECT small.lo FROM small LEFT ANTI JOIN big ON {ON}",
}


def views(spark: SparkSession, directory: str) -> None:
    """Files, so that Spark knows their sizes; half of the intervals are where no points are."""
    small = "id AS v, pmod(xxhash64(id, 1), 2000000) AS lo"
    big = "id AS v, pmod(xxhash64(id, 2), 1000000) AS y"
    for name, rows, columns in (("small", 2_000, small), ("big", 1_000_000, big)):
        path = f"{directory}/{name}"
        spark.range(rows).selectExpr(*columns.split(", ", 1)).write.mode("overwrite").parquet(path)
        table = spark.read.parquet(path)
        if name == "small":
            table = table.selectExpr("*", "lo + pmod(xxhash64(v, 3), 500) AS hi")
        table.createOrReplaceTempView(name)


def seconds(spark: SparkSession, sql: str) -> float:
    """The time of a query whose rows go nowhere."""
    begin = time.perf_counter()
    spark.sql(sql).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def main() -> None:
    """Run the cases and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=sorted(CASES), default=list(CASES))
    parser.add_argument("--directory", default="/tmp/rangejoin-preserved")
    options = parser.parse_args()
    spark = session()
    spark.conf.set(SMALL, "1MB")
    views(spark, options.directory)
    print("| join | rows out | range join | stock | stock / range join |")
    print("|---|---:|---:|---:|---:|")
    for name in options.only:
        taken: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
        for _ in range(options.runs):
            for contestant, flag in CONTESTANTS.items():
                spark.conf.set(FLAG, flag)
                taken[contestant].append(seconds(spark, CASES[name]))
        spark.conf.set(FLAG, "true")
        rows = spark.sql(CASES[name]).count()
        ours, stock = (statistics.median(taken[c]) for c in CONTESTANTS)
        print(f"| {name} | {rows:,} | {ours:.2f} s | {stock:.2f} s | {stock / ours:.1f}x |")
    spark.stop()


if __name__ == "__main__":
    main()
