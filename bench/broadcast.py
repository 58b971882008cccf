"""Broadcast range joins beside stock Spark's: `python bench/broadcast.py [--only CASE ...]`.

Every measurement is a process of its own, two cores, and data made in it; contestants alternate. A
process runs the query five times and gives its first and its fastest time. Prints tables in
Markdown. Needs the package `rangejoin` (see README.md).

    networks   addresses to networks: a point in an interval, no keys
    overlap    intervals that overlap, of very different lengths, no keys
    sessions   events to the sessions of a user: a point in an interval within a key
    band       readings within two seconds of an event of the same device
    exists     events without a session: an anti join
    few        three rows of the broadcast side in a key
    unique     one row of the broadcast side in a key: nothing to be won
    unlimited  every row of a key is in the range: nothing to be won
    build      a million rows to be broadcast, for hardly any join
    labs       events and 400,123 lab results of a patient within 90 days: a left join
    no labs    likewise events without such a result: an anti join
    boxes      points in 10,000 boxes, 1 % wide and high; also by one of the two ranges alone
    cities     points within 0.5 % of 100,000 others in both columns; likewise
    strips     points in 10,000 boxes of all heights: nothing to be won by the second range
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import partial
from typing import Any, NamedTuple

import processes
from pyspark.sql import SparkSession

import rangejoin

FLAG = rangejoin.ENABLED_CONF
CONTESTANTS = {"range join": {FLAG: "true"}, "stock": {FLAG: "false"}}
# For cases with two ranges.
ONE_RANGE = {"one range": {"spark.sql.join.broadcastRange.secondRangeThreshold": "2147483647"}}


class Case(NamedTuple):
    """Rows of both sides and their columns in SQL over `id`, and the join of the two."""

    left_rows: int
    left: str
    right_rows: int
    right: str
    join: str


def hashed(seed: int, below: str) -> str:
    """A number from 0 to below, at random."""
    return f"pmod(xxhash64(id, {seed}), {below})"


EVENTS = f"INT({hashed(1, '15666')}) AS k, INT({hashed(2, '3650')}) AS y, id AS v"
LABS = f"INT({hashed(3, '15666')}) AS k, INT({hashed(4, '3650')}) AS y, id AS v"
POINTS = "rand(1) AS x, rand(2) AS y, id AS v"
IN_BOX = "JOIN /**/ ON l.x BETWEEN r.x AND r.x + r.w AND l.y BETWEEN r.y AND r.y + r.h"
WITHIN_90_DAYS = "l.k = r.k AND abs(l.y - r.y) <= 90"

CASES = {
    "networks": Case(
        200_000,
        f"{hashed(1, '4294967296')} AS y, id AS v",
        10_000,
        "id * 400000 AS y, id * 400000 + pmod(hash(id), 400000) AS z, id AS v",
        "JOIN /**/ ON l.y BETWEEN r.y AND r.z",
    ),
    "overlap": Case(
        100_000,
        f"{hashed(1, '10000000')} AS y, {hashed(1, '10000000')} + 20 AS z, id AS v",
        10_000,
        f"{hashed(2, '10000000')} AS y, {hashed(2, '10000000')} + "
        f"pow(10, {hashed(3, '5')}) AS z, id AS v",
        "JOIN /**/ ON l.y <= r.z AND r.y <= l.z",
    ),
    "sessions": Case(
        2_000_000,
        f"{hashed(1, '100')} AS k, {hashed(2, '10000000')} AS y, id AS v",
        100_000,
        f"{hashed(3, '100')} AS k, {hashed(4, '10000000')} AS y, "
        f"{hashed(4, '10000000')} + {hashed(5, '20000')} AS z, id AS v",
        "JOIN /**/ ON l.k = r.k AND l.y BETWEEN r.y AND r.z",
    ),
    "band": Case(
        1_000_000,
        f"{hashed(1, '50')} AS k, {hashed(2, '10000000')} AS y, id AS v",
        100_000,
        f"{hashed(3, '50')} AS k, {hashed(4, '10000000')} AS y, id AS v",
        "JOIN /**/ ON l.k = r.k AND r.y BETWEEN l.y - 2000 AND l.y + 2000",
    ),
    "exists": Case(
        1_000_000,
        f"{hashed(1, '100')} AS k, {hashed(2, '10000000')} AS y, id AS v",
        100_000,
        f"{hashed(3, '100')} AS k, {hashed(4, '10000000')} AS y, "
        f"{hashed(4, '10000000')} + {hashed(5, '20000')} AS z, 0 AS v",
        "LEFT ANTI JOIN /**/ ON l.k = r.k AND l.y BETWEEN r.y AND r.z",
    ),
    "few": Case(
        5_000_000,
        f"{hashed(1, '100000')} AS k, {hashed(2, '1000')} AS y, id AS v",
        300_000,
        f"pmod(id, 100000) AS k, {hashed(4, '1000')} AS y, id AS v",
        "JOIN /**/ ON l.k = r.k AND r.y BETWEEN l.y - 100 AND l.y + 100",
    ),
    "unique": Case(
        10_000_000,
        f"{hashed(1, '300000')} AS k, {hashed(2, '1000')} AS y, id AS v",
        300_000,
        f"id AS k, {hashed(4, '1000')} AS y, {hashed(4, '1000')} + 500 AS z, id AS v",
        "JOIN /**/ ON l.k = r.k AND l.y BETWEEN r.y AND r.z",
    ),
    "unlimited": Case(
        300_000,
        f"{hashed(1, '1000')} AS k, {hashed(2, '1000')} AS y, id AS v",
        100_000,
        f"{hashed(3, '1000')} AS k, {hashed(4, '1000')} AS y, id AS v",
        "JOIN /**/ ON l.k = r.k AND r.y BETWEEN l.y - 5000 AND l.y + 5000",
    ),
    "build": Case(
        1_000,
        f"{hashed(1, '100')} AS k, {hashed(2, '10000000')} AS y, id AS v",
        1_000_000,
        f"{hashed(3, '100000')} AS k, {hashed(4, '10000000')} AS y, "
        f"{hashed(4, '10000000')} + {hashed(5, '20000')} AS z, id AS v",
        "JOIN /**/ ON l.k = r.k AND l.y BETWEEN r.y AND r.z",
    ),
    "labs": Case(34_340, EVENTS, 400_123, LABS, f"LEFT JOIN /**/ ON {WITHIN_90_DAYS}"),
    "no labs": Case(34_340, EVENTS, 400_123, LABS, f"LEFT ANTI JOIN /**/ ON {WITHIN_90_DAYS}"),
    "boxes": Case(
        1_000_000,
        POINTS,
        10_000,
        "rand(3) AS x, rand(4) AS y, 0.01D AS w, 0.01D AS h, id AS v",
        IN_BOX,
    ),
    "cities": Case(
        1_000_000,
        POINTS,
        100_000,
        "rand(3) AS x, rand(4) AS y, id AS v",
        "JOIN /**/ ON abs(l.x - r.x) <= 0.005 AND abs(l.y - r.y) <= 0.005",
    ),
    "strips": Case(
        1_000_000, POINTS, 10_000, "rand(3) AS x, -1D AS y, 0.001D AS w, 3D AS h, id AS v", IN_BOX
    ),
}
TWO_RANGES = ("boxes", "cities", "strips")


def contestants(name: str) -> dict[str, dict[str, str]]:
    """Settings of the contestants of a case, by name."""
    return {**CONTESTANTS, **(ONE_RANGE if name in TWO_RANGES else {})}


def broadcast_metrics(plan: Any) -> dict[str, int]:
    """The metrics of the broadcast below a plan of the JVM without adaptive execution."""
    if plan.nodeName() == "BroadcastExchange":
        metrics = plan.metrics()
        names = ("dataSize", "buildTime", "collectTime", "broadcastTime")
        return {name: metrics.apply(name).value() for name in names}
    children = plan.children()
    for i in range(children.size()):
        found = broadcast_metrics(children.apply(i))
        if found:
            return found
    return {}


def measure(name: str, contestant: str) -> None:
    """Runs one case in this process; prints its seconds, rows and metrics as JSON."""
    case = CASES[name]
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.driver.memory", "3g")
    )
    for key, value in contestants(name)[contestant].items():
        builder = builder.config(key, value)
    spark = rangejoin.configure(builder).getOrCreate()
    for table, rows, columns in (
        ("l", case.left_rows, case.left),
        ("r", case.right_rows, case.right),
    ):
        frame = spark.range(0, rows, 1, 4).selectExpr(*split(columns)).cache()
        frame.count()
        frame.createOrReplaceTempView(table)
    join = case.join.replace("/**/", "r")
    shown = "sum(l.v)" if "ANTI" in join else "sum(l.v + r.v)"
    times = []
    for _ in range(5):
        df = spark.sql(f"SELECT /*+ BROADCAST(r) */ count(*), {shown} FROM l {join}")
        begin = time.monotonic()
        row = df.collect()[0]
        times.append(time.monotonic() - begin)
    metrics = next(iter(rangejoin.metrics(df)), {})
    broadcast = broadcast_metrics(df._jdf.queryExecution().executedPlan())
    print(
        json.dumps(
            {
                "seconds": min(times),
                "first": times[0],
                "rows": list(row),
                "metrics": metrics,
                "broadcast": broadcast,
            }
        )
    )


def split(columns: str) -> list[str]:
    """Splits a list of expressions at the commas outside of parentheses."""
    parts, depth = [""], 0
    for c in columns:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def table(name: str, runs: int, limit: int) -> None:
    """Prints the rows of one case: contestants alternate, medians of their runs."""
    measure_one = partial(processes.run, __file__, name, heap="3g", limit=limit)
    results, reasons = processes.alternate(list(contestants(name)), runs, measure_one)
    for contestant, of in results.items():
        if contestant in reasons:
            print(f"| {name} | {contestant} | {reasons[contestant]} | | | | | |", flush=True)
            continue
        first, seconds = (statistics.median(r[x] for r in of) for x in ("first", "seconds"))
        broadcast = of[-1]["broadcast"]
        build = statistics.median(r["broadcast"]["buildTime"] for r in of)
        candidates = of[-1]["metrics"].get("numCandidates")
        print(
            f"| {name} | {contestant} | {first:.2f} | {seconds:.2f} | {of[-1]['rows'][0]:,} "
            f"| {'' if candidates is None else format(candidates, ',')} "
            f"| {build:,.0f} ms | {broadcast['dataSize'] / 1048576:,.1f} MiB |",
            flush=True,
        )


def main() -> None:
    """Runs the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each contestant")
    parser.add_argument("--limit", type=int, default=300, help="seconds a run may take")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure)
        return
    print("| case | contestant | first | seconds | rows out | candidates | build | broadcast |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in args.only:
        table(name, args.runs, args.limit)


if __name__ == "__main__":
    main()
