"""The jar inside the installed package."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from rangejoin import EXTENSION_CLASS, RangeJoinError, jar_path
from rangejoin.cli import main
from rangejoin.packaged import _only_jar


def test_the_jar_is_there_and_holds_the_extension() -> None:
    path = Path(jar_path())
    assert path.is_absolute()
    with zipfile.ZipFile(path) as jar:
        assert EXTENSION_CLASS.replace(".", "/") + ".class" in jar.namelist()


def test_the_command_prints_the_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar"]) == 0
    assert capsys.readouterr().out.strip() == jar_path()


def test_a_package_without_its_jar_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(RangeJoinError, match=r"found none; reinstall the wheel"):
        _only_jar(tmp_path)


def test_two_jars_are_named_and_refused(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / f"spark-range-join_4.2_2.13-{version}.jar").touch()
    with pytest.raises(RangeJoinError, match=r"found .*-1\.jar, .*-2\.jar"):
        _only_jar(tmp_path)
