"""One Spark session for all tests, built the way a user would; and helpers shared by them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import JVM_OPTIONS
from pyspark import SparkContext
from pyspark.sql import SparkSession

import rangejoin

REPOSITORY = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs Spark to run, and what has it run in a process of its own.

    `make check` leaves out the one; `make test-python` runs the other beside the rest.
    """
    for item in items:
        launches = hasattr(getattr(item, "module", None), "launch")
        shares_session = "spark" in getattr(item, "fixturenames", ())
        if launches or shares_session:
            item.add_marker("spark")
        if launches and not shares_session:
            item.add_marker("launches")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with the extension, two shuffle partitions and no broadcasts."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("rangejoin tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.unsafe.exceptionOnMemoryLeak", "true")
    )
    # Python workers need pandas and PyArrow as well.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_SUBMIT_OPTS"] = JVM_OPTIONS
    session = rangejoin.configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def outside_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes this process look as if no JVM ran and nothing were configured.

    Returns:
        The folder that stands for `SPARK_CONF_DIR`; empty.
    """
    monkeypatch.setattr(SparkContext, "_jvm", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path
