"""Range joins of Hive tables, in a session with Hive support."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import EXTENSIONS, SUBMIT, TABLE_JOB, launch
from settings import conf

from rangejoin import jar_path


@pytest.mark.slow
def test_hive_tables_as_text_and_as_parquet(tmp_path: Path) -> None:
    settings = [
        EXTENSIONS,
        "spark.sql.catalogImplementation=hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:metastore;create=true",
        f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}",
        "spark.sql.autoBroadcastJoinThreshold=-1",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
    ]
    formats = ["STORED AS TEXTFILE", "STORED AS PARQUET"]
    found, _ = launch(tmp_path, SUBMIT, "--jars", jar_path(), *conf(*settings), TABLE_JOB, *formats)
    assert found == {"INNER": 1, "LEFT": 1, "FULL": 1, "LEFT ANTI": 1}
