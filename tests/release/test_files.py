"""The files of target/release: all are there, whole and signed, and as a repository asks."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from released import ARTIFACTS, MAVEN, RELEASE, VERSION, WHEEL, files_of

KINDS = [".jar", "-sources.jar", "-javadoc.jar", ".pom", "-cyclonedx.json"]


def test_every_line_has_jars_pom_bill_sums_and_signatures_and_nothing_else() -> None:
    assert {path.parent.parent for path in files_of(MAVEN)} == {*ARTIFACTS.values()}
    for folder in ARTIFACTS.values():
        names = [f"{folder.name}-{VERSION}{kind}" for kind in KINDS]
        wanted = {name + suffix for name in names for suffix in ("", ".md5", ".sha1", ".asc")}
        assert {path.name for path in files_of(folder)} == wanted
    assert files_of(WHEEL.parent) == [WHEEL]


def test_every_signature_is_of_the_key_that_is_there(tmp_path: Path) -> None:
    gpg = ["gpg", "--batch", "--quiet", "--no-autostart", "--homedir", str(tmp_path)]
    tmp_path.chmod(0o700)
    subprocess.run([*gpg, "--import", str(RELEASE / "KEY.asc")], check=True)
    signatures = [path for path in files_of(RELEASE) if path.name[-4:] == ".asc"]
    signatures.remove(RELEASE / "KEY.asc")
    assert RELEASE / "SHA256SUMS.asc" in signatures
    for signature in signatures:
        subprocess.run([*gpg, "--verify", str(signature), str(signature)[:-4]], check=True)


def test_the_sums_are_those_of_all_files() -> None:
    lines = (RELEASE / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {RELEASE / name: digest for digest, name in (line.split("  ") for line in lines)}
    left_out = {RELEASE / "SHA256SUMS"}
    assert {*sums} | left_out == {path for path in files_of(RELEASE) if path.suffix != ".asc"}
    for path, digest in sums.items():
        content = path.read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest, path
        for kind in ("md5", "sha1"):
            sidecar = path.with_name(f"{path.name}.{kind}")
            if sidecar.exists():
                assert hashlib.new(kind, content).hexdigest() == sidecar.read_text(), sidecar


def test_sources_and_documentation_are_in_their_jars() -> None:
    for folder in ARTIFACTS.values():
        base = folder / VERSION / f"{folder.name}-{VERSION}"
        for kind, entry in [
            ("", "org/apache/spark/sql/rangejoin/RangeJoinExtensions.class"),
            ("", "META-INF/LICENSE"),
            ("-sources", "org/apache/spark/sql/rangejoin/RangeJoinExtensions.scala"),
            ("-javadoc", "README.md"),
        ]:
            with zipfile.ZipFile(f"{base}{kind}.jar") as jar:
                assert entry in jar.namelist(), (folder, kind)


def test_the_wheel_carries_the_jars_that_are_published_and_their_bills_of_materials() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        names = [name for name in wheel.namelist() if name.endswith((".jar", "-cyclonedx.json"))]
        carried = {name: wheel.read(name) for name in names}
    published = {}
    for folder in ARTIFACTS.values():
        for kind, place in [
            (".jar", "rangejoin/jars"),
            ("-cyclonedx.json", f"spark_range_join-{VERSION}.dist-info/sboms"),
        ]:
            name = f"{folder.name}-{VERSION}{kind}"
            published[f"{place}/{name}"] = (folder / VERSION / name).read_bytes()
    assert carried.keys() == published.keys()
    assert [name for name in names if carried[name] != published[name]] == []


def test_twine_finds_nothing_to_complain_about() -> None:
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", str(WHEEL)], check=True)


@pytest.mark.parametrize("bom", [p for p in files_of(RELEASE) if p.name.endswith("cyclonedx.json")])
def test_a_bill_of_materials_is_valid_and_names_the_release(bom: Path) -> None:
    text = bom.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    found = json.loads(text)
    named = [*found["components"], found["metadata"].get("component", {})]
    wanted = "spark-range-join" if bom.parent == RELEASE else bom.parent.parent.name
    assert (wanted, VERSION) in {(part.get("name"), part.get("version")) for part in named}
    assert "file:/" not in text
