"""Runs a job in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from rangejoin import EXTENSION_CLASS

JOB = str(Path(__file__).with_name("launched_job.py"))
TABLE_JOB = str(Path(__file__).with_name("table_job.py"))
SUBMIT = str(Path(_find_spark_home(), "bin", "spark-submit"))
EXTENSIONS = f"spark.sql.extensions={EXTENSION_CLASS}"
# A job is over before the JVM's second compiler pays, and before it has much to collect.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
TIMEOUT_SECONDS = 600
ROWS = 2 * (3 * 5 - 2)


def launch(folder: Path, *command: str, **environment: str) -> tuple[Any, str]:
    """Runs a job in `folder`; returns its report and what it wrote on standard error."""
    done = _run(folder, command, environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(lines[-1].removeprefix("REPORT ")), done.stderr


def fail(folder: Path, *command: str, **environment: str) -> str:
    """Runs a job that has to fail in `folder`; returns all it wrote.

    `spark-submit` puts what Python wrote on standard error into its standard output.
    """
    done = _run(folder, command, environment)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def _run(
    folder: Path, command: Sequence[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYSPARK_", "SPARK_"))
    }
    python = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": JVM_OPTIONS,
    }
    return subprocess.run(
        command,
        cwd=folder,
        env=inherited | python | {"SPARK_CONF_DIR": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def assert_active(report: dict[str, Any]) -> None:
    assert report["check"] == "active"
    assert report["ranged"]
    assert report["rows"] == ROWS
