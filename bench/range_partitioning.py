"""Joins without a key, both sides shuffled: `bench/range_partitioning.py [--only ...] [--rows N]`.

Contestants, which take turns; a median of the rounds is quoted:

    ours      this project, with nothing broadcast
    floor     Spark's shuffle and sort of both sides by the bound, nothing joined (`noop`)
    bins      stock Spark on hand-written bins, of the best of several sizes
    duckdb    DuckDB
    polars    Polars (`join_where`)

All read the same Parquet files with two threads and count pairs. `--cpu` adds what tasks of ours
and of the floor have taken of a processor, by what a stage is there for. Needs `rangejoin`,
`duckdb` and `polars`.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from sessions import FLAG, SMALL, cpu_seconds, session, stages

import rangejoin

POINTS = "pmod(xxhash64(id, 1), 1000000000)"
STARTS = "pmod(xxhash64(id, 2), 1000000000)"
SKEWED = f"IF(id % 10 = 0, {POINTS}, {POINTS} % 10000000)"


@dataclass(frozen=True)
class Case:
    """Points `p` of one side, intervals from `s` to `e` of the other.

    Attributes:
        points: SQL of a point, of `id`.
        length: SQL of the length of an interval, of `id`.
        bins: sizes of hand-written bins.
        rows: how many points and how many intervals; None for what `--rows` says.
        starts: SQL of the start of an interval, of `id`.
        query: what is asked of both; its first column, summed up, is the same for all contestants.
    """

    points: str
    length: str
    bins: list[int]
    rows: tuple[int, int] | None = None
    starts: str = STARTS
    query: str = "SELECT count(*) FROM l JOIN r ON l.p BETWEEN r.s AND r.e"


#: How many intervals hold each point.
PER_POINT = "SELECT count(r.s), p FROM l LEFT JOIN r ON l.p BETWEEN r.s AND r.e GROUP BY p"

CASES = {
    "band": Case(POINTS, "1000", [2000, 10000, 50000]),
    "heavy-tailed": Case(
        POINTS,
        "IF(id % 1000 = 0, 10000000, 1000)",
        [10000, 100000, 500000],
    ),
    "nested": Case(POINTS, "CAST(pow(10, id % 6) AS BIGINT)", [10000, 50000, 200000]),
    "ten long": Case(POINTS, "IF(id < 10, 500000000, 100)", [100000, 1000000, 5000000]),
    "skewed points": Case(SKEWED, "1000", [2000, 10000, 50000]),
    "seconds of a day": Case(
        "id",
        "pmod(xxhash64(id, 3), 600)",
        [60, 300, 1200],
        rows=(86_400, 267_000),
        starts="pmod(xxhash64(id, 2), 86400)",
        query=PER_POINT,
    ),
}

OTHERS = {
    "duckdb": """
import duckdb, sys, time
c = duckdb.connect(config={"threads": 2})
t = time.monotonic()
l, r = (f"'{sys.argv[1]}/{n}/*.parquet'" for n in ("l", "r"))
c.execute(f"CREATE VIEW l AS SELECT * FROM {l}; CREATE VIEW r AS SELECT * FROM {r}")
n = sum(row[0] for row in c.execute(sys.argv[2]).fetchall())
print(f"\\n{time.monotonic() - t} {n}")
""",
    "polars": """
import polars as pl, sys, time
t = time.monotonic()
l, r = (pl.scan_parquet(f"{sys.argv[1]}/{n}/*.parquet") for n in ("l", "r"))
j = l.join_where(r, pl.col("p") >= pl.col("s"), pl.col("p") <= pl.col("e"))
# It has no outer join of ranges: points without a match are added.
if "LEFT JOIN" in sys.argv[2]:
    counts = j.group_by("p").agg(pl.len().alias("n"))
    n = l.join(counts, on="p", how="left").select(pl.col("n").fill_null(0)).collect().sum().item()
else:
    n = j.select(pl.len()).collect().item()
print(f"\\n{time.monotonic() - t} {n}")
""",
}


class Contest:
    """The contestants of one case, over its tables."""

    def __init__(self, spark: SparkSession, name: str, rows: int, folder: Path) -> None:
        """Writes the tables."""
        self.spark = spark
        self.folder = folder / name
        self.case = CASES[name]
        self.bin = self.case.bins[0]
        points, intervals = (spark.range(0, n, 1, 4) for n in self.case.rows or (rows, rows))
        points.selectExpr("id", f"{self.case.points} AS p").write.parquet(f"{self.folder}/l")
        intervals.selectExpr("id", f"{self.case.starts} AS s").selectExpr(
            "*", f"s + {self.case.length} AS e"
        ).write.parquet(f"{self.folder}/r")
        for table in ("l", "r"):
            spark.read.parquet(f"{self.folder}/{table}").createOrReplaceTempView(table)

    def ours(self) -> tuple[float, int, DataFrame]:
        """Seconds, pairs, and the query."""
        self.spark.conf.set(FLAG, "true")
        df = self.spark.sql(self.case.query)
        begin = time.monotonic()
        pairs = sum(row[0] for row in df.collect())
        return time.monotonic() - begin, pairs, df

    def run(self, contestant: str) -> tuple[float, int | None]:
        """One run: seconds, and pairs."""
        if contestant == "ours":
            return self.ours()[:2]
        if contestant in OTHERS:
            command = [sys.executable, "-c", OTHERS[contestant], str(self.folder), self.case.query]
            environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            seconds, pairs = done.stdout.splitlines()[-1].split()
            return float(seconds), int(pairs)
        self.spark.conf.set(FLAG, "false")
        begin = time.monotonic()
        if contestant == "floor":
            for table, column in (("l", "p"), ("r", "s")):
                rows = self.spark.table(table).repartition(column).sortWithinPartitions(column)
                rows.write.format("noop").mode("overwrite").save()
            return time.monotonic() - begin, None
        bins = f"""(SELECT *, p DIV {self.bin} AS bin FROM l) l
            {{}} JOIN (
                SELECT *, explode(sequence(s DIV {self.bin}, e DIV {self.bin})) AS bin FROM r
            ) r
            ON l.bin = r.bin AND"""
        query = self.case.query.replace("l LEFT JOIN r ON", bins.format("LEFT"))
        query = query.replace("l JOIN r ON", bins.format(""))
        pairs = sum(row[0] for row in self.spark.sql(query).collect())
        return time.monotonic() - begin, pairs

    def sweep(self) -> None:
        """Finds the best size of bins."""
        times = {}
        for size in self.case.bins:
            self.bin = size
            times[size] = self.run("bins")[0]
        self.bin = min(times, key=lambda size: times[size])


#: What stages of ours and of the floor are there for.
PURPOSES = ("sample", "shuffle write", "shuffle read, sort, join")


def purpose(stage: Any) -> str:
    """What a stage is there for."""
    if "range join without a key" in str(stage.description()):
        return PURPOSES[0]
    return PURPOSES[1] if stage.shuffleReadRecords() == 0 else PURPOSES[2]


def cpu_by_purpose(contest: Contest, contestant: str, runs: int) -> dict[str, float]:
    """Medians of what the tasks of a run have taken of a processor, by what they were there for."""
    found = collections.defaultdict(list)
    for _ in range(runs):
        before = stages(contest.spark).keys()
        contest.run(contestant)
        of = [stage for i, stage in stages(contest.spark).items() if i not in before]
        for name in PURPOSES:
            found[name].append(cpu_seconds(stage for stage in of if purpose(stage) == name))
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def buckets(df: DataFrame) -> dict[str, int | None]:
    """The figures of the buckets of a query that has run."""
    (join,) = rangejoin.explain(df)
    return {
        "numBuckets": join.buckets,
        "largestBucket": join.largest_bucket,
        "samplingTime": join.sampling_ms,
        "numCopies": join.copies,
    }


def main() -> None:
    """Runs the cases, and prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--contestants",
        nargs="*",
        default=["ours", "floor", "bins", "duckdb", "polars"],
    )
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    print("| case | pairs | " + " | ".join(args.contestants) + " | buckets |")
    print("|---" * (len(args.contestants) + 3) + "|")
    with tempfile.TemporaryDirectory() as folder:
        spark = session()
        spark.conf.set("spark.sql.shuffle.partitions", args.partitions)
        spark.conf.set(SMALL, -1)
        for name in args.only:
            contest = Contest(spark, name, args.rows, Path(folder))
            if "bins" in args.contestants:
                contest.sweep()
            answers: set[int] = set()
            seconds: dict[str, list[float]] = {c: [] for c in args.contestants}
            for turn in range(args.runs + 1):
                for contestant in args.contestants:
                    took, pairs = contest.run(contestant)
                    answers |= {pairs} - {None}  # type: ignore[arg-type]
                    if turn > 0:  # the first one warms up
                        seconds[contestant].append(took)
            assert len(answers) == 1, answers
            medians = {c: statistics.median(times) for c, times in seconds.items()}
            cells = [
                f"{t:.2f}" + (f" ({t / medians['ours']:.2f}x)" if c != "ours" else "")
                for c, t in medians.items()
            ]
            about = json.dumps(buckets(contest.ours()[2]))
            size = f"bins of {contest.bin}" if "bins" in medians else ""
            print(
                f"| {name} | {next(iter(answers)):,} | "
                + " | ".join(cells)
                + f" | {about} {size} |",
                flush=True,
            )
            measured = [c for c in ("ours", "floor") if args.cpu and c in args.contestants]
            for contestant in measured:
                cpu = cpu_by_purpose(contest, contestant, args.runs)
                parts = [f"{of} {seconds:.2f}" for of, seconds in cpu.items()]
                print(f"CPU of {contestant}: {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
