"""Range joins on several executors, which get the jar from the driver and lose tasks.

The window spills in most of them: it keeps seven rows in memory.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from held import HeldQuery, assert_recomputed
from joins import (
    BELOW_SIDE,
    GROWING,
    KEPT,
    KEYLESS,
    LATEST,
    MATCHED,
    NEAREST,
    QUERY,
    SIDE,
    Rows,
    broadcast,
    plan,
    rows_of,
    rows_of_stock,
    settings,
)
from launching import EXTENSIONS, JOB, SUBMIT, assert_active, launch
from pyspark.sql import DataFrame, SparkSession
from settings import conf
from standalone import Cluster, session_on, wait_until

import rangejoin

BUFFER = "spark.sql.sortMergeJoinExec.buffer."
SPILLING = {BUFFER + "in.memory.threshold": "7", BUFFER + "spill.threshold": "7"}

KRYO = {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
REGISTRATION = "spark.kryo.registrationRequired"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def spark(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session on the cluster; a parameter has more settings."""
    with session_on(cluster, getattr(request, "param", {})) as session:
        yield session


@pytest.fixture(params=["true", "false"], ids=["codegen", "interpreted"])
def engine(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    spark.conf.set("spark.sql.codegen.wholeStage", request.param)
    yield request.param
    spark.conf.unset("spark.sql.codegen.wholeStage")


@pytest.fixture
def spilling(spark: SparkSession) -> Iterator[None]:
    for key, value in SPILLING.items():
        spark.conf.set(key, value)
    yield
    for key in SPILLING:
        spark.conf.unset(key)


@pytest.fixture(scope="module")
def stock_rows(spark: SparkSession) -> Rows:
    """What the query has to return, sorted; with the buffer of the stock join in memory."""
    spark.conf.set(rangejoin.ENABLED_CONF, "false")
    try:
        df = spark.sql(QUERY)
        rows = rows_of(df)
    finally:
        spark.conf.unset(rangejoin.ENABLED_CONF)
    assert "SortMergeRangeJoin" not in plan(df)
    assert len(rows) > 20_000
    return rows


def check_rows_and_plan(df: DataFrame, node: str, stock_rows: Rows, engine: str) -> dict[str, int]:
    """Checks rows, node and code generation of the test's query; returns the join's metrics."""
    assert rows_of(df) == stock_rows
    generated = "*(" in plan(df).split(node)[0].splitlines()[-1]
    assert generated == (engine == "true")
    (measured,) = rangejoin.metrics(df)
    assert measured["numOutputRows"] == len(stock_rows)
    return measured


def test_executors_find_the_classes_of_a_jar_that_only_the_driver_names(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, engine: str
) -> None:
    check_rows_and_plan(spark.sql(QUERY), "SortMergeRangeJoin", stock_rows, engine)

    jar = Path(rangejoin.jar_path()).name
    executors = cluster.executors()
    assert len(executors) == 2
    for pid in executors.values():
        assert jar not in Path(f"/proc/{pid}/cmdline").read_text()
    assert len(list(cluster.work.glob(f"{spark.sparkContext.applicationId}/*/{jar}"))) == 2


def test_executors_read_a_broadcast_index(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, engine: str
) -> None:
    df = spark.sql(broadcast(QUERY))
    measured = check_rows_and_plan(df, "BroadcastRangeJoin", stock_rows, engine)
    # Neither a NULL key nor a NULL bound is in it.
    assert 1500 < measured["indexRows"] < 2000

    # An executor that comes later gets the index as well.
    before = cluster.executors()
    os.kill(min(before.values()), signal.SIGKILL)
    wait_until(
        lambda: len(set(cluster.executors().values()) - set(before.values())) == 1,
        "executor",
    )
    assert rows_of(df) == stock_rows


@pytest.mark.parametrize(
    "spark",
    [
        pytest.param(KRYO, id="kryo"),
        pytest.param(KRYO | {REGISTRATION: "true"}, id="kryo-registered", marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_kryo_carries_an_index_unless_its_classes_have_to_be_registered(
    spark: SparkSession, stock_rows: Rows
) -> None:
    registered = spark.sparkContext.getConf().get(REGISTRATION) == "true"

    df = spark.sql(broadcast(QUERY))
    assert ("BroadcastHashJoin" if registered else "BroadcastRangeJoin") in plan(df)
    assert rows_of(df) == stock_rows

    stock = rows_of_stock(spark, broadcast(KEYLESS))
    df = spark.sql(broadcast(KEYLESS))
    assert ("BroadcastNestedLoopJoin" if registered else "BroadcastRangeJoin") in plan(df)
    assert rows_of(df) == stock
    assert len(stock) > 1000

    # Marks of matched rows go through a shuffle.
    with settings(spark, autoBroadcastJoinThreshold=BELOW_SIDE):
        for query in (KEPT, MATCHED):
            stock = rows_of_stock(spark, query)
            df = spark.sql(query)
            assert ("BroadcastNestedLoopJoin" if registered else "BroadcastRangeJoin") in plan(df)
            assert rows_of(df) == stock
            assert len(stock) > 50

    # A sort-merge range join sends nothing but rows.
    df = spark.sql(QUERY)
    assert "SortMergeRangeJoin" in plan(df)
    assert rows_of(df) == stock_rows


@pytest.mark.usefixtures("spilling", "engine")
def test_a_window_on_disk_leaves_no_files_behind(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows
) -> None:
    df = spark.sql(QUERY)
    assert rows_of(df) == stock_rows
    (measured,) = rangejoin.metrics(df)
    assert measured["spilledRows"] > 0
    assert not cluster.spill_files()


@pytest.mark.usefixtures("spilling", "engine")
def test_a_task_killed_while_its_window_is_on_disk_is_retried(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, tmp_path: Path
) -> None:
    query = HeldQuery(spark, tmp_path)
    task = query.held_task(cluster)
    assert spark._jsc.sc().killTaskAttempt(task.id, True, "killed by a test")
    assert query.rows() == stock_rows
    assert query.attempt(task.id).status == "KILLED"
    assert [(a.number, a.status) for a in query.others(task)] == [(1, "SUCCESS")]
    wait_until(lambda: not cluster.spill_files(), "deletion of the killed task's files")


@pytest.mark.usefixtures("spilling", "engine")
def test_a_task_that_fails_while_its_window_is_on_disk_is_retried(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, tmp_path: Path
) -> None:
    query = HeldQuery(spark, tmp_path, then_fail=True)
    task = query.held_task(cluster)
    query.release()
    assert query.rows() == stock_rows
    assert query.attempt(task.id).status == "FAILED"
    assert [(a.number, a.status) for a in query.others(task)] == [(1, "SUCCESS")]
    wait_until(lambda: not cluster.spill_files(), "deletion of the failed task's files")


@pytest.mark.usefixtures("spilling")
def test_an_executor_killed_in_the_midst_of_a_join_is_replaced(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, tmp_path: Path
) -> None:
    query = HeldQuery(spark, tmp_path)
    task = query.held_task(cluster)
    os.kill(cluster.executors()[task.executor], signal.SIGKILL)
    assert query.rows() == stock_rows
    assert query.attempt(task.id).status == "FAILED"
    assert task.executor not in cluster.executors()


@pytest.mark.usefixtures("spilling")
def test_buckets_are_the_same_when_an_executor_is_lost_between_shuffle_and_join(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    stock = rows_of_stock(spark, KEYLESS)
    with settings(spark, join__rangePartitioning__buckets="7"):
        assert_recomputed(HeldQuery(spark, tmp_path, query=KEYLESS), cluster, stock)
    assert len(stock) > 1000


def test_rows_that_are_lost_when_their_table_has_grown_are_read_again(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    intervals = f"SELECT id, t, t + 10 AS e FROM ({SIDE}) WHERE t >= 0"
    spark.sql(f"CREATE TABLE growing USING parquet AS {intervals}")
    try:
        stock = rows_of_stock(spark, GROWING)
        with settings(spark, join__rangePartitioning__buckets="7"):
            query = HeldQuery(spark, tmp_path, query=GROWING, node="RangeBucket")
            query.held_task(cluster)
            spark.sql(f"INSERT INTO growing SELECT id + 10000, t, t + 100 FROM ({SIDE})")
            assert_recomputed(query, cluster, stock)
        assert len(stock) > 1000
    finally:
        spark.sql("DROP TABLE growing")


@pytest.mark.slow
def test_lost_rows_that_are_longer_when_they_are_read_again_fail(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    length = tmp_path / "length"
    length.write_text("10")

    def end(t: int) -> int:
        return t + int(length.read_text())

    spark.udf.register("end_of", end, "bigint")
    intervals = f"(SELECT id, t, end_of(t) AS e FROM ({SIDE}) WHERE t >= 0)"
    query = GROWING.replace("growing AS", f"{intervals} AS")
    with settings(spark, join__rangePartitioning__buckets="7"):
        held_query = HeldQuery(spark, tmp_path, query=query, node="RangeBucket")
        task = held_query.held_task(cluster)
        length.write_text("1000")
        os.kill(cluster.executors()[task.executor], signal.SIGKILL)
        with pytest.raises(Exception, match=r"has a longer range after .* Run the query again"):
            held_query.rows()
        # The query that is run again reads the new rows.
        found = rows_of(spark.sql(query))
    assert found == rows_of_stock(spark, query)


@pytest.mark.usefixtures("spilling")
def test_places_are_the_same_when_an_executor_is_lost_between_second_shuffle_and_join(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, tmp_path: Path
) -> None:
    with settings(spark, join__skew__buckets="7"):
        query = HeldQuery(spark, tmp_path)
        assert_recomputed(query, cluster, stock_rows)
        assert "SkewReshuffle" in plan(query.df)


@pytest.mark.parametrize(
    ("query", "by"),
    [
        pytest.param(NEAREST, "rangePartitioning", id="nearest"),
        pytest.param(LATEST, "skew", id="latest of a key", marks=pytest.mark.slow),
    ],
)
def test_the_best_rows_are_copied_again_when_an_executor_is_lost(
    spark: SparkSession, cluster: Cluster, tmp_path: Path, query: str, by: str
) -> None:
    stock = rows_of_stock(spark, query)
    with settings(spark, **{f"join__{by}__buckets": "7"}):
        held_query = HeldQuery(spark, tmp_path, query=query, node="best 1 by")
        assert_recomputed(held_query, cluster, stock)
        assert "copies of the best" in plan(held_query.df)
    assert len(stock) == 2000


def test_marks_of_matched_rows_that_are_lost_with_their_executor_are_made_again(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    with settings(spark, autoBroadcastJoinThreshold=BELOW_SIDE):
        stock = rows_of_stock(spark, MATCHED)
        query = HeldQuery(
            spark,
            tmp_path,
            query=MATCHED,
            node="BroadcastRangeJoin LeftSemi, BuildLeft",
        )
        assert_recomputed(query, cluster, stock)
    # Some of the side that is kept have no match.
    assert 10 < len(stock) < 90


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("query", [KEPT, MATCHED], ids=["left", "semi"])
def test_a_task_that_fails_does_not_mark_twice(
    spark: SparkSession, cluster: Cluster, tmp_path: Path, query: str
) -> None:
    with settings(spark, autoBroadcastJoinThreshold=BELOW_SIDE):
        stock = rows_of_stock(spark, query)
        held_query = HeldQuery(
            spark, tmp_path, then_fail=True, query=query, node="BroadcastRangeJoin Left"
        )
        task = held_query.held_task(cluster)
        held_query.release()
        assert held_query.rows() == stock
    assert held_query.attempt(task.id).status == "FAILED"


@pytest.mark.usefixtures("engine")
def test_a_partition_is_indexed_again_when_its_task_or_its_executor_is_lost(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, tmp_path: Path
) -> None:
    hashed = QUERY.replace("SELECT l.id", "SELECT /*+ SHUFFLE_HASH(r) */ l.id", 1)
    node = "ShuffledRangeJoin"
    assert_recomputed(HeldQuery(spark, tmp_path, query=hashed, node=node), cluster, stock_rows)


@pytest.mark.parametrize(
    "spark",
    [
        {
            "spark.speculation": "true",
            "spark.speculation.quantile": "0.5",
            "spark.speculation.multiplier": "1.5",
        }
    ],
    indirect=True,
    ids=["speculation"],
)
@pytest.mark.usefixtures("spilling", "engine")
def test_a_straggler_is_overtaken_by_its_copy_and_cleans_up(
    spark: SparkSession, cluster: Cluster, stock_rows: Rows, tmp_path: Path
) -> None:
    query = HeldQuery(spark, tmp_path)
    task = query.held_task(cluster)
    assert query.rows() == stock_rows
    (copy,) = query.others(task)
    assert copy.speculative
    assert copy.status == "SUCCESS"
    assert copy.executor != task.executor
    wait_until(lambda: query.attempt(task.id).status == "KILLED", "end of the straggler")
    wait_until(lambda: not cluster.spill_files(), "deletion of the straggler's files")


@pytest.mark.slow
def test_spark_submit_ships_the_jar_to_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    small = ["spark.cores.max=1", "spark.executor.memory=512m", "spark.driver.host=127.0.0.1"]
    words = conf(*small, EXTENSIONS)
    jars = ["--jars", rangejoin.jar_path()]
    (report,), _ = launch(tmp_path, SUBMIT, "--master", cluster.url, *jars, *words, JOB)
    assert_active(report)
