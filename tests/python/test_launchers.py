"""The extension through `spark-submit`, configuration alone, and restarts; a process each."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from launching import EXTENSIONS, JOB, ROWS, SUBMIT, assert_active, launch

from rangejoin import EXTENSION_CLASS, jar_path


@pytest.fixture
def other_jar(tmp_path: Path) -> str:
    """A jar that has nothing to do with ours."""
    path = tmp_path / "other.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("other.txt", "")
    return str(path)


@pytest.mark.parametrize(
    "jars", ["--jars {}", pytest.param("--conf spark.jars={}", marks=pytest.mark.slow)]
)
def test_spark_submit_with_a_jar_and_the_conf_needs_no_call(tmp_path: Path, jars: str) -> None:
    given = jars.format(jar_path()).split()
    (report,), _ = launch(tmp_path, SUBMIT, *given, "--conf", EXTENSIONS, JOB)
    assert_active(report)


def test_configure_under_spark_submit_keeps_what_was_submitted(
    tmp_path: Path, other_jar: str
) -> None:
    other = ["--jars", other_jar, "--conf", "spark.sql.extensions=x.Missing"]
    (report,), _ = launch(tmp_path, SUBMIT, *other, JOB, "configure")
    assert_active(report)
    assert [Path(jar).name for jar in report["jars"].split(",")] == [
        "other.jar",
        Path(jar_path()).name,
    ]
    assert report["extensions"] == f"x.Missing,{EXTENSION_CLASS}"


def test_configure_in_plain_python_keeps_submit_arguments_and_defaults(
    tmp_path: Path, other_jar: str
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.extensions x.Missing\n")
    arguments = f"--jars {other_jar} pyspark-shell"
    (report,), _ = launch(tmp_path, sys.executable, JOB, "configure", PYSPARK_SUBMIT_ARGS=arguments)
    assert_active(report)
    assert report["jars"] == f"{other_jar},{jar_path()}"
    assert report["extensions"] == f"x.Missing,{EXTENSION_CLASS}"


def test_a_running_session_stays_stock_until_it_is_restarted(tmp_path: Path) -> None:
    (before, during, after), errors = launch(tmp_path, sys.executable, JOB, "restart")
    for report in (before, during):
        assert "spark.sql.extensions does not list" in report["check"]
        assert not report["ranged"]
        assert report["rows"] == ROWS
    assert "Spark already runs without the range join extension" in errors
    assert_active(after)


def test_a_listed_extension_without_its_jar_is_told_apart(tmp_path: Path) -> None:
    (report,), errors = launch(tmp_path, SUBMIT, "--conf", EXTENSIONS, JOB)
    assert f"Cannot use {EXTENSION_CLASS} to configure session extensions" in errors
    assert "the driver has no such class" in report["check"]
    assert "--jars" in report["check"]
    assert not report["ranged"]
    assert report["rows"] == ROWS
