"""Aggregates of the matches of each row of a spine in one or several windows of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from rangejoin.columns import quoted, unordered
from rangejoin.distances import Tolerance
from rangejoin.errors import RangeJoinError
from rangejoin.sides import Side, is_column, listed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rangejoin.matches import Matches

FUNCTIONS = {
    "count": F.count,
    "sum": F.sum,
    "avg": F.avg,
    "mean": F.avg,
    "min": F.min,
    "max": F.max,
    "stddev": F.stddev_samp,
    "stddev_pop": F.stddev_pop,
    "variance": F.var_samp,
    "var_pop": F.var_pop,
}
_OF_ANY_TYPE = ("count", "min", "max")
_NUMBERS = ("byte", "short", "integer", "long", "decimal", "float", "double")
_GROUPED = (
    *_NUMBERS[:5],
    *("boolean", "date", "timestamp", "timestamp_ntz", "string", "char", "varchar", "binary"),
)
"""Types of columns that Spark can group by, and gives back as they were: -0.0 becomes 0.0."""

CLOSED = ("right", "left", "both", "neither")
_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}


@dataclass(frozen=True)
class Windowed:
    """Windows of one table, which end at one time: one join, of the widest of them."""

    aggregates: Mapping[str, str | Sequence[str]]
    spans: Mapping[str, Any]
    closed: str
    name: str

    def __post_init__(self) -> None:
        """Raises `RangeJoinError` where an argument has a value that it cannot have."""
        if self.closed not in CLOSED:
            raise RangeJoinError(
                f"closed is {self.closed!r}, and may be one of {', '.join(CLOSED)}"
            )
        if not isinstance(self.aggregates, Mapping) or not self.aggregates:
            raise RangeJoinError(
                f"aggregates is {self.aggregates!r}, and has to be a mapping of columns to "
                'functions, such as {"amount": ["sum", "max"]}'
            )

    def names(self, table: Side) -> list[str]:
        """What the features are called.

        Raises:
            RangeJoinError: a column, a function or a name cannot be.
        """
        return [
            named(self.name, column=column, function=function, window=window)
            for window in self.spans
            for column, function, _ in self._inputs(table)
        ]

    def add(self, matches: Matches) -> DataFrame:
        """The rows of the spine with the features.

        Raises:
            RangeJoinError: a window is none for times of this type.
        """
        table, spans = matches.right.side, list(self.spans.values())
        inputs = self._inputs(table)
        names = matches.fresh(f"end{i}" for i in range(len(spans)))
        added = {
            name: matches.left.moved(given, "over", -1, matches.times)
            for name, given in zip(names, spans, strict=True)
            if is_column(given)
        }
        has_begin = self.closed in ("left", "both")
        begins = [
            _Begin(F.col(quoted(name)), has_begin)
            if name in added
            else _begin(matches, given, has_begin)
            for name, given in zip(names, spans, strict=True)
        ]
        widest = _widest(spans)
        earliest = begins[widest] if widest is not None else _earliest(begins)
        rows = matches.rows(self._conditions(matches, earliest), added)
        # All matches are in the widest.
        inside = [
            None if begin is None or i == widest else begin.condition(matches)
            for i, begin in enumerate(begins)
        ]
        results = [
            _aggregate(function, matches.right.time if number is None else number, table, window)
            for window in inside
            for _, function, number in inputs
        ]
        return _grouped(rows, matches, results, self.names(table))

    def _conditions(self, matches: Matches, begin: _Begin | None) -> list[Column]:
        is_exact = self.closed in ("right", "both")
        left, right = matches.compared()
        if matches.times.kind == "integer":
            # As windows compare them: a window is found by the order of the join's own range.
            left, right = left.cast("bigint"), right.cast("bigint")
        upper = right <= left if is_exact else right < left
        lower = [] if begin is None else [begin.condition(matches)]
        return [upper, *lower, *matches.known(is_exact)]

    def _inputs(self, table: Side) -> list[tuple[str, str, int | None]]:
        """Columns, functions and numbers of the columns; none of `*`."""
        return [
            _checked(table, column, function)
            for column, functions in self.aggregates.items()
            for function in listed(functions)
        ]


def spans_of(over: Any) -> dict[str, Any]:
    """Windows by what they are called.

    Raises:
        RangeJoinError: there are none, or two are equal, or one has no name.
    """
    if isinstance(over, Mapping):
        spans = list(over.items())
    else:
        given = list(over) if isinstance(over, Sequence) and not isinstance(over, str) else [over]
        spans = [(_label(span), span) for span in given]
    if not spans:
        raise RangeJoinError("over is empty: give the length of one window or of several")
    names = [name for name, _ in spans]
    for name in names:
        if not isinstance(name, str):
            raise RangeJoinError(f"over has the name {name!r}, and names are strings")
        if names.count(name) > 1:
            raise RangeJoinError(f"over has the window {name!r} twice")
    return dict(spans)


def named(template: Any, **parts: str) -> str:
    """The name of a feature.

    Raises:
        RangeJoinError: the template is none, or has other fields than these.
    """
    try:
        if not isinstance(template, str):
            raise ValueError("it is no string")
        return template.format(**parts)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        fields = ", ".join(f"{{{part}}}" for part in parts)
        raise RangeJoinError(
            f"name is {template!r}, and has to be a string that may have {fields}: {error!r}"
        ) from error


def _label(span: Any) -> str:
    if span is None:
        return "all"
    if isinstance(span, timedelta):
        for unit, length in _UNITS.items():
            if span % length == timedelta() and (span or unit == "s"):
                return f"{span // length}{unit}"
    if is_column(span):
        raise RangeJoinError(
            "over has a column, and such a window has no name of its own: give it one, as in "
            'over={"month": F.expr("INTERVAL \'1\' MONTH")}'
        )
    return str(span)


@dataclass(frozen=True)
class _Begin:
    """When a window begins."""

    time: Column
    is_within: bool
    """Whether that time belongs to the window."""

    def condition(self, matches: Matches) -> Column:
        """Whether a row is not before the window."""
        time = matches.right.time_column
        return time >= self.time if self.is_within else time > self.time


def _begin(matches: Matches, span: Any, is_within: bool) -> _Begin | None:
    """When a window begins; None if all earlier rows are in it.

    Raises:
        RangeJoinError: there are no such times.
    """
    if span is None:
        return None
    tolerance = Tolerance(matches.times, span, "over")
    unit: Any = {"date": timedelta(days=1), "integer": 1}.get(matches.times.kind)
    if unit is not None and span % unit != unit * 0:
        raise RangeJoinError(
            f"over is {span!r}: of times of type {matches.times.shown} windows are whole "
            f"{'days' if isinstance(unit, timedelta) else 'numbers'}"
        )
    if matches.times.kind == "integer" and not is_within and span > 0:
        # A window that begins before the least number has that, and no number is less.
        one_less = Tolerance(matches.times, int(span) - 1, "over")
        return _Begin(one_less.below(matches.left_time), True)
    return _Begin(tolerance.below(matches.left_time), is_within)


def _widest(spans: Sequence[Any]) -> int | None:
    """The number of a window that has all rows of all others, if one is known to have them."""
    if len(spans) == 1:
        return 0
    if any(span is None for span in spans) or any(map(is_column, spans)):
        return None
    return max(range(len(spans)), key=lambda i: spans[i])


def _earliest(begins: list[_Begin | None]) -> _Begin | None:
    """When the first of some windows begins; None if one has no beginning."""
    known = [begin for begin in begins if begin is not None]
    if len(known) < len(begins):
        return None
    # Each window has a condition of its own: a row more in all of them together does no harm.
    is_within = any(begin.is_within for begin in known)
    return _Begin(F.least(*(begin.time for begin in known)), is_within)


def _checked(table: Side, column: Any, function: Any) -> tuple[str, str, int | None]:
    """Returns what is aggregated, if it can be.

    Raises:
        RangeJoinError: it cannot.
    """
    if function not in FUNCTIONS:
        raise RangeJoinError(
            f"the aggregate {function!r} of {column!r} is not one of {', '.join(FUNCTIONS)}"
        )
    if column == "*":
        if function != "count":
            raise RangeJoinError(f"the aggregate {function!r} needs a column, and not '*'")
        return "rows", function, None
    number = table.find(column, "aggregates", is_ordered=False)
    kind = table.types[number]
    is_number = kind.typeName() in _NUMBERS
    if not (is_number or function in _OF_ANY_TYPE):
        raise RangeJoinError(
            f"the aggregate {function!r} of {column!r} is one of numbers, and the column is of "
            f"type {kind.simpleString().upper()}: cast it"
        )
    if function != "count" and unordered(kind) is not None:
        raise RangeJoinError(
            f"the aggregate {function!r} of {column!r} needs an order, and type "
            f"{kind.simpleString().upper()} has none"
        )
    return column, function, number


def _aggregate(function: str, number: int, table: Side, window: Column | None) -> Column:
    value = table.column(number)
    return FUNCTIONS[function](value if window is None else F.when(window, value))


def _grouped(
    rows: DataFrame, matches: Matches, results: list[Column], names: list[str]
) -> DataFrame:
    """Left rows with aggregates of their matches."""
    left, row = matches.left_columns, F.col(quoted(matches.row))
    types = matches.left.side.types
    grouped = [i for i, kind in enumerate(types) if kind.typeName() in _GROUPED]
    kept = [
        F.max_by(matches.left_column(i), row).alias(renamed)
        for i, (renamed, _) in enumerate(left)
        if i not in grouped
    ]
    fresh = matches.fresh(f"feature{i}" for i in range(len(results)))
    aggregates = [of.alias(name) for of, name in zip(results, fresh, strict=True)]
    shown = [*left, *zip(fresh, names, strict=True)]
    return (
        rows.groupBy(*map(matches.left_column, grouped), row)
        .agg(*kept, *aggregates)
        .select(*(F.col(quoted(of)).alias(name) for of, name in shown))
    )
