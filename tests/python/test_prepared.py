"""`rangejoin.prepare`: tables that range joins read without a shuffle and without a sort."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import rangejoin
from rangejoin.demo.contest import executed_plan
from rangejoin.layout import PreparedTable
from rangejoin.prepared import BYTES_PER_BUCKET, MOST_BUCKETS, _buckets_for

FLAG = rangejoin.ENABLED_CONF


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[list[str]]:
    """Names of tables that are dropped afterwards."""
    names = ["prepared_l", "prepared_r"]
    before = str(spark.conf.get("spark.sql.autoBroadcastJoinThreshold"))
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        yield names
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)
        for name in names:
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def rows(spark: SparkSession, seed: int) -> DataFrame:
    return spark.range(200).selectExpr(
        f"pmod(hash(id, {seed}), 5) AS k", f"pmod(hash(id, {seed}, 1), 90) AS t", "id AS v"
    )


def joined(spark: SparkSession, left: str, right: str) -> DataFrame:
    return spark.sql(
        f"SELECT l.v, r.v AS other FROM {left} l JOIN {right} r "
        "ON l.k = r.k AND r.t BETWEEN l.t - 3 AND l.t + 3"
    )


@pytest.fixture
def ansi(spark: SparkSession) -> Iterator[None]:
    """ANSI mode, off by default in Spark 3.5: else a distance may wrap, and is sorted by."""
    spark.conf.set("spark.sql.ansi.enabled", "true")
    yield
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.usefixtures("ansi")
def test_a_join_of_prepared_tables_neither_shuffles_nor_sorts(
    spark: SparkSession, tables: list[str]
) -> None:
    left, right = tables
    told = rangejoin.prepare(rows(spark, 1), left, keys="k", range="t", buckets=4)
    rangejoin.prepare(rows(spark, 2), right, keys=["K"], range=["t"], buckets=4)
    assert told == PreparedTable(left, ("k",), ("t",), 4)
    assert str(told).startswith(f"{left}: 4 buckets by k, sorted by k, t. ")
    location = spark.sql(f"DESCRIBE EXTENDED {left}").where("col_name = 'Location'").first()
    assert location is not None
    files = list(Path(location["data_type"].removeprefix("file:")).glob("part-*"))
    assert 1 <= len(files) <= 4
    # Appended to: as many files again, and still no sort.
    again = rangejoin.prepare(rows(spark, 3), left, keys="k", range="t", mode="append")
    assert again.buckets == 4
    df = joined(spark, left, right)
    plan = executed_plan(df)
    assert "SortMergeRangeJoin" in plan
    assert plan.count("MergeFiles") == 2
    assert not any(node in plan for node in ("Exchange", "Sort [", "RangeSort"))
    found = sorted(df.collect())
    spark.conf.set(FLAG, "false")
    try:
        assert found == sorted(joined(spark, left, right).collect())
    finally:
        spark.conf.unset(FLAG)
    assert len(found) > 0


def test_the_number_of_buckets_follows_the_size(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores = spark.sparkContext.defaultParallelism
    assert _buckets_for(rows(spark, 1)) == 1 << (cores - 1).bit_length()
    # A range of longs has eight bytes a row.
    rows_of_a_bucket = BYTES_PER_BUCKET // 8
    assert _buckets_for(spark.range(20 * rows_of_a_bucket)) == 32
    assert _buckets_for(spark.range(1 << 60)) == MOST_BUCKETS


def test_a_size_that_spark_does_not_know_is_asked_for(spark: SparkSession) -> None:
    local = spark.createDataFrame([(1, 2), (3, 4)], "k int, t int")
    both = rows(spark, 1).join(rows(spark, 2).withColumnRenamed("v", "w"), ["k", "t"])
    for df, node in ((local, "LogicalRDD"), (both, "Join")):
        with pytest.raises(rangejoin.RangeJoinError, match=rf"the plan has {node}\): say how many"):
            rangejoin.prepare(df, "never_written", keys="k", range="t")
    assert not spark.catalog.tableExists("never_written")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": "nope"}, "keys='nope' is not a column of the DataFrame, which has k, t, v"),
        ({"keys": "s.a"}, "df.withColumn(name, F.col('s.a'))"),
        ({"keys": [1]}, "keys takes names of columns, and not 1"),
        ({"keys": []}, "keys takes at least one column"),
        ({"keys": ["k", "k"]}, "keys: k, k: a column is named twice"),
        ({"range": "k"}, "k: a column can be a key or a range column, not both"),
        ({"range": []}, "range takes at least one column"),
        ({"buckets": 0}, "has to be a positive number"),
        ({"buckets": True}, "has to be a positive number"),
        ({"mode": "replace"}, "may be one of append, overwrite"),
        ({"format": "iceberg"}, "add org.apache.iceberg.spark.extensions.Iceberg"),
        ({"format": "Delta"}, "a table of Delta Lake has no buckets"),
    ],
)
def test_what_cannot_be_is_said(
    spark: SparkSession, arguments: dict[str, object], message: str
) -> None:
    given: dict[str, object] = {"keys": "k", "range": "t", "buckets": 2} | arguments
    with pytest.raises(rangejoin.RangeJoinError, match=re.escape(message)):
        rangejoin.prepare(rows(spark, 1), "never_written", **given)  # type: ignore[arg-type]
    assert not spark.catalog.tableExists("never_written")


def test_a_type_without_an_order_is_said(spark: SparkSession) -> None:
    df = rows(spark, 1).withColumn("m", F.create_map("k", "t"))
    for arguments in ({"keys": "m", "range": "t"}, {"keys": "k", "range": "m"}):
        with pytest.raises(rangejoin.RangeJoinError, match="of type map, which has no order"):
            rangejoin.prepare(df, "never_written", buckets=2, **arguments)
    nested = rows(spark, 1).withColumn("s", F.array(F.struct(F.create_map("k", "t"))))
    with pytest.raises(rangejoin.RangeJoinError, match="of type map, which has no order"):
        rangejoin.prepare(nested, "never_written", buckets=2, keys="k", range="s")


def test_a_format_may_be_named_by_a_class(spark: SparkSession, tables: list[str]) -> None:
    name = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
    rangejoin.prepare(rows(spark, 1), tables[0], keys="k", range="t", buckets=2, format=name)
    assert spark.table(tables[0]).count() == 200


def test_what_is_there_is_kept(spark: SparkSession, tables: list[str]) -> None:
    left, _ = tables
    rangejoin.prepare(rows(spark, 1), left, keys="k", range="t", buckets=4)
    with pytest.raises(AnalysisException, match="already exists"):
        rangejoin.prepare(rows(spark, 1), left, keys="k", range="t", buckets=4)
    with pytest.raises(rangejoin.RangeJoinError, match="has 4 buckets, and not 8"):
        rangejoin.prepare(rows(spark, 1), left, keys="k", range="t", buckets=8, mode="append")
    assert spark.table(left).count() == 200
    told = rangejoin.prepare(rows(spark, 1), left, keys="k", range="t", buckets=8, mode="overwrite")
    assert told.buckets == 8


def test_a_table_that_is_there_is_told_as_it_is(spark: SparkSession, tables: list[str]) -> None:
    left, right = tables
    df = rows(spark, 1).withColumnRenamed("v", "Num Buckets")
    written = rangejoin.prepare(df, left, keys="k", range="t", buckets=4)
    for keys, range_, buckets in (("t", "k", 16), ("k", "t", None)):
        told = rangejoin.prepare(df, left, keys=keys, range=range_, mode="ignore", buckets=buckets)
        assert told == written
    assert spark.table(left).count() == 200
    with pytest.raises(rangejoin.RangeJoinError, match="bucketed by k and sorted within them by t"):
        rangejoin.prepare(df, left, keys="t", range="k", mode="append")
    rangejoin.prepare(df, left, keys="k", range="t", mode="append")
    assert spark.table(left).count() == 400
    df.drop("Num Buckets").write.saveAsTable(right)
    for mode in ("append", "ignore"):
        with pytest.raises(rangejoin.RangeJoinError, match="is not bucketed by keys"):
            rangejoin.prepare(df, right, keys="k", range="t", mode=mode)
