"""`rangejoin.prepare` of tables of Iceberg."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from neighbours import both, table_session
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from test_iceberg import BUCKETING, EXTENSION, GROUPED, SETTINGS

import rangejoin

WHOLE_KEY = "spark.sql.requireAllClusterKeysForCoPartition"
NEAR = "l.k = r.k AND r.t BETWEEN l.t - 3 AND l.t + 3"
JOIN = "SELECT * FROM {} l {} JOIN {} r ON {}"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session whose current catalog is one of Iceberg."""
    folder = tmp_path_factory.mktemp("prepared")
    settings = SETTINGS | {"spark.sql.catalog.ice.warehouse": str(folder / "ice")}
    with table_session(folder, "iceberg", EXTENSION, settings) as session:
        session.sql("CREATE NAMESPACE ice.db")
        session.sql("USE ice.db")
        for seed, name in enumerate(("left", "right")):
            write(rows(session, seed), name)
        yield session


def rows(spark: SparkSession, seed: int) -> DataFrame:
    """Rows of few keys, some NULL, and of few times."""
    return spark.range(300).selectExpr(
        f"IF(id % 17 = {seed}, NULL, CAST(pmod(hash(id, {seed}), 7) AS INT)) AS k",
        "CAST(id % 3 AS SMALLINT) AS other",
        f"pmod(hash(id, {seed}, 1), 90) AS t",
        "id AS v",
    )


def write(
    df: DataFrame,
    table: str,
    keys: str | list[str] = "k",
    buckets: int | None = 4,
    mode: str = "errorifexists",
) -> rangejoin.PreparedTable:
    return rangejoin.prepare(
        df, table, keys=keys, range="t", buckets=buckets, mode=mode, format="iceberg"
    )


def files(spark: SparkSession, table: str) -> list[tuple[int, list[tuple[int, int]]]]:
    """The files of a table: the order that it is marked with, and its rows as they are."""
    found = spark.sql(f"SELECT sort_order_id, file_path FROM ice.db.{table}.files").collect()
    ordered = F.struct(F.coalesce("k", F.lit(-1)), "t")
    return [
        (order, [tuple(row[0]) for row in spark.read.parquet(path).select(ordered).collect()])
        for order, path in found
    ]


def test_a_table_without_rows(spark: SparkSession) -> None:
    none = rows(spark, 3).limit(0)
    write(none, "empty")
    write(none, "empty", mode="append")
    joined = JOIN.format("empty", "", "right", NEAR)
    assert spark.sql(joined).count() == 0
    write(rows(spark, 3), "empty", mode="append")
    assert spark.table("empty").count() == 300
    write(none, "empty", mode="overwrite")
    assert spark.table("empty").count() == 0


def test_files_are_in_order_and_marked_with_it(spark: SparkSession) -> None:
    told = write(rows(spark, 3), "marked")
    assert told == rangejoin.PreparedTable("marked", ("k",), ("t",), 4, "iceberg")
    assert str(told).startswith("marked: 4 buckets of Iceberg by k, sorted by k, t. ")
    again = write(rows(spark, 4), "marked", keys="K", buckets=None, mode="append")
    assert again.buckets == 4
    # What is written by others keeps to it.
    spark.sql("INSERT INTO marked SELECT * FROM marked")
    found = files(spark, "marked")
    assert len(found) > 2 * 4
    assert sum(len(of_file) for _, of_file in found) == 2 * 2 * 300
    spark.sql(
        "CALL ice.system.rewrite_data_files(table => 'db.marked', strategy => 'sort', "
        "options => map('rewrite-all', 'true'))"
    )
    merged = files(spark, "marked")
    assert len(merged) < len(found)
    for order, of_file in found + merged:
        assert order == 1
        assert of_file == sorted(of_file)


@pytest.mark.parametrize("how", ["INNER", "LEFT", "FULL"])
def test_a_join_of_prepared_tables_has_no_shuffle(spark: SparkSession, how: str) -> None:
    ours, stock = both(spark, JOIN.format("left", how, "right", NEAR), **GROUPED)
    assert (ours.shuffles, ours.sorts) == (0, 2)
    assert stock.shuffles == 0


def test_of_several_keys_the_first_has_the_buckets(spark: SparkSession) -> None:
    for seed, name in enumerate(("two_l", "two_r")):
        told = write(rows(spark, seed), name, keys=["k", "other"])
        assert (told.keys, told.order) == (("k", "other"), ("k", "other", "t"))
    query = JOIN.format("two_l", "INNER", "two_r", f"{NEAR} AND l.other = r.other")
    whole, _ = both(spark, query, **GROUPED)
    first, _ = both(spark, query, **(GROUPED | {WHOLE_KEY: "false"}))
    assert (whole.shuffles, first.shuffles) == (2, 0)


def test_one_prepared_side(spark: SparkSession) -> None:
    rows(spark, 5).createOrReplaceTempView("plain")
    query = JOIN.format("left", "LEFT", "plain", NEAR)
    settings = GROUPED | {f"{BUCKETING}.shuffle.enabled": "true"}
    ours, stock = both(spark, query, **settings)
    assert ours.shuffles == stock.shuffles <= 2


def test_rows_are_replaced_in_one_commit(spark: SparkSession) -> None:
    write(rows(spark, 1), "replaced", mode="overwrite")
    # Of the table itself, too.
    write(spark.table("replaced").where("v < 200"), "replaced", buckets=None, mode="overwrite")
    assert spark.table("replaced").count() == 200
    assert {order for order, _ in files(spark, "replaced")} == {1}
    snapshots = spark.sql("SELECT operation FROM ice.db.replaced.snapshots").collect()
    assert [row[0] for row in snapshots][-1] == "overwrite"
    with pytest.raises(rangejoin.RangeJoinError, match="has 4 buckets, and not 8"):
        write(rows(spark, 1), "replaced", buckets=8, mode="overwrite")
    assert spark.table("replaced").count() == 200


def test_what_is_there_is_kept(spark: SparkSession) -> None:
    write(rows(spark, 1), "kept")
    with pytest.raises(AnalysisException, match="already exists"):
        write(rows(spark, 2), "kept")
    assert write(rows(spark, 2), "kept", buckets=16, mode="ignore").buckets == 4
    assert write(rows(spark, 2), "kept", keys=["k", "other"], mode="ignore").keys == ("k",)
    with pytest.raises(rangejoin.RangeJoinError, match="bucketed by k and sorted within them by t"):
        write(rows(spark, 2), "kept", keys="other", mode="append")
    assert spark.table("kept").count() == 300
    spark.sql("CREATE TABLE unprepared USING iceberg AS SELECT * FROM kept")
    for mode in ("append", "overwrite", "ignore"):
        with pytest.raises(rangejoin.RangeJoinError, match="not partitioned by bucket"):
            write(rows(spark, 2), "unprepared", mode=mode)
    assert spark.table("unprepared").count() == 300


def test_a_write_that_fails_leaves_nothing(spark: SparkSession) -> None:
    failing = rows(spark, 1).withColumn(
        "v", F.expr("IF(v = 7, raise_error('a row is refused'), v)")
    )
    with pytest.raises(Exception, match="a row is refused"):
        write(failing, "failed")
    assert not spark.catalog.tableExists("failed")
    write(rows(spark, 1), "failed")
    with pytest.raises(Exception, match="a row is refused"):
        write(failing, "failed", mode="overwrite")
    assert spark.table("failed").count() == 300


def test_names_of_any_characters(spark: SparkSession) -> None:
    odd = rows(spark, 1).selectExpr("k AS `a``b`", "t AS `At c`", "v")
    for mode in ("errorifexists", "append"):
        rangejoin.prepare(
            odd, "`od-d`", keys="a`b", range="At c", buckets=4, mode=mode, format="Iceberg"
        )
    assert spark.table("`od-d`").count() == 600


def test_what_cannot_be_is_said(spark: SparkSession) -> None:
    df = rows(spark, 1).selectExpr("*", "CAST(k AS DOUBLE) AS d", "array(k) AS a")
    cases = {
        "no buckets of the key 'd', which is of type double": {"keys": "d", "range": "t"},
        "does not sort by 'a', which is of type array<int>": {"keys": "k", "range": "a"},
    }
    for message, columns in cases.items():
        with pytest.raises(rangejoin.RangeJoinError, match=message):
            rangejoin.prepare(df, "said", buckets=4, format="iceberg", **columns)
    with pytest.raises(rangejoin.RangeJoinError, match="spark_catalog is Spark's own"):
        write(df, "spark_catalog.default.said")
    assert not spark.catalog.tableExists("said")
