"""Range joins beside the extension of a table format, in either order."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import SUBMIT, TABLE_JOB, launch
from neighbours import jars_of
from settings import conf

from rangejoin import EXTENSION_CLASS, jar_path

EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def catalog(software: str, folder: Path) -> list[str]:
    """The settings of a catalog of tables below `folder`."""
    if software == "delta":
        return [
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions=2",
            f"spark.sql.warehouse.dir={folder / 'warehouse'}",
        ]
    return [
        "spark.sql.catalog.ice=org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type=hadoop",
        f"spark.sql.catalog.ice.warehouse={folder / 'warehouse'}",
        "spark.sql.catalog.ice.default-namespace=db",
        "spark.sql.defaultCatalog=ice",
    ]


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "ours last"])
@pytest.mark.parametrize("software", EXTENSIONS)
def test_a_table_format_whose_extension_comes_before_or_after(
    tmp_path: Path, software: str, ours_first: bool
) -> None:
    jars = [jar_path(), *jars_of(software)]
    extensions = [EXTENSION_CLASS, EXTENSIONS[software]]
    if not ours_first:
        jars.reverse()
        extensions.reverse()
    settings = [
        f"spark.sql.extensions={','.join(extensions)}",
        *catalog(software, tmp_path),
        "spark.sql.autoBroadcastJoinThreshold=-1",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
    ]
    job = [TABLE_JOB, f"USING {software}", "merge"]
    found, _ = launch(tmp_path, SUBMIT, "--jars", ",".join(jars), *conf(*settings), *job)
    # MERGE reads its two tables twice: for the files it touches, and for the rows it writes.
    assert found == {
        "INNER": 1,
        "LEFT": 1,
        "FULL": 1,
        "LEFT ANTI": 1,
        "MERGE, ours": 2,
        "MERGE, stock": 0,
    }
