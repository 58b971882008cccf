"""Range joins of tables of a Hive metastore, whose database is a server that applications share."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launching import launch
from neighbours import jars_of
from pyspark.find_spark_home import _find_spark_home
from services import free_port, service

JOB = str(Path(__file__).with_name("metastore_job.py"))
HELPERS = str(Path(__file__).resolve().parents[1] / "python")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The JDBC address of a Derby server, with a database that is made on first use."""
    folder = tmp_path_factory.mktemp("database")
    port = free_port()
    of_spark = sorted(Path(_find_spark_home(), "jars").glob("derby*.jar"))
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else str(shutil.which("java"))
    server = [
        java,
        f"-Dderby.system.home={folder}",
        "-cp",
        os.pathsep.join([*map(str, of_spark), *jars_of("derby")]),
        "org.apache.derby.drda.NetworkServerControl",
        "start",
        *("-h", "127.0.0.1", "-p", str(port), "-noSecurityManager"),
    ]
    with service(folder, "started and ready to accept connections", *server):
        yield f"jdbc:derby://127.0.0.1:{port}/metastore;create=true"


@pytest.fixture(scope="module")
def reports(database: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What two applications report, one after the other: of the first, the tables."""
    folder = tmp_path_factory.mktemp("metastore")
    own = {"DATABASE_JARS": os.pathsep.join(jars_of("derby")), "PYTHONPATH": HELPERS}
    return {
        what: launch(folder, sys.executable, JOB, database, str(folder), what, **own)[0]
        for what in ("write", "alter")
    }


APPLICATIONS = pytest.mark.parametrize("application", ["write", "alter"])
TYPES = pytest.mark.parametrize("how", ["INNER", "LEFT", "FULL", "LEFT ANTI"])


@APPLICATIONS
@TYPES
def test_tables_in_buckets_are_joined_without_a_shuffle(
    reports: dict[str, Any], application: str, how: str
) -> None:
    join = reports[application][f", {how}"]
    assert join["node"] == "SortMergeRangeJoin"
    assert (join["shuffles"], join["shuffles of stock"], join["sorts"]) == (0, 0, 2)
    assert join["rows"] > 20


@APPLICATIONS
@TYPES
def test_prepared_tables_are_joined_without_a_shuffle_and_without_a_sort(
    reports: dict[str, Any], application: str, how: str
) -> None:
    join = reports[application][f"_prepared, {how}"]
    assert join["node"] == "SortMergeRangeJoin"
    assert (join["shuffles"], join["sorts"]) == (0, 0)
    assert join["rows"] == reports[application][f", {how}"]["rows"]


@APPLICATIONS
@TYPES
def test_tables_of_hive_are_joined(reports: dict[str, Any], application: str, how: str) -> None:
    join = reports[application][f"_of_hive, {how}"]
    assert join["node"] == "SortMergeRangeJoin"
    assert (join["shuffles"], join["shuffles of stock"]) == (2, 2)
    assert join["rows"] == reports[application][f", {how}"]["rows"]


@APPLICATIONS
def test_partitions_are_pruned_by_the_other_side(reports: dict[str, Any], application: str) -> None:
    assert reports[application]["partitions"]["node"] == "SortMergeRangeJoin"
    some = reports[application]["some partitions"]
    assert (some["node"], some["prunes"]) == ("BroadcastRangeJoin", True)
    assert 0 < some["rows"] < reports[application]["partitions"]["rows"]


def test_statistics_of_a_column_have_the_few_rows_broadcast(reports: dict[str, Any]) -> None:
    altered = reports["alter"]
    assert altered["not analyzed"]["node"] == "SortMergeRangeJoin"
    assert altered["statistics"].endswith(", 80 rows")
    assert altered["analyzed"]["node"] == "BroadcastRangeJoin"


def test_partitions_that_are_dropped_added_and_renamed(reports: dict[str, Any]) -> None:
    altered = reports["alter"]
    everything = altered["partitions"]["rows"]
    assert 0 < altered["a partition less"]["rows"] < everything
    assert altered["the partition again"]["rows"] == everything
    # None of the other side has that day.
    assert 0 < altered["a partition of another name"]["rows"] < everything


def test_a_prepared_table_is_altered_and_stays_prepared(reports: dict[str, Any]) -> None:
    altered = reports["alter"]
    for change in ("a column more", "appended", "renamed"):
        join = altered[change]
        assert join["node"] == "SortMergeRangeJoin", change
        assert (join["shuffles"], join["sorts"]) == (0, 0), change
    before = altered["_prepared, LEFT"]["rows"]
    assert altered["a column more"]["rows"] == before
    assert altered["appended"]["rows"] == altered["renamed"]["rows"] == before + 100
