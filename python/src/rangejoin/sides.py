"""The sides of an as-of join, the tables of features, and their columns as they are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from rangejoin.columns import find, is_case_sensitive, quoted
from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    Names: TypeAlias = str | Sequence[str] | None
    Order: TypeAlias = str | Column | Sequence[str | Column] | None

_CHOICES = {
    "strategy": ("backward", "forward", "nearest"),
    "how": ("left", "inner"),
    "ties": ("any", "all"),
}


@dataclass(frozen=True)
class Side:
    """A DataFrame and its columns, which are known by their numbers."""

    df: DataFrame
    role: str
    names: list[str]
    types: list[DataType]
    is_case_sensitive: bool

    @staticmethod
    def of(df: DataFrame, role: str) -> Side:
        """A side: `left` or `right`, or what an error is to call it.

        Raises:
            RangeJoinError: it is no DataFrame of Spark, or a stream.
        """
        given: Any = df
        if not all(hasattr(given, of) for of in ("sparkSession", "toDF", "schema")):
            remedy = ".to_spark()" if hasattr(given, "to_spark") else "spark.createDataFrame"
            raise RangeJoinError(
                f"{role} is a {type(df).__name__}, not a DataFrame of Spark: make it one, {remedy}"
            )
        if df.isStreaming:
            raise RangeJoinError(
                f"{role} is a stream, and as-of joins are of tables: join in `foreachBatch`"
            )
        fields = df.schema.fields
        return Side(
            df,
            role,
            [field.name for field in fields],
            [field.dataType for field in fields],
            is_case_sensitive(df.sparkSession),
        )

    @property
    def described(self) -> str:
        """What it is called in an error."""
        return f"the {self.role} side" if self.role in ("left", "right") else self.role

    def folded(self, name: str) -> str:
        """The name, so that those are equal that Spark takes for equal."""
        return name if self.is_case_sensitive else name.lower()

    def column(self, number: int) -> Column:
        """A column, by its number."""
        return F.col(quoted(self.names[number]))

    def find(self, name: Any, parameter: str, is_ordered: bool = True) -> int:
        """The number of a column that is given by its name.

        Raises:
            RangeJoinError: there is none, or more than one, or it has no order and `is_ordered`.
        """
        fields, exact = self.df.schema.fields, self.is_case_sensitive
        return find(fields, name, exact, parameter, self.described, is_ordered)

    def check_distinct(self, columns: Sequence[int]) -> None:
        """Raises `RangeJoinError` where a column is among these twice."""
        for i in columns:
            if columns.count(i) > 1:
                raise RangeJoinError(
                    f"{self.names[i]!r} of {self.described} is given twice: a column is the "
                    "time, or one of the keys"
                )


def is_column(given: Any) -> bool:
    """Whether it is a column or an order, of a classic session or of Spark Connect."""
    # In Spark 3.5 the two have no class in common.
    return hasattr(given, "cast") and hasattr(given, "alias")


def check_choices(
    strategy: Any, how: Any, ties: Any, k: Any, allow_exact_matches: Any, suffix: Any
) -> None:
    """Returns if these have values that they can have.

    Raises:
        RangeJoinError: one has not.
    """
    for name, value in (("strategy", strategy), ("how", how), ("ties", ties)):
        if value not in _CHOICES[name]:
            raise RangeJoinError(
                f"{name} is {value!r}, and may be one of {', '.join(_CHOICES[name])}"
            )
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise RangeJoinError(f"k is {k!r}, and has to be a positive number")
    if not isinstance(allow_exact_matches, bool):
        raise RangeJoinError(f"allow_exact_matches is {allow_exact_matches!r}, and not a bool")
    if not isinstance(suffix, str):
        raise RangeJoinError(f"suffix is {suffix!r}, and has to be a string")


def times_of(
    left: Side, right: Side, on: str | None, left_on: str | None, right_on: str | None
) -> tuple[int, int]:
    """The times of both sides.

    Raises:
        RangeJoinError: one is not there, or both are given in two ways.
    """
    if on is not None:
        if left_on is not None or right_on is not None:
            raise RangeJoinError("the time is given by `on`, or by `left_on` and `right_on`")
        return left.find(on, "on"), right.find(on, "on")
    if left_on is None or right_on is None:
        raise RangeJoinError(
            "the time is missing: give its column as `on`, or as `left_on` and `right_on`"
        )
    return left.find(left_on, "left_on"), right.find(right_on, "right_on")


def keys_of(
    left: Side, right: Side, by: Names, left_by: Names, right_by: Names
) -> tuple[list[int], list[int]]:
    """The keys of both sides; none where none are given.

    Raises:
        RangeJoinError: one is not there, or they are given in two ways, or one side has more.
    """
    if by is not None:
        if left_by is not None or right_by is not None:
            raise RangeJoinError("keys are given by `by`, or by `left_by` and `right_by`")
        of_left, of_right = ([side.find(of, "by") for of in listed(by)] for side in (left, right))
        return of_left, of_right
    if (left_by is None) != (right_by is None):
        raise RangeJoinError("`left_by` and `right_by` are given together, or `by` for both")
    l_names, r_names = listed(left_by), listed(right_by)
    if len(l_names) != len(r_names):
        raise RangeJoinError(
            f"left_by has {len(l_names)} columns and right_by {len(r_names)}: give as many of each"
        )
    return (
        [left.find(of, "left_by") for of in l_names],
        [right.find(of, "right_by") for of in r_names],
    )


def listed(given: Any) -> list[Any]:
    """One or several as a list; none for None."""
    if given is None:
        return []
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def tie_break_of(right: Side, given: Any) -> list[Column]:
    """The orders of a `tie_break`."""
    orders = [given] if is_column(given) else listed(given)
    return [of if is_column(of) else right.column(right.find(of, "tie_break")) for of in orders]


def shown_of(left: Side, right: Side, merged: Sequence[int], suffix: str) -> dict[int, str]:
    """The right columns of the result, with their names.

    Raises:
        RangeJoinError: the result would have a name twice.
    """
    taken = {left.folded(name) for name in left.names}
    shown = {
        i: name + suffix if left.folded(name) in taken else name
        for i, name in enumerate(right.names)
        if i not in merged
    }
    names = [*left.names, *shown.values()]
    count = Counter(left.folded(name) for name in names)
    twice = [name for name in names if count[left.folded(name)] > 1]
    if twice:
        raise RangeJoinError(
            f"the result would have several columns {twice[0]!r}: rename them, or take another "
            f"suffix than {suffix!r}"
        )
    return shown
