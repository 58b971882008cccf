"""The wheel carries its jar, or is not built at all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from importlib.metadata import metadata
from pathlib import Path

import pyspark
import pytest
from conftest import REPOSITORY

from rangejoin import jar_path
from rangejoin.packaged import line_of

JAR_NAME = Path(jar_path()).name
JAR_LINE, SCALA = JAR_NAME.split("-")[2].split("_")[1:]
LINE = line_of(pyspark.__version__)
OTHER_JAR = JAR_NAME.replace(f"_{JAR_LINE}_{SCALA}", "_4.9_2.13")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the Python project without any jar."""
    copy = tmp_path / "project"
    ignored = shutil.ignore_patterns("jars", "dist", "__pycache__")
    shutil.copytree(REPOSITORY / "python", copy, ignore=ignored)
    (copy / "src" / "rangejoin" / "jars").mkdir()
    shutil.copy(REPOSITORY / "VERSION", tmp_path)
    # A line of the table with one jar, and another one.
    (tmp_path / "spark-lines.txt").write_text(
        f"# line jar\n4.9 4.9 4.9.0 2.13.1 17 4.9.0\n{LINE} {JAR_LINE} x {SCALA}.1 17 x\n"
    )
    return copy


def build(project: Path, line: str | None = None) -> subprocess.CompletedProcess[str]:
    """Builds the wheel of `project` into its folder `dist`: of all lines, or of one."""
    environment = {k: v for k, v in os.environ.items() if k != "RANGEJOIN_WHEEL_LINE"}
    if line:
        environment["RANGEJOIN_WHEEL_LINE"] = line
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )


def put(project: Path, *names: str) -> None:
    """Puts the packaged jar into `project` under the given names."""
    for name in names:
        shutil.copy(jar_path(), project / "src" / "rangejoin" / "jars" / name)


def test_the_wheel_carries_jars_types_licence_and_command(project: Path) -> None:
    put(project, JAR_NAME, OTHER_JAR)
    # As in the repository: the jar is ignored by git, and has to be in all the same.
    (project / ".gitignore").write_text("/src/rangejoin/jars/\n")
    built = build(project)
    assert built.returncode == 0, built.stderr
    (wheel,) = (project / "dist").glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {f"rangejoin/jars/{JAR_NAME}", f"rangejoin/jars/{OTHER_JAR}"} <= set(names)
    assert "rangejoin/py.typed" in names
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    assert [name for name in names if name.endswith("entry_points.txt")]


@pytest.mark.parametrize(
    ("jars", "found"),
    [
        ((), "there is none;"),
        (("spark-range-join_4.2_2.13-0.0.1.jar",), r"there is \S+-0\.0\.1\.jar;"),
        ((JAR_NAME, "another.jar"), rf"there is another\.jar, {JAR_NAME};"),
    ],
)
def test_a_wheel_without_exactly_the_jar_of_its_line_is_not_built(
    project: Path, jars: tuple[str, ...], found: str
) -> None:
    put(project, *jars)
    built = build(project, LINE)
    assert built.returncode != 0
    assert not list(project.glob("dist/*.whl"))
    assert re.search(rf"carries exactly {JAR_NAME} in .*{found}", built.stderr)


def test_a_wheel_of_all_lines_is_not_built_without_each_of_their_jars(project: Path) -> None:
    put(project, JAR_NAME)
    built = build(project)
    assert built.returncode != 0
    assert "carries exactly" in built.stderr
    assert OTHER_JAR in built.stderr
    assert build(project, LINE).returncode == 0


def test_a_wheel_of_one_line_asks_for_a_pyspark_of_that_line(project: Path) -> None:
    put(project, JAR_NAME)
    assert build(project, LINE).returncode == 0
    assert requirements(project) == {"pyspark<4.4,>=3.5", f"pyspark=={LINE}.*"}
    put(project, OTHER_JAR)
    assert build(project).returncode == 0
    assert requirements(project) == {"pyspark<4.4,>=3.5"}


def requirements(project: Path) -> set[str]:
    """What the wheel in `dist` asks for without extras."""
    (wheel,) = (project / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        found = message_from_bytes(archive.read(name)).get_all("Requires-Dist") or []
    return {requirement for requirement in found if "extra ==" not in requirement}


def test_twine_finds_nothing_to_complain_about(project: Path) -> None:
    put(project, JAR_NAME)
    assert build(project, LINE).returncode == 0
    (wheel,) = (project / "dist").glob("*.whl")
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_version_has_one_place() -> None:
    version = (REPOSITORY / "VERSION").read_text(encoding="utf-8").strip()
    assert metadata("spark-range-join")["Version"] == version
    assert f"-{version}.jar" in JAR_NAME
    builds = ("Makefile", "build.sbt", "python/pyproject.toml")
    for path in (*builds, "RELEASE.md", ".github/workflows/release.yml"):
        assert version not in (REPOSITORY / path).read_text(encoding="utf-8"), path
    assert f"## {version}" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_metadata_has_links_and_classifiers() -> None:
    found = metadata("spark-range-join")
    links = dict(entry.split(", ", 1) for entry in found.get_all("Project-URL") or [])
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= links.keys()
    assert all(link.startswith(links["Homepage"]) for link in links.values())
    assert found["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in (found.get_all("Classifier") or [])
