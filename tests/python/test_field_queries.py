"""Queries of the field are planned with range joins and return what stock Spark returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from field_queries import QUERIES, FieldQuery
from pyspark.sql import DataFrame, SparkSession

from rangejoin import ENABLED_CONF, metrics

Rows = Counter[tuple[object, ...]]


@contextmanager
def settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Holds session settings."""
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in values:
            spark.conf.unset(key)


def rows(df: DataFrame) -> Rows:
    return Counter(tuple(row) for row in df.collect())


@pytest.fixture(scope="module", params=QUERIES)
def query(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[tuple[FieldQuery, Rows]]:
    """A query with its tables in place, and the rows stock Spark returns for it."""
    found = QUERIES[request.param]
    with ExitStack() as stack:
        for name, text in found.tables.items():
            spark.sql(text).cache().createOrReplaceTempView(name)
            stack.callback(spark.catalog.dropTempView, name)
        with settings(spark, {ENABLED_CONF: "false"}):
            stock = spark.sql(found.text)
            expected = rows(stock)
            assert metrics(stock) == []
        yield found, expected
    spark.catalog.clearCache()


@pytest.mark.parametrize(
    ("adaptive", "codegen"),
    [
        pytest.param("true", "true", id="aqe-codegen"),
        pytest.param("false", "false", id="no aqe-interpreted"),
        pytest.param("true", "false", id="aqe-interpreted", marks=pytest.mark.slow),
        pytest.param("false", "true", id="no aqe-codegen", marks=pytest.mark.slow),
    ],
)
def test_rows_are_those_of_stock_spark(
    spark: SparkSession, query: tuple[FieldQuery, Rows], adaptive: str, codegen: str
) -> None:
    found, expected = query
    engine = {"spark.sql.adaptive.enabled": adaptive, "spark.sql.codegen.wholeStage": codegen}
    with settings(spark, engine):
        df = spark.sql(found.text)
        assert rows(df) == expected
        assert len(metrics(df)) == found.joins
    assert expected.total() > 10
    assert all(m["numOutputRows"] > 0 for m in metrics(df))
