"""Features of a spine: what several tables said of each of its rows at the time of the row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812

from rangejoin.asof import Ranking
from rangejoin.columns import quoted
from rangejoin.distances import MEASURED, Times
from rangejoin.errors import RangeJoinError
from rangejoin.matches import Input, Matches, renamed
from rangejoin.sides import Side, check_choices, is_column, listed, tie_break_of
from rangejoin.windowed import Windowed, named, spans_of

if TYPE_CHECKING:
    from datetime import timedelta
    from decimal import Decimal
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from rangejoin.sides import Names, Order

    Span: TypeAlias = int | float | Decimal | timedelta | Column | None
    Keys: TypeAlias = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Latest:
    """The latest row of a table at the time of each row of the spine.

    Of the rows with its keys that are not later, the latest one as a whole: what is NULL in it is
    NULL. Where there is none, or it is too old, all columns are NULL.

    Args:
        table: events, or versions of an entity; rows in any order.
        columns: those that become features; by default all but keys, time and `known_at`.
        on: the time; by default the column that is called as that of the spine.
        by: the keys, where they are others than the `by` of `features`: names that the spine and
            the table have both, or a mapping of names in the spine to names in the table.
        max_age: how old the row may be at most, inclusive: a number in the unit of the times, a
            `timedelta`, or an expression of columns of the spine.
        allow_exact_matches: whether a row of the spine's own time counts.
        known_at: a column, the time from which a row is known, such as that of its ingestion: to
            rows of the spine before that it is not there. One that is NULL is never known.
        tie_break: columns, or orders such as `F.desc("seq")`: which of the rows of one time is
            taken; any without it.
        name: what a feature is called; `{column}` stands for its column.
    """

    table: DataFrame
    columns: Names = None
    on: str | None = None
    by: Keys = None
    max_age: Span = None
    allow_exact_matches: bool = True
    known_at: str | None = None
    tie_break: Order = None
    name: str = "{column}"

    def _steps(self, table: _Table, given: _Given) -> list[_Step]:
        check_choices("backward", "left", "any", 1, self.allow_exact_matches, "")
        side = table.input.side
        used = {table.input.time, table.known_at, *table.input.keys}
        if self.columns is None:
            columns = [i for i in range(len(side.names)) if i not in used]
        else:
            columns = [side.find(of, "columns", is_ordered=False) for of in listed(self.columns)]
        names = [named(self.name, column=side.names[i]) for i in columns]
        return [_LatestStep(self, given.by_name(self.max_age), columns, names)]


@dataclass(frozen=True)
class _LatestStep:
    source: Latest
    max_age: Span
    columns: list[int]
    named: list[str]

    def names(self, _: Side) -> list[str]:
        return self.named

    def add(self, matches: Matches) -> DataFrame:
        source, table = self.source, matches.right.side
        ranking = Ranking(matches, "backward", source.allow_exact_matches, self.max_age, "max_age")
        shown = zip(self.columns, self.named, strict=True)
        return ranking.best(tie_break_of(table, source.tie_break), 1, "any").select(
            *(F.col(quoted(at)).alias(name) for at, name in matches.left_columns),
            *(table.column(i).alias(name) for i, name in shown),
        )


@dataclass(frozen=True)
class Windows:
    """Aggregates of the rows of a table in windows that end at the time of each row of the spine.

    All windows come from one join. One without rows has the count 0, and NULL for all else; so has
    each window of a row whose time or keys are NULL.

    | `closed` | the window `w` of a row of the time `t` |
    |---|---|
    | `right` | later than `t - w`, up to `t` |
    | `left` | from `t - w` on, earlier than `t` |
    | `both` | from `t - w` on, up to `t` |
    | `neither` | later than `t - w`, earlier than `t` |

    Args:
        table: events; rows in any order.
        over: how long the windows are, one or several: numbers in the unit of the times, or
            `timedelta`s, or None for all rows up to `t`. Or a mapping of names to these, which may
            be expressions of columns of the spine as well: where one is NULL, no row counts.
        aggregates: by column one or several of `count`, `sum`, `avg`, `mean`, `min`, `max`,
            `stddev`, `stddev_pop`, `variance` and `var_pop`. A `count` of `*` is one of rows.
        on: the time; by default the column that is called as that of the spine.
        by: the keys, as those of `Latest`.
        closed: which ends belong to the windows.
        known_at: a column, the time from which a row is known: it counts for no earlier rows of the
            spine. Each window is a join of its own then, which visits all rows of the window.
        name: what a feature is called; `{column}` (for `*` it is `rows`), `{function}` and
            `{window}` stand for what it is made of. Windows are called `14d`, `36h`, `90m`, `1s`,
            `all`.
    """

    table: DataFrame
    over: Span | Sequence[Span] | Mapping[str, Span]
    aggregates: Mapping[str, str | Sequence[str]]
    on: str | None = None
    by: Keys = None
    closed: str = "right"
    known_at: str | None = None
    name: str = "{column}_{function}_{window}"

    def _steps(self, table: _Table, given: _Given) -> list[_Step]:
        spans = {name: given.by_name(span) for name, span in spans_of(self.over).items()}
        # Beside another condition, windows in the functions would have all pairs made.
        is_apart = table.known_at is not None
        parts = [{name: span} for name, span in spans.items()] if is_apart else [spans]
        return [Windowed(self.aggregates, part, self.closed, self.name) for part in parts]


class _Step(Protocol):
    """A join of the spine with a table."""

    def names(self, table: Side) -> list[str]:
        """What its features are called."""

    def add(self, matches: Matches) -> DataFrame:
        """The spine with them."""


@dataclass(frozen=True)
class _Table:
    """A table with its columns; `keys` are those of the spine."""

    input: Input
    known_at: int | None
    keys: list[int]

    @staticmethod
    def of(source: Any, role: str, spine: Side, on: str, by: Names) -> _Table:
        """The table of a `Latest` or `Windows`.

        Raises:
            RangeJoinError: it is neither, or a column is not there.
        """
        if not isinstance(source, (Latest, Windows)):
            raise RangeJoinError(
                f"{role} is a {type(source).__name__}, and has to be a rangejoin.Latest or a "
                "rangejoin.Windows"
            )
        side = Side.of(source.table, role)
        keys = by if source.by is None else source.by
        pairs = keys if isinstance(keys, Mapping) else {name: name for name in listed(keys)}
        time = side.find(on if source.on is None else source.on, "on")
        known = None if source.known_at is None else side.find(source.known_at, "known_at")
        return _Table(
            Input(side, time, [side.find(name, "by") for name in pairs.values()]),
            known,
            [spine.find(name, "by") for name in pairs],
        )


def features(
    spine: DataFrame,
    tables: Latest | Windows | Sequence[Latest | Windows],
    *,
    on: str,
    by: Names = None,
) -> DataFrame:
    """Adds features to the rows of a spine: what tables said of each at its time.

    A point-in-time join of any number of tables: of each the latest row, or aggregates of windows,
    or both. Nothing that is later than a row of the spine, or was known later, counts for it.

    Each row of the spine is a row of the result, in any order, also where several are equal; where
    its time or a key is NULL, it has no matches. With the extension no pairs are made, and the
    spine is shuffled and sorted once for all tables with the same keys; without it the result is
    the same, and Spark makes all pairs of a key. Classic and Spark Connect sessions.

    Args:
        spine: entities and times.
        tables: one or several, each a `Latest` or a `Windows`.
        on: the time of the spine, and of the tables that give no other: a number, DATE, TIMESTAMP
            or TIMESTAMP_NTZ. Those of the tables have the same type, or both are numbers.
        by: the keys of the spine, and of the tables that give no others; without keys all rows of a
            table are one entity's.

    Returns:
        A DataFrame, of the columns of the spine and the features in the order of `tables`; nothing
        has run.

    Raises:
        RangeJoinError: a column is not there, or is given twice; times cannot be compared, or have
            no distance; a window or an age is negative, or not of the unit of the times; an
            aggregate is unknown, or none for the type of its column; columns of the result would
            have one name; a table is a stream.
    """
    side = Side.of(spine, "spine")
    time = side.find(on, "on")
    _check_time(side, time)
    sources = list(tables) if isinstance(tables, Sequence) else [tables]
    given = _Given(side)
    steps = []
    for i, source in enumerate(sources):
        table = _Table.of(source, f"tables[{i}]", side, on, by)
        steps += [(table, step) for step in source._steps(table, given)]
    _check_names(side, [name for table, step in steps for name in step.names(table.input.side)])
    spine = given.added()
    for table, step in steps:
        of_spine = Input(Side.of(spine, "spine"), time, table.keys)
        spine = step.add(Matches(of_spine, table.input, table.known_at))
    return spine.drop(*given.columns)


class _Given:
    """Windows and ages that are columns of the spine.

    They become columns with names of their own before the first join: `spine["term"]` is no column
    of what that returns.
    """

    def __init__(self, spine: Side) -> None:
        self.spine = spine
        self.columns: dict[str, Column] = {}

    def by_name(self, span: Any) -> Any:
        """The same, by a name if it is a column."""
        if not is_column(span):
            return span
        wanted = f"__rangejoin_given_{len(self.columns)}"
        (name,) = renamed([wanted], [*self.spine.names, *self.columns])
        self.columns[name] = span
        return F.col(name)

    def added(self) -> DataFrame:
        """The spine with all of them.

        Raises:
            RangeJoinError: one cannot be computed from columns of the spine.
        """
        columns = [column.alias(name) for name, column in self.columns.items()]
        df = self.spine.df
        if not columns:
            return df
        try:
            added = df.select("*", *columns)
            _ = added.schema
        except AnalysisException as error:
            raise RangeJoinError(
                f"a window or an age cannot be computed from columns of the spine: {error}"
            ) from error
        return added


def _check_time(spine: Side, time: int) -> None:
    times = Times(spine.types[time], spine.types[time])
    if not times.has_distance:
        raise RangeJoinError(
            f"on={spine.names[time]!r} is of type {times.shown}, and has to be a time "
            f"({MEASURED}): cast it"
        )


def _check_names(spine: Side, features: list[str]) -> None:
    """Returns if all columns of the result have different names."""
    names = [*spine.names, *features]
    count = Counter(map(spine.folded, names))
    twice = [name for name in names if count[spine.folded(name)] > 1]
    if twice:
        where = "spine and features" if twice[0] in spine.names else "features"
        raise RangeJoinError(
            f"the {where} would have several columns {twice[0]!r}: give the tables different "
            'names, as in name="profile_{column}", or leave columns out'
        )
