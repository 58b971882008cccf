"""Joins of tables that are bucketed and sorted: `python bench/prepared.py [--rows N] [--runs N]`.

With `--keep` the tables stay in the working directory, and a later run takes them from there;
with `--runs 0` they are written and nothing is measured.

Two Parquet tables of as many rows and 1,000 keys, and a band that takes in a few rows of the other
side; pairs are counted. Contestants take turns after a round that warms up; medians are quoted:

    prepared    this project, one file a bucket
    eight files likewise, after eight appends
    eight later likewise, each append later in time than all before
    key only    tables that are sorted by the key alone
    one side    the other side is a plain table
    unprepared  this project over plain tables of the same rows
    stock       stock Spark over the prepared tables
    stock, in order  likewise with spark.sql.legacy.bucketedTableScan.outputOrdering

and then the writes: `rangejoin.prepare`, Spark's bucketed write of the same shuffled rows without
the range column in the order, and a plain write. Needs `rangejoin`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from sessions import FLAG, SMALL, session

import rangejoin

KEYS = 1000
#: Stock Spark tests all pairs of a key, and takes minutes: only if it is asked for.
OURS = ["prepared", "eight files", "eight later", "key only", "one side", "unprepared"]
LEGACY = "spark.sql.legacy.bucketedTableScan.outputOrdering"


def table(spark: SparkSession, seed: int, first: int, rows: int, all_rows: int) -> DataFrame:
    """Rows of hashed keys and times; about one in the range of another of the same key."""
    return spark.range(first, first + rows, 1, 4).selectExpr(
        f"pmod(xxhash64(id, {seed}), {KEYS}) AS k",
        f"pmod(xxhash64(id, {seed}, 1), {all_rows // KEYS * 10}) AS t",
        "id AS v",
    )


def joined(spark: SparkSession, left: str, right: str) -> DataFrame:
    """The pairs that are near, counted with a column of each side."""
    return spark.sql(
        f"SELECT count(*), sum(l.v), sum(r.v) FROM {left} l JOIN {right} r "
        "ON l.k = r.k AND r.t BETWEEN l.t - 10 AND l.t + 10"
    )


def contestants(spark: SparkSession) -> dict[str, Callable[[], tuple[object, ...]]]:
    """What runs, by its name; each returns what was counted."""

    def run(suffixes: tuple[str, str], ours: bool, legacy: bool = False) -> tuple[object, ...]:
        spark.conf.set(FLAG, str(ours).lower())
        spark.conf.set(LEGACY, str(legacy).lower())
        left, right = suffixes
        return tuple(joined(spark, f"l_{left}", f"r_{right}").collect()[0])

    return {
        "prepared": lambda: run(("one", "one"), ours=True),
        "eight files": lambda: run(("eight", "eight"), ours=True),
        "eight later": lambda: run(("later", "later"), ours=True),
        "key only": lambda: run(("key", "key"), ours=True),
        "one side": lambda: run(("one", "plain"), ours=True),
        "unprepared": lambda: run(("plain", "plain"), ours=True),
        "stock": lambda: run(("one", "one"), ours=False),
        "stock, in order": lambda: run(("one", "one"), ours=False, legacy=True),
    }


def write(spark: SparkSession, rows: int, buckets: int) -> None:
    """All tables."""
    for side, seed in (("l", 1), ("r", 2)):
        table(spark, seed, 0, rows, rows).write.mode("overwrite").saveAsTable(f"{side}_plain")
        plain = spark.table(f"{side}_plain")
        rangejoin.prepare(
            plain, f"{side}_one", keys="k", range="t", buckets=buckets, mode="overwrite"
        )
        by_key = plain.repartition(buckets, "k").write.mode("overwrite")
        by_key.bucketBy(buckets, "k").sortBy("k").saveAsTable(f"{side}_key")
        times = rows // KEYS * 10
        for part in range(8):
            begin, end = part * times // 8, (part + 1) * times // 8
            appended = {
                "eight": table(spark, seed, part * rows // 8, rows // 8, rows),
                "later": plain.where(f"t >= {begin} AND t < {end}"),
            }
            for suffix, appends in appended.items():
                rangejoin.prepare(
                    appends,
                    f"{side}_{suffix}",
                    keys="k",
                    range="t",
                    buckets=buckets,
                    mode="append" if part else "overwrite",
                )


#: By the suffix of a table's name: how its files are laid out, with the number of buckets.
LAYOUTS = {
    "plain": "",
    "one": "CLUSTERED BY (k) SORTED BY (k, t) INTO {} BUCKETS",
    "eight": "CLUSTERED BY (k) SORTED BY (k, t) INTO {} BUCKETS",
    "later": "CLUSTERED BY (k) SORTED BY (k, t) INTO {} BUCKETS",
    "key": "CLUSTERED BY (k) SORTED BY (k) INTO {} BUCKETS",
}


def reopen(spark: SparkSession, buckets: int) -> bool:
    """The tables that an earlier run has kept; false where there are none."""
    folders = {
        f"{side}_{suffix}": Path("spark-warehouse", f"{side}_{suffix}").absolute()
        for side in ("l", "r")
        for suffix in LAYOUTS
    }
    if not all((folder / "_SUCCESS").exists() for folder in folders.values()):
        return False
    for name, folder in folders.items():
        layout = LAYOUTS[name.partition("_")[2]].format(buckets)
        spark.sql(
            f"CREATE TABLE {name} (k BIGINT, t BIGINT, v BIGINT) USING parquet {layout} "
            f"LOCATION '{folder.as_uri()}'"
        )
    return True


def writes(spark: SparkSession, runs: int, buckets: int) -> dict[str, float]:
    """Seconds of writing one table, in ways that take turns."""
    plain = spark.table("l_plain")

    def bucketed() -> None:
        writer = plain.repartition(buckets, "k").write.mode("overwrite")
        writer.bucketBy(buckets, "k").sortBy("k").saveAsTable("l_written")

    ways: dict[str, Callable[[], object]] = {
        "rangejoin.prepare": lambda: rangejoin.prepare(
            plain, "l_written", keys="k", range="t", buckets=buckets, mode="overwrite"
        ),
        "Spark's bucketed write, sorted by key": bucketed,
        "plain write": lambda: plain.write.mode("overwrite").saveAsTable("l_written"),
    }
    for way in ways.values():  # warms up
        way()
    return medians(ways, runs)


def timed(body: Callable[[], object]) -> float:
    """Seconds."""
    begin = time.monotonic()
    body()
    return time.monotonic() - begin


def medians(ways: Mapping[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """The ways in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            seconds[name].append(timed(way))
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> None:
    """Prints two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--buckets", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=OURS)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    spark = session()
    spark.conf.set(SMALL, -1)
    try:
        if not (args.keep and reopen(spark, args.buckets)):
            write(spark, args.rows, args.buckets)
        if not args.runs:
            return
        ways = contestants(spark)
        ways = {name: way for name, way in ways.items() if name in args.only}
        counted = {name: way() for name, way in ways.items()}  # warms up
        assert len(set(counted.values())) == 1, json.dumps(counted, default=str)
        found = medians(ways, args.runs)
        print("| join | s | of prepared |\n|---|---:|---:|")
        for name, seconds in found.items():
            print(f"| {name} | {seconds:.2f} | {seconds / found['prepared']:.2f} |", flush=True)
        print("\n| write | s |\n|---|---:|")
        for name, seconds in writes(spark, args.runs, args.buckets).items():
            print(f"| {name} | {seconds:.2f} |", flush=True)
    finally:
        for side in ("l", "r"):
            for suffix in ("written",) if args.keep else (*LAYOUTS, "written"):
                spark.sql(f"DROP TABLE IF EXISTS {side}_{suffix}")


if __name__ == "__main__":
    main()
