"""As-of joins beside what else there is: `python bench/asof.py [--rows N ...] [--contestants ...]`.

To each row of the left table the latest row of the right table that is not later, of the same key.
Both have as many rows, in no order, in Parquet files; each key has as many. Times are such that a
band of the length of a step has just one row for each left row, so that all contestants give one
result. They take turns after a round that warms up:

    join_asof   this project: `rangejoin.join_asof`
    ranking     this project: the range join with one end and `row_number() = 1`
    band        this project: the band join, one row for each; what an as-of join is to be held to
    union       stock Spark: both sides in one, and `last` over a window
    stock       stock Spark: the plan of join_asof without the extension; up to `--stock` rows
    duckdb      DuckDB's ASOF JOIN
    polars      Polars' join_asof, sorted in it
    pandas      pandas' merge_asof, sorted in it

The last three have a process for each run, in which the second of two counts; those that are not
installed are left out. Two threads each. Medians of seconds, and for Spark of processor seconds of
all tasks; on a busy machine look at the latter. Needs `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engines
import processes
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from sessions import FLAG, SMALL, cpu_seconds, session, stages

import rangejoin

STEP = 1000
ENGINES = ("duckdb", "polars", "pandas")


def write(spark: SparkSession, folder: Path, rows: int, keys: int) -> None:
    """The tables; each key has a right row a step, and a left row somewhere in each step."""
    for name, time_of in (("l", f"+ pmod(xxhash64(id), {STEP})"), ("r", "")):
        spark.range(rows).selectExpr(
            f"id % {keys} AS k", f"id div {keys} * {STEP} {time_of} AS t", "id AS v"
        ).repartition(2, F.xxhash64("v")).sortWithinPartitions(F.xxhash64("v")).write.parquet(
            str(folder / name)
        )


def join_asof(left: DataFrame, right: DataFrame) -> DataFrame:
    """The as-of join, by its own function."""
    return rangejoin.join_asof(left, right, on="t", by="k").select("v", F.col("v_right").alias("w"))


def ranking(left: DataFrame, right: DataFrame) -> DataFrame:
    """The same by hand."""
    pairs = left.alias("l").join(right.alias("r"), F.expr("l.k = r.k AND r.t <= l.t"), "left")
    best = Window.partitionBy("l.k", "l.v").orderBy(F.desc("r.t"))
    return (
        pairs.withColumn("n", F.row_number().over(best))
        .where("n = 1")
        .selectExpr("l.v", "r.v AS w")
    )


def band(left: DataFrame, right: DataFrame) -> DataFrame:
    """All rows of a step."""
    near = F.expr(f"l.k = r.k AND r.t BETWEEN l.t - {STEP - 1} AND l.t")
    return left.alias("l").join(right.alias("r"), near, "left").selectExpr("l.v", "r.v AS w")


def union(left: DataFrame, right: DataFrame) -> DataFrame:
    """The plan of those who have no range join; of one time the right row comes first."""
    both = left.selectExpr("k", "t", "v", "CAST(NULL AS BIGINT) AS w", "1 AS side").union(
        right.selectExpr("k", "t", "NULL", "v", "0")
    )
    before = (
        Window.partitionBy("k")
        .orderBy("t", "side")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    last = F.last("w", ignorenulls=True).over(before)
    return both.withColumn("w", last).where("side = 1").select("v", "w")


Query = Callable[[DataFrame, DataFrame], DataFrame]
SPARK: dict[str, tuple[Query, str]] = {
    "join_asof": (join_asof, "true"),
    "ranking": (ranking, "true"),
    "band": (band, "true"),
    "union": (union, "false"),
    "stock": (join_asof, "false"),
}


class Contest:
    """The contestants, over tables of a size."""

    def __init__(self, spark: SparkSession, folder: Path, limit: int) -> None:
        """Reads the tables; a run of an engine may take `limit` seconds."""
        self.spark = spark
        self.folder = folder
        self.limit = limit
        spark.conf.set(SMALL, "-1")

    def run(self, contestant: str) -> dict[str, Any]:
        """Seconds, those of processors where they are known, and the result."""
        if contestant in ENGINES:
            result, reason = processes.run(__file__, str(self.folder), contestant, "1g", self.limit)
            if result is None:
                raise SystemExit(f"{contestant}: {reason}")
            return result
        query, flag = SPARK[contestant]
        self.spark.conf.set(FLAG, flag)
        known = stages(self.spark).keys()
        begin = time.monotonic()
        left, right = (self.spark.read.parquet(str(self.folder / name)) for name in ("l", "r"))
        df = query(left, right).agg(F.count("*"), F.sum("v"), F.sum("w"))
        (row,) = df.collect()
        seconds = time.monotonic() - begin
        assert bool(rangejoin.metrics(df)) == (flag == "true"), contestant
        ran = [stage for number, stage in stages(self.spark).items() if number not in known]
        return {"seconds": seconds, "processor": cpu_seconds(ran), "rows": list(row)}

    def compete(self, contestants: list[str], runs: int) -> dict[str, list[dict[str, Any]]]:
        """All rounds but the first, by contestant."""
        results: dict[str, list[dict[str, Any]]] = {c: [] for c in contestants}
        for _ in range(runs + 1):
            for contestant in contestants:
                results[contestant].append(self.run(contestant))
        found = {tuple(of["rows"]) for rounds in results.values() for of in rounds}
        if len(found) > 1:
            raise SystemExit(f"contestants differ: {found}")
        return {contestant: rounds[1:] for contestant, rounds in results.items()}


def duckdb_run(folder: str) -> list[int]:
    """DuckDB on two threads."""
    row = (
        engines.connect()
        .execute(
            f"SELECT count(*), sum(l.v), sum(r.v) FROM '{folder}/l/*.parquet' AS l "
            f"ASOF LEFT JOIN '{folder}/r/*.parquet' AS r ON l.k = r.k AND l.t >= r.t"
        )
        .fetchone()
    )
    assert row is not None
    return [int(x) for x in row]


def polars_run(folder: str) -> list[int]:
    """Polars, on as many threads as `POLARS_MAX_THREADS` says."""
    import polars as pl

    left, right = (pl.scan_parquet(f"{folder}/{name}/*.parquet").sort("t") for name in ("l", "r"))
    joined = left.join_asof(right, on="t", by="k", check_sortedness=False)
    columns = (pl.len(), pl.col("v").sum(), pl.col("v_right").sum())
    return [int(x) for x in joined.select(*columns).collect().row(0)]


def pandas_run(folder: str) -> list[int]:
    """Pandas, which has one thread."""
    import pandas as pd

    left, right = (pd.read_parquet(f"{folder}/{name}").sort_values("t") for name in ("l", "r"))
    joined = pd.merge_asof(left, right, on="t", by="k", suffixes=("", "_right"))
    return [len(joined), int(joined["v"].sum()), int(joined["v_right"].sum())]


def measure(folder: str, engine: str) -> None:
    """Runs an engine twice in this process; prints the second run as JSON."""
    os.environ["POLARS_MAX_THREADS"] = "2"
    run = {"duckdb": duckdb_run, "polars": polars_run, "pandas": pandas_run}[engine]
    run(folder)
    begin = time.monotonic()
    rows = run(folder)
    print(json.dumps({"seconds": time.monotonic() - begin, "rows": rows}))


def lines(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A line of the table for each contestant."""
    medians = {c: statistics.median(of["seconds"] for of in results[c]) for c in results}
    first = next(iter(medians.values()))
    return [
        f"| {contestant} | {seconds:.2f} | {processor(results[contestant])} "
        f"| {seconds / first:.2f} |"
        for contestant, seconds in medians.items()
    ]


def processor(rounds: list[dict[str, Any]]) -> str:
    """The median, where it is known."""
    return (
        f"{statistics.median(of['processor'] for of in rounds):.2f}"
        if "processor" in rounds[0]
        else ""
    )


def main() -> None:
    """Prints a table in Markdown for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000], help="a side")
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5, help="rounds that count")
    parser.add_argument("--stock", type=int, default=200_000, help="the most rows stock is given")
    parser.add_argument(
        "--limit", type=int, default=300, help="seconds a run of an engine may take"
    )
    choices = [*SPARK, *ENGINES]
    parser.add_argument("--contestants", nargs="+", default=choices, choices=choices)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure)
        return
    missing = [of for of in ENGINES if importlib.util.find_spec(of) is None]
    spark = session()
    for rows in args.rows:
        left_out = [*missing, *(["stock"] if rows > args.stock else [])]
        contestants = [of for of in args.contestants if of not in left_out]
        with tempfile.TemporaryDirectory() as folder:
            write(spark, Path(folder), rows, args.keys)
            results = Contest(spark, Path(folder), args.limit).compete(contestants, args.runs)
        print(f"\n| {rows:,} x {rows:,}, {args.keys:,} keys | seconds | processor | x |")
        print("|---|---:|---:|---:|")
        print("\n".join(lines(results)), flush=True)
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)


if __name__ == "__main__":
    main()
