"""A Spark Connect client of a server that has the extension."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from launching import EXTENSIONS, SUBMIT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from services import free_port, service
from settings import conf

import rangejoin

QUERY = """
SELECT l.id AS a, r.id AS b
FROM (SELECT id, IF(id % 11 = 3, NULL, id % 4) AS k, id * 7 % 23 AS y FROM range(80)) AS l
JOIN (SELECT id, id % 4 AS k, IF(id % 11 = 5, NULL, id * 5 % 23) AS y FROM range(80)) AS r
  ON l.k = r.k AND r.y BETWEEN l.y - 2 AND l.y + 2
"""

Rows = Counter[tuple[object, ...]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the jar and the extension in its own configuration; returns its address."""
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
    settings = [
        EXTENSIONS,
        "spark.connect.grpc.binding.address=127.0.0.1",
        f"spark.connect.grpc.binding.port={port}",
        f"spark.sql.warehouse.dir={folder / 'warehouse'}",
        "spark.sql.shuffle.partitions=2",
        "spark.sql.autoBroadcastJoinThreshold=-1",
        "spark.ui.enabled=false",
    ]
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    words = ["--jars", rangejoin.jar_path(), *conf(*settings), "--class", main]
    command = [SUBMIT, "--master", "local[2]", *words]
    with service(folder, "Spark Connect server started", *command, PYSPARK_PYTHON=sys.executable):
        yield f"sc://127.0.0.1:{port}"


@pytest.fixture
def client(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    # Set by PySpark and left behind, where classic sessions of other tests would meet it.
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    session = SparkSession.builder.remote(server).create()
    yield session
    session.stop()


def plan(df: DataFrame) -> str:
    # Not in the type of the common class.
    explained: Any = df
    return str(explained._explain_string())


def rows(df: DataFrame) -> Rows:
    return Counter(tuple(row) for row in df.collect())


def test_check_passes_through_the_client(client: SparkSession) -> None:
    rangejoin.check(client)


def test_a_setting_of_the_client_switches_its_own_session(
    client: SparkSession, server: str
) -> None:
    other = SparkSession.builder.remote(server).create()
    client.conf.set(rangejoin.ENABLED_CONF, "false")
    stock, ranged = client.sql(QUERY), other.sql(QUERY)
    assert "SortMergeRangeJoin" not in plan(stock)
    assert "SortMergeRangeJoin" in plan(ranged)
    assert rows(ranged) == rows(stock)
    assert rows(stock).total() > 100
    other.stop()


def test_a_condition_made_by_the_client_with_a_python_function(client: SparkSession) -> None:
    even = F.udf(lambda a, b: (a + b) % 2 == 0, "boolean")

    def query() -> DataFrame:
        left = client.range(80).selectExpr("id", "id % 4 AS k", "id * 7 % 23 AS y").alias("l")
        right = client.range(80).selectExpr("id", "id % 4 AS k", "id * 5 % 23 AS y").alias("r")
        band = F.expr("l.k = r.k AND r.y BETWEEN l.y - 2 AND l.y + 2")
        on = band & even(F.col("l.id"), F.col("r.id"))
        return left.join(right, on).select("l.id", "r.id")

    ranged = query()
    assert "SortMergeRangeJoin" in plan(ranged)
    found = rows(ranged)
    client.conf.set(rangejoin.ENABLED_CONF, "false")
    stock = query()
    assert "SortMergeRangeJoin" not in plan(stock)
    assert found == rows(stock)
    assert found.total() > 50


def test_metrics_are_where_the_error_says(client: SparkSession) -> None:
    df = client.sql(QUERY)
    with pytest.raises(rangejoin.RangeJoinError, match=r"df\.executionInfo\.metrics"):
        rangejoin.metrics(df)
    found = rows(df)
    info = df.executionInfo
    assert info is not None
    assert info.metrics is not None
    (join,) = (line for line in info.metrics.toText().splitlines() if "SortMergeRangeJoin" in line)
    assert f"numOutputRows: {found.total()} " in join


def test_joins_are_explained_by_the_server(client: SparkSession) -> None:
    key = "spark.sql.extendedExplainProviders"
    before = client.conf.get(key, "")
    df = client.sql(QUERY)
    (join,) = rangejoin.explain(df)
    assert join.operator == "SortMergeRangeJoin"
    assert join.keys == ("l.k = r.k",)
    assert join.output_rows is None
    found = rows(df)
    (join,) = rangejoin.explain(df)
    assert join.output_rows == join.candidates == found.total()
    # Rows with NULLs are filtered out below the join.
    assert (join.left_rows, join.right_rows) == (73, 73)
    assert join.sample is None
    (sampled,) = rangejoin.explain(df, sample=True)
    assert sampled.sample is not None
    assert (sampled.sample.left_rows, sampled.sample.range_pairs) == (73, found.total())
    (stock,) = rangejoin.explain(
        client.sql(QUERY.replace("r.y BETWEEN l.y - 2 AND", "r.y * l.y <"))
    )
    assert stock.reason is not None
    assert "made of columns of both sides" in stock.reason
    assert client.conf.get(key, "") == before


def test_the_hint_of_a_client_asks_for_a_range_join(client: SparkSession) -> None:
    client.conf.set(rangejoin.ENABLED_CONF, "false")
    left = client.range(9).selectExpr("id % 2 AS k", "id AS t").alias("l")
    right = client.range(9).selectExpr("id % 2 AS k", "id AS t").alias("r")
    on = F.expr("l.k = r.k AND l.t < r.t")
    assert "SortMergeRangeJoin" not in plan(left.join(right, on))
    assert "SortMergeRangeJoin" in plan(left.join(right.hint("range_join", 10), on))
    assert "SortMergeRangeJoin" in plan(left.hint("range_join", 0.5).join(right, on))


def test_the_jar_sent_as_an_artifact_as_well_changes_nothing(client: SparkSession) -> None:
    expected = rows(client.sql(QUERY))
    client.addArtifacts(rangejoin.jar_path())
    rangejoin.check(client)
    assert rows(client.sql(QUERY)) == expected


def test_an_unreadable_flag_is_refused_by_name(client: SparkSession) -> None:
    with pytest.raises(Exception, match=rangejoin.ENABLED_CONF.replace(".", r"\.")):
        client.conf.set(rangejoin.ENABLED_CONF, "perhaps")


def test_configuring_a_client_is_refused_with_the_remedy(server: str) -> None:
    builder = SparkSession.builder.remote(server)
    with pytest.raises(rangejoin.RangeJoinError, match=r"start the server with .*--jars"):
        rangejoin.configure(builder)


@pytest.mark.parametrize("strategy", ["backward", "forward", "nearest"])
def test_an_as_of_join_of_a_client(client: SparkSession, strategy: str) -> None:
    left = client.range(80).selectExpr("id", "id % 4 AS k", "timestamp_seconds(id * 7 % 23) AS t")
    right = client.range(80).selectExpr("id", "id % 4 AS k", "timestamp_seconds(id * 5 % 23) AS t")

    def query() -> DataFrame:
        return rangejoin.join_asof(
            left,
            right,
            on="t",
            by="k",
            strategy=strategy,
            tolerance=timedelta(seconds=3),
            k=2,
            tie_break=right["id"].desc(),
        )

    ranged = query()
    assert ranged.columns == ["id", "k", "t", "id_right"]
    assert "SortMergeRangeJoin" in plan(ranged)
    found = rows(ranged)
    client.conf.set(rangejoin.ENABLED_CONF, "false")
    stock = query()
    assert "SortMergeRangeJoin" not in plan(stock)
    assert rows(stock) == found
    assert found.total() > 80
    with pytest.raises(rangejoin.RangeJoinError, match="tolerance is a column that cannot"):
        rangejoin.join_asof(left, right, on="t", tolerance=F.col("id"))


def test_features_of_a_client(client: SparkSession) -> None:
    time = "timestamp_seconds(id * {} % 23)"
    spine = client.range(80).selectExpr(
        "id", "id % 4 AS k", f"{time.format(7)} AS t", "id / 2D AS x"
    )
    events = client.range(80).selectExpr(
        "id % 4 AS k", f"{time.format(5)} AS t", "id AS v", f"{time.format(5)} AS known"
    )
    spans: Any = {"short": timedelta(seconds=3), "own": F.expr("INTERVAL '9' SECOND")}

    def query() -> DataFrame:
        tables: Any = [
            rangejoin.Latest(events, "v", known_at="known", tie_break=events["v"].desc()),
            rangejoin.Windows(events, spans, {"v": ["count", "sum"]}),
        ]
        return rangejoin.features(spine, tables, on="t", by="k")

    ranged = query()
    assert plan(ranged).count("SortMergeRangeJoin [") == 2
    found = rows(ranged)
    client.conf.set(rangejoin.ENABLED_CONF, "false")
    stock = query()
    assert "SortMergeRangeJoin" not in plan(stock)
    assert rows(stock) == found
    assert found.total() == 80


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
def test_merge_asof_of_a_client(client: SparkSession, direction: str) -> None:
    # Looks for the session that is active, which is the client's.
    import pandas as pd
    import pyspark.pandas as ps

    trades = pd.DataFrame({"t": range(0, 400, 10), "k": list("abcd") * 10})
    quotes = pd.DataFrame({"t": range(1, 400, 8), "k": list("abcde") * 10, "bid": range(50)})
    asked: Any = {"on": "t", "by": "k", "direction": direction, "tolerance": 30}
    sides: Any = [ps.from_pandas(frame) for frame in (trades, quotes)]
    merged = ps.merge_asof(sides[0], sides[1], **asked)
    (join,) = rangejoin.explain(merged.to_spark())
    assert join.best is not None
    expected = pd.merge_asof(trades, quotes, **asked)
    found = merged.to_pandas().sort_values("t", ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_the_nearest_rows_of_a_client(client: SparkSession) -> None:
    client.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")
    left = client.range(40).selectExpr("id", "id * 37 % 400 AS t")
    right = client.range(60).selectExpr("id AS other", "id * 61 % 400 AS at")

    def query() -> DataFrame:
        distance = F.abs(left["t"] - right["at"])
        return left.nearestByJoin(
            right, distance, 3, mode="exact", direction="distance", joinType="inner"
        ).select("id", F.abs(F.col("t") - F.col("at")))

    ranged = query()
    assert "BroadcastRangeJoin" in plan(ranged)
    found = rows(ranged)
    assert found.total() == 120
    client.conf.set(rangejoin.ENABLED_CONF, "false")
    stock = query()
    assert "BroadcastRangeJoin" not in plan(stock)
    assert rows(stock) == found
