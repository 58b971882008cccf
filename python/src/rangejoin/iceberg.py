"""Prepared tables of Iceberg: partitioned by buckets of the first key, and written in order."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rangejoin.columns import quoted
from rangejoin.errors import RangeJoinError
from rangejoin.layout import PreparedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_NESTED = ("array", "struct")
"""Types with an order in Spark, by which Iceberg does not sort."""

_WITHOUT_BUCKETS = ("boolean", "float", "double", *_NESTED)
"""Types that Iceberg has no buckets of."""

_SESSION_CATALOG = "spark_catalog"

_ASCENDING = " ASC NULLS FIRST"


def check(spark: SparkSession, table: str) -> None:
    """Returns if the session can write an ordered table of Iceberg of this name.

    Raises:
        RangeJoinError: it lacks Iceberg's extension, or the catalog is not one of Iceberg.
    """
    if EXTENSION not in str(spark.conf.get("spark.sql.extensions", "")):
        raise RangeJoinError(
            "the session lacks Iceberg's extension, which is needed to set a table's order: add "
            f"{EXTENSION} to spark.sql.extensions"
        )
    catalog = _catalog(spark, table)
    if spark.conf.get(f"spark.sql.catalog.{catalog}", None) is None:
        raise RangeJoinError(
            f"the catalog {catalog} is Spark's own and holds no Iceberg tables: write to a catalog "
            "that is set up for Iceberg, such as my_catalog.my_namespace.my_table with "
            "spark.sql.catalog.my_catalog=org.apache.iceberg.spark.SparkCatalog"
        )


def described(spark: SparkSession, table: str, keys: int) -> PreparedTable | None:
    """A table as it is, with its first columns as keys; None where there is none.

    Raises:
        RangeJoinError: it has no buckets of its first sort column, or is not ordered.
    """
    if not spark.catalog.tableExists(table):
        return None
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    names = [row["col_name"] for row in rows]
    parts = []
    if "# Partitioning" in names:
        for row in rows[names.index("# Partitioning") + 1 :]:
            if not row["col_name"].startswith("Part "):
                break
            parts.append(row["data_type"])
    bucket = re.fullmatch(r"bucket\((\d+), (.+)\)", parts[0]) if len(parts) == 1 else None
    properties = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    ordered = {row["key"]: row["value"] for row in properties}.get("sort-order", "")
    order = tuple(ordered.removesuffix(_ASCENDING).split(f"{_ASCENDING}, "))
    if (
        bucket is None
        or bucket[2] not in (order[0], quoted(order[0]))
        or not ordered.endswith(_ASCENDING)
        or len(order) < 2
    ):
        raise RangeJoinError(
            f"the table {table} is there, and is not partitioned by bucket(n, key) and ordered by "
            "keys and a range: drop it first, or write under another name"
        )
    keys = min(keys, len(order) - 1)
    return PreparedTable(table, order[:keys], order[keys:], int(bucket[1]), "iceberg")


def write(df: DataFrame, wanted: PreparedTable, mode: str, exists: bool) -> None:
    """Writes the rows; those of a table that `exists` are replaced, or added to, in one commit.

    Raises:
        RangeJoinError: Iceberg cannot bucket or sort by the columns.
    """
    _check_types(df, wanted)
    if not exists:
        _create(df, wanted)
    elif mode == "append":
        df.writeTo(wanted.name).append()
    else:
        df.writeTo(wanted.name).overwrite(F.lit(True))


def _check_types(df: DataFrame, wanted: PreparedTable) -> None:
    """Returns if Iceberg can bucket and sort by the columns.

    Raises:
        RangeJoinError: it cannot.
    """
    types: dict[str, DataType] = {field.name: field.dataType for field in df.schema.fields}
    key = wanted.keys[0]
    if types[key].typeName() in _WITHOUT_BUCKETS:
        raise RangeJoinError(
            f"Iceberg has no buckets of the key {key!r}, which is of type "
            f"{types[key].simpleString()}: name another key first, or add a column of another type"
        )
    for name in wanted.order:
        if types[name].typeName() in _NESTED:
            raise RangeJoinError(
                f"Iceberg does not sort by {name!r}, which is of type {types[name].simpleString()}:"
                " add the parts that have the order as columns, and name these"
            )


def _create(df: DataFrame, wanted: PreparedTable) -> None:
    """Makes a table, which has its order before it has rows, so that files are marked with it."""
    spark = df.sparkSession
    # `DataFrameWriterV2` takes no name that needs quotes.
    columns = f"rangejoin_{uuid.uuid4().hex}"
    df.limit(0).createTempView(columns)
    try:
        spark.sql(
            f"CREATE TABLE {wanted.name} USING iceberg "
            f"PARTITIONED BY (bucket({wanted.buckets}, {quoted(wanted.keys[0])})) "
            f"AS SELECT * FROM {columns}"
        )
    finally:
        spark.catalog.dropTempView(columns)
    order = ", ".join(map(quoted, wanted.order))
    try:
        spark.sql(
            f"ALTER TABLE {wanted.name} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY {order}"
        )
        df.writeTo(wanted.name).append()
    except BaseException:
        spark.sql(f"DROP TABLE IF EXISTS {wanted.name}")
        raise


def _catalog(spark: SparkSession, table: str) -> str:
    """The catalog that a table is in: its first part if that is one, or else the current one."""
    first = re.match(r"`((?:[^`]|``)+)`\.|([^.`]+)\.", table)
    if first is not None:
        name = first[2] or first[1].replace("``", "`")
        if (
            spark.conf.get(f"spark.sql.catalog.{name}", None) is not None
            or name == _SESSION_CATALOG
        ):
            return name
    return spark.catalog.currentCatalog()
