"""The first rows of joins without keys, beside stock Spark: `python bench/limits.py [--rows N]`.

Twenty-one rows are asked for, as `show()` does, of two Parquet tables of points, with and without
adaptive execution. Contestants take turns after a round that warms up: stock Spark, range joins,
and range joins by buckets, as a hint asks for. Medians of seconds, as a table in Markdown. Needs
the package `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass

from pyspark.sql import SparkSession
from sessions import ADAPTIVE, FLAG, SMALL, session

#: By contestant: whether range joins are on, and a hint.
CONTESTANTS = {
    "stock": ("false", ""),
    "range join": ("true", ""),
    "by buckets": ("true", "/*+ RANGE_JOIN(a) */"),
}
#: With this, each file is read by a task of its own.
OPEN_COST = "spark.sql.files.openCostInBytes"
COSTLY = "(SELECT * FROM a WHERE sha2(repeat(string(id), 200), 512) > '00001')"


@dataclass(frozen=True)
class Case:
    """A join of `a` and `b`.

    Attributes:
        on: the condition.
        left: the left side.
        files: of each table.
        fewer: how many times fewer rows there are.
        with_stock: whether stock Spark, which may compare all pairs, takes part.
    """

    on: str
    left: str = "a"
    files: int = 4
    fewer: int = 1
    with_stock: bool = True


BAND = "b.t BETWEEN a.t AND a.t + 100"
CASES = {
    "one-sided": Case("a.t < b.t"),
    "band of 100 matches a row": Case(BAND),
    "costly side": Case(BAND, COSTLY),
    "band without matches": Case(
        "b.t BETWEEN a.t + {rows} * 2 AND a.t + {rows} * 2 + 100", with_stock=False
    ),
    "few matches a task": Case(BAND + " AND (a.id + b.id) % 250 = 0", files=200, fewer=10),
}


def seconds(spark: SparkSession, query: str, contestant: str) -> float:
    """One run of a query."""
    flag, hint = CONTESTANTS[contestant]
    spark.conf.set(FLAG, flag)
    begin = time.perf_counter()
    spark.sql(f"SELECT {hint} {query}").collect()
    return time.perf_counter() - begin


def write(spark: SparkSession, folder: str, rows: int, files: int) -> None:
    """The tables `a` and `b`."""
    for seed, name in enumerate("ab"):
        path = f"{folder}/{name}{files}"
        points = f"pmod(xxhash64(id, {seed}), {rows}) AS t"
        spark.range(0, rows, 1, files).selectExpr("id", points).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)


def main() -> None:
    """Runs the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    spark = session()
    spark.conf.set(SMALL, -1)
    spark.conf.set(OPEN_COST, "128MB")
    print(f"| {given.rows:,} rows a side | adaptive | {' | '.join(CONTESTANTS)} |")
    print("|---|---" + "|---:" * 3 + "|")
    with tempfile.TemporaryDirectory() as folder:
        files = 0
        for name, case in CASES.items():
            if case.files != files:
                files = case.files
                write(spark, folder, given.rows // case.fewer, files)
            on = case.on.format(rows=given.rows)
            query = f"a.id, b.id AS other FROM {case.left} a JOIN b ON {on} LIMIT 21"
            for adaptive in "true", "false":
                spark.conf.set(ADAPTIVE, adaptive)
                runs: dict[str, list[float]] = {
                    c: [] for c in CONTESTANTS if case.with_stock or c != "stock"
                }
                for _ in range(given.runs + 1):
                    for contestant, times in runs.items():
                        times.append(seconds(spark, query, contestant))
                cells = [
                    f"{statistics.median(runs[c][1:]):.2f}" if c in runs else "not run"
                    for c in CONTESTANTS
                ]
                on_or_off = "on" if adaptive == "true" else "off"
                print(f"| {name} | {on_or_off} | {' | '.join(cells)} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
