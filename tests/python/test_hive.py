"""Range joins of Hive tables, in a session with Hive support."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import EXTENSIONS, SUBMIT, TABLE_JOB, launch

from rangejoin import jar_path


@pytest.mark.parametrize("clause", ["STORED AS TEXTFILE", "STORED AS PARQUET"])
def test_hive_tables(tmp_path: Path, clause: str) -> None:
    settings = [
        EXTENSIONS,
        "spark.sql.catalogImplementation=hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:metastore;create=true",
        f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}",
        "spark.sql.autoBroadcastJoinThreshold=-1",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
    ]
    conf = [word for setting in settings for word in ("--conf", setting)]
    found, _ = launch(tmp_path, SUBMIT, "--jars", jar_path(), *conf, TABLE_JOB, clause)
    assert found == {"INNER": 1, "LEFT": 1, "FULL": 1, "LEFT ANTI": 1}
