"""Range joins of tables of Delta Lake: what is read, merged, deleted, and left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from neighbours import both, table_session
from pyspark import SparkContext
from pyspark.sql import SparkSession
from table_job import INTERVALS, MERGE, POINTS, range_joins
from test_docs import run_page

import rangejoin

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
SETTINGS = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    # A leaf with metrics is found in a plan that is not adaptive.
    "spark.sql.adaptive.enabled": "false",
}
WITH_VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
IN_INTERVAL = "p.k = i.k AND p.y BETWEEN i.low AND i.high"
JOIN = "SELECT * FROM {} p {} JOIN {} i ON " + IN_INTERVAL


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the tables `points` and `intervals`; the extension of Delta Lake is first."""
    folder = tmp_path_factory.mktemp("delta")
    with table_session(folder, "delta", EXTENSION, SETTINGS) as session:
        rangejoin.check(session)
        session.sql(f"CREATE TABLE points USING delta AS {POINTS} FROM range(400)")
        session.sql(f"CREATE TABLE intervals USING delta AS {INTERVALS} FROM range(80)")
        yield session


@pytest.mark.parametrize("how", ["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_tables_are_joined(spark: SparkSession, how: str) -> None:
    ours, stock = both(spark, JOIN.format("points", how, "intervals"))
    assert ours.shuffles == stock.shuffles == 2
    assert ours.rows.total() > 30


def test_versions_are_joined(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE versioned USING delta AS SELECT * FROM points")
    spark.sql("INSERT INTO versioned SELECT id + 1000, k, y FROM points")
    now, _ = both(spark, JOIN.format("versioned", "INNER", "intervals"))
    old = "(SELECT * FROM versioned VERSION AS OF 0)"
    then, _ = both(spark, JOIN.format(old, "INNER", "intervals"))
    assert now.rows.total() == 2 * then.rows.total()


@pytest.mark.parametrize("properties", ["", WITH_VECTORS], ids=["files", "deletion vectors"])
def test_merge_into_by_key_and_range(spark: SparkSession, properties: str) -> None:
    contents = []
    for flag, name in ((True, "ours"), (False, "stock")):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"CREATE TABLE {name} USING delta {properties} AS SELECT * FROM points")
        before = spark.conf.get(rangejoin.ENABLED_CONF)
        count, _ = range_joins(spark, MERGE.format(name), flag)
        spark.conf.set(rangejoin.ENABLED_CONF, str(before))
        assert (count > 0) == flag
        contents.append(sorted(map(str, spark.table(name).collect())))
    assert contents[0] == contents[1]
    assert contents[0] != sorted(map(str, spark.table("points").collect()))
    both(spark, JOIN.format("ours", "LEFT", "intervals"))


def test_rows_in_a_deletion_vector_are_not_joined(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE deleted USING delta {WITH_VECTORS} AS SELECT * FROM points")
    files = set(spark.table("deleted").inputFiles())
    before, _ = both(spark, JOIN.format("deleted", "INNER", "intervals"))
    spark.sql("DELETE FROM deleted WHERE id % 3 = 0")
    # The files are those that there were.
    assert set(spark.table("deleted").inputFiles()) == files
    for how in ("INNER", "LEFT", "FULL"):
        after, _ = both(spark, JOIN.format("deleted", how, "intervals"))
        assert how != "INNER" or 0 < after.rows.total() < before.rows.total()


def create_generated(spark: SparkSession) -> None:
    """A table with a generated column; SQL has none for it in every line."""
    gateway: Any = SparkContext._gateway
    tables, jsession = gateway.jvm.io.delta.tables.DeltaTable, spark._jsparkSession
    day = tables.columnBuilder(jsession, "day").dataType("DATE")
    names = gateway.new_array(gateway.jvm.String, 1)
    names[0] = "day"
    table = tables.create(jsession).tableName("generated")
    for name, data_type in (("id", "BIGINT"), ("k", "BIGINT"), ("at", "TIMESTAMP")):
        table = table.addColumn(name, data_type)
    column = day.generatedAlwaysAs("CAST(at AS DATE)").build()
    table.addColumn(column).partitionedBy(names).execute()


def test_a_range_on_a_generated_column(spark: SparkSession) -> None:
    create_generated(spark)
    spark.sql(
        "INSERT INTO generated (id, k, at) SELECT id, k, TIMESTAMP'2026-01-01' + "
        "make_interval(0, 0, 0, y % 10, id % 24) FROM points WHERE y IS NOT NULL"
    )
    spans = (
        "SELECT id, k, DATE'2026-01-01' + CAST(low DIV 10 AS INT) AS low, "
        "DATE'2026-01-02' + CAST(low DIV 10 AS INT) AS high FROM intervals"
    )
    query = f"SELECT * FROM generated p JOIN ({spans}) i ON p.k = i.k AND p.{{}}"
    for condition in ("day BETWEEN i.low AND i.high", "at >= i.low AND p.at < i.high"):
        both(spark, query.format(condition))


def test_a_clustered_table(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE clustered USING delta CLUSTER BY (k, y) AS SELECT * FROM points")
    spark.sql("OPTIMIZE clustered")
    ours, stock = both(spark, JOIN.format("clustered", "INNER", "intervals"))
    assert (ours.shuffles, ours.sorts) == (stock.shuffles, stock.sorts) == (2, 2)


@pytest.fixture(scope="module")
def stretches(spark: SparkSession) -> SparkSession:
    """Tables of five files, each with its own stretch of `y`."""
    mapped = (
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
        "'delta.minWriterVersion' = '5')"
    )
    for name, properties in (("stretches", ""), ("mapped", mapped), ("vectors", WITH_VECTORS)):
        spark.sql(f"CREATE TABLE {name} (id BIGINT, k BIGINT, y BIGINT) USING delta {properties}")
        spark.sql(
            f"INSERT INTO {name} SELECT /*+ REPARTITION_BY_RANGE(5, y) */ id, k, y FROM points "
            "WHERE y IS NOT NULL"
        )
    spark.sql("DELETE FROM vectors WHERE id % 3 = 0")
    return spark


LIMITED = "(SELECT * FROM intervals WHERE low >= 60)"


@pytest.mark.parametrize("table", ["stretches", "vectors", "mapped"])
def test_files_are_left_out_by_a_limit_that_follows_from_the_range(
    stretches: SparkSession, table: str
) -> None:
    ours, stock = both(stretches, JOIN.format(table, "INNER", LIMITED))
    assert "implied(y#" in ours.plan
    assert (ours.files[0], stock.files[0]) == (3, 5)
    said = f"(SELECT * FROM {table} WHERE y >= 60)"
    ours, stock = both(stretches, JOIN.format(said, "INNER", LIMITED))
    assert (ours.files[0], stock.files[0]) == (3, 3)


def test_a_column_that_has_the_former_name_of_another(stretches: SparkSession) -> None:
    stretches.sql("CREATE TABLE renamed SHALLOW CLONE mapped")
    stretches.sql("ALTER TABLE renamed RENAME COLUMN y TO z")
    stretches.sql("ALTER TABLE renamed ADD COLUMN y BIGINT")
    stretches.sql("INSERT INTO renamed SELECT id + 1000, k, -y, y FROM points")
    # Of seven files: five of before, which know the limits of `z` alone, and two with all of `y`.
    for column, read in (("y", 7), ("z", 3)):
        table = f"(SELECT id, k, {column} AS y FROM renamed)"
        ours, stock = both(stretches, JOIN.format(table, "INNER", LIMITED))
        assert (ours.files[0], stock.files[0]) == (read, 7)


@pytest.mark.parametrize("table", ["stretches", "vectors", "mapped"])
def test_a_broadcast_side_limits_what_is_read(stretches: SparkSession, table: str) -> None:
    few = "(SELECT /*+ BROADCAST(intervals) */ * FROM intervals WHERE id % 80 BETWEEN 40 AND 47)"
    adaptive = {"spark.sql.adaptive.enabled": "true"}
    both(stretches, JOIN.format(table, "INNER", few), "BroadcastRangeJoin", **adaptive)


def test_partitions_are_pruned_by_the_other_side(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE by_key USING delta PARTITIONED BY (k) AS SELECT * FROM points")
    threshold = {"spark.sql.autoBroadcastJoinThreshold": "10MB"}
    query = JOIN.format("by_key", "INNER", "(SELECT * FROM intervals WHERE id % 8 = 2)")
    ours, stock = both(spark, query, "BroadcastRangeJoin", **threshold)
    assert "dynamicpruning#" in ours.plan
    assert "dynamicpruning#" in stock.plan
    # Two files for each of the keys, which are nine with NULL.
    assert ours.files[0] == stock.files[0] == 2


def test_the_page_of_delta_lake(spark: SparkSession, tmp_path: Path) -> None:
    run_page("docs/delta.md", spark, tmp_path)
