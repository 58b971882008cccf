"""Overhead on joins that a range cannot speed up: `python bench/level.py [--only ...]`.

What is asked here is whether a query is ever slower for having a range join. In most cases a
range parts no rows: a key has few of them, or all are in range, or the condition has no range at
all. Stock and ours take turns, each first in every other round, after a garbage collection each; a
median of the rounds is quoted, and ours as a multiple of stock's. A case above `--limit` is a
failure.

Tables are Parquet files. A case is one query, except for

    tiny            thirty queries of 200 rows, in one measurement
    planning        thirty plans of joins without a range, nothing run
    fresh process   the first query of a process, from the session on; each a process of its own

Prints a table in Markdown, and with `--json` keeps the figures of every round; with `--merge` those
of cases in the file that are not run again stay, and the table has all of them. Needs the package
`rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import processes
from level_cases import BAND, CASES, Case, Table
from pyspark.sql import SparkSession
from sessions import FLAG, SMALL, cpu_seconds, session, stages

import rangejoin

CONTESTANTS = {"stock": "false", "ours": "true"}
#: Seconds of every round, by case and contestant.
Results = dict[str, dict[str, list[float]]]
HEAD = "| case | stock, s | ours, s | ours / stock |\n|---|---:|---:|---:|"
FRESH = "fresh process"


class Contest:
    """Both contestants of a case."""

    def __init__(self, spark: SparkSession, case: Case, folder: Path, of_tasks: bool) -> None:
        """Makes the tables in a folder; `of_tasks` says which clock is looked at."""
        self.of_tasks = of_tasks
        self.spark = spark
        self.case = case
        for name, table in (("l", case.left), ("r", case.right)):
            table.write(spark, folder / name, name)
        # Or Spark does not say that a bucket is in order.
        spark.conf.set("spark.sql.legacy.bucketedTableScan.outputOrdering", "true")

    def clock(self) -> float:
        """Seconds on the clock that is asked for."""
        return cpu_seconds(stages(self.spark).values()) if self.of_tasks else time.monotonic()

    def run(self, contestant: str) -> tuple[float, list[Any]]:
        """Seconds and result of one measurement."""
        self.spark.conf.set(FLAG, CONTESTANTS[contestant])
        self.spark.conf.set(SMALL, "-1")
        jvm: Any = self.spark._jvm
        jvm.System.gc()
        result: list[Any] = []
        begin = self.clock()
        for _ in range(self.case.repeated):
            df = self.spark.sql(self.case.sql)
            if self.case.runs:
                rows = df.collect()
                result = [len(rows)] if self.case.limit else [int(x or 0) for x in rows[0]]
            else:
                df._jdf.queryExecution().executedPlan()
        seconds = self.clock() - begin
        if self.case.runs:
            expected = self.case.plans and contestant == "ours"
            assert bool(rangejoin.metrics(df)) == expected, contestant
        return seconds, result

    def compete(self, warmups: int, runs: int) -> dict[str, list[float]]:
        """All rounds; by contestant the seconds of each."""
        seconds: dict[str, list[float]] = {c: [] for c in CONTESTANTS}
        results = set()
        for number in range(warmups + runs):
            names = list(CONTESTANTS)
            for contestant in names if number % 2 == 0 else reversed(names):
                taken, result = self.run(contestant)
                results.add(tuple(result))
                if number >= warmups:
                    seconds[contestant].append(taken)
        if len(results) > 1:
            raise SystemExit(f"contestants differ: {results}")
        return seconds


def fresh(contestant: str) -> None:
    """Runs the first query of this process; prints its seconds and rows."""
    begin = time.monotonic()
    spark = session()
    spark.conf.set(FLAG, CONTESTANTS[contestant])
    for name in ("l", "r"):
        spark.range(0, 1000).selectExpr("id AS k", "id AS t", "id AS v").createOrReplaceTempView(
            name
        )
    spark.conf.set(SMALL, "-1")
    row = spark.sql(Case(Table(0), Table(0), BAND).sql).collect()[0]
    print(json.dumps({"seconds": time.monotonic() - begin, "rows": list(row)}))


def compete_fresh(runs: int) -> dict[str, list[float]]:
    """All rounds of the first query of a process."""
    measure: Callable[[str], processes.Outcome] = partial(
        processes.run, __file__, FRESH, heap="2g", limit=100
    )
    results, reasons = processes.alternate(list(CONTESTANTS), runs, measure)
    if reasons:
        raise SystemExit(f"{FRESH}: {reasons}")
    return {c: [of["seconds"] for of in results[c]] for c in CONTESTANTS}


def ratio(seconds: dict[str, list[float]]) -> float:
    """Ours as a multiple of stock's, by medians."""
    return statistics.median(seconds["ours"]) / statistics.median(seconds["stock"])


def line(name: str, results: Results) -> str:
    """A case as a line of the table."""
    stock, ours = (statistics.median(results[name][c]) for c in CONTESTANTS)
    return f"| {name} | {stock:.3f} | {ours:.3f} | {ratio(results[name]):.2f} |"


def main() -> None:
    """Prints the table; exits with an error where a case is slower than it may be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[*CASES, FRESH], choices=[*CASES, FRESH])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--warmups", type=int, default=4)
    parser.add_argument("--limit", type=float, default=1.05, help="ours / stock")
    parser.add_argument(
        "--cpu", action="store_true", help="processor time of tasks, for a machine that is busy"
    )
    parser.add_argument("--json", type=Path, help="file for the figures of every round")
    parser.add_argument("--merge", action="store_true", help="keep what else is in the file")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        fresh(args.measure[1])
        return
    if args.merge and not args.json:
        parser.error("--merge needs --json")
    results: Results = {}
    if args.merge and args.json.exists():
        results = json.loads(args.json.read_text())
    spark = None
    print(HEAD, flush=True)
    for name in args.only:
        with tempfile.TemporaryDirectory() as folder:
            if name == FRESH:
                seconds = compete_fresh(args.runs)
            else:
                spark = spark or session()
                contest = Contest(spark, CASES[name], Path(folder), args.cpu)
                seconds = contest.compete(args.warmups, args.runs)
        results[name] = seconds
        print(line(name, results), flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n")
    all_cases = [name for name in [*CASES, FRESH] if name in results]
    if len(all_cases) > len(args.only):
        print("\n".join(["", HEAD, *(line(name, results) for name in all_cases)]))
    above = [name for name in all_cases if ratio(results[name]) > args.limit]
    if above:
        print(f"\nabove {args.limit}: {', '.join(above)}", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
