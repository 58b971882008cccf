"""On every line: what is in target/release installs into an empty environment, and works there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from released import GROUP, MAVEN, PACKAGES, VERSION, WHEEL, Row

HERE = Path(__file__).resolve().parent
EXTENSIONS = "spark.sql.extensions=org.apache.spark.sql.rangejoin.RangeJoinExtensions"
TIMEOUT_SECONDS = 900
# Of 1,000 numbers in seven classes, pairs of a class that are at most twenty apart.
PAIRS = sum(a % 7 == b % 7 for a in range(1000) for b in range(a - 20, a + 21) if 0 <= b < 1000)


class Environment:
    """A virtual environment with the PySpark of a line and the wheel, and nothing else."""

    def __init__(self, folder: Path, row: Row) -> None:
        """Makes it: minutes, where PySpark is not in the cache of pip."""
        self.row = row
        self.folder = folder
        self.run(sys.executable, "-m", "venv", str(folder / "venv"))
        self.run("pip", "install", "-q", str(WHEEL), f"pyspark=={row.pyspark}")

    def run(self, program: str, *words: str, script: str = "") -> str:
        """Runs a program, of the environment if it has it; returns all that it prints."""
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))
        }
        path = os.pathsep.join([str(self.folder / "venv" / "bin"), os.environ["PATH"]])
        own = self.folder / "venv" / "bin" / program
        done = subprocess.run(
            [str(own) if own.exists() else program, *words],
            cwd=self.folder,
            env=inherited | {"PATH": path, "SPARK_SUBMIT_OPTS": f"-Duser.home={self.folder}"},
            input=script,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module", params=PACKAGES)
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Environment]:
    """The environment of a line; half a gigabyte, so it does not stay."""
    folder = tmp_path_factory.mktemp("installed")
    yield Environment(folder, PACKAGES[request.param])
    shutil.rmtree(folder)


def test_the_wheel_brings_range_joins_with_the_rows_of_stock_spark(
    environment: Environment,
) -> None:
    printed = environment.run("python", str(HERE / "installed_job.py"))
    report = json.loads(re.findall("^REPORT (.*)", printed, re.MULTILINE)[0])
    assert report["spark"] == environment.row.pyspark
    assert Path(report["jar"]).is_relative_to(environment.folder)
    assert "SortMergeRangeJoin" in report["ranged"]["plan"]
    assert "RangeJoin" not in report["stock"]["plan"]
    assert len(report["stock"]["rows"]) == PAIRS
    assert report["ranged"]["rows"] == report["stock"]["rows"]


def test_the_command_prints_the_jar_that_is_published(environment: Environment) -> None:
    jar = Path(environment.run("rangejoin", "jar").strip())
    assert jar.name == f"{environment.row.artifact}-{VERSION}.jar"
    (published,) = MAVEN.rglob(jar.name)
    assert jar.read_bytes() == published.read_bytes()


def test_packages_brings_range_joins_to_the_spark_shell(environment: Environment) -> None:
    row = environment.row
    printed = environment.run(
        "spark-shell",
        *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
        *("--packages", f"{GROUP}:{row.artifact}:{VERSION}"),
        *("--repositories", MAVEN.as_uri(), "--conf", EXTENSIONS),
        *("--conf", f"spark.jars.ivy={environment.folder / 'ivy'}"),
        script=(HERE / "packages.scala").read_text(encoding="utf-8"),
    )
    assert f"REPORT rows {PAIRS} equal true ranged true false" in printed, printed
    (fetched,) = (environment.folder / "ivy" / "jars").glob(f"{GROUP}_*.jar")
    (published,) = MAVEN.rglob(f"{row.artifact}-{VERSION}.jar")
    assert fetched.read_bytes() == published.read_bytes()
