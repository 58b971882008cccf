"""The part of the demo about one row each: the last weather report before each flight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rangejoin.asof import join_asof
from rangejoin.demo.contest import (
    RANGE_DEFAULT,
    STOCK_DEFAULT,
    Contest,
    Entry,
    Timing,
    executed_plan,
)
from rangejoin.demo.extent import JANUARY, WEEK, YEAR
from rangejoin.explained import explain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rangejoin.demo.extent import Extent

RANKED, LAST, ASOF = "stock, row_number() = 1", "stock, union and last()", "join_asof"
NAMES = (RANKED, LAST, ASOF)

EXPECTED_FLIGHTS = {WEEK: 6_064, JANUARY: 27_004, YEAR: 336_776}
"""Flights, counted by other means: each has one row in the result."""

_TIMES = {
    WEEK: ("month = 12 AND day > 24", NAMES),
    JANUARY: ("month = 1", NAMES),
    YEAR: ("true", (LAST, ASOF)),
}
"""The flights of a time, and who joins them: stock ranks all earlier reports of an airport."""

_DIGEST = "SELECT count(*) AS flights, sum(distance) AS distance, sum(wind_dir) AS wind_dir"
_RANKED = f"""
{_DIGEST}
FROM (
  SELECT f.distance, w.wind_dir,
    row_number() OVER (PARTITION BY f.id ORDER BY w.time_hour DESC) AS n
  FROM (SELECT *, monotonically_increasing_id() AS id FROM flights) AS f
  LEFT JOIN reports AS w ON f.origin = w.origin AND w.time_hour <= f.time_hour)
WHERE n = 1
"""
_LAST = f"""
{_DIGEST}
FROM (
  SELECT is_flight, distance,
    last(wind_dir, true) OVER (PARTITION BY origin ORDER BY time_hour, is_flight) AS wind_dir
  FROM (
    SELECT origin, time_hour, distance, NULL AS wind_dir, true AS is_flight FROM flights
    UNION ALL
    SELECT origin, time_hour, NULL, wind_dir, false FROM reports))
WHERE is_flight
"""


@dataclass
class Latest:
    """What was measured on the flights of a time: how many there are, and the runs of each."""

    flights: int
    timings: dict[str, Timing]


def measure(
    spark: SparkSession, flights: DataFrame, weather: DataFrame, extent: Extent
) -> dict[str, Latest]:
    """Finds the last weather report at the origin of each flight, three ways; prints each run.

    Args:
        spark: a session with the extension.
        flights: the flights of the demo's data.
        weather: its weather; of the reports of one airport and hour the greatest `wind_dir` counts.
        extent: the times, runs and limit.

    Returns:
        By time, what was measured.

    Raises:
        RangeJoinError: two contestants differ in their result, or a plan is not the expected one.
    """
    reports = weather.where("wind_dir IS NOT NULL").groupBy("origin", "time_hour")
    reports.agg({"wind_dir": "max"}).toDF(
        "origin", "time_hour", "wind_dir"
    ).createOrReplaceTempView("reports")
    found = {}
    for time in extent.times:
        which, names = _TIMES[time]
        flights.where(which).createOrReplaceTempView("flights")
        found[time] = _measure(spark, time, names, extent)
    for view in ("flights", "reports"):
        spark.catalog.dropTempView(view)
    return found


def _asof(spark: SparkSession) -> DataFrame:
    flights, reports = spark.table("flights"), spark.table("reports")
    matched = join_asof(flights, reports, on="time_hour", by="origin")
    return matched.selectExpr(
        "count(*) AS flights", "sum(distance) AS distance", "sum(wind_dir) AS wind_dir"
    )


def _measure(spark: SparkSession, time: str, names: tuple[str, ...], extent: Extent) -> Latest:
    def entry(name: str) -> Entry:
        if name == ASOF:
            return RANGE_DEFAULT, lambda: _asof(spark)
        return STOCK_DEFAULT, lambda: spark.sql(_RANKED if name == RANKED else _LAST)

    contest = Contest(time, "flights", {name: entry(name) for name in names}, extent.limit)
    for run, name, query in contest.turns(spark, extent.runs):
        if name == ASOF and run == 1:
            print(f"\n{executed_plan(query)}\nrangejoin.explain:\n{explain(query)}\n", flush=True)
    return Latest(contest.result[0], contest.timings)


def table(parts: dict[str, Latest]) -> str:
    """Returns the results as a Markdown table: seconds are medians."""
    lines = ["| flights of | flights | " + " | ".join(NAMES) + " |", "|---|---:|---:|---:|---:|"]
    for time, part in parts.items():
        cells = [part.timings[n].shown if n in part.timings else "not run" for n in NAMES]
        lines.append(f"| {time} | {part.flights:,} | {' | '.join(cells)} |")
    return "\n".join(lines)
