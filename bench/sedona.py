"""A range join beside Apache Sedona: `python bench/sedona.py --jars SEDONA_JARS [--rows N]`.

The tables and queries of `comet.py`, in a session with Sedona's extension, serializer and Kryo
registrator; range joins on and off take turns. Medians, and what they are of that with range joins.

Needs the package `rangejoin` (see README.md) of the line of Spark, and Sedona's jars for it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time

from comet import QUERIES, reach_of, write_tables
from pyspark.sql import SparkSession

import rangejoin

#: By contestant, whether range joins are on.
CONTESTANTS = {"range join, Sedona": True, "Sedona": False}


def session(jars: str) -> SparkSession:
    """A session with both extensions, and nothing broadcast."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.jars", jars)
        .config("spark.driver.extraClassPath", jars.replace(",", ":"))
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config(
            "spark.kryo.registrator",
            "org.apache.sedona.core.serde.SedonaKryoRegistrator",
        )
        .config("spark.sql.extensions", "org.apache.sedona.sql.SedonaSqlExtensions")
    )
    return rangejoin.configure(builder).getOrCreate()


def seconds(spark: SparkSession, query: str, flag: bool) -> float:
    """One run of a query."""
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())
    df = spark.sql(query)
    plan = df._jdf.queryExecution().executedPlan().toString()
    assert ("RangeJoin" in plan) == flag, plan
    start = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def main() -> None:
    """Prints the medians of each query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", required=True, help="separated by commas")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    spark = session(given.jars)
    reach = reach_of(given.keys, given.rows)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(spark, folder, given.keys, given.rows)
        for name, query in QUERIES.items():
            taken: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
            for number in range(given.rounds + 1):
                for contestant, flag in CONTESTANTS.items():
                    run = seconds(spark, query.format(reach=reach), flag)
                    # The first round warms up.
                    if number:
                        taken[contestant].append(run)
            first = statistics.median(taken["range join, Sedona"])
            for contestant, runs in taken.items():
                median = statistics.median(runs)
                print(
                    f"{name:11} {contestant:18} {median:6.2f} s  {median / first:6.2f}",
                    flush=True,
                )
    spark.stop()


if __name__ == "__main__":
    main()
