"""A range join of prepared tables of Iceberg: `python bench/iceberg.py --jar JAR [--rows N]`.

The tables and queries of `beside.py`. Contestants take turns: tables of Iceberg that
`rangejoin.prepare` wrote, plain tables of Iceberg, prepared tables of Parquet, and stock Spark over
the prepared tables of Iceberg. Medians, and what they are of the first.

Needs the package `rangejoin` (see README.md) of the line of Spark, and Iceberg's jar for it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import beside
from pyspark.sql import SparkSession

import rangejoin

BUCKETS = 8

#: By contestant: the names of its tables begin with this, and whether range joins are on.
CONTESTANTS = {
    "prepared": ("ice.db.prepared", True),
    "plain": ("ice.db.plain", True),
    "Parquet, prepared": ("spark_catalog.default.prepared", True),
    "stock": ("ice.db.prepared", False),
}


def session(jar: str, folder: str) -> SparkSession:
    """A session with both extensions, in which nothing is broadcast, as docs/iceberg.md has it."""
    return beside.session(
        {
            "spark.jars": jar,
            "spark.sql.extensions": (
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ),
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": f"{folder}/ice",
            "spark.sql.sources.v2.bucketing.enabled": "true",
            "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
            "spark.sql.iceberg.planning.preserve-data-grouping": "true",
        }
    )


def write_tables(spark: SparkSession) -> None:
    """The tables of all contestants, from the views `l` and `r`."""
    spark.sql("CREATE NAMESPACE ice.db")
    for name in "lr":
        df = spark.table(name)
        df.writeTo(f"ice.db.plain_{name}").using("iceberg").create()
        for table, kind in (("ice.db", "iceberg"), ("spark_catalog.default", "parquet")):
            rangejoin.prepare(
                df, f"{table}.prepared_{name}", keys="k", range="t", buckets=BUCKETS, format=kind
            )


def seconds(spark: SparkSession, query: str, contestant: str) -> float:
    """One run of a query."""
    tables, flag = CONTESTANTS[contestant]
    if not spark.catalog.tableExists("ice.db.plain_l"):
        write_tables(spark)
    for name in "lr":
        spark.table(f"{tables}_{name}").createOrReplaceTempView(name)
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())

    def check(plan: str) -> None:
        assert ("RangeJoin" in plan) == flag, plan
        assert ("hashpartitioning(k#" in plan) == ("plain" in tables), plan

    return beside.seconds(spark, query, check)


def main() -> None:
    """Runs the contestants."""
    parser = beside.parser(__doc__)
    parser.add_argument("--jar", required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(str(Path(given.jar).resolve()), folder)
        beside.compare(spark, given, CONTESTANTS, lambda query, c: seconds(spark, query, c))


if __name__ == "__main__":
    main()
