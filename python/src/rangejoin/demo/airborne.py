"""The part of the demo without a key: who took off while a flight was in the air."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rangejoin.demo.contest import (
    RANGE_AGGREGATED,
    RANGE_SORT_MERGE,
    STOCK_SORT_MERGE,
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

STOCK, BINS, RANGE = "stock", "bins of an hour, by hand", "range join"
COUNTED = "counted in the join"
_NAMES = (STOCK, BINS, RANGE, COUNTED)
_CONTESTANTS = {RANGE: RANGE_SORT_MERGE, COUNTED: RANGE_AGGREGATED}

EXPECTED_ROWS = {YEAR: 40_978_104, JANUARY: 3_255_948, WEEK: 768_800}
"""Pairs, counted by other means."""

_TIMES = {
    WEEK: ("month = 1 AND day <= 7", _NAMES),
    JANUARY: ("month = 1", _NAMES),
    YEAR: ("true", _NAMES[1:]),
}
"""The flights of a time, and who joins them: stock compares each flight of it with each other."""

_CONDITION = "b.took_off BETWEEN a.took_off AND a.landed"
_DIGEST = "SELECT count(*) AS pairs, sum(a.distance) AS distance, sum(b.distance) AS others"
_RANGE = f"{_DIGEST} FROM flown AS a JOIN flown AS b ON {_CONDITION}"
_TOOK_OFF_IN, _LANDED_IN = ("unix_seconds(took_off) DIV 3600", "unix_seconds(landed) DIV 3600")
_BINS = f"""
{_DIGEST}
FROM (SELECT *, explode(sequence({_TOOK_OFF_IN}, {_LANDED_IN})) AS bin FROM flown) AS a
JOIN (SELECT *, {_TOOK_OFF_IN} AS bin FROM flown) AS b ON a.bin = b.bin AND {_CONDITION}
"""


@dataclass
class Airborne:
    """What was measured on the flights of a time: the pairs, and the runs of each contestant."""

    flights: int
    pairs: int
    timings: dict[str, Timing]


def measure(spark: SparkSession, flights: DataFrame, extent: Extent) -> dict[str, Airborne]:
    """Joins flights with those that took off while they were in the air; prints each run.

    Both sides are the same flights, and neither is broadcast. Stock Spark compares every flight
    with every other, and so joins those of a month at most; bins are what one writes by hand
    instead. The range join makes the pairs, and counts them without any.

    Args:
        spark: a session with the extension.
        flights: the flights of the demo's data.
        extent: the times, runs and limit.

    Returns:
        By time, what was measured.

    Raises:
        RangeJoinError: two contestants differ in their result, or a plan is not the expected one.
    """
    found = {}
    for time in extent.times:
        which, names = _TIMES[time]
        flown = took_off_and_landed(flights.where(which))
        flown.createOrReplaceTempView("flown")
        found[time] = _measure(spark, time, names, extent, flown.count())
        spark.catalog.dropTempView("flown")
    return found


def took_off_and_landed(flights: DataFrame) -> DataFrame:
    """Returns `took_off` and `landed`, timestamps, and `distance`, miles, of flights flown."""
    return flights.where("dep_delay IS NOT NULL AND air_time IS NOT NULL").selectExpr(
        "timestampadd(MINUTE, CAST(minute + dep_delay AS INT), time_hour) AS took_off",
        "timestampadd(MINUTE, CAST(minute + dep_delay + air_time AS INT), time_hour) AS landed",
        "distance",
    )


def _measure(
    spark: SparkSession, time: str, names: tuple[str, ...], extent: Extent, flights: int
) -> Airborne:
    def entry(name: str) -> Entry:
        contestant = _CONTESTANTS.get(name, STOCK_SORT_MERGE)
        return contestant, lambda: spark.sql(_BINS if name == BINS else _RANGE)

    contest = Contest(time, "pairs", {name: entry(name) for name in names}, extent.limit)
    for run, name, query in contest.turns(spark, extent.runs):
        if name == RANGE and run == 1:
            print(f"\n{executed_plan(query)}\nrangejoin.explain:\n{explain(query)}\n", flush=True)
    return Airborne(flights, contest.result[0], contest.timings)


def table(parts: dict[str, Airborne]) -> str:
    """Returns the results as a Markdown table: seconds are medians."""
    lines = ["| flights of | flights | pairs | " + " | ".join(_NAMES) + " |"]
    lines.append("|---|---:|---:|" + "---:|" * len(_NAMES))
    for time, part in parts.items():
        cells = [part.timings[name].shown if name in part.timings else "not run" for name in _NAMES]
        lines.append(f"| {time} | {part.flights:,} | {part.pairs:,} | {' | '.join(cells)} |")
    return "\n".join(lines)
