"""The tables of `features.py`, and its queries as each contestant writes them.

A spine and ten tables of events, as many rows in each, in no order. Keys are skewed: 1,000 of them,
the first with 3 % of all rows. Times are milliseconds of ninety days, none of them there twice. A
tenth of the events is known up to three days late.

    latest    of each table the latest row not later than the spine's, if it is not too old (one to
              sixty days, by the table); one table, or ten
    windows   of one table sum, count and max over the last 3, 14 and 30 days
    late      of one table the latest row that was known at the spine's time
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

import rangejoin

KEYS = 1000
DAY = 86_400_000
ALL = 90 * DAY
TABLES = 10
AGES = tuple(days * DAY for days in (1, 2, 3, 5, 7, 10, 14, 21, 30, 60))
SPANS = {f"d{days}": days * DAY for days in (3, 14, 30)}
FUNCTIONS = ("sum", "count", "max")

#: Cases by name: the kind, and how many tables.
CASES = {
    "latest of 1": ("latest", 1),
    "latest of 10": ("latest", 10),
    "windows": ("windows", 1),
    "late": ("late", 1),
}


def write(spark: SparkSession, folder: Path, rows: int) -> None:
    """The spine is table 0."""
    step = ALL // rows
    for i in range(TABLES + 1):
        chance = "(pmod(xxhash64(id, {}), 1000000) / 1e6D)"
        within = f"pmod(xxhash64(id, {i}, 2), {step // 2}) + {step // 2 if i == 0 else 0}"
        late = f"if({chance.format(f'{i}, 3')} < 0.1, pmod(xxhash64(id, {i}, 4), {3 * DAY}), 0)"
        spark.range(rows).selectExpr(
            "id",
            f"int({KEYS} * pow({chance.format(f'{i}, 1')}, 2)) AS k",
            f"id * {step} + {within} AS t",
            f"pmod(xxhash64(id, {i}, 5), 1000) AS v",
            f"id * {step} + {within} + {late} AS known",
        ).repartition(2, F.xxhash64("id")).sortWithinPartitions(F.xxhash64("id")).write.parquet(
            str(folder / f"t{i}")
        )


def results(case: str) -> list[str]:
    """The names of the features."""
    kind, tables = CASES[case]
    if kind == "windows":
        return [f"{function}_{name}" for name in SPANS for function in FUNCTIONS]
    return [f"v{i}" for i in range(1, tables + 1)]


def ours(case: str, spine: DataFrame, events: list[DataFrame]) -> DataFrame:
    """`rangejoin.features`."""
    kind, tables = CASES[case]
    sources: list[rangejoin.Latest | rangejoin.Windows]
    if kind == "windows":
        name = "{function}_{window}"
        sources = [rangejoin.Windows(events[0], SPANS, {"v": FUNCTIONS}, name=name)]
    elif kind == "late":
        sources = [rangejoin.Latest(events[0], "v", known_at="known", name="v1")]
    else:
        sources = [
            rangejoin.Latest(events[i], "v", max_age=AGES[i], name=f"v{i + 1}")
            for i in range(tables)
        ]
    return rangejoin.features(spine, sources, on="t", by="k")


def union(case: str, spine: DataFrame, events: list[DataFrame]) -> DataFrame:
    """All tables in one, and functions over windows of it: one shuffle and one sort."""
    kind, tables = CASES[case]
    names = [f"e{i}" for i in range(tables)]
    none = [f"CAST(NULL AS STRUCT<t: BIGINT, v: BIGINT>) AS {name}" for name in names]
    rows = spine.selectExpr("id", "k", "t", *none)
    for i in range(tables):
        own = [*none[:i], f"struct(t, v) AS e{i}", *none[i + 1 :]]
        rows = rows.union(events[i].selectExpr("NULL AS id", "k", "t", *own))
    by_time = Window.partitionBy("k").orderBy("t")
    if kind == "windows":
        rows = rows.select(
            "id",
            "k",
            "t",
            *(
                F.expr(f"{function}(e0.v)")
                .over(by_time.rangeBetween(1 - span, 0))
                .alias(f"{function}_{name}")
                for name, span in SPANS.items()
                for function in FUNCTIONS
            ),
        )
        return rows.where("id IS NOT NULL")
    before = by_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last = [F.last(name, ignorenulls=True).over(before).alias(name) for name in names]
    found = rows.select("id", "k", "t", *last).where("id IS NOT NULL")
    return found.selectExpr(
        "id",
        "k",
        "t",
        *(f"if({n}.t >= t - {AGES[i]}, {n}.v, NULL) AS v{i + 1}" for i, n in enumerate(names)),
    )


def feast(case: str, spine: DataFrame, events: list[DataFrame]) -> DataFrame:
    """SQL as Feast makes it, in its shape and not in its words.

    Of each table all earlier rows of each row of the spine, within the age; the latest of their
    times; the rows that have it; of several the first by a number; joined back by the spine's id.
    """
    kind, tables = CASES[case]
    spine.createOrReplaceTempView("spine")
    parts = ""
    for i in range(tables):
        events[i].createOrReplaceTempView(f"events{i}")
        near = "e.known <= s.t" if kind == "late" else f"e.t >= s.t - {AGES[i]}"
        parts += f"""
            all{i} AS (SELECT s.id, e.t, e.v FROM events{i} e JOIN spine s
                       ON s.k = e.k AND e.t <= s.t AND {near}),
            at{i} AS (SELECT id, max(t) AS t FROM all{i} GROUP BY id),
            one{i} AS (SELECT id, v FROM (
                SELECT id, v, row_number() OVER (PARTITION BY id ORDER BY t DESC) AS n
                FROM all{i} JOIN at{i} USING (id, t)) WHERE n = 1),"""
    shown = ", ".join(f"one{i}.v AS v{i + 1}" for i in range(tables))
    joins = " ".join(f"LEFT JOIN one{i} ON s.id = one{i}.id" for i in range(tables))
    return spine.sparkSession.sql(
        f"WITH {parts.rstrip(',')} SELECT s.id, s.k, s.t, {shown} FROM spine s {joins}"
    )


def bins(_: str, spine: DataFrame, events: list[DataFrame]) -> DataFrame:
    """Days by hand: each row of the spine in the 31 that its windows meet."""
    longest = max(SPANS.values())
    days = f"explode(sequence(greatest(0, t - {longest}) div {DAY}, t div {DAY})) AS day"
    left = spine.selectExpr("id", "k", "t", days).alias("s")
    right = events[0].selectExpr("k", "t", "v", f"t div {DAY} AS day").alias("e")
    on = f"s.k = e.k AND s.day = e.day AND e.t <= s.t AND e.t > s.t - {longest}"
    values = [
        F.expr(f"{function}(CASE WHEN e.t > s.t - {span} THEN e.v END)").alias(f"{function}_{name}")
        for name, span in SPANS.items()
        for function in FUNCTIONS
    ]
    found = left.join(right, F.expr(on), "left").groupBy("s.id").agg(*values)
    return spine.select("id", "k", "t").join(found, "id")


def duckdb_sql(case: str, folder: str) -> str:
    """What DuckDB is asked: `ASOF` joins, or functions over windows of both tables in one."""
    kind, tables = CASES[case]

    def read(i: int) -> str:
        return f"'{folder}/t{i}/*.parquet'"

    if kind == "windows":
        over = {
            name: "OVER (PARTITION BY k ORDER BY t RANGE "
            f"BETWEEN {span - 1} PRECEDING AND CURRENT ROW)"
            for name, span in SPANS.items()
        }
        shown = ", ".join(f"{f}(v) {over[n]} AS {f}_{n}" for n in SPANS for f in FUNCTIONS)
        both = f"SELECT id, k, t, NULL AS v FROM {read(0)}"
        both += f" UNION ALL SELECT NULL, k, t, v FROM {read(1)}"
        return f"SELECT * FROM (SELECT id, k, t, {shown} FROM ({both})) WHERE id IS NOT NULL"
    if kind == "late":
        return (
            f"SELECT s.id, any_value(s.k) AS k, any_value(s.t) AS t, arg_max(e.v, e.t) AS v1 "
            f"FROM {read(0)} s LEFT JOIN {read(1)} e ON s.k = e.k AND e.t <= s.t "
            "AND e.known <= s.t GROUP BY s.id"
        )
    shown = ", ".join(
        f"CASE WHEN e{i}.t >= s.t - {AGES[i - 1]} THEN e{i}.v END AS v{i}"
        for i in range(1, tables + 1)
    )
    joins = " ".join(
        f"ASOF LEFT JOIN {read(i)} e{i} ON s.k = e{i}.k AND s.t >= e{i}.t"
        for i in range(1, tables + 1)
    )
    return f"SELECT s.id, s.k, s.t, {shown} FROM {read(0)} s {joins}"


def polars_frame(case: str, folder: str) -> Any:
    """Polars: `join_asof`, or rolling functions of both tables in one."""
    import polars as pl

    kind, tables = CASES[case]

    def read(i: int) -> pl.LazyFrame:
        return pl.scan_parquet(f"{folder}/t{i}/*.parquet")

    if kind == "windows":
        spine = read(0).select("id", "k", "t", v=pl.lit(None, pl.Int64))
        events = (
            read(1).select("k", "t", "v", id=pl.lit(None, pl.Int64)).select("id", "k", "t", "v")
        )
        rows = pl.concat([spine, events]).sort("t")
        value, least = pl.col("v"), pl.col("v").fill_null(-1)
        parts = []
        for name, span in SPANS.items():
            near: Any = {"by": "t", "window_size": f"{span}i", "closed": "right"}
            count = value.is_not_null().cast(pl.Int64).rolling_sum_by(**near).over("k")
            total = value.fill_null(0).rolling_sum_by(**near).over("k")
            greatest = least.rolling_max_by(**near).over("k")
            parts += [
                pl.when(count > 0).then(total).alias(f"sum_{name}"),
                count.alias(f"count_{name}"),
                pl.when(greatest >= 0).then(greatest).alias(f"max_{name}"),
            ]
        return rows.select("id", "k", "t", *parts).filter(pl.col("id").is_not_null())
    joined = read(0).select("id", "k", "t").sort("t")
    for i in range(1, tables + 1):
        events = read(i).select("k", "t", pl.col("v").alias(f"v{i}")).sort("t")
        joined = joined.join_asof(
            events, on="t", by="k", tolerance=AGES[i - 1], check_sortedness=False
        )
    return joined


Query = Callable[[str, DataFrame, list[DataFrame]], DataFrame]

#: Queries of Spark by contestant, and whether the extension is on.
SPARK: dict[str, tuple[Query, bool]] = {
    "ours": (ours, True),
    "stock": (ours, False),
    "union": (union, False),
    "bins": (bins, False),
    "feast": (feast, False),
    "feast, ours": (feast, True),
}

#: Contestants by kind of case; those that are not here have no way to write it.
OF_KIND = {
    "latest": ("ours", "union", "feast", "feast, ours", "stock", "duckdb", "polars"),
    "windows": ("ours", "union", "bins", "stock", "duckdb", "polars"),
    "late": ("ours", "feast", "feast, ours", "stock", "duckdb"),
}
