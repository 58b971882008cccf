"""The jars inside the package, one for each line of Spark and Scala."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pyspark

from rangejoin.errors import RangeJoinError
from rangejoin.inherited import running_jvm, spark_home
from rangejoin.names import JAR_LINES, SPARK_LINES

_JARS = Path(__file__).resolve().parent / "jars"
_NAME = re.compile(r"spark-range-join_(\d+\.\d+)_(\d+\.\d+)-.+\.jar")


class _Jar(NamedTuple):
    line: str
    scala: str
    path: Path


def jar_path(spark: str | None = None, scala: str | None = None) -> str:
    """Returns the absolute path of the packaged jar for a Spark, as for `spark-submit --jars`.

    Args:
        spark: a version of Spark, such as `3.5` or `4.0.2`; by default that of PySpark here. Only
            its first two numbers matter.
        scala: `2.12` or `2.13`, which matters for Spark 3.5; by default that of the Spark here, or
            for another Spark the one that its PySpark has.

    Raises:
        RangeJoinError: there are no range joins for this Spark or Scala, or the package has lost
            its jar.
    """
    version = spark or pyspark.__version__
    line = line_of(version)
    if line is None:
        raise RangeJoinError(
            f"there are no range joins for Spark {version}, but for {', '.join(SPARK_LINES)}; it "
            "plans stock joins"
        )
    if scala is None and line == line_of(pyspark.__version__):
        scala = _scala_here()
    return str(_choose(_JARS, line, scala))


def line_of(version: str) -> str | None:
    """The line of a version of Spark, such as `4.0`; None where there are no range joins for it."""
    line = ".".join(version.split(".")[:2])
    return line if line in SPARK_LINES else None


def _choose(folder: Path, line: str, scala: str | None) -> Path:
    """The jar of a line; of the older Scala where it has two, which is that of PySpark 3.5."""
    found = _packaged(folder)
    fitting = [
        jar
        for jar in found
        if jar.line == JAR_LINES.get(line, line) and (scala is None or jar.scala == scala)
    ]
    if not fitting or len({jar.scala for jar in fitting}) < len(fitting):
        wanted = f"Spark {line}" + (f" and Scala {scala}" if scala else "")
        names = ", ".join(jar.path.name for jar in found) or "none"
        raise RangeJoinError(
            f"expected one spark-range-join jar for {wanted} in {folder}, found {names}; reinstall "
            "the wheel (pip install --force-reinstall spark-range-join), or in a source tree run "
            f"`make wheel LINE={line}`"
        )
    return fitting[0].path


def _packaged(folder: Path) -> list[_Jar]:
    matches = ((_NAME.fullmatch(path.name), path) for path in sorted(folder.glob("*.jar")))
    return [_Jar(match[1], match[2], path) for match, path in matches if match]


def _scala_here() -> str | None:
    """The Scala of the Spark that runs here, or would; None where that cannot be told."""
    jvm = running_jvm()
    if jvm is not None:
        version = str(jvm.scala.util.Properties.versionNumberString())
        return ".".join(version.split(".")[:2])
    home = spark_home()
    libraries = sorted(Path(home, "jars").glob("scala-library-*.jar")) if home else []
    versions = {".".join(path.name.split("-")[2].split(".")[:2]) for path in libraries}
    return versions.pop() if len(versions) == 1 else None
