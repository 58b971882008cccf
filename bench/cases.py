"""The joins that `queries.py` compares, and the tables they read.

A case joins `l` with `r`. Its condition is a key, comparisons that are the range, and a residual;
all are SQL that Spark, DuckDB and Polars read alike, with columns written `l.c` and `r.c`.
"""

from __future__ import annotations

from dataclasses import dataclass

DOMAIN = 1_000_000_000


@dataclass(frozen=True)
class Table:
    """Rows that are made, not read.

    Attributes:
        rows: how many, before `select` makes more or fewer of them.
        columns: SQL of each column with its name, of `id`, from `first` on.
        first: the first `id`; sides with different ones are independent of each other.
    """

    rows: int
    columns: tuple[str, ...]
    first: int


@dataclass(frozen=True)
class Case:
    """One join.

    Attributes:
        left: the table `l`; None stands for the flights of the demo.
        right: the table `r`; None stands for the weather of the demo.
        range: comparisons, joined by AND.
        residual: what else has to hold, or nothing.
        keyed: whether `l.k = r.k` is part of the condition.
        join: join type.
        threshold: how large a table may be for Spark to broadcast it, under `default` and, unless
            it is "-1", under `ours`.
        bins: sizes of bins to try; none where bins do not apply.
        reach: how far from a row of `l` the rows of `r` that match may begin, below and above, as
            SQL over the columns of `l`.
    """

    left: Table | None
    right: Table | None
    range: tuple[str, ...]
    residual: str = ""
    keyed: bool = True
    join: str = "INNER"
    threshold: str = "-1"
    bins: tuple[int, ...] = ()
    reach: tuple[str, str] = ("y - 1000000", "y + 1000000")

    def sql(self, select: str, left: str, right: str, kind: str = "", extra: str = "") -> str:
        """The join of two tables in SQL, aggregated so that its rows are made but not shipped.

        `kind` is the join type where an engine has another name for it, `extra` one more condition.
        """
        shown = "sum(l.v)" if self.join == "LEFT SEMI" else "sum(l.v), sum(r.v)"
        key = ("l.k = r.k",) if self.keyed else ()
        parts = [part for part in (*key, extra, *self.range, self.residual) if part]
        return (
            f"{select} count(*), {shown} FROM {left} AS l {kind or self.join} JOIN {right} AS r "
            f"ON {' AND '.join(parts)}"
        )


def numbers(first: int, rows: int, key: str, length: str = "0") -> Table:
    """A key, an interval from `y` (uniform) to `z`, and a number to add up."""
    y = f"pmod(xxhash64(id, 2), {DOMAIN})"
    columns = (f"{key} AS k", f"{y} AS y", f"{y} + cast({length} AS BIGINT) AS z")
    return Table(rows, (*columns, "pmod(hash(id, 4), 1000) AS v"), first)


def same(
    key: str, range_: tuple[str, ...], length: str = "0", rows: int = 1_000_000, **more: object
) -> Case:
    """A join of two tables that are alike."""
    left, right = (numbers(first * DOMAIN, rows, key, length) for first in (11, 12))
    return Case(left, right, range_, **more)  # type: ignore[arg-type]


def within(distance: int) -> tuple[str, ...]:
    """A band."""
    return (f"r.y >= l.y - {distance}", f"r.y <= l.y + {distance}")


def keys(count: int) -> str:
    """A key of `count` values, uniform."""
    return f"pmod(hash(id, 1), {count})"


BAND = within(1_000_000)
SIZES = (500_000, 1_000_000, 2_000_000, 4_000_000)
POINT = ("l.y >= r.y", "l.y <= r.z")
HEAVY_TAIL = "least(1e8, {} / pow(1 - pmod(hash(id, 3), 1000000) / 1e6, 0.8))"


def bucket(rows: int) -> Case:
    """A million rows with `rows` in a key's bucket, of which every row meets ten."""
    reach = 5 * DOMAIN // rows
    count = 1_000_000 // rows
    return same(keys(count), within(reach), bins=(), reach=(f"y - {reach}", f"y + {reach}"))


# ---------------------------------------------------------------- a catalogue of stars

RADIUS = 2 / 3600
ZONE = 0.1


def star(jitter: float, columns: str) -> Table:
    """Stars all over the sky, each moved by up to `jitter` degrees."""
    ra = f"pmod(xxhash64(id, 2), {DOMAIN}) / {DOMAIN} * 360"
    dec = f"degrees(asin(pmod(xxhash64(id, 3), {DOMAIN}) / {DOMAIN} * 2 - 1)) * 0.99"
    moved = [
        f"({position} + (pmod(xxhash64(id, {seed}), 1000) / 1000 - 0.5) * {jitter})"
        for position, seed in ((ra, 5), (dec, 6))
    ]
    named = columns.format(ra=moved[0], dec=moved[1])
    return Table(1_000_000, (*named.split(" | "), "pmod(hash(id, 4), 1000) AS v"), 0)


# A star of `l` is in each zone that a star of `r` beside it may be in.
STARS = (
    star(
        0,
        f"explode(sequence(floor(({{dec}} - {RADIUS}) / {ZONE}), "
        f"floor(({{dec}} + {RADIUS}) / {ZONE}))) AS k | {{ra}} AS y | {{dec}} AS z | "
        f"{RADIUS} / cos(radians({{dec}})) AS w",
    ),
    star(RADIUS, f"floor({{dec}} / {ZONE}) AS k | {{ra}} AS y | {{dec}} AS z"),
)
NEARBY = (
    "degrees(2 * asin(sqrt(pow(sin(radians(r.z - l.z) / 2), 2) + "
    "cos(radians(l.z)) * cos(radians(r.z)) * pow(sin(radians(r.y - l.y) / 2), 2)))) "
    f"<= {RADIUS}"
)

# ---------------------------------------------------------------- without a shuffle

NETWORKS = Table(
    500_000,
    (
        "0 AS k",
        "id * 8000 AS y",
        "id * 8000 + pmod(hash(id), 8000) AS z",
        "pmod(hash(id, 4), 1000) AS v",
    ),
    0,
)
ADDRESSES = Table(
    10_000_000,
    ("0 AS k", "pmod(xxhash64(id, 2), 4000000000) AS y", "pmod(hash(id, 4), 1000) AS v"),
    0,
)


def intervals(length: str, points: int = 1_000_000) -> Case:
    """Points in 100,000 intervals, without a key."""
    return Case(
        numbers(11 * DOMAIN, points, "0"),
        numbers(12 * DOMAIN, 100_000, "0", length),
        POINT,
        keyed=False,
        threshold="100MB",
    )


CASES = {
    **{f"band {k:,}": same(keys(k), BAND, bins=SIZES) for k in (10, 100, 1_000, 100_000)},
    "band 1,000,000": same(keys(1_000_000), BAND, bins=SIZES),
    "band, any bigint": same(f"xxhash64({keys(1_000_000)})", BAND),
    "band, strings": same(
        f"concat('a long prefix that all the keys have in common ', {keys(1_000_000)})", BAND
    ),
    "band, Zipf key": same("cast(pow(1000, pmod(hash(id, 1), 1000000) / 1e6) AS INT)", BAND),
    "distance 100": same(keys(100), ("abs(r.y - l.y) <= 1000000",), bins=SIZES),
    "band, left outer": same(keys(100), BAND, join="LEFT OUTER"),
    "band, semi": same(keys(100), BAND, join="LEFT SEMI"),
    "point, fixed": same(keys(100), POINT, "1000000"),
    "point, uniform": same(keys(100), POINT, "pmod(hash(id, 3), 2000000)"),
    "point, heavy tail": same(keys(100), POINT, HEAVY_TAIL.format("1e5")),
    "overlap": same(keys(100), ("l.y <= r.z", "r.y <= l.z"), "pmod(hash(id, 3), 1000000)"),
    **{f"bucket of {rows:,}": bucket(rows) for rows in (100, 1_000, 10_000, 60_000)},
    "flights": Case(None, None, within(3 * 3600), reach=("y - 10800", "y + 10800"), bins=(10800,)),
    "stars": Case(*STARS, ("r.y >= l.y - l.w", "r.y <= l.y + l.w"), NEARBY),
    "10M rows": same(keys(1_000), BAND, rows=10_000_000),
    "flights, default": Case(None, None, within(3 * 3600), threshold="10MB"),
    "intervals, fixed": intervals("10000"),
    "intervals, heavy tail": intervals(HEAVY_TAIL.format("1e3")),
    "intervals, all overlap": Case(
        # Each point is in the ten or so that end last, of 100,000 with a middle in common.
        Table(
            1_000_000,
            ("0 AS k", f"{DOMAIN} - pmod(xxhash64(id, 2), 98000) AS y", "1 AS v"),
            0,
        ),
        Table(
            100_000,
            ("0 AS k", "id * 10 AS y", f"{DOMAIN} - id * 4900 AS z", "1 AS v"),
            0,
        ),
        POINT,
        keyed=False,
        threshold="100MB",
    ),
    "networks": Case(ADDRESSES, NETWORKS, POINT, keyed=False, threshold="100MB"),
    "unique key": Case(
        numbers(11 * DOMAIN, 10_000_000, keys(300_000), "0"),
        Table(
            300_000,
            (
                "id AS k",
                f"pmod(xxhash64(id, 2), {DOMAIN // 2}) AS y",
                f"pmod(xxhash64(id, 2), {DOMAIN // 2}) + {DOMAIN // 2} AS z",
                "pmod(hash(id, 4), 1000) AS v",
            ),
            0,
        ),
        POINT,
        threshold="100MB",
    ),
}
