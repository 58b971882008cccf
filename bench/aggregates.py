"""Aggregates over ranges, beside a band join of one match a row: `python bench/aggregates.py`.

In each case the contestants take turns, after a round that warms up; the first is what the others
are compared with. `pairs` is the same query with `spark.sql.join.aggregatedMatches.enabled` off:
the range join gives all pairs.

    earlier     count and sum of every earlier row of the key (1,000 keys)
    extremes    min, max and avg of 100 matches a row
    all         min, max, avg and stddev of every earlier row
    hundred     count and sum of every earlier row, 100 keys
    global      the number of pairs of every earlier row
    one         count of one match a row
    seconds     in how many of 267,000 intervals of up to ten minutes each second of a day is,
                without a key

Medians of seconds, and of processor seconds of all tasks; on a busy machine look at the latter.
Needs `rangejoin` (see README.md).
"""

from __future__ import annotations

from asof import STEP, band
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from sessions import AGGREGATED
from turns import Case, Contestant, Query, main

ON = {AGGREGATED: "true"}


def of_each(on: str, functions: str, by: str = "l.v") -> Query:
    """Aggregates of the right rows of each left row."""

    def query(left: DataFrame, right: DataFrame) -> DataFrame:
        columns = [F.expr(f) for f in functions.split(";")]
        pairs = left.alias("l").join(right.alias("r"), F.expr(on), "left")
        grouped = pairs.groupBy(F.expr(by)) if by else pairs.groupBy()
        names = [f"a{i}" for i in range(len(columns))]
        return grouped.agg(*(c.alias(n) for c, n in zip(columns, names, strict=True)))

    return query


def seconds_of_a_day(left: DataFrame, _: DataFrame) -> DataFrame:
    """The intervals that each second is in."""
    spark = left.sparkSession
    seconds = spark.range(86_400).selectExpr("id AS s").alias("s")
    begin, length = "pmod(xxhash64(id), 86400)", "pmod(xxhash64(id, 7), 600)"
    intervals = spark.range(267_000).selectExpr("id", f"{begin} AS a", f"{begin} + {length} AS b")
    within = F.expr("s.s BETWEEN i.a AND i.b")
    return (
        seconds.join(intervals.alias("i"), within, "left")
        .groupBy("s.s")
        .agg(F.count("i.id").alias("n"))
    )


EARLIER = "l.k = r.k AND r.t <= l.t"
HUNDRED = f"l.k = r.k AND r.t BETWEEN l.t - {100 * STEP - 1} AND l.t"
ONE = f"l.k = r.k AND r.t BETWEEN l.t - {STEP - 1} AND l.t"


def cases(rows: int) -> dict[str, Case]:
    """The cases, by name."""
    banded = Contestant("band", band)

    def of(query: Query, keys: int = 1000, *, pairs: bool = True) -> Case:
        contestants = [banded, Contestant("aggregated", query, settings=ON)]
        if pairs:
            contestants.append(Contestant("pairs", query))
        return Case(contestants, rows, rows, keys)

    simple = "count(*);sum(r.v)"
    extremes = "min(double(r.v));max(double(r.v));avg(double(r.v))"
    return {
        "earlier": of(of_each(EARLIER, simple)),
        "extremes": of(of_each(HUNDRED, extremes)),
        "all": of(of_each(EARLIER, extremes + ";stddev(double(r.v))")),
        "hundred": of(of_each(EARLIER, simple), 100, pairs=False),
        "global": of(of_each(EARLIER, "count(*)", by="")),
        "one": of(of_each(ONE, "count(r.v)")),
        "seconds": Case(
            [
                Contestant("pairs", seconds_of_a_day, "true", "10MB"),
                Contestant("aggregated", seconds_of_a_day, threshold="10MB", settings=ON),
            ],
            1,
            1,
            1,
        ),
    }


if __name__ == "__main__":
    main(__doc__, cases)
