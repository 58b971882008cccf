"""Range joins of tables of Iceberg: what is read, merged, and read without a shuffle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lines import LINE
from neighbours import both, ran, table_session
from pyspark.sql import SparkSession
from settings import set_to
from table_job import MERGE, range_joins
from test_docs import run_page

import rangejoin

EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SETTINGS = {
    "spark.sql.defaultCatalog": "ice",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
    # A leaf with metrics is found in a plan that is not adaptive.
    "spark.sql.adaptive.enabled": "false",
}

POINTS = """
SELECT id, IF(id % 13 = 5, NULL, id % 8) AS k, IF(id % 17 = 3, NULL, id * 7 % 100) AS y,
       TIMESTAMP'2026-01-01' + make_interval(0, 0, 0, id % 5, id % 24) AS ts FROM range(400)"""
# Ten intervals a key, which do not overlap.
INTERVALS = """
SELECT id, id % 8 AS k, id DIV 8 * 10 AS low, id DIV 8 * 10 + id % 9 AS high,
       TIMESTAMP'2026-01-01' + make_interval(0, 0, 0, id % 5, id % 20) AS ts FROM range(80)"""

IN_INTERVAL = "p.k = i.k AND p.y BETWEEN i.low AND i.high"
JOIN = "SELECT * FROM {} p {} JOIN {} i ON {}"

BUCKETING = "spark.sql.sources.v2.bucketing"
GROUPED = {
    f"{BUCKETING}.enabled": "true",
    f"{BUCKETING}.pushPartValues.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
}
PARTIALLY = {f"{BUCKETING}.partiallyClusteredDistribution.enabled": "true"}
COMPATIBLE = {
    f"{BUCKETING}.allowCompatibleTransforms.enabled": "true",
    f"{BUCKETING}.allowJoinKeysSubsetOfPartitionKeys.enabled": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
ONE_SIDE = {f"{BUCKETING}.shuffle.enabled": "true"}

PARTITIONS = {
    "plain": "",
    "bucket8": "PARTITIONED BY (bucket(8, k))",
    "bucket4": "PARTITIONED BY (bucket(4, k))",
    "key": "PARTITIONED BY (k)",
    "day": "PARTITIONED BY (days(ts))",
    "bucket8_day": "PARTITIONED BY (bucket(8, k), days(ts))",
}

since_40 = pytest.mark.skipif(LINE == "3.5", reason="Spark 3.5 has no compatible transforms")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session whose catalog has the two tables in every partitioning."""
    folder = tmp_path_factory.mktemp("iceberg")
    settings = SETTINGS | {"spark.sql.catalog.ice.warehouse": str(folder / "ice")}
    with table_session(folder, "iceberg", EXTENSION, settings) as session:
        rangejoin.check(session)
        session.sql("CREATE NAMESPACE ice.db")
        session.sql("USE ice.db")
        for name, clause in PARTITIONS.items():
            session.sql(f"CREATE TABLE p_{name} USING iceberg {clause} AS {POINTS}")
            session.sql(f"CREATE TABLE i_{name} USING iceberg {clause} AS {INTERVALS}")
        session.sql(
            f"CREATE TABLE p_some8 USING iceberg {PARTITIONS['bucket8']} "
            "AS SELECT * FROM p_plain WHERE k IS NOT NULL"
        )
        session.sql("CREATE TABLE stretches (id BIGINT, k BIGINT, y BIGINT) USING iceberg")
        for start in range(0, 100, 20):  # a file each
            session.sql(
                "INSERT INTO stretches SELECT /*+ REPARTITION(1) */ id, k, y FROM p_plain "
                f"WHERE y BETWEEN {start} AND {start + 19}"
            )
        yield session


@pytest.mark.parametrize("how", ["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_tables_are_joined(spark: SparkSession, how: str) -> None:
    ours, stock = both(spark, JOIN.format("p_plain", how, "i_plain", IN_INTERVAL))
    assert ours.shuffles == stock.shuffles == 2
    assert ours.rows.total() > 100


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_merge_into_by_key_and_range(spark: SparkSession, mode: str) -> None:
    contents = []
    for flag, name in ((True, f"ours_{mode[:4]}"), (False, f"stock_{mode[:4]}")):
        spark.sql(
            f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ('format-version' = '2', "
            f"'write.merge.mode' = '{mode}') AS SELECT id, k, y FROM p_plain"
        )
        merge = MERGE.format(name).replace("intervals", "i_plain")
        before = spark.conf.get(rangejoin.ENABLED_CONF)
        count, _ = range_joins(spark, merge, flag)
        spark.conf.set(rangejoin.ENABLED_CONF, str(before))
        assert (count > 0) == flag
        contents.append(sorted(map(str, spark.table(name).collect())))
    assert contents[0] == contents[1]
    assert contents[0] != sorted(map(str, spark.sql("SELECT id, k, y FROM p_plain").collect()))
    # What is read after it: data files, and the deletes that belong to them.
    both(spark, JOIN.format(f"ours_{mode[:4]}", "LEFT", "i_plain", IN_INTERVAL))


def test_time_travel(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE travelled USING iceberg AS {POINTS}")
    (first,) = spark.sql("SELECT snapshot_id FROM ice.db.travelled.snapshots").collect()
    spark.sql("INSERT INTO travelled SELECT id + 1000, k, y + 1, ts FROM p_plain")
    now, _ = both(spark, JOIN.format("travelled", "INNER", "i_plain", IN_INTERVAL))
    old = f"(SELECT * FROM travelled VERSION AS OF {first[0]})"
    then, _ = both(spark, JOIN.format(old, "INNER", "i_plain", IN_INTERVAL))
    assert 0 < then.rows.total() < now.rows.total()
    change = "p.k = i.k AND p.y BETWEEN i.y - 1 AND i.y + 1 AND p.id <> i.id"
    both(spark, JOIN.format("travelled", "INNER", old, change))


def test_branches(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE branched USING iceberg AS {POINTS}")
    spark.sql("ALTER TABLE branched CREATE BRANCH later")
    spark.sql("INSERT INTO ice.db.branched.branch_later SELECT id + 1000, k, y, ts FROM p_plain")
    branch = "(SELECT * FROM branched VERSION AS OF 'later')"
    on_branch, _ = both(spark, JOIN.format(branch, "INNER", "i_plain", IN_INTERVAL))
    on_main, _ = both(spark, JOIN.format("branched", "INNER", "i_plain", IN_INTERVAL))
    assert on_branch.rows.total() == 2 * on_main.rows.total()


@pytest.mark.parametrize(
    "change",
    ["REPLACE PARTITION FIELD bucket(8, k) WITH bucket(4, k)", "ADD PARTITION FIELD days(ts)"],
    ids=["fewer buckets", "days"],
)
def test_partition_evolution(spark: SparkSession, change: str) -> None:
    spark.sql("DROP TABLE IF EXISTS evolved")
    spark.sql(f"CREATE TABLE evolved USING iceberg PARTITIONED BY (bucket(8, k)) AS {POINTS}")
    query = JOIN.format("evolved", "LEFT", "i_bucket8", IN_INTERVAL)
    before, _ = both(spark, query, **GROUPED)
    spark.sql(f"ALTER TABLE evolved {change}")
    spark.sql("INSERT INTO evolved SELECT id + 1000, k, y, ts FROM p_plain")
    for settings in ({}, GROUPED, GROUPED | PARTIALLY, GROUPED | COMPATIBLE):
        ours, stock = both(spark, query, **settings)
        assert ours.shuffles == stock.shuffles
        assert ours.rows.total() == 2 * before.rows.total()


ON_DAY = "p.ts = i.ts AND p.y BETWEEN i.low AND i.high"
NEAR = "p.k = i.k AND p.ts BETWEEN i.ts - INTERVAL 1 DAY AND i.ts + INTERVAL 1 DAY"

# The tables, the condition, the settings, and the shuffles: in Spark 3.5, and since 4.0.
STORAGE_PARTITIONED = {
    "buckets, not asked for": ("bucket8", "bucket8", IN_INTERVAL, {}, 2, 2),
    "buckets": ("bucket8", "bucket8", IN_INTERVAL, GROUPED, 0, 0),
    "keys": ("key", "key", IN_INTERVAL, GROUPED, 0, 0),
    "days": ("day", "day", ON_DAY, GROUPED, 0, 0),
    "partially clustered": ("bucket8", "bucket8", IN_INTERVAL, GROUPED | PARTIALLY, 0, 0),
    "keys, partially clustered": ("key", "key", IN_INTERVAL, GROUPED | PARTIALLY, 0, 0),
    "8 and 4 buckets": ("bucket8", "bucket4", IN_INTERVAL, GROUPED, 2, 2),
    "8 and 4 compatible buckets": ("some8", "bucket4", IN_INTERVAL, GROUPED | COMPATIBLE, 2, 0),
    "buckets and days": ("bucket8_day", "bucket8_day", NEAR, GROUPED, 2, 2),
    "buckets of a subset": ("bucket8_day", "bucket8_day", NEAR, GROUPED | COMPATIBLE, 2, 0),
    "one side": ("bucket8", "plain", IN_INTERVAL, GROUPED, 2, 2),
    "one side, the other shuffled": ("bucket8", "plain", IN_INTERVAL, GROUPED | ONE_SIDE, 2, 1),
    "one side of keys": ("key", "plain", IN_INTERVAL, GROUPED | ONE_SIDE, 2, 1),
}


@pytest.mark.parametrize("how", ["INNER", "LEFT", "FULL"])
@pytest.mark.parametrize("case", STORAGE_PARTITIONED)
def test_storage_partitioned_joins(spark: SparkSession, case: str, how: str) -> None:
    left, right, condition, settings, of_35, since_40 = STORAGE_PARTITIONED[case]
    ours, stock = both(spark, JOIN.format(f"p_{left}", how, f"i_{right}", condition), **settings)
    assert ours.shuffles == (of_35 if LINE == "3.5" else since_40)
    assert stock.shuffles == ours.shuffles
    # Iceberg reports no order, whatever it has written.
    assert ours.plan.count("RangeSort [") == 2


# Queries of several joins, with the broadcasts that they have beside no shuffle at all.
SEVERAL_JOINS = {
    "three tables": (
        "SELECT * FROM p_bucket8 p JOIN i_bucket8 i ON {} LEFT JOIN p_bucket8 q "
        "ON q.k = p.k AND q.y BETWEEN p.y - 3 AND p.y",
        0,
    ),
    "below a broadcast": (
        "SELECT * FROM (SELECT /*+ BROADCAST(d) */ p.* FROM p_bucket8 p JOIN "
        "(SELECT id AS d FROM i_plain WHERE id % 4 = 1) d ON p.id % 40 = d.d) p "
        "JOIN i_bucket8 i ON {}",
        1,
    ),
    "above an aggregate by the key": (
        "SELECT * FROM (SELECT k, max(y) AS y FROM p_bucket8 GROUP BY k) p JOIN i_bucket8 i ON {}",
        0,
    ),
}


@pytest.mark.parametrize("case", SEVERAL_JOINS)
def test_storage_partitioned_queries_of_several_joins(spark: SparkSession, case: str) -> None:
    query, broadcasts = SEVERAL_JOINS[case]
    ours, stock = both(spark, query.format(IN_INTERVAL), **GROUPED)
    assert ours.shuffles == broadcasts
    assert stock.shuffles == ours.shuffles
    assert ours.plan.count("SortMergeRangeJoin") == (2 if case == "three tables" else 1)


@since_40
def test_a_key_that_is_null_has_no_compatible_bucket(spark: SparkSession) -> None:
    # A defect of Iceberg, which stock Spark meets as well: BucketReducer unboxes the NULL.
    query = JOIN.format("p_bucket8", "LEFT", "i_bucket4", IN_INTERVAL)
    for flag in ("true", "false"):
        settings = GROUPED | COMPATIBLE | {rangejoin.ENABLED_CONF: flag}
        with set_to(spark, settings), pytest.raises(Exception, match='"bucketNo" is null'):
            ran(spark.sql(query))


def test_the_order_of_a_table_is_not_reported(spark: SparkSession) -> None:
    spark.sql(
        "CREATE TABLE ordered (id BIGINT, k BIGINT, y BIGINT) USING iceberg "
        "PARTITIONED BY (bucket(8, k))"
    )
    spark.sql("ALTER TABLE ordered WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY k, y")
    spark.sql("INSERT INTO ordered SELECT id, k, y FROM p_plain")
    (orders,) = spark.sql("SELECT collect_set(sort_order_id) FROM ice.db.ordered.files").collect()
    assert orders[0] == [1]
    query = JOIN.format("ordered", "INNER", "i_bucket8", IN_INTERVAL)
    ours, stock = both(spark, query, **GROUPED)
    assert (ours.shuffles, ours.sorts) == (stock.shuffles, stock.sorts) == (0, 2)


def test_partitions_are_pruned_by_the_other_side(spark: SparkSession) -> None:
    query = JOIN.format("p_key", "INNER", "(SELECT * FROM i_key WHERE id % 8 = 2)", IN_INTERVAL)
    everything, _ = both(spark, JOIN.format("p_key", "INNER", "i_key", IN_INTERVAL))
    ours, stock = both(spark, query, "BroadcastRangeJoin", **{THRESHOLD: "10MB"})
    assert "dynamicpruning#" in ours.plan
    assert "dynamicpruning#" in stock.plan
    assert ours.files == stock.files
    assert (everything.files[0], ours.files[0]) == (8, 1)


@pytest.mark.parametrize("how", ["INNER", "LEFT", "RIGHT", "LEFT SEMI"])
def test_a_limit_that_follows_from_the_range_leaves_out_files(
    spark: SparkSession, how: str
) -> None:
    limited = "(SELECT * FROM i_plain WHERE low >= 60)"
    ours, stock = both(spark, JOIN.format("stretches", how, limited, IN_INTERVAL))
    kept = how == "LEFT"  # whatever they match, so that nothing follows of their rows
    assert (ours.files[0], stock.files[0]) == (5 if kept else 2, 5)
    assert bool(re.search(r"filters=.*\by >= 60", ours.plan)) != kept
    assert not re.search(r"y(#\d+L)? >= 60", stock.plan)
    # Said in the query it does the same, and is not said to the source again.
    said = "(SELECT * FROM stretches WHERE y >= 60)"
    ours, stock = both(spark, JOIN.format(said, how, limited, IN_INTERVAL))
    assert (ours.files[0], stock.files[0]) == (2, 2)
    assert len(re.findall(r"y#\d+L >= 60", ours.plan)) == 1


def test_a_limit_of_floating_numbers_is_hidden_from_files(spark: SparkSession) -> None:
    # The bounds of the third file are those of its numbers.
    spark.sql("CREATE TABLE fractions (k BIGINT, x DOUBLE) USING iceberg")
    spark.sql("INSERT INTO fractions SELECT /*+ REPARTITION(1) */ 1, id + 50 FROM range(50)")
    spark.sql("INSERT INTO fractions SELECT /*+ REPARTITION(1) */ 1, id FROM range(50)")
    spark.sql(
        "INSERT INTO fractions SELECT /*+ REPARTITION(1) */ 1, explode(array(double('NaN'), 2D))"
    )
    spark.sql(
        "CREATE TABLE spans USING iceberg AS "
        "SELECT 1L AS k, double(60) AS low, double('NaN') AS high"
    )
    query = "SELECT f.k, string(f.x) FROM fractions f JOIN spans s ON f.k = s.k AND "
    ours, _ = both(spark, query + "f.x BETWEEN s.low AND s.high AND s.low >= 60")
    assert ours.files[0] == 3
    assert len(ours.rows) == 41


def test_the_page_of_iceberg(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE NAMESPACE ice.page")
    spark.sql("USE ice.page")
    with set_to(spark, GROUPED | {THRESHOLD: "-1"}):
        run_page("docs/iceberg.md", spark, tmp_path)
    spark.sql("USE ice.db")
