"""What the demo leaves behind: a table, a JSON file and a chart."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rangejoin.demo import airborne, latest
from rangejoin.demo.contest import CONTESTANTS, RIVALS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rangejoin.demo.airborne import Airborne
    from rangejoin.demo.contest import Band, Timing
    from rangejoin.demo.latest import Latest

_COLORS = ("#9aa5b1", "#5b6b7c", "#d9622b", "#a8441a")


def machine(spark: SparkSession) -> dict[str, str]:
    """Describes where the times were taken."""
    jvm: Any = spark._jvm
    return {
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "spark": spark.version,
        "python": platform.python_version(),
        "java": str(jvm.java.lang.System.getProperty("java.version")),
    }


def machine_line(facts: dict[str, str]) -> str:
    """Returns the facts of `machine` as one line of prose."""
    return (
        f"{facts['cores']} cores, {facts['system']}, Spark {facts['spark']}, "
        f"Python {facts['python']}, Java {facts['java']}"
    )


def table(bands: Sequence[Band]) -> str:
    """Returns the results as an aligned Markdown table: seconds are medians."""
    operators = {name: timing.operator for name, timing in bands[0].timings.items()}
    header = ["band", "rows"]
    header += [f"{name} ({operator})" for name, operator in operators.items()]
    header += [f"{stock.name} / {ours.name}" for stock, ours in RIVALS]
    lines = [
        [f"±{band.hours} h", f"{band.rows:,}"]
        + [_seconds(timing) for timing in band.timings.values()]
        + [band.ratio(stock, ours) for stock, ours in RIVALS]
        for band in bands
    ]
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(len(header))]
    rule = ["-" * (width - 1) + ":" for width in widths]
    return "\n".join(_row(line, widths) for line in [header, rule, *lines])


def _seconds(timing: Timing) -> str:
    runs = len(timing.seconds)
    how = "stopped" if timing.stopped else f"{runs} run{'s' if runs > 1 else ''}"
    return f"{timing.shown} ({how})"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(aligned)} |"


@dataclass(frozen=True)
class Measured:
    """What was measured: bands, at least one; by time the parts without a key and of one row each.

    `candidates` is how many pairs of rows agree in the key of the bands.
    """

    bands: Sequence[Band]
    candidates: int
    airborne: dict[str, Airborne]
    latest: dict[str, Latest]


def write_results(folder: Path, measured: Measured, facts: dict[str, str], command: str) -> None:
    """Writes `results.md` and `results.json` into `folder`.

    Args:
        folder: an existing folder.
        measured: the times.
        facts: those of `machine`.
        command: what was run, as one would type it.
    """
    lines = [
        f"`{command}`, {machine_line(facts)}.",
        f"Seconds are medians; {measured.candidates:,} pairs of rows agree in the key alone.",
        "",
        table(measured.bands),
        "",
        "Without a key, flights that took off while another was in the air:",
        "",
        airborne.table(measured.airborne),
        "",
        "One row each, the last weather report before each flight:",
        "",
        latest.table(measured.latest),
        "",
    ]
    (folder / "results.md").write_text("\n".join(lines), encoding="utf-8")
    content = {
        "command": command,
        "machine": facts,
        "candidate_pairs": measured.candidates,
        "bands": [_as_json(band) for band in measured.bands],
        "airborne": {
            time: {
                "flights": part.flights,
                "pairs": part.pairs,
                "contestants": _timings_as_json(part.timings),
            }
            for time, part in measured.airborne.items()
        },
        "latest": {
            time: {"flights": part.flights, "contestants": _timings_as_json(part.timings)}
            for time, part in measured.latest.items()
        },
    }
    (folder / "results.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _as_json(band: Band) -> dict[str, Any]:
    return {
        "hours": band.hours,
        "rows": band.rows,
        "contestants": _timings_as_json(band.timings),
    }


def _timings_as_json(timings: dict[str, Timing]) -> dict[str, Any]:
    return {
        name: {
            "operator": timing.operator,
            "stopped": timing.stopped,
            "seconds": [round(value, 4) for value in timing.seconds],
            "median_seconds": round(timing.median, 4),
        }
        for name, timing in timings.items()
    }


def _labels(bands: Sequence[Band], name: str) -> list[str]:
    timings = [band.timings[name] for band in bands]
    return [f"↑\n{t.shown}" if t.stopped else f"{t.median:.3g} s" for t in timings]


def write_chart(path: Path, bands: Sequence[Band], caption: str) -> None:
    """Draws the medians as grouped bars over a logarithmic axis, into a PNG file.

    A bar with an arrow is of a join that was stopped there: it takes longer than that.

    Args:
        path: where the picture goes.
        bands: what was measured, at least one; a group of bars each.
        caption: a line below the chart, as that of `machine_line`.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(4.4 + 2.6 * len(bands), 5), layout="constrained")
    width = 0.8 / len(CONTESTANTS)
    for index, contestant in enumerate(CONTESTANTS):
        medians = [band.timings[contestant.name].median for band in bands]
        operator = bands[0].timings[contestant.name].operator
        place = index - (len(CONTESTANTS) - 1) / 2
        offsets = [group + place * width for group in range(len(bands))]
        bars = axes.bar(
            offsets,
            medians,
            width * 0.94,
            color=_COLORS[index],
            label=f"{contestant.name} ({operator})",
        )
        weight = "bold" if contestant.node else "normal"
        axes.bar_label(bars, _labels(bands, contestant.name), padding=3, weight=weight)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.margins(y=0.25)
    axes.set_ylabel("seconds, median (log scale)")
    axes.set_xticks(range(len(bands)), [f"±{b.hours} h\n{b.rows:,} rows" for b in bands])
    axes.set_title("Each flight with the weather at its origin, within a band of hours", pad=48)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize="small"
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(caption, fontsize="x-small", color="#555555")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
