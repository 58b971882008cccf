"""Run by `test_comet.py` in a process of its own: joins beside Comet, and beside stock Spark.

Prints one line of JSON: what `check` says, and of each case what is in its plan and whether its
rows are those of Comet without range joins, and those of stock Spark. The session comes from the
configuration alone. The words of the command line are names of cases; without any, all are run.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import rangejoin

COMET_CONF = "spark.comet.enabled"

TABLE = """
SELECT id, IF(id % 11 = 3, NULL, id % 4) AS k, IF(id % 17 = 5, NULL, concat('key ', id % 4)) AS s,
       IF(id % 13 = 5, NULL, CAST(id * {0} % 230 AS INT)) AS y,
       CAST(id * {0} % 230 AS DECIMAL(10, 2)) / 4 AS d,
       IF(id % 19 = 7, NULL, timestamp_seconds(id * {0} % 230)) AS t,
       IF(id % 23 = 9, DOUBLE('NaN'), IF(id % 29 = 0, -0D, id * {0} % 230 / 8D)) AS f,
       lpad(CAST(id * {0} % 230 AS STRING), 3, '0') AS w, id % 3 = 0 AS b
FROM range(600)
"""

COLUMNS = "l.id, l.s, l.y, l.d, l.t, l.f, l.w, r.id, r.s, r.y, r.d, r.t, r.f, r.w"
BAND = "l.k = r.k AND r.y BETWEEN l.y - 2 AND l.y + 2"
JOINED = f"FROM l JOIN r ON {BAND}"

QUERIES = {
    "inner": f"SELECT {COLUMNS} {JOINED}",
    "left": f"SELECT {COLUMNS} FROM l LEFT JOIN r ON {BAND}",
    "right": f"SELECT {COLUMNS} FROM l RIGHT JOIN r ON {BAND}",
    "full": f"SELECT {COLUMNS} FROM l FULL JOIN r ON {BAND}",
    "semi": f"SELECT * FROM l LEFT SEMI JOIN r ON {BAND}",
    "anti": f"SELECT * FROM l LEFT ANTI JOIN r ON {BAND}",
    "residual": f"SELECT {COLUMNS} {JOINED} AND (l.id + r.id) % 3 = 1",
    "string keys": f"SELECT {COLUMNS} FROM l JOIN r ON l.s = r.s AND r.y BETWEEN l.y - 2 AND l.y",
    "decimals": f"SELECT {COLUMNS} FROM l FULL JOIN r ON l.k = r.k AND r.d BETWEEN l.d - 1 AND l.d",
    "timestamps": f"SELECT {COLUMNS} FROM l LEFT JOIN r ON l.k = r.k"
    " AND r.t BETWEEN l.t - INTERVAL 3 SECONDS AND l.t",
    "doubles": f"SELECT {COLUMNS} FROM l FULL JOIN r ON l.k = r.k AND r.f >= l.f AND r.f <= l.f",
    "strings": f"SELECT {COLUMNS} FROM l JOIN r ON l.k = r.k AND r.w >= l.w AND r.w <= l.w",
    "broadcast": f"SELECT /*+ BROADCAST(r) */ {COLUMNS} {JOINED}",
    "broadcast left": f"SELECT /*+ BROADCAST(r) */ {COLUMNS} FROM l LEFT JOIN r ON {BAND}",
    "broadcast without a key": "SELECT /*+ BROADCAST(r) */ l.id, r.id FROM l JOIN r"
    " ON r.y BETWEEN l.y - 2 AND l.y + 2",
    "shuffled": f"SELECT /*+ SHUFFLE_HASH(r) */ {COLUMNS} {JOINED}",
    "without a key": "SELECT l.id, l.s, r.id FROM l JOIN r ON r.y BETWEEN l.y - 2 AND l.y + 2",
    "above a join": f"SELECT l.id, r.id, m.s {JOINED} JOIN m ON m.id = r.id WHERE m.y > 5",
    "the latest": "SELECT l_id, r_id FROM (SELECT l.id AS l_id, r.id AS r_id, row_number() OVER"
    " (PARTITION BY l.id ORDER BY r.t DESC, r.id) AS n FROM l JOIN r"
    " ON l.k = r.k AND r.t <= l.t) WHERE n = 1",
}
# Buffers of Spark's partial aggregates go to Comet's final ones, where Comet takes these.
AGGREGATES = {
    "counts": "count(*), count(r.s), count_if(r.b)",
    "whole sums": "sum(r.y), sum(r.id)",
    "decimal sums": "sum(r.d), sum(l.d)",
    "double sums": "sum(r.id / 8D)",
    "averages": "avg(r.y), avg(r.id / 8D)",
    "decimal averages": "avg(r.d)",
    "extremes": "min(r.t), max(r.d), min(r.y)",
    "string extremes": "min(r.s), max(r.w)",
    "bits": "bit_or(r.id), bit_and(r.id), bit_xor(r.y), bool_and(r.b)",
    "all of them": "count(*), sum(r.y), sum(r.d), avg(r.y), avg(r.d), min(r.t), max(r.s)",
}
for name, functions in AGGREGATES.items():
    # By rows, which have to be shuffled; by a column that many rows share; by the key.
    for columns in ("l.id", "l.b", "l.k, l.s"):
        QUERIES[f"{name} by {columns}"] = (
            f"SELECT {columns}, {functions} {JOINED} GROUP BY {columns}"
        )
QUERIES["averages of an outer join"] = (
    f"SELECT l.id, count(r.id), avg(r.y), sum(r.d) FROM l LEFT JOIN r ON {BAND} GROUP BY l.id"
)

# In ANSI mode Spark divides by the deviation, which is zero.
OF_ONE_VALUE = f"SELECT l.k, corr(r.y, CAST(r.id * 0 AS DOUBLE)) {JOINED} GROUP BY l.k"


def as_of(spark: SparkSession, on: str) -> DataFrame:
    """Each row of one table with the latest row of the other, and not all of them."""
    left, right = (spark.table(name).select("id", "k", on) for name in ("l", "r"))
    return rangejoin.join_asof(left, right, on=on, by="k", tie_break=F.col("id").desc())


def cases(spark: SparkSession) -> dict[str, Callable[[], DataFrame]]:
    """Every case by its name."""
    found: dict[str, Callable[[], DataFrame]] = {
        name: partial(spark.sql, text) for name, text in QUERIES.items()
    }
    return found | {
        "as of": partial(as_of, spark, "t"),
        "as of doubles": partial(as_of, spark, "f"),
        "as of strings": partial(as_of, spark, "w"),
    }


def make_tables(spark: SparkSession, folder: str) -> None:
    """Writes three tables as Parquet, each of two files, and names them `l`, `r` and `m`."""
    for name, factor in (("l", 7), ("r", 5), ("m", 3)):
        path = f"{folder}/{name}"
        spark.sql(TABLE.format(factor)).repartition(2).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)


def rows_and_nodes(
    spark: SparkSession, case: Callable[[], DataFrame], flag: bool, comet: bool
) -> tuple[list[str], list[str]]:
    """The sorted rows of a case, and the names of the nodes of the plan that has run."""
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())
    spark.conf.set(COMET_CONF, str(comet).lower())
    df = case()
    rows = sorted(map(str, df.collect()))
    plan = df._jdf.queryExecution().executedPlan().toString().split("== Initial Plan ==")[0]
    return rows, re.findall(r"^[\s:+|*()\d-]*([A-Za-z]+)", plan, re.MULTILINE)


def correlation_of_one_value(spark: SparkSession, flag: bool, comet: bool, ansi: bool) -> str:
    """What becomes of it: its rows, or the error that it raises."""
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        rows, nodes = rows_and_nodes(spark, partial(spark.sql, OF_ONE_VALUE), flag, comet)
    except (PySparkException, Py4JJavaError) as error:
        return "DIVIDE_BY_ZERO" if "[DIVIDE_BY_ZERO]" in str(error) else str(error)
    assert ("AggregateMatches" in nodes) == flag, nodes
    return " ".join(rows)


def correlations_of_one_value(spark: SparkSession) -> dict[str, str]:
    """Likewise of range joins, of Comet alone, and of stock Spark; in ANSI mode and not."""
    sessions = {"ours": (True, True), "comet": (False, True), "stock": (False, False)}
    return {
        f"{name}, ansi {ansi}": correlation_of_one_value(spark, *session, ansi)
        for name, session in sessions.items()
        for ansi in (True, False)
    }


def report(spark: SparkSession, case: Callable[[], DataFrame]) -> dict[str, object]:
    """What there is to say of a case."""
    ours, nodes = rows_and_nodes(spark, case, flag=True, comet=True)
    alone, nodes_alone = rows_and_nodes(spark, case, flag=False, comet=True)
    stock, _ = rows_and_nodes(spark, case, flag=False, comet=False)
    return {
        "rows": len(ours),
        "as comet": ours == alone,
        "as stock": ours == stock,
        "nodes": nodes,
        "nodes alone": nodes_alone,
    }


def main() -> None:
    """Prints the reports, with adaptive execution and without."""
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        rangejoin.check(spark)
        outcome = "active"
    except rangejoin.RangeJoinError as error:
        outcome = str(error)
    reports: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        spark.conf.set(COMET_CONF, "false")
        make_tables(spark, folder)
        for adaptive in ("true", "false"):
            spark.conf.set("spark.sql.adaptive.enabled", adaptive)
            for name, case in cases(spark).items():
                if name in sys.argv[1:] or not sys.argv[1:]:
                    reports[f"{name}, adaptive {adaptive}"] = report(spark, case)
        of_one_value = {} if sys.argv[1:] else correlations_of_one_value(spark)
    found = {"check": outcome, "cases": reports, "correlation of one value": of_one_value}
    print("REPORT " + json.dumps(found))


if __name__ == "__main__":
    main()
