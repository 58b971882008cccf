"""Tables that range joins read without a shuffle and without a sort: `rangejoin.prepare`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_BUCKET = 128 << 20
"""What a bucket is meant to have, as Spark estimates the size of the rows."""

MOST_BUCKETS = 1 << 14
"""More are not chosen: each is a file, and a task of every join."""

_MODES = ("append", "overwrite", "error", "errorifexists", "ignore")


@dataclass(frozen=True)
class PreparedTable:
    """A table whose rows are bucketed by keys, and sorted by keys and range column."""

    name: str
    """The table."""
    keys: tuple[str, ...]
    """The columns it is bucketed by."""
    range: tuple[str, ...]
    """The columns it is sorted by within a key."""
    buckets: int
    """The number of buckets, each a file for every time the table was written to."""

    def __str__(self) -> str:
        """What the table is, and what a join of it will do."""
        keys, order = ", ".join(self.keys), ", ".join(self.keys + self.range)
        return (
            f"{self.name}: {self.buckets} buckets by {keys}, sorted by {order}. A range join by "
            f"{keys} with a range on {self.range[0]} reads it without a shuffle and without a sort "
            f"where the other side has {self.buckets} buckets by its keys, too."
        )


def prepare(
    df: DataFrame,
    table: str,
    *,
    keys: str | Sequence[str],
    range: str | Sequence[str],
    buckets: int | None = None,
    mode: str = "errorifexists",
    format: str = "parquet",
) -> PreparedTable:
    """Writes `df` as a table that range joins read without a shuffle and without a sort.

    The rows are shuffled once, by their keys, so that there is one file a bucket. A table that is
    appended to has a file more in each bucket, which joins merge as they read them.

    Args:
        df: a DataFrame of a classic or a Spark Connect session.
        table: the name of the table, as `DataFrameWriter.saveAsTable` takes it.
        keys: the columns that joins compare for equality.
        range: the column, or columns, that joins have a range on; of intervals the start first.
        buckets: the number of buckets, the same for tables that are joined with each other. By
            default that of the table where rows are appended; else a power of two by Spark's
            estimate of the size of `df`, 128 MiB a bucket, and at least its default parallelism.
        mode: `append`, `overwrite`, `errorifexists` or `ignore`, as Spark has them.
        format: `parquet`, `orc`, or another format that Spark can bucket.

    Returns:
        What the table is; prints as what the next join of it will do.

    Raises:
        RangeJoinError: a column is not one of `df`, or cannot be a key or a range; the number of
            buckets is not a positive number, or is not that of the table, or nothing says what it
            should be; there is no such mode.
    """
    key_columns = _columns(df, keys, "key")
    range_columns = _columns(df, range, "range")
    both = set(key_columns) & set(range_columns)
    if both:
        raise RangeJoinError(f"{', '.join(sorted(both))}: a column is a key or has the range")
    if mode not in _MODES:
        raise RangeJoinError(f"mode is {mode!r}, and may be one of {', '.join(_MODES)}")
    spark = df.sparkSession
    known = _buckets_of(spark, table) if mode in ("append", "ignore") else None
    if buckets is None:
        buckets = known or _buckets_for(df)
    elif isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1:
        raise RangeJoinError(f"buckets is {buckets!r}, and has to be a positive number")
    elif known is not None and known != buckets and mode == "append":
        raise RangeJoinError(
            f"the table {table} has {known} buckets, and not {buckets}: leave out `buckets`, or "
            "write it anew with mode='overwrite'"
        )
    first, *others = key_columns
    rows = df.repartition(buckets, *(_quoted(name) for name in key_columns))
    writer = rows.write.format(format).mode(mode).bucketBy(buckets, first, *others)
    writer.sortBy(first, *others, *range_columns).saveAsTable(table)
    return PreparedTable(table, key_columns, range_columns, buckets)


def _columns(df: DataFrame, names: str | Sequence[str], role: str) -> tuple[str, ...]:
    """The columns of a table to be, each by its own name."""
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if not wanted:
        raise RangeJoinError(f"a prepared table has at least one {role} column")
    fields = {field.name: field for field in df.schema.fields}
    by_lower = {name.lower(): name for name in fields}
    is_case_sensitive = df.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    found = []
    for name in wanted:
        if not isinstance(name, str):
            raise RangeJoinError(
                f"a {role} column is given by its name, and not as {name!r}: add what is computed "
                "as a column, df.withColumn(name, ...), and join by that column"
            )
        column = name if is_case_sensitive else by_lower.get(name.lower(), name)
        if column not in fields:
            remedy = (
                f"add it as a column, df.withColumn(name, F.col({name!r})), and join by that"
                if "." in name or "(" in name
                else f"it has {', '.join(fields)}"
            )
            raise RangeJoinError(f"{name!r} is not a column of the DataFrame: {remedy}")
        kind = fields[column].dataType.typeName()
        if kind in ("map", "variant"):
            raise RangeJoinError(
                f"the {role} column {name!r} is of type {kind}, which has no order"
            )
        found.append(column)
    if len(set(found)) < len(found):
        raise RangeJoinError(f"{', '.join(found)}: a {role} column is named twice")
    return tuple(found)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _buckets_of(spark: SparkSession, table: str) -> int | None:
    """The number of buckets of a table; None where there is none."""
    if not spark.catalog.tableExists(table):
        return None
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    found = [row["data_type"] for row in rows if row["col_name"] == "Num Buckets"]
    return int(found[0]) if found else None


def _buckets_for(df: DataFrame) -> int:
    """A power of two: of two tables' numbers one then divides the other."""
    jdf: Any = vars(df).get("_jdf")
    if jdf is None:
        raise RangeJoinError(
            "a Spark Connect client does not know how large the rows are: say how many `buckets` "
            "the table is to have, one for each 128 MiB or so"
        )
    size = int(str(jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    cores: int = df.sparkSession.sparkContext.defaultParallelism
    wanted = max(cores, math.ceil(size / BYTES_PER_BUCKET))
    return min(MOST_BUCKETS, 1 << (wanted - 1).bit_length())
