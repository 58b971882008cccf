"""Measurements that are processes of their own, for benchmarks that alternate contestants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

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
