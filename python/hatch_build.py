"""Build hook: a wheel without its jar must fail here, not on the user's machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JARS = Path("src", "rangejoin", "jars")


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Requires exactly one jar, of the version being built, in the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Checks the jar folder before a wheel is built.

        Args:
            version: hatchling's build version, `standard` or `editable`. An editable install
                reads the source tree at run time, so the jar may arrive after it.
            build_data: what hatchling passes between hooks; not changed.

        Raises:
            RuntimeError: the jar is missing, of another version, or not alone.
        """
        if version == "editable":
            return
        wanted = f"spark-range-join_4.2_2.13-{self.metadata.version}.jar"
        found = sorted(jar.name for jar in Path(self.root, JARS).glob("*.jar"))
        if found != [wanted]:
            raise RuntimeError(
                f"a wheel carries exactly one jar, {JARS / wanted}, but there is "
                f"{', '.join(found) or 'none'}; run `make wheel` at the root of the repository"
            )
