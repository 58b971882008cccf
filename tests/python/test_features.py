"""`rangejoin.features` gives what a brute force gives, by plans that make no pairs."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from asof_oracle import TYPES, Row, TimeType, _moved, _order, as_sql, table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from settings import set_to

import rangejoin
from rangejoin import Latest, RangeJoinError, Windows, features

# Queries of a type, spines of each, and a seed: FEATURES="40 20 7" pytest -k brute_force
CASES, SPINES, SEED = map(int, os.environ.get("FEATURES", "4 2 68").split())
BOOLEANS = ("true", "false")
BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
SETTINGS = {
    "spark.sql.ansi.enabled": BOOLEANS,
    "spark.sql.adaptive.enabled": BOOLEANS,
    "spark.sql.codegen.wholeStage": BOOLEANS,
    "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": ("2", "100000"),
    "spark.sql.sortMergeJoinExec.buffer.spill.threshold": ("200", "100000"),
    BROADCAST: ("-1", "-1", "10MB"),
}
CLOSED = ("right", "left", "both", "neither")

Event = tuple[int, str | None, Any, Any, int | None]
"""Number, key, time, the time from which it is known, and a value."""


@dataclass(frozen=True)
class Asked:
    """What is asked of the latest row, and of windows."""

    max_age: Any
    is_exact: bool
    spans: tuple[Any, ...]
    closed: str
    is_known: bool
    """Whether it matters from when rows are known."""

    @staticmethod
    def draw(of: TimeType, chance: random.Random) -> Asked:
        whole = [span for span in of.tolerances if is_whole(of, span)]
        spans = chance.sample([*whole, None], chance.randint(1, len(whole)))
        return Asked(
            chance.choice((None, *of.tolerances)),
            chance.random() < 0.5,
            tuple(spans),
            chance.choice(CLOSED),
            chance.random() < 0.4,
        )

    def sources(self, events: DataFrame) -> list[Latest | Windows]:
        known = "known" if self.is_known else None
        return [
            Latest(
                events,
                "id",
                max_age=self.max_age,
                allow_exact_matches=self.is_exact,
                known_at=known,
                tie_break=F.desc("id"),
                name="last",
            ),
            Windows(
                events,
                {f"w{i}": span for i, span in enumerate(self.spans)},
                {"*": "count", "v": ["count", "sum", "max"]},
                closed=self.closed,
                known_at=known,
            ),
        ]

    def expected(self, key: Any, time: Any, events: list[Event]) -> tuple[Any, ...]:
        """The features of a row of the spine, of all events one by one."""
        known = "known" if self.is_known else ""
        last = [e for e in events if matches(key, time, e, self.max_age, self.ends, known)]
        best = max(last, key=lambda e: (_order(e[2]), e[0]), default=(None,))
        found: list[Any] = [best[0]]
        for span in self.spans:
            rows = [e for e in events if matches(key, time, e, span, self.closed, known)]
            values = [e[4] for e in rows if e[4] is not None]
            found += [
                len(rows),
                len(values),
                *((sum(values), max(values)) if values else (None,) * 2),
            ]
        return tuple(found)

    @property
    def ends(self) -> str:
        """The ends of what is not too old."""
        return "both" if self.is_exact else "left"


def is_whole(of: TimeType, span: Any) -> bool:
    if of.name == "date":
        return bool(span % timedelta(days=1) == timedelta())
    return of.name not in ("int", "bigint") or span % 1 == 0


def matches(key: Any, time: Any, event: Event, span: Any, closed: str, known: str) -> bool:
    _, k, at, known_at, _ = event
    if None in (key, time, k, at) or key != k or (known and known_at is None):
        return False
    to = _order(time)
    for moment in (at, known_at) if known else (at,):
        if not (_order(moment) <= to if closed in ("right", "both") else _order(moment) < to):
            return False
    if span is None:
        return True
    if begins_before_all(time, span):
        return True
    begin = _moved(time, span)[0]
    return bool(_order(at) >= begin if closed in ("left", "both") else _order(at) > begin)


def begins_before_all(time: Any, span: Any) -> bool:
    """Whether Python has no such time, nor any table."""
    try:
        return isinstance(time, date) and time - span is None
    except OverflowError:
        return True


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(
            of, id=of.name, marks=[] if of.name in ("int", "timestamp") else [pytest.mark.slow]
        )
        for of in TYPES
    ],
)
def test_features_are_those_of_a_brute_force(spark: SparkSession, of: TimeType) -> None:
    chance = random.Random(f"{SEED} {of.name}")
    for case in range(CASES):
        asked = Asked.draw(of, chance)
        settings = {name: chance.choice(values) for name, values in SETTINGS.items()}
        print(asked, settings)
        # Some rows twice; the last table has no rows.
        spine = [row for n in range(SPINES) for row in spine_of(of, n, chance)]
        drawn = [row for n in range(SPINES) for row in keyed(table(of, 50, chance), n)]
        knowns = [of.draw(chance) for _ in drawn]
        events: list[Event] = [
            (i, k, t, known, i if i % 3 else None)
            for (i, k, t), known in zip(drawn, knowns, strict=True)
        ]
        left, right = spark.sql(as_sql(of, spine)), spark.sql(events_sql(of, events))
        if case == CASES - 1:
            right, events = right.where("false"), []
        by_key: dict[Any, list[Event]] = {}
        for event in events:
            by_key.setdefault(event[1], []).append(event)
        expected = Counter((i, *asked.expected(k, t, by_key.get(k, []))) for i, k, t in spine)
        for flag in ("true", "false"):
            with ExitStack() as stack:
                stack.enter_context(set_to(spark, {**settings, rangejoin.ENABLED_CONF: flag}))
                df = features(left, asked.sources(right), on="t", by="k")
                # The ends of windows have more digits than a long; of few rows pairs are made.
                has_pairs = of.name.startswith("decimal") or settings[BROADCAST] != "-1"
                if flag == "true" and events and not has_pairs:
                    assert_no_pairs(df)
                assert Counter(rows(df.drop("k", "t"))) == expected, (asked, flag)


def spine_of(of: TimeType, number: int, chance: random.Random) -> list[Row]:
    rows = table(of, 25, chance)
    return keyed([chance.choice(rows) for _ in range(30)], number)


def keyed(rows: list[Row], number: int) -> list[Row]:
    """The rows with keys of their own."""
    return [(i + 100 * number, k and f"{k}{number}", t) for i, k, t in rows]


def events_sql(of: TimeType, events: list[Event]) -> str:
    """The events as a query of `id`, `k`, `t`, `known` and `v`."""

    def time(value: Any) -> str:
        return f"CAST({'NULL' if value is None else of.literal(value)} AS {of.name})"

    values = ", ".join(
        f"({i}, {'NULL' if k is None else repr(k)}, {time(t)}, {time(known)}, INT({v or 'NULL'}))"
        for i, k, t, known, v in events
    )
    return f"SELECT id, STRING(k) AS k, t, known, v FROM VALUES {values} AS e(id, k, t, known, v)"


def assert_no_pairs(df: DataFrame) -> None:
    for join in rangejoin.explain(df):
        assert join.is_range_join, join
        assert join.best is not None or join.aggregated is not None, (join, join.advice)


@pytest.fixture
def spine(spark: SparkSession) -> DataFrame:
    return spark.sql("""
        SELECT id, if(id % 17 = 3, NULL, pmod(hash(id), 7)) AS k,
               if(id % 19 = 4, NULL, pmod(hash(id, 1), 60)) AS t, id / 2D AS x, map('a', id) AS m
        FROM range(200)""")


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.sql("""
        SELECT pmod(hash(id, 2), 7) AS k, pmod(hash(id, 3), 60) AS t, id AS v,
               pmod(hash(id, 3), 60) + id % 5 AS known
        FROM range(300)""")


@pytest.mark.parametrize("of", ["INT", "BIGINT", "TIMESTAMP", "DATE"])
def test_one_spine_is_shuffled_and_sorted_once(
    spark: SparkSession, spine: DataFrame, events: DataFrame, of: str
) -> None:
    unit: Any = timedelta(days=1) if of in ("TIMESTAMP", "DATE") else 1
    day = f"date_add(DATE'2024-01-01', {{}})::{of}" if unit != 1 else f"{{}}::{of}"
    spine = spine.withColumn("t", F.expr(day.format("t")))
    for name in ("t", "known"):
        events = events.withColumn(name, F.expr(day.format(f"INT({name})")))
    tables: list[Latest | Windows] = [
        Latest(events, "v", max_age=30 * unit, name="latest"),
        Windows(events, {f"{n}d": n * unit for n in (3, 14, 30)}, {"v": ["sum", "count", "max"]}),
        Latest(events, "v", known_at="known", name="known"),
        Windows(events, [5 * unit, None], {"*": "count"}, closed="left", name="before_{window}"),
    ]
    df = features(spine, tables, on="t", by="k")
    wanted = [*spine.columns, "latest"]
    wanted += [f"v_{function}_{n}d" for n in (3, 14, 30) for function in ("sum", "count", "max")]
    assert df.columns == [*wanted, "known", "before_5" if unit == 1 else "before_5d", "before_all"]
    assert_no_pairs(df)
    assert len(df.collect()) == 200
    plan = df._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]
    sorts = re.findall(r"RangeSort .*", plan)
    # Dates less days may wrap around: the spine is put in order again, key by key.
    again = [sort for sort in sorts if "presorted" in sort]
    assert len(sorts) - len(again) == 5, plan
    assert not again or of == "DATE", plan
    assert not re.search(r"\bSort \[|Window \[|HashAggregate", plan), plan


def test_columns_of_the_spine_stay_as_they_are(spark: SparkSession, events: DataFrame) -> None:
    spine = spark.sql("""
        SELECT -0.0D AS d, 'x' AS s, 3 AS k, 5 AS t, map('a', -0.0D) AS m, array(-0.0D) AS a,
               CAST('NaN' AS FLOAT) AS f, named_struct('y', NULL) AS z, INTERVAL '1' DAY AS i""")
    (row,) = features(spine, Windows(events, 9, {"*": "count"}), on="t", by="k").collect()
    (first,) = spine.collect()
    assert str(row[:-1]) == str(tuple(first))
    assert row["rows_count_9"] > 0


def test_keys_may_have_other_names_and_be_of_other_types(spark: SparkSession) -> None:
    spine = spark.sql("SELECT 1 AS user, -0.0D AS shop, 10 AS t")
    visits = spark.sql("SELECT 1L AS u, 9L AS at, 'x' AS page")
    sales = spark.sql("SELECT * FROM VALUES (0.0D, 8, 1), (0.0D, 9, 2) AS s(shop, t, n)")
    both = spark.sql("SELECT 1 AS user, 0.0F AS place, 1 AS t, 7 AS n")
    everywhere = spark.sql("SELECT 10 AS t, 4 AS n")
    df = features(
        spine,
        [
            Latest(visits, on="at", by={"user": "u"}),
            Windows(sales, 2, {"n": "sum"}, by="shop"),
            Windows(both, [None], {"n": "avg"}, by={"user": "user", "shop": "place"}),
            Windows(everywhere, 1, {"n": "min"}, by=[]),
        ],
        on="t",
    )
    assert df.columns == ["user", "shop", "t", "page", "n_sum_2", "n_avg_all", "n_min_1"]
    assert rows(df) == [(1, 0.0, 10, "x", 2, 7.0, 4)]


def test_windows_may_be_columns_of_the_spine(spark: SparkSession) -> None:
    spine = spark.sql("""
        SELECT id, TIMESTAMP'2024-03-31 12:00:00' AS t, days * INTERVAL '1' DAY AS w
        FROM VALUES (1, 1), (2, 40), (3, NULL), (4, -1) AS s(id, days)""")
    events = spark.sql("""
        SELECT CAST(t AS TIMESTAMP) AS t, v FROM VALUES
        ('2024-03-31 00:00:00', 1), ('2024-03-01 12:00:00', 2), ('2024-02-29 12:00:00', 4),
        ('2024-02-28 12:00:00', 8) AS e(t, v)""")
    month = F.expr("INTERVAL '1' MONTH")
    df = features(
        spine,
        Windows(
            events,
            {"own": F.col("w"), "month": month, "2d": timedelta(days=2)},
            {"v": "sum"},
            closed="both",
        ),
        on="t",
    )
    assert sorted(rows(df.drop("t", "w"))) == [
        (1, 1, 7, 1),
        (2, 15, 7, 1),
        (3, None, 7, 1),
        (4, None, 7, 1),
    ]
    one = features(spine, Windows(events, {"own": F.col("w")}, {"*": "count"}), on="t")
    assert sorted(rows(one.select("id", "rows_count_own"))) == [(1, 1), (2, 4), (3, 0), (4, 0)]


def test_a_window_that_begins_before_all_numbers_has_the_least(spark: SparkSession) -> None:
    least = "(-9223372036854775807L - 1)"
    spine = spark.sql(f"SELECT * FROM VALUES ({least}), ({least} + 1), ({least} + 2) AS s(t)")
    events = spine.withColumn("v", F.lit(1))
    for closed, counts in [("right", [(1, 1), (2, 2), (2, 3)]), ("left", [(0, 0), (1, 1), (2, 2)])]:
        df = features(spine, Windows(events, [2, 1 << 62], {"v": "count"}, closed=closed), on="t")
        assert [tuple(row[1:]) for row in sorted(df.collect())] == counts


def test_windows_of_large_numbers_are_exact(spark: SparkSession) -> None:
    year = 365 * 86_400 * 10**9
    spine = spark.sql(f"SELECT {2 * year}L AS t")
    events = spark.sql(f"SELECT explode(array({year}L, {year}L + 1)) AS t")
    for span in (year, float(year), Decimal(year)):
        assert rows(features(spine, Windows(events, span, {"*": "count"}), on="t"))[0][1] == 1


def test_columns_of_the_spine_are_its_own_in_every_join(spark: SparkSession) -> None:
    spine = spark.sql("SELECT id, 10 AS t, INT(id) AS w, INT(id + 1) AS x FROM range(2, 4)")
    events = spark.sql("SELECT INT(id) AS t, id AS v, INT(10 - id) AS seen FROM range(11)")
    tables: list[Latest | Windows] = [
        Latest(events.where("t < 8"), "v", max_age=spine["x"]),
        Windows(events, {"w": spine["w"]}, {"*": "count"}),
        Windows(events, {"a": spine["w"], "b": spine["w"] + spine["x"]}, {"v": "sum"}),
        Windows(events, {"c": spine["w"], "d": 3}, {"v": "min"}, known_at="seen"),
    ]
    df = features(spine, tables, on="t")
    names = ["v", "rows_count_w", "v_sum_a", "v_sum_b", "v_min_c", "v_min_d"]
    assert df.columns == [*spine.columns, *names]
    expected = [(2, 7, 2, 19, 40, 9, 8), (3, 7, 3, 27, 49, 8, 8)]
    assert sorted(rows(df.drop("t", "w", "x"))) == expected
    wrong(spine, Latest(events, "v", max_age=events["seen"]), "cannot be computed", by=None)


def test_all_aggregates_and_names_of_windows(spark: SparkSession) -> None:
    spine = spark.sql("SELECT TIMESTAMP'2024-01-15 00:00:00' AS t")
    events = spark.sql("""
        SELECT CAST(t AS TIMESTAMP) AS t, v FROM VALUES ('2024-01-01 00:00:00', 1),
        ('2024-01-14 00:00:00', 2), ('2024-01-14 22:30:00', 4) AS e(t, v)""")
    every = ["count", "sum", "avg", "mean", "min", "max"]
    every += ["stddev", "stddev_pop", "variance", "var_pop"]
    df = features(spine, Windows(events, timedelta(days=2), {"v": every}), on="t").drop("t")
    assert df.columns == [f"v_{function}_2d" for function in every]
    ((*found, deviation, deviation_pop, variance, variance_pop),) = rows(df)
    assert found == [2, 6, 3.0, 3.0, 2, 4]
    assert (deviation**2, deviation_pop, variance, variance_pop) == (pytest.approx(2), 1, 2, 1)
    spans = [timedelta(weeks=2), timedelta(hours=36), timedelta(minutes=90), timedelta(), None]
    spans += [timedelta(seconds=1), timedelta(milliseconds=1500), timedelta(microseconds=1)]
    df = features(spine, Windows(events, spans, {"*": "count"}, name="n_{window}"), on="t")
    names = ["n_14d", "n_36h", "n_90m", "n_0s", "n_all", "n_1s", "n_1500ms", "n_1us"]
    assert df.columns == ["t", *names]
    # The ends: a window of two weeks begins after the first event.
    assert rows(df.select(names)) == [(2, 2, 0, 0, 3, 0, 0, 0)]
    df = features(
        spine,
        Windows(
            events, timedelta(minutes=90), {"v": "sum"}, closed="left", name="{function}({column})"
        ),
        on="t",
    )
    assert rows(df.select("`sum(v)`")) == [(4,)]


def wrong(spine: DataFrame, tables: Any, message: str, **given: Any) -> None:
    with pytest.raises(RangeJoinError, match=message):
        features(spine, tables, **{"on": "t", "by": "k", **given})


def test_columns_that_are_not_there_are_errors(spine: DataFrame, events: DataFrame) -> None:
    wrong(spine, Latest(events), "on='at' is not a column of spine", on="at")
    wrong(spine, Latest(events, on="at"), r"on='at' is not a column of tables\[0\], which has k, t")
    wrong(spine, Latest(events), "by='user' is not a column of", by="user")
    wrong(spine, [Latest(events, "v"), Latest(events, "w")], r"columns='w' is not .* tables\[1\]")
    wrong(spine, Latest(events, known_at="w"), "known_at='w' is not a column")
    wrong(spine, Windows(events, 1, {"w": "sum"}), "aggregates='w' is not a column")
    wrong(spine, Latest(events, by={"k": "t"}), "'t' of .* is given twice")
    wrong(spine, Latest(events, tie_break="w"), "tie_break='w' is not a column")


def test_types_that_do_not_fit_are_errors(spine: DataFrame, events: DataFrame) -> None:
    text = spine.withColumn("t", F.col("t").cast("string"))
    wrong(text, Latest(events), "on='t' is of type STRING, and has to be a time")
    of_text = events.withColumn("t", F.col("t").cast("string")).withColumn("s", F.lit("x"))
    wrong(spine, Latest(of_text), "the times 't' and 't' are of types INT and STRING")
    wrong(spine, Latest(of_text, on="known", known_at="t"), "the times 't' and 't' are of types")
    wrong(spine, Windows(of_text, 1, {"s": "sum"}, on="known"), "'sum' of 's' .* of type STRING")
    maps = events.withColumn("m", F.create_map("k", "v"))
    wrong(spine, Windows(maps, 1, {"m": "max"}), "'max' of 'm' needs an order")
    wrong(spine, Windows(events, timedelta(1), {"v": "sum"}), "over is .*: of INT it is a number")
    wrong(spine, Windows(events, 1.5, {"v": "sum"}), "over is 1.5: .* windows are whole numbers")
    wrong(spine, Latest(events, max_age=timedelta(1)), "max_age is .*: of INT it is a number")
    wrong(spine, events, r"tables\[0\] is a DataFrame, and has to be a rangejoin.Latest")
    wrong(spine, [events], r"tables\[0\] is a DataFrame, and has to be a rangejoin.Latest")
    wrong_table: Any = [1]
    wrong(spine, Latest(wrong_table), r"tables\[0\] is a list, not a DataFrame")


def test_values_that_cannot_be_are_errors(spine: DataFrame, events: DataFrame) -> None:
    wrong(spine, Latest(events, max_age=-1), "max_age is -1: it has to be zero or more")
    wrong(spine, Windows(events, [3, -1], {"v": "sum"}), "over is -1: it has to be zero or more")
    wrong(spine, Windows(events, [], {"v": "sum"}), "over is empty")
    wrong(spine, Windows(events, [1, 1], {"v": "sum"}), "over has the window '1' twice")
    wrong(spine, Windows(events, F.col("x"), {"v": "sum"}), "give it one, as in over=")
    wrong(spine, Windows(events, 1, {"v": "median"}), "'median' of 'v' is not one of count, sum")
    wrong(spine, Windows(events, 1, {"*": "sum"}), "'sum' needs a column")
    wrong(spine, Windows(events, 1, {}), "aggregates is {}, and has to be a mapping")
    wrong(spine, Windows(events, 1, {"v": "sum"}, closed="up"), "closed is 'up', and may be one of")
    one: Any = 1
    wrong(spine, Latest(events, allow_exact_matches=one), "allow_exact_matches is 1")
    wrong(spine, Latest(events, name="{window}"), "name is '{window}', and .* may have {column}")
    wrong(spine, Latest(events, name="{column"), "name is '{column'")


def test_names_that_are_there_twice_are_errors(spine: DataFrame, events: DataFrame) -> None:
    wrong(spine, Latest(events, name="X"), "would have several columns 'X'|'x'")
    wrong(spine, [Latest(events, "v")] * 2, "features would have several columns 'v': give the")
    wrong(spine, Windows(events, [1, 2], {"v": "sum"}, name="{column}"), "several columns 'v'")
    wrong(spine.select("k", "t", "x", "x"), Latest(events, "v"), "several columns 'x'")
