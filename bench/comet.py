"""A range join beside Comet: `python bench/comet.py --comet COMET_JAR [--rows N] [--rounds 3]`.

Two tables as Parquet, a band of two matches a row, a thousand keys. In every round the contestants
take turns, each in the same session: range joins beside Comet, range joins without Comet, Comet
alone, and stock Spark. Medians, and what they are of that of range joins beside Comet. The rows
are read to their end and dropped; in a second query they are aggregated by the left row.

Needs the package `rangejoin` (see README.md) of the line of Spark, and Comet's jar for it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import rangejoin

TABLE = """
SELECT id, id % {keys} AS k, CAST(hash(id, {seed}) AS BIGINT) & 1048575 AS t, id * 3 AS v,
       concat('name ', id % 1000) AS s
FROM range({rows})
"""
JOINED = "FROM l JOIN r ON l.k = r.k AND r.t BETWEEN l.t - {reach} AND l.t + {reach}"
QUERIES = {
    "pairs": f"SELECT l.id, l.s, l.v, r.id, r.s, r.v {JOINED}",
    "aggregates": f"SELECT l.id, count(*), sum(r.v), max(r.t) {JOINED} GROUP BY l.id",
}
#: By contestant: whether range joins are on, and whether Comet is.
CONTESTANTS = {
    "range join, Comet": (True, True),
    "range join": (True, False),
    "Comet": (False, True),
    "stock": (False, False),
}


def session(comet: str | None) -> SparkSession:
    """Comet, if there is a jar of it, as docs/comet.md has it, and nothing broadcast."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
    )
    if comet is not None:
        manager = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"
        builder = (
            builder.config("spark.jars", comet)
            .config("spark.driver.extraClassPath", comet)
            .config("spark.plugins", "org.apache.spark.CometPlugin")
            .config("spark.shuffle.manager", manager)
            .config("spark.memory.offHeap.enabled", "true")
            .config("spark.memory.offHeap.size", "2g")
        )
    return rangejoin.configure(builder).getOrCreate()


def write_tables(spark: SparkSession, folder: str, keys: int, rows: int) -> None:
    """Both sides as Parquet, and as views of their names."""
    for seed, name in enumerate("lr"):
        text = TABLE.format(keys=keys, rows=rows, seed=seed)
        spark.sql(text).repartition(4).write.parquet(f"{folder}/{name}")
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)


def reach_of(keys: int, rows: int) -> int:
    """Two matches a row: a key has rows / keys rows, spread over 2 ^ 20 values."""
    return 1048576 * keys // rows


def seconds(spark: SparkSession, query: str, contestant: str) -> float:
    """One run of a query."""
    flag, comet = CONTESTANTS[contestant]
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())
    spark.conf.set("spark.comet.enabled", str(comet).lower())
    df = spark.sql(query)
    plan = df._jdf.queryExecution().executedPlan().toString()
    assert ("RangeJoin" in plan, "CometExchange" in plan) == (flag, comet), plan
    start = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def main() -> None:
    """Prints the medians of each query, and what they are of the first contestant's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comet", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    spark = session(str(Path(given.comet).resolve()))
    reach = reach_of(given.keys, given.rows)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(spark, folder, given.keys, given.rows)
        for name, query in QUERIES.items():
            taken: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
            for number in range(given.rounds + 1):
                for contestant in CONTESTANTS:
                    run = seconds(spark, query.format(reach=reach), contestant)
                    print(f"{name}, round {number}, {contestant}: {run:.1f} s", flush=True)
                    # The first round warms up.
                    if number:
                        taken[contestant].append(run)
            medians = {c: statistics.median(runs) for c, runs in taken.items()}
            first = medians["range join, Comet"]
            for contestant, median in medians.items():
                runs = ", ".join(f"{run:.1f}" for run in taken[contestant])
                print(f"{name:11} {contestant:18} {median:6.2f} s  {median / first:6.2f}  ({runs})")
    spark.stop()


if __name__ == "__main__":
    main()
