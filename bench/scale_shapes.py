"""What `scale.py` measures: the shapes, their tables, and the query of each contestant.

The sizes of all things but the tables stay the same: a key has 1,000 rows on average, and what
begins is `STEP` from what begins next, in a key or, without one, among all rows. A row has one
match on average; in an aggregate, a hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aggregates
import asof
import engines
import queries
from cases import Case, Table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

ROWS_OF_KEY = 1000
#: The mean distance of two rows, and the width of bins: what a row reaches on average, or twice it.
STEP = 1_000_000
#: The width of bins of an aggregate, as wide as its band.
BAND = 100 * asof.STEP

Query = Callable[[SparkSession], DataFrame]


@dataclass(frozen=True)
class Shape:
    """A kind of join.

    Attributes:
        title: what it is called in tables and pictures.
        keyed: whether rows have to be of one key.
        range: the comparisons, as in `cases.py`; none in those that are not mere joins.
        reach: as in `cases.py`.
    """

    title: str
    keyed: bool = True
    range: tuple[str, ...] = ()
    reach: tuple[str, str] = ("y", "y")

    @property
    def tables(self) -> str:
        """The name of the tables; shapes share them."""
        if not self.range:
            return "steps"
        return "keys" if self.keyed else "no-keys"

    def case(self, rows: int) -> Case:
        """The join of `rows` rows a side."""
        left, right = (table(side, rows, self.keyed) for side in (0, 1))
        return Case(left, right, self.range, keyed=self.keyed, reach=self.reach)


POINT = ("l.y >= r.y", "l.y <= r.w")
OVERLAP = ("l.y <= r.z", "r.y <= l.z")
BEFORE = (f"y - {2 * STEP}", "y")
MEETING = (f"y - {STEP}", "z")
SHAPES = {
    "band": Shape(
        "band, by key",
        range=(f"r.y >= l.y - {STEP // 2}", f"r.y <= l.y + {STEP // 2}"),
        reach=(f"y - {STEP // 2}", f"y + {STEP // 2}"),
    ),
    "point": Shape("point in interval, by key", range=POINT, reach=BEFORE),
    "overlap": Shape("overlap, by key", range=OVERLAP, reach=MEETING),
    "point-no-key": Shape("point in interval, no key", False, POINT, BEFORE),
    "overlap-no-key": Shape("overlap, no key", False, OVERLAP, MEETING),
    "asof": Shape("as-of, by key"),
    "aggregate": Shape("aggregate of a band, by key"),
}


def table(side: int, rows: int, keyed: bool) -> Table:
    """Rows that begin at `y` and end at `z`, after half a step, or at `w`, after a whole one."""
    keys = max(1, rows // ROWS_OF_KEY)
    domain = (rows // keys if keyed else rows) * STEP
    y = f"pmod(xxhash64(id, 2), {domain})"
    columns = (
        f"pmod(hash(id, 1), {keys if keyed else 1}) AS k",
        f"{y} AS y",
        f"{y} + pmod(hash(id, 3), {STEP}) AS z",
        f"{y} + pmod(hash(id, 3), {2 * STEP}) AS w",
        "pmod(hash(id, 4), 1000) AS v",
    )
    # Both sides are independent of each other.
    return Table(rows, columns, (11 + side) * 10**9)


def write(spark: SparkSession, shape: Shape, rows: int, folder: Path) -> None:
    """The tables of a shape."""
    if shape.range:
        queries.generate(spark, shape.case(rows), folder)
    else:
        asof.write(spark, folder, rows, max(1, rows // ROWS_OF_KEY))


def sides(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Both tables, which are views."""
    return spark.table("l"), spark.table("r")


def joined_asof(of: asof.Query, spark: SparkSession) -> DataFrame:
    """An as-of join by one of its queries."""
    return of(*sides(spark)).agg(F.count("*"), F.sum("v"), F.sum("w"))


def summed(spark: SparkSession, binned: bool = False) -> DataFrame:
    """Count and sum of the matches of each row, added up."""
    left, right = sides(spark)
    on, functions = aggregates.ENGINES["simple"]
    if binned:
        bins = f"explode(sequence(t div {BAND}, (t + {BAND - 1}) div {BAND}))"
        left = left.selectExpr("*", f"t div {BAND} AS bin")
        right = right.selectExpr("*", f"{bins} AS bin")
        on = f"l.bin = r.bin AND {on}"
    of_rows = aggregates.of_each(on, functions)(left, right)
    return of_rows.agg(F.count("*"), F.sum("a0"), F.sum("a1"))


def spark_queries(name: str, rows: int) -> dict[str, Query]:
    """What Spark is given, by contestant; Comet runs what stock Spark does."""
    shape = SHAPES[name]
    found: dict[str, Query]
    if name == "asof":
        stock = partial(joined_asof, asof.join_asof)
        found = {"ours": stock, "stock": stock, "union": partial(joined_asof, asof.union)}
    elif name == "aggregate":
        found = {"ours": summed, "stock": summed, "bins": partial(summed, binned=True)}
    else:
        case = shape.case(rows)
        join = case.sql("SELECT", "l", "r")
        bins = queries.binned(case, STEP)
        found = {
            "ours": lambda spark: spark.sql(join),
            "stock": lambda spark: spark.sql(join),
            "bins": lambda spark: spark.sql(bins),
        }
    return {**found, "comet": found["stock"]}


def engine_run(engine: str, name: str, rows: int, folder: str) -> list[int]:
    """One run of DuckDB or Polars in this process: what it has counted and added up."""
    if name == "asof":
        return {"duckdb": asof.duckdb_run, "polars": asof.polars_run}[engine](folder)
    if name == "aggregate":
        summing = {"duckdb": aggregates.duckdb_run, "polars": aggregates.polars_run}
        return summing[engine]("simple", folder)
    return engines.RUNS[engine](SHAPES[name].case(rows), folder)[1]
