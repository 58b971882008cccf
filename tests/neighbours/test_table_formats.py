"""Range joins beside the extension of a table format, in either order.

Iceberg has no release for Spark 4.2: version 1.12.0, for 4.1, fails there at the first query, and
so does its catalog without the extension (`SparkView can not implement ... View, because it is not
an interface`).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import SUBMIT, TABLE_JOB, launch

from rangejoin import EXTENSION_CLASS, jar_path

JARS = Path(__file__).resolve().parents[2] / ".tools" / "neighbours"
JOINS = {"INNER": 1, "LEFT": 1, "FULL": 1, "LEFT ANTI": 1}

DELTA = "io.delta.sql.DeltaSparkSessionExtension"


def run(folder: Path, jars: list[str], extensions: list[str], clause: str, *more: str) -> object:
    """Runs the job on tables of a format; returns its numbers of range joins."""
    settings = [
        f"spark.sql.extensions={','.join(extensions)}",
        f"spark.sql.warehouse.dir={folder / 'warehouse'}",
        "spark.sql.autoBroadcastJoinThreshold=-1",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
        *more,
    ]
    conf = [word for setting in settings for word in ("--conf", setting)]
    command = [SUBMIT, "--jars", ",".join(jars), *conf, TABLE_JOB, clause, "merge"]
    return launch(folder, *command)[0]


def copied(*prefixes: str) -> list[str]:
    """Returns the paths of the copied jars whose names begin so."""
    found = sorted(JARS.glob("*.jar"))
    for prefix in prefixes:
        assert any(jar.name.startswith(prefix) for jar in found), f"no {prefix} jar in {JARS}"
    return [str(jar) for jar in found if jar.name.startswith(prefixes)]


def in_order(other: str, ours_first: bool) -> list[str]:
    return [EXTENSION_CLASS, other] if ours_first else [other, EXTENSION_CLASS]


@pytest.mark.parametrize("ours_first", [True, False])
def test_delta_lake(tmp_path: Path, ours_first: bool) -> None:
    jars = copied("delta-", "unitycatalog-")
    jars = [jar_path(), *jars] if ours_first else [*jars, jar_path()]
    found = run(
        tmp_path,
        jars,
        in_order(DELTA, ours_first),
        "USING delta",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions=2",
    )
    # MERGE reads its two tables twice: for the files it touches, and for the rows it writes.
    assert found == JOINS | {"MERGE, ours": 2, "MERGE, stock": 0}
