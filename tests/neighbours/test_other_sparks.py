"""The wheel in other releases of Spark: it works in 4.2.x and steps aside in all others."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import JOB, ROWS, assert_active, launch

REPOSITORY = Path(__file__).resolve().parents[2]
WARNING = "spark-range-join is built for Spark 4.2 and this is Spark {}: joins are planned by stock"


def run(folder: Path, version: str) -> tuple[dict[str, object], str]:
    """Runs the job in the environment of a release; returns its report and standard error."""
    python = str(REPOSITORY / f".venv-spark-{version}" / "bin" / "python")
    assert Path(python).exists(), f"there is no {python}: run `make test-neighbours`"
    own = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    (report,), errors = launch(folder, python, JOB, "configure", **own)
    return report, errors


# 3.5 is of Scala 2.12, the others are of 2.13.
@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4", "4.3.0"])
def test_another_release_is_left_to_stock_spark_with_one_warning(
    tmp_path: Path, version: str
) -> None:
    report, errors = run(tmp_path, version)
    assert errors.count(WARNING.format(version)) == 1
    assert str(report["check"]).startswith(f"Spark is {version}, the range join works in 4.2.x")
    assert not report["ranged"]
    assert report["rows"] == ROWS


@pytest.mark.parametrize("version", ["4.2.1"])
def test_a_later_release_of_the_same_line_has_range_joins(tmp_path: Path, version: str) -> None:
    report, _ = run(tmp_path, version)
    assert_active(report)
