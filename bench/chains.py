"""One table, the spine, with several history tables: `python bench/chains.py [--kinds as-of]`.

Each history table is joined by the key and the time of the spine: as-of (`rangejoin.join_asof`, the
latest row that is not later), or by a band that has one row for each row of the spine. With one
history table and with ten, in turns, after a round that warms up. Prints medians of seconds and of
processor seconds of all tasks, and how many shuffles, sorts and windows the plan has. Needs
`rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from sessions import SMALL, cpu_seconds, session, stages

import rangejoin

STEP = 1000
HISTORIES = 10


def write(spark: SparkSession, folder: Path, rows: int, keys: int) -> None:
    """The tables, in no order; in each step a key has one row in each of them."""
    for i in range(HISTORIES + 1):
        spark.range(rows).selectExpr(
            f"id % {keys} AS k",
            f"id div {keys} * {STEP} + pmod(xxhash64(id, {i}), {STEP if i == 0 else 1}) AS t",
            f"xxhash64(id, {i}) AS v{i}",
        ).repartition(2, F.col(f"v{i}")).sortWithinPartitions(f"v{i}").write.parquet(
            str(folder / f"t{i}")
        )


def as_of(spine: DataFrame, history: DataFrame) -> DataFrame:
    """The latest row of a history for each row."""
    return rangejoin.join_asof(spine, history, on="t", by="k").drop("t_right")


def band(spine: DataFrame, history: DataFrame) -> DataFrame:
    """The row of a history in the step before each row."""
    near = history.withColumnsRenamed({"k": "hk", "t": "ht"})
    within = F.expr(f"hk = k AND ht BETWEEN t - {STEP - 1} AND t")
    return spine.join(near, within).drop("hk", "ht")


KINDS: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
    "as-of": as_of,
    "band": band,
}


def chain(spark: SparkSession, folder: Path, kind: str, tables: int) -> DataFrame:
    """The spine with its histories."""
    read = [spark.read.parquet(str(folder / f"t{i}")) for i in range(tables + 1)]
    joined = read[0]
    for history in read[1:]:
        joined = KINDS[kind](joined, history)
    return joined


def shape(df: DataFrame) -> str:
    """How many shuffles, sorts and windows the plan has, and how many sorts go key by key."""
    plan = df._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]
    count = [
        len(re.findall(p, plan)) for p in (r"Exchange \w", r"Sort \[", r"Window \[", "presorted")
    ]
    return f"{count[0]} | {count[1]} ({count[3]}) | {count[2]}"


def main() -> None:
    """Prints a row for each kind and number of histories."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000, help="of each table")
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    args = parser.parse_args()
    spark = session()
    spark.conf.set(SMALL, "-1")
    cases = [(kind, tables) for kind in args.kinds for tables in (1, HISTORIES)]
    figures: dict[tuple[str, int], list[tuple[float, float]]] = {case: [] for case in cases}
    shapes = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(spark, folder, args.rows, args.keys)
        for run in range(args.runs + 1):
            for case in cases:
                before = set(stages(spark))
                start = time.monotonic()
                df = chain(spark, folder, *case)
                df.write.format("noop").mode("overwrite").save()
                seconds = time.monotonic() - start
                new = [stage for i, stage in stages(spark).items() if i not in before]
                if run > 0:
                    figures[case].append((seconds, cpu_seconds(new)))
                shapes[case] = shape(df)
    print(
        "| case | histories | shuffles | sorts (key by key) | windows | seconds "
        "| processor seconds |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for (kind, tables), runs in figures.items():
        seconds, cpu = (statistics.median(values) for values in zip(*runs, strict=True))
        print(f"| {kind} | {tables} | {shapes[kind, tables]} | {seconds:.2f} | {cpu:.2f} |")
    spark.stop()


if __name__ == "__main__":
    main()
