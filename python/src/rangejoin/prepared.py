"""Tables that range joins read without a shuffle and without a sort: `rangejoin.prepare`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rangejoin import bucketed, iceberg
from rangejoin.columns import find, is_case_sensitive
from rangejoin.errors import RangeJoinError
from rangejoin.layout import PreparedTable, check_same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BYTES_PER_BUCKET = 128 << 20
"""What a bucket is meant to have, as Spark estimates the size of the rows."""

MOST_BUCKETS = 1 << 12
"""More are not chosen: each is a file, and a task of every join."""

_NOT_ESTIMATED = ("Join", "LogicalRDD", "Generate", "Expand")
"""Nodes of a logical plan whose size Spark does not know: of a join it takes the product."""

_MODES = ("append", "overwrite", "error", "errorifexists", "ignore")


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

    A table of Iceberg is partitioned by buckets of its first key, and has its order set, so that
    rows written later by anyone are in order. Joins read it without a shuffle, and sort its rows.

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
        format: `parquet`, `orc`, or another format that Spark can bucket; or `iceberg`, with the
            table in a catalog of Iceberg.

    Returns:
        What the table is; prints as what the next join of it will do.

    Raises:
        RangeJoinError: a column is not one of `df`, or cannot be a key or a range; the number of
            buckets is not a positive number, or nothing says what it should be; a table that is
            there has other buckets, or none; there is no such mode; the format has no buckets, as
            `delta`; the session or the catalog has no Iceberg, or Iceberg no buckets of the type.
    """
    key_columns = _columns(df, keys, "keys")
    range_columns = _columns(df, range, "range")
    both = set(key_columns) & set(range_columns)
    if both:
        raise RangeJoinError(
            f"{', '.join(sorted(both))}: a column can be a key or a range column, not both"
        )
    if mode not in _MODES:
        raise RangeJoinError(f"mode is {mode!r}, and may be one of {', '.join(_MODES)}")
    if format.lower() == "delta":
        raise RangeJoinError(
            "a table of Delta Lake has no buckets, and is shuffled and sorted for each join: "
            "prepare a copy of it in another format, as parquet or iceberg"
        )
    spark = df.sparkSession
    known = None
    if format.lower() == "iceberg":
        format = "iceberg"
        iceberg.check(spark, table)
        if mode in ("append", "ignore", "overwrite"):
            known = iceberg.described(spark, table, len(key_columns))
    elif mode in ("append", "ignore"):
        known = bucketed.described(spark, table)
    if known is not None and mode == "ignore":
        return known
    if buckets is not None and (
        isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1
    ):
        raise RangeJoinError(f"buckets is {buckets!r}, and has to be a positive number")
    if buckets is None:
        buckets = _buckets_for(df) if known is None else known.buckets
    wanted = PreparedTable(table, key_columns, range_columns, buckets, format)
    if known is not None:
        check_same(known, wanted)
    if format == "iceberg":
        iceberg.write(df, wanted, mode, exists=known is not None)
    else:
        bucketed.write(df, wanted, mode)
    return wanted


def _columns(df: DataFrame, names: str | Sequence[str], parameter: str) -> tuple[str, ...]:
    """The columns of a table to be, each by its own name."""
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if not wanted:
        raise RangeJoinError(f"{parameter} takes at least one column")
    fields = df.schema.fields
    exact = is_case_sensitive(df.sparkSession)
    found = [fields[find(fields, name, exact, parameter, "the DataFrame")].name for name in wanted]
    if len(set(found)) < len(found):
        raise RangeJoinError(f"{parameter}: {', '.join(found)}: a column is named twice")
    return tuple(found)


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
