"""Spatial joins of Apache Sedona and range joins of one session, with Sedona's Kryo registrator.

On two executors, processes of their own: what is broadcast is written by Kryo, and read again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launching import SUBMIT, launch
from neighbours import jars_of
from settings import conf

from rangejoin import EXTENSION_CLASS, jar_path

JOB = str(Path(__file__).with_name("sedona_job.py"))
SEDONA = "org.apache.sedona.sql.SedonaSqlExtensions"

# Sedona's joins are called RangeJoin, BroadcastIndexJoin and DistanceJoin, whatever the flag says.
SPATIAL = {
    "spatial": ["RangeJoin"],
    "spatial, broadcast": ["BroadcastIndexJoin"],
    "distance": ["DistanceJoin"],
}
OURS = {
    "range": ["SortMergeRangeJoin"],
    "range, outer": ["SortMergeRangeJoin"],
    "range, broadcast": ["BroadcastRangeJoin"],
    "range without a key, broadcast": ["BroadcastRangeJoin"],
    "both": ["SortMergeRangeJoin", "RangeJoin"],
}


@pytest.fixture(scope="module", params=[True, False], ids=["ours first", "Sedona first"])
def queries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the job reports of its queries, with the extensions in either order."""
    folder = tmp_path_factory.mktemp("sedona")
    extensions = [EXTENSION_CLASS, SEDONA]
    if not request.param:
        extensions.reverse()
    settings = [
        f"spark.sql.extensions={','.join(extensions)}",
        "spark.serializer=org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator=org.apache.sedona.core.serde.SedonaKryoRegistrator",
        f"spark.sql.warehouse.dir={folder / 'warehouse'}",
        "spark.driver.host=127.0.0.1",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.ui.enabled=false",
    ]
    jars = ",".join([jar_path(), *jars_of("sedona")])
    master = ["--master", "local-cluster[2,1,1024]"]
    report, _ = launch(folder, SUBMIT, *master, "--jars", jars, *conf(*settings), JOB)
    return report


def test_rows_are_those_without_range_joins(queries: Any) -> None:
    for name, query in queries.items():
        assert query["same"], name
        assert query["rows"] > 10, name


@pytest.mark.parametrize("name", SPATIAL)
def test_a_spatial_join_is_that_of_sedona(queries: Any, name: str) -> None:
    assert queries[name]["joins"] == queries[name]["off"] == SPATIAL[name]


def test_rows_of_a_spatial_join_are_right(queries: Any) -> None:
    assert queries["spatial"]["right"]


@pytest.mark.parametrize("name", OURS)
def test_a_range_join_is_ours(queries: Any, name: str) -> None:
    assert queries[name]["joins"] == OURS[name]
    assert not set(queries[name]["off"]) & {"SortMergeRangeJoin", "BroadcastRangeJoin"}
