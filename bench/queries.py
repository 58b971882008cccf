"""Whole range joins from PySpark beside what else there is: `python bench/queries.py [--only ...]`.

Contestants, which take turns in every round; a median of the rounds is quoted:

    ours      this project, as it is planned without a hint
    smj       stock Spark's sort-merge join (hint MERGE)
    shj       stock Spark's shuffled hash join (hint SHUFFLE_HASH)
    default   what stock Spark chooses
    bins      stock Spark on hand-written bins of the best of several sizes, found by a sweep
    duckdb    DuckDB
    polars    Polars (`join_where`)
    floor     stock Spark's shuffle and sort of both sides by (key, range column), nothing joined

All read the same Parquet files with two threads. A contestant that exceeds `--limit` seconds in the
round that warms up is stopped and left out. Needs the packages `rangejoin` (see README.md),
`duckdb`, `polars` and `pyarrow`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import rangejoin

FLAG = "spark.sql.join.smj.useInnerRangeOptimization"
SMALL = "spark.sql.autoBroadcastJoinThreshold"
DOMAIN = 1_000_000_000
CONTESTANTS = ["ours", "smj", "shj", "default", "bins", "duckdb", "polars", "floor"]


@dataclass(frozen=True)
class Case:
    """One join of two generated tables `l` and `r`, with columns `k`, `y`, `z`, `v` each.

    Attributes:
        key: SQL for a row's key, of `id`.
        range: condition of the range, of `l` and `r`.
        join: join type.
        length: SQL for `z - y` of a row, of `id`: the length of an interval.
        rows: rows of either side.
        bins: sizes of bins to try; none where bins do not apply.
        reach: how far from `l.y` the rows of `r` that match may begin, below and above, as SQL.
        left: SQL for a row's key on the left side, if it is another one.
    """

    key: str
    range: str = "r.y BETWEEN l.y - 1000000 AND l.y + 1000000"
    join: str = "INNER"
    length: str = "0"
    rows: int = 1_000_000
    bins: tuple[int, ...] = ()
    reach: tuple[str, str] = ("l.y - 1000000", "l.y + 1000000")


BAND = (500_000, 1_000_000, 2_000_000, 4_000_000)
POINT = "l.y BETWEEN r.y AND r.z"
CASES = {
    **{
        f"band {k}": Case(f"pmod(hash(id, 1), {k})", bins=BAND)
        for k in (10, 100, 1_000, 100_000, 1_000_000)
    },
    "band, any bigint": Case("xxhash64(pmod(hash(id, 1), 1000000))"),
    "band, strings": Case(
        "concat('a long prefix that all the keys have in common ', pmod(hash(id, 1), 1000000))"
    ),
    "band, Zipf key": Case("cast(pow(1000, pmod(hash(id, 1), 1000000) / 1e6) AS INT)"),
    "band, left outer": Case("pmod(hash(id, 1), 100)", join="LEFT OUTER"),
    "band, semi": Case("pmod(hash(id, 1), 100)", join="LEFT SEMI"),
    "point, fixed": Case("pmod(hash(id, 1), 100)", POINT, length="1000000"),
    "point, uniform": Case("pmod(hash(id, 1), 100)", POINT, length="pmod(hash(id, 3), 2000000)"),
    "point, heavy tail": Case(
        "pmod(hash(id, 1), 100)",
        POINT,
        length="least(1e8, 1e5 / pow(1 - pmod(hash(id, 3), 1000000) / 1e6, 0.8))",
    ),
    "overlap": Case(
        "pmod(hash(id, 1), 100)", "l.y <= r.z AND r.y <= l.z", length="pmod(hash(id, 3), 1000000)"
    ),
    "10M rows": Case("pmod(hash(id, 1), 1000)", rows=10_000_000),
    "1M rows": Case("pmod(hash(id, 1), 100)"),
}


def session() -> SparkSession:
    """A session on two cores, with the extension."""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 8g pyspark-shell")
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
    )
    spark = rangejoin.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def generate(spark: SparkSession, case: Case, folder: Path) -> None:
    """Writes the tables of a case, unless they are there."""
    for seed, name in ((11, "l"), (12, "r")):
        path = folder / name
        if not path.exists():
            spark.range(0, case.rows, 1, 2).selectExpr(
                f"id + {seed}L * 1000000000L AS id"
            ).selectExpr(
                f"{case.key} AS k",
                f"pmod(xxhash64(id, 2), {DOMAIN}) AS y",
                f"cast({case.length} AS BIGINT) AS length",
                "pmod(hash(id, 4), 1000) AS v",
            ).selectExpr("k", "y", "y + length AS z", "v").write.parquet(str(path))


def query(case: Case, hint: str = "", left: str = "l", right: str = "r", extra: str = "") -> str:
    """The join, aggregated so that its rows are made but not shipped."""
    shown = "sum(l.v)" if case.join == "LEFT SEMI" else "sum(l.v), sum(r.v)"
    return (
        f"SELECT {hint} count(*), {shown} FROM {left} AS l {case.join} JOIN {right} AS r "
        f"ON l.k = r.k {extra}AND {case.range}"
    )


def binned(case: Case, size: int) -> str:
    """The recipe for bins: rows of `l` go to every bin their matches may begin in."""
    low, high = case.reach
    exploded = (
        f"(SELECT *, explode(sequence(floor(({low}) / {size}), floor(({high}) / {size}))) AS bin"
        " FROM l)"
    )
    single = f"(SELECT *, floor(y / {size}) AS bin FROM r)"
    return query(case, left=exploded, right=single, extra="AND l.bin = r.bin ")


class Contest:
    """The contestants of one case."""

    def __init__(self, spark: SparkSession, case: Case, folder: Path, limit: float) -> None:
        """Reads the tables from the folder; a run may take `limit` seconds."""
        self.spark = spark
        self.case = case
        self.folder = folder
        self.limit = limit
        self.bin_size: int | None = None
        for name in ("l", "r"):
            spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)

    def run(self, contestant: str) -> tuple[float, list[int] | None] | None:
        """Seconds and result of one run; None where it was stopped."""
        if contestant in ("duckdb", "polars"):
            return self.process(contestant)
        conf = {FLAG: "false", SMALL: "-1"}
        if contestant == "floor":
            return self.timed(conf, self.floor)
        if contestant == "bins":
            assert self.bin_size is not None
            sql = binned(self.case, self.bin_size)
        else:
            hints = {"smj": "/*+ MERGE(r) */", "shj": "/*+ SHUFFLE_HASH(r) */"}
            sql = query(self.case, hints.get(contestant, ""))
            conf = {
                FLAG: str(contestant == "ours").lower(),
                SMALL: "10MB" if contestant == "default" else "-1",
            }
        return self.timed(conf, lambda: self.collect(self.spark.sql(sql), contestant))

    def collect(self, df: DataFrame, contestant: str) -> list[int]:
        """The row of an aggregation."""
        result = [int(x) for x in df.collect()[0]]
        assert bool(rangejoin.metrics(df)) == (contestant == "ours"), contestant
        return result

    def floor(self) -> None:
        """Shuffles and sorts both sides."""
        for name in ("l", "r"):
            rows = self.spark.table(name).repartition(2, "k").sortWithinPartitions("k", "y")
            assert "Sort [k" in rows._jdf.queryExecution().executedPlan().toString()
            rows.write.format("noop").mode("overwrite").save()

    def timed(
        self, conf: dict[str, str], work: Callable[[], list[int] | None]
    ) -> tuple[float, list[int] | None] | None:
        """Runs a job of Spark with these settings; cancels it at the limit."""
        for key, value in conf.items():
            self.spark.conf.set(key, value)
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            self.spark.sparkContext.cancelAllJobs()

        timer = threading.Timer(self.limit, stop)
        timer.start()
        begin = time.monotonic()
        try:
            result = work()
            return time.monotonic() - begin, result
        except Exception:
            if not stopped.is_set():
                raise
            return None
        finally:
            timer.cancel()

    def process(self, contestant: str) -> tuple[float, list[int] | None] | None:
        """A run of another engine, in a process of its own; its start is not counted."""
        case = json.dumps([self.case.range, self.case.join])
        command = [sys.executable, __file__, "--run", contestant, str(self.folder), case]
        environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
        try:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=self.limit + 30,
                check=True,
            )
        except subprocess.TimeoutExpired:
            return None
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["killed"])[-1]
            print(f"{contestant}: {last}", file=sys.stderr)
            return None
        seconds, result = json.loads(done.stdout)
        return seconds, result

    def sweep(self) -> None:
        """Finds the best size of bins."""
        times: dict[int, float] = {}
        for size in self.case.bins:
            self.bin_size = size
            self.run("bins")
            done = self.run("bins")
            if done is not None:
                times[size] = done[0]
        self.bin_size = min(times, key=lambda size: times[size]) if times else None


def run_engine(engine: str, folder: str, range_sql: str, join: str) -> None:
    """One run of DuckDB or Polars in this process; prints its seconds and result."""
    semi = join == "LEFT SEMI"
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"threads": 2})
        shown = "sum(l.v)" if semi else "sum(l.v), sum(r.v)"
        kind = "SEMI" if semi else join
        begin = time.monotonic()
        row = connection.execute(
            f"SELECT count(*), {shown} FROM '{folder}/l/*.parquet' AS l "
            f"{kind} JOIN '{folder}/r/*.parquet' AS r ON l.k = r.k AND {range_sql}"
        ).fetchone()
        assert row is not None
        result = [int(x) for x in row]
    else:
        import polars as pl

        if join != "INNER":
            raise SystemExit("Polars has inner joins on inequalities only")
        conditions = {
            "r.y BETWEEN": [
                pl.col("y_r") >= pl.col("y") - 1_000_000,
                pl.col("y_r") <= pl.col("y") + 1_000_000,
            ],
            "l.y BETWEEN": [pl.col("y") >= pl.col("y_r"), pl.col("y") <= pl.col("z_r")],
            "l.y <= r.z ": [pl.col("y") <= pl.col("z_r"), pl.col("y_r") <= pl.col("z")],
        }[range_sql[:11]]
        begin = time.monotonic()
        frame = (
            pl.scan_parquet(f"{folder}/l/*.parquet")
            .join_where(
                pl.scan_parquet(f"{folder}/r/*.parquet").rename(lambda name: name + "_r"),
                pl.col("k") == pl.col("k_r"),
                *conditions,
            )
            .select(pl.len(), pl.col("v").sum(), pl.col("v_r").sum().alias("w"))
            .collect()
        )
        result = [int(x) for x in frame.row(0)]
    print(json.dumps([time.monotonic() - begin, result]))


def compete(
    spark: SparkSession, name: str, folder: Path, contestants: list[str], runs: int, limit: float
) -> dict[str, object]:
    """All rounds of one case: by contestant the seconds of each, none where it was stopped."""
    case = CASES[name]
    generate(spark, case, folder)
    contest = Contest(spark, case, folder, limit)
    names = [c for c in contestants if c != "bins" or case.bins]
    if "bins" in names:
        contest.sweep()
        if contest.bin_size is None:
            names.remove("bins")
    seconds: dict[str, list[float]] = {}
    answers: dict[str, list[int]] = {}
    for contestant in names:
        done = contest.run(contestant)
        if done is not None:
            seconds[contestant] = []
            if done[1] is not None:
                answers[contestant] = done[1]
    if len({tuple(a) for a in answers.values()}) > 1:
        raise SystemExit(f"{name}: contestants differ: {answers}")
    for _ in range(runs):
        for contestant in seconds:
            done = contest.run(contestant)
            seconds[contestant].append(limit if done is None else done[0])
    return {
        "case": name,
        "rows out": next(iter(answers.values()))[0] if answers else None,
        "bin size": contest.bin_size,
        "seconds": seconds,
        "stopped": [c for c in names if c not in seconds],
    }


def shown(results: list[dict[str, object]], contestants: list[str], limit: float) -> str:
    """A table in Markdown: medians, and what a contestant takes in proportion to ours."""
    lines = ["| case | rows out | " + " | ".join(contestants) + " |"]
    lines.append("|---" * (len(contestants) + 2) + "|")
    for result in results:
        seconds = result["seconds"]
        assert isinstance(seconds, dict)
        medians = {c: statistics.median(times) for c, times in seconds.items()}
        ours = medians.get("ours")
        cells = []
        for contestant in contestants:
            if contestant in medians:
                ratio = (
                    ""
                    if ours is None or contestant == "ours"
                    else (f" ({medians[contestant] / ours:.2f}x)")
                )
                cells.append(f"{medians[contestant]:.2f}{ratio}")
            else:
                stopped = result["stopped"]
                assert isinstance(stopped, list)
                cells.append(f"> {limit:.0f}" if contestant in stopped else "")
        lines.append(f"| {result['case']} | {result['rows out']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Runs the cases that are asked for; prints a table, and writes all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--contestants", nargs="*", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument("--runs", type=int, default=5, help="rounds, after one that warms up")
    parser.add_argument("--limit", type=float, default=120, help="seconds a run may take")
    parser.add_argument("--data", type=Path, help="folder to keep the data in")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        engine, folder, case = args.run
        run_engine(engine, folder, *json.loads(case))
        return
    with tempfile.TemporaryDirectory() as temporary:
        data = args.data or Path(temporary)
        spark = session()
        results = []
        for name in args.only:
            results.append(
                compete(spark, name, data / name, args.contestants, args.runs, args.limit)
            )
            print(json.dumps(results[-1]), file=sys.stderr, flush=True)
        print(shown(results, args.contestants, args.limit))
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
