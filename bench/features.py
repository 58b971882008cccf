"""Features at a point in time, beside what else there is: `python bench features --rows 1e5 1e6`.

A spine and ten tables, as `feature_shapes.py` makes and describes them. The contestants:

    ours         this project, `rangejoin.features`
    stock        stock Spark, the same plan
    union        stock Spark, all tables in one, and functions over windows of it
    bins         stock Spark, days by hand
    feast        stock Spark, SQL in the shape of Feast's; `feast, ours` with the extension
    duckdb       DuckDB: ASOF joins, functions over windows
    polars       Polars: join_asof, rolling functions

Each run is a process of its own with two threads. It reads Parquet files, runs the query over small
tables of the same kind to warm up, then over the large ones twice, of which the second counts, and
gives the sum and the number of values of each feature; all contestants have to have the same. One
that takes more than `--limit` seconds for a run is not done; one that took half of it runs once.
Medians of seconds and of processor seconds (of Spark those of all tasks); on a busy machine look at
the latter. Results are added to `--out` at once, and what is in there is not measured again;
`--draw FILE --out PICTURE` makes tables and a picture of it. Needs `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import engines
import processes
from feature_shapes import CASES, OF_KIND, SPARK, TABLES, duckdb_sql, polars_frame, results, write
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from sessions import AGGREGATED, FLAG, SMALL, cpu_seconds, session, stages

Record = dict[str, Any]
#: Seconds for a process to start, to warm up and to end.
START = 240
SMALL_ROWS = 20_000
CONTESTANTS = ("ours", "union", "duckdb", "polars", "bins", "feast", "feast, ours", "stock")


# ---------------------------------------------------------------- in the process of a contestant


def spark_run(spark: SparkSession, case: str, contestant: str, folder: str) -> list[int]:
    """One run of Spark."""
    spine, *events = (spark.read.parquet(f"{folder}/t{i}") for i in range(TABLES + 1))
    query, _ = SPARK[contestant]
    df = query(case, spine.select("id", "k", "t"), events)
    sums = [F.sum("k"), F.sum(F.expr("t % 1000"))]
    sums += [of(name) for name in results(case) for of in (F.sum, F.count)]
    (row,) = df.agg(F.count("id"), *sums).collect()
    return [int(x or 0) for x in row]


def duckdb_run(case: str, folder: str) -> list[int]:
    """One run of DuckDB."""
    sums = ", ".join(f"sum({name}), count({name})" for name in results(case))
    sql = duckdb_sql(case, folder)
    query = f"SELECT count(id), sum(k), sum(t % 1000), {sums} FROM ({sql})"
    row = engines.connect().execute(query).fetchone()
    assert row is not None
    return [int(x or 0) for x in row]


def polars_run(case: str, folder: str) -> list[int]:
    """One run of Polars."""
    import polars as pl

    sums = [
        pl.col("id").count(),
        pl.col("k").cast(pl.Int64).sum(),
        (pl.col("t") % 1000).sum().alias("s"),
    ]
    for name in results(case):
        sums += [pl.col(name).sum().alias(f"s_{name}"), pl.col(name).count().alias(f"n_{name}")]
    return [int(x or 0) for x in polars_frame(case, folder).select(sums).collect().row(0)]


def measure(what: Record, contestant: str) -> None:
    """Runs a contestant in this process; prints its seconds and its result."""
    case, folder, limit = what["case"], what["folder"], what["limit"]
    os.environ["POLARS_MAX_THREADS"] = "2"
    record: Record = {}
    if contestant in SPARK:
        spark = session()
        spark.conf.set(FLAG, str(SPARK[contestant][1]).lower())
        spark.conf.set(AGGREGATED, "true")
        spark.conf.set(SMALL, "-1")
        partitions = 2 + what["rows"] // 1_000_000
        spark.conf.set("spark.sql.shuffle.partitions", str(partitions))

        def run(of: str) -> list[int]:
            return spark_run(spark, case, contestant, of)
    else:

        def run(of: str) -> list[int]:
            return {"duckdb": duckdb_run, "polars": polars_run}[contestant](case, of)

    processes.timed(lambda: run(what["small"]), limit)
    for _ in range(2):
        known = stages(spark).keys() if contestant in SPARK else ()
        before = time.process_time()
        seconds, found = processes.timed(lambda: run(folder), limit)
        processor = time.process_time() - before
        if contestant in SPARK:
            ran = [stage for number, stage in stages(spark).items() if number not in known]
            processor = cpu_seconds(ran)
        record = {"seconds": seconds, "processor": processor, "rows": found}
        if seconds > limit / 2:
            break
    processes.end(record)


# ---------------------------------------------------------------- in the process that measures


def compete(args: argparse.Namespace, rows: int, folder: Path) -> None:
    """All contestants of all cases over tables of a size."""
    done = [(of["case"], of["contestant"], of["rows"]) for of in records(args.out)]
    # First those that take less, whichever the case.
    for contestant in CONTESTANTS:
        for case in args.cases:
            is_known = (case, contestant, rows) in done
            can = contestant in OF_KIND[CASES[case][0]]
            if is_known or not can or contestant not in args.contestants:
                continue
            what = {"case": case, "folder": str(folder / "large"), "rows": rows}
            what |= {"small": str(folder / "small"), "limit": args.limit}
            taken: Record = {"seconds": [], "processor": []}
            reason = None
            for _ in range(args.runs):
                found, reason = processes.run(
                    __file__, json.dumps(what), contestant, args.heap, 3 * args.limit + START
                )
                reason = reason or (found or {}).get("reason")
                if reason or not found:
                    break
                for name in taken:
                    taken[name].append(found[name])
                taken["found"] = found["rows"]
            record = {"case": case, "contestant": contestant, "rows": rows, **taken}
            record |= {"reason": reason} if reason else {}
            print(json.dumps(record), flush=True)
            with args.out.open("a") as out:
                out.write(json.dumps(record) + "\n")


def check(of: list[Record]) -> None:
    """Raises `SystemExit` where contestants differ in what they found."""
    for case in CASES:
        for rows in {r["rows"] for r in of}:
            same = [r for r in of if (r["case"], r["rows"]) == (case, rows) and "found" in r]
            if len({tuple(r["found"]) for r in same}) > 1:
                raise SystemExit(f"contestants differ in {case!r}: {same}")


def records(path: Path) -> list[Record]:
    """What has been measured."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def tables(of: list[Record]) -> str:
    """A table in Markdown for each size: seconds, and of what ours takes."""
    text: list[str] = []
    for rows in sorted({r["rows"] for r in of}):
        text.append(f"\n| {rows:,} rows a table | | seconds | x | processor seconds | x |")
        text.append("|---|---|---:|---:|---:|---:|")
        for case in CASES:
            here = {r["contestant"]: r for r in of if (r["case"], r["rows"]) == (case, rows)}
            first: list[float] = []
            for contestant, record in here.items():
                if "reason" in record:
                    text.append(f"| {case} | {contestant} | {record['reason']} | | | |")
                    continue
                medians = [statistics.median(record[name]) for name in ("seconds", "processor")]
                first = first or medians
                shown = [
                    f"{of:.2f} | {of / one:.2f}" for of, one in zip(medians, first, strict=True)
                ]
                text.append(f"| {case} | {contestant} | {' | '.join(shown)} |")
    return "\n".join(text)


def draw(of: list[Record], path: Path) -> None:
    """A panel for each case: a bar for each contestant, hatched where it was not done."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = max(r["rows"] for r in of)
    shown = [case for case in CASES if any((r["case"], r["rows"]) == (case, rows) for r in of)]
    figure, grid = pyplot.subplots(
        1, len(shown), figsize=(3 * len(shown), 2.6), squeeze=False, layout="constrained"
    )
    for axes, case in zip(grid[0], shown, strict=True):
        here = [r for r in of if (r["case"], r["rows"]) == (case, rows)][::-1]
        longest = max(max(r["processor"], default=0) for r in here)
        for i, record in enumerate(here):
            seconds = None if "reason" in record else statistics.median(record["processor"])
            color = "#d9622b" if record["contestant"] == "ours" else "C0"
            width = longest * 2 if seconds is None else seconds
            style: Any = {"fill": False, "hatch": "//"} if seconds is None else {"color": color}
            axes.barh(i, width, **style)
            label = "not done" if seconds is None else f"{seconds:.1f}"
            axes.text(width, i, f" {label}", va="center", fontsize=7)
        axes.set_yticks(range(len(here)), [r["contestant"] for r in here], fontsize=8)
        axes.set_title(f"{case}, {rows:,} rows", fontsize=9)
        axes.set_xscale("log")
        axes.set_xlim(0.1, longest * 8)
        axes.xaxis.set_minor_formatter("")
        axes.tick_params(axis="x", labelsize=7)
        axes.set_xlabel("processor seconds", fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measures, or draws what has been measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6], help="of each table")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--contestants", nargs="+", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument("--runs", type=int, default=3, help="processes for each contestant")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a run")
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--out", type=Path, default=Path("features.jsonl"))
    parser.add_argument("--draw", type=Path, help="a file that has been measured")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(json.loads(args.measure[0]), args.measure[1])
        return
    if args.draw:
        print(tables(records(args.draw)))
        draw(records(args.draw), args.out)
        return
    for engine in ("duckdb", "polars"):
        if importlib.util.find_spec(engine) is None:
            args.contestants = [of for of in args.contestants if of != engine]
    for rows in map(int, args.rows):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            spark = session()
            write(spark, folder / "small", SMALL_ROWS)
            write(spark, folder / "large", rows)
            spark.stop()
            compete(args, rows, folder)
    check(records(args.out))
    print(tables(records(args.out)))


if __name__ == "__main__":
    main()
