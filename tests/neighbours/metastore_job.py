"""Run by `test_metastore.py` in processes of their own: range joins over one Hive metastore.

The first word is the address of the database, the second that of a folder, the third what is done:
`write` makes tables and joins them, `alter` joins what another application has made, and alters it.
Prints one line of JSON: of each join its node, the shuffles and sorts of its plan, how many rows it
has, and whether these are those of stock Spark; and whatever else a test asks for.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession
from settings import set_to
from table_job import INTERVALS, POINTS

import rangejoin

NODES = ("SortMergeRangeJoin", "BroadcastRangeJoin")
DRIVER = "org.apache.derby.jdbc.ClientDriver"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"

JOIN = "SELECT * FROM {} p {} JOIN {} i ON p.k = i.k AND p.y BETWEEN i.low AND i.high"
# The partition is the key of the join.
ON_DAY = (
    "SELECT * FROM {} p JOIN (SELECT *, 1 + k % 4 AS day FROM intervals{}) i "
    "ON p.day = i.day AND p.y BETWEEN i.low AND i.high"
)


def session(database: str, folder: str) -> SparkSession:
    """A session with Hive support, whose metastore is in a database that others use as well."""
    builder = (
        SparkSession.builder.master("local[2]")
        .enableHiveSupport()
        .config("spark.driver.extraClassPath", os.environ["DATABASE_JARS"])
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", database)
        .config("spark.hadoop.javax.jdo.option.ConnectionDriverName", DRIVER)
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.sql.shuffle.partitions", "2")
        .config(THRESHOLD, "-1")
        .config("spark.sql.adaptive.enabled", "false")
        # Off by default in Spark 3.5; else a distance may wrap, and is sorted by.
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.ui.enabled", "false")
    )
    return rangejoin.configure(builder).getOrCreate()


def plan_and_rows(spark: SparkSession, query: str) -> tuple[str, list[str]]:
    """The plan of a query, and its sorted rows."""
    df = spark.sql(query)
    return str(df._jdf.queryExecution().executedPlan()), sorted(map(str, df.collect()))


def joined(spark: SparkSession, query: str, **settings: str) -> dict[str, Any]:
    """What there is to say of a join."""
    with set_to(spark, settings):
        plan, rows = plan_and_rows(spark, query)
        with set_to(spark, {rangejoin.ENABLED_CONF: "false"}):
            plan_of_stock, rows_of_stock = plan_and_rows(spark, query)
    assert "RangeJoin" not in plan_of_stock
    assert rows == rows_of_stock, query
    return {
        "node": next((node for node in NODES if node in plan), None),
        "shuffles": plan.count("Exchange hash"),
        "shuffles of stock": plan_of_stock.count("Exchange hash"),
        "sorts": plan.count("Sort ["),
        "prunes": "dynamicpruning" in plan,
        "rows": len(rows),
    }


def make_tables(spark: SparkSession) -> None:
    """Points and intervals: in buckets, in partitions of Hive, prepared, and as Hive has them."""
    spark.sql("CREATE DATABASE shared")
    spark.sql("USE shared")
    for name, text in (("points", POINTS), ("intervals", INTERVALS)):
        rows = f"{text} FROM range({400 if name == 'points' else 80})"
        spark.sql(
            f"CREATE TABLE {name} USING parquet CLUSTERED BY (k) INTO 4 BUCKETS AS "
            f"SELECT /*+ REPARTITION(4, k) */ * FROM ({rows})"
        )
        spark.sql(f"CREATE TABLE {name}_of_hive STORED AS ORC AS {rows}")
        order = "y" if name == "points" else "low"
        rangejoin.prepare(
            spark.sql(rows), f"shared.{name}_prepared", keys="k", range=order, buckets=4
        )
    spark.sql(
        "CREATE TABLE days (id BIGINT, k BIGINT, y BIGINT) PARTITIONED BY (day BIGINT) "
        "STORED AS PARQUET"
    )
    with set_to(spark, {"hive.exec.dynamic.partition.mode": "nonstrict"}):
        spark.sql("INSERT INTO days SELECT id, k, y, 1 + id % 4 FROM points")


def joins(spark: SparkSession) -> dict[str, Any]:
    """The joins of these tables."""
    found = {
        f"{kind}, {how}": joined(spark, JOIN.format(f"points{kind}", how, f"intervals{kind}"))
        for kind in ("", "_of_hive", "_prepared")
        for how in ("INNER", "LEFT", "FULL", "LEFT ANTI")
    }
    found["partitions"] = joined(spark, ON_DAY.format("days", ""))
    some = ON_DAY.format("days", " WHERE k = 2")
    found["some partitions"] = joined(spark, some, **{THRESHOLD: "10MB"})
    return found


def statistics(spark: SparkSession, table: str) -> str:
    """What the metastore knows of the size of a table."""
    described = spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Statistics'").first()
    return str(described.data_type) if described is not None else ""


def write(spark: SparkSession) -> dict[str, Any]:
    """Makes the tables, and joins them."""
    make_tables(spark)
    return joins(spark)


def alter(spark: SparkSession) -> dict[str, Any]:
    """Joins the tables, and again after each change."""
    spark.sql("USE shared")
    found = joins(spark)

    few = "(SELECT * FROM intervals_of_hive WHERE id < 4)"
    of_hive = JOIN.format("points_of_hive", "LEFT", few)
    # How few they are is known from the limits of a column alone.
    asked = {"spark.sql.cbo.enabled": "true", THRESHOLD: "400B"}
    found["not analyzed"] = joined(spark, of_hive, **asked)
    spark.sql("ANALYZE TABLE intervals_of_hive COMPUTE STATISTICS FOR ALL COLUMNS")
    found["analyzed"] = joined(spark, of_hive, **asked)
    found["statistics"] = statistics(spark, "intervals_of_hive")

    spark.sql("ALTER TABLE days DROP PARTITION (day = 3)")
    found["a partition less"] = joined(spark, ON_DAY.format("days", ""))
    spark.sql("ALTER TABLE days ADD PARTITION (day = 3)")
    spark.sql("INSERT INTO days PARTITION (day = 3) SELECT id, k, y FROM points WHERE id % 4 = 2")
    found["the partition again"] = joined(spark, ON_DAY.format("days", ""))
    spark.sql("ALTER TABLE days PARTITION (day = 4) RENAME TO PARTITION (day = 9)")
    found["a partition of another name"] = joined(spark, ON_DAY.format("days", ""))

    spark.sql("ALTER TABLE points_prepared ADD COLUMNS (note STRING)")
    prepared = JOIN.format("points_prepared", "LEFT", "intervals_prepared")
    found["a column more"] = joined(spark, prepared)
    rows = spark.sql(f"{POINTS}, 'later' AS note FROM range(400, 500)")
    rangejoin.prepare(rows, "points_prepared", keys="k", range="y", buckets=4, mode="append")
    found["appended"] = joined(spark, prepared)
    spark.sql("ALTER TABLE points_prepared RENAME TO renamed")
    spark.sql("ALTER TABLE renamed SET TBLPROPERTIES ('written' = 'by tests')")
    found["renamed"] = joined(spark, prepared.replace("points_prepared", "renamed"))
    return found


def main() -> None:
    """Does what the command line says, and prints the report."""
    database, folder, what = sys.argv[1:]
    spark = session(database, folder)
    rangejoin.check(spark)
    print("REPORT " + json.dumps({"write": write, "alter": alter}[what](spark)))
    spark.stop()


if __name__ == "__main__":
    main()
