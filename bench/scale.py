"""Seconds over rows, for this project and other engines: `python bench scale --rows 1e6 1e7`.

Each contestant has a process of its own for each shape and number of rows a side: once to warm up,
then `--runs` times, of which the median counts; no further run begins once they have taken
`--limit` seconds together. A contestant that takes longer than that for a run, or that ends before
it is done, is noted with the reason, and is not tried with more rows.

    ours      this project, nothing broadcast
    stock     stock Spark, the same query (pairs by the equal key, or all pairs)
    bins      stock Spark with rows exploded into bins by hand, as wide as a band is
    union     stock Spark, as-of joins only: both sides in one, and `last` over a window
    duckdb    DuckDB
    polars    Polars
    comet     stock Spark with Comet, where the environment has its jar, or `--comet` names it

All read the same Parquet files with two threads, and give a count and sums, which have to be
equal. Spark shuffles to two partitions and one more for each million rows. A key has 1,000 rows
however many rows there are; a row has one match, in an aggregate a hundred (`scale_shapes.py`).
Of `--memory` the heap of a JVM has all but 1 GB, DuckDB as much before it writes to disk, and
Polars ends where it would take more. The memory that is shown is the peak of the JVM, or of the
process of another engine, all that it has loaded included.

What is measured is added to the file at once; what is in the file is not measured again, unless it
failed. Draw it with `python bench scale --draw FILE --out PICTURE`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import comet
import engines
import processes
import scale_chart
from pyspark import __file__ as pyspark_file
from pyspark.sql import SparkSession
from scale_shapes import SHAPES, engine_run, spark_queries, write
from sessions import AGGREGATED, FLAG, SMALL, session

import rangejoin

OTHERS = ("duckdb", "polars")
#: Seconds for a process to start and to end, and to write tables.
START = 180
WRITING = 7200
Record = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """What a process is to do, beside whose query it runs."""

    shape: str
    rows: int
    folder: str
    scratch: str
    runs: int
    limit: float
    memory: int
    comet: str | None


# ---------------------------------------------------------------- in the process of a contestant


def spark_session(task: Task, contestant: str) -> SparkSession:
    """A session for a contestant, with the tables as views."""
    spark = comet.session(task.comet) if contestant == "comet" else session()
    spark.conf.set(FLAG, str(contestant == "ours").lower())
    spark.conf.set(AGGREGATED, str(task.shape == "aggregate").lower())
    spark.conf.set(SMALL, "-1")
    spark.conf.set("spark.sql.shuffle.partitions", str(2 + task.rows // 1_000_000))
    for name in ("l", "r"):
        spark.read.parquet(f"{task.folder}/{name}").createOrReplaceTempView(name)
    return spark


def runner(task: Task, contestant: str) -> Callable[[], list[int]]:
    """What runs the query of a contestant once."""
    if contestant in OTHERS:
        os.environ["POLARS_MAX_THREADS"] = "2"
        os.environ[engines.MEMORY] = f"{task.memory - 1}GB"
        os.environ[engines.SCRATCH] = task.scratch
        resource.setrlimit(resource.RLIMIT_DATA, (task.memory << 30, task.memory << 30))
        return lambda: engine_run(contestant, task.shape, task.rows, task.folder)
    spark = spark_session(task, contestant)
    query = spark_queries(task.shape, task.rows)[contestant]

    def run() -> list[int]:
        df = query(spark)
        (row,) = df.collect()
        assert bool(rangejoin.metrics(df)) == (contestant == "ours"), contestant
        return [int(x or 0) for x in row]

    return run


def measure(text: str, contestant: str) -> None:
    """Does a task in this process; prints seconds, rows and memory as JSON."""
    task = Task(**json.loads(text))
    os.environ["SPARK_LOCAL_DIRS"] = task.scratch
    folder = Path(task.folder)
    if contestant == "write":
        part = folder.with_name(folder.name + ".part")
        write(session(), SHAPES[task.shape], task.rows, part)
        part.rename(folder)
        print(json.dumps({}))
        return
    run = runner(task, contestant)
    processes.timed(run, task.limit)
    seconds: list[float] = []
    while len(seconds) < task.runs and sum(seconds) < task.limit:
        taken, rows = processes.timed(run, task.limit)
        seconds.append(taken)
    processes.end({"seconds": seconds, "result": rows})


# ---------------------------------------------------------------- in the process of all


class Results:
    """The records of a file."""

    def __init__(self, path: Path | None) -> None:
        """Reads the file, if it is there, but for what failed."""
        self.path = path
        kept = json.loads(path.read_text()) if path and path.exists() else []
        self.records: list[Record] = [r for r in kept if not failed(r)]

    def of(self, shape: str, contestant: str) -> list[Record]:
        """What is known of a contestant."""
        found = (r for r in self.records if r["shape"] == shape)
        return [r for r in found if r["contestant"] == contestant]

    def due(self, shape: str, rows: int, contestant: str) -> bool:
        """Whether something is to be measured; not where fewer rows were too many."""
        known = self.of(shape, contestant)
        return not any(r["rows"] == rows or (r["rows"] < rows and "reason" in r) for r in known)

    def add(self, record: Record) -> None:
        """Adds a record, whose result has to be that of the others."""
        if "result" in record:
            same = [r for r in self.records if "result" in r and alike(r, record)]
            for other in same:
                if other["result"] != record["result"]:
                    raise SystemExit(f"contestants differ:\n{other}\n{record}")
        self.records.append(record)
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            written = self.path.with_name(self.path.name + ".part")
            lines = ",\n".join(json.dumps(r) for r in self.records)
            written.write_text(f"[\n{lines}\n]\n")
            written.replace(self.path)


def failed(record: Record) -> bool:
    """Whether a contestant ended by an error of its own, which may have been mended."""
    return str(record.get("reason", "")).startswith("failed")


def alike(one: Record, other: Record) -> bool:
    """Whether two records are of the same tables and shape."""
    return (one["shape"], one["rows"]) == (other["shape"], other["rows"])


def process(task: Task, contestant: str, limit: float) -> processes.Outcome:
    """Does a task in a process of its own; what it leaves on disk is removed."""
    with tempfile.TemporaryDirectory(dir=Path(task.folder).parent) as scratch:
        text = json.dumps({**asdict(task), "scratch": scratch})
        heap = f"{task.memory - 1}g"
        # Comet has 2 GB of its own.
        heap = f"{task.memory - 3}g" if contestant == "comet" else heap
        return processes.run(__file__, text, contestant, heap, int(limit))


def contestants(task: Task, chosen: list[str]) -> list[str]:
    """Those who have a part in a shape."""
    of_spark = spark_queries(task.shape, task.rows)
    return [c for c in chosen if c in of_spark or c in OTHERS]


def compete(results: Results, task: Task, chosen: list[str]) -> None:
    """All contestants of a shape and number of rows that have not been measured."""
    due = [c for c in contestants(task, chosen) if results.due(task.shape, task.rows, c)]
    if due and not Path(task.folder).exists():
        Path(task.folder).parent.mkdir(parents=True, exist_ok=True)
        done, reason = process(task, "write", WRITING)
        if done is None:
            raise SystemExit(f"tables of {task.folder}: {reason}")
    for contestant in due:
        done, reason = process(task, contestant, START + 3 * task.limit)
        found = done if done is not None else {"reason": reason}
        known = {"shape": task.shape, "rows": task.rows, "contestant": contestant}
        record = {**known, **found, "limit": task.limit, "memory": task.memory}
        print(json.dumps(record), file=sys.stderr, flush=True)
        results.add(record)


def present(chosen: list[str], jar: str | None) -> list[str]:
    """The contestants that are installed; says which are not."""
    missing = [c for c in OTHERS if importlib.util.find_spec(c) is None]
    if jar is None:
        missing.append("comet")
    left_out = [c for c in chosen if c in missing]
    if left_out:
        print(f"left out, as not installed: {', '.join(left_out)}", file=sys.stderr)
    return [c for c in chosen if c not in missing]


def comet_jar() -> str | None:
    """The jar of Comet beside those of Spark."""
    return next(map(str, Path(pyspark_file).parent.glob("jars/comet-spark*.jar")), None)


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    number = lambda text: int(float(text))  # noqa: E731
    parser.add_argument("--rows", type=number, nargs="+", default=[10**6], help="a side (1e6)")
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    names = list(scale_chart.NAMES)
    parser.add_argument("--contestants", nargs="+", default=names, choices=names)
    parser.add_argument("--runs", type=int, default=3, help="runs that count")
    parser.add_argument("--limit", type=float, default=60, help="seconds a run may take")
    parser.add_argument("--memory", type=int, default=8, help="GB a process may take")
    parser.add_argument("--comet", type=os.path.abspath, default=comet_jar(), help="its jar")
    parser.add_argument("--data", type=Path, help="folder to keep the tables in")
    parser.add_argument("--out", type=Path, help="file for the figures, or for the picture")
    parser.add_argument("--draw", type=Path, help="draw the figures of this file, and run nothing")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measures what is not in the file yet; or draws a file, and prints it as tables."""
    args = arguments()
    if args.measure:
        measure(*args.measure)
        return
    if args.draw:
        records = json.loads(args.draw.read_text())
        print(scale_chart.tables(records))
        if args.out:
            scale_chart.chart(records, args.out)
        return
    chosen = present(args.contestants, args.comet)
    results = Results(args.out)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.data or Path(temporary)).absolute()
        for shape in args.shapes:
            for rows in sorted(set(args.rows)):
                tables = str(folder / SHAPES[shape].tables / str(rows))
                options = (args.runs, args.limit, args.memory, args.comet)
                compete(results, Task(shape, rows, tables, "", *options), chosen)
    print(scale_chart.tables(results.records))


if __name__ == "__main__":
    main()
