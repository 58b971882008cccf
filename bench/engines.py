"""One run of DuckDB or Polars, in the process that calls it."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from cases import Case

#: Settings of the process: what DuckDB may take (as it writes sizes), and where it writes the rest.
MEMORY = "BENCH_MEMORY"
SCRATCH = "BENCH_SCRATCH"


def connect() -> Any:
    """DuckDB on two threads, within the memory that the process is given, if it is given any."""
    import duckdb

    config: dict[str, Any] = {"threads": 2}
    if MEMORY in os.environ:
        config |= {"memory_limit": os.environ[MEMORY], "temp_directory": os.environ[SCRATCH]}
    return duckdb.connect(config=config)


def duckdb_run(case: Case, folder: str) -> tuple[float, list[int]]:
    """Seconds and result of DuckDB on two threads."""
    connection = connect()
    left, right = (f"'{folder}/{name}/*.parquet'" for name in ("l", "r"))
    kind = "SEMI" if case.join == "LEFT SEMI" else ""
    begin = time.monotonic()
    row = connection.execute(case.sql("SELECT", left, right, kind)).fetchone()
    seconds = time.monotonic() - begin
    assert row is not None
    return seconds, [int(x) for x in row]


def polars_run(case: Case, folder: str) -> tuple[float, list[int]]:
    """Seconds and result of Polars; `POLARS_MAX_THREADS` says on how many threads."""
    import polars as pl

    if case.join != "INNER":
        raise SystemExit("Polars has inner joins on inequalities only")

    def read(sql: str) -> pl.Expr:
        return pl.sql_expr(re.sub(r"\bl\.(\w+)", r"\1", re.sub(r"\br\.(\w+)", r"\1_r", sql)))

    key = [pl.col("k") == pl.col("k_r")] if case.keyed else []
    begin = time.monotonic()
    joined = pl.scan_parquet(f"{folder}/l/*.parquet").join_where(
        pl.scan_parquet(f"{folder}/r/*.parquet").rename(lambda name: name + "_r"),
        *key,
        *[read(comparison) for comparison in case.range],
    )
    if case.residual:
        joined = joined.filter(read(case.residual))
    # A sum of 32-bit integers would wrap around.
    left, right = (pl.col(name).cast(pl.Int64).sum() for name in ("v", "v_r"))
    frame = joined.select(pl.len(), left, right.alias("w")).collect()
    seconds = time.monotonic() - begin
    return seconds, [int(x) for x in frame.row(0)]


#: What runs a case on tables in a folder, by engine.
RUNS = {"duckdb": duckdb_run, "polars": polars_run}
