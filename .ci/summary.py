"""Names the failed tests of a run, by its JUnit reports, and counts all; the counts end the log.

    python3 .ci/summary.py PARTS_FAILED REPORT...

A part that failed although its reports name no failed test (it did not compile, say) is for the
caller to count. Exits with 1 where something failed or nothing was run.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def count(report: Path) -> Counter[str]:
    """Returns how many tests of a report passed, failed or were skipped; prints which failed."""
    found: Counter[str] = Counter()
    for test in ElementTree.parse(report).iter("testcase"):
        outcomes = {child.tag for child in test}
        if outcomes & {"failure", "error"}:
            found["failed"] += 1
            print(f"failed: {test.get('classname')}: {test.get('name')}")
        elif "skipped" in outcomes:
            found["skipped"] += 1
        else:
            found["passed"] += 1
    return found


def main(parts_failed: int, reports: list[Path]) -> int:
    """Prints the counts; returns the exit code."""
    total: Counter[str] = Counter()
    for report in reports:
        total += count(report)
    failed = max(total["failed"], parts_failed)
    if total["passed"] + failed == 0:
        print("no test was run")
        failed = 1
    if total["skipped"]:
        print(f"{total['skipped']} skipped: not for this run, or canceled as excluded")
    print(f"{total['passed']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), [Path(name) for name in sys.argv[2:]]))
