"""As-of joins by brute force, in plain Python, and tables that tempt them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = tuple[int, str | None, Any]
"""Number, key and time."""

BEGIN = date(2024, 2, 25)


@dataclass(frozen=True)
class TimeType:
    """A type of times: its values, from those near each other to the ends of the type."""

    name: str
    near: Callable[[int], Any]
    """Of small numbers."""
    ends: tuple[Any, ...]
    tolerances: tuple[Any, ...]
    literal: Callable[[Any], str]
    """A value in SQL."""

    def draw(self, chance: random.Random) -> Any:
        """A value; every twelfth NULL, every eighth an end."""
        if chance.random() < 1 / 12:
            return None
        if chance.random() < 1 / 8:
            return chance.choice(self.ends)
        return self.near(chance.randrange(14))


def _hours(n: int) -> datetime:
    return datetime(2024, 11, 3) + timedelta(minutes=30 * n)


_TIMES = (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))
_SPANS = (timedelta(), timedelta(minutes=60), timedelta(days=1, minutes=30))

TYPES = [
    TimeType("int", lambda n: n, (-(1 << 31), (1 << 31) - 1), (0, 2, 1 << 32), str),
    TimeType(
        "bigint",
        lambda n: n,
        (-(1 << 63), (1 << 63) - 1, 1 - (1 << 63)),
        (0, 2.9, (1 << 63) - 1),
        lambda n: str(n) if n > -(1 << 63) else f"{n + 1} - 1",
    ),
    TimeType(
        "double",
        lambda n: n / 2,
        (math.nan, math.inf, -math.inf, -0.0),
        (0, 1.5, Decimal("0.5")),
        lambda x: f"'{x}'",
    ),
    TimeType(
        "decimal(18,2)",
        lambda n: Decimal(n) / 4,
        (Decimal("9999999999999999.99"), Decimal("-9999999999999999.99")),
        (0, Decimal("0.75"), 2),
        str,
    ),
    TimeType(
        "date",
        lambda n: BEGIN + timedelta(days=n),
        (date(1, 1, 1), date(9999, 12, 31)),
        (timedelta(), timedelta(days=2, hours=7), timedelta(days=3_600_000)),
        lambda d: f"DATE'{d:%m-%d}'".replace("'", f"'{d.year:04}-", 1),
    ),
    TimeType("timestamp", _hours, _TIMES, _SPANS, lambda t: f"'{t.isoformat()}'"),
    TimeType("timestamp_ntz", _hours, _TIMES, _SPANS, lambda t: f"'{t.isoformat()}'"),
]


def table(of: TimeType, rows: int, chance: random.Random) -> list[Row]:
    """Rows of four keys, one of which is NULL."""
    keys = ("a", "b", "c", None)
    return [(i, chance.choices(keys, (6, 3, 2, 1))[0], of.draw(chance)) for i in range(rows)]


def as_sql(of: TimeType, rows: list[Row]) -> str:
    """The table as a query of `id`, `k` and `t`."""

    def sql(value: Any, literal: Callable[[Any], str]) -> str:
        return "NULL" if value is None else literal(value)

    values = ", ".join(
        f"({i}, STRING({sql(k, repr)}), CAST({sql(t, of.literal)} AS {of.name}))"
        for i, k, t in rows
    )
    return f"SELECT * FROM VALUES {values} AS rows(id, k, t)"


@dataclass(frozen=True)
class Asked:
    """The arguments of an as-of join."""

    strategy: str
    exact: bool
    tolerance: Any
    k: int
    ties: str
    how: str
    by_number: bool
    """Whether ties are broken by `id`, the greater first."""

    @staticmethod
    def draw(of: TimeType, strategy: str, chance: random.Random) -> Asked:
        """Any of them."""
        return Asked(
            strategy,
            chance.random() < 0.7,
            chance.choice((None, *of.tolerances)),
            chance.choice((1, 1, 2, 4)),
            chance.choice(("any", "all")),
            chance.choice(("left", "inner")),
            chance.random() < 0.5,
        )


class Expected:
    """What the join of two tables may give."""

    def __init__(self, left: list[Row], right: list[Row], asked: Asked) -> None:
        """Looks at every pair."""
        self.asked = asked
        self.left = {i: (k, t) for i, k, t in left}
        self.right = {i: (k, t) for i, k, t in right}

    def check(self, pairs: list[tuple[int, int | None]]) -> None:
        """Fails where numbers of left and right rows are not such as are expected."""
        found: dict[int, list[int | None]] = {}
        for i, j in pairs:
            found.setdefault(i, []).append(j)
        for i in self.left:
            self._check_row(i, found.pop(i, []))
        assert not found

    def _check_row(self, i: int, found: list[int | None]) -> None:
        asked = self.asked
        matches = [j for j in self.right if self._matches(i, j)]
        if not matches:
            assert found == ([] if asked.how == "inner" else [None]), (i, found)
            return
        ranked = sorted(self._order(i, j) for j in matches)
        last = ranked[min(asked.k, len(ranked)) - 1]
        taken = [key for key in ranked if key <= last] if asked.ties == "all" else ranked[: asked.k]
        numbers = [j for j in found if j is not None]
        assert len(set(numbers)) == len(found), (i, found)
        assert set(numbers) <= set(matches), (i, found)
        assert sorted(self._order(i, j) for j in numbers) == taken, (i, found, taken)

    def _matches(self, i: int, j: int) -> bool:
        (of_left, left), (of_right, right) = self.left[i], self.right[j]
        if None in (of_left, of_right, left, right) or of_left != of_right:
            return False
        low, high = _order(left), _order(left)
        if self.asked.tolerance is not None:
            low, high = _moved(left, self.asked.tolerance)
        at, exact = _order(right), self.asked.exact
        if at == _order(left):
            return exact
        is_before = at < _order(left)
        if self.asked.strategy != "nearest" and is_before == (self.asked.strategy == "forward"):
            return False
        return self.asked.tolerance is None or low <= at <= high

    def _order(self, i: int, j: int) -> tuple[Any, ...]:
        left, right = self.left[i][1], self.right[j][1]
        number = (-j,) if self.asked.by_number else ()
        if self.asked.strategy == "forward":
            return (_order(right), *number)
        if self.asked.strategy == "backward":
            return (_reversed(_order(right)), *number)
        # Of one distance and without an order of their own, the earlier ones come first.
        earlier = () if self.asked.ties == "all" else (_order(right),)
        return (_order(_distance(left, right)), *number, *earlier)


def _order(time: Any) -> tuple[bool, Any]:
    """As Spark orders: NaN is above all, and zeros are equal."""
    if isinstance(time, float) and math.isnan(time):
        return True, 0
    return False, time


def _reversed(order: tuple[bool, Any]) -> tuple[bool, Any]:
    is_nan, time = order
    if isinstance(time, date):
        first = datetime(1, 1, 1) if isinstance(time, datetime) else date(1, 1, 1)
        return not is_nan, first - time
    return not is_nan, -time


def _distance(left: Any, right: Any) -> Any:
    return abs(left - right)


def _moved(time: Any, tolerance: Any) -> tuple[Any, Any]:
    if isinstance(time, float):
        return _order(time - float(tolerance)), _order(time + float(tolerance))
    if isinstance(time, date):
        return _order(_day(time, -tolerance)), _order(_day(time, tolerance))
    return _order(time - Decimal(tolerance)), _order(time + Decimal(tolerance))


def _day(time: Any, step: timedelta) -> Any:
    """Not beyond the years that Python has, beyond which no table has times."""
    ends = _TIMES if isinstance(time, datetime) else tuple(end.date() for end in _TIMES)
    if not isinstance(time, datetime):
        # Dates differ by whole days: the tolerance is rounded down to those.
        step = timedelta(days=step // timedelta(days=1) if step >= timedelta() else -(-step).days)
    try:
        return time + step
    except OverflowError:
        return ends[step > timedelta()]
