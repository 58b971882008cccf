"""Other releases of Spark: each line has its jar, and a jar in another line steps aside."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import JOB, ROWS, assert_active, launch

from rangejoin import EXTENSION_CLASS, jar_path

REPOSITORY = Path(__file__).resolve().parents[2]
WARNING = "spark-range-join is built for Spark 4.2 and this is Spark {}: joins are planned"


def python_of(version: str) -> str:
    """The interpreter of the environment of a release, with the wheel of its line."""
    python = str(REPOSITORY / f".venv-spark-{version}" / "bin" / "python")
    assert Path(python).exists(), f"there is no {python}: run `make test-neighbours`"
    return python


def run(folder: Path, version: str, *words: str, **own: str) -> tuple[dict[str, object], str]:
    """Runs the job in the environment of a release; returns its report and standard error."""
    python = python_of(version)
    own |= {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    (report,), errors = launch(folder, python, JOB, *words, **own)
    return report, errors


# 3.5 is of Scala 2.12, the others are of 2.13; 4.2.1 is no release that a jar was compiled against.
@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"])
def test_a_release_of_every_line_has_range_joins(tmp_path: Path, version: str) -> None:
    report, errors = run(tmp_path, version, "configure")
    assert_active(report)
    assert "spark-range-join is built for" not in errors


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4"])
def test_a_jar_in_another_line_leaves_joins_to_stock_spark_with_one_warning(
    tmp_path: Path, version: str
) -> None:
    extensions = f"spark.sql.extensions={EXTENSION_CLASS}"
    arguments = f"--jars {jar_path()} --conf {extensions} pyspark-shell"
    report, errors = run(tmp_path, version, PYSPARK_SUBMIT_ARGS=arguments)
    assert errors.count(WARNING.format(version)) == 1
    assert f"the jar is for another Spark than {version}" in str(report["check"])
    assert not report["ranged"]
    assert report["rows"] == ROWS
