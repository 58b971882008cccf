"""As-of joins: to each row the nearest one in time of another table, or the nearest few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from rangejoin.columns import quoted
from rangejoin.distances import MEASURED, Times, Tolerance, check_comparable
from rangejoin.errors import RangeJoinError
from rangejoin.sides import (
    Side,
    check_choices,
    is_column,
    keys_of,
    shown_of,
    tie_break_of,
    times_of,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rangejoin.sides import Names, Order


def join_asof(
    left: DataFrame,
    right: DataFrame,
    *,
    on: str | None = None,
    left_on: str | None = None,
    right_on: str | None = None,
    by: Names = None,
    left_by: Names = None,
    right_by: Names = None,
    strategy: str = "backward",
    tolerance: int | float | Decimal | timedelta | Column | None = None,
    allow_exact_matches: bool = True,
    how: str = "left",
    suffix: str = "_right",
    k: int = 1,
    ties: str = "any",
    tie_break: Order = None,
) -> DataFrame:
    """Joins each row of `left` with the row of `right` that is nearest in time, key by key.

    Rows need not be sorted. With the extension, only rows that are kept are made; without it the
    result is the same, and Spark makes all pairs of a key first. Classic and Spark Connect
    sessions.

    | strategy | rows of `right` that may match | the best of them |
    |---|---|---|
    | `backward` | not later than the left row | the latest |
    | `forward` | not earlier | the earliest |
    | `nearest` | all | the least distance |

    A time or a key that is NULL matches nothing. Times are of any type that has an order; `nearest`
    and `tolerance` take numbers, DATE, TIMESTAMP and TIMESTAMP_NTZ. Distances are exact, those of
    timestamps in elapsed time, whatever the time zone. NaN is a number greater than all others, as
    elsewhere in Spark, and its distance from anything is NaN.

    Rows of `right` that tie (equal times; for `nearest` equal distances):

    | | `ties="any"` | `ties="all"` |
    |---|---|---|
    | no `tie_break` | up to `k`, of equal distances the earlier ones, of equal times any | all |
    | with `tie_break` | up to `k`, in this order | all that it does not part |

    The columns of the result are those of `left`, and then those of `right`. A column given as `on`
    or `by` is there once, with the values of `left`; those of `left_on`, `right_on`, `left_by` and
    `right_by` stay on both sides, so that `left_on="at", right_on="at"` shows the time that matched
    as `at_right`. A name that `left` has as well gets the suffix.

    Args:
        left: each of its rows is kept, with `how="left"`, and has matches of its own.
        right: what is looked up.
        on: the time, where it has one name on both sides.
        left_on: the time of `left`; together with `right_on`.
        right_on: the time of `right`.
        by: columns that have to be equal, where they have the same names on both sides.
        left_by: those of `left`; together with `right_by`, as many.
        right_by: those of `right`.
        strategy: `backward`, `forward` or `nearest`.
        tolerance: how far a match may be at most, inclusive: a number in the unit of the times, or
            for dates and timestamps a `timedelta`. Or an expression of columns of `left`, a number
            or an interval, which is added and subtracted as Spark does it (an interval of days is
            one of local days); where that is NULL or negative, nothing matches.
        allow_exact_matches: whether equal times match. `False` leaves `tolerance` inclusive.
        how: `left`, or `inner` for rows with a match alone.
        suffix: what is added to a name that `left` has as well.
        k: how many matches a row may have; each is a row of the result.
        ties: `any` or `all`: whether rows that tie with the k-th are kept beyond `k`, as by
            `rank()`.
        tie_break: columns of `right`, or orders such as `F.desc("seq")`, by which rows of one time
            are ranked; for `nearest` those of one distance, and then the earlier before the later.
            By name, where both sides are one DataFrame.

    Returns:
        A DataFrame; nothing has run.

    Raises:
        RangeJoinError: a column is not there, or is given twice; types cannot be compared, or have
            no distance; columns of the result would have one name; an argument has a value that it
            cannot have; a side is a stream.
    """
    check_choices(strategy, how, ties, k, allow_exact_matches, suffix)
    sides = Side.of(left, "left"), Side.of(right, "right")
    times = times_of(*sides, on, left_on, right_on)
    keys = keys_of(*sides, by, left_by, right_by)
    of_left, of_right = map(_Input, sides, times, keys)
    pairs = _Pairs(of_left, of_right, strategy, allow_exact_matches, tolerance)
    merged = ([of_right.time] if on is not None else []) + (of_right.keys if by is not None else [])
    shown = shown_of(*sides, merged, suffix)
    order = pairs.order(tie_break_of(of_right.side, tie_break), is_total=ties == "any")
    rank = F.row_number() if ties == "any" else F.rank()
    ranked = pairs.rows().withColumn(
        pairs.rank, rank.over(Window.partitionBy(*pairs.partition()).orderBy(*order))
    )
    best = ranked.where(F.col(quoted(pairs.rank)) <= k)
    if how == "inner":
        # Not by an inner join, whose left side Spark might broadcast: it has to be streamed.
        best = best.where(of_right.time_column.isNotNull())
    return best.select(
        *(F.col(quoted(at)).alias(name) for at, name in pairs.left_columns),
        *(of_right.side.column(i).alias(name) for i, name in shown.items()),
    )


@dataclass(frozen=True)
class _Input:
    """A side with its time and its keys, which are known by their numbers."""

    side: Side
    time: int
    keys: list[int]

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where a column is given twice."""
        self.side.check_distinct([self.time, *self.keys])

    @property
    def time_column(self) -> Column:
        return self.side.column(self.time)


@dataclass(frozen=True)
class _Pairs:
    """All matches of the left rows, and how they are ranked.

    The left columns are renamed, so that all names are different even where both sides are one
    DataFrame; those of the right side are not, as `tie_break` may have expressions of them.
    """

    left: _Input
    right: _Input
    strategy: str
    exact: bool
    tolerance: Any

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where the types do not fit."""
        left, right = self.left, self.right
        pairs = [("times", left.time, right.time)]
        pairs += [("keys", *pair) for pair in zip(left.keys, right.keys, strict=True)]
        for what, i, j in pairs:
            names = f"the {what} {left.side.names[i]!r} and {right.side.names[j]!r}"
            check_comparable(left.side.types[i], right.side.types[j], names)
        if self.strategy == "nearest" and not self.times.has_distance:
            raise RangeJoinError(
                f"strategy='nearest' needs a distance of times, and {self.times.shown} has none "
                f"({MEASURED}): take 'backward' or 'forward', or cast the times"
            )

    @property
    def times(self) -> Times:
        return Times(*(of.side.types[of.time] for of in (self.left, self.right)))

    @property
    def left_columns(self) -> list[tuple[str, str]]:
        """The left columns by their names here, and their own names."""
        names = self.left.side.names
        return list(zip(self._fresh[: len(names)], names, strict=True))

    @property
    def rank(self) -> str:
        return self._fresh[-1]

    @property
    def _row(self) -> str:
        """The number of a left row."""
        return self._fresh[-2]

    @property
    def _ends(self) -> tuple[str, str]:
        """The ends of what is near, where the tolerance is a column."""
        return self._fresh[-4], self._fresh[-3]

    @cached_property
    def _fresh(self) -> list[str]:
        """Names that the right side has not, each only once."""
        used = {name.lower() for name in self.right.side.names}
        fresh = []
        for name in (*self.left.side.names, "from", "to", "row", "rank"):
            renamed = f"{name}__left"
            while renamed.lower() in used:
                renamed += "_"
            used.add(renamed.lower())
            fresh.append(renamed)
        return fresh

    def _left(self, number: int) -> Column:
        return F.col(quoted(self._fresh[number]))

    def partition(self) -> list[Column]:
        """What tells left rows apart; by their keys first, as they are shuffled already."""
        return [*map(self._left, self.left.keys), F.col(quoted(self._row))]

    def order(self, tie_break: list[Column], is_total: bool) -> list[Column]:
        """By what the matches of a left row are ranked; `is_total` if no two may tie by times."""
        time = self.right.time_column
        if self.strategy == "backward":
            return [time.desc(), *tie_break]
        if self.strategy == "forward":
            return [time.asc(), *tie_break]
        distance = self.times.distance(self._left(self.left.time), time)
        return [distance.asc(), *tie_break, *([time.asc()] if is_total else [])]

    def rows(self) -> DataFrame:
        """Left rows with each of their matches, or with NULLs where they have none."""
        rows, near = self._near()
        keys = [
            self._left(i) == self.right.side.column(j)
            for i, j in zip(self.left.keys, self.right.keys, strict=True)
        ]
        condition = reduce(and_, [*keys, *self._direction(bool(near)), *near])
        return rows.join(self.right.side.df, condition, "left")

    def _direction(self, is_bounded: bool) -> list[Column]:
        left, right = self.times.compared(self._left(self.left.time), self.right.time_column)
        if self.strategy == "backward":
            return [right <= left if self.exact else right < left]
        if self.strategy == "forward":
            return [right >= left if self.exact else right > left]
        if not self.exact:
            return [right != left]
        # All times but NULL.
        return [] if is_bounded else [left.isNotNull(), right.isNotNull()]

    def _near(self) -> tuple[DataFrame, list[Column]]:
        """The left rows, and what the tolerance asks of pairs."""
        time, given = self.right.time_column, self.tolerance
        low, high = self.strategy != "forward", self.strategy != "backward"
        added: dict[str, Column] = {}
        near: list[Column] = []
        if is_column(given):
            of, (first, last) = self.left.time_column, self._ends
            added = ({first: of - given} if low else {}) | ({last: of + given} if high else {})
            self._check_ends(added.values())
            near = [time >= F.col(quoted(first))] if low else []
            near += [time <= F.col(quoted(last))] if high else []
        elif given is not None:
            tolerance = Tolerance(self.times, given)
            of = self._left(self.left.time)
            near = [time >= tolerance.below(of)] if low else []
            near += [time <= tolerance.above(of)] if high else []
        number = F.monotonically_increasing_id().alias(self._row)
        columns = [renamed for renamed, _ in self.left_columns]
        rows = self.left.side.df.select("*", *added.values(), number)
        return rows.toDF(*columns, *added, self._row), near

    def _check_ends(self, ends: Iterable[Column]) -> None:
        """Returns if times can be moved by a column."""
        try:
            fields = self.left.side.df.select(*ends).schema.fields
        except AnalysisException as error:
            raise RangeJoinError(
                f"tolerance is a column that cannot be added to times of type {self.times.shown}; "
                f"it has to be of numbers, or for dates and timestamps of intervals: {error}"
            ) from error
        for field in fields:
            what = "times with the tolerance added, and times,"
            check_comparable(field.dataType, self.times.right, what)
