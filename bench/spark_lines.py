"""Joins on one line of Spark, beside that line's stock: `python bench/spark_lines.py [--only ...]`.

The Python that runs it says which line that is. Lines take turns; `--json` keeps the figures of all
of them, and `--table` shows them beside each other:

    for round in 1 2; do for python in .venv/bin/python .venv-spark-*/bin/python; do
        $python bench/spark_lines.py --data bench-data --json spark-lines.json; done; done
    .venv/bin/python bench/spark_lines.py --json spark-lines.json --table

The joins are those of `cases.py`, read from the same files by all lines; stock runs those that it
ends in a few seconds. In every round of a process ours and stock take turns; medians are quoted,
over all processes of a line. With `--modes` ours also runs in the mode of ANSI that the line does
not have by default, in a column of its own. `--cpu` shows what tasks took of a processor in the
place of the seconds: it says more where a machine is busy.

Needs the package `rangejoin` (see README.md), with the jar of the line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from cases import CASES
from queries import Contest, generate
from sessions import cpu_seconds, session, stages

ANSI = "spark.sql.ansi.enabled"
#: The line that others are compared with.
MAIN = "4.2"
#: Joins, and whether stock runs them too.
JOINS = {
    "band 100": False,
    "distance 100": False,
    "overlap": False,
    "band 1,000": True,
    "band 1,000,000": True,
    "band, strings": True,
    "bucket of 100": True,
    "stars": False,
    "intervals, fixed": False,
    "unique key": True,
}
#: Ours in the mode that is not the line's own.
OTHER_MODE = "other mode"
#: By contestant: seconds, and those of a processor, of every run in a process.
Runs = dict[str, list[list[float]]]
#: By line and case: what each process has measured.
Figures = dict[str, dict[str, list[Runs]]]


def measure(contest: Contest, contestants: list[str], warmups: int, runs: int) -> Runs:
    """All rounds of a case: by contestant, of each the seconds and those of a processor."""
    taken: Runs = {c: [] for c in contestants}
    answers = set()
    ansi = contest.spark.conf.get(ANSI) == "true"
    for number in range(warmups + runs):
        for contestant in contestants if number % 2 == 0 else reversed(contestants):
            other = contestant == OTHER_MODE
            contest.spark.conf.set(ANSI, str(ansi != other).lower())
            last = max(stages(contest.spark), default=-1)
            done = contest.run("ours" if other else contestant)
            if done is None:
                raise SystemExit(f"{contest.name}: {contestant} was stopped")
            answers.add(tuple(done.result or ()))
            cpu = cpu_seconds(s for n, s in stages(contest.spark).items() if n > last)
            if number >= warmups:
                taken[contestant].append([done.seconds, cpu])
    contest.spark.conf.set(ANSI, str(ansi).lower())
    if len(answers) > 1:
        raise SystemExit(f"{contest.name}: contestants differ: {answers}")
    return taken


def median(processes: list[Runs], contestant: str, clock: int) -> float:
    """The median of all runs of a contestant."""
    return statistics.median(run[clock] for of in processes for run in of[contestant])


def cell(processes: list[Runs], main: list[Runs], clock: int) -> str:
    """Ours, what that is of the main line's, and what others take of ours in the same processes."""
    if not processes:
        return ""
    ours = median(processes, "ours", clock)
    text = f"{ours:.2f}"
    if main and main is not processes:
        text += f" ({ours / median(main, 'ours', clock):.2f}x)"
    for contestant, name in (("default", "stock"), (OTHER_MODE, OTHER_MODE)):
        both = [of for of in processes if contestant in of]
        if both:
            ratio = median(both, contestant, clock) / median(both, "ours", clock)
            text += f"; {name} {ratio:.2f}x"
    return text


def table(figures: Figures, clock: int) -> str:
    """A row of every case, a column of every line."""
    lines = sorted(figures)
    shown = ["| case | " + " | ".join(lines) + " |", "|---" * (len(lines) + 1) + "|"]
    for case in JOINS:
        if any(case in figures[line] for line in lines):
            main = figures.get(MAIN, {}).get(case, [])
            cells = [cell(figures[line].get(case, []), main, clock) for line in lines]
            shown.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(shown)


def main() -> None:
    """Runs the cases that are asked for, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(JOINS), choices=list(JOINS))
    parser.add_argument("--ours", action="store_true", help="leave out stock")
    parser.add_argument("--modes", action="store_true", help="ours with ANSI mode on and off")
    parser.add_argument("--warmups", type=int, default=2, help="rounds that are not counted")
    parser.add_argument("--runs", type=int, default=3, help="rounds, after those that warm up")
    parser.add_argument("--limit", type=float, default=60, help="seconds a run may take")
    parser.add_argument("--data", type=Path, help="folder to keep the data in")
    parser.add_argument("--json", type=Path, help="file that the figures are added to")
    parser.add_argument("--table", action="store_true", help="show the file, and run nothing")
    parser.add_argument("--cpu", action="store_true", help="show the seconds of a processor")
    args = parser.parse_args()
    kept: Figures = {}
    if args.json and args.json.exists():
        kept = json.loads(args.json.read_text())
    if args.table:
        print(table(kept, int(args.cpu)))
        return
    spark = session()
    line = ".".join(spark.version.split(".")[:2])
    line += ", both modes" if args.modes else ""
    of_line = kept.setdefault(line, {})
    now: Figures = {line: {}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.data or Path(temporary)
        for name in args.only:
            generate(spark, CASES[name], folder / name)
            contest = Contest(spark, name, folder / name, args.limit)
            contestants = ["default", "ours"] if JOINS[name] and not args.ours else ["ours"]
            contestants += [OTHER_MODE] * args.modes
            taken = measure(contest, contestants, args.warmups, args.runs)
            now[line][name] = [taken]
            of_line.setdefault(name, []).append(taken)
            if args.json:
                args.json.write_text(json.dumps(kept, indent=1) + "\n")
    print(table(now, int(args.cpu)))


if __name__ == "__main__":
    main()
