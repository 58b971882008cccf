"""Services of tests: processes on the loopback address that end by themselves."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIFETIME_SECONDS = 900
"""A service ends after this time, whatever becomes of the tests."""

START_SECONDS = 180


def free_port() -> int:
    """A port of the loopback address that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def service(folder: Path, ready: str, *command: str, **own: str) -> Iterator[None]:
    """Runs a service in `folder`, from when it has written `ready` until the block ends.

    Raises:
        AssertionError: it ended, or was not ready in time; the message is what it has written.
    """
    log = folder / "service.log"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"} | own
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["timeout", "-k", "5", str(LIFETIME_SECONDS), *command],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while ready not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(30)
