"""What turning columns into rows takes of a range join.

`python bench/columns.py [--comet COMET_JAR] [--rows N] [--rounds 3]`

Two tables as Parquet, read in columns, as in `beside.py`, joined by a sort-merge and by a broadcast
range join. Measured is processor time of the JVM: of the join, whose rows are dropped; of the parts
of its plan that end with rows made of columns (`ColumnarToRow`, and what is generated with it), and
of what is below these alone, in columns. The difference of the last two is what the turn takes, at
most: it has the filters of the generated code as well, and rows that the join would take one by one
without writing them. In every round the three are measured in turn.

Needs the package `rangejoin` (see README.md) of the line of Spark, and Comet's jar for it, if one
is given.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from beside import JOINED, reach_of, write_tables
from comet import session
from pyspark.sql import SparkSession

FORMS = {"sort-merge": "", "broadcast": "/*+ BROADCAST(r) */"}
COLUMNS = "l.id, l.s, l.v, r.id, r.s, r.v"


def nodes(plan: Any) -> Iterator[Any]:
    """The nodes of a plan, from the top down."""
    yield plan
    children = plan.children()
    for index in range(children.size()):
        yield from nodes(children.apply(index))


def generated(stage: Any) -> list[str]:
    """The names of the nodes that share the code of a stage."""
    found = []
    below = stage.child()
    while below.nodeName() != "InputAdapter":
        found.append(str(below.nodeName()))
        if below.children().size() != 1:
            break
        below = below.children().apply(0)
    return found


def turns(plan: Any) -> list[tuple[Any, Any]]:
    """Of each turn into rows: the node whose rows it makes, and the one that has the columns."""
    found = []
    stage = None
    for node in nodes(plan):
        name = str(node.nodeName())
        if name.startswith("WholeStageCodegen"):
            # Code that joins as well is none of the turn alone.
            alone = not any("Join" in other or "Sort" in other for other in generated(node))
            stage = node if alone else None
        elif name.endswith("ColumnarToRow"):
            columns = node.children().apply(0)
            if columns.nodeName() == "InputAdapter":
                columns = columns.child()
            found.append((stage or node, columns))
            stage = None
    return found


def processor_seconds(pid: int, run: Callable[[], object]) -> float:
    """What a process takes for what is run."""

    def taken() -> float:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    before = taken()
    run()
    return taken() - before


def count(parts: list[Callable[[], Any]]) -> None:
    """Runs parts of a plan to their ends."""
    for part in parts:
        part().count()


def measured(spark: SparkSession, query: str, rounds: int) -> dict[str, float]:
    """Medians, after two rounds to warm up."""
    jvm: Any = spark._jvm
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    taken: dict[str, list[float]] = {"join": [], "rows": [], "columns": []}
    for number in range(rounds + 2):
        df = spark.sql(query)
        places = turns(df._jdf.queryExecution().executedPlan())
        assert len(places) == 2, df._jdf.queryExecution().executedPlan().toString()
        # Columns of a shuffle are written by whoever asks for them first.
        count([columns.executeColumnar for _, columns in places])
        runs: dict[str, Callable[[], object]] = {
            "join": df.write.format("noop").mode("overwrite").save,
            "rows": partial(count, [rows.execute for rows, _ in places]),
            "columns": partial(count, [columns.executeColumnar for _, columns in places]),
        }
        for name, run in runs.items():
            seconds = processor_seconds(pid, run)
            if number > 1:
                taken[name].append(seconds)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def main() -> None:
    """Prints a row of a table for each form of the join."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comet")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    spark = session(given.comet and str(Path(given.comet).resolve()))
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    reach = reach_of(given.keys, given.rows)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(spark, folder, given.keys, given.rows)
        for form, hint in FORMS.items():
            query = f"SELECT {hint} {COLUMNS} {JOINED.format(reach=reach)}"
            found = measured(spark, query, given.rounds)
            turn = found["rows"] - found["columns"]
            print(
                f"{form:12} join {found['join']:6.2f} s  to rows {found['rows']:6.2f} s  "
                f"in columns {found['columns']:6.2f} s  the turn {turn / found['join']:6.1%}",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main()
