"""Services of Spark's own, each a process on the loopback address that ends with the tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launching import EXTENSIONS, JOB, JVM_OPTIONS, ROWS, SUBMIT, assert_active, launch
from services import free_port, service
from settings import conf

from rangejoin import ENABLED_CONF, jar_path

BEELINE = str(Path(SUBMIT).with_name("beeline"))
SPARK_CLASS = str(Path(SUBMIT).with_name("spark-class"))
SETTINGS = [
    EXTENSIONS,
    "spark.sql.shuffle.partitions=2",
    "spark.sql.autoBroadcastJoinThreshold=-1",
    "spark.ui.enabled=false",
]
BAND = """
SELECT l.id AS a, r.id AS b
FROM (SELECT id, id % 2 AS k FROM range(10)) AS l JOIN (SELECT id, id % 2 AS k FROM range(10)) AS r
  ON l.k = r.k AND r.id BETWEEN l.id - 2 AND l.id + 2
"""


def answer(address: str) -> Any:
    """What a service of this machine answers, once it does."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as response:
                found = json.load(response)
            if found:
                return found
        except OSError:
            pass
        assert time.monotonic() < deadline, address
        time.sleep(0.5)


def test_a_history_server_shows_the_metrics_of_a_range_join(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    logged = conf(*SETTINGS, "spark.eventLog.enabled=true", f"spark.eventLog.dir={events}")
    (report,), _ = launch(tmp_path, SUBMIT, "--jars", jar_path(), *logged, JOB)
    assert_active(report)
    port = free_port()
    options = (
        f"{JVM_OPTIONS} -Dspark.history.fs.logDirectory={events} -Dspark.history.ui.port={port}"
    )
    main = "org.apache.spark.deploy.history.HistoryServer"
    # It has neither the jar nor the extension.
    with service(tmp_path, "Started", SPARK_CLASS, main, SPARK_HISTORY_OPTS=options):
        root = f"http://127.0.0.1:{port}/api/v1/applications"
        (application,) = answer(root)
        queries = answer(f"{root}/{application['id']}/sql?details=true&planDescription=true")
    joins = [
        node
        for query in queries
        for node in query["nodes"]
        if node["nodeName"].startswith("SortMergeRange")
    ]
    measured = [{metric["name"]: metric["value"] for metric in node["metrics"]} for node in joins]
    assert str(ROWS) in [metrics.get("number of output rows") for metrics in measured]
    assert any("SortMergeRangeJoin" in query["planDescription"] for query in queries)


@pytest.fixture(scope="module")
def thrift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The JDBC address of a Thrift server with jar and extension, over a metastore of its own."""
    folder = tmp_path_factory.mktemp("thrift")
    port = free_port()
    metastore = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
    settings = [
        *SETTINGS,
        f"spark.sql.warehouse.dir={folder / 'warehouse'}",
        f"spark.hadoop.javax.jdo.option.ConnectionURL={metastore}",
        f"spark.hadoop.hive.server2.thrift.port={port}",
        "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1",
        f"spark.hadoop.hive.exec.scratchdir={folder / 'scratch'}",
    ]
    main = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    words = ["--master", "local[2]", "--jars", jar_path(), *conf(*settings), "--class", main]
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": JVM_OPTIONS}
    with service(folder, "HiveThriftServer2 started", SUBMIT, *words, "spark-internal", **own):
        yield f"jdbc:hive2://127.0.0.1:{port}/default"


def beeline(folder: Path, address: str, *statements: str) -> list[str]:
    """What a JDBC client of a server prints of statements, run one after the other."""
    given = [word for statement in statements for word in ("-e", " ".join(statement.split()) + ";")]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [
            BEELINE,
            "-u",
            address,
            "--silent=true",
            "--outputformat=tsv2",
            "--showHeader=false",
            *given,
        ],
        cwd=folder,
        env=kept | {"SPARK_CONF_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if line.strip()]


def test_a_jdbc_client_of_a_thrift_server(tmp_path: Path, thrift: str) -> None:
    counted = f"SELECT 'counted', count(*), sum(a * b) FROM ({BAND})"
    printed = beeline(
        tmp_path,
        thrift,
        f"EXPLAIN {BAND}",
        counted,
        f"SET {ENABLED_CONF}=false",
        f"EXPLAIN {BAND}",
        counted,
    )
    text = "\n".join(printed)
    ranged, _, stock = text.partition(ENABLED_CONF)
    assert "SortMergeRangeJoin" in ranged
    assert "SortMergeRangeJoin" not in stock
    assert "SortMergeJoin" in stock
    counts = re.findall(r"counted\t(\d+\t\d+)", text)
    assert len(counts) == 2
    assert counts[0] == counts[1]
    assert counts[0].startswith(f"{ROWS}\t")


def test_tables_of_the_metastore_of_a_thrift_server(tmp_path: Path, thrift: str) -> None:
    printed = beeline(
        tmp_path,
        thrift,
        "CREATE TABLE points STORED AS PARQUET AS SELECT id, id % 2 AS k FROM range(10)",
        BAND.replace("(SELECT id, id % 2 AS k FROM range(10))", "points").replace(
            "SELECT l.id AS a, r.id AS b", "EXPLAIN SELECT l.id, r.id"
        ),
        "SELECT 'counted', count(*) FROM points l JOIN points r ON l.k = r.k"
        " AND r.id BETWEEN l.id - 2 AND l.id + 2",
        "DROP TABLE points",
    )
    assert any("SortMergeRangeJoin" in line for line in printed)
    assert f"counted\t{ROWS}" in printed
