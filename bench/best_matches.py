"""Best matches beside what they are to be held to: `python bench/best_matches.py [--cases ...]`.

Each case has two or three contestants that take turns, after a round that warms up; the first is
what the others are compared with. Left rows are in no order, and each key has as many right rows.

    k           join_asof with k = 10 beside k = 1
    no key      join_asof without a key beside a band join by range buckets, one match a row
    broadcast   ten times the rows, the right side of a tenth broadcast: beside a hash join on a key
                that gives one match a row
    columns     99 columns, beside a band join of one match a row with as many
    one row     row_number() = 1 where each key has one right row: beside stock Spark
    hundred     join_asof with 100 keys beside a band join of one match a row
    nearest     the nearest of all rows of the key beside a band join of one match a row
    nearest of all
                the nearest of all rows, without a key, beside join_asof without a key
    nearest by  `NEAREST 1 BY DISTANCE` of 20,000 rows a side beside stock Spark (4.2 on), one round
    nearest 1M  the same of `--rows` a side, beside a band join without a key
    on disk     join_asof of one key, a fifth of the rows, in a window with 5,000 rows in memory
                beside one with all of them
    strings     row_number() = 1 by times that are strings, beside the same as timestamps, 100 keys
    prepared    join_asof of tables that `rangejoin.prepare` wrote, beside those that are not

Medians of seconds, and of processor seconds of all tasks; on a busy machine look at the latter.
Needs `rangejoin` (see README.md).
"""

from __future__ import annotations

from asof import STEP, band, join_asof
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from sessions import BUFFER
from turns import Case, Contestant, Query, main

import rangejoin

#: Settings by which a window has 5,000 rows in memory.
SPILLS = {BUFFER + "in.memory.threshold": "5000", BUFFER + "spill.threshold": "5000"}


def first_of(k: int = 1, **options: object) -> Query:
    """The as-of join."""
    given: dict[str, object] = {"on": "t", "by": "k", "k": k, **options}
    return lambda left, right: rangejoin.join_asof(left, right, **given)  # type: ignore[arg-type]


def unkeyed(strategy: str = "backward") -> Query:
    """The as-of join without a key."""
    joined = first_of(by=None, strategy=strategy)
    return lambda left, right: joined(left.drop("k"), right.drop("k"))


def without_key(left: DataFrame, right: DataFrame) -> DataFrame:
    """A band of one match a row, without a key: times are made different by the key."""
    near = F.expr("r.t BETWEEN l.t - 1 AND l.t")
    return left.alias("l").join(right.alias("r"), near, "left").selectExpr("l.v", "r.v AS w")


def band_of_all(left: DataFrame, right: DataFrame) -> DataFrame:
    """The band join of one match a row, with all columns of the right side."""
    near = F.expr(f"l.k = r.k AND r.t BETWEEN l.t - {STEP - 1} AND l.t")
    columns = [F.col(f"r.{name}").alias(f"r_{name}") for name in right.columns]
    return left.alias("l").join(right.alias("r"), near, "left").select("l.v", *columns)


def hashed(left: DataFrame, right: DataFrame) -> DataFrame:
    """A hash join on a key of one row."""
    one = right.selectExpr("v AS id", "v AS w")
    return left.selectExpr("v", "k AS id").join(one, "id", "left").select("v", "w")


def ranked(left: DataFrame, right: DataFrame) -> DataFrame:
    """`row_number() = 1` over the range join with one end."""
    left.createOrReplaceTempView("l")
    right.createOrReplaceTempView("r")
    return left.sparkSession.sql(
        """SELECT v, w FROM (
             SELECT l.v, r.v AS w, row_number() OVER (PARTITION BY l.v ORDER BY r.t DESC) AS n
             FROM l LEFT JOIN r ON l.k = r.k AND r.t <= l.t)
           WHERE n = 1"""
    )


def with_timestamps(side: DataFrame) -> DataFrame:
    """A side whose times are timestamps."""
    return side.withColumn("t", F.col("t").cast("timestamp"))


def nearest_by(left: DataFrame, right: DataFrame) -> DataFrame:
    """Spark's own words for the nearest."""
    left.createOrReplaceTempView("l")
    right.createOrReplaceTempView("r")
    return left.sparkSession.sql(
        "SELECT l.v, abs(l.t - r.t) AS d FROM l JOIN r EXACT NEAREST 1 BY DISTANCE abs(l.t - r.t)"
    )


def string_times(seed: int) -> str:
    """The columns of a side: keys, and seconds of a year as strings."""
    seconds = f"1700000000 + pmod(xxhash64(id, {seed}), 31000000)"
    return f"id % 100 AS k;CAST(timestamp_seconds({seconds}) AS STRING) AS t;id AS v"


def cases(rows: int) -> dict[str, Case]:
    """The cases, by name."""

    def pair(base: Contestant, of: Contestant) -> list[Contestant]:
        return [base, of]

    one, banded = Contestant("k = 1", first_of()), Contestant("band", band)
    wide = Contestant("band", band_of_all)
    return {
        "k": Case(pair(one, Contestant("k = 10", first_of(10))), rows, rows, 1000),
        "no key": Case(
            pair(
                Contestant("band", without_key),
                Contestant("join_asof", unkeyed()),
            ),
            rows,
            rows,
            1,
        ),
        "broadcast": Case(
            pair(
                Contestant("hash join", hashed, "false", "100MB"),
                Contestant("join_asof", join_asof, threshold="100MB"),
            ),
            10 * rows,
            rows // 10,
            100,
        ),
        "columns": Case(
            pair(wide, Contestant("join_asof", first_of())), rows, rows, 1000, columns=99
        ),
        "one row": Case(
            pair(Contestant("stock", ranked, "false"), Contestant("ranking", ranked)),
            rows,
            rows,
            rows,
        ),
        "hundred": Case(pair(banded, Contestant("join_asof", join_asof)), rows, rows, 100),
        "nearest": Case(
            pair(banded, Contestant("nearest", first_of(strategy="nearest"))),
            rows,
            rows,
            1000,
        ),
        "nearest of all": Case(
            pair(
                Contestant("join_asof", unkeyed()),
                Contestant("nearest", unkeyed(strategy="nearest")),
            ),
            rows,
            rows,
            1,
        ),
        "nearest by": Case(
            pair(
                Contestant("stock", nearest_by, "false", "10MB"),
                Contestant("NEAREST BY", nearest_by, threshold="10MB"),
            ),
            20_000,
            20_000,
            1,
            once=True,
        ),
        "nearest 1M": Case(
            pair(
                Contestant("band", without_key),
                Contestant("NEAREST BY", nearest_by, threshold="10MB"),
            ),
            rows,
            rows,
            1,
        ),
        "on disk": Case(
            pair(
                Contestant("in memory", join_asof),
                Contestant("on disk", join_asof, settings=SPILLS),
            ),
            rows // 5,
            rows // 5,
            1,
        ),
        "strings": Case(
            pair(
                Contestant(
                    "timestamps",
                    lambda left, right: ranked(with_timestamps(left), with_timestamps(right)),
                ),
                Contestant("strings", ranked),
            ),
            rows,
            rows,
            100,
            sides=(string_times(1), string_times(2)),
        ),
        "prepared": Case(
            pair(
                Contestant("join_asof", join_asof),
                Contestant("prepared", join_asof, tables=("l_prepared", "r_prepared")),
            ),
            rows,
            rows,
            1000,
            prepares=True,
        ),
    }


if __name__ == "__main__":
    main(__doc__, cases)
