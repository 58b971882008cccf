"""As-of joins: to each row the nearest one in time of another table, or the nearest few."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from rangejoin.columns import quoted
from rangejoin.distances import MEASURED, Tolerance
from rangejoin.errors import RangeJoinError
from rangejoin.matches import Input, Matches
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
    known_at: str | None = None,
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
        known_at: a column of `right`, the time from which its row is known: the row matches only
            left rows that are not earlier (later, where equal times do not match).

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
    of_left, of_right = map(Input, sides, times, keys)
    known = None if known_at is None else of_right.side.find(known_at, "known_at")
    matches = Matches(of_left, of_right, known)
    ranking = Ranking(matches, strategy, allow_exact_matches, tolerance)
    merged = ([of_right.time] if on is not None else []) + (of_right.keys if by is not None else [])
    shown = shown_of(*sides, merged, suffix)
    best = ranking.best(tie_break_of(of_right.side, tie_break), k, ties)
    if how == "inner":
        # Not by an inner join, whose left side Spark might broadcast: it has to be streamed.
        best = best.where(of_right.time_column.isNotNull())
    return best.select(
        *(F.col(quoted(at)).alias(name) for at, name in matches.left_columns),
        *(of_right.side.column(i).alias(name) for i, name in shown.items()),
    )


@dataclass(frozen=True)
class Ranking:
    """How the matches of a left row are ranked, and which of them are ranked at all."""

    matches: Matches
    strategy: str
    is_exact: bool
    tolerance: Any
    parameter: str = "tolerance"
    """What the tolerance is called in errors."""

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where the types do not fit."""
        times = self.matches.times
        if self.strategy == "nearest" and not times.has_distance:
            raise RangeJoinError(
                f"strategy='nearest' needs a distance of times, and {times.shown} has none "
                f"({MEASURED}): take 'backward' or 'forward', or cast the times"
            )

    def best(self, tie_break: list[Column], k: int, ties: str) -> DataFrame:
        """Left rows with each of their `k` best matches, or with NULLs where they have none."""
        matches = self.matches
        ends = matches.fresh(("from", "to", "rank"))
        near, added = self._near(*ends[:2])
        conditions = [*self._direction(bool(near)), *near, *matches.known(self.is_exact)]
        # By keys first, as the rows are shuffled by those already.
        row = [*map(matches.left_column, matches.left.keys), F.col(quoted(matches.row))]
        order = self._order(tie_break, is_total=ties == "any")
        rank = F.row_number() if ties == "any" else F.rank()
        ranked = matches.rows(conditions, added).withColumn(
            ends[2], rank.over(Window.partitionBy(*row).orderBy(*order))
        )
        return ranked.where(F.col(quoted(ends[2])) <= k)

    def _order(self, tie_break: list[Column], is_total: bool) -> list[Column]:
        """By what matches are ranked; `is_total` if no two may tie by times."""
        time = self.matches.right.time_column
        if self.strategy == "backward":
            return [time.desc(), *tie_break]
        if self.strategy == "forward":
            return [time.asc(), *tie_break]
        distance = self.matches.times.distance(self.matches.left_time, time)
        return [distance.asc(), *tie_break, *([time.asc()] if is_total else [])]

    def _direction(self, is_bounded: bool) -> list[Column]:
        left, right = self.matches.compared()
        if self.strategy == "backward":
            return [right <= left if self.is_exact else right < left]
        if self.strategy == "forward":
            return [right >= left if self.is_exact else right > left]
        if not self.is_exact:
            return [right != left]
        # All times but NULL.
        return [] if is_bounded else [left.isNotNull(), right.isNotNull()]

    def _near(self, first: str, last: str) -> tuple[list[Column], dict[str, Column]]:
        """What the tolerance asks of pairs, and columns of the left side that this has by name."""
        matches, given = self.matches, self.tolerance
        time = matches.right.time_column
        low, high = self.strategy != "forward", self.strategy != "backward"
        if is_column(given):
            added = {
                name: matches.left.moved(given, self.parameter, sign, matches.times)
                for name, sign, is_there in ((first, -1, low), (last, 1, high))
                if is_there
            }
            near = [time >= F.col(quoted(first))] if low else []
            near += [time <= F.col(quoted(last))] if high else []
            return near, added
        if given is None:
            return [], {}
        tolerance = Tolerance(matches.times, given, self.parameter)
        near = [time >= tolerance.below(matches.left_time)] if low else []
        near += [time <= tolerance.above(matches.left_time)] if high else []
        return near, {}
