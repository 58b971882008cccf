"""Joins without a key of sides that take long to compute: `python bench/costly_sides.py`.

A filter takes the SHA-512 of 600 KB for each of 3,000 rows, of one side or of both, so that the
join itself is next to nothing; a side should be computed once. The last case is a chain of five
joins, of which the innermost side is costly. Contestants, this project and stock Spark, take turns
after a round that warms up. Prints medians of seconds, and of the processor seconds of tasks, as a
table in Markdown. Needs the package `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile

from pyspark.sql import SparkSession
from sessions import ADAPTIVE, FLAG, SMALL, run, session

CONTESTANTS = {"range join": "true", "stock": "false"}

COSTLY = "(SELECT * FROM {} WHERE sha2(repeat(word, 50000), 512) > '00001')"
BAND = "{1}.t BETWEEN {0}.t AND {0}.t + 1000"
SIDES = {
    "costly left side": (COSTLY.format("a"), "b"),
    "costly right side": ("a", COSTLY.format("b")),
    "both": (COSTLY.format("a"), COSTLY.format("b")),
}
CASES = {
    name: f"SELECT a.id, b.id AS other FROM {left} a LEFT JOIN {right} b ON {BAND.format('a', 'b')}"
    for name, (left, right) in SIDES.items()
} | {
    "chain of five joins": f"SELECT a.id, f.id AS other FROM {COSTLY.format('a')} a "
    + " ".join(
        f"LEFT JOIN {right} ON {BAND.format(left, right)}"
        for left, right in zip("abcde", "bcdef", strict=True)
    )
}


def views(spark: SparkSession, directory: str, rows: int) -> None:
    """Tables of points with a word of twelve bytes."""
    for seed, name in enumerate("abcdef"):
        columns = (
            f"pmod(xxhash64(id, {seed}), {rows} * 500) AS t",
            "lpad(id, 12, 'x') AS word",
        )
        path = f"{directory}/{name}"
        spark.range(0, rows, 1, 4).selectExpr("id", *columns).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=sorted(CASES), default=list(CASES))
    given = parser.parse_args()
    spark = session()
    print(f"| case | broadcast up to | adaptive | {' | '.join(CONTESTANTS)} | ratio of CPU |")
    print("|---|---:|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory:
        views(spark, directory, given.rows)
        for name in given.only:
            for adaptive in "true", "false":
                for threshold in "1", "20KB":
                    spark.conf.set(ADAPTIVE, adaptive)
                    spark.conf.set(SMALL, threshold)
                    taken: dict[str, list[tuple[float, float]]] = {c: [] for c in CONTESTANTS}
                    for _ in range(given.runs + 1):
                        for contestant, flag in CONTESTANTS.items():
                            spark.conf.set(FLAG, flag)
                            taken[contestant].append(run(spark, CASES[name]))
                    medians = {
                        contestant: [statistics.median(of) for of in zip(*runs[1:], strict=True)]
                        for contestant, runs in taken.items()
                    }
                    cells = [f"{clock:.2f} ({cpu:.2f})" for clock, cpu in medians.values()]
                    ratio = medians["range join"][1] / medians["stock"][1]
                    on = "on" if adaptive == "true" else "off"
                    print(
                        f"| {name} | {threshold} | {on} | {' | '.join(cells)} | {ratio:.2f} |",
                        flush=True,
                    )
    spark.stop()


if __name__ == "__main__":
    main()
