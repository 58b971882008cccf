"""Range joins below and above caches and Python functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf

from rangejoin import ENABLED_CONF, metrics
from rangejoin.demo.contest import executed_plan

Rows = Counter[tuple[object, ...]]


@pytest.fixture(autouse=True)
def clean(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset(ENABLED_CONF)
    spark.catalog.clearCache()


def side(spark: SparkSession, factor: int) -> DataFrame:
    """80 rows of 4 keys with ties, and a NULL key or value in every eleventh row."""
    return spark.sql(
        f"""
        SELECT id, IF(id % 11 = 3, NULL, id % 4) AS k,
               IF(id % 11 = 5, NULL, id * {factor} % 23) AS y
        FROM range(80)
        """
    )


def band(left: DataFrame, right: DataFrame, reach: int = 2) -> DataFrame:
    """Returns the pairs of rows at most `reach` apart."""
    on = (left.k == right.k) & right.y.between(left.y - reach, left.y + reach)
    return left.join(right, on).select(left.id.alias("a"), right.id.alias("b"), left.k, left.y)


def rows(df: DataFrame) -> Rows:
    return Counter(tuple(row) for row in df.collect())


def stock(spark: SparkSession, df: DataFrame) -> Rows:
    """Returns the rows of a query that was made with the flag off."""
    found = rows(df)
    assert metrics(df) == []
    assert found.total() > 50
    return found


def flag(spark: SparkSession, value: bool) -> None:
    spark.conf.set(ENABLED_CONF, str(value).lower())


def test_a_cached_range_join_is_read_with_the_flag_on_and_off(spark: SparkSession) -> None:
    flag(spark, False)
    expected = stock(spark, band(side(spark, 7), side(spark, 5)))
    flag(spark, True)
    cached = band(side(spark, 7), side(spark, 5)).cache()
    assert cached.count() == expected.total()
    for value in (True, False):
        flag(spark, value)
        again = band(side(spark, 7), side(spark, 5))
        assert rows(again) == expected
        relation = executed_plan(again).partition("InMemoryRelation")[2]
        assert "SortMergeRangeJoin" in relation


def test_a_cached_stock_join_is_read_with_the_flag_on(spark: SparkSession) -> None:
    flag(spark, False)
    cached = band(side(spark, 7), side(spark, 5)).cache()
    expected = rows(cached)
    flag(spark, True)
    again = band(side(spark, 7), side(spark, 5))
    assert rows(again) == expected
    assert "SortMergeJoin" in executed_plan(again).partition("InMemoryRelation")[2]


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_range_join_above_a_cached_range_join(spark: SparkSession, adaptive: str) -> None:
    def query(cache: bool) -> DataFrame:
        below = band(side(spark, 7), side(spark, 5))
        return band(below.cache() if cache else below, side(spark, 3).withColumnRenamed("id", "c"))

    def band(left: DataFrame, right: DataFrame) -> DataFrame:
        on = (left.k == right.k) & right.y.between(left.y - 2, left.y + 2)
        return left.join(right, on).drop(right.k).drop(right.y)

    flag(spark, False)
    expected = stock(spark, query(cache=False))
    flag(spark, True)
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        df = query(cache=True)
        assert rows(df) == expected
        assert len(metrics(df)) == 1
        above, _, below = executed_plan(df).partition("InMemoryRelation")
        assert "SortMergeRangeJoin" in above
        assert "SortMergeRangeJoin" in below
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        pytest.param("arrow", marks=pytest.mark.slow),
        pytest.param("pandas", marks=pytest.mark.slow),
    ],
)
def test_python_functions_below_in_and_above_a_range_join(spark: SparkSession, kind: str) -> None:
    if kind == "pandas":
        vectorized: Any = pandas_udf
        shifted = vectorized(lambda y: y + 1, "long")
        close = vectorized(lambda a, b: (a - b).abs() < 40, "boolean")
    else:
        arrow = kind == "arrow"
        shifted = F.udf(lambda y: None if y is None else y + 1, "long", useArrow=arrow)
        close = F.udf(lambda a, b: abs(a - b) < 40, "boolean", useArrow=arrow)

    def doubled(frames: Iterator[Any]) -> Iterator[Any]:
        for frame in frames:
            yield frame * 2

    def query() -> DataFrame:
        left = side(spark, 7).where("y IS NOT NULL").withColumn("y", shifted("y"))
        right = side(spark, 5)
        on = (left.k == right.k) & right.y.between(left.y - 2, left.y + 2)
        pairs = left.join(right, on & close(left.id, right.id))
        ids = pairs.select(left.id.alias("a"), right.id.alias("b"))
        return ids.mapInPandas(doubled, "a long, b long")

    flag(spark, False)
    expected = stock(spark, query())
    flag(spark, True)
    df = query()
    assert rows(df) == expected
    assert len(metrics(df)) == 1
