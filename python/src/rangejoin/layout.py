"""How a prepared table is laid out: its keys, its order and its buckets."""

from __future__ import annotations

from dataclasses import dataclass

from rangejoin.errors import RangeJoinError


@dataclass(frozen=True)
class PreparedTable:
    """A table whose rows are bucketed by keys, and sorted by keys and range column."""

    name: str
    """The table."""
    keys: tuple[str, ...]
    """The columns it is bucketed by; a table of Iceberg by the first of them."""
    range: tuple[str, ...]
    """The columns it is sorted by within a key."""
    buckets: int
    """The number of buckets, each a file for every time the table was written to."""
    format: str = "parquet"
    """The format of its files, or `iceberg`."""

    @property
    def order(self) -> tuple[str, ...]:
        """The columns it is sorted by."""
        return self.keys + self.range

    def __str__(self) -> str:
        """What the table is, and what a join of it will do."""
        keys, order = ", ".join(self.keys), ", ".join(self.order)
        if self.format == "iceberg":
            return (
                f"{self.name}: {self.buckets} buckets of Iceberg by {self.keys[0]}, sorted by "
                f"{order}. A range join by {keys} reads it without a shuffle where the other side "
                f"has {self.buckets} buckets by its {self.keys[0]}, too, with the settings of "
                "docs/iceberg.md; rows are sorted for the join, as Iceberg reports no order."
            )
        return (
            f"{self.name}: {self.buckets} buckets by {keys}, sorted by {order}. A range join by "
            f"{keys} with a range on {self.range[0]} reads it without a shuffle and without a sort "
            f"where the other side has {self.buckets} buckets by its keys, too."
        )


def check_same(known: PreparedTable, wanted: PreparedTable) -> None:
    """Returns if rows in the layout `wanted` can be written to the table `known`.

    Raises:
        RangeJoinError: the number of buckets, the keys or the order are others.
    """
    # After replacing buckets by another number of them, Iceberg 1.12.0 can no longer read the
    # table's metadata tables.
    anew = "drop it first" if known.format == "iceberg" else "write it anew with mode='overwrite'"
    if wanted.buckets != known.buckets:
        raise RangeJoinError(
            f"the table {known.name} has {known.buckets} buckets, and not {wanted.buckets}: leave "
            f"out `buckets`, or {anew}"
        )
    if _lower(known.keys) != _lower(wanted.keys) or _lower(known.range) != _lower(wanted.range):
        raise RangeJoinError(
            f"the table {known.name} is bucketed by {', '.join(known.keys)} and sorted within them "
            f"by {', '.join(known.range)}: append with the same keys and range, or {anew}"
        )


def _lower(names: tuple[str, ...]) -> list[str]:
    return [name.lower() for name in names]
