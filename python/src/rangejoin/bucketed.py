"""Prepared tables in the buckets of Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rangejoin.columns import quoted
from rangejoin.errors import RangeJoinError
from rangejoin.layout import PreparedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def described(spark: SparkSession, table: str) -> PreparedTable | None:
    """A table as it is; None where there is none.

    Raises:
        RangeJoinError: it has no buckets, or they are not sorted.
    """
    if not spark.catalog.tableExists(table):
        return None
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    # The columns come first, and may have any name.
    names = [row["col_name"] for row in rows]
    details = "# Detailed Table Information"  # which a temporary view has not
    below = rows[names.index(details) :] if details in names else []
    told = {row["col_name"]: row["data_type"] for row in below}
    keys, order = (_names(told.get(of, "")) for of in ("Bucket Columns", "Sort Columns"))
    if not keys or order[: len(keys)] != keys or len(order) == len(keys):
        raise RangeJoinError(
            f"the table {table} is there, and is not bucketed by keys and sorted by them and by a "
            "range: write it anew with mode='overwrite', or under another name"
        )
    provider = told.get("Provider", "parquet").lower()
    return PreparedTable(table, keys, order[len(keys) :], int(told["Num Buckets"]), provider)


def write(df: DataFrame, wanted: PreparedTable, mode: str) -> None:
    """Writes the rows, shuffled by their keys, so that there is one file a bucket."""
    first, *others = wanted.keys
    rows = df.repartition(wanted.buckets, *(quoted(name) for name in wanted.keys))
    writer = rows.write.format(wanted.format).mode(mode).bucketBy(wanted.buckets, first, *others)
    writer.sortBy(first, *others, *wanted.range).saveAsTable(wanted.name)


def _names(quoted: str) -> tuple[str, ...]:
    """The names in a list such as "[`a`, `b`]"."""
    return tuple(name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)+)`", quoted))
