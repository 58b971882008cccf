"""Random joins beside stock Spark, from the PySpark of a line.

Each case is a query over two small tables with NULLs, ties and the ends of types, run with range
joins on and off in one session, under settings drawn for it. Rows have to be the same. Where stock
raises an error, the range join raises the same one, or none: pairs out of range are not evaluated.
`make fuzz-python LINE=3.5` runs it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rangejoin

# What values of a type are made of, a step of it, and what a difference of two is compared with.
TYPES: dict[str, tuple[list[str], str, str]] = {
    "INT": (["0", "1", "2", "3", "5", "9", "2147483647", "-2147483648"], "2", "2"),
    "BIGINT": (
        ["0", "1", "2", "4", "7", "9223372036854775807", "-9223372036854775808"],
        "3L",
        "3L",
    ),
    "SMALLINT": (["0", "1", "2", "3", "32767", "-32768"], "2S", "2S"),
    "DOUBLE": (
        ["'0'", "'-0.0'", "'1.5'", "'2'", "'3'", "'NaN'", "'Infinity'", "'-Infinity'"],
        "1.5D",
        "1.5D",
    ),
    "FLOAT": (
        ["'0'", "'-0.0'", "'1.5'", "'2'", "'3'", "'NaN'", "'Infinity'"],
        "CAST(1.5 AS FLOAT)",
        "1.5D",
    ),
    "DECIMAL(10,2)": (["0", "1.25", "2.5", "99999999.99", "-99999999.99"], "1.25", "1.25"),
    "DECIMAL(30,4)": (["0", "1.25", "2.5", "99999999999999999999999999.9999"], "1.25", "1.25"),
    "DATE": (
        ["'2024-02-28'", "'2024-02-29'", "'2024-03-01'", "'2025-01-01'"],
        "INTERVAL 1 DAY",
        "1",
    ),
    "TIMESTAMP": (
        ["'2024-03-10 01:30:00'", "'2024-03-10 03:30:00'", "'2024-11-03 01:30:00'", "'1960-01-01'"],
        "INTERVAL 90 MINUTES",
        "INTERVAL 90 MINUTES",
    ),
    "TIMESTAMP_NTZ": (
        ["'2024-03-10 01:30:00'", "'2024-03-10 02:30:00'", "'2024-03-11 02:30:00'"],
        "INTERVAL 1 DAY",
        "INTERVAL 1 DAY",
    ),
    "STRING": (["''", "'a'", "'ab'", "'abcdefgh1'", "'abcdefgh2'", "'é'", "'z'"], "", ""),
    "BOOLEAN": (["true", "false"], "", ""),
}
KEYS = [["0", "1", "2"], ["'x'", "'y'", "'longer than a prefix'"], ["1.0D", "0.0D", "-0.0D"]]
JOINS = ["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "EXISTS"]
SETTINGS = {
    "spark.sql.adaptive.enabled": ["true", "false"],
    "spark.sql.codegen.wholeStage": ["true", "false"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.shuffle.partitions": ["1", "3"],
    "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": ["2", "100000"],
    "spark.sql.sortMergeJoinExec.buffer.spill.threshold": ["2", "100000"],
    "spark.sql.session.timeZone": ["UTC", "America/New_York"],
    "spark.sql.autoBroadcastJoinThreshold": ["-1", "10MB"],
}


def table(draw: random.Random, values: list[str], of: str, keys: list[str]) -> str:
    """A query of some rows: a key, two ends of a range in either order, and a number."""

    def cell(options: list[str]) -> str:
        # Some in the type of the others: a column of NULLs alone has none.
        return f"IF(false, {options[0]}, NULL)" if draw.random() < 0.1 else draw.choice(options)

    size = draw.choice([0, 1, 3, 8, 20, 40])
    rows = [f"({cell(keys)}, {cell(values)}, {cell(values)}, {n})" for n in range(max(size, 1))]
    kept = "" if size else " WHERE n < 0"
    casts = f"k, CAST(t AS {of}) AS t, CAST(u AS {of}) AS u, n"
    return f"(SELECT {casts} FROM VALUES {', '.join(rows)} AS v(k, t, u, n){kept})"


def condition(draw: random.Random, of: str) -> str:
    """A range of some form, mostly with something else beside it."""
    _, step, width = TYPES[of]
    low, high = draw.choice(["<", "<="]), draw.choice(["<", "<="])
    forms = [
        f"r.t {low} l.u AND l.t {high} r.u",
        f"l.t {low} r.t AND r.t {high} l.u",
        "r.t BETWEEN l.t AND l.u",
        f"l.t {low} r.t",
        f"NOT (r.t {low} l.t OR r.t > l.u)",
    ]
    if step:
        forms += [
            f"r.t BETWEEN l.t - {step} AND l.t + {step}",
            f"r.t {low} l.t + {step} AND r.t + {step} > l.t",
            f"l.t - {step} {low} r.t AND r.u {high} l.u + {step}",
        ]
    if width and of not in ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE"):
        forms += [f"abs(l.t - r.t) {low} {width}", f"l.t - r.t BETWEEN -{width} AND {width}"]
    elif of == "DATE":
        forms += [f"datediff(l.t, r.t) BETWEEN -{width} AND {width}"]
    elif width:
        forms += [f"l.t - r.t BETWEEN -{width} AND {width}"]
    more = draw.choice(["", "", " AND l.n <> r.n", " AND (l.n + r.n) % 3 > 0"])
    return draw.choice(forms) + more


def query(draw: random.Random) -> str:
    """A query of one join."""
    of = draw.choice(list(TYPES))
    keys = draw.choice(KEYS)
    values = [value for value in TYPES[of][0] if draw.random() < 0.7] or TYPES[of][0]
    left, right = table(draw, values, of, keys), table(draw, values, of, keys)
    equal = draw.choice(["l.k = r.k AND ", "l.k = r.k AND ", "l.k <=> r.k AND ", ""])
    on = equal + condition(draw, of)
    join = draw.choice(JOINS)
    hint = draw.choice(
        ["", "/*+ MERGE(r) */", "/*+ MERGE(l) */", "/*+ BROADCAST(r) */", "/*+ BROADCAST(l) */"]
    )
    if join == "EXISTS":
        return (
            f"SELECT * FROM {left} l WHERE l.n = 3 OR EXISTS (SELECT 1 FROM {right} r WHERE {on})"
        )
    columns = "l.*" if join in ("LEFT SEMI", "LEFT ANTI") else "*"
    return f"SELECT {hint} {columns} FROM {left} l {join} JOIN {right} r ON {on}"


def outcome(spark: SparkSession, sql: str) -> tuple[str, Any]:
    """The rows of a query, in an order of their own, or the class of its error."""
    try:
        return "rows", sorted(map(repr, spark.sql(sql).collect()))
    except PySparkException as error:
        return "error", error_class(error) or type(error).__name__
    except Exception as error:
        # What tasks raise comes through as an error of py4j.
        return "error", type(error).__name__


def error_class(error: PySparkException) -> str | None:
    """The class of an error, by the name that the method has in this PySpark."""
    named = getattr(error, "getCondition", None) or error.getErrorClass
    found: str | None = named()
    return found


def run(spark: SparkSession, cases: int, seed: int) -> int:
    """Compares `cases` cases; returns the number that differ."""
    counts: Counter[str] = Counter()
    differing = 0
    for case in range(cases):
        draw = random.Random(f"{seed} {case}")
        settings = {key: draw.choice(values) for key, values in SETTINGS.items()}
        for key, value in settings.items():
            spark.conf.set(key, value)
        sql = query(draw)
        spark.conf.set(rangejoin.ENABLED_CONF, "false")
        expected = outcome(spark, sql)
        spark.conf.set(rangejoin.ENABLED_CONF, "true")
        actual = outcome(spark, sql)
        plan = ""
        with suppress(PySparkException):
            plan = str(spark.sql("EXPLAIN " + sql).collect()[0][0])
        ranged = [name for name in ("SortMergeRangeJoin", "BroadcastRangeJoin") if name in plan]
        counts[(ranged or ["stock"])[0]] += 1
        counts[expected[0]] += 1
        # An error of a pair out of the range need not be raised: there is nothing to compare then.
        if actual != expected and not (expected[0] == "error" and actual[0] == "rows"):
            differing += 1
            print(f"case {case} of seed {seed} differs under {settings}\n{sql}\n{plan}", flush=True)
            print(f"stock: {expected}\nours:  {actual}\n", flush=True)
    print(
        f"Spark {spark.version}: {cases} cases from seed {seed}, {differing} differ; {dict(counts)}"
    )
    return differing


def main() -> int:
    """Runs cases in a local session; the exit status is 1 where any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.unsafe.exceptionOnMemoryLeak", "true")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.leafNodeDefaultParallelism", "2")
    )
    spark = rangejoin.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rangejoin.check(spark)
    jvm: Any = vars(spark)["_jvm"]
    print(f"PySpark {pyspark.__version__}, Scala {jvm.scala.util.Properties.versionString()}")
    differing = run(spark, options.cases, options.seed)
    spark.stop()
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
