"""Contestants that take turns over tables of the same rows, for the tables of benchmarks.

Left rows are in no order, and each key has as many right rows.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

import processes
from asof import STEP
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from sessions import FLAG, SMALL, cpu_seconds, session, stages

import rangejoin

#: Seconds that a run of another engine may take.
LIMIT = 300

Query = Callable[[DataFrame, DataFrame], DataFrame]


@dataclass
class Contestant:
    """A query over both sides; with range joins, or as stock Spark runs it.

    One with a `program` is another engine: it is run with `--measure FOLDER NAME`, and prints its
    seconds.
    """

    name: str
    query: Query | None
    flag: str = "true"
    threshold: str = "-1"
    tables: tuple[str, str] = ("l", "r")
    settings: dict[str, str] = field(default_factory=dict)
    program: str = ""


@dataclass
class Case:
    """What is compared: rows of either side, keys, and columns beside `k`, `t` and `v`.

    One that `prepares` has both tables as `rangejoin.prepare` writes them, too; one that runs
    `once` is not warmed up. Of other tables `sides` has the columns, made of `id`.
    """

    contestants: list[Contestant]
    left: int
    right: int
    keys: int
    columns: int = 0
    prepares: bool = False
    once: bool = False
    sides: tuple[str, str] | None = None
    seconds: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, list[float]] = field(default_factory=dict)


def write(spark: SparkSession, folder: Path, case: Case) -> None:
    """The tables; of each key the rows of either side are spread evenly over the same time."""
    if case.sides:
        for name, rows, made in zip("lr", (case.left, case.right), case.sides, strict=True):
            table = spark.range(rows).selectExpr(*made.split(";"))
            table.repartition(2).write.parquet(str(folder / name))
        return
    for name, rows, time_of in (
        ("l", case.left, f"+ pmod(xxhash64(id), {STEP})"),
        ("r", case.right, ""),
    ):
        step = STEP * case.right // rows if name == "l" else STEP
        columns = [f"xxhash64(id, {i}) AS c{i}" for i in range(case.columns)]
        spark.range(rows).selectExpr(
            f"id % {case.keys} AS k",
            f"id div {case.keys} * {step} {time_of} AS t",
            "id AS v",
            *(columns if name == "r" else []),
        ).repartition(2, F.xxhash64("v")).sortWithinPartitions(F.xxhash64("v")).write.parquet(
            str(folder / name)
        )
        if case.prepares:
            rangejoin.prepare(
                spark.read.parquet(str(folder / name)),
                f"{name}_prepared",
                keys="k",
                range="t",
                buckets=2,
            )


def counted(of: DataFrame) -> DataFrame:
    """A row of all that is read, so that nothing can be left out."""
    numbers = [c for c in of.columns if c != "id"]
    return of.agg(F.count("*"), *(F.sum(F.hash(c)) for c in numbers))


def run(spark: SparkSession, folder: Path, case: Case, contestant: Contestant) -> None:
    """One run, noted in the case."""
    if contestant.query is None:
        result, reason = processes.run(
            contestant.program, str(folder), contestant.name, "1g", LIMIT
        )
        if result is None:
            print(f"{contestant.name}: {reason}", flush=True)
        case.seconds.setdefault(contestant.name, []).append(result["seconds"] if result else nan)
        case.processor.setdefault(contestant.name, []).append(nan)
        return
    spark.conf.set(FLAG, contestant.flag)
    spark.conf.set(SMALL, contestant.threshold)
    before = {key: spark.conf.get(key) for key in contestant.settings}
    for key, value in contestant.settings.items():
        spark.conf.set(key, value)
    known = stages(spark).keys()
    begin = time.monotonic()
    left, right = (
        spark.table(name) if name.endswith("prepared") else spark.read.parquet(str(folder / name))
        for name in contestant.tables
    )
    counted(contestant.query(left, right)).collect()
    seconds = time.monotonic() - begin
    for key, setting in before.items():
        spark.conf.set(key, str(setting))
    ran = [stage for number, stage in stages(spark).items() if number not in known]
    case.seconds.setdefault(contestant.name, []).append(seconds)
    case.processor.setdefault(contestant.name, []).append(cpu_seconds(ran))


def counting(rounds: list[float]) -> float:
    """The median of all rounds but the one that warms up."""
    return statistics.median(rounds[1:] or rounds)


def line(name: str, case: Case) -> str:
    """A line of the table for each contestant."""
    lines = []
    first = None
    for contestant in case.contestants:
        seconds = counting(case.seconds[contestant.name])
        processor = counting(case.processor[contestant.name])
        first = first or (seconds, processor)
        lines.append(
            f"| {name} | {contestant.name} | {seconds:.2f} | {processor:.2f} "
            f"| {seconds / first[0]:.2f} | {processor / max(first[1], 0.01):.2f} |"
        )
    return "\n".join(lines)


def main(description: str | None, cases: Callable[[int], dict[str, Case]]) -> None:
    """Prints a table in Markdown: medians of seconds, and of processor seconds of all tasks.

    Args:
        description: what the cases are.
        cases: by name, of this number of rows a side.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=1_000_000, help="a side")
    parser.add_argument("--runs", type=int, default=5, help="rounds that count")
    parser.add_argument("--cases", nargs="+", default=list(cases(1)), choices=list(cases(1)))
    args = parser.parse_args()
    spark = session()
    print(f"\n| {args.rows:,} rows | | seconds | processor | x | x of processor |")
    print("|---|---|---:|---:|---:|---:|")
    for name in args.cases:
        case = cases(args.rows)[name]
        with tempfile.TemporaryDirectory() as folder:
            write(spark, Path(folder), case)
            for _ in range(1 if case.once else args.runs + 1):
                for contestant in case.contestants:
                    run(spark, Path(folder), case, contestant)
        print(line(name, case), flush=True)
        for table in ("l_prepared", "r_prepared"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")
