"""The demo on small data, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from rangejoin import ENABLED_CONF, RangeJoinError
from rangejoin.cli import main
from rangejoin.demo import FULL, SHORT, Extent, airborne, contest, data, extent, job, latest
from rangejoin.demo.contest import Timing
from rangejoin.demo.limited import within


@pytest.fixture(autouse=True)
def _restores_aggregated_matches() -> Iterator[None]:
    """Contestants leave the setting as they need it."""
    yield
    session = SparkSession.getActiveSession()
    if session is not None:
        session.conf.unset(contest.AGGREGATED_CONF)


def test_a_first_run_over_a_minute_is_enough() -> None:
    assert Timing("", [60.1]).is_slow
    assert not Timing("", [59.9, 70.0]).is_slow
    assert not Timing().is_slow
    assert Timing("", [1.0], stopped=True).is_slow


@pytest.mark.parametrize(
    ("plan", "operator"),
    [
        ("+- *(5) SortMergeRangeJoin [origin#1], [origin#2], Inner", "SortMergeRangeJoin"),
        ("+- == Final Plan ==\n   +- BroadcastHashJoin [a]\n+- SortMergeJoin", "BroadcastHashJoin"),
        ("+- FileScan parquet", ""),
    ],
)
def test_the_operator_is_the_first_join_of_the_plan(plan: str, operator: str) -> None:
    assert contest.join_operator(plan) == operator


def test_a_range_join_is_wanted_where_it_belongs_and_nowhere_else() -> None:
    contest.check_operator(contest.RANGE_SORT_MERGE, "SortMergeRangeJoin")
    contest.check_operator(contest.RANGE_DEFAULT, "BroadcastRangeJoin")
    contest.check_operator(contest.STOCK_DEFAULT, "BroadcastHashJoin")
    for contestant, operator in (
        (contest.RANGE_SORT_MERGE, "SortMergeJoin"),
        (contest.RANGE_SORT_MERGE, "BroadcastRangeJoin"),
        (contest.RANGE_DEFAULT, "BroadcastHashJoin"),
        (contest.STOCK_SORT_MERGE, "SortMergeRangeJoin"),
    ):
        with pytest.raises(RangeJoinError, match=f"'{contestant.name}' runs {operator}"):
            contest.check_operator(contestant, operator)


def hours_at(spark: SparkSession, *rows: tuple[str, int, int]) -> DataFrame:
    """Rows of an airport, an hour of 2 January 2013, and a number."""
    values = ", ".join(
        f"('{origin}', TIMESTAMP'2013-01-02 {hour:02}:00:00', {number})"
        for origin, hour, number in rows
    )
    return spark.sql(f"SELECT * FROM VALUES {values} AS t(origin, time_hour, number)")


@pytest.mark.parametrize("bounds", [contest.INLINE, contest.COLUMNS])
def test_all_contestants_agree_on_a_few_flights(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], bounds: str
) -> None:
    flights = hours_at(spark, ("JFK", 5, 100), ("JFK", 9, 200), ("EWR", 5, 400))
    weather = hours_at(
        spark, ("JFK", 4, 1), ("JFK", 6, 2), ("JFK", 7, 4), ("EWR", 8, 8), ("LGA", 5, 16)
    )
    flights = flights.withColumnRenamed("number", "distance")
    weather = weather.withColumnRenamed("number", "wind_dir")
    query = contest.Query(flights, weather, bounds)
    before = spark.conf.get(contest.THRESHOLD_CONF)
    try:
        result = contest.measure(spark, query, hours=1, runs=2)
        contest.RANGE_SORT_MERGE.apply(spark)
        digest = tuple(query.digest(1).collect()[0])
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, str(before))
        spark.conf.unset(ENABLED_CONF)
    assert digest == (2, 200, 3)
    assert result.rows == 2
    assert [len(timing.seconds) for timing in result.timings.values()] == [2, 2, 2, 2]
    assert result.timings["range join, default"].operator == "BroadcastRangeJoin"
    assert result.timings["range join, sort-merge"].operator == "SortMergeRangeJoin"
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 16
    assert lines[0] == "  ±1 h, run 1 of 2: stock default ..."
    assert lines[1].split() == [
        "stock",
        "default",
        lines[1].split()[2],
        "s",
        "2",
        "rows",
        "BroadcastHashJoin",
    ]
    assert {result.ratio(*rivals)[-1] for rivals in contest.RIVALS} == {"x"}


ENDLESS = (
    "SELECT sum(hash(a.id + b.id)) FROM range(10000000) a JOIN range(10000000) b ON a.id <> b.id"
)


NEAR = "SELECT count(*) FROM range(9) a JOIN range(9) b ON b.id BETWEEN a.id AND a.id + 1"


def _turns(
    spark: SparkSession, entries: dict[str, tuple[contest.Contestant, str]], limit: float
) -> tuple[contest.Contest, list[tuple[int, str]]]:
    """Two runs of queries that take turns, with the session's settings as they were."""

    def entry(contestant: contest.Contestant, sql: str) -> contest.Entry:
        return contestant, lambda: spark.sql(sql)

    before = spark.conf.get(contest.THRESHOLD_CONF)
    found = contest.Contest(
        "here", "rows", {name: entry(*of) for name, of in entries.items()}, limit
    )
    try:
        return found, [(run, name) for run, name, _ in found.turns(spark, runs=2)]
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, str(before))
        spark.conf.unset(ENABLED_CONF)


def test_a_stock_join_is_stopped_at_the_limit(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = {"endless": (contest.STOCK_DEFAULT, ENDLESS), "ours": (contest.RANGE_DEFAULT, NEAR)}
    found, turns = _turns(spark, entries, limit=1)
    # One that was stopped has no second turn.
    assert turns == [(1, "endless"), (1, "ours"), (2, "ours")]
    assert (found.timings["endless"].stopped, found.timings["endless"].seconds) == (True, [1])
    assert found.result == (17,)
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []
    out = capsys.readouterr().out
    assert "here, run 1 of 2: endless, at most 1 s ..." in out
    assert "> 1 s           stopped" in out


def test_stock_joins_that_end_before_the_limit_are_compared(spark: SparkSession) -> None:
    entries = {"stock": (contest.STOCK_DEFAULT, NEAR), "ours": (contest.RANGE_DEFAULT, NEAR)}
    found, turns = _turns(spark, entries, limit=300)
    assert turns == [(1, "stock"), (1, "ours"), (2, "stock"), (2, "ours")]
    assert (found.result, found.first) == ((17,), "stock")
    assert not found.timings["stock"].stopped


def test_what_fails_before_the_limit_is_raised(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="of its own"):
        within(spark, 60, lambda: spark.sql("SELECT raise_error('of its own')").collect())
    assert within(spark, 60, lambda: 7) == 7
    assert not spark.sparkContext.getJobTags()


def test_answers_that_differ_are_told(spark: SparkSession) -> None:
    entries = {
        "one": (contest.STOCK_DEFAULT, lambda: spark.sql("SELECT 1")),
        "two": (contest.STOCK_DEFAULT, lambda: spark.sql("SELECT 2")),
    }
    try:
        with pytest.raises(
            RangeJoinError, match=r"'two' returned \(2,\) where 'one' returned \(1,\)"
        ):
            list(contest.Contest("here", "rows", entries).turns(spark, runs=1))
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, "-1")
        spark.conf.unset(ENABLED_CONF)


def test_flights_that_took_off_while_another_was_in_the_air(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    flights = spark.sql("""
        SELECT * FROM VALUES
            (1, 7, TIMESTAMP'2013-01-02 05:00:00', 0, -10.0, 130.0, 100),
            (1, 8, TIMESTAMP'2013-01-02 06:00:00', 50, 0.0, 20.0, 200),
            (1, 7, TIMESTAMP'2013-01-02 07:00:00', 0, 0.0, 10.0, 400),
            (1, 7, TIMESTAMP'2013-01-02 07:00:00', 0, CAST(NULL AS DOUBLE), 10.0, 800),
            (2, 7, TIMESTAMP'2013-01-02 07:00:00', 30, 0.0, 10.0, 1600)
        AS t(month, day, time_hour, minute, dep_delay, air_time, distance)""")
    before = spark.conf.get(contest.THRESHOLD_CONF)
    try:
        times = (extent.JANUARY, extent.YEAR, extent.WEEK)
        parts = airborne.measure(spark, flights, Extent((1,), 1, None, times))
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, str(before))
        spark.conf.unset(ENABLED_CONF)
    # From 4:50 to 7:00, 6:50 to 7:10, and 7:00 to 7:10; each with itself.
    assert (parts["January"].flights, parts["January"].pairs) == (3, 6)
    assert (parts["the year"].flights, parts["the year"].pairs) == (4, 7)
    # Without the second of them.
    assert (parts["a week"].flights, parts["a week"].pairs) == (2, 3)
    out = capsys.readouterr().out
    assert "CartesianProduct" in out
    assert out.count("rangejoin.explain:\n1. SortMergeRangeJoin, INNER") == 3


def test_the_last_weather_report_before_each_flight(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    flights = hours_at(spark, ("JFK", 5, 100), ("JFK", 9, 200), ("EWR", 3, 400), ("LGA", 5, 800))
    flights = flights.withColumnRenamed("number", "distance").selectExpr(
        "*", "if(time_hour > '2013-01-02 04:00:00', 12, 1) AS month", "25 AS day"
    )
    weather = hours_at(
        spark, ("JFK", 4, 1), ("JFK", 4, 3), ("JFK", 9, 2), ("EWR", 4, 8), ("LGA", 1, 16)
    ).withColumnRenamed("number", "wind_dir")
    before = spark.conf.get(contest.THRESHOLD_CONF)
    try:
        times = (extent.WEEK, extent.YEAR)
        parts = latest.measure(spark, flights, weather, Extent((1,), 1, None, times))
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, str(before))
        spark.conf.unset(ENABLED_CONF)
    assert (parts["a week"].flights, parts["the year"].flights) == (3, 4)
    assert parts["a week"].timings[latest.ASOF].operator == "BroadcastRangeJoin"
    assert latest.RANKED not in parts["the year"].timings
    out = capsys.readouterr().out
    assert out.count("row_number <= 1 by") == 2
    assert not spark.catalog.tableExists("reports")


def test_the_demo_explains_its_joins(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    flights = hours_at(spark, ("JFK", 5, 100), ("EWR", 5, 400))
    flights = flights.withColumnRenamed("number", "distance").selectExpr("*", "1 month", "2 day")
    weather = hours_at(spark, ("JFK", 4, 1), ("EWR", 6, 8)).withColumnRenamed("number", "wind_dir")
    before = spark.conf.get(contest.THRESHOLD_CONF)
    try:
        job._warm_up(spark, contest.Query(flights, weather, contest.COLUMNS), hours=1)
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, str(before))
        spark.conf.unset(ENABLED_CONF)
    out = capsys.readouterr().out
    for contestant, operator in zip(
        contest.CONTESTANTS,
        ("BroadcastHashJoin", "SortMergeJoin", "BroadcastRangeJoin", "SortMergeRangeJoin"),
        strict=True,
    ):
        assert f"rangejoin.explain, {contestant.name}, one week:\n1. {operator}, INNER" in out
    assert out.count("no range join") == 2
    assert out.count("rows out       2") == 4


def test_the_real_data_are_written_once_with_timestamps(
    spark: SparkSession, tmp_path: Path
) -> None:
    flights, weather = data.prepare(tmp_path)
    written = (flights / "part-00.parquet").stat().st_mtime_ns
    assert data.prepare(tmp_path) == (flights, weather)
    assert (flights / "part-00.parquet").stat().st_mtime_ns == written
    table = spark.read.parquet(str(flights))
    assert table.count() == data.FLIGHTS
    assert dict(table.dtypes)["time_hour"] == "timestamp"
    first = spark.read.parquet(str(weather)).selectExpr("CAST(min(time_hour) AS STRING)").first()
    assert first is not None
    assert first[0] == "2013-01-01 06:00:00"


def test_without_its_extra_the_demo_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    assert main(["demo", "--output-dir", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert "pyarrow, matplotlib: pip install 'spark-range-join[demo]'" in message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], SHORT),
        (["--full"], FULL),
        (["--hours", "1", "2", "--runs", "2"], Extent((1, 2), 2, 30.0, (extent.WEEK,))),
        (["--full", "--limit", "9"], Extent((1, 3, 24), 3, 9, (extent.JANUARY, extent.YEAR))),
    ],
)
def test_what_is_run_is_chosen_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: Extent
) -> None:
    asked: list[tuple[Extent, Path, str]] = []
    monkeypatch.setattr("rangejoin.demo.run_demo", lambda *given: asked.append(given))
    assert main(["demo", *arguments]) == 0
    assert asked == [(expected, Path("demo-output"), "columns")]


def test_the_demo_says_how_long_it_may_take_and_how_to_repeat_it() -> None:
    assert "stopped after 30 s: less than three minutes on two cores." in SHORT.words
    assert "±1 h, ±3 h, ±24 h, 3 runs of each join" in FULL.words
    assert Extent((1,), 1, None, (extent.WEEK,)).words.endswith("run to their end.")
    repeated = "rangejoin demo --hours 3 --runs 1 --limit 30 --bounds columns"
    assert job._command(SHORT, "columns") == repeated
    repeated = "rangejoin demo --full --hours 1 3 24 --runs 3 --bounds inline"
    assert job._command(FULL, "inline") == repeated


@pytest.mark.parametrize("arguments", [["--hours", "0"], ["--runs", "-1"], ["--runs", "x"]])
def test_numbers_out_of_range_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", *arguments])
    assert arguments[0] in capsys.readouterr().err
