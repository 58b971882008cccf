"""Columns of a DataFrame that are given by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructField


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether names that differ in case alone are different names."""
    return spark.conf.get("spark.sql.caseSensitive", "false") == "true"


def find(
    fields: Sequence[StructField],
    name: Any,
    exact: bool,
    parameter: str,
    of: str,
    is_ordered: bool = True,
) -> int:
    """The number of a column that is given by its name.

    Args:
        fields: the columns there are.
        name: what is given.
        exact: whether names that differ in case alone are different names.
        parameter: what it is given for, in errors.
        of: what has the columns, in errors.
        is_ordered: whether it has to have an order.

    Raises:
        RangeJoinError: there is none, or more than one, or it has no order but has to have one.
    """
    if not isinstance(name, str):
        raise RangeJoinError(
            f"{parameter} takes names of columns, and not {name!r}: add what is computed as a "
            "column, df.withColumn(name, ...), and join by that column"
        )
    found = [
        number
        for number, field in enumerate(fields)
        if (field.name == name if exact else field.name.lower() == name.lower())
    ]
    if not found:
        remedy = (
            f"; add it as a column, df.withColumn(name, F.col({name!r})), and join by that"
            if "." in name or "(" in name
            else f", which has {', '.join(field.name for field in fields)}"
        )
        raise RangeJoinError(f"{parameter}={name!r} is not a column of {of}{remedy}")
    if len(found) > 1:
        raise RangeJoinError(
            f"{parameter}={name!r} is the name of {len(found)} columns of {of}: rename all but one"
        )
    without_order = unordered(fields[found[0]].dataType) if is_ordered else None
    if without_order is not None:
        raise RangeJoinError(f"{parameter}={name!r} is of type {without_order}, which has no order")
    return found[0]


def quoted(name: str) -> str:
    """The name as SQL and `F.col` take it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def unordered(kind: DataType) -> str | None:
    """The name of a type without an order, if the type is one or has one inside."""
    if kind.typeName() in ("map", "variant", "interval"):
        return kind.typeName()
    inner = [field.dataType for field in getattr(kind, "fields", [])]
    if kind.typeName() == "array":
        inner.append(vars(kind)["elementType"])
    return next(filter(None, map(unordered, inner)), None)
