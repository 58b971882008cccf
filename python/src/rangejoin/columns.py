"""Columns of a DataFrame that are given by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether names that differ in case alone are different names."""
    return spark.conf.get("spark.sql.caseSensitive", "false") == "true"


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
