"""What the demo writes: a table, a chart, and results for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rangejoin.demo import airborne, contest, extent, latest, report
from rangejoin.demo.airborne import Airborne
from rangejoin.demo.contest import Band, Timing
from rangejoin.demo.latest import Latest

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
    extent.JANUARY: Airborne(
        26_398,
        3_255_948,
        {
            airborne.STOCK: Timing("CartesianProduct", [9.0]),
            airborne.BINS: Timing("SortMergeJoin", [2.0]),
            airborne.RANGE: Timing("SortMergeRangeJoin", [1.0, 0.5]),
            airborne.COUNTED: Timing("SortMergeRangeJoin", [0.25]),
        },
    ),
    extent.YEAR: Airborne(
        327_346,
        40_978_104,
        {
            airborne.BINS: Timing("SortMergeJoin", [5.0]),
            airborne.RANGE: Timing("SortMergeRangeJoin", [2.5]),
        },
    ),
}

REPORTS = {
    extent.WEEK: Latest(
        6_064,
        {
            latest.RANKED: Timing("BroadcastHashJoin", [30.0], stopped=True),
            latest.LAST: Timing("", [1.0]),
            latest.ASOF: Timing("BroadcastRangeJoin", [0.5]),
        },
    )
}


def test_results_are_written_for_readers_and_for_programs(tmp_path: Path) -> None:
    measured = report.Measured(BANDS, 2_931_609_351, PARTS, REPORTS)
    report.write_results(tmp_path, measured, FACTS, "rangejoin demo --runs 3")
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "`rangejoin demo --runs 3`, 2 cores, Linux, Spark 4.2.0" in text
    assert "2,931,609,351 pairs" in text
    assert report.table(BANDS) in text
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert "| January | 26,398 | 3,255,948 | 9.00 s | 2.00 s | 0.75 s | 0.25 s |" in text
    assert "| the year | 327,346 | 40,978,104 | not run | 5.00 s | 2.50 s | not run |" in text
    assert "| a week | 6,064 | > 30 s | 1.00 s | 0.50 s |" in text
    assert content["latest"]["a week"]["contestants"]["join_asof"]["seconds"] == [0.5]
    assert content["airborne"]["the year"]["contestants"]["range join"]["seconds"] == [2.5]
    assert content["machine"] == FACTS
    assert content["bands"][0]["contestants"]["range join, sort-merge"] == {
        "operator": "SortMergeRangeJoin",
        "stopped": False,
        "seconds": [0.5, 2.0, 1.0],
        "median_seconds": 1.0,
    }


STOPPED = [
    Band(
        3,
        2_346_286,
        {
            "stock default": Timing("BroadcastHashJoin", [30.0], stopped=True),
            "stock sort-merge": Timing("SortMergeJoin", [18.0]),
            "range join, default": Timing("BroadcastRangeJoin", [1.0]),
            "range join, sort-merge": Timing("SortMergeRangeJoin", [2.0]),
        },
    )
]


def test_a_join_that_was_stopped_is_shown_as_one_that_takes_longer(tmp_path: Path) -> None:
    row = report.table(STOPPED).splitlines()[-1]
    assert [cell.strip() for cell in row.strip("|").split("|")][2:] == [
        *("> 30 s (stopped)", "18.00 s (1 run)", "1.00 s (1 run)", "2.00 s (1 run)"),
        *("> 30.0x", "9.0x"),
    ]
    part = Airborne(9, 9, {airborne.STOCK: Timing("CartesianProduct", [30.0], stopped=True)})
    none = "not run | not run | not run |"
    assert f"| a week | 9 | 9 | > 30 s | {none}" in airborne.table({extent.WEEK: part})
    assert report._labels(STOPPED, "stock default") == ["↑\n> 30 s"]
    report.write_results(tmp_path, report.Measured(STOPPED, 1, {}, {}), FACTS, "rangejoin demo")
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert content["bands"][0]["contestants"]["stock default"]["stopped"] is True


@pytest.mark.parametrize("bands", [BANDS, BANDS[:1], STOPPED])
def test_the_chart_is_a_png(tmp_path: Path, bands: list[Band]) -> None:
    path = tmp_path / "times.png"
    report.write_chart(path, bands, report.machine_line(FACTS))
    assert path.read_bytes().startswith(b"\x89PNG")
