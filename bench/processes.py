"""Measurements that are processes of their own, for benchmarks that alternate contestants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkContext

#: What a measurement printed, or None and why there is none.
Outcome = tuple[dict[str, Any] | None, str | None]

#: What the JVM, DuckDB, Polars and Python say of it.
OUT_OF_MEMORY = (
    "OutOfMemoryError",
    "Java heap space",
    "GC overhead",
    "Out of Memory Error",
    "memory allocation of",
    "MemoryError",
)


# ---------------------------------------------------------------- in such a process


def jvm() -> Any:
    """The process of Spark, if there is one."""
    gateway: Any = SparkContext._gateway
    return getattr(gateway, "proc", None)


def peak() -> int | None:
    """MiB that the JVM, or this process where it has none, has taken at most; on Linux."""
    of = jvm()
    status = Path(f"/proc/{of.pid if of else os.getpid()}/status")
    if not status.exists():
        return None
    sizes = [line.split()[1] for line in status.read_text().splitlines() if "VmHWM" in line]
    return int(sizes[0]) // 1024 if sizes else None


def end(with_what: dict[str, Any]) -> None:
    """Prints what was found, and ends this process and its JVM, which may be busy, at once."""
    print(json.dumps({**with_what, "peak": peak()}), flush=True)
    of = jvm()
    if of:
        of.kill()
    os._exit(0)


def timed(run: Callable[[], list[int]], limit: float) -> tuple[float, list[int]]:
    """Seconds and result of one run; ends this process where it is not done within the limit."""
    alarm = threading.Timer(limit, end, [{"reason": f"not done in {limit:g} s"}])
    alarm.daemon = True
    alarm.start()
    begin = time.monotonic()
    result = run()
    seconds = time.monotonic() - begin
    alarm.cancel()
    return seconds, result


# ---------------------------------------------------------------- in the process that measures


def run(program: str, case: str, contestant: str, heap: str, limit: int) -> Outcome:
    """Runs `program --measure case contestant`, whose last line of output is JSON."""
    process = subprocess.Popen(
        [sys.executable, program, "--measure", case, contestant],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": f"--driver-memory {heap} pyspark-shell"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, f"not done in {limit} s"
    if process.returncode == 0:
        return json.loads(out.strip().splitlines()[-1]), None
    if any(words in err for words in OUT_OF_MEMORY):
        return None, "out of memory"
    if "ConnectionRefusedError" in err or "Answer from Java side is empty" in err:
        return None, "lost its JVM"
    if process.returncode < 0:
        return None, f"ended by signal {-process.returncode}"
    return None, "failed: " + (err.strip().splitlines() or ["no message"])[-1][:200]


def alternate(
    contestants: Sequence[str], runs: int, measure: Callable[[str], Outcome]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Runs all contestants in turns; one that has failed takes no further part.

    Returns:
        What each contestant has measured, and for those that failed the reason.

    Raises:
        SystemExit: the contestants differ in their `rows`.
    """
    results: dict[str, list[dict[str, Any]]] = {c: [] for c in contestants}
    reasons: dict[str, str] = {}
    for _ in range(runs):
        for contestant in contestants:
            if contestant not in reasons:
                result, reason = measure(contestant)
                if result is None:
                    reasons[contestant] = reason or "failed"
                else:
                    results[contestant].append(result)
    totals = {tuple(r["rows"]) for of in results.values() for r in of}
    if len(totals) > 1:
        raise SystemExit(f"contestants differ: {totals}")
    return results, reasons
