"""Rows with their matches in another table: as-of joins rank them, windows aggregate them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812

from rangejoin.columns import quoted
from rangejoin.distances import Times, check_comparable
from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rangejoin.sides import Side


@dataclass(frozen=True)
class Input:
    """A side with its time and its keys, which are known by their numbers."""

    side: Side
    time: int
    keys: list[int]

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where a column is given twice."""
        self.side.check_distinct([self.time, *self.keys])

    @property
    def time_column(self) -> Column:
        """The time, by its own name."""
        return self.side.column(self.time)

    def moved(self, step: Column, parameter: str, sign: int, others: Times) -> Column:
        """The time, moved by a column of this side.

        Raises:
            RangeJoinError: it cannot be moved so, or not be compared with the `others` any more.
        """
        end = self.time_column + step if sign > 0 else self.time_column - step
        try:
            (field,) = self.side.df.select(end).schema.fields
        except AnalysisException as error:
            raise RangeJoinError(
                f"{parameter} is a column that cannot be added to times of type {others.shown}; "
                f"it has to be of numbers, or for dates and timestamps of intervals: {error}"
            ) from error
        what = f"times with the {parameter} added, and times,"
        check_comparable(field.dataType, others.right, what)
        return end


@dataclass(frozen=True)
class Matches:
    """The left rows, numbered, with the right rows of their keys.

    The left columns are renamed, so that all names are different even where both sides are one
    DataFrame; those of the right side are not, as `tie_break` may have expressions of them.
    """

    left: Input
    right: Input
    known_at: int | None = None
    """The right column that says from when a row is known."""

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where the types do not fit."""
        left, right = self.left, self.right
        pairs = [("times", left.time, right.time)]
        pairs += [("keys", *pair) for pair in zip(left.keys, right.keys, strict=True)]
        pairs += [] if self.known_at is None else [("times", left.time, self.known_at)]
        for what, i, j in pairs:
            names = f"the {what} {left.side.names[i]!r} and {right.side.names[j]!r}"
            check_comparable(left.side.types[i], right.side.types[j], names)

    @property
    def times(self) -> Times:
        """The types of the times."""
        return self._times(self.right.time)

    def _times(self, right: int) -> Times:
        return Times(self.left.side.types[self.left.time], self.right.side.types[right])

    @property
    def left_columns(self) -> list[tuple[str, str]]:
        """The left columns by their names here, and their own names."""
        return list(zip(self._names[:-1], self.left.side.names, strict=True))

    @property
    def row(self) -> str:
        """The number of a left row, no other row's."""
        return self._names[-1]

    @property
    def left_time(self) -> Column:
        """The time of a left row."""
        return self.left_column(self.left.time)

    def left_column(self, number: int) -> Column:
        """A left column, by its number."""
        return F.col(quoted(self._names[number]))

    def fresh(self, names: Iterable[str]) -> list[str]:
        """Such names, changed so that no column has one and no two are equal."""
        return renamed(names, [*self.right.side.names, *self._names])

    @cached_property
    def _names(self) -> list[str]:
        return renamed([*self.left.side.names, "row"], self.right.side.names)

    def compared(self) -> tuple[Column, Column]:
        """The times of both sides, as they are compared."""
        return self.times.compared(self.left_time, self.right.time_column)

    def known(self, is_exact: bool) -> list[Column]:
        """The right row is known at the time of the left row, or before it; NULL is never."""
        if self.known_at is None:
            return []
        right = self.right.side.column(self.known_at)
        at, known = self._times(self.known_at).compared(self.left_time, right)
        return [known <= at if is_exact else known < at]

    def rows(self, conditions: Iterable[Column], added: Mapping[str, Column]) -> DataFrame:
        """Left rows with each of their matches, or with NULLs where they have none.

        Args:
            conditions: of matches, beside equal keys.
            added: columns of the left side, with its own names in them, by their names here.
        """
        keys = [
            self.left_column(i) == self.right.side.column(j)
            for i, j in zip(self.left.keys, self.right.keys, strict=True)
        ]
        number = F.monotonically_increasing_id().alias(self.row)
        rows = self.left.side.df.select("*", *added.values(), number)
        rows = rows.toDF(*self._names[:-1], *added, self.row)
        return rows.join(self.right.side.df, reduce(and_, [*keys, *conditions]), "left")


def renamed(names: Iterable[str], others: Iterable[Any]) -> list[str]:
    """Such names, changed so that no other has one and no two are equal."""
    used = {name.lower() for name in others}
    fresh = []
    for name in names:
        renamed = f"{name}__left"
        while renamed.lower() in used:
            renamed += "_"
        used.add(renamed.lower())
        fresh.append(renamed)
    return fresh
