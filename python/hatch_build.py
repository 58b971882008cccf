"""Build hook: a wheel without its jars must fail here, not on the user's machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JARS = Path("src", "rangejoin", "jars")
TABLE = Path("..", "spark-lines.txt")


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Requires the jars of all lines of Spark, of the version being built, and no other.

    With `RANGEJOIN_WHEEL_LINE` in the environment, a wheel for development is built: with the jars
    of that line alone.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Checks the jar folder before a wheel is built.

        Args:
            version: hatchling's build version, `standard` or `editable`. An editable install
                reads the source tree at run time, so the jars may arrive after it.
            build_data: what hatchling passes between hooks. It gets the bills of materials that
                lie beside the jars of a release, and the PySpark that a wheel of one line asks for.

        Raises:
            RuntimeError: a jar is missing or of another version, or there is one too many.
        """
        if version == "editable":
            return
        line = os.environ.get("RANGEJOIN_WHEEL_LINE")
        wanted = jar_names(Path(self.root, TABLE), self.metadata.version, line)
        found = sorted(jar.name for jar in Path(self.root, JARS).glob("*.jar"))
        if found != wanted:
            raise RuntimeError(
                f"a wheel carries exactly {', '.join(wanted)} in {JARS}, but there is "
                f"{', '.join(found) or 'none'}; run `make wheel`, or `make wheel-all`, at the "
                "root of the repository"
            )
        if line:
            build_data["dependencies"].append(f"pyspark=={line}.*")
        boms = Path(self.root, JARS).glob("*-cyclonedx.json")
        build_data["sbom_files"] = sorted(str(JARS / bom.name) for bom in boms)


def jar_names(table: Path, version: str, line: str | None = None) -> list[str]:
    """The names of the jars of all lines in `table`, or of one, in alphabetical order."""
    text = table.read_text(encoding="utf-8").splitlines()
    rows = [row.split() for row in text if row and not row.startswith("#")]
    return sorted(
        {
            f"spark-range-join_{jar}_{'.'.join(scala.split('.')[:2])}-{version}.jar"
            for of, jar, _, scala, *_ in rows
            if line in (None, of)
        }
    )
