"""`rangejoin.join_asof` finds the rows that a brute force finds, by plans that make no others."""

from __future__ import annotations

import random
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pandas as pd
import pytest
from asof_oracle import TYPES, Asked, Expected, Row, TimeType, as_sql, table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from settings import set_to

import rangejoin

STRATEGIES = ("backward", "forward", "nearest")
SEED = 41
CASES = 3
SETTINGS = (
    "spark.sql.ansi.enabled",
    "spark.sql.adaptive.enabled",
    "spark.sql.codegen.wholeStage",
)


def joined(left: DataFrame, right: DataFrame, asked: Asked, **others: Any) -> DataFrame:
    return rangejoin.join_asof(
        left,
        right,
        on="t",
        strategy=asked.strategy,
        tolerance=asked.tolerance,
        allow_exact_matches=asked.exact,
        k=asked.k,
        ties=asked.ties,
        how=asked.how,
        tie_break=F.desc("id") if asked.by_number else None,
        **others,
    ).select("id", "id_right")


def pairs(df: DataFrame) -> list[tuple[int, int | None]]:
    return [(row[0], row[1]) for row in df.collect()]


@pytest.mark.parametrize(
    ("of", "strategy"),
    [
        # One strategy a type is quick.
        pytest.param(
            of,
            strategy,
            id=f"{of.name}-{strategy}",
            marks=[pytest.mark.slow] if (i + j) % 3 else [],
        )
        for i, of in enumerate(TYPES)
        for j, strategy in enumerate(STRATEGIES)
    ],
)
def test_the_rows_are_those_of_a_brute_force(
    spark: SparkSession, of: TimeType, strategy: str
) -> None:
    chance = random.Random(f"{SEED} {of.name} {strategy}")
    left, right = table(of, 50, chance), table(of, 60, chance)
    l_rows, r_rows = (spark.sql(as_sql(of, rows)) for rows in (left, right))
    for number in range(CASES):
        asked = Asked.draw(of, strategy, chance)
        settings = {name: chance.choice(("true", "false")) for name in SETTINGS}
        print(asked, settings)
        expected = Expected(left, right, asked)
        with ExitStack() as stack:
            for name, value in settings.items():
                stack.enter_context(set_to(spark, {name: value}))
            df = joined(l_rows, r_rows, asked, by="k")
            if strategy == "nearest":
                (join,) = rangejoin.explain(df)
                # The ends of a tolerance have more digits than a long.
                if not of.name.startswith("decimal"):
                    assert "distance of" in (join.best or ""), asked
            else:
                rank = "row_number" if asked.ties == "any" and not asked.by_number else "rank"
                assert_best(df, f"{rank} <= {asked.k} by t")
            expected.check(pairs(df))
        if number == 0:
            with set_to(spark, {rangejoin.ENABLED_CONF: "false"}):
                df = joined(l_rows, r_rows, asked, by="k")
                assert_stock(df)
                expected.check(pairs(df))


def assert_best(df: DataFrame, best: str, operator: str = "SortMergeRangeJoin") -> None:
    (join,) = rangejoin.explain(df)
    assert (join.operator, join.streamed) == (operator, "left")
    assert join.best is not None
    assert join.best.removesuffix(" DESC").replace("rows.", "") == best


def assert_stock(df: DataFrame) -> None:
    (join,) = rangejoin.explain(df)
    assert not join.is_range_join


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_a_key_all_rows_are_looked_at(spark: SparkSession, strategy: str) -> None:
    chance = random.Random(f"{SEED} no key {strategy}")
    of = TYPES[0]
    sides: list[list[Row]] = [[(i, "a", t) for i, _, t in table(of, 40, chance)] for _ in range(2)]
    left, right = (spark.sql(as_sql(of, rows)).drop("k") for rows in sides)
    for tolerance in (None, 2):
        asked = Asked(strategy, True, tolerance, 2, "any", "left", True)
        Expected(sides[0], sides[1], asked).check(pairs(joined(left, right, asked)))


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(of, id=of.name, marks=[pytest.mark.slow] if i % 3 else [])
        for i, of in enumerate(TYPES)
    ],
)
def test_without_a_key_the_nearest_are_found_by_buckets(spark: SparkSession, of: TimeType) -> None:
    chance = random.Random(f"{SEED} nearest of all {of.name}")
    sides: list[list[Row]] = [[(i, "a", t) for i, _, t in table(of, 40, chance)] for _ in range(2)]
    left, right = (
        spark.sql(as_sql(of, rows)).drop("k").repartition(3, "id").cache() for rows in sides
    )
    with set_to(spark, {"spark.sql.join.rangePartitioning.buckets": "5"}):
        for k, ties, how in ((1, "any", "left"), (2, "all", "left"), (3, "any", "inner")):
            asked = Asked("nearest", chance.random() < 0.7, None, k, ties, how, False)
            df = joined(left, right, asked)
            (join,) = rangejoin.explain(df)
            assert join.best is not None, (asked, join)
            Expected(sides[0], sides[1], asked).check(pairs(df))


@pytest.mark.parametrize("how", ["left", "inner"])
def test_a_small_right_side_is_broadcast_and_a_small_left_side_is_not(
    spark: SparkSession, how: str
) -> None:
    # A tenth of the large side is before all times of its key.
    small = spark.range(50).selectExpr("id", "id % 5 AS k", "id * 7 % 50 + 1 AS t")
    large = spark.range(20_000).selectExpr("id", "id % 5 AS k", "id * 7 % 50 AS t")
    asked = Asked("backward", True, None, 1, "any", how, False)
    with set_to(spark, {"spark.sql.autoBroadcastJoinThreshold": "10KB"}):
        df = joined(large, small, asked, by="k")
        assert_best(df, "row_number <= 1 by t", "BroadcastRangeJoin")
        assert len(pairs(df)) == (20_000 if how == "left" else 18_000)
        df = joined(small, large, asked, by="k")
        assert_best(df, "row_number <= 1 by t")
        assert len(pairs(df)) == 50


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("exact", [True, False])
def test_of_unique_times_the_row_is_that_of_pandas(
    spark: SparkSession, strategy: Any, exact: bool
) -> None:
    chance = random.Random(f"{SEED} pandas {strategy} {exact}")
    frames = [
        pd.DataFrame(
            {"at": sorted(chance.sample(range(300), 60)), "k": chance.choices("abc", k=60)}
        )
        for _ in range(2)
    ]
    left, right = frames[0].assign(v=range(60)), frames[1].assign(p=range(60))
    for tolerance in (None, 5):
        merged = pd.merge_asof(
            left,
            right,
            on="at",
            by="k",
            direction=strategy,
            allow_exact_matches=exact,
            tolerance=tolerance,
        )
        df = rangejoin.join_asof(
            spark.createDataFrame(left),
            spark.createDataFrame(right),
            on="at",
            by="k",
            strategy=strategy,
            allow_exact_matches=exact,
            tolerance=tolerance,
        )
        assert df.columns == list(merged.columns)
        found = {row["v"]: row["p"] for row in df.collect()}
        wanted = zip(merged["v"], merged["p"], strict=True)
        assert found == {v: None if pd.isna(p) else int(p) for v, p in wanted}
        assert any(p is not None for p in found.values())


def test_of_equal_distances_the_earlier_is_nearest_unless_an_order_says_otherwise(
    spark: SparkSession,
) -> None:
    left = spark.sql("SELECT 10 AS t")
    right = spark.sql("SELECT * FROM VALUES (8, 'x'), (12, 'y'), (12, 'z'), (13, 'far') AS r(t, p)")

    def found(**given: Any) -> list[str]:
        df = rangejoin.join_asof(left, right, on="t", strategy="nearest", **given)
        return sorted(row["p"] for row in df.collect())

    assert found() == ["x"]
    assert found(tie_break=[F.desc("t"), "p"]) == ["y"]
    assert found(tie_break=F.col("p").desc()) == ["z"]
    assert found(ties="all") == ["x", "y", "z"]
    assert found(ties="all", tie_break=F.desc("t")) == ["y", "z"]
    assert found(k=2, tie_break="p") == ["x", "y"]
    assert found(k=9) == ["far", "x", "y", "z"]


def test_a_row_that_is_there_twice_has_its_match_twice(spark: SparkSession) -> None:
    left = spark.sql("SELECT * FROM VALUES ('a', 5), ('a', 5), ('a', NULL), (NULL, 5) AS l(k, t)")
    right = spark.sql(
        "SELECT * FROM VALUES ('a', 1, 1), ('a', NULL, 2), (NULL, 5, 3) AS r(k, t, p)"
    )
    df = rangejoin.join_asof(left, right, on="t", by="k")
    found = sorted(map(tuple, df.collect()), key=str)
    assert found == [("a", 5, 1), ("a", 5, 1), ("a", None, None), (None, 5, None)]
    inner = rangejoin.join_asof(left, right, on="t", by="k", how="inner")
    assert list(map(tuple, inner.collect())) == [("a", 5, 1)] * 2


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_the_hour_that_clocks_go_back_is_an_hour(spark: SparkSession, kind: str) -> None:
    # At 06:00 UTC of this day clocks in New York go from 2 back to 1.
    at = "timestamp_seconds(unix_seconds(TIMESTAMP'2024-11-03 05:30:00Z') + {} * 60)"
    if kind == "timestamp_ntz":
        at = "TIMESTAMP_NTZ'2024-11-03 05:30:00' + make_dt_interval(0, 0, {})"

    def times(*minutes: int) -> DataFrame:
        rows = ", ".join(f"({n}, {at.format(n)})" for n in minutes)
        return spark.sql(f"SELECT * FROM VALUES {rows} AS rows(id, t)")

    def found(minutes: tuple[int, ...], **given: Any) -> int | None:
        df = rangejoin.join_asof(times(60), times(*minutes), on="t", **given)
        (row,) = df.collect()
        number: int | None = row["id_right"]
        return number

    hour, day = timedelta(hours=1), timedelta(days=1)
    with set_to(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        # 55 minutes before and 50 behind: in local time, the former are five behind.
        assert found((5, 110), strategy="nearest") == 110
        assert found((0,), tolerance=hour) == 0
        assert found((-1,), tolerance=hour) is None
        assert found((60 - 24 * 60,), tolerance=day) == 60 - 24 * 60
        assert found((59 - 24 * 60,), tolerance=day) is None
        assert found((60 + 24 * 60,), tolerance=day, strategy="forward") == 60 + 24 * 60
        assert found((61 + 24 * 60,), tolerance=day, strategy="nearest") is None


def test_a_tolerance_may_be_a_column_of_the_left_side(spark: SparkSession) -> None:
    left = spark.sql(
        "SELECT id, 10L AS t, w FROM VALUES (1, 3), (2, 2), (3, NULL), (4, -1) l(id, w)"
    )
    right = spark.sql("SELECT t, t AS at FROM VALUES (7L), (14L) AS r(t)")
    wanted = {
        "backward": {1: 7, 2: None, 3: None, 4: None},
        "forward": {1: None, 2: None, 3: None, 4: None},
        "nearest": {1: 7, 2: None, 3: None, 4: None},
    }
    for strategy, found in wanted.items():
        for tolerance in (F.col("w"), left["w"]):
            df = rangejoin.join_asof(left, right, on="t", strategy=strategy, tolerance=tolerance)
            assert {row["id"]: row["at"] for row in df.collect()} == found
    months = rangejoin.join_asof(
        spark.sql("SELECT DATE'2024-03-31' AS d"),
        spark.sql("SELECT DATE'2024-02-29' AS d, 1 AS p"),
        on="d",
        tolerance=F.expr("INTERVAL '1' MONTH"),
    )
    assert [row["p"] for row in months.collect()] == [1]


@pytest.mark.parametrize("by", ["k", None])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_merge_asof_of_pandas_on_spark(spark: SparkSession, strategy: str, by: str | None) -> None:
    if spark.version < "4":
        pytest.skip("its pandas API needs NumPy 1")
    import pyspark.pandas as ps

    chance = random.Random(f"{SEED} pandas on Spark {strategy} {by}")
    # No two multiples of four are equally far from an odd number.
    trades, quotes = (
        pd.DataFrame(
            {
                "t": sorted(chance.sample(range(first, 800, step), 40)),
                "k": chance.choices("abc", k=40),
                name: range(40),
            }
        )
        for first, step, name in ((1, 2, "trade"), (0, 4, "quote"))
    )
    asked: Any = {"on": "t", "by": by, "direction": strategy, "tolerance": 30}
    shown = ["t", "trade", "quote"]
    with set_to(spark, {"spark.sql.ansi.enabled": "false"}):
        sides: Any = [ps.from_pandas(frame) for frame in (trades, quotes)]
        merged = ps.merge_asof(sides[0], sides[1], **asked)
        (join,) = rangejoin.explain(merged.to_spark())
        assert join.best is not None
        found = merged[shown].to_pandas().sort_values("trade", ignore_index=True)
    expected = pd.merge_asof(trades, quotes, **asked)[shown]
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
