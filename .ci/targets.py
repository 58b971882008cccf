"""What the workflow of pull requests runs, as targets of make: a list in JSON for each occasion.

    python3 .ci/targets.py NUMBER

`short` is what a change has to pass, and a part of the tests of every other line of Spark, by the
number of the run; `weekly` is all of `make test-all`, in parts that take an hour or two. As lines
of `NAME=LIST`, which is what GitHub reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TABLE = Path(__file__).parents[1] / "spark-lines.txt"
DEFAULT_LINE = "4.2"
# In how many parts the Scala tests of a line are run, one of them by a pull request.
PARTS = 8


def lines() -> dict[str, bool]:
    """The lines of Spark, oldest first, and whether each is published with its tests."""
    rows = [row.split() for row in TABLE.read_text(encoding="utf-8").splitlines()]
    return {row[0]: row[2] != "pyspark" for row in rows if row and row[0][0].isdigit()}


def short(number: int) -> list[str]:
    """What a pull request runs: checks, quick tests, and a part of the tests of other lines."""
    part = number % PARTS + 1
    others = [line for line in lines() if line != DEFAULT_LINE]
    return [
        "check",
        "test",
        "docs",
        "jars",
        *(f"test-scala LINE={line} SHARE={part}/{PARTS}" for line in others),
        *(f"test-python LINE={line}" for line in others),
    ]


def weekly(number: int) -> list[str]:
    """All of `make test-all`, on every line, and Sparks that lack something, drawn anew."""
    targets = ["check", "test", "docs", "test-slow", "test-release", "fuzz CASES=10000"]
    targets += [f"test-engines SHARE={k}/4" for k in range(1, 5)]
    for line, published in lines().items():
        if line != DEFAULT_LINE:
            targets += [f"test-scala LINE={line} SHARE={k}/2" for k in (1, 2)]
            targets += [f"{kind} LINE={line}" for kind in ("test-python", "test-cluster")]
            targets += [f"{kind} LINE={line} CASES=1000" for kind in ("fuzz", "fuzz-python")]
        if published:
            targets += [f"spark-suites LINE={line} SHARE={k}/3" for k in (1, 2, 3)]
            targets.append(f"releases LINE={line}")
        targets.append(f"test-neighbours LINE={line}")
        targets.append(f"doctored LINE={line} SHARE=1/20 SESSIONS=100 SEED={number}")
    return [*targets, *(f"{kind} LINE=3.5 SCALA=2.12" for kind in ("test-scala", "releases"))]


if __name__ == "__main__":
    print(f"short={json.dumps(short(int(sys.argv[1])))}")
    print(f"weekly={json.dumps(weekly(int(sys.argv[1])))}")
