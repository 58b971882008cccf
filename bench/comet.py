"""A range join beside Comet: `python bench/comet.py --comet COMET_JAR [--rows N] [--rounds 3]`.

The tables and queries of `beside.py`. In every round the contestants take turns, each in the same
session: range joins beside Comet, range joins without Comet, Comet alone, and stock Spark. Medians,
and what they are of that of range joins beside Comet.

Needs the package `rangejoin` (see README.md) of the line of Spark, and Comet's jar for it.
"""

from __future__ import annotations

from pathlib import Path

import beside
from pyspark.sql import SparkSession

import rangejoin

#: By contestant: whether range joins are on, and whether Comet is.
CONTESTANTS = {
    "range join, Comet": (True, True),
    "range join": (True, False),
    "Comet": (False, True),
    "stock": (False, False),
}


def session(comet: str | None) -> SparkSession:
    """Comet, if there is a jar of it, as docs/comet.md has it, and nothing broadcast."""
    if comet is None:
        return beside.session({})
    manager = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"
    return beside.session(
        {
            "spark.jars": comet,
            "spark.driver.extraClassPath": comet,
            "spark.plugins": "org.apache.spark.CometPlugin",
            "spark.shuffle.manager": manager,
            "spark.memory.offHeap.enabled": "true",
            "spark.memory.offHeap.size": "2g",
        }
    )


def seconds(spark: SparkSession, query: str, contestant: str) -> float:
    """One run of a query."""
    flag, comet = CONTESTANTS[contestant]
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())
    spark.conf.set("spark.comet.enabled", str(comet).lower())

    def check(plan: str) -> None:
        assert ("RangeJoin" in plan, "CometExchange" in plan) == (flag, comet), plan

    return beside.seconds(spark, query, check)


def main() -> None:
    """Runs the contestants."""
    parser = beside.parser(__doc__)
    parser.add_argument("--comet", required=True)
    given = parser.parse_args()
    spark = session(str(Path(given.comet).resolve()))
    beside.compare(spark, given, CONTESTANTS, lambda query, c: seconds(spark, query, c))


if __name__ == "__main__":
    main()
