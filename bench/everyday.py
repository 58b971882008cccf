"""Everyday queries where a range join has little to win: `python bench/everyday.py`.

Few rows a key, sides that are small or used three times, text for dates, few rows outside a
correlated subquery. Each is run by stock Spark and with range joins, in turns in one session at
default settings, once as it is and once with nothing broadcast. Prints, as a table in Markdown,
medians of seconds, of the processor seconds of tasks, and ours to stock of these: at most 1.05 is
wanted. Needs the package `rangejoin` (see README.md).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile

from pyspark.sql import SparkSession
from sessions import AGGREGATED, FLAG, SMALL, run, session

#: Columns of each table made of `id`, and how many rows it has of the number asked for.
TABLES = {
    # Ten bids an item.
    "auctions": (5, "id", "id % {n} div 10 AS item", "id % 97 * 60 AS open", "7200 AS length"),
    "bids": (
        1,
        "id",
        "id div 10 AS item",
        "pmod(hash(id), 12000) AS time",
        "pmod(hash(id, 1), 500) AS price",
    ),
    # Versions that follow one another: five of a key, and ten.
    "five": (2, "lpad(id div 5, 9, 'k') AS k", "id % 5 * 10 AS f", "id % 5 * 10 + 10 AS u"),
    "six": (2, "lpad(id div 6, 9, 'k') AS k", "id % 6 * 8 AS f", "id % 6 * 8 + 8 AS u"),
    "ten": (2, "lpad(id div 10, 9, 'k') AS k", "id % 10 * 10 AS f", "id % 10 * 10 + 10 AS u"),
    "eleven": (2, "lpad(id div 11, 9, 'k') AS k", "id % 11 * 9 AS f", "id % 11 * 9 + 9 AS u"),
    # Versions of customers in any order.
    "mine": (2, "sha2(string(id * 7919 % ({n} div 10)), 256) AS k", "{day} AS f", "{day} + 9 AS u"),
    "yours": (
        2,
        "sha2(string(id * 7919 % ({n} div 12)), 256) AS k",
        "{day} AS f",
        "{day} + 9 AS u",
    ),
    # Three versions of an account, with dates as text and as numbers.
    "accounts": (
        3,
        "id div 3 AS account",
        "id AS version",
        "string(date_add(DATE'2010-01-01', int(id % 3 * 1000))) AS since",
        "IF(id % 3 = 2, '9999-12-31',"
        " string(date_add(DATE'2010-01-01', int(id % 3 * 1000 + 999)))) AS until",
    ),
    "trades": (
        1,
        "id",
        "pmod(hash(id), {n} div 9) AS account",
        "string(date_add(DATE'2010-01-01', pmod(hash(id, 1), 3500))) AS day",
    ),
    # Four events a patient.
    "patients": (4, "id AS patient", "concat('p', id) AS name", "pmod(hash(id), 365) AS day"),
    "events": (1, "pmod(id, {n} div 4) AS patient", "pmod(hash(id), 400) AS day", "id % 7 AS x"),
    "shifts": (2, "id div 8 AS agent", "id % 8 * 500 AS f", "id % 8 * 500 + 300 AS u"),
    "tickets": (
        1,
        "id",
        "pmod(hash(id), {n} div 16) AS agent",
        "pmod(hash(id, 1), 4000) AS f",
        "pmod(hash(id, 1), 4000) + pmod(hash(id, 2), 90) AS u",
    ),
    "days": (5000, "int(id) AS day"),
    "items": (10, "id", "pmod(hash(id), 190) AS f", "pmod(hash(id), 190) + pmod(id, 9) AS u"),
    # Few keys.
    "history": (0.5, "id % 20 AS k", "pmod(hash(id), 100000) AS t", "id % 100 AS v"),
    "asked": (1, "id", "id % 20 AS k", "pmod(hash(id, 1), 100000) AS t"),
    "dear": (50, "id % 200 AS k", "pmod(hash(id), 1000) AS a", "id"),
    "facts": (50, "id", "pmod(hash(id), 200) AS k", "pmod(hash(id, 1), 1000) AS t"),
}

#: One of a thousand days.
DAY = "pmod(hash(id), 1000)"

NUMBERED = (
    "(SELECT *, int(replace(since, '-', '')) AS s, int(replace(until, '-', '')) AS e FROM accounts)"
)
BEST = (
    "(SELECT a.id, b.price,"
    " row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.time) AS n FROM auctions a"
    " JOIN bids b ON a.item = b.item AND b.time BETWEEN a.open AND a.open + a.length)"
)
SUM = "(SELECT sum(r.v) FROM history r WHERE r.k = l.k AND r.t <= l.t) AS total"
OVERLAP = "SELECT a.k, a.f, b.u FROM {} a JOIN {} b ON a.k = b.k AND a.f < b.u AND b.f < a.u"
WINDOW = "CASE WHEN e.day BETWEEN p.day - {} AND p.day THEN e.x END"
COSTLY = (
    "(SELECT * FROM dear WHERE sha2(sha2(sha2(repeat(string(id), 400), 512), 512), 512) > '01') d"
)

QUERIES = {
    "the best bid of an auction": f"SELECT id, price FROM {BEST} WHERE n = 1",
    "their mean": f"SELECT avg(price) FROM {BEST} WHERE n = 1",
    "versions by overlap, five a text key": OVERLAP.format("five", "six"),
    "versions by overlap, ten a text key": OVERLAP.format("ten", "eleven"),
    "versions by overlap, text keys in any order": OVERLAP.format("mine", "yours"),
    "the version at a date, dates as text": (
        "SELECT t.id, a.version FROM trades t JOIN accounts a"
        " ON t.account = a.account AND t.day BETWEEN a.since AND a.until"
    ),
    "trades without a version, dates as text": (
        "SELECT count(*) FROM trades t LEFT JOIN accounts a ON t.account = a.account"
        " AND t.day >= a.since AND t.day <= a.until WHERE a.account IS NULL"
    ),
    "the version at a date, dates as yyyymmdd": (
        f"SELECT t.id, a.version FROM trades t JOIN {NUMBERED} a ON t.account = a.account"
        " AND int(replace(t.day, '-', '')) BETWEEN a.s AND a.e"
    ),
    "patients with two events within 30 days": (
        "SELECT p.patient, p.name, p.day, count(*) FROM patients p JOIN events e"
        " ON e.patient = p.patient AND e.day BETWEEN p.day AND p.day + 30"
        " GROUP BY 1, 2, 3 HAVING count(*) > 1"
    ),
    "windows in CASE alone": (
        f"SELECT p.patient, sum({WINDOW.format(30)}), sum({WINDOW.format(90)})"
        " FROM patients p JOIN events e ON e.patient = p.patient GROUP BY 1"
    ),
    "minutes of tickets within shifts": (
        "SELECT t.id, sum(least(t.u, s.u) - greatest(t.f, s.f)) FROM tickets t JOIN shifts s"
        " ON t.agent = s.agent AND t.f < s.u AND s.f < t.u GROUP BY 1"
    ),
    "items of each day, without a key": (
        "SELECT d.day, count(*) FROM days d JOIN items i ON d.day BETWEEN i.f AND i.u GROUP BY 1"
    ),
    "three ranges of one costly side": " UNION ALL ".join(
        (
            f"SELECT f.id, d.a FROM facts f JOIN {COSTLY}"
            " ON d.k = f.k AND d.a BETWEEN f.t - 10 AND f.t",
            f"SELECT f.id, d.a FROM facts f JOIN {COSTLY}"
            " ON d.k = f.k AND d.a > f.t AND d.a % 50 = 0",
            f"SELECT f.id, f.t FROM facts f LEFT SEMI JOIN {COSTLY} ON d.k = f.k AND d.a < f.t",
        )
    ),
    "a sum for each of few rows": (
        f"SELECT l.id, {SUM} FROM asked l WHERE pmod(hash(l.id), 50000) = 7"
    ),
    "a sum for each of few rows that a subquery names": (
        f"SELECT l.id, {SUM} FROM asked l"
        " WHERE l.id IN (SELECT id FROM asked WHERE pmod(hash(id, 9), 50000) = 7)"
    ),
}


def views(spark: SparkSession, directory: str, rows: int) -> None:
    """The tables of all queries, as Parquet files."""
    for name, (part, *columns) in TABLES.items():
        path = f"{directory}/{name}"
        made = [str(c).replace("{n}", str(rows)).replace("{day}", DAY) for c in columns]
        table = spark.range(0, int(rows / float(part)), 1, 2).selectExpr(*made)
        table.write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", nargs="*", choices=sorted(QUERIES), default=list(QUERIES))
    given = parser.parse_args()
    spark = session()
    spark.conf.unset(AGGREGATED)
    print("| query | broadcast | stock | processor | ours | processor | ours / stock |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory:
        views(spark, directory, given.rows)
        for name in given.only:
            for threshold, broadcast in (("10MB", "10 MB"), ("-1", "none")):
                spark.conf.set(SMALL, threshold)
                taken: dict[str, list[tuple[float, float]]] = {"false": [], "true": []}
                for _ in range(given.runs + 2):
                    for flag, runs in taken.items():
                        spark.conf.set(FLAG, flag)
                        runs.append(run(spark, QUERIES[name]))
                medians = {
                    flag: [statistics.median(of) for of in zip(*runs[2:], strict=True)]
                    for flag, runs in taken.items()
                }
                (stock, of_stock), (ours, of_ours) = medians["false"], medians["true"]
                print(
                    f"| {name} | {broadcast} | {stock:.2f} | {of_stock:.2f} | {ours:.2f} "
                    f"| {of_ours:.2f} | {of_ours / of_stock:.2f} |",
                    flush=True,
                )
    spark.stop()


if __name__ == "__main__":
    main()
