"""How far two times are from each other, and what is at most a tolerance away.

Times are numbers, dates or timestamps. Whatever can be computed exactly is: nothing overflows,
wraps around or depends on the time zone of the session.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DecimalType

from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    from pyspark.sql import Column

_INTEGERS = ("byte", "short", "integer", "long")
_NUMBERS = (*_INTEGERS, "decimal", "float", "double")
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_EXACT = 38
"""Digits of the largest decimal number of Spark."""

MEASURED = "numbers, DATE, TIMESTAMP and TIMESTAMP_NTZ have one"


@dataclass(frozen=True)
class Times:
    """The types of the times of both sides."""

    left: DataType
    right: DataType

    @property
    def kind(self) -> str:
        """`integer`, `decimal` or `double`, as numbers are compared, or the name of the type."""
        names = {self.left.typeName(), self.right.typeName()}
        if names <= set(_INTEGERS):
            return "integer"
        if names <= set(_NUMBERS):
            return "double" if names & {"float", "double"} else "decimal"
        return self.left.typeName()

    @property
    def has_distance(self) -> bool:
        """Whether two of them have a distance."""
        return self.kind in _DISTANCES

    @property
    def shown(self) -> str:
        """The types, as SQL names them."""
        names = dict.fromkeys(of.simpleString().upper() for of in (self.left, self.right))
        return " and ".join(names)

    def compared(self, left: Column, right: Column) -> tuple[Column, Column]:
        """Both, as they are compared with each other."""
        if self.kind == "double" and self.left != self.right:
            # Outside of ANSI mode a BIGINT would be compared with a FLOAT as a FLOAT.
            return left.cast("double"), right.cast("double")
        return left, right

    def distance(self, left: Column, right: Column) -> Column:
        """How far they are from each other: a number, or an interval."""
        self.check_exact(Decimal(0))
        return F.abs(_DISTANCES[self.kind](self, left, right))

    def check_exact(self, tolerance: Decimal) -> None:
        """Returns if a difference of decimal numbers has all its digits.

        Raises:
            RangeJoinError: it has not.
        """
        if self.kind != "decimal":
            return
        digits = [_digits(of) for of in (self.left, self.right)]
        digits.append(_digits_of(tolerance))
        wanted = max(whole for whole, _ in digits) + max(scale for _, scale in digits) + 1
        if wanted > _EXACT:
            raise RangeJoinError(
                f"differences of times of type {self.shown} have {wanted} digits, and Spark has "
                f"{_EXACT}: cast both to a type of fewer digits"
            )

    def _integers(self, left: Column, right: Column) -> Column:
        wider = "decimal(20,0)" if self.has_longs else "bigint"
        return left.cast(wider) - right.cast(wider)

    @property
    def has_longs(self) -> bool:
        """Whether a difference may need more than 64 bits."""
        return "long" in (self.left.typeName(), self.right.typeName())


_DISTANCES: dict[str, Callable[[Times, Column, Column], Column]] = {
    "integer": lambda times, left, right: times._integers(left, right),
    "decimal": lambda times, left, right: _decimal(left, times.left) - _decimal(right, times.right),
    "double": lambda times, left, right: left.cast("double") - right.cast("double"),
    "date": lambda times, left, right: F.datediff(left, right),
    # A difference of timestamps is one of local times: an hour off, where clocks are set back.
    "timestamp": lambda times, left, right: F.unix_micros(left) - F.unix_micros(right),
    "timestamp_ntz": lambda times, left, right: left - right,
}


@dataclass(frozen=True)
class Tolerance:
    """How far a match may be, as it was given, for times of these types."""

    times: Times
    given: Any
    parameter: str = "tolerance"
    """What it is given for, in errors."""

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where it is none for such times."""
        if not self.times.has_distance:
            raise RangeJoinError(
                f"{self.parameter}={self.given!r} needs a distance of times, and "
                f"{self.times.shown} has none ({MEASURED}): leave it out, or cast the times"
            )
        is_number = self.times.kind in ("integer", "decimal", "double")
        if is_number:
            self._check_number()
        elif not isinstance(self.given, timedelta):
            self._refuse(f"of {self.times.shown} it is a datetime.timedelta, or an interval column")
        elif self.given < timedelta():
            self._refuse("it has to be zero or more")
        elif self._micros > _GREATEST:
            self._refuse("it is beyond all times of Spark: leave it out")

    def below(self, time: Column) -> Column:
        """The least time that is near enough to a time of the left side."""
        return self._moved(time, -1)

    def above(self, time: Column) -> Column:
        """The greatest one."""
        return self._moved(time, 1)

    def _check_number(self) -> None:
        given = self.given
        if isinstance(given, bool) or not isinstance(given, (Real, Decimal)):
            self._refuse(f"of {self.times.shown} it is a number, or a column of numbers")
        number = self._number
        if not number.is_finite():
            self._refuse("it has to be finite: leave it out if any distance is near enough")
        if number < 0:
            self._refuse("it has to be zero or more")
        if self.times.kind == "integer" and number > _GREATEST:
            self._refuse("it is beyond all times of this type: leave it out")
        if self.times.kind == "decimal":
            self.times.check_exact(number)

    def _refuse(self, reason: str) -> NoReturn:
        raise RangeJoinError(f"{self.parameter} is {self.given!r}: {reason}")

    @property
    def _number(self) -> Decimal:
        """A number as it is written: 0.1 is a tenth."""
        if isinstance(self.given, Decimal):
            return self.given
        whole = isinstance(self.given, Integral)
        return Decimal(int(self.given)) if whole else Decimal(str(float(self.given)))

    @property
    def _micros(self) -> int:
        assert isinstance(self.given, timedelta)
        return self.given // timedelta(microseconds=1)

    def _moved(self, time: Column, sign: int) -> Column:
        kind = self.times.kind
        if kind == "integer":
            return self._moved_integer(time, sign)
        if kind == "decimal":
            whole, scale = _digits_of(self._number)
            step = F.lit(f"{self._number:f}").cast(DecimalType(whole + scale, scale))
            return _plus(_decimal(time, self.times.left), step, sign)
        if kind == "double":
            return _plus(time.cast("double"), F.lit(float(self.given)), sign)
        assert isinstance(self.given, timedelta)
        if kind == "date":
            # Half a day from a date there is none.
            return F.date_add(time, sign * self.given.days)
        day = timedelta(days=1)
        if kind == "timestamp" and self.given >= day:
            # An interval of days is one of local days, of 23 to 25 hours.
            return F.timestamp_micros(_plus(F.unix_micros(time), F.lit(self._micros), sign))
        return _plus(time, F.lit(self._micros * timedelta(microseconds=1)), sign)

    def _moved_integer(self, time: Column, sign: int) -> Column:
        step = math.floor(self._number)
        moved = time.cast("bigint")
        if not self.times.has_longs and step < 1 << 62:
            return _plus(moved, F.lit(step), sign)
        if sign > 0:
            is_beyond, end = moved > F.lit(_GREATEST - step), _GREATEST
        else:
            is_beyond, end = moved < F.lit(_LEAST + step), _LEAST
        # Of a NULL there is none.
        return F.when(is_beyond, F.lit(end)).otherwise(_plus(moved, F.lit(step), sign))


def check_comparable(left: DataType, right: DataType, what: str) -> None:
    """Returns if Spark compares two types without parsing, rounding or a time zone.

    Raises:
        RangeJoinError: it does not; `what` says which columns these are.
    """
    if left == right or _family(left) == _family(right):
        return
    raise RangeJoinError(
        f"{what} are of types {left.simpleString().upper()} and {right.simpleString().upper()}: "
        "cast one of them to the type of the other"
    )


def _family(kind: DataType) -> str:
    name = kind.typeName()
    if name in _NUMBERS:
        return "number"
    return "string" if name in ("string", "char", "varchar") else name


def _digits(kind: DataType) -> tuple[int, int]:
    """Digits before the point and behind it."""
    if isinstance(kind, DecimalType):
        return kind.precision - kind.scale, kind.scale
    return 20, 0


def _digits_of(number: Decimal) -> tuple[int, int]:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int), "it is finite"
    return max(1, number.adjusted() + 1), max(0, -exponent)


def _decimal(time: Column, kind: DataType) -> Column:
    return time if isinstance(kind, DecimalType) else time.cast("decimal(20,0)")


def _plus(time: Column, step: Column, sign: int) -> Column:
    return time + step if sign > 0 else time - step
