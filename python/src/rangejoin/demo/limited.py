"""Runs jobs of Spark, and stops them at a limit."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

T = TypeVar("T")

_AGAIN_SECONDS = 0.2


def within(spark: SparkSession, limit: float | None, action: Callable[[], T]) -> T | None:
    """Runs `action`, and cancels its jobs where it takes longer than `limit` seconds.

    Adaptive execution begins one job after the other, so jobs are cancelled until the action has
    ended. What its jobs raise for another reason is raised here.

    Args:
        spark: the session whose jobs the action starts, from the thread that calls this.
        limit: seconds, or None.
        action: returns something else than None.

    Returns:
        What the action returns; None where it was stopped.
    """
    if limit is None:
        return action()
    context = spark.sparkContext
    tag = f"rangejoin-demo-{uuid.uuid4()}"
    ended, stopped = threading.Event(), threading.Event()

    def stop() -> None:
        if ended.wait(limit):
            return
        stopped.set()
        while not ended.wait(_AGAIN_SECONDS):
            context.cancelJobsWithTag(tag)

    stopper = threading.Thread(target=stop, daemon=True)
    context.addJobTag(tag)
    stopper.start()
    try:
        return action()
    except Exception:
        if not stopped.is_set():
            raise
        return None
    finally:
        ended.set()
        stopper.join()
        context.removeJobTag(tag)
