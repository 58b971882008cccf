"""The joins of `bench/level.py`: tables that are made, and one query over two of them a case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

#: A million is `M`.
M = 1_000_000


def uniform(seed: int, below: int, of: str = "id") -> str:
    """A number from 0 on, in no order."""
    return f"pmod(xxhash64({of}, {seed}), {below})"


@dataclass(frozen=True)
class Table:
    """Rows that are made, not read.

    Attributes:
        rows: how many.
        key: SQL of the column `k`, of `id`.
        time: SQL of the column `t`.
        more: SQL of further columns, with their names.
        buckets: into how many buckets by `k` it is written, sorted by it; 0 for plain files.
    """

    rows: int
    key: str = "id"
    time: str = uniform(2, M)
    more: tuple[str, ...] = ()
    buckets: int = 0

    def write(self, spark: SparkSession, path: Path, name: str) -> None:
        """Makes the table, to be read by its name."""
        columns = (f"{self.key} AS k", f"{self.time} AS t", f"{uniform(4, 1000)} AS v", *self.more)
        rows = spark.range(0, self.rows, 1, 2).selectExpr(*columns)
        spark.catalog.dropTempView(name)
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        if self.buckets:
            # A file a bucket, or Spark does not trust their order.
            writer = rows.repartition(self.buckets, "k").write.option("path", str(path))
            writer.bucketBy(self.buckets, "k").sortBy("k").saveAsTable(name)
        else:
            rows.write.parquet(str(path))
            spark.read.parquet(str(path)).createOrReplaceTempView(name)


@dataclass(frozen=True)
class Case:
    """One query.

    Attributes:
        left: the table `l`.
        right: the table `r`.
        on: the condition.
        join: join type.
        shown: what is aggregated, so that rows are made but not shipped.
        broadcast: whether `r` is broadcast.
        plans: whether a range join is expected.
        repeated: how many queries make one measurement.
        runs: whether the query is run, and not only planned.
        limit: how many rows are asked for.
    """

    left: Table
    right: Table
    on: str
    join: str = "JOIN"
    shown: str = "count(*), sum(l.v), sum(r.v)"
    broadcast: bool = False
    plans: bool = True
    repeated: int = 1
    runs: bool = True
    limit: int = 0

    @property
    def sql(self) -> str:
        """The query."""
        hint = "/*+ BROADCAST(r) */" if self.broadcast else ""
        joined = f"l {self.join} r ON {self.on}"
        if self.limit:
            return f"SELECT {hint} l.v, r.v FROM {joined} LIMIT {self.limit}"
        return f"SELECT {hint} {self.shown} FROM {joined}"


BAND = "l.k = r.k AND r.t BETWEEN l.t - 100000 AND l.t + 100000"
ALL = "l.k = r.k AND r.t BETWEEN l.t - 1e9 AND l.t + 1e9"
FEW = " AND (l.v + r.v) % 1000 = 0"
SEMI = "count(*), sum(l.v)"
HULL = (
    "l.k = r.k AND (r.t BETWEEN l.t - 100000 AND l.t + 100000 "
    "OR r.t BETWEEN l.t - 1000000000 AND l.t + 1000000000)"
)
STRING = "concat('sensor-', {})"
#: 700 versions of each of 30 keys, the last of which has no end; and rows of one version each.
VERSIONS = Table(
    21_000,
    "id % 30",
    more=("id DIV 30 * 1000 AS f", "IF(id DIV 30 = 699, NULL, id DIV 30 * 1000 + 1000) AS u"),
)
FACTS = Table(400_000, uniform(1, 30), uniform(2, 700_000))
#: Strings of which about a thousand rows each have the first bytes in common.
ALIKE = f"concat(lpad({uniform(1, 970)}, 8, '0'), '-', {uniform(3, 1000)})"
PAYLOAD = tuple(f"concat('payload {i} ', {uniform(i + 10, 100)}) AS p{i}" for i in range(40))
SIXTY = f"concat(repeat('p', 50), {uniform(9, M)}) AS p"
LENGTHS = " + ".join(f"octet_length(l.p{i})" for i in range(40))


def one_key(rows: int) -> Table:
    """All rows of one key."""
    return Table(rows, "pmod(id, 1)")


def hashed(keys: int, rows: int = M) -> Table:
    """Rows of keys that are any bigint."""
    return Table(rows, f"xxhash64({uniform(1, keys)})")


def strings(keys: int, rows: int = M) -> Table:
    """Rows of keys that are strings."""
    return Table(rows, STRING.format(uniform(1, keys)))


CASES: dict[str, Case] = {
    # Every row of a key is in range: a window holds them all.
    "all in range, 1 in 1,000 kept": Case(one_key(300), one_key(200_000), ALL + FEW),
    "all in range, 1 in 1,000 kept, left": Case(
        one_key(300), one_key(200_000), ALL + FEW, "LEFT JOIN"
    ),
    "all in range, all kept": Case(one_key(3_000), one_key(20_000), ALL),
    "all in range, all kept, left": Case(one_key(3_000), one_key(20_000), ALL, "LEFT JOIN"),
    "all in range, all kept, 100 keys": Case(
        Table(50_000, uniform(1, 100)), Table(50_000, uniform(1, 100)), ALL
    ),
    "all in range, none kept, anti": Case(
        one_key(300), one_key(200_000), ALL + " AND l.v + r.v > 9999", "LEFT ANTI JOIN", SEMI
    ),
    "one direction, all in range": Case(
        one_key(3_000), one_key(20_000), "l.k = r.k AND r.t >= l.t - 10000000"
    ),
    "one direction, all in range, left": Case(
        one_key(3_000), one_key(20_000), "l.k = r.k AND r.t >= l.t - 10000000", "LEFT JOIN"
    ),
    "one direction, left": Case(
        one_key(6_000), one_key(20_000), "l.k = r.k AND r.t >= l.t", "LEFT JOIN"
    ),
    # A key has a row, or a few.
    "a row a key on one side, 2,000 string keys, left": Case(
        strings(2_000), Table(2_000, STRING.format("id")), BAND, "LEFT JOIN"
    ),
    "a row a key on one side, 2,000 string keys": Case(
        strings(2_000), Table(2_000, STRING.format("id")), BAND
    ),
    "a row a key on one side, 200,000 string keys, left": Case(
        strings(200_000), Table(200_000, STRING.format("id")), BAND, "LEFT JOIN"
    ),
    "a row a key on one side, 2,000 hashed keys, left": Case(
        hashed(2_000), Table(2_000, "xxhash64(id)"), BAND, "LEFT JOIN"
    ),
    "a row a key on one side, 200,000 hashed keys, left": Case(
        hashed(200_000), Table(200_000, "xxhash64(id)"), BAND, "LEFT JOIN"
    ),
    "a row a key on one side, 2,000 integers, left": Case(
        Table(M, uniform(1, 2_000)), Table(2_000), BAND, "LEFT JOIN"
    ),
    "a row a key on both": Case(Table(M), Table(M), BAND),
    "a row a key on both, left": Case(Table(M), Table(M), BAND, "LEFT JOIN"),
    "a row a key on both, full": Case(Table(M), Table(M), BAND, "FULL JOIN"),
    "a row a key on both, hashed keys": Case(
        Table(M, "xxhash64(id)"), Table(M, "xxhash64(id)"), BAND
    ),
    "a row a key on both, string keys": Case(
        Table(M, STRING.format("id")), Table(M, STRING.format("id")), BAND
    ),
    "three rows a key, semi": Case(
        Table(M, uniform(1, 333_333)),
        Table(M, uniform(7, 333_333)),
        BAND,
        "LEFT SEMI JOIN",
        SEMI,
    ),
    "three rows a key, one direction": Case(
        Table(M, uniform(1, 333_333)), Table(M, uniform(7, 333_333)), "l.k = r.k AND r.t >= l.t"
    ),
    "no key in common": Case(Table(M), Table(M, f"id + {M}"), BAND, "LEFT JOIN"),
    "wide keys": Case(
        Table(M, uniform(1, 300_000)),
        Table(300_000),
        "concat('k', l.k) = concat('k', r.k) AND l.k = r.k AND l.k % 7 = r.k % 7 "
        "AND r.t BETWEEN l.t - 100000 AND l.t + 100000",
        "LEFT JOIN",
    ),
    "40 columns of strings": Case(
        Table(100_000, uniform(1, 20_000), more=PAYLOAD),
        Table(20_000),
        BAND,
        "LEFT JOIN",
        f"count(*), sum({LENGTHS}), sum(r.v)",
    ),
    "strings that begin alike, a thousand rows each": Case(Table(M, ALIKE), Table(M, ALIKE), BAND),
    # Ranges joined by OR, which have one range that covers them.
    "a wide hull, three rows a key": Case(
        Table(M, uniform(1, 333_333)), Table(M, uniform(7, 333_333)), HULL
    ),
    "a wide hull, 1 in 1,000 kept": Case(one_key(300), one_key(200_000), HULL + FEW),
    # An end that may be NULL.
    "open ends": Case(FACTS, VERSIONS, "l.k = r.k AND l.t >= r.f AND (r.u IS NULL OR l.t < r.u)"),
    "open ends, coalesce": Case(
        FACTS, VERSIONS, "l.k = r.k AND l.t >= r.f AND l.t < coalesce(r.u, 1000000000)"
    ),
    # A side that is in order.
    "bucketed and sorted": Case(
        Table(M, uniform(1, 200_000), buckets=2), Table(M, uniform(7, 200_000), buckets=2), BAND
    ),
    "bucketed and sorted, a row a key": Case(
        Table(M, uniform(1, M), buckets=2), Table(M, uniform(7, M), buckets=2), BAND
    ),
    "bucketed and sorted, 60 MB a side": Case(
        Table(M, uniform(1, 200_000), more=(SIXTY,), buckets=2),
        Table(M, uniform(7, 200_000), more=(SIXTY,), buckets=2),
        BAND,
        shown="count(*), sum(octet_length(l.p)), sum(octet_length(r.p))",
    ),
    "bucketed and sorted, one key a partition": Case(
        Table(20_000, "id % 2", buckets=2), Table(20_000, "id % 2", buckets=2), BAND
    ),
    "bucketed and sorted, first 20 rows": Case(
        Table(M, uniform(1, 200_000), buckets=2),
        Table(M, uniform(7, 200_000), buckets=2),
        BAND,
        limit=20,
    ),
    # A side that is broadcast.
    "three rows a key, broadcast": Case(
        Table(3 * M, uniform(1, 20_000)), Table(60_000, "pmod(id, 20000)"), BAND, broadcast=True
    ),
    "a row a key, broadcast": Case(
        Table(3 * M, uniform(1, 60_000)), Table(60_000), BAND, broadcast=True
    ),
    "all in range, broadcast": Case(one_key(3_000), one_key(20_000), ALL, broadcast=True),
    "three rows preserved, broadcast": Case(
        Table(M), Table(3), "l.t BETWEEN r.t - 1e9 AND r.t + 1e9", "RIGHT JOIN", broadcast=True
    ),
    "200 rows preserved, broadcast": Case(
        Table(30_000),
        Table(200),
        "l.t BETWEEN r.t - 1e9 AND r.t + 1e9",
        "RIGHT JOIN",
        broadcast=True,
    ),
    # What every query pays.
    "tiny": Case(Table(200), Table(200), BAND, repeated=30),
    "tiny, broadcast": Case(Table(200), Table(200), BAND, broadcast=True, repeated=30),
    "no range": Case(Table(M), Table(M), "l.k = r.k", plans=False),
    "no range, planning": Case(
        Table(200),
        Table(200),
        "l.k = r.k JOIN l AS a ON a.k = r.k JOIN r AS b ON b.k = a.k AND b.v <> a.v "
        "LEFT JOIN l AS c ON c.k = b.k JOIN r AS d ON d.k = c.k AND d.v + 1 <> b.v",
        plans=False,
        repeated=30,
        runs=False,
    ),
}
