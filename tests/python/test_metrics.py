"""Metrics of range joins, read from PySpark."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

import rangejoin

BUFFER = "spark.sql.sortMergeJoinExec.buffer."


def band(spark: SparkSession, reach: int) -> DataFrame:
    """100 rows a side of one key; each meets the rows at most `reach` away."""
    side = spark.range(100).selectExpr("pmod(id, 1) AS k", "id AS t")
    return spark.sql(
        "SELECT l.t, r.t FROM {side} AS l JOIN {side} AS r ON l.k = r.k "
        f"AND r.t BETWEEN l.t - {reach} AND l.t + {reach}",
        side=side,
    )


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_metrics_are_those_of_the_last_run(spark: SparkSession, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        df = band(spark, 2)
        assert [m["numOutputRows"] for m in rangejoin.metrics(df)] == [0]
        for _ in range(2):
            assert len(df.collect()) == 100 * 5 - 6
            (found,) = rangejoin.metrics(df)
            assert found["numOutputRows"] == found["numCandidates"] == 100 * 5 - 6
            assert found["peakWindowRows"] <= 10
            assert found["peakMemory"] > 0
            assert found["spilledRows"] == found["spillSize"] == 0
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_a_window_that_spills_says_so(spark: SparkSession) -> None:
    limits = [BUFFER + "in.memory.threshold", BUFFER + "spill.threshold"]
    for key in limits:
        spark.conf.set(key, "7")
    try:
        df = band(spark, 50)
        rows = sorted(df.collect())
        (found,) = rangejoin.metrics(df)
        assert found["spilledRows"] >= 50
        assert found["spillSize"] > 0
        assert found["peakWindowRows"] > 50
    finally:
        for key in limits:
            spark.conf.unset(key)
    assert rows == sorted(band(spark, 50).collect())


def test_every_range_join_of_a_plan_is_listed(spark: SparkSession) -> None:
    both = band(spark, 1).union(band(spark, 3))
    both.collect()
    assert sorted(m["numOutputRows"] for m in rangejoin.metrics(both)) == [298, 688]
    none = spark.range(5)
    none.collect()
    assert rangejoin.metrics(none) == []


def test_a_connect_dataframe_is_an_error_with_the_remedy() -> None:
    class Connect:
        pass

    with pytest.raises(rangejoin.RangeJoinError, match="executionInfo"):
        rangejoin.metrics(Connect())  # type: ignore[arg-type]
