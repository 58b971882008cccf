"""Run where the wheel is installed: prints a band join with and without the extension, as JSON."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

import rangejoin

FLAG = "spark.sql.join.smj.useInnerRangeOptimization"
QUERY = """
SELECT l.id, r.id FROM (SELECT id, id % 7 AS k FROM range(1000)) AS l
  JOIN (SELECT id, id % 7 AS k FROM range(1000)) AS r
  ON l.k = r.k AND r.id BETWEEN l.id - 20 AND l.id + 20"""


def main() -> None:
    """Prints plan and rows, under the names `ranged` and `stock`, and what is installed."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = rangejoin.configure(builder).getOrCreate()
    rangejoin.check(spark)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    report: dict[str, object] = {"spark": spark.version, "jar": rangejoin.jar_path()}
    for name, flag in [("ranged", "true"), ("stock", "false")]:
        spark.conf.set(FLAG, flag)
        joined = spark.sql(QUERY)
        rows = sorted(map(list, joined.collect()))
        report[name] = {"rows": rows, "plan": joined._jdf.queryExecution().toString()}
    print("REPORT " + json.dumps(report))


if __name__ == "__main__":
    main()
