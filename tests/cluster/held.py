"""A join that is stopped in the midst of its rows, for something to happen to it there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from attempts import Attempt, attempts
from joins import QUERY, Rows, plan
from pyspark.sql import Row, SparkSession
from standalone import Cluster, wait_until


class HeldQuery:
    """The query, under way, with its first task held after the first row.

    Python takes the rows from the join. The first attempt at partition 0 waits after one row until
    `release`, while the join that feeds it is in the midst of its rows.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        then_fail: bool = False,
        query: str = QUERY,
        node: str = "SortMergeRangeJoin",
    ) -> None:
        """Starts the query; with `then_fail` the held attempt fails on its release."""
        self.spark = spark
        self.group = folder.name
        self._folder = folder
        self._spills = node == "SortMergeRangeJoin"
        self.df = df = spark.sql(query)
        assert node in plan(df)
        consume = held(folder, then_fail)

        def run() -> Rows:
            spark.sparkContext.setJobGroup(self.group, "held")
            return sorted(df.rdd.mapPartitions(consume).collect())

        pool = ThreadPoolExecutor(1)
        self._future: Future[Rows] = pool.submit(run)
        pool.shutdown(wait=False)

    def held_task(self, cluster: Cluster) -> Attempt:
        """Returns the held attempt, once it waits and its window, if it has one, is on disk."""
        path = self._folder / "held"
        id = int(wait_until(lambda: path.exists() and path.read_text(), "held task"))
        if self._spills:
            wait_until(cluster.spill_files, "spilled window")
        return self.attempt(id)

    def attempt(self, id: int) -> Attempt:
        """Returns an attempt as it is now."""
        (found,) = (a for a in attempts(self.spark, self.group) if a.id == id)
        return found

    def others(self, attempt: Attempt) -> list[Attempt]:
        """Returns the other attempts at the same partition of the same stage."""
        return [
            a
            for a in attempts(self.spark, self.group)
            if (a.stage, a.partition) == (attempt.stage, attempt.partition) and a.id != attempt.id
        ]

    def release(self) -> None:
        (self._folder / "go").touch()

    def rows(self) -> Rows:
        """Returns the sorted rows, once all tasks have ended."""
        return self._future.result(120)


def held(folder: Path, then_fail: bool) -> Callable[[Iterable[Row]], Iterator[tuple[int, int]]]:
    """Returns what `HeldQuery` runs in a Python worker; a closure, which travels by value."""

    def consume(rows: Iterable[Row]) -> Iterator[tuple[int, int]]:
        import time

        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        waits = task.partitionId() == task.attemptNumber() == 0 and not (folder / "held").exists()
        for row in rows:
            yield row.a, row.b
            if waits:
                waits = False
                (folder / "held").write_text(str(task.taskAttemptId()))
                deadline = time.monotonic() + 90
                while not (folder / "go").exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
                if then_fail:
                    raise RuntimeError("the first attempt fails")

    return consume


def assert_recomputed(query: HeldQuery, cluster: Cluster, stock: Rows) -> None:
    """Kills the executor of the held task; what it had shuffled is computed again, the same."""
    task = query.held_task(cluster)
    os.kill(cluster.executors()[task.executor], signal.SIGKILL)
    assert query.rows() == stock
    assert query.attempt(task.id).status == "FAILED"
    later = [
        a for a in attempts(query.spark, query.group) if a.id > task.id and a.status == "SUCCESS"
    ]
    assert {a.stage for a in later} > {task.stage}
