"""Range joins whose executors leave, while a shuffle service keeps what these have shuffled.

Executors come and go by dynamic allocation. The service is that of the first worker; the executors
of both use it, as on any machine.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from attempts import Attempt, attempts
from held import HeldQuery
from joins import KEYLESS, QUERY, Rows, plan, rows_of_stock, settings
from pyspark import RDD
from pyspark.sql import SparkSession
from services import free_port
from standalone import Cluster, session_on, wait_until


class Form(NamedTuple):
    """A query, its join, a node of the plan that has run, and settings below `spark.sql`."""

    query: str
    join: str
    node: str
    settings: dict[str, str]


SPILLING = {
    "sortMergeJoinExec__buffer__in__memory__threshold": "7",
    "sortMergeJoinExec__buffer__spill__threshold": "7",
}
HASHED = QUERY.replace("SELECT l.id", "SELECT /*+ SHUFFLE_HASH(r) */ l.id", 1)
SPLIT = SPILLING | {"join__skew__buckets": "7"}
BUCKETS = {"join__rangePartitioning__buckets": "7"}
FORMS = {
    "sort-merge": Form(QUERY, "SortMergeRangeJoin", "SortMergeRangeJoin", SPILLING),
    "shuffled": Form(HASHED, "ShuffledRangeJoin", "ShuffledRangeJoin", {}),
    "skewed": Form(QUERY, "SortMergeRangeJoin", "SkewReshuffle", SPLIT),
    "without a key": Form(KEYLESS, "RangeBucket", "RangeBucket", BUCKETS),
}


@pytest.fixture(scope="module")
def service() -> dict[str, str]:
    """The settings of the service, and of those who use it.

    It listens on all addresses of the machine, as Spark has no setting for that, and answers those
    alone who know the secret.
    """
    return {
        "spark.shuffle.service.enabled": "true",
        "spark.shuffle.service.port": str(free_port()),
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(),
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, service: dict[str, str]) -> Iterator[Cluster]:
    enabled = {"spark.shuffle.service.enabled": "true"}
    of_all = {key: value for key, value in service.items() if key not in enabled}
    running = Cluster(tmp_path_factory.mktemp("cluster"), of_all, enabled)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def spark(cluster: Cluster, service: dict[str, str]) -> Iterator[SparkSession]:
    """A session whose executors leave when they have been idle for a second."""
    more = service | {
        "spark.executor.memory": "512m",
        "spark.sql.adaptive.enabled": "true",
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "false",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
    }
    with session_on(cluster, more) as session:
        yield session


@pytest.fixture(params=FORMS)
def form(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Form]:
    """A form of the join, with its settings."""
    found = FORMS[request.param]
    with settings(spark, **found.settings):
        yield found


@pytest.fixture(scope="module")
def rows_by_query(spark: SparkSession) -> dict[str, Rows]:
    """What each query has to return."""
    found = {query: rows_of_stock(spark, query) for query in (QUERY, KEYLESS)}
    assert min(map(len, found.values())) > 1000
    return found


@pytest.fixture
def stock(rows_by_query: dict[str, Rows], form: Form) -> Rows:
    """What the query of the form has to return; the hint of a join changes no rows."""
    return rows_by_query[KEYLESS if form.query == KEYLESS else QUERY]


def collected(pairs: RDD[tuple[int, int]], group: str) -> tuple[Rows, list[Attempt]]:
    """Sorted rows, and the attempts at the tasks that it took."""
    spark = SparkSession.active()
    spark.sparkContext.setJobGroup(group, group)
    try:
        return sorted(pairs.collect()), attempts(spark, group)
    finally:
        spark.sparkContext._jsc.clearJobGroup()


def test_shuffled_rows_are_joined_when_all_who_shuffled_them_have_left(
    spark: SparkSession, cluster: Cluster, form: Form, stock: Rows, tmp_path: Path
) -> None:
    df = spark.sql(form.query)
    pairs = df.rdd.map(lambda row: (row.a, row.b))
    assert form.node in plan(df)
    rows, before = collected(pairs, f"{tmp_path.name} before")
    assert rows == stock
    wait_until(lambda: not cluster.executors(), "end of all executors")
    rows, after = collected(pairs, f"{tmp_path.name} after")
    assert rows == stock
    # The join is made again, of what was shuffled before.
    assert len({attempt.stage for attempt in after}) == 1
    assert {attempt.status for attempt in after} == {"SUCCESS"}
    assert not {a.executor for a in before} & {a.executor for a in after}


def test_nothing_is_shuffled_again_when_an_executor_is_lost_in_the_midst_of_the_join(
    spark: SparkSession, cluster: Cluster, form: Form, stock: Rows, tmp_path: Path
) -> None:
    query = HeldQuery(spark, tmp_path, query=form.query, node=form.join)
    task = query.held_task(cluster)
    # The other one has nothing to do, and leaves.
    wait_until(lambda: list(cluster.executors()) == [task.executor], "end of the other executor")
    os.kill(cluster.executors()[task.executor], signal.SIGKILL)
    assert query.rows() == stock
    assert form.node in plan(query.df)
    assert query.attempt(task.id).status == "FAILED"
    later = [a for a in attempts(spark, query.group) if a.id > task.id]
    assert {a.stage for a in later} == {task.stage}
    assert [a.status for a in query.others(task)] == ["SUCCESS"]
