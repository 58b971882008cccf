"""Run by `test_sedona.py` in a process of its own: spatial joins and range joins of one session.

Prints one line of JSON: of each query the names of the joins in its plan, and whether its rows are
those without range joins. The session comes from the configuration alone.
"""

from __future__ import annotations

import json
import re

from pyspark.sql import SparkSession

import rangejoin

TABLES = {
    "points": "SELECT id, id % 4 AS k, id * 7 % 100 AS t, id * 37 % 100 / 10D AS x,"
    " id * 53 % 100 / 10D AS y FROM range(400)",
    "areas": "SELECT id, id % 4 AS k, id * 13 % 100 AS low, id * 13 % 100 + 5 AS high,"
    " id % 5 * 2 AS x, id DIV 5 * 2 AS y FROM range(25)",
}
SPATIAL = """
SELECT p.id, a.id FROM p JOIN a ON ST_Contains(a.shape, p.place)
"""
BAND = "p.k = a.k AND p.t BETWEEN a.low AND a.high"
QUERIES = {
    "spatial": SPATIAL,
    "spatial, broadcast": SPATIAL.replace("SELECT", "SELECT /*+ BROADCAST(a) */"),
    "distance": "SELECT p.id, q.id FROM p JOIN p AS q ON ST_Distance(p.place, q.place) < 0.5",
    "range": f"SELECT p.id, a.id FROM p JOIN a ON {BAND}",
    "range, outer": f"SELECT p.id, a.id, ST_AsText(a.shape) FROM p LEFT JOIN a ON {BAND}",
    "range, broadcast": "SELECT /*+ BROADCAST(a) */ p.id, ST_AsText(a.shape) FROM p JOIN a"
    f" ON {BAND}",
    "range without a key, broadcast": "SELECT /*+ BROADCAST(a) */ p.id, a.id, ST_Area(a.shape)"
    " FROM p JOIN a ON p.t BETWEEN a.low AND a.high",
    "both": "SELECT s.id, a.id FROM"
    " (SELECT p.* FROM p JOIN a ON ST_Contains(a.shape, p.place)) AS s"
    f" JOIN a ON {BAND.replace('p.', 's.')}",
    "one join of both": f"SELECT p.id, a.id FROM p JOIN a ON {BAND}"
    " AND ST_Distance(p.place, ST_Centroid(a.shape)) < 3",
    "brute force": "SELECT p.id, a.id FROM points p JOIN areas a"
    " ON p.x > a.x AND p.x < a.x + 2 AND p.y > a.y AND p.y < a.y + 2",
}


def rows_and_joins(spark: SparkSession, query: str, flag: bool) -> tuple[list[str], list[str]]:
    """The sorted rows of a query, and its joins."""
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())
    df = spark.sql(query)
    rows = sorted(map(str, df.collect()))
    plan = df._jdf.queryExecution().executedPlan().toString().split("== Initial Plan ==")[0]
    return rows, re.findall(r"^[\s:+|*()\d-]*([A-Za-z]*Join[A-Za-z]*)", plan, re.MULTILINE)


def main() -> None:
    """Prints the report."""
    spark = SparkSession.builder.getOrCreate()
    rangejoin.check(spark)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    for name, text in TABLES.items():
        spark.sql(text).createOrReplaceTempView(name)
    spark.sql("SELECT *, ST_Point(x, y) AS place FROM points").createOrReplaceTempView("p")
    spark.sql(
        "SELECT *, ST_PolygonFromEnvelope(DOUBLE(x), DOUBLE(y), DOUBLE(x + 2), DOUBLE(y + 2))"
        " AS shape FROM areas"
    ).createOrReplaceTempView("a")
    found = {}
    expected = []
    for name, query in QUERIES.items():
        ours, joins = rows_and_joins(spark, query, flag=True)
        stock, joins_of_stock = rows_and_joins(spark, query, flag=False)
        found[name] = {
            "rows": len(ours),
            "same": ours == stock,
            "joins": joins,
            "off": joins_of_stock,
        }
        if name == "brute force":
            expected = ours
    found["spatial"]["right"] = rows_and_joins(spark, SPATIAL, flag=True)[0] == expected
    print("REPORT " + json.dumps(found))


if __name__ == "__main__":
    main()
