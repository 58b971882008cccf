"""Range joins in little memory, beside stock Spark: `python bench/spilling.py [--runs N]`.

Every measurement is a process of its own with a heap of its own, two cores, and data made in it;
contestants alternate. Prints tables in Markdown. Needs the package `rangejoin` (see README.md).

    memory   rows of a key that do not fit into the heap: which heap is enough, how long it takes
    skewed   2,000,000 rows a side of one key and a narrow band
    reread   a window that is on disk and is read again for every streamed row
    output   a wide band whose output is large
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import partial

import processes
from pyspark.sql import DataFrame, SparkSession
from sessions import AGGREGATED, BUFFER

import rangejoin

FLAG = rangejoin.ENABLED_CONF
#: Settings by which a buffer, or a window, has 50,000 rows in memory.
SPILLS = {
    BUFFER + "in.memory.threshold": "50000",
    BUFFER + "spill.threshold": "50000",
}
CONTESTANTS = {
    "ours": {FLAG: "true"},
    "ours, 50,000 rows": {FLAG: "true", **SPILLS},
    "stock": {FLAG: "false"},
    "stock, 50,000 rows": {FLAG: "false", **SPILLS},
}


def side(spark: SparkSession, rows: int, payload: int, spread: int) -> DataFrame:
    """Rows of one key: `t` is 0 to rows * spread in steps, `v` a number below 1000."""
    return spark.range(0, rows, 1, 2).selectExpr(
        "id",
        "pmod(id, 1) AS k",
        f"id * {spread} AS t",
        "pmod(hash(id), 1000) AS v",
        f"repeat(cast(id AS STRING), {payload}) AS p",
    )


#: By case: rows of the left and the right side, repetitions of the payload, condition.
CASES = {
    "memory": (2_000, 1_000_000, 40, "r.t BETWEEN l.t - 50 AND l.t + 50"),
    "skewed": (2_000_000, 2_000_000, 10, "r.t BETWEEN l.t - 20 AND l.t + 20"),
    "reread": (300, 200_000, 30, "r.t BETWEEN l.t - 1e9 AND l.t + 1e9 AND (l.v + r.v) % 1000 = 0"),
    "reread a half": (
        300,
        200_000,
        30,
        "r.t BETWEEN l.t AND l.t + 1000000 AND (l.v + r.v) % 1000 = 0",
    ),
    "output": (20_000, 20_000, 10, "r.t BETWEEN l.t - 50000 AND l.t + 50000"),
}


def measure(case: str, contestant: str) -> None:
    """Runs one case in this process; prints its seconds, rows and metrics as JSON."""
    left, right, payload, condition = CASES[case]
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config(AGGREGATED, "false")
    )
    for key, value in CONTESTANTS[contestant].items():
        builder = builder.config(key, value)
    spark = rangejoin.configure(builder).getOrCreate()
    # The left side is made to span the right one.
    side(spark, left, 1, 10 * right // left).createOrReplaceTempView("l")
    side(spark, right, payload, 10).createOrReplaceTempView("r")
    df = spark.sql(
        "SELECT count(*), sum(octet_length(r.p)), sum(l.v) FROM "
        f"l JOIN r ON l.k = r.k AND {condition} WHERE l.id + r.id >= 0"
    )
    begin = time.monotonic()
    row = df.collect()[0]
    seconds = time.monotonic() - begin
    metrics = next(iter(rangejoin.metrics(df)), {})
    print(json.dumps({"seconds": seconds, "rows": list(row), "metrics": metrics}))


def table(title: str, case: str, heaps: list[str], runs: int, limit: int) -> None:
    """Prints a table of one case: contestants alternate, medians of their runs."""
    contestants = list(CONTESTANTS)
    left, right, _, condition = CASES[case]
    print(f"\n### {title}\n\n{left:,} x {right:,} rows of one key, `{condition}`\n")
    print("| heap | contestant | seconds (median) | rows out | window rows | window | spilled |")
    print("|---|---|---|---|---|---|---|")
    for heap in heaps:
        measure_one = partial(processes.run, __file__, case, heap=heap, limit=limit)
        results, reasons = processes.alternate(contestants, runs, measure_one)
        for contestant, of in results.items():
            if contestant in reasons:
                print(f"| {heap} | {contestant} | {reasons[contestant]} | | | | |")
                continue
            seconds = statistics.median(r["seconds"] for r in of)
            m = of[-1]["metrics"]
            window = m.get("peakWindowRows")
            peak = m.get("peakMemory")
            size = m.get("spillSize")
            spilled = "" if size is None else f"{size / 1048576:,.1f} MiB"
            print(
                f"| {heap} | {contestant} | {seconds:.2f} | {of[-1]['rows'][0]:,} "
                f"| {'' if window is None else format(window, ',')} "
                f"| {'' if peak is None else f'{peak / 1024:,.0f} KiB'} "
                f"| {spilled} |",
                flush=True,
            )


def main() -> None:
    """Runs the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each contestant")
    parser.add_argument("--limit", type=int, default=300, help="seconds a run may take")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=["memory", "skewed", "reread", "output"])
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure)
        return
    if "memory" in args.only:
        title = "A key that does not fit into memory"
        table(title, "memory", ["512m", "1g"], args.runs, args.limit)
    if "skewed" in args.only:
        table("A skewed key, a narrow band", "skewed", ["512m"], args.runs, args.limit)
    if "reread" in args.only:
        for case in ("reread", "reread a half"):
            table("A window on disk", case, ["3g"], args.runs, args.limit)
    if "output" in args.only:
        table("A large output", "output", ["512m"], args.runs, args.limit)


if __name__ == "__main__":
    main()
