"""Range joins beside the extension of a table format, in either order."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import SUBMIT, TABLE_JOB, launch
from neighbours import jars_of

from rangejoin import EXTENSION_CLASS, jar_path

DELTA = "io.delta.sql.DeltaSparkSessionExtension"


@pytest.mark.parametrize("ours_first", [True, False])
def test_delta_lake(tmp_path: Path, ours_first: bool) -> None:
    jars = [jar_path(), *jars_of("delta")]
    extensions = [EXTENSION_CLASS, DELTA]
    if not ours_first:
        jars.reverse()
        extensions.reverse()
    settings = [
        f"spark.sql.extensions={','.join(extensions)}",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions=2",
        f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}",
        "spark.sql.autoBroadcastJoinThreshold=-1",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
    ]
    conf = [word for setting in settings for word in ("--conf", setting)]
    command = [SUBMIT, "--jars", ",".join(jars), *conf, TABLE_JOB, "USING delta", "merge"]
    found, _ = launch(tmp_path, *command)
    # MERGE reads its two tables twice: for the files it touches, and for the rows it writes.
    assert found == {
        "INNER": 1,
        "LEFT": 1,
        "FULL": 1,
        "LEFT ANTI": 1,
        "MERGE, ours": 2,
        "MERGE, stock": 0,
    }
