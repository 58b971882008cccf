"""The columns of `rangejoin.join_asof`, and what it says of arguments that cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import rangejoin
from rangejoin import join_asof


@pytest.fixture
def trades(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT * FROM VALUES ('A', 5, 100), ('B', 1, 50) AS trades(symbol, at, size)")


@pytest.fixture
def quotes(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT * FROM VALUES ('A', 4, 1, 20.5), ('A', 4, 2, 20.6), ('B', 3, 1, 7.0) "
        "AS quotes(symbol, at, size, price)"
    )


@pytest.fixture
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, df.collect()), key=str)


def test_columns_in_common_are_there_once_and_others_get_the_suffix(
    trades: DataFrame, quotes: DataFrame
) -> None:
    df = join_asof(trades, quotes, on="at", by="symbol", tie_break="size")
    assert df.columns == ["symbol", "at", "size", "size_right", "price"]
    assert rows(df) == [("A", 5, 100, 1, Decimal("20.5")), ("B", 1, 50, None, None)]


def test_columns_given_one_by_one_stay_on_both_sides(trades: DataFrame, quotes: DataFrame) -> None:
    df = join_asof(
        trades,
        quotes,
        left_on="at",
        right_on="at",
        left_by=["symbol"],
        right_by="symbol",
        suffix="_q",
        tie_break=F.desc("size"),
    )
    assert df.columns == ["symbol", "at", "size", "symbol_q", "at_q", "size_q", "price"]
    assert rows(df) == [
        ("A", 5, 100, "A", 4, 2, Decimal("20.6")),
        ("B", 1, 50, None, None, None, None),
    ]


def test_names_may_have_any_characters(spark: SparkSession) -> None:
    names = ["a.b", "at `now`", "row__left", "rank__left", "ROW__LEFT_"]
    left = spark.createDataFrame([(1, 5, 7, 8, 9)], names)
    right = spark.createDataFrame([(1, 3, 17, 18, 19)], names)
    df = join_asof(left, right, on="at `now`", by="a.b", suffix=".`r", tie_break="row__left")
    assert df.columns == [*names, *(f"{name}.`r" for name in names[2:])]
    assert rows(df) == [(1, 5, 7, 8, 9, 17, 18, 19)]


def test_names_are_found_in_any_case_and_keep_that_of_their_side(spark: SparkSession) -> None:
    left = spark.sql("SELECT 1 AS Key, 5 AS At, 'l' AS v")
    right = spark.sql("SELECT 1 AS KEY, 4 AS AT, 'r' AS V")
    df = join_asof(left, right, on="at", by="key")
    assert df.columns == ["Key", "At", "v", "V_right"]
    assert rows(df) == [(1, 5, "l", "r")]


@pytest.mark.usefixtures("case_sensitive")
def test_names_are_told_apart_by_case_where_spark_does(spark: SparkSession) -> None:
    left = spark.sql("SELECT 5 AS t, 6 AS T, 'l' AS v")
    right = spark.sql("SELECT 4 AS t, 6 AS T, 'r' AS V")
    df = join_asof(left, right, on="t", by="T")
    assert df.columns == ["t", "T", "v", "V"]
    assert rows(df) == [(5, 6, "l", "r")]
    with pytest.raises(rangejoin.RangeJoinError, match="'V' is not a column of the left"):
        join_asof(left, right, on="V")


def test_both_sides_may_be_one_data_frame(quotes: DataFrame) -> None:
    df = join_asof(quotes, quotes, on="at", by="symbol", tie_break=F.desc("size"))
    assert rows(df.select("symbol", "size", "size_right", "price_right")) == [
        ("A", 1, 2, Decimal("20.6")),
        ("A", 2, 2, Decimal("20.6")),
        ("B", 1, 1, Decimal("7.0")),
    ]


def test_an_alias_of_the_right_side_may_be_in_an_order(
    trades: DataFrame, quotes: DataFrame
) -> None:
    df = join_asof(
        trades.alias("t"), quotes.alias("q"), on="at", by="symbol", tie_break=[F.desc("q.size")]
    )
    assert [row["price"] for row in df.where("symbol = 'A'").collect()] == [Decimal("20.6")]


def test_an_as_of_join_may_be_joined_again(trades: DataFrame, quotes: DataFrame) -> None:
    once = join_asof(trades, quotes, on="at", by="symbol", tie_break="size")
    twice = join_asof(
        once, quotes, on="at", by="symbol", strategy="forward", suffix="_next", tie_break="size"
    )
    assert twice.columns == [*once.columns, "size_next", "price_next"]
    assert rows(twice) == [
        ("A", 5, 100, 1, Decimal("20.5"), None, None),
        ("B", 1, 50, None, None, 1, Decimal("7.0")),
    ]
    assert [join.best is not None for join in rangejoin.explain(twice)] == [True, True]


def test_several_keys_and_columns_without_an_order(spark: SparkSession) -> None:
    more = "named_struct('x', map('a', 1), 'y', array(2)) AS s"
    left = spark.sql(f"SELECT *, {more} FROM VALUES (1, 'x', 5), (1, 'y', 5) AS l(j, k, t)")
    right = spark.sql(f"SELECT *, {more} FROM VALUES (1, 'x', 4L), (2, 'y', 4L) AS r(j, k, t)")
    df = join_asof(left, right, on="t", by=["j", "k"]).selectExpr("k", "s.x.a", "s_right.y[0]")
    assert rows(df) == [("x", 1, 2), ("y", 1, None)]


def test_times_of_any_type_with_an_order(spark: SparkSession) -> None:
    left = spark.sql("SELECT * FROM VALUES ('m'), ('a') AS l(t)")
    right = spark.sql("SELECT * FROM VALUES ('b', 1), ('k', 2), ('z', 3) AS r(t, p)")
    assert rows(join_asof(left, right, on="t")) == [("a", None), ("m", 2)]
    assert rows(join_asof(left, right, on="t", strategy="forward")) == [("a", 1), ("m", 3)]


def test_numbers_of_different_types_are_compared_exactly(spark: SparkSession) -> None:
    left = spark.sql("SELECT CAST(t AS BIGINT) AS t FROM VALUES (9007199254740993) AS l(t)")
    right = spark.sql(
        "SELECT CAST(t AS DECIMAL(20, 1)) AS t, p FROM VALUES "
        "(9007199254740992.5, 'a'), (9007199254740993.4, 'b') AS r(t, p)"
    )
    for strategy, tolerance, found in (
        ("backward", None, "a"),
        ("nearest", None, "b"),
        ("nearest", Decimal("0.3"), None),
        ("backward", 0.5, "a"),
    ):
        df = join_asof(left, right, on="t", strategy=strategy, tolerance=tolerance)
        assert [row["p"] for row in df.collect()] == [found]
    floats = spark.sql("SELECT CAST(t AS FLOAT) AS t, t AS p FROM VALUES (1), (16777217) AS r(t)")
    df = join_asof(spark.sql("SELECT 16777217L AS t"), floats, on="t")
    # The float is 16777216.
    assert [row["p"] for row in df.collect()] == [16777217]


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"on": None}, "the time is missing: give its column as `on`"),
    ({"left_on": "at"}, "the time is given by `on`, or by `left_on` and `right_on`"),
    ({"on": None, "left_on": "at"}, "the time is missing"),
    ({"on": "nope"}, "on='nope' is not a column of the left side, which has symbol, at, size"),
    (
        {"on": None, "left_on": "at", "right_on": "nope"},
        "right_on='nope' is not a column of the right side, which has symbol, at, size, price",
    ),
    ({"on": F.lit}, "on takes names of columns"),
    ({"by": 7}, "by takes names of columns, and not 7"),
    ({"by": ["symbol", "symbol"]}, "'symbol' of the left side is given twice"),
    ({"by": "at"}, "'at' of the left side is given twice"),
    ({"by": "symbol", "left_by": "symbol"}, "by `by`, or by `left_by` and `right_by`"),
    ({"left_by": "symbol"}, "`left_by` and `right_by` are given together"),
    ({"left_by": "symbol", "right_by": []}, "left_by has 1 columns and right_by 0"),
    ({"left_by": "symbol", "right_by": "price"}, "types STRING and DECIMAL(3,1): cast one of them"),
    ({"on": None, "left_on": "at", "right_on": "symbol"}, "'at' and 'symbol' are of types INT and"),
    ({"strategy": "next"}, "strategy is 'next', and may be one of backward, forward, nearest"),
    ({"how": "right"}, "how is 'right', and may be one of left, inner"),
    ({"ties": None}, "ties is None, and may be one of any, all"),
    ({"k": 0}, "k is 0, and has to be a positive number"),
    ({"k": True}, "k is True"),
    ({"k": 1.0}, "k is 1.0"),
    ({"allow_exact_matches": "no"}, "allow_exact_matches is 'no'"),
    ({"suffix": None}, "suffix is None, and has to be a string"),
    ({"suffix": ""}, "several columns 'symbol': rename them, or take another suffix than ''"),
    ({"tie_break": "nope"}, "tie_break='nope' is not a column of the right side"),
    ({"tolerance": -1}, "tolerance is -1: it has to be zero or more"),
    ({"tolerance": float("nan")}, "tolerance is nan: it has to be finite: leave it out"),
    ({"tolerance": 1 << 63}, "it is beyond all times of this type: leave it out"),
    ({"tolerance": True}, "of INT it is a number"),
    ({"tolerance": "5"}, "of INT it is a number"),
    ({"tolerance": timedelta(1)}, "of INT it is a number, or a column of numbers"),
    ({"tolerance": F.expr}, "of INT it is a number"),
]


@pytest.mark.parametrize(("arguments", "message"), ERRORS, ids=lambda of: str(of)[:40])
def test_what_cannot_be_is_said(
    trades: DataFrame, quotes: DataFrame, arguments: dict[str, Any], message: str
) -> None:
    given = {"on": "at"} | arguments
    with pytest.raises(rangejoin.RangeJoinError, match=re.escape(message)):
        join_asof(trades, quotes, **given)


@pytest.mark.parametrize(
    ("times", "arguments", "message"),
    [
        (
            "DATE'2024-01-01'",
            {"tolerance": 7},
            "tolerance is 7: of DATE it is a datetime.timedelta",
        ),
        ("now()", {"tolerance": -timedelta(1)}, "it has to be zero or more"),
        ("now()", {"tolerance": timedelta.max}, "it is beyond all times of Spark: leave it out"),
        ("'a'", {"strategy": "nearest"}, "and STRING has none (numbers, DATE, TIMESTAMP and"),
        ("'a'", {"tolerance": 1}, "tolerance=1 needs a distance of times, and STRING has none"),
        ("map(1, 2)", {}, "on='t' is of type map, which has no order"),
        ("CAST(1 AS DECIMAL(38, 9))", {"strategy": "nearest"}, "cast both to a type of fewer"),
        ("CAST(1 AS DECIMAL(18, 9))", {"tolerance": Decimal("1e-30")}, "have 40 digits, and Spark"),
    ],
)
def test_what_cannot_be_of_times_of_a_type_is_said(
    spark: SparkSession, times: str, arguments: dict[str, Any], message: str
) -> None:
    df = spark.sql(f"SELECT {times} AS t")
    with pytest.raises(rangejoin.RangeJoinError, match=re.escape(message)):
        join_asof(df, df, on="t", **arguments)


def test_times_that_need_a_time_zone_to_be_compared_are_refused(spark: SparkSession) -> None:
    kinds = ("date", "timestamp", "timestamp_ntz", "string")
    for left in kinds:
        for right in kinds:
            sides = [spark.sql(f"SELECT CAST(NULL AS {kind}) AS t") for kind in (left, right)]
            if left == right:
                assert rows(join_asof(*sides, on="t")) == [(None,)]
                continue
            with pytest.raises(rangejoin.RangeJoinError, match="cast one of them to the type"):
                join_asof(*sides, on="t")


def test_a_tolerance_that_cannot_be_added_is_said(spark: SparkSession, trades: DataFrame) -> None:
    times = spark.sql("SELECT now() AS t, 5 AS w")
    with pytest.raises(
        rangejoin.RangeJoinError, match="tolerance is a column that cannot be added"
    ):
        join_asof(times, times, on="t", tolerance=F.col("w"))
    dates = spark.sql("SELECT DATE'2024-01-01' AS t")
    with pytest.raises(rangejoin.RangeJoinError, match="TIMESTAMP and DATE: cast one of them"):
        join_asof(dates, dates, on="t", tolerance=F.expr("INTERVAL '5' HOUR"))


def test_sides_that_are_no_tables_are_refused(spark: SparkSession, trades: DataFrame) -> None:
    stream = spark.readStream.format("rate").load()
    for sides in ((stream, trades), (trades, stream)):
        with pytest.raises(rangejoin.RangeJoinError, match=r"is a stream, .* in `foreachBatch`"):
            join_asof(*sides, left_on="timestamp", right_on="at")
    frame: Any = pd.DataFrame({"at": [1]})
    with pytest.raises(rangejoin.RangeJoinError, match=r"one, spark\.createDataFrame"):
        join_asof(trades, frame, on="at")


def test_names_that_are_there_twice_are_refused(spark: SparkSession, trades: DataFrame) -> None:
    twice = spark.sql("SELECT 1 AS at, 2 AS v, 3 AS v")
    for left, right in ((twice, trades), (trades, twice)):
        with pytest.raises(rangejoin.RangeJoinError, match="would have several columns 'v'"):
            join_asof(left, right, on="at")
    with pytest.raises(
        rangejoin.RangeJoinError, match="is the name of 2 columns of the right side"
    ):
        join_asof(trades, twice.drop("at"), left_on="at", right_on="V")


def test_a_row_matches_from_when_it_is_known(spark: SparkSession) -> None:
    left = spark.sql("SELECT * FROM VALUES (4), (5), (6), (9) AS l(t)")
    right = spark.sql(
        "SELECT * FROM VALUES (1, 1, 'a'), (4, 5, 'b'), (6, NULL, 'c') AS r(t, at, p)"
    )
    df = join_asof(left, right, on="t", known_at="at").drop("at")
    assert rows(df) == [(4, "a"), (5, "b"), (6, "b"), (9, "b")]
    df = join_asof(left, right, on="t", known_at="at", allow_exact_matches=False).drop("at")
    assert rows(df) == [(4, "a"), (5, "a"), (6, "b"), (9, "b")]
    with pytest.raises(
        rangejoin.RangeJoinError, match="the times 't' and 'p' are of types INT and"
    ):
        join_asof(left, right, on="t", known_at="p")
