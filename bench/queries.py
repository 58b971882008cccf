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
first round that warms up is stopped, and stands at the limit in the picture; one that is slow warms
up once, and has as many rounds as fit into `--budget` seconds; where none does, its first run
counts. Beside the seconds: the execution memory of the tasks of the stage that takes most. (What
stock's sort-merge join buffers of a key is on the heap, and not in it.)
The joins are in `cases.py`. Needs the packages
`rangejoin` (see README.md), `duckdb`, `polars` and `pyarrow`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import engines
import processes
from cases import CASES, Case
from pyspark.sql import DataFrame, SparkSession
from sessions import FLAG, SMALL, session, stages

import rangejoin
from rangejoin.demo import data
from rangejoin.demo.limited import within

NAMES = {
    "ours": "ours",
    "smj": "stock sort-merge",
    "shj": "stock shuffled hash",
    "default": "stock's choice",
    "bins": "bins",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "floor": "sort alone",
}
CONTESTANTS = list(NAMES)


def generate(spark: SparkSession, case: Case, folder: Path) -> None:
    """Writes the tables of a case, unless they are there."""
    for table, name in ((case.left, "l"), (case.right, "r")):
        path = folder / name
        if path.exists():
            continue
        if table is None:
            flights, weather = data.prepare(folder / "demo")
            rows = spark.read.parquet(str(flights if name == "l" else weather)).selectExpr(
                "origin AS k",
                "unix_seconds(time_hour) AS y",
                f"cast({'distance' if name == 'l' else 'wind_dir'} AS BIGINT) AS v",
            )
        else:
            ids = spark.range(table.first, table.first + table.rows, 1, 2)
            rows = ids.selectExpr(*table.columns)
        rows.write.parquet(str(path))


def binned(case: Case, size: int) -> str:
    """The recipe for bins: rows of `l` go to every bin their matches may begin in."""
    low, high = case.reach
    exploded = (
        f"(SELECT *, explode(sequence(floor(({low}) / {size}), floor(({high}) / {size}))) AS bin"
        " FROM l)"
    )
    single = f"(SELECT *, floor(y / {size}) AS bin FROM r)"
    return case.sql("SELECT", exploded, single, extra="l.bin = r.bin")


class Run(NamedTuple):
    """What one run of a contestant gave: seconds, the row, and bytes of execution memory."""

    seconds: float
    result: list[int] | None
    memory: int | None


class Contest:
    """The contestants of one case."""

    def __init__(self, spark: SparkSession, name: str, folder: Path, limit: float) -> None:
        """Reads the tables from the folder; a run may take `limit` seconds."""
        self.spark = spark
        self.name = name
        self.case = CASES[name]
        self.folder = folder
        self.limit = limit
        self.bin_size: int | None = None
        for table in ("l", "r"):
            spark.read.parquet(str(folder / table)).createOrReplaceTempView(table)

    @property
    def contestants(self) -> list[str]:
        """Those who have a part in this case."""
        case = self.case
        without = set()
        if not case.bins:
            without.add("bins")
        if not case.keyed:
            without |= {"smj", "shj"}
        if case.threshold != "-1":
            without.add("floor")
        return [c for c in CONTESTANTS if c not in without]

    def run(self, contestant: str) -> Run | None:
        """One run; None where it was stopped."""
        if contestant in ("duckdb", "polars"):
            return self.process(contestant)
        threshold = self.case.threshold
        conf = {FLAG: "false", SMALL: "-1"}
        if contestant == "floor":
            return self.timed(conf, self.floor)
        if contestant == "bins":
            assert self.bin_size is not None
            sql = binned(self.case, self.bin_size)
        else:
            hints = {"smj": "/*+ MERGE(r) */", "shj": "/*+ SHUFFLE_HASH(r) */"}
            sql = self.case.sql(f"SELECT {hints.get(contestant, '')}", "l", "r")
            stock = "10MB" if threshold == "-1" else threshold
            conf = {
                FLAG: str(contestant == "ours").lower(),
                SMALL: {"ours": threshold, "default": stock}.get(contestant, "-1"),
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

    def timed(self, conf: dict[str, str], work: Callable[[], list[int] | None]) -> Run | None:
        """Runs a job of Spark with these settings; cancels it at the limit."""
        for key, value in conf.items():
            self.spark.conf.set(key, value)
        last = max(stages(self.spark), default=-1)
        begin = time.monotonic()
        done = within(self.spark, self.limit, lambda: (work(), time.monotonic()))
        if done is None:
            return None
        result, end = done
        return Run(end - begin, result, self.memory_since(last))

    def memory_since(self, last: int) -> int:
        """Peak execution memory of the stage that took most, of those after `last`."""
        of = [s.peakExecutionMemory() for n, s in stages(self.spark).items() if n > last]
        return max(of, default=0)

    def process(self, contestant: str) -> Run | None:
        """A run of another engine, in a process of its own; its start is not counted."""
        limit = int(self.limit) + 10
        result, reason = processes.run(__file__, str(self.folder), contestant, "1g", limit)
        if result is None:
            print(f"{contestant}: {reason}", file=sys.stderr)
            return None
        return Run(result["seconds"], result["rows"], None)

    def sweep(self) -> None:
        """Finds the best size of bins."""
        times: dict[int, float] = {}
        for size in self.case.bins:
            self.bin_size = size
            self.run("bins")
            done = self.run("bins")
            if done is not None:
                times[size] = done.seconds
        self.bin_size = min(times, key=lambda size: times[size]) if times else None


def compete(
    contest: Contest,
    contestants: list[str],
    warmups: int,
    runs: int,
    limit: float,
    budget: float,
) -> dict[str, Any]:
    """All rounds of one case: by contestant the seconds of each, none where it was stopped."""
    names = [c for c in contestants if c in contest.contestants]
    if "bins" in names:
        contest.sweep()
        if contest.bin_size is None:
            names.remove("bins")
    seconds: dict[str, list[float]] = {}
    rounds: dict[str, int] = {}
    memory: dict[str, int] = {}
    answers: dict[str, list[int]] = {}
    for contestant in names:
        done = contest.run(contestant)
        if done is None:
            continue
        rounds[contestant] = min(runs, int(budget / done.seconds))
        seconds[contestant] = [] if rounds[contestant] > 0 else [done.seconds]
        if done.memory is not None:
            memory[contestant] = done.memory
        if done.result is not None:
            answers[contestant] = done.result
    if len({tuple(a) for a in answers.values()}) > 1:
        raise SystemExit(f"{contest.name}: contestants differ: {answers}")
    # Java compiles what it runs often: the first rounds take longer.
    for _ in range(warmups - 1):
        for contestant in seconds:
            if rounds[contestant] == runs:
                contest.run(contestant)
    for number in range(runs):
        for contestant, times in seconds.items():
            if number < rounds[contestant]:
                done = contest.run(contestant)
                times.append(limit if done is None else done.seconds)
    return {
        "case": contest.name,
        "rows out": next(iter(answers.values()))[0] if answers else None,
        "bin size": contest.bin_size,
        "seconds": seconds,
        "stopped": [c for c in names if c not in seconds],
        "memory": memory,
    }


def cell(result: dict[str, Any], contestant: str, limit: float) -> str:
    """Median, and what a contestant takes in proportion to ours."""
    if contestant in result["stopped"]:
        return f"> {limit:.0f}"
    if contestant not in result["seconds"]:
        return ""
    medians = {c: statistics.median(times) for c, times in result["seconds"].items()}
    text = f"{medians[contestant]:.2f}"
    if contestant != "ours" and "ours" in medians:
        text += f" ({medians[contestant] / medians['ours']:.2f}x)"
    return text


def shown(results: list[dict[str, Any]], contestants: list[str], limit: float) -> str:
    """Tables in Markdown: seconds, and execution memory."""
    lines = [
        "| case | rows out | " + " | ".join(NAMES[c] for c in contestants) + " |",
        "|---" * (len(contestants) + 2) + "|",
    ]
    for result in results:
        cells = [cell(result, contestant, limit) for contestant in contestants]
        lines.append(f"| {result['case']} | {result['rows out']:,} | " + " | ".join(cells) + " |")
    ofspark = [c for c in contestants if any(c in r["memory"] for r in results)]
    lines += [
        "",
        "| memory, MiB | " + " | ".join(NAMES[c] for c in ofspark) + " |",
        "|---" * (len(ofspark) + 1) + "|",
    ]
    for result in results:
        sizes = [
            f"{result['memory'][c] / 1048576:,.0f}" if c in result["memory"] else ""
            for c in ofspark
        ]
        lines.append(f"| {result['case']} | " + " | ".join(sizes) + " |")
    return "\n".join(lines)


def chart(results: list[dict[str, Any]], contestants: list[str], limit: float, path: Path) -> None:
    """Draws what each contestant takes in proportion to ours, on a logarithmic axis.

    One that was stopped stands at the limit, hollow and with an arrow: it takes longer than that.
    Those stopped in one case stand at one place, and are drawn above one another.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rivals = [c for c in contestants if c != "ours"]
    ours = [statistics.median(r["seconds"]["ours"]) for r in results]
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.42 * len(results)), layout="constrained")
    for number, (contestant, marker) in enumerate(zip(rivals, "osD^vPX", strict=False)):
        color = f"C{number}"
        axes.scatter([], [], marker=marker, s=28, color=color, label=NAMES[contestant])
        for place, result in enumerate(results):
            if contestant in result["seconds"]:
                ratio = statistics.median(result["seconds"][contestant]) / ours[place]
                axes.scatter(ratio, place, marker=marker, s=28, color=color)
            elif contestant in result["stopped"]:
                behind = result["stopped"].index(contestant) - (len(result["stopped"]) - 1) / 2
                at = (limit / ours[place], place + 0.22 * behind)
                axes.scatter(*at, marker=marker, s=16, facecolors="none", edgecolors=color)
                axes.annotate(
                    "",
                    xy=(at[0] * 1.5, at[1]),
                    xytext=(at[0] * 1.06, at[1]),
                    arrowprops={"arrowstyle": "->", "color": color, "linewidth": 0.9},
                )
    axes.axvline(1, color="#d9622b", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 1.5)  # room for arrows
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.set_yticks(range(len(results)), [r["case"] for r in results])
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.3)
    axes.set_xlabel(
        "time in proportion to the range join (1x; further right is slower); "
        f"arrow: stopped at {limit:.0f} s"
    )
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(rivals), frameon=False)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def measure(folder: str, engine: str) -> None:
    """Runs another engine once, on the tables of a case in the folder of its name."""
    os.environ["POLARS_MAX_THREADS"] = "2"
    seconds, rows = engines.RUNS[engine](CASES[Path(folder).name], folder)
    print(json.dumps({"seconds": seconds, "rows": rows}))


def main() -> None:
    """Runs the cases that are asked for; prints a table, and writes all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--contestants", nargs="*", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument("--warmups", type=int, default=3, help="rounds that are not counted")
    parser.add_argument("--runs", type=int, default=5, help="rounds, after those that warm up")
    parser.add_argument("--limit", type=float, default=120, help="seconds a run may take")
    parser.add_argument("--budget", type=float, default=60, help="seconds for all of one's rounds")
    parser.add_argument("--data", type=Path, help="folder to keep the data in")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--chart", type=Path, help="file for a picture")
    parser.add_argument("--draw", type=Path, help="draw the table of this file, and run nothing")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure)
        return
    if args.draw:
        kept = json.loads(args.draw.read_text())["table"]
        chart(kept, args.contestants, args.limit, args.chart)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.data or Path(temporary)
        spark = session()
        results = []
        for name in args.only:
            generate(spark, CASES[name], folder / name)
            contest = Contest(spark, name, folder / name, args.limit)
            results.append(
                compete(contest, args.contestants, args.warmups, args.runs, args.limit, args.budget)
            )
            print(json.dumps(results[-1]), file=sys.stderr, flush=True)
            if args.json:
                args.json.write_text(json.dumps(results, indent=1) + "\n")
        print(shown(results, args.contestants, args.limit))
        if args.chart:
            chart(results, args.contestants, args.limit, args.chart)


if __name__ == "__main__":
    main()
