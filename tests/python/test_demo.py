"""The demo on small data, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from rangejoin import ENABLED_CONF, RangeJoinError
from rangejoin.cli import main
from rangejoin.demo import airborne, contest, data, job, report
from rangejoin.demo.airborne import Airborne
from rangejoin.demo.contest import Band, Timing

FACTS = {"cores": "2", "system": "Linux", "spark": "4.2.0", "python": "3.11", "java": "17"}


def band(hours: int, rows: int, *seconds: list[float]) -> Band:
    operators = ("BroadcastHashJoin", "SortMergeJoin", "BroadcastRangeJoin", "SortMergeRangeJoin")
    names = [contestant.name for contestant in contest.CONTESTANTS]
    timings = (Timing(*pair) for pair in zip(operators, seconds, strict=True))
    return Band(hours, rows, dict(zip(names, timings, strict=True)))


BANDS = [
    band(1, 1_005_708, [20.0, 22.0, 21.0], [63.0], [0.5, 0.25, 0.5], [0.5, 2.0, 1.0]),
    band(24, 16_395_369, [30.0, 30.0], [90.0], [2.0, 2.0], [4.0, 4.0]),
]


def test_the_table_shows_medians_runs_and_ratios() -> None:
    rows = report.table(BANDS).splitlines()
    assert len({len(row) for row in rows}) == 1
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells[0][2:] == [
        "stock default (BroadcastHashJoin)",
        "stock sort-merge (SortMergeJoin)",
        "range join, default (BroadcastRangeJoin)",
        "range join, sort-merge (SortMergeRangeJoin)",
        "stock default / range join, default",
        "stock sort-merge / range join, sort-merge",
    ]
    assert cells[2] == [
        *("±1 h", "1,005,708", "21.00 s (3 runs)", "63.00 s (1 run)"),
        *("0.50 s (3 runs)", "1.00 s (3 runs)", "42.0x", "63.0x"),
    ]
    assert cells[3][-2:] == ["15.0x", "22.5x"]


PARTS = {
    airborne.JANUARY: Airborne(
        26_398,
        3_255_948,
        {
            airborne.STOCK: Timing("CartesianProduct", [9.0]),
            airborne.BINS: Timing("SortMergeJoin", [2.0]),
            airborne.RANGE: Timing("SortMergeRangeJoin", [1.0, 0.5]),
        },
    ),
    airborne.YEAR: Airborne(
        327_346,
        40_978_104,
        {
            airborne.BINS: Timing("SortMergeJoin", [5.0]),
            airborne.RANGE: Timing("SortMergeRangeJoin", [2.5]),
        },
    ),
}


def test_results_are_written_for_readers_and_for_programs(tmp_path: Path) -> None:
    report.write_results(tmp_path, BANDS, FACTS, "rangejoin demo --runs 3", 2_931_609_351, PARTS)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "`rangejoin demo --runs 3`, 2 cores, Linux, Spark 4.2.0" in text
    assert "2,931,609,351 pairs" in text
    assert report.table(BANDS) in text
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert "| January | 26,398 | 3,255,948 | 9.00 s | 2.00 s | 0.75 s |" in text
    assert "| the year | 327,346 | 40,978,104 | not run | 5.00 s | 2.50 s |" in text
    assert content["airborne"]["the year"]["contestants"]["range join"]["seconds"] == [2.5]
    assert content["machine"] == FACTS
    assert content["bands"][0]["contestants"]["range join, sort-merge"] == {
        "operator": "SortMergeRangeJoin",
        "seconds": [0.5, 2.0, 1.0],
        "median_seconds": 1.0,
    }


@pytest.mark.parametrize("bands", [BANDS, BANDS[:1]])
def test_the_chart_is_a_png(tmp_path: Path, bands: list[Band]) -> None:
    path = tmp_path / "times.png"
    report.write_chart(path, bands, report.machine_line(FACTS))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_first_run_over_a_minute_is_enough() -> None:
    assert Timing("", [60.1]).is_slow
    assert not Timing("", [59.9, 70.0]).is_slow
    assert not Timing().is_slow


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
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_flights_that_took_off_while_another_was_in_the_air(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    flights = spark.sql("""
        SELECT * FROM VALUES
            (1, TIMESTAMP'2013-01-02 05:00:00', 0, -10.0, 130.0, 100),
            (1, TIMESTAMP'2013-01-02 06:00:00', 50, 0.0, 20.0, 200),
            (1, TIMESTAMP'2013-01-02 07:00:00', 0, 0.0, 10.0, 400),
            (1, TIMESTAMP'2013-01-02 07:00:00', 0, CAST(NULL AS DOUBLE), 10.0, 800),
            (2, TIMESTAMP'2013-01-02 07:00:00', 30, 0.0, 10.0, 1600)
        AS t(month, time_hour, minute, dep_delay, air_time, distance)""")
    before = spark.conf.get(contest.THRESHOLD_CONF)
    try:
        parts = airborne.measure(spark, flights, runs=1)
    finally:
        spark.conf.set(contest.THRESHOLD_CONF, str(before))
        spark.conf.unset(ENABLED_CONF)
    # From 4:50 to 7:00, 6:50 to 7:10, and 7:00 to 7:10; each with itself.
    assert (parts["January"].flights, parts["January"].pairs) == (3, 6)
    assert (parts["the year"].flights, parts["the year"].pairs) == (4, 7)
    out = capsys.readouterr().out
    assert "CartesianProduct" in out
    assert out.count("rangejoin.explain:\n1. SortMergeRangeJoin, INNER") == 2


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


@pytest.mark.parametrize("arguments", [["--hours", "0"], ["--runs", "-1"], ["--runs", "x"]])
def test_numbers_out_of_range_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", *arguments])
    assert arguments[0] in capsys.readouterr().err
