"""Streaming joins keep Spark's own plan; a batch inside a stream is an ordinary query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import rangejoin

SCHEMA = "id LONG, k LONG, ts TIMESTAMP"
RANGE = "l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 20 SECONDS"

Rows = Counter[tuple[int, int]]


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders of three files each, `l` and `r`, with ties and NULLs."""
    folder = tmp_path_factory.mktemp("stream")
    for name, factor in (("l", 7), ("r", 5)):
        spark.sql(
            f"""
            SELECT id, IF(id % 11 = 3, NULL, id % 4) AS k,
                   IF(id % 13 = 4, NULL, timestamp_seconds(1710000000 + id * {factor} % 200)) AS ts
            FROM range(0, 90, 1, 3)
            """
        ).write.parquet(str(folder / name))
    return folder


@pytest.fixture
def started() -> Iterator[list[StreamingQuery]]:
    """Queries to be stopped after the test."""
    queries: list[StreamingQuery] = []
    yield queries
    for query in queries:
        query.stop()


def batch(spark: SparkSession, files: Path, name: str) -> DataFrame:
    return spark.read.schema(SCHEMA).parquet(str(files / name)).alias(name)


def stream(spark: SparkSession, files: Path, name: str) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
    return reader.parquet(str(files / name)).withWatermark("ts", "1 hour").alias(name)


def joined(spark: SparkSession, left: DataFrame, right: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    return left.join(right, F.expr(RANGE)).selectExpr("l.id AS a", "r.id AS b")


def rows(df: DataFrame) -> Rows:
    return Counter((row.a, row.b) for row in df.collect())


def run(query: DataFrame, name: str, started: list[StreamingQuery]) -> str:
    """Runs a stream to its end into the table `name`; returns the plan of its last batch."""
    writer = query.writeStream.format("memory").queryName(name).trigger(availableNow=True)
    running = writer.start()
    started.append(running)
    assert running.awaitTermination(120)
    return str(running._jsq.streamingQuery().lastExecution().executedPlan())


def test_a_join_of_two_streams_keeps_its_plan(
    spark: SparkSession, files: Path, started: list[StreamingQuery]
) -> None:
    both = joined(spark, stream(spark, files, "l"), stream(spark, files, "r"))
    plan = run(both, "two_streams", started)
    assert "StreamingSymmetricHashJoin" in plan
    assert "SortMergeRangeJoin" not in plan
    found = rows(spark.table("two_streams"))
    assert found == rows(joined(spark, batch(spark, files, "l"), batch(spark, files, "r")))
    assert found.total() > 100


def test_a_join_of_a_stream_with_a_table_keeps_its_plan(
    spark: SparkSession, files: Path, started: list[StreamingQuery]
) -> None:
    both = joined(spark, stream(spark, files, "l"), batch(spark, files, "r"))
    plan = run(both, "stream_and_table", started)
    assert "SortMergeJoin" in plan
    assert "SortMergeRangeJoin" not in plan
    expected = rows(joined(spark, batch(spark, files, "l"), batch(spark, files, "r")))
    assert rows(spark.table("stream_and_table")) == expected


def test_a_batch_handed_to_a_function_has_range_joins(
    spark: SparkSession, files: Path, started: list[StreamingQuery]
) -> None:
    found: Rows = Counter()
    ranged: list[int] = []

    def take(rows_of_batch: DataFrame, _: int) -> None:
        session = rows_of_batch.sparkSession
        df = joined(session, rows_of_batch.alias("l"), batch(session, files, "r"))
        found.update(rows(df))
        ranged.append(len(rangejoin.metrics(df)))

    writer = stream(spark, files, "l").writeStream.foreachBatch(take).trigger(availableNow=True)
    running = writer.start()
    started.append(running)
    assert running.awaitTermination(120)
    assert ranged == [1, 1, 1]
    expected = rows(joined(spark, batch(spark, files, "l"), batch(spark, files, "r")))
    assert found == expected
