"""The jars of other software for the line of Spark that tests run on, as jars.txt has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lines import LINE

TABLE = Path(__file__).with_name("jars.txt")
COPIES = Path(__file__).resolve().parents[2] / ".tools" / "neighbours" / LINE


def coordinates(software: str) -> list[str]:
    """The rows of the table for a software on this line; none where it has no release for it."""
    rows = (line.split() for line in TABLE.read_text(encoding="utf-8").splitlines())
    return [row[2] for row in rows if row[:2] == [LINE, software]]


def jars_of(software: str) -> list[str]:
    """The paths of the jars of a software; skips the test where it has none for this line."""
    wanted = coordinates(software)
    if not wanted:
        pytest.skip(f"jars.txt has no {software} for Spark {LINE}")
    paths = [
        COPIES / software / "{1}-{2}.jar".format(*coordinate.split(":")) for coordinate in wanted
    ]
    missing = [str(path) for path in paths if not path.exists()]
    assert not missing, f"there is no {', '.join(missing)}: run `make test-neighbours LINE={LINE}`"
    return [str(path) for path in paths]
