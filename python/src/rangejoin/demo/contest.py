"""The joins that are compared, and how they are timed."""

from __future__ import annotations

import re
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from rangejoin.demo.limited import within
from rangejoin.errors import RangeJoinError
from rangejoin.names import BROADCAST_NODE, ENABLED_CONF, PLAN_NODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

THRESHOLD_CONF = "spark.sql.autoBroadcastJoinThreshold"
AGGREGATED_CONF = "spark.sql.join.aggregatedMatches.enabled"

SLOW_SECONDS = 60.0
"""A first run longer than this is not repeated."""

INLINE = "inline"
COLUMNS = "columns"

_JOIN_NODE = re.compile(r"\b(\w+Join|CartesianProduct)\b")


@dataclass(frozen=True)
class Contestant:
    """A way to run the join.

    `settings` maps session settings to their values; None leaves Spark's default. `node` is the
    range join that its plan has to hold; None stands for a stock plan.
    """

    name: str
    settings: Mapping[str, str | None]
    node: str | None = None

    def apply(self, spark: SparkSession) -> None:
        """Puts the settings into effect for the plans made from now on."""
        for key, value in self.settings.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


STOCK_DEFAULT = Contestant("stock default", {ENABLED_CONF: "false", THRESHOLD_CONF: None})
STOCK_SORT_MERGE = Contestant("stock sort-merge", {ENABLED_CONF: "false", THRESHOLD_CONF: "-1"})
RANGE_DEFAULT = Contestant(
    "range join, default",
    {ENABLED_CONF: "true", THRESHOLD_CONF: None, AGGREGATED_CONF: "false"},
    BROADCAST_NODE,
)
RANGE_SORT_MERGE = Contestant(
    "range join, sort-merge",
    {ENABLED_CONF: "true", THRESHOLD_CONF: "-1", AGGREGATED_CONF: "false"},
    PLAN_NODE,
)
"""Results are counted by an aggregate: these two make all the pairs for it, as a join has to."""

RANGE_AGGREGATED = Contestant(
    "range join, aggregated",
    {ENABLED_CONF: "true", THRESHOLD_CONF: "-1", AGGREGATED_CONF: "true"},
    PLAN_NODE,
)
CONTESTANTS = (STOCK_DEFAULT, STOCK_SORT_MERGE, RANGE_DEFAULT, RANGE_SORT_MERGE)

RIVALS = ((STOCK_DEFAULT, RANGE_DEFAULT), (STOCK_SORT_MERGE, RANGE_SORT_MERGE))
"""What a range join is compared with: the stock join under the same settings."""


@dataclass
class Timing:
    """The runs of one contestant on one band: seconds of each, and the join node of the plan.

    One that was `stopped` has the limit as its seconds: it takes longer than that.
    """

    operator: str = ""
    seconds: list[float] = field(default_factory=list)
    stopped: bool = False

    @property
    def median(self) -> float:
        """The median of the runs, in seconds."""
        return statistics.median(self.seconds)

    @property
    def is_slow(self) -> bool:
        """Whether one run is enough."""
        return self.stopped or (bool(self.seconds) and self.seconds[0] > SLOW_SECONDS)

    @property
    def shown(self) -> str:
        """The median, as in a table."""
        return f"> {self.median:g} s" if self.stopped else f"{self.median:.2f} s"


@dataclass
class Band:
    """What was measured on one band: `hours` on either side, `rows` of the result."""

    hours: int
    rows: int
    timings: dict[str, Timing]

    def ratio(self, stock: Contestant, ours: Contestant) -> str:
        """How many times longer than the range join `ours` the join `stock` took, as `40.1x`."""
        slower, faster = self.timings[stock.name], self.timings[ours.name]
        return f"{'> ' if slower.stopped else ''}{slower.median / faster.median:.1f}x"


@dataclass(frozen=True)
class Query:
    """Each flight with the weather at its origin, within a band of hours on either side.

    Both tables have `origin` and `time_hour` (timestamp), the flights `distance`, the weather
    `wind_dir`. `bounds` says where the ends of the band are computed: `inline` is in the join
    condition, as one would write it; `columns` is in two columns of the flights before the join.
    The answer is the same, and so is the range join; but a stock join repeats what is in the
    condition for every pair of rows, and arithmetic on timestamps is most of its time then.
    """

    flights: DataFrame
    weather: DataFrame
    bounds: str = INLINE

    def first_week(self) -> Query:
        """Returns the same query of the flights in the first week of January."""
        flights = self.flights.where("month = 1 AND day <= 7")
        return Query(flights, self.weather, self.bounds)

    def join(self, hours: int) -> DataFrame:
        """Returns the join, with the weather at most `hours` before or after, both inclusive."""
        from pyspark.sql import functions as F  # noqa: N812

        flights, weather = self.flights, self.weather
        width = F.expr(f"INTERVAL {hours} HOURS")
        lower, upper = flights.time_hour - width, flights.time_hour + width
        if self.bounds == COLUMNS:
            flights = flights.withColumns({"lower": lower, "upper": upper})
            lower, upper = flights.lower, flights.upper
        in_band = weather.time_hour.between(lower, upper)
        return flights.join(weather, (flights.origin == weather.origin) & in_band)

    def digest(self, hours: int) -> DataFrame:
        """Returns the join reduced to one row: its row count, and a sum from either side.

        So every joined row is made with columns of both sides. The sums are of integers: the
        same whatever the order of the rows.
        """
        from pyspark.sql import functions as F  # noqa: N812

        return self.join(hours).agg(
            F.count("*").alias("rows"),
            F.sum("distance").alias("distance"),
            F.sum("wind_dir").alias("wind_dir"),
        )


def executed_plan(query: DataFrame) -> str:
    """Returns the physical plan; that of the run, after `query` has run."""
    return str(query._jdf.queryExecution().executedPlan().toString())


def join_operator(plan: str) -> str:
    """Returns the name of the first join in a printed plan, without `Exec`; `""` without one."""
    found = _JOIN_NODE.search(plan)
    return found[1] if found else ""


def check_operator(contestant: Contestant, operator: str) -> None:
    """Returns if `operator` is what the contestant stands for.

    Raises:
        RangeJoinError: a range join is not in its own plan, or is in a stock plan.
    """
    found = operator if operator in (PLAN_NODE, BROADCAST_NODE) else None
    if found != contestant.node:
        raise RangeJoinError(f"the plan of '{contestant.name}' runs {operator or 'no join'}")


Entry: TypeAlias = "tuple[Contestant, Callable[[], DataFrame]]"
"""How a contestant runs, and its query."""


@dataclass
class Contest:
    """Queries that take turns, and have to give the same answer.

    `entries` has, by its name, how a contestant runs, and its query: one row, the first value of
    which counts `unit`. Stock joins are stopped after `limit` seconds, if that is given. `result`
    is the answer of those that were not, and `first` gave it; `timings` is what was measured.
    """

    name: str
    unit: str
    entries: Mapping[str, Entry]
    limit: float | None = None
    timings: dict[str, Timing] = field(default_factory=dict)
    result: tuple[int, ...] = ()
    first: str = ""

    def turns(self, spark: SparkSession, runs: int) -> Iterator[tuple[int, str, DataFrame]]:
        """Runs and prints each entry so often, and yields run, name and query after each of them.

        Raises:
            RangeJoinError: two runs differ in their result, or a plan in its operator.
        """
        for run in range(1, runs + 1):
            for name, (contestant, query) in self.entries.items():
                timing = self.timings.setdefault(name, Timing())
                if timing.is_slow:
                    continue
                contestant.apply(spark)
                limit = self.limit if contestant.node is None else None
                at_most = "" if limit is None else f", at most {limit:g} s"
                print(f"  {self.name}, run {run} of {runs}: {name}{at_most} ...", flush=True)
                digest = query()
                result = within(spark, limit, lambda: run_timed(digest, timing))  # noqa: B023
                if result is None and limit is not None:
                    note_stopped(digest, timing, limit)
                self._print(name, timing, result)
                check_operator(contestant, timing.operator)
                if result is not None:
                    self._compare(name, result)
                yield run, name, digest

    def _print(self, name: str, timing: Timing, result: tuple[int, ...] | None) -> None:
        width = max(map(len, self.entries))
        took = f"> {timing.seconds[-1]:g} s" if timing.stopped else f"{timing.seconds[-1]:.2f} s"
        rows = "stopped" if result is None else f"{result[0]:,} {self.unit}"
        print(f"    {name:<{width}}  {took:>10}  {rows:>16}  {timing.operator}", flush=True)

    def _compare(self, name: str, result: tuple[int, ...]) -> None:
        if not self.result:
            self.first, self.result = name, result
        elif result != self.result:
            raise RangeJoinError(
                f"{self.name}: '{name}' returned {result} where "
                f"'{self.first}' returned {self.result}"
            )


def measure(
    spark: SparkSession, query: Query, hours: int, runs: int, limit: float | None = None
) -> Band:
    """Times all contestants on one band, in turns, and compares what they return.

    Stock joins are stopped after `limit` seconds, if that is given, and not compared then.

    Raises:
        RangeJoinError: two runs differ in their result, or a plan in its operator.
    """

    def digest() -> DataFrame:
        return query.digest(hours)

    contest = Contest(f"±{hours} h", "rows", {of.name: (of, digest) for of in CONTESTANTS}, limit)
    for _ in contest.turns(spark, runs):
        pass
    return Band(hours, contest.result[0], contest.timings)


def run_timed(digest: DataFrame, timing: Timing) -> tuple[int, ...]:
    """Runs `digest` once and notes time and operator; returns its only row."""
    start = time.perf_counter()
    result = tuple(digest.collect()[0])
    timing.seconds.append(time.perf_counter() - start)
    timing.operator = join_operator(executed_plan(digest))
    return result


def note_stopped(digest: DataFrame, timing: Timing, limit: float) -> None:
    """Notes that a run of `digest` was stopped after `limit` seconds."""
    timing.stopped = True
    timing.seconds = [limit]
    timing.operator = join_operator(executed_plan(digest))
