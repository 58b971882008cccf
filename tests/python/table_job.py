"""Run by tests in a process of its own: range joins of tables in a given format.

The words of the command line are the `USING` or `STORED AS` clause of the tables, two where these
are of different formats, and `merge` where they take `MERGE INTO`. The session comes from the
configuration alone.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import rangejoin

POINTS = "SELECT id, IF(id % 13 = 5, NULL, id % 8) AS k, IF(id % 17 = 3, NULL, id * 7 % 100) AS y"
# Ten intervals a key, which do not overlap.
INTERVALS = "SELECT id, id % 8 AS k, id DIV 8 * 10 AS low, id DIV 8 * 10 + id % 9 AS high"

JOIN = "SELECT * FROM points p {} JOIN intervals i ON p.k = i.k AND p.y BETWEEN i.low AND i.high"
MERGE = """
MERGE INTO {} p USING intervals i ON p.k = i.k AND p.y BETWEEN i.low AND i.high
WHEN MATCHED AND i.id % 3 = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET id = i.id + 1000
WHEN NOT MATCHED THEN INSERT (id, k, y) VALUES (i.id, i.k, i.low)
"""


def plans(spark: SparkSession) -> list[str]:
    """Returns the plans of all queries so far, as the SQL tab shows them."""
    # What it shows is told to it behind the queries.
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    return [executions.apply(i).physicalPlanDescription() for i in range(executions.size())]


def range_joins(spark: SparkSession, statement: str, flag: bool) -> tuple[int, list[str]]:
    """Runs a statement; returns how many of its queries had range joins, and its sorted rows."""
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())
    before = len(plans(spark))
    rows = sorted(str(row) for row in spark.sql(statement).collect())
    return sum("SortMergeRangeJoin" in plan for plan in plans(spark)[before:]), rows


def main() -> None:
    """Prints one line of JSON: the number of queries with range joins, by statement."""
    merge = "merge" in sys.argv
    clauses = [word for word in sys.argv[1:] if word != "merge"]
    spark = SparkSession.builder.getOrCreate()
    rangejoin.check(spark)
    for name, clause, text in [
        ("points", clauses[0], f"{POINTS} FROM range(400)"),
        ("intervals", clauses[-1], f"{INTERVALS} FROM range(80)"),
    ]:
        columns = spark.sql(text).schema.simpleString().removeprefix("struct<").removesuffix(">")
        spark.sql(f"CREATE TABLE {name} ({columns.replace(':', ' ')}) {clause}")
        spark.sql(f"INSERT INTO {name} {text}")

    found = {}
    for how in ("INNER", "LEFT", "FULL", "LEFT ANTI"):
        found[how], ours = range_joins(spark, JOIN.format(how), True)
        assert range_joins(spark, JOIN.format(how), False) == (0, ours)
        assert len(ours) > 20
        # The hint stands for the flag, whatever made the session and its analyzer.
        hinted = JOIN.format(how).replace("SELECT", "SELECT /*+ RANGE_JOIN(i, 5) */")
        assert range_joins(spark, hinted, False) == (found[how], ours)
    if merge:
        contents = []
        for flag, name in ((True, "ours"), (False, "stock")):
            spark.sql(f"CREATE TABLE {name} {clauses[0]} AS SELECT * FROM points")
            count, _ = range_joins(spark, MERGE.format(name), flag)
            found[f"MERGE, {name}"] = count
            contents.append(sorted(map(str, spark.table(name).collect())))
        assert contents[0] == contents[1]
        assert contents[0] != sorted(map(str, spark.table("points").collect()))
    print("REPORT " + json.dumps(found))


if __name__ == "__main__":
    main()
