"""The demo from beginning to end."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rangejoin.demo import airborne, contest, data, latest, report
from rangejoin.demo.extent import FULL, Extent
from rangejoin.errors import RangeJoinError
from rangejoin.explained import explain
from rangejoin.health import check
from rangejoin.session import configure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

EXPECTED_ROWS = {1: 1_005_708, 3: 2_346_286, 24: 16_395_369}
"""Rows of the join by hours, counted by another engine."""

EXPECTED_CANDIDATES = 2_931_609_351
"""Pairs of a flight and an hour of weather at the same airport."""


def run_demo(extent: Extent, output_dir: Path, bounds: str = contest.COLUMNS) -> None:
    """Joins flights with weather and with flights in the air; prints and writes times.

    Into `output_dir` go `data/` (kept for the next time), `results.md`, `results.json` and
    `times.png`.

    Args:
        extent: the bands, how often each join runs, and when a stock join is stopped.
        output_dir: made where it is missing.
        bounds: where the ends of the band are computed, `inline` or `columns`; see `Query`.

    Raises:
        RangeJoinError: the `demo` extra is missing; the extension is not active; a row count is
            not the expected one; or a plan is not.
    """
    data.require_extra()
    print(extent.words, flush=True)
    paths = data.prepare(output_dir / "data")
    print("Starting Spark ...", flush=True)
    with _session() as spark:
        check(spark)
        facts = report.machine(spark)
        print(report.machine_line(facts), flush=True)
        flights, weather = (spark.read.parquet(str(path)) for path in paths)
        query = contest.Query(flights, weather, bounds)
        candidates = _candidates(query)
        print(
            f"{data.FLIGHTS:,} flights, {data.WEATHER:,} hours of weather, "
            f"{candidates:,} pairs at the same airport",
            flush=True,
        )
        _print_plans(spark, query, extent.hours[0])
        _warm_up(spark, query, extent.hours[0])
        print("\nEach flight with the weather at its origin\n", flush=True)
        bands = [_band(spark, query, hours, extent) for hours in extent.hours]
        print("\nWithout a key: who took off while a flight was in the air\n", flush=True)
        parts = airborne.measure(spark, flights, extent)
        print("\nOne row each: the last weather report before each flight\n", flush=True)
        reports = latest.measure(spark, flights, weather, extent)
    for time, part in parts.items():
        _check(time, "pairs", part.pairs, airborne.EXPECTED_ROWS[time])
        _check(time, "flights", reports[time].flights, latest.EXPECTED_FLIGHTS[time])
    print(f"\n{report.table(bands)}\n\n{airborne.table(parts)}\n\n{latest.table(reports)}\n")
    measured = report.Measured(bands, candidates, parts, reports)
    report.write_results(output_dir, measured, facts, _command(extent, bounds))
    report.write_chart(output_dir / "times.png", bands, report.machine_line(facts))
    print(f"Written: {', '.join(str(output_dir / n) for n in _WRITTEN)}", flush=True)


def _check(time: str, unit: str, found: int, expected: int) -> None:
    if found != expected:
        raise RangeJoinError(f"{time}: {found:,} {unit} instead of {expected:,}")


def _command(extent: Extent, bounds: str) -> str:
    """What one types to have the same again."""
    words = ["rangejoin demo"]
    words += ["--full"] if extent.times == FULL.times else []
    words += ["--hours", *map(str, extent.hours), "--runs", str(extent.runs)]
    words += [] if extent.limit is None else ["--limit", f"{extent.limit:g}"]
    return " ".join([*words, "--bounds", bounds])


_WRITTEN = ("results.md", "results.json", "times.png")


@contextmanager
def _session() -> Iterator[SparkSession]:
    """Starts Spark on all cores, the same for all contestants, and stops it in the end."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[*]")
        .appName("rangejoin demo")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
        .config("spark.sql.session.timeZone", "UTC")
    )
    spark = configure(builder).getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
        yield spark
    finally:
        spark.stop()


def _candidates(query: contest.Query) -> int:
    """Counts the pairs that agree in `origin`, without making them."""
    left: dict[str, int] = dict(query.flights.groupBy("origin").count().collect())
    right: dict[str, int] = dict(query.weather.groupBy("origin").count().collect())
    pairs = sum(count * right.get(origin, 0) for origin, count in left.items())
    if pairs != EXPECTED_CANDIDATES:
        raise RangeJoinError(f"{pairs:,} candidate pairs instead of {EXPECTED_CANDIDATES:,}")
    return pairs


def _print_plans(spark: SparkSession, query: contest.Query, hours: int) -> None:
    for contestant in reversed(contest.CONTESTANTS):
        contestant.apply(spark)
        plan = contest.executed_plan(query.digest(hours))
        contest.check_operator(contestant, contest.join_operator(plan))
        switch = "on" if contestant.node else "off"
        print(f"\nPhysical plan, flag {switch}, {contestant.name}:\n{plan}", flush=True)
    nodes = " and ".join(c.node for c in contest.CONTESTANTS if c.node)
    print(f"The plans with the flag on hold {nodes}.", flush=True)


def _warm_up(spark: SparkSession, query: contest.Query, hours: int) -> None:
    """Runs every contestant once on the flights of one week, untimed, and explains its join."""
    print("\nWarming up with the flights of a week, untimed: less than a minute ...", flush=True)
    for contestant in contest.CONTESTANTS:
        contestant.apply(spark)
        digest = query.first_week().digest(hours)
        digest.collect()
        print(f"\nrangejoin.explain, {contestant.name}, one week:\n{explain(digest)}", flush=True)


def _band(spark: SparkSession, query: contest.Query, hours: int, extent: Extent) -> contest.Band:
    band = contest.measure(spark, query, hours, extent.runs, extent.limit)
    expected = EXPECTED_ROWS.get(hours)
    if expected is not None and band.rows != expected:
        raise RangeJoinError(f"±{hours} h: {band.rows:,} rows instead of {expected:,}")
    return band
