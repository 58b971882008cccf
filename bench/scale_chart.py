"""The figures of `scale.py` as tables and as a picture."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from scale_shapes import SHAPES

Record = dict[str, Any]
NAMES = {
    "ours": "ours",
    "stock": "stock",
    "bins": "bins",
    "union": "union and window",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "comet": "Comet",
}
#: Those of the names, in their order; `C1` is too like ours.
MARKERS = "osD^vPX"
COLORS = dict(zip(NAMES, ("#d9622b", "C0", "C2", "C3", "C4", "C5", "C9"), strict=True))
HEAD = "| rows | contestant | seconds | x ours | slope | peak MiB |\n|---:|---|---:|---:|---:|---:|"


def seconds(record: Record | None) -> float | None:
    """The median of a record, if its contestant was done."""
    return statistics.median(record["seconds"]) if record and "seconds" in record else None


def line_of(records: list[Record], shape: str, contestant: str) -> list[Record]:
    """All sizes of a contestant in a shape, from the smallest on."""
    found = [r for r in records if (r["shape"], r["contestant"]) == (shape, contestant)]
    return sorted(found, key=lambda r: int(r["rows"]))


def slope(of: list[Record]) -> float | None:
    """By which power of the rows the seconds grow, from the first size to the last one done."""
    done = [(r["rows"], seconds(r) or 0.0) for r in of if "seconds" in r]
    if len(done) < 2:
        return None
    (few, short), (many, long) = done[0], done[-1]
    return math.log(long / short) / math.log(many / few)


def row(record: Record, ours: float | None, growth: float | None) -> str:
    """A line of a table."""
    taken = seconds(record)
    shown = str(record["reason"]) if taken is None else f"{taken:.2f}"
    ratio = "" if taken is None or not ours else f"{taken / ours:.2f}"
    grown = "" if growth is None else f"{growth:.2f}"
    size = "" if record.get("peak") is None else f"{record['peak']:,}"
    name = NAMES[record["contestant"]]
    return f"| {record['rows']:,} | {name} | {shown} | {ratio} | {grown} | {size} |"


def tables(records: list[Record]) -> str:
    """A table in Markdown for each shape; the slope is in the line of the last size."""
    text = []
    for shape in [s for s in SHAPES if any(r["shape"] == s for r in records)]:
        text += [f"\n### {SHAPES[shape].title}\n", HEAD]
        ours = {r["rows"]: seconds(r) for r in line_of(records, shape, "ours")}
        lines = {c: line_of(records, shape, c) for c in NAMES}
        for rows in sorted({r["rows"] for of in lines.values() for r in of}):
            for of in lines.values():
                last = max((r["rows"] for r in of if "seconds" in r), default=0)
                growth = slope(of) if last == rows else None
                text += [row(r, ours.get(rows), growth) for r in of if r["rows"] == rows]
    return "\n".join(text)


def panel(axes: Any, records: list[Record], shape: str) -> None:
    """A shape: a line for each contestant; a hollow mark where it was not done."""
    for contestant, marker in zip(NAMES, MARKERS, strict=True):
        of = line_of(records, shape, contestant)
        color = COLORS[contestant]
        done = [(r["rows"], seconds(r)) for r in of if "seconds" in r]
        if done:
            axes.plot(*zip(*done, strict=True), marker=marker, ms=4, lw=1.2, color=color)
        for record in of:
            if "reason" not in record:
                continue
            late = record["reason"].startswith("not done")
            # Where others end at one place, the marks stand beside each other.
            at = record["rows"] * 1.08 ** (list(NAMES).index(contestant) - 3)
            axes.plot(at, record["limit"], marker="^" if late else "x", color=color, mfc="none")
            if done:
                last = done[-1]
                axes.plot([last[0], at], [last[1], record["limit"]], ls=":", lw=0.9, color=color)
    axes.set_title(SHAPES[shape].title, fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(linewidth=0.3)
    axes.tick_params(labelsize=8, labelbottom=True, labelleft=True)
    axes.tick_params(which="minor", label1On=False)


def chart(records: list[Record], path: Path) -> None:
    """Draws seconds over rows on logarithmic axes, a panel for each shape."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shapes = [s for s in SHAPES if any(r["shape"] == s for r in records)]
    width = min(4, len(shapes) + 1)
    height = -(-(len(shapes) + 1) // width)
    figure, grid = pyplot.subplots(
        height,
        width,
        figsize=(3 * width, 2.7 * height),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    panels = list(grid.flat)
    for axes, shape in zip(panels, shapes, strict=False):
        panel(axes, records, shape)
    for axes in panels[len(shapes) :]:
        axes.set_axis_off()
    legend = panels[len(shapes)]
    for (contestant, name), marker in zip(NAMES.items(), MARKERS, strict=True):
        if any(r["contestant"] == contestant for r in records):
            legend.plot([], [], marker=marker, ms=4, color=COLORS[contestant], label=name)
    legend.plot([], [], "^", color="grey", mfc="none", label="not done in time")
    legend.plot([], [], "x", color="grey", label="ended: memory, or an error")
    legend.legend(loc="center", frameon=False, fontsize=9)
    figure.supxlabel("rows a side", fontsize=9)
    figure.supylabel("seconds", fontsize=9)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
