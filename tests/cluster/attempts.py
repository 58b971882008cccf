"""What the tasks of a query did, as Spark's own status store has it."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import SparkSession


class Attempt(NamedTuple):
    """An attempt at a task.

    `status` is `RUNNING`, `SUCCESS`, `FAILED` or `KILLED`; `id` is unique in the application.
    """

    id: int
    stage: int
    partition: int
    number: int
    executor: str
    status: str
    speculative: bool


def attempts(spark: SparkSession, group: str) -> list[Attempt]:
    """Returns the attempts at all tasks of the jobs of a group, up to now."""
    sc: Any = spark.sparkContext
    tracker = sc.statusTracker()
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    stages = {int(stage) for job in jobs if job is not None for stage in job.stageIds}
    return [found for stage in sorted(stages) for found in _of_stage(sc._jsc.sc(), stage)]


def _of_stage(context: Any, stage: int) -> list[Attempt]:
    store = context.statusStore()
    last = int(store.lastStageAttempt(stage).attemptId())
    found = []
    for number in range(last + 1):
        tasks = store.taskList(stage, number, 1000)
        for index in range(tasks.size()):
            task = tasks.apply(index)
            found.append(
                Attempt(
                    task.taskId(),
                    stage,
                    task.index(),
                    task.attempt(),
                    task.executorId(),
                    task.status(),
                    task.speculative(),
                )
            )
    return found
