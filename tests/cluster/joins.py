"""The joins of the tests on a cluster, their rows, and their plans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from settings import set_to

import rangejoin

# 125 rows of each key a side, some of them NULL in the key or the range.
SIDE = """
SELECT id, IF(id % 13 = 5, NULL, id % 16) AS k, IF(id % 17 = 3, NULL, id DIV 16) AS t
FROM range(0, 2000, 1, 4)
"""
QUERY = f"""
SELECT l.id AS a, r.id AS b, repeat('x', 1000) AS wide
FROM ({SIDE}) AS l JOIN ({SIDE}) AS r ON l.k = r.k AND r.t BETWEEN l.t - 10 AND l.t + 10
"""

# No key: the optimizer finds none in a condition of both sides.
KEYLESS = QUERY.replace("l.k = r.k AND r.t", "(l.id + r.id) % 50 = 0 AND r.t")

# Likewise, of intervals of a table: each is in one bucket, and the points are copied to it.
GROWING = f"""
SELECT l.id AS a, coalesce(r.id, -1) AS b, repeat('x', 1000) AS wide
FROM growing AS l LEFT JOIN ({SIDE}) AS r
  ON (l.id + r.id) % 50 = 0 AND r.t BETWEEN l.t AND l.e
"""

# Without a key, and the side that is kept is the one that is small enough to be broadcast.
SMALL = SIDE.replace("range(0, 2000, 1, 4)", "range(0, 100, 1, 2)")
PRESERVED = f"""
SELECT l.id AS a, {{b}} AS b, repeat('x', 1000) AS wide
FROM ({SMALL}) AS l {{join}} ({SIDE}) AS r ON r.t BETWEEN l.t * 25 AND l.t * 25 + 3
"""
KEPT = PRESERVED.format(join="LEFT JOIN", b="coalesce(r.id, -1)")
MATCHED = PRESERVED.format(join="LEFT SEMI JOIN", b="0")
BELOW_SIDE = "10000"

# The best row of each: by buckets without a key, and of keys that are split. Above the first one is
# a shuffle, so it has no rank(): Spark's limit of a rank gives one row more than asked for, any of
# those that tie, and Spark 4.2 fails where lost rows are not the same when they are made again.
NEAREST = f"""
SELECT l.id AS a, coalesce(min(struct(abs(l.t - r.t), r.id)).id, -1) AS b
FROM ({SIDE}) AS l LEFT JOIN ({SIDE}) AS r ON l.t IS NOT NULL AND r.t IS NOT NULL
GROUP BY l.id
"""
LATEST = f"""
SELECT a, coalesce(b, -1) AS b FROM (
  SELECT l.id AS a, r.id AS b, rank() OVER (PARTITION BY l.id ORDER BY r.t DESC) AS n
  FROM ({SIDE}) AS l LEFT JOIN ({SIDE}) AS r ON l.k = r.k AND r.t <= l.t)
WHERE n = 1
"""

Rows = list[tuple[int, int]]


def broadcast(query: str) -> str:
    """The query with its right side broadcast."""
    return query.replace("SELECT l.id", "SELECT /*+ BROADCAST(r) */ l.id", 1)


def rows_of_stock(spark: SparkSession, query: str) -> Rows:
    """The rows of a query without range joins."""
    with set_to(spark, {rangejoin.ENABLED_CONF: "false"}):
        return rows_of(spark.sql(query))


@contextmanager
def settings(spark: SparkSession, **of: str) -> Iterator[None]:
    """Settings below `spark.sql`, with `__` for a dot, as long as the context."""
    values = {"spark.sql." + key.replace("__", "."): value for key, value in of.items()}
    with set_to(spark, values):
        yield


def rows_of(df: DataFrame) -> Rows:
    """The rows of the test's query, sorted."""
    return sorted((row.a, row.b) for row in df.collect())


def plan(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan())
