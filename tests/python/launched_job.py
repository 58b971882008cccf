"""Run by `test_launchers.py` in a process of its own: reports what its session can do.

With the word `configure` on the command line, the session is made through `rangejoin`.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import rangejoin

QUERY = """
SELECT /*+ MERGE(r) */ l.id, r.id
FROM (SELECT id, id % 2 AS k FROM range(10)) AS l JOIN (SELECT id, id % 2 AS k FROM range(10)) AS r
  ON l.k = r.k AND r.id BETWEEN l.id - 2 AND l.id + 2
"""


def report(spark: SparkSession) -> dict[str, object]:
    """Returns the outcome of `check`, the settings, and the plan and size of a band join."""
    try:
        rangejoin.check(spark)
        outcome = "active"
    except rangejoin.RangeJoinError as error:
        outcome = str(error)
    query = spark.sql(QUERY)
    return {
        "check": outcome,
        "rows": len(query.collect()),
        "ranged": "SortMergeRangeJoin" in str(query._jdf.queryExecution().executedPlan()),
        "jars": spark.conf.get("spark.jars", ""),
        "extensions": spark.conf.get("spark.sql.extensions", ""),
    }


def main() -> None:
    """Prints one line of JSON: a report, or two with `restart` (before and after it)."""
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config(
        "spark.sql.shuffle.partitions", "2"
    )
    if "configure" in sys.argv:
        rangejoin.configure(builder)
    reports = [report(builder.getOrCreate())]
    if "restart" in sys.argv:
        again = rangejoin.configure(SparkSession.builder).getOrCreate()
        reports.append(report(again))
        again.stop()
        reports.append(report(rangejoin.configure(SparkSession.builder).getOrCreate()))
    print("REPORT " + json.dumps(reports))


if __name__ == "__main__":
    main()
