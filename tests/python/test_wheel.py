"""The wheel carries its jar, or is not built at all."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
from conftest import REPOSITORY

from rangejoin import jar_path

JAR_NAME = Path(jar_path()).name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the Python project without any jar."""
    copy = tmp_path / "project"
    ignored = shutil.ignore_patterns("jars", "dist", "__pycache__")
    shutil.copytree(REPOSITORY / "python", copy, ignore=ignored)
    (copy / "src" / "rangejoin" / "jars").mkdir()
    shutil.copy(REPOSITORY / "VERSION", tmp_path)
    return copy


def build(project: Path) -> subprocess.CompletedProcess[str]:
    """Builds the wheel of `project` into its folder `dist`."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def put(project: Path, *names: str) -> None:
    """Puts the packaged jar into `project` under the given names."""
    for name in names:
        shutil.copy(jar_path(), project / "src" / "rangejoin" / "jars" / name)


def test_the_wheel_carries_jar_types_licence_and_command(project: Path) -> None:
    put(project, JAR_NAME)
    # As in the repository: the jar is ignored by git, and has to be in all the same.
    (project / ".gitignore").write_text("/src/rangejoin/jars/\n")
    built = build(project)
    assert built.returncode == 0, built.stderr
    (wheel,) = (project / "dist").glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert f"rangejoin/jars/{JAR_NAME}" in names
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
def test_a_wheel_without_exactly_its_jar_is_not_built(
    project: Path, jars: tuple[str, ...], found: str
) -> None:
    put(project, *jars)
    built = build(project)
    assert built.returncode != 0
    assert not list(project.glob("dist/*.whl"))
    assert re.search(rf"carries exactly one jar, \S+{JAR_NAME}.*{found}", built.stderr)


def test_twine_finds_nothing_to_complain_about(project: Path) -> None:
    put(project, JAR_NAME)
    assert build(project).returncode == 0
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
    for path in ("Makefile", "build.sbt", "python/pyproject.toml"):
        assert version not in (REPOSITORY / path).read_text(encoding="utf-8"), path
    assert f"## {version}" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_metadata_has_links_and_classifiers() -> None:
    found = metadata("spark-range-join")
    links = dict(entry.split(", ", 1) for entry in found.get_all("Project-URL") or [])
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= links.keys()
    assert all(link.startswith(links["Homepage"]) for link in links.values())
    assert found["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in (found.get_all("Classifier") or [])
