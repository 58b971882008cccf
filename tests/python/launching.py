"""Runs a job in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from rangejoin import EXTENSION_CLASS

JOB = str(Path(__file__).with_name("launched_job.py"))
TABLE_JOB = str(Path(__file__).with_name("table_job.py"))
SUBMIT = str(Path(_find_spark_home(), "bin", "spark-submit"))
EXTENSIONS = f"spark.sql.extensions={EXTENSION_CLASS}"
ROWS = 2 * (3 * 5 - 2)


def launch(folder: Path, *command: str, **environment: str) -> tuple[Any, str]:
    """Runs a job in `folder`; returns its report and what it wrote on standard error."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYSPARK_", "SPARK_"))
    }
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        command,
        cwd=folder,
        env=inherited | python | {"SPARK_CONF_DIR": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    assert done.returncode == 0, done.stderr
    return json.loads(lines[-1].removeprefix("REPORT ")), done.stderr


def assert_active(report: dict[str, Any]) -> None:
    assert report["check"] == "active"
    assert report["ranged"]
    assert report["rows"] == ROWS
