"""A range join beside Apache Sedona: `python bench/sedona.py --jars SEDONA_JARS [--rows N]`.

The tables and queries of `beside.py`, in a session with Sedona's extension, serializer and Kryo
registrator; range joins on and off take turns. Medians, and what they are of that with range joins.

Needs the package `rangejoin` (see README.md) of the line of Spark, and Sedona's jars for it.
"""

from __future__ import annotations

import beside
from pyspark.sql import SparkSession

import rangejoin

#: By contestant, whether range joins are on.
CONTESTANTS = {"range join, Sedona": True, "Sedona": False}


def session(jars: str) -> SparkSession:
    """A session with both extensions, and nothing broadcast."""
    return beside.session(
        {
            "spark.jars": jars,
            "spark.driver.extraClassPath": jars.replace(",", ":"),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.sedona.core.serde.SedonaKryoRegistrator",
            "spark.sql.extensions": "org.apache.sedona.sql.SedonaSqlExtensions",
        }
    )


def seconds(spark: SparkSession, query: str, contestant: str) -> float:
    """One run of a query."""
    flag = CONTESTANTS[contestant]
    spark.conf.set(rangejoin.ENABLED_CONF, str(flag).lower())

    def check(plan: str) -> None:
        assert ("RangeJoin" in plan) == flag, plan

    return beside.seconds(spark, query, check)


def main() -> None:
    """Runs both contestants."""
    parser = beside.parser(__doc__)
    parser.add_argument("--jars", required=True, help="separated by commas")
    given = parser.parse_args()
    spark = session(given.jars)
    beside.compare(spark, given, CONTESTANTS, lambda query, c: seconds(spark, query, c))


if __name__ == "__main__":
    main()
