"""The join that is measured beside other extensions of Spark, by contestants that take turns.

Two tables as Parquet, a band of two matches a row, a thousand keys. The rows are read to their end
and dropped; in a second query they are aggregated by the left row.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable

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


def session(settings: dict[str, str]) -> SparkSession:
    """A session with these settings, in which nothing is broadcast."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
    )
    for key, value in settings.items():
        builder = builder.config(key, value)
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


def seconds(spark: SparkSession, query: str, check: Callable[[str], None]) -> float:
    """One run of a query, whose plan is checked first."""
    df = spark.sql(query)
    check(df._jdf.queryExecution().executedPlan().toString())
    start = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options of each of these benchmarks."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    return parser


def compare(
    spark: SparkSession,
    given: argparse.Namespace,
    contestants: Iterable[str],
    run: Callable[[str, str], float],
) -> None:
    """Prints the medians of each query, and what they are of the first contestant's.

    Args:
        spark: ended when all is done.
        given: the options of `parser`.
        contestants: their names, in turn.
        run: seconds of one run of a query by a contestant.
    """
    reach = reach_of(given.keys, given.rows)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(spark, folder, given.keys, given.rows)
        for name, query in QUERIES.items():
            taken: dict[str, list[float]] = {contestant: [] for contestant in contestants}
            for number in range(given.rounds + 1):
                for contestant, runs in taken.items():
                    found = run(query.format(reach=reach), contestant)
                    print(f"{name}, round {number}, {contestant}: {found:.1f} s", flush=True)
                    # The first round warms up.
                    if number:
                        runs.append(found)
            medians = {c: statistics.median(runs) for c, runs in taken.items()}
            first = next(iter(medians.values()))
            for contestant, median in medians.items():
                each = ", ".join(f"{run:.1f}" for run in taken[contestant])
                print(f"{name:11} {contestant:18} {median:6.2f} s  {median / first:6.2f}  ({each})")
    spark.stop()
