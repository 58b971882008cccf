"""Where the time of a range join goes: `python bench/profile_queries.py CASE [CASE ...]`.

Runs a case of `cases.py` under Java's flight recorder, after runs that warm up, and prints the
share of the samples of the threads of tasks by what they were at: the innermost frame that belongs
to one of `PARTS`, and the median seconds of a run under the recorder. `--sort stock` shows the same
without the range sort, with Spark's `SortExec` in its place. Needs what `queries.py` needs, and the
`jfr` command of the JDK.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cases import CASES
from queries import Contest, generate
from sessions import session

#: What a frame belongs to, by its class and method; the first that matches counts.
PARTS = {
    "window": r"rangejoin\.window\.",
    "index": r"rangejoin\.index\.",
    "sort: prefixes, repair": r"rangejoin\.sort\.",
    "sort: radix": r"RadixSort\.",
    "sort: TimSort": r"\.TimSort\.|RecordComparator|RowComparator|BaseOrdering|SpecificOrdering",
    "sort: insert": r"UnsafeExternal(Row)?Sorter\.|UnsafeInMemorySorter\.(insert|expand|has)",
    "sort: rows in order": r"UnsafeInMemorySorter|UnsafeSorterIterator",
    "scanner": r"rangejoin\.(merge|join|broadcast|kernel)\.",
    "shuffle write": r"shuffle\.sort\.|ShuffleWriter|DiskBlockObjectWriter|ShufflePartitionId",
    "shuffle read": r"ShuffleBlockFetcher|UnsafeRowSerializer|BlockStoreShuffleReader",
    "scan of Parquet": r"parquet\.|ColumnarBatch|OnHeapColumnVector|WritableColumnVector",
    "generated code, row writer": r"GeneratedIterator|GeneratedClass|UnsafeRowWriter|UnsafeWriter",
    "stock join": r"SortMergeJoin|ExternalAppendOnly|HashedRelation|BytesToBytesMap",
}


def samples(recording: Path) -> list[list[str]]:
    """The stacks of the threads of tasks, innermost frame first."""
    command = ["jfr", "print", "--json", "--stack-depth", "64", "--events", "jdk.ExecutionSample"]
    text = subprocess.run([*command, str(recording)], capture_output=True, check=True).stdout
    stacks = []
    for event in json.loads(text)["recording"]["events"]:
        values = event["values"]
        thread = (values.get("sampledThread") or {}).get("javaName") or ""
        # A thread has the name it has when the recording ends.
        if thread.startswith("Executor task"):
            stacks.append(
                [
                    f"{frame['method']['type']['name'].replace('/', '.')}.{frame['method']['name']}"
                    for frame in values["stackTrace"]["frames"]
                ]
            )
    return stacks


def part(stack: list[str]) -> str:
    """What a stack was at."""
    for frame in stack:
        for name, pattern in PARTS.items():
            if re.search(pattern, frame):
                return name
    return "else"


def record(spark: Any, contest: Contest, contestant: str, runs: int, path: Path) -> float:
    """Runs a contestant under the flight recorder; returns the median seconds of a run."""
    jvm = spark._jvm
    recording = jvm.jdk.jfr.Recording(jvm.jdk.jfr.Configuration.getConfiguration("profile"))
    recording.start()
    done = [contest.run(contestant) for _ in range(runs)]
    recording.stop()
    recording.dump(
        jvm.java.nio.file.Path.of(str(path), spark._sc._gateway.new_array(jvm.String, 0))
    )
    recording.close()
    return statistics.median(run.seconds for run in done if run is not None)


def main() -> None:
    """Prints a table, a column for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+", choices=list(CASES))
    parser.add_argument("--contestant", default="ours")
    parser.add_argument("--sort", choices=["range", "stock"], default="range")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--frames", type=int, default=0, help="innermost frames to list, too")
    parser.add_argument("--data", type=Path, help="folder to keep the data in")
    args = parser.parse_args()
    spark = session()
    # The range sort is a radix sort, and steps aside where Spark is to have none.
    spark.conf.set("spark.sql.sort.enableRadixSort", str(args.sort == "range").lower())
    seconds: dict[str, float] = {}
    shares: dict[str, collections.Counter[str]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.cases:
            folder = (args.data or Path(temporary)) / name
            generate(spark, CASES[name], folder)
            contest = Contest(spark, name, folder, 600)
            for _ in range(2):
                contest.run(args.contestant)
            path = Path(temporary) / "recording.jfr"
            seconds[name] = record(spark, contest, args.contestant, args.runs, path)
            stacks = samples(path)
            if not stacks:
                raise SystemExit(f"{name}: no samples of the threads of tasks")
            shares[name] = collections.Counter(map(part, stacks))
            inner = collections.Counter(stack[0] for stack in stacks if stack)
            for frame, count in inner.most_common(args.frames):
                print(f"{name}: {count / len(stacks):6.1%} {frame}", file=sys.stderr)
    print("| share of samples | " + " | ".join(shares) + " |")
    print("|---|" + "---:|" * len(shares))
    print("| seconds | " + " | ".join(f"{of:.2f}" for of in seconds.values()) + " |")
    for label in [*PARTS, "else"]:
        of = [counts[label] / max(1, counts.total()) for counts in shares.values()]
        if any(share >= 0.005 for share in of):
            print(f"| {label} | " + " | ".join(f"{share:.0%}" for share in of) + " |")


if __name__ == "__main__":
    main()
