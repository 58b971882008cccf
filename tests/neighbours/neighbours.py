"""Other software for the line of Spark that tests run on, as jars.txt has it; joins beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from launching import JVM_OPTIONS
from lines import LINE
from pyspark.sql import DataFrame, SparkSession
from settings import set_to

import rangejoin

TABLE = Path(__file__).with_name("jars.txt")
COPIES = Path(__file__).resolve().parents[2] / ".tools" / "neighbours" / LINE
TABLE_FORMATS = ("delta", "iceberg")
NODE = "SortMergeRangeJoin"

Rows = Counter[tuple[object, ...]]


def coordinates(software: str) -> list[str]:
    """The rows of the table for a software on this line; none where it has no release for it."""
    rows = (line.split() for line in TABLE.read_text(encoding="utf-8").splitlines())
    return [row[2] for row in rows if row[:2] == [LINE, software]]


def jars_of(software: str) -> list[str]:
    """The paths of the jars of a software; skips the test where it has none for this line."""
    wanted = coordinates(software)
    if not wanted:
        pytest.skip(f"jars.txt has no {software} for Spark {LINE}")
    paths = [
        COPIES / software / "{1}-{2}.jar".format(*coordinate.split(":")) for coordinate in wanted
    ]
    missing = [str(path) for path in paths if not path.exists()]
    assert not missing, f"there is no {', '.join(missing)}: run `make test-neighbours LINE={LINE}`"
    return [str(path) for path in paths]


@contextmanager
def table_session(
    folder: Path, software: str, extension: str, settings: dict[str, str]
) -> Iterator[SparkSession]:
    """A session with range joins beside a table format; skips where it is not for this line.

    The JVM stays for the sessions of other modules, so it has the jars of all table formats.
    """
    jars_of(software)
    jars = [jar for name in TABLE_FORMATS if coordinates(name) for jar in jars_of(name)]
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(f"rangejoin beside {software}")
        .config("spark.jars", ",".join(jars))
        .config("spark.sql.extensions", extension)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
    for key, value in settings.items():
        builder.config(key, value)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_SUBMIT_OPTS", JVM_OPTIONS)
        session = rangejoin.configure(builder).getOrCreate()
    # The JVM has the settings of its first session as properties: later ones would have them too.
    jvm: Any = session.sparkContext._jvm
    for key in settings:
        jvm.java.lang.System.clearProperty(key)
    yield session
    session.stop()


@dataclass(frozen=True)
class Ran:
    """A query that has run, with the plan that it had before."""

    plan: str
    rows: Rows
    files: list[int]
    """How many files each table of the plan was read from, where its format counts them."""

    @property
    def shuffles(self) -> int:
        """How many exchanges the plan has; of broadcasts, too."""
        return self.plan.count("Exchange ")

    @property
    def sorts(self) -> int:
        """How many sorts the plan has."""
        return self.plan.count("Sort [")


def ran(df: DataFrame) -> Ran:
    """Runs a query."""
    jdf: Any = df._jdf
    executed = jdf.queryExecution().executedPlan()
    plan = str(executed.toString())
    rows = Counter(tuple(row) for row in df.collect())
    leaves = executed.collectLeaves()
    files = [_files(leaves.apply(index)) for index in range(leaves.size())]
    return Ran(plan, rows, [count for count in files if count is not None])


def _files(leaf: Any) -> int | None:
    """How many files a scan read, by the metric of Iceberg or of Spark and Delta Lake."""
    metrics = leaf.metrics()
    for name in ("numSplits", "numFiles"):
        if metrics.contains(name):
            return int(metrics.apply(name).value())
    return None


def both(spark: SparkSession, query: str, node: str = NODE, **settings: str) -> tuple[Ran, Ran]:
    """Runs a query with range joins and without; they give the same rows, and not none."""
    with set_to(spark, settings):
        ours = ran(spark.sql(query))
        with set_to(spark, {rangejoin.ENABLED_CONF: "false"}):
            stock = ran(spark.sql(query))
    assert node in ours.plan
    assert "RangeJoin" not in stock.plan
    assert ours.rows == stock.rows
    assert ours.rows.total() > 0
    return ours, stock
