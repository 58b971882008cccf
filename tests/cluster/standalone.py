"""A standalone Spark cluster on this machine: a master and two workers, a process each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from launching import JVM_OPTIONS
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession
from services import LIFETIME_SECONDS

import rangejoin

T = TypeVar("T")

START_SECONDS = 60

WORKER_HOSTS = ("127.0.0.1", "localhost")
"""Two names, since Spark starts no speculative copy of a task on the host of the first."""


class Cluster:
    """A running cluster.

    Attributes:
        folder: where everything it writes goes.
        url: of its master.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        of_first_worker: Mapping[str, str] | None = None,
    ) -> None:
        """Starts the cluster and waits until both workers have registered.

        `settings` are those of all its processes, `of_first_worker` come to those of the first.

        Raises:
            AssertionError: a process ended, or was not ready in time.
        """
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        (folder / "conf").mkdir()
        given = dict(settings or {})
        try:
            master = "org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0"
            log = self._start("master", f"{master} --webui-port 0", given)
            self.url = "spark://" + log("Starting Spark master at spark://").split()[0]
            worker = "org.apache.spark.deploy.worker.Worker --port 0 --webui-port 0 -c 2 -m 2g"
            logs = []
            for host, own in zip(WORKER_HOSTS, (of_first_worker or {}, {}), strict=True):
                words = f"{worker} --host {host} --work-dir {self.work} {self.url}"
                logs.append(self._start(host, words, given | dict(own)))
            for log in logs:
                log("Successfully registered with master")
        except BaseException:
            self.stop()
            raise

    @property
    def work(self) -> Path:
        """Where executors run: logs, and the jars they were sent."""
        return self.folder / "work"

    @property
    def local(self) -> Path:
        """The local directories of the executors."""
        return self.folder / "local"

    def executors(self) -> dict[str, int]:
        """Returns the process ids of the executors of the running application, by their ids."""
        found = {}
        for worker in self._processes[1:]:
            for pid in _descendants(worker.pid):
                words = _command(pid)
                if "--executor-id" in words:
                    found[words[words.index("--executor-id") + 1]] = pid
        return found

    def spill_files(self) -> set[Path]:
        """Returns the files of windows and sorts that are on disk now."""
        return {
            Path(folder, name)
            for folder, _, names in os.walk(self.local)
            for name in names
            if name.startswith("temp_local_")
        }

    def stop(self) -> None:
        """Ends the processes and waits for them."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(30)

    def _start(self, name: str, words: str, settings: dict[str, str]) -> Callable[[str], str]:
        """Starts a process; returns a function that waits for a text in its log."""
        home = _find_spark_home()
        properties = self.folder / f"{name}.conf"
        properties.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        command = [str(Path(home, "bin", "spark-class")), *words.split()]
        command += ["--properties-file", str(properties)]
        path = self.folder / f"{name}.log"
        kept = {key: word for key, word in os.environ.items() if not key.startswith("SPARK_")}
        own = {
            "SPARK_HOME": home,
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_DIRS": str(self.local),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS,
        }
        with path.open("wb") as log:
            process = subprocess.Popen(
                ["timeout", "-k", "5", str(LIFETIME_SECONDS), *command],
                env=kept | own,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)

        def wait_for(text: str) -> str:
            def rest() -> str:
                assert process.poll() is None, path.read_text()
                return path.read_text().partition(text)[2]

            return wait_until(rest, f"{text!r} of {name}", START_SECONDS)

        return wait_for


@contextmanager
def session_on(cluster: Cluster, more: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session with an executor on each worker, of one core, and with more settings."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(cluster.folder / "driver"),
        "spark.cores.max": "2",
        "spark.executor.cores": "1",
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": JVM_OPTIONS,
        "spark.locality.wait": "0s",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.warehouse.dir": str(cluster.folder / "warehouse"),
        # Code that does not compile on an executor must not be made up for.
        "spark.sql.codegen.fallback": "false",
        "spark.unsafe.exceptionOnMemoryLeak": "true",
    }
    builder = SparkSession.builder.master(cluster.url).appName("rangejoin on a cluster")
    for key, value in (settings | dict(more)).items():
        builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_SUBMIT_OPTS", JVM_OPTIONS)
        session = rangejoin.configure(builder).getOrCreate()
        yield session
        session.stop()
    wait_until(lambda: not cluster.spill_files(), "end of the application without spill files")


def wait_until(answer: Callable[[], T], what: str, seconds: float = 60) -> T:
    """Returns the first answer that is true or not empty.

    Raises:
        AssertionError: there was none in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = answer()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {seconds} s")


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except FileNotFoundError:
        return []


def _descendants(pid: int) -> list[int]:
    found = []
    # Each thread has children of its own.
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _children(listed):
            found += [child, *_descendants(child)]
    return found


def _children(listed: Path) -> list[int]:
    """The children of a thread; one that has ended meanwhile has none."""
    try:
        return [int(child) for child in listed.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
