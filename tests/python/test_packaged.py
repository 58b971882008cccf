"""The jars inside the installed package."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from conftest import REPOSITORY
from lines import LINE

from rangejoin import EXTENSION_CLASS, RangeJoinError, jar_path
from rangejoin.cli import main
from rangejoin.names import JAR_LINES, SPARK_LINES
from rangejoin.packaged import _choose, line_of


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """A folder with the jars of a wheel, all of them empty."""
    for line, scala in [
        ("3.5", "2.12"),
        ("3.5", "2.13"),
        ("4.0", "2.13"),
        ("4.2", "2.13"),
        ("4.3", "2.13"),
    ]:
        (tmp_path / f"spark-range-join_{line}_{scala}-1.0.0.jar").touch()
    return tmp_path


def test_the_jar_is_there_and_holds_the_extension() -> None:
    path = Path(jar_path())
    assert path.is_absolute()
    assert path.name.startswith(f"spark-range-join_{JAR_LINES.get(LINE, LINE)}_2.1")
    with zipfile.ZipFile(path) as jar:
        assert EXTENSION_CLASS.replace(".", "/") + ".class" in jar.namelist()


def test_the_command_prints_the_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar"]) == 0
    assert capsys.readouterr().out.strip() == jar_path()


def test_the_command_prints_the_path_for_the_spark_that_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scala = "2.12" if LINE == "3.5" else "2.13"
    assert main(["jar", "--spark", f"{LINE}.99", "--scala", scala]) == 0
    printed = capsys.readouterr().out.strip()
    assert f"spark-range-join_{JAR_LINES.get(LINE, LINE)}_{scala}-" in printed
    assert main(["jar", "--spark", "2.4"]) == 1
    assert "no range joins for Spark 2.4, but for 3.5, 4.0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "scala", "chosen"),
    [
        ("3.5", None, "3.5_2.12"),
        ("3.5", "2.12", "3.5_2.12"),
        ("3.5", "2.13", "3.5_2.13"),
        ("4.0", None, "4.0_2.13"),
        ("4.2", "2.13", "4.2_2.13"),
        ("4.3", None, "4.3_2.13"),
    ],
)
def test_the_jar_is_chosen_by_line_and_scala(
    jars: Path, line: str, scala: str | None, chosen: str
) -> None:
    assert _choose(jars, line, scala).name == f"spark-range-join_{chosen}-1.0.0.jar"


def test_a_line_without_a_jar_runs_that_of_another(
    jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(JAR_LINES, "4.4", "4.2")
    assert _choose(jars, "4.4", None).name == "spark-range-join_4.2_2.13-1.0.0.jar"


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("3.5.0", "3.5"),
        ("4.0.99", "4.0"),
        ("4.2", "4.2"),
        ("4.3.0.dev0", "4.3"),
        ("3.5.5-amzn-0", "3.5"),
        ("3.4.9", None),
        ("4.4.0", None),
        ("4.20.0", None),
        ("5", None),
    ],
)
def test_a_release_nobody_has_seen_is_of_its_line(version: str, line: str | None) -> None:
    assert line_of(version) == line


def test_the_lines_are_those_of_the_table() -> None:
    text = (REPOSITORY / "spark-lines.txt").read_text(encoding="utf-8").splitlines()
    rows = [row.split() for row in text if row and not row.startswith("#")]
    assert tuple(dict.fromkeys(row[0] for row in rows)) == SPARK_LINES
    assert {row[0]: row[1] for row in rows if row[0] != row[1]} == JAR_LINES


@pytest.mark.parametrize(("line", "scala"), [("4.1", None), ("4.0", "2.12")])
def test_a_package_without_the_jar_says_how_to_get_it(
    jars: Path, line: str, scala: str | None
) -> None:
    wanted = (
        rf"for Spark {line}.*found .*_3\.5_2\.12-.*; reinstall the wheel.*`make wheel LINE={line}`"
    )
    with pytest.raises(RangeJoinError, match=wanted):
        _choose(jars, line, scala)


def test_an_empty_package_says_so(tmp_path: Path) -> None:
    with pytest.raises(RangeJoinError, match=r"found none; reinstall the wheel"):
        _choose(tmp_path, "4.2", None)


def test_two_jars_of_one_line_are_named_and_refused(jars: Path) -> None:
    (jars / "spark-range-join_4.2_2.13-2.0.0.jar").touch()
    with pytest.raises(RangeJoinError, match=r"found .*-1\.0\.0\.jar, .*-2\.0\.0\.jar"):
        _choose(jars, "4.2", None)
