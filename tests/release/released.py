"""What `make release` leaves, and the lines of Spark that it is for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
RELEASE = REPOSITORY / "target" / "release"
VERSION = (REPOSITORY / "VERSION").read_text(encoding="utf-8").strip()
WHEEL = RELEASE / "pypi" / f"spark_range_join-{VERSION}-py3-none-any.whl"
MAVEN = RELEASE / "maven"
GROUP = "io.github.spark-range-join"


class Row(NamedTuple):
    """A row of spark-lines.txt, as far as installing needs it."""

    line: str
    jar: str
    scala: str
    pyspark: str

    @property
    def artifact(self) -> str:
        """The name of the jar that it runs, in a Maven repository."""
        return f"spark-range-join_{self.jar}_{self.scala}"


def _rows() -> list[Row]:
    table = (REPOSITORY / "spark-lines.txt").read_text(encoding="utf-8").splitlines()
    split = (row.split() for row in table if row and not row.startswith("#"))
    return [
        Row(line, jar, scala.rpartition(".")[0], pyspark)
        for line, jar, _, scala, _, pyspark in split
    ]


ROWS = _rows()
ARTIFACTS = {row.artifact: MAVEN / GROUP.replace(".", "/") / row.artifact for row in ROWS}
# The package of a line is of its oldest Scala; RELEASE_LINE asks for one line alone.
PACKAGES = {
    row.line: row
    for row in sorted(ROWS, key=lambda row: row.scala, reverse=True)
    if os.environ.get("RELEASE_LINE", "") in ("", row.line)
}


def files_of(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
