"""How long plans take to make, beside stock Spark: `python bench/planning.py [--rounds N]`.

Two sessions of one process, with the extension and without, plan the same queries in turns;
nothing is run. Medians of the second half of all rounds, in milliseconds of the processor of the
thread that plans, as a table in Markdown: at most 1.1 is wanted with ranges, and 1.02 without.
Needs the package `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from typing import Any

from pyspark.sql import SparkSession
from sessions import FLAG

import rangejoin

TABLES = 26


def star(kind: str, has_ranges: bool) -> str:
    """One table joined with all others."""
    values = ", ".join(f"v{i}" for i in range(1, TABLES))
    joins = (
        f"{kind} JOIN t{i} ON k0 = k{i}"
        + (f" AND t0.t0 BETWEEN t{i} AND u{i}" if has_ranges else "")
        for i in range(1, TABLES)
    )
    return f"SELECT k0, {values} FROM t0 {' '.join(joins)}"


def chain(has_ranges: bool) -> str:
    """Five tables, each joined with the one before it."""
    joins = (
        f"JOIN t{i} ON k{i - 1} = k{i}"
        + (f" AND t{i - 1} BETWEEN t{i} AND u{i}" if has_ranges else "")
        for i in range(1, 5)
    )
    return f"SELECT count(*) FROM t0 {' '.join(joins)}"


QUERIES = {
    "25 LEFT joins, each with a range": star("LEFT", True),
    "25 INNER joins, each with a range": star("INNER", True),
    "4 joins, each with a range": chain(True),
    "one join with a range": "SELECT count(*) FROM t0 JOIN t1 ON k0 = k1 AND t0 BETWEEN t1 AND u1",
    "25 LEFT joins": star("LEFT", False),
    "25 INNER joins": star("INNER", False),
    "4 joins": chain(False),
    "an aggregate": "SELECT k0, sum(t0) FROM t0 GROUP BY k0 ORDER BY 1",
    "a scan": "SELECT * FROM t0 WHERE k0 > 3",
}


def sessions() -> tuple[SparkSession, Any, Any]:
    """Stock Spark in Python, and on the JVM the same session and one with range joins."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraClassPath", rangejoin.jar_path())
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    context: Any = spark.sparkContext._jsc.sc()
    context.conf().set("spark.sql.extensions", rangejoin.EXTENSION_CLASS)
    sessions: Any = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]
    sessions.clearActiveSession()
    sessions.clearDefaultSession()
    ours = sessions.builder().sparkContext(context).getOrCreate()
    ours.conf().set(FLAG, "true")
    return spark, spark._jsparkSession, ours


def main() -> None:
    """Plans the queries, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    spark, stock, ours = sessions()
    jvm: Any = spark._jvm
    clock = jvm.java.lang.management.ManagementFactory.getThreadMXBean()

    def planned(session: Any, query: str) -> float:
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session)
        begin = clock.getCurrentThreadCpuTime()
        session.sql(query).queryExecution().executedPlan()
        return float(clock.getCurrentThreadCpuTime() - begin) / 1e6

    with tempfile.TemporaryDirectory() as folder:
        for i in range(TABLES):
            columns = f"id AS k{i}, id AS t{i}, id AS u{i}, id AS v{i}"
            spark.sql(f"SELECT {columns} FROM range(10)").write.parquet(f"{folder}/t{i}")
            for session in (stock, ours):
                session.read().parquet(f"{folder}/t{i}").createOrReplaceTempView(f"t{i}")
        print("| query | stock, ms | ours, ms | ours / stock |\n|---|---:|---:|---:|")
        for name, query in QUERIES.items():
            taken: dict[int, list[float]] = {0: [], 1: []}
            for r in range(rounds):
                for which in (0, 1) if r % 2 else (1, 0):
                    taken[which].append(planned((stock, ours)[which], query))
            of_stock, of_ours = (statistics.median(taken[w][rounds // 2 :]) for w in (0, 1))
            ratio = of_ours / of_stock
            print(f"| {name} | {of_stock:.2f} | {of_ours:.2f} | {ratio:.2f} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
