"""Joins of few keys and of a skewed key: `python bench/skewed_keys.py [--only ...] [--as-of]`.

Two contestants take turns, ours with skewed keys split and without; medians are quoted:

    seconds   of the query
    cpu       of all its tasks, sampling and the second shuffle included
    longest   CPU time of the longest task of the join by the mean of `--tasks` tasks

Adaptive execution is told to aim at `--tasks` tasks, as on a cluster with that many cores: on a
small machine the seconds say nothing about that, and the longest task does. The join is a band
of 1,000 in 1e9, or with `--as-of` the last earlier row. With `--master
"local-cluster[2,32,2048]"` there are two workers with 32 slots each, as far as Spark knows.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from sessions import SMALL, cpu_seconds, cpu_seconds_of_tasks, session, stages

import rangejoin

Join = Callable[[SparkSession], DataFrame]

SPLIT = "spark.sql.join.skew.enabled"
POINTS = "pmod(xxhash64(id, {seed}), 1000000000)"
#: A key of rank n has about n to the power of -1.2 of the rows of the first one.
ZIPF = "INT(least(1000000, pow(pmod(xxhash64(id, 9{seed}), 1000000) / 1000000D + 1e-6, -5)))"

CASES = {
    "1 key": "7",
    "3 keys": "id % 3",
    "24 keys": "id % 24",
    "Zipf": ZIPF,
    "1,000 keys": "id % 1000",
}


@dataclass
class Run:
    """What one run took."""

    pairs: int
    seconds: float
    cpu: float
    longest: float
    tasks: int


def tables(spark: SparkSession, key: str, rows: int, folder: str) -> None:
    """Points `l` and `r` of these keys."""
    for seed, name in enumerate(("l", "r")):
        points = POINTS.format(seed=seed)
        spark.range(0, rows, 1, 8).selectExpr(
            "id", f"INT({key.format(seed=seed)}) AS k", f"{points} AS p"
        ).write.mode("overwrite").parquet(f"{folder}/{name}")
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)


def band(spark: SparkSession) -> DataFrame:
    """All pairs that are near each other."""
    return spark.sql(
        "SELECT l.id, r.id AS of FROM l JOIN r ON l.k = r.k AND r.p BETWEEN l.p - 500 AND l.p + 500"
    )


def as_of(spark: SparkSession) -> DataFrame:
    """Each row of `l` with the last row of `r` before it."""
    right = spark.table("r").withColumnRenamed("id", "of")
    return rangejoin.join_asof(spark.table("l"), right, on="p", by="k")


def run(spark: SparkSession, join: Join, is_split: bool, tasks: int) -> Run:
    """Runs a join once."""
    spark.conf.set(SPLIT, str(is_split).lower())
    before = set(stages(spark))
    begin = time.monotonic()
    pairs, _ = join(spark).selectExpr("count(*)", "sum(of)").collect()[0]
    seconds = time.monotonic() - begin
    mine = {n: s for n, s in stages(spark).items() if n not in before}
    # The last one adds up what the tasks of the join have counted.
    times = cpu_seconds_of_tasks(spark, sorted(mine)[-2])
    return Run(
        pairs,
        seconds,
        cpu_seconds(mine.values()),
        max(times) / (sum(times) / max(tasks, len(times))),
        len(times),
    )


def median(runs: list[Run], of: str) -> float:
    """The median of a figure."""
    return float(statistics.median(getattr(run, of) for run in runs))


def main() -> None:
    """Runs the cases, and prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threshold", default="8MB", help="what splitting has to save")
    parser.add_argument("--as-of", action="store_true", help="the last earlier row, not a band")
    parser.add_argument("--master", default="local[2]")
    args = parser.parse_args()
    spark = session(args.master)
    spark.conf.set("spark.sql.shuffle.partitions", args.tasks)
    spark.conf.set("spark.sql.adaptive.coalescePartitions.minPartitionNum", args.tasks)
    spark.conf.set("spark.sql.join.skew.threshold", args.threshold)
    spark.conf.set(SMALL, -1)
    print(
        "| case | pairs | seconds | unsplit | cpu | unsplit | longest | unsplit | tasks | unsplit |"
    )
    print("|---" * 10 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only:
            tables(spark, CASES[name], args.rows, f"{folder}/{name}")
            runs: dict[bool, list[Run]] = {True: [], False: []}
            for turn in range(args.runs + 1):
                for is_split in (True, False) if turn % 2 else (False, True):
                    taken = run(spark, as_of if args.as_of else band, is_split, args.tasks)
                    if turn > 0:  # the first one warms up
                        runs[is_split].append(taken)
            assert len({r.pairs for both in runs.values() for r in both}) == 1

            cells = []
            for of in ("seconds", "cpu", "longest"):
                split, unsplit = median(runs[True], of), median(runs[False], of)
                cells += [f"{split:.2f} ({split / unsplit:.2f}x)", f"{unsplit:.2f}"]
            cells += [f"{median(runs[c], 'tasks'):.0f}" for c in (True, False)]
            print(
                f"| {name} | {runs[True][0].pairs:,} | " + " | ".join(cells) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
