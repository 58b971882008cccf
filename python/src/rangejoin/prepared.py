"""Tables that range joins read without a shuffle and without a sort: `rangejoin.prepare`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rangejoin.columns import is_case_sensitive, quoted, unordered
from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_BUCKET = 128 << 20
"""What a bucket is meant to have, as Spark estimates the size of the rows."""

MOST_BUCKETS = 1 << 12
"""More are not chosen: each is a file, and a task of every join."""

_NOT_ESTIMATED = ("Join", "LogicalRDD", "Generate", "Expand")
"""Nodes of a logical plan whose size Spark does not know: of a join it takes the product."""

_WITHOUT_BUCKETS = {
    "iceberg": (
        "a table of Iceberg has no buckets of Spark: create it with PARTITIONED BY (bucket(n, "
        "key)), and joins by that key need no shuffle (docs/iceberg.md has the settings)"
    ),
    "delta": (
        "a table of Delta Lake has no buckets, and is shuffled and sorted for each join: prepare a "
        "copy of it in another format, as parquet"
    ),
}
"""What to do instead, in formats without buckets."""

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
        mode: `append`, `overwrite`, `errorifexists` or `ignore`, as Spark has them; `ignore` leaves
            a table that there is as it is, and returns what it is.
        format: `parquet`, `orc`, or another format that Spark can bucket; not `iceberg` or `delta`.

    Returns:
        What the table is; prints as what the next join of it will do.

    Raises:
        RangeJoinError: a column is not one of `df`, or cannot be a key or a range; the number of
            buckets is not a positive number, or nothing says what it should be; a table that is
            there has other buckets, or none; there is no such mode; the format has no buckets.
    """
    key_columns = _columns(df, keys, "key")
    range_columns = _columns(df, range, "range")
    both = set(key_columns) & set(range_columns)
    if both:
        raise RangeJoinError(f"{', '.join(sorted(both))}: a column is a key or has the range")
    if mode not in _MODES:
        raise RangeJoinError(f"mode is {mode!r}, and may be one of {', '.join(_MODES)}")
    if format.lower() in _WITHOUT_BUCKETS:
        raise RangeJoinError(_WITHOUT_BUCKETS[format.lower()])
    known = _described(df.sparkSession, table) if mode in ("append", "ignore") else None
    if known is not None and mode == "ignore":
        return known
    if buckets is not None and (
        isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1
    ):
        raise RangeJoinError(f"buckets is {buckets!r}, and has to be a positive number")
    if known is not None:
        _check_same(known, key_columns, range_columns, buckets)
        buckets = known.buckets
    elif buckets is None:
        buckets = _buckets_for(df)
    first, *others = key_columns
    rows = df.repartition(buckets, *(quoted(name) for name in key_columns))
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
    exact = is_case_sensitive(df.sparkSession)
    found = []
    for name in wanted:
        if not isinstance(name, str):
            raise RangeJoinError(
                f"a {role} column is given by its name, and not as {name!r}: add what is computed "
                "as a column, df.withColumn(name, ...), and join by that column"
            )
        column = name if exact else by_lower.get(name.lower(), name)
        if column not in fields:
            remedy = (
                f"add it as a column, df.withColumn(name, F.col({name!r})), and join by that"
                if "." in name or "(" in name
                else f"it has {', '.join(fields)}"
            )
            raise RangeJoinError(f"{name!r} is not a column of the DataFrame: {remedy}")
        without_order = unordered(fields[column].dataType)
        if without_order is not None:
            raise RangeJoinError(
                f"the {role} column {name!r} is of type {without_order}, which has no order"
            )
        found.append(column)
    if len(set(found)) < len(found):
        raise RangeJoinError(f"{', '.join(found)}: a {role} column is named twice")
    return tuple(found)


def _described(spark: SparkSession, table: str) -> PreparedTable | None:
    """A table as it is; None where there is none.

    Raises:
        RangeJoinError: it has no buckets, or they are not sorted.
    """
    if not spark.catalog.tableExists(table):
        return None
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    # The columns come first, and may have any name.
    names = [row["col_name"] for row in rows]
    below = rows[names.index("# Detailed Table Information") :]
    told = {row["col_name"]: row["data_type"] for row in below}
    keys, order = (_names(told.get(of, "")) for of in ("Bucket Columns", "Sort Columns"))
    if not keys or order[: len(keys)] != keys or len(order) == len(keys):
        raise RangeJoinError(
            f"the table {table} is there, and is not bucketed by keys and sorted by them and by a "
            "range: write it anew with mode='overwrite', or under another name"
        )
    return PreparedTable(table, keys, order[len(keys) :], int(told["Num Buckets"]))


def _names(quoted: str) -> tuple[str, ...]:
    """The names in a list such as "[`a`, `b`]"."""
    return tuple(name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)+)`", quoted))


def _check_same(
    known: PreparedTable, keys: tuple[str, ...], order: tuple[str, ...], buckets: int | None
) -> None:
    """Returns if rows can be appended to a table."""
    if buckets not in (None, known.buckets):
        raise RangeJoinError(
            f"the table {known.name} has {known.buckets} buckets, and not {buckets}: leave out "
            "`buckets`, or write it anew with mode='overwrite'"
        )
    if [name.lower() for name in keys + order] != [
        name.lower() for name in known.keys + known.range
    ]:
        raise RangeJoinError(
            f"the table {known.name} is bucketed by {', '.join(known.keys)} and sorted within them "
            f"by {', '.join(known.range)}: append by these, or write it anew with mode='overwrite'"
        )


def _buckets_for(df: DataFrame) -> int:
    """A power of two: of two tables' numbers one then divides the other."""
    jdf: Any = vars(df).get("_jdf")
    if jdf is None:
        raise RangeJoinError(
            "a Spark Connect client does not know how large the rows are: say how many `buckets` "
            "the table is to have, one for each 128 MiB or so"
        )
    plan = jdf.queryExecution().optimizedPlan()
    unknown = sorted({name for name in _nodes(plan) if name in _NOT_ESTIMATED})
    if unknown:
        raise RangeJoinError(
            f"Spark does not know how large the rows are (the plan has {', '.join(unknown)}): say "
            "how many `buckets` the table is to have, one for each 128 MiB or so"
        )
    size = int(str(plan.stats().sizeInBytes()))
    cores: int = df.sparkSession.sparkContext.defaultParallelism
    wanted = max(cores, math.ceil(size / BYTES_PER_BUCKET))
    return min(MOST_BUCKETS, 1 << (wanted - 1).bit_length())


def _nodes(plan: Any) -> Iterator[str]:
    """The names of the nodes of a logical plan."""
    yield str(plan.nodeName())
    children = plan.children()
    for index in range(children.size()):
        yield from _nodes(children.apply(index))
