"""Range joins beside Apache DataFusion Comet: native scans and shuffles around them.

A session is started with the very command of docs/comet.md. Each case runs three times in it: with
Comet and range joins, with Comet alone, and on stock Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from comet_job import AGGREGATES, QUERIES
from fenced import blocks, commands
from launching import SUBMIT, launch
from lines import LINE
from neighbours import jars_of

from rangejoin import EXTENSION_CLASS, jar_path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = "docs/comet.md"
JOB = str(Path(__file__).with_name("comet_job.py"))
COMET = "org.apache.comet.CometSparkSessionExtensions"
DEFAULTS = """
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.log.level WARN
"""
TO_ROWS = ("ColumnarToRow", "CometColumnarToRow", "CometNativeColumnarToRow")
SCANS = ("CometNativeScan", "CometScan")
SHUFFLES = ("CometExchange", "CometColumnarExchange")

# What joins of a case are, where not sort-merge range joins.
NODES = {
    "broadcast": "BroadcastRangeJoin",
    "broadcast left": "BroadcastRangeJoin",
    "broadcast without a key": "BroadcastRangeJoin",
    "shuffled": "ShuffledRangeJoin",
}
AS_OF = ["as of", "as of doubles", "as of strings"]
NAMES = [*QUERIES, *AS_OF]


def session_of(folder: Path, extensions: str, *names: str) -> Any:
    """What the job reports of cases, in a session started as the page says."""
    (comet,) = jars_of("comet")
    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    (page,) = (block for block in blocks(REPOSITORY / PAGE, PAGE) if block.language == "sh")
    (words,) = commands(page.text)
    program, *words = (
        word.replace("$(rangejoin jar)", jar_path())
        .replace("$COMET_JAR", comet)
        .replace(f"={EXTENSION_CLASS}", f"={extensions}")
        for word in words
    )
    assert (program, words.pop()) == ("spark-submit", "job.py")
    assert f"spark.sql.extensions={extensions}" in words
    report, _ = launch(folder, SUBMIT, "--master", "local[2]", *words, JOB, *names)
    return report


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report of all cases, where Comet's plug-in adds its extension behind ours."""
    return session_of(tmp_path_factory.mktemp("comet"), EXTENSION_CLASS)


def test_the_documented_session_has_range_joins(documented: Any) -> None:
    assert documented["check"] == "active"
    assert len(documented["cases"]) == 2 * len(NAMES)


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("name", NAMES)
def test_a_range_join_between_native_nodes(documented: Any, name: str, adaptive: str) -> None:
    case = documented["cases"][f"{name}, adaptive {adaptive}"]
    nodes = case["nodes"]
    assert case["as comet"], "rows are not those of Comet without range joins"
    assert case["as stock"], "rows are not those of stock Spark"
    assert case["rows"] > 1
    assert nodes.count(NODES.get(name, "SortMergeRangeJoin")) == 1
    # Scans stay native, as without range joins.
    assert sum(map(nodes.count, SCANS)) == sum(map(case["nodes alone"].count, SCANS)) > 1
    assert not any("RangeJoin" in node for node in case["nodes alone"])


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("name", ["inner", "left", "full", "semi", "anti", "shuffled", "strings"])
def test_each_side_becomes_rows_once(documented: Any, name: str, adaptive: str) -> None:
    nodes = documented["cases"][f"{name}, adaptive {adaptive}"]["nodes"]
    assert sum(map(nodes.count, TO_ROWS)) == 2
    assert sum(map(nodes.count, SHUFFLES)) == 2
    assert "RowToColumnar" not in nodes


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("columns", ["l.id", "l.b", "l.k, l.s"])
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_in_the_join(documented: Any, name: str, columns: str, adaptive: str) -> None:
    case = documented["cases"][f"{name} by {columns}, adaptive {adaptive}"]
    assert "AggregateMatches" in case["nodes"]


@pytest.mark.skipif(LINE == "3.5", reason="Comet 0.12 takes no buffers of Spark")
def test_some_final_aggregates_are_those_of_comet(documented: Any) -> None:
    nodes = documented["cases"]["whole sums by l.id, adaptive true"]["nodes"]
    assert nodes.index("CometHashAggregate") < nodes.index("AggregateMatches")


def test_a_correlation_of_one_value_raises_what_it_raises_in_stock_spark(documented: Any) -> None:
    found = documented["correlation of one value"]
    for ansi in (True, False):
        ours, stock = found[f"ours, ansi {ansi}"], found[f"stock, ansi {ansi}"]
        assert ours == stock
        assert (ours == "DIVIDE_BY_ZERO") == ansi


# Adaptive execution plans the ranking again, above shuffles in which Comet's nodes number the rows.
@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("name", ["as of", "as of doubles"])
def test_best_matches_are_ranked_in_the_join(documented: Any, name: str, adaptive: str) -> None:
    nodes = documented["cases"][f"{name}, adaptive {adaptive}"]["nodes"]
    assert "RankMatches" in nodes
    assert not any("Window" in node for node in nodes)


@pytest.fixture(scope="module")
def comet_first(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Likewise of some cases, with Comet's extension before ours."""
    names = ("inner", "full", "broadcast", "whole sums by l.id")
    return session_of(tmp_path_factory.mktemp("comet"), f"{COMET},{EXTENSION_CLASS}", *names)


def test_behind_comet_there_are_no_range_joins_and_check_says_so(
    comet_first: Any,
) -> None:
    assert f"lists {COMET} before {EXTENSION_CLASS}" in comet_first["check"]
    for name, case in comet_first["cases"].items():
        assert case["as comet"], name
        assert case["as stock"], name
        # Comet 0.12 takes no sort-merge join that has a condition, unless it is asked to.
        ours = LINE == "3.5" and "broadcast" not in name
        assert any("RangeJoin" in node for node in case["nodes"]) == ours, name
