"""Aggregates over ranges, beside a band join of one match a row: `python bench/aggregates.py`.

In each case the contestants take turns, after a round that warms up; the first is what the others
are compared with. `pairs` is the same query with `spark.sql.join.aggregatedMatches.enabled` off:
the range join gives all pairs.

    earlier     count and sum of every earlier row of the key (1,000 keys)
    extremes    min, max and avg of 100 matches a row
    all         min, max, avg and stddev of every earlier row
    hundred     count and sum of every earlier row, 100 keys
    global      the number of pairs of every earlier row
    one         count of one match a row
    seconds     in how many of 267,000 intervals of up to ten minutes each second of a day is,
                without a key; `bins` is stock Spark by the hour, by ten minutes and by one
    overlaps    how many of as many intervals each overlaps, without a key, 300 matches a row
    keyed       the same, with 24 keys
    subquery    count and sum of every earlier row of the key, and of those that differ in another
                column, by a correlated subquery with all columns of the row
    several     values of two or three subqueries in one select list, of the same rows (one join),
                and of rows that differ by a test that all pass (a join each): sum, count and max
                of every earlier row; the last row's value and time; count and last of 100 matches
    repeated    count of every earlier row by a correlated subquery, where rows have 600 kinds of
                keys and times, or 60,000 with another column; stock Spark asks for each kind once
    windows     count and sum of 1,000 matches a row, and of 3 and of 10 windows within these, by
                CASE; `joins` are a join for each window, joined back by the row, and
                `subqueries` two correlated ones for each
    fanout      count, sum and max of 0.1, 1, 10, 100, 1,000 and 10,000 matches a row

DuckDB, Polars and polars-bio, where they are installed, have a process for each run, in which the
second of two counts. `PAIRS` is how many pairs a contestant that makes them is given.
Medians of seconds, and of processor seconds of all tasks; on a busy machine look at the latter.
Needs `rangejoin` (see README.md).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import time

from asof import STEP, band
from engines import connect
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from sessions import AGGREGATED
from turns import Case, Contestant, Query, main

ON = {AGGREGATED: "true"}


def of_each(on: str, functions: str, by: str = "l.v") -> Query:
    """Aggregates of the right rows of each left row."""

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        columns = [F.expr(f) for f in functions.split(";")]
        pairs = left.alias("l").join(right.alias("r"), F.expr(on), "left")
        grouped = pairs.groupBy(F.expr(by)) if by else pairs.groupBy()
        names = [f"a{i}" for i in range(len(columns))]
        return grouped.agg(*(c.alias(n) for c, n in zip(columns, names, strict=True)))

    return query


def subquery(on: str, functions: str) -> Query:
    """Aggregates of the right rows of each left row, by a correlated subquery."""
    shown = ", ".join(f"{f} AS a{i}" for i, f in enumerate(functions.split(";")))
    sql = f"SELECT l.*, x.* FROM l, LATERAL (SELECT {shown} FROM r WHERE {on}) AS x"

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        left.createOrReplaceTempView("l")
        right.createOrReplaceTempView("r")
        return left.sparkSession.sql(sql)

    return query


def values(on: str, functions: str, apart: bool) -> Query:
    """A subquery for each function; `apart`, of rows that Spark cannot know to be the same."""
    parts = functions.split(";")
    tests = [f" AND r.v > -{i}" if apart else "" for i in range(1, len(parts) + 1)]
    shown = ", ".join(
        f"(SELECT {f} FROM r WHERE {on}{test}) AS a{i}"
        for i, (f, test) in enumerate(zip(parts, tests, strict=True))
    )

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        left.createOrReplaceTempView("l")
        right.createOrReplaceTempView("r")
        return left.sparkSession.sql(f"SELECT l.*, {shown} FROM l")

    return query


def windows_of(count: int) -> list[str]:
    """The conditions of some windows, the longest of which has 1,000 matches a row."""
    ends = (i * 1000 // count * STEP - 1 for i in range(1, count + 1))
    return [f"l.k = r.k AND r.t BETWEEN l.t - {end} AND l.t" for end in ends]


def windows_asked(count: int) -> Query:
    """Count and sum of some windows, each by two correlated subqueries."""
    shown = ", ".join(
        f"(SELECT {f} FROM r WHERE {on}) AS a{i}_{j}"
        for i, on in enumerate(windows_of(count))
        for j, f in enumerate(SIMPLE.split(";"))
    )

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        left.createOrReplaceTempView("l")
        right.createOrReplaceTempView("r")
        return left.sparkSession.sql(f"SELECT l.*, {shown} FROM l")

    return query


def windows_joined(count: int) -> Query:
    """Count and sum of some windows, each by a join of its own, joined back by the row."""

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        result = left
        for i, on in enumerate(windows_of(count)):
            features = of_each(on, SIMPLE)(left, right)
            renamed = features.selectExpr("v", f"a0 AS c{i}", f"a1 AS s{i}")
            result = result.join(renamed, "v", "left")
        return result

    return query


def binned(width: int) -> Query:
    """The seconds of `SECONDS`, by bins of some seconds as they are written by hand."""

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        bins = F.expr(f"explode(sequence(a div {width}, b div {width}))")
        intervals = right.select("*", bins.alias("bin")).alias("r")
        seconds = left.selectExpr("*", f"a div {width} AS bin").alias("l")
        within = F.expr("l.bin = r.bin AND l.a BETWEEN r.a AND r.b")
        pairs = seconds.join(intervals, within, "left")
        return pairs.groupBy("l.v").agg(F.count("r.v").alias("a0"))

    return query


def intervals(domain: int, length: int, keys: int = 1) -> str:
    """Columns of intervals of up to a length, anywhere in a domain."""
    begin = f"pmod(xxhash64(id), {domain})"
    return f"id AS v;id % {keys} AS k;{begin} AS a;{begin} + pmod(xxhash64(id, 7), {length}) AS b"


def duckdb_run(name: str, folder: str) -> list[int]:
    """DuckDB, on two threads: how many rows there are, and the sum of each function."""
    on, functions = ENGINES[name]
    names = [f"a{i}" for i in range(len(functions.split(";")))]
    shown = ", ".join(f"{f} AS {a}" for f, a in zip(functions.split(";"), names, strict=True))
    left, right = (f"'{folder}/{side}/*.parquet' AS {side}" for side in "lr")
    grouped = f"SELECT l.v, {shown} FROM {left} LEFT JOIN {right} ON {on} GROUP BY l.v"
    sums = ", ".join(f"sum({a})" for a in names)
    row = connect().execute(f"SELECT count(*), {sums} FROM ({grouped})").fetchone()
    return [int(x) for x in row]


def polars_run(name: str, folder: str) -> list[int]:
    """Polars, on the threads of `POLARS_MAX_THREADS`; rows without a match are left out."""
    import polars as pl

    def read(sql: str) -> pl.Expr:
        return pl.sql_expr(re.sub(r"\b([lr])\.(\w+)", r"\1_\2", sql))

    def side(name: str) -> pl.LazyFrame:
        return pl.scan_parquet(f"{folder}/{name}/*.parquet").rename(lambda c: f"{name}_{c}")

    on, functions = ENGINES[name]
    left, right = side("l"), side("r")
    joined = left.join_where(right, *[read(part) for part in on.split(" AND ")])
    columns = [read(f).alias(f"a{i}") for i, f in enumerate(functions.split(";"))]
    # A sum of counts, which have 32 bits, would wrap around.
    sums = [pl.col(f"a{i}").cast(pl.Int64).sum() for i in range(len(columns))]
    grouped = joined.group_by("l_v").agg(columns)
    return [int(x) for x in grouped.select(pl.len(), *sums).collect().row(0)]


def bio_run(name: str, folder: str) -> None:
    """The overlaps of polars-bio."""
    import polars as pl
    import polars_bio

    def read(side: str) -> pl.DataFrame:
        chrom = pl.col("k").cast(pl.String).alias("chrom")
        frame = pl.read_parquet(f"{folder}/{side}/*.parquet")
        return frame.select(chrom, pl.col("a").alias("start"), pl.col("b").alias("end"), "v")

    counts = polars_bio.count_overlaps(read("l"), read("r"), output_type="polars.DataFrame")
    counts.select(pl.col("count").sum())


def measure(folder: str, contestant: str) -> None:
    """Runs another engine twice in this process; prints the seconds of the second run as JSON."""
    os.environ["POLARS_MAX_THREADS"] = "2"
    engine, name = contestant.split(" ")
    run = {"duckdb": duckdb_run, "polars": polars_run, "polars-bio": bio_run}[engine]
    run(name, folder)
    begin = time.monotonic()
    run(name, folder)
    print(json.dumps({"seconds": time.monotonic() - begin}))


EARLIER = "l.k = r.k AND r.t <= l.t"
HUNDRED = f"l.k = r.k AND r.t >= l.t - {100 * STEP - 1} AND r.t <= l.t"
OTHERS = f"{EARLIER} AND r.v % 10 <> l.v % 10"
OTHER_KINDS = f"{EARLIER} AND r.c <> l.c"
SIMPLE = "count(*);sum(r.v)"
EXTREMES = "min(double(r.v));max(double(r.v));avg(double(r.v))"
SEVERAL = "count(*);sum(r.v);max(r.v)"
SECONDS = "l.a >= r.a AND l.a <= r.b"
OVERLAP = "r.a <= l.b AND r.b >= l.a"
KEYED = f"l.k = r.k AND {OVERLAP}"
COUNT = "count(r.v)"
LAST = "max_by(r.v, r.t)"
#: Subqueries of one select list: the condition, and the functions.
SEVERAL_VALUES = {
    "sum, count, max": (EARLIER, "sum(r.v);count(*);max(r.v)"),
    "last value and time": (EARLIER, f"{LAST};max(r.t)"),
    "count and last of 100": (HUNDRED, f"count(*);{LAST}"),
}
SUMS = "count(*);sum(r.v);avg(r.v)"
#: What other engines are given: the condition, and the functions.
ENGINES = {
    "simple": (HUNDRED, SIMPLE),
    "extremes": (HUNDRED, "min(r.v);max(r.v);avg(r.v)"),
    "seconds": (SECONDS, COUNT),
    "overlaps": (OVERLAP, COUNT),
    "keyed": (KEYED, COUNT),
    "sums": (KEYED, SUMS),
}
FAN_OUTS = (0.1, 1, 10, 100, 1000, 10_000)
#: The most pairs that are made.
PAIRS = 10**9


def matching(rows: float) -> str:
    """A range of the time in which a key has some right rows."""
    return f"l.k = r.k AND r.t BETWEEN l.t - {int(rows * STEP) - 1} AND l.t"


def engines(name: str, *of: str) -> list[Contestant]:
    """Those of other engines that are installed, in a case."""
    modules = {engine: engine.replace("-", "_") for engine in of}
    return [
        Contestant(f"{engine} {name}", None, program=__file__)
        for engine, module in modules.items()
        if importlib.util.find_spec(module)
    ]


def cases(rows: int) -> dict[str, Case]:
    """The cases, by name."""
    banded = Contestant("band", band)

    def of(query: Query, keys: int = 1000, pairs: float = 0) -> Case:
        contestants = [banded, Contestant("aggregated", query, settings=ON)]
        if rows * pairs <= PAIRS:
            contestants.append(Contestant("pairs", query))
        return Case(contestants, rows, rows, keys)

    def of_intervals(
        name: str, on: str, domain: int, length: int, keys: int = 1, functions: str = COUNT
    ) -> Case:
        query = of_each(on, functions)
        columns = intervals(domain, length, keys)
        contestants = [
            Contestant("aggregated", query, settings=ON),
            Contestant("pairs", query),
            *engines(name, "duckdb", "polars"),
        ]
        if functions == COUNT:
            contestants += engines(name, "polars-bio")
        return Case(contestants, rows, rows, keys, sides=(columns, columns))

    extremes = of(of_each(matching(100), EXTREMES), pairs=100)
    extremes.contestants += engines("extremes", "duckdb", "polars")
    counted = of_each(SECONDS, COUNT)
    widths = (60, 600, 3600)
    seconds = Case(
        [
            Contestant("aggregated", counted, threshold="10MB", settings=ON),
            Contestant("pairs", counted, threshold="10MB"),
            *(Contestant(f"bins {width}", binned(width), "false") for width in widths),
            *engines("seconds", "duckdb", "polars"),
        ],
        86_400,
        267_000,
        1,
        sides=("id AS v;id AS a", intervals(86_400, 600)),
    )
    correlated = Case(
        [
            Contestant("aggregated", of_each(EARLIER, SIMPLE), settings=ON),
            Contestant("subquery", subquery(EARLIER, SIMPLE), settings=ON),
            Contestant("residual", subquery(OTHERS, SIMPLE), settings=ON),
        ],
        rows,
        rows,
        1000,
    )
    several = Case(
        [
            Contestant(
                f"{name}, {'apart' if apart else 'one join'}",
                values(on, functions, apart),
                settings=ON,
            )
            for name, (on, functions) in SEVERAL_VALUES.items()
            for apart in (False, True)
        ],
        rows,
        rows,
        1000,
    )
    of_kinds = "id AS v;pmod(hash(id, 3), 20) AS k;pmod(hash(id), 30) AS t;pmod(id, 100) AS c"
    repeated = Case(
        [
            Contestant(f"{name} {flag}", subquery(on, COUNT), flag, settings=ON)
            for name, on in (("plain", EARLIER), ("residual", OTHER_KINDS))
            for flag in ("true", "false")
        ],
        rows,
        rows // 50,
        20,
        sides=(of_kinds, of_kinds),
    )
    thousand = f"l.k = r.k AND r.t BETWEEN l.t - {1000 * STEP - 1} AND l.t"

    def windows(count: int) -> str:
        ends = [f"r.t >= l.t - {i * 1000 // count * STEP - 1}" for i in range(1, count)]
        inside = [f"count_if({end});sum(CASE WHEN {end} THEN r.v END)" for end in ends]
        return ";".join([SIMPLE, *inside])

    windowed = Case(
        [
            Contestant(f"{count} windows", of_each(thousand, windows(count)), settings=ON)
            for count in (1, 3, 10)
        ]
        + [
            Contestant(f"{count} {name}", spelling(count), settings=ON)
            for count in (3, 10)
            for name, spelling in (("joins", windows_joined), ("subqueries", windows_asked))
        ],
        rows,
        rows,
        100,
    )
    fan_outs = {
        f"fanout-{n}": of(of_each(matching(n), SEVERAL), 10 if n > 100 else 1000, n)
        for n in FAN_OUTS
    }
    return {
        "earlier": of(of_each(EARLIER, SIMPLE), pairs=500),
        "extremes": extremes,
        "all": of(of_each(EARLIER, EXTREMES + ";stddev(double(r.v))"), pairs=500),
        "hundred": of(of_each(EARLIER, SIMPLE), 100, 5000),
        "global": of(of_each(EARLIER, "count(*)", by=""), pairs=500),
        "one": of(of_each(matching(1), COUNT), pairs=1),
        "seconds": seconds,
        "subquery": correlated,
        "several": several,
        "repeated": repeated,
        "windows": windowed,
        "overlaps": of_intervals("overlaps", OVERLAP, 1000 * rows, 300_000),
        "keyed": of_intervals("keyed", KEYED, 1000 * rows // 24, 300_000, 24),
        "sums": of_intervals("sums", KEYED, 1000 * rows // 24, 300_000, 24, SUMS),
        **fan_outs,
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        main(__doc__, cases)
