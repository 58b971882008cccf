"""Explanations of joins as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rangejoin.explained import JoinExplanation, PairEstimate

MAX_LENGTH = 300
"""Parts of a condition are cut at this length; the fields of an explanation have all of it."""

_NONE = "The plan has no joins."


def as_text(joins: Sequence[JoinExplanation]) -> str:
    """A paragraph for each join."""
    paragraphs = []
    for number, join in enumerate(joins, 1):
        rows = [f"   {label:<14} {value}" for label, value in lines(join)]
        paragraphs.append("\n".join([f"{number}. {title(join)}", *rows]))
    return "\n\n".join(paragraphs) or _NONE


def as_html(joins: Sequence[JoinExplanation]) -> str:
    """A table for each join, with everything from the query escaped."""
    tables = []
    for number, join in enumerate(joins, 1):
        rows = "".join(
            f'<tr><td style="text-align:left">{label}</td>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for label, value in lines(join)
        )
        tables.append(
            f"<p><b>{number}. {html.escape(title(join))}</b></p>"
            f"<table><tbody>{rows}</tbody></table>"
        )
    return "".join(tables) or f"<p>{_NONE}</p>"


def title(join: JoinExplanation) -> str:
    """The operator, and where it is."""
    place = f" (in {join.within})" if join.within else ""
    return f"{join.operator}, {join.join_type}{place}"


def lines(join: JoinExplanation) -> Iterator[tuple[str, str]]:
    """What there is to say, each with its label."""
    if join.keys:
        yield "keys", cut(", ".join(join.keys))
    if join.range is not None:
        yield "range", cut(join.range)
    if join.residual is not None:
        yield ("residual" if join.is_range_join else "condition"), cut(join.residual)
    if join.streamed is not None:
        other = "broadcast" if join.operator.startswith("Broadcast") else "buffered"
        yield "sides", f"{join.streamed} is streamed, {join.buffered} is {other}"
    if join.best is not None:
        yield "matches", cut(join.best)
    if join.aggregated is not None:
        yield "aggregated in the join", cut(join.aggregated)
    if join.owner is not None:
        yield "buckets", f"{buckets(join)}owner: {join.owner}"
    if join.reason is not None:
        yield "no range join", cut(join.reason)
    if join.remedy is not None:
        yield "to change that", join.remedy
    yield from figures(join)
    if join.sample is not None:
        yield "sample", estimate(join.sample)
    for advice in join.advice:
        yield "advice", cut(advice)


def figures(join: JoinExplanation) -> Iterator[tuple[str, str]]:
    """What was measured, if the query has run."""
    sides = (("left", join.left_rows), ("right", join.right_rows))
    rows = [f"{count:,} {side}" for side, count in sides if count is not None]
    if rows:
        yield "rows in", ", ".join(rows)
    if join.candidates is not None:
        ratio = join.candidates_per_row
        each = "" if ratio is None else f" ({ratio:.1f} a row of the result)"
        yield "candidates", f"{join.candidates:,}{each}"
    if join.aggregated_matches is not None:
        yield "matches aggregated", f"{join.aggregated_matches:,}"
    if join.output_rows is not None:
        yield "rows out", f"{join.output_rows:,}"
    if join.peak_window_rows is not None:
        yield "window", f"{join.peak_window_rows:,} rows at its peak, {size(join.peak_memory or 0)}"
    if join.index_rows is not None:
        yield "index", f"{join.index_rows:,} rows, {size(join.index_size or 0)}"
    if join.spilled_rows:
        yield "spilled", f"{join.spilled_rows:,} rows, {size(join.spill_size or 0)}"


def buckets(join: JoinExplanation) -> str:
    """What is known of the buckets of the range, if the query has run."""
    if join.buckets is None:
        return ""
    chosen = f"chosen in {join.sampling_ms or 0:,} ms"
    copied = f"{join.copies or 0:,} rows copied"
    return f"{join.buckets:,} ({chosen}), {copied}, largest {join.largest_bucket or 0:,} rows, "


def estimate(sample: PairEstimate) -> str:
    """The pairs with and without the range."""
    of = f"{sample.left_rows:,} x {sample.right_rows:,} rows: about {sample.key_pairs:,} pairs"
    keys = " of equal keys" if sample.key_pairs != sample.left_rows * sample.right_rows else ""
    if sample.skewed_key is not None and sample.skewed_key_pairs is not None:
        share = sample.skewed_key_pairs / sample.key_pairs
        keys += f" ({share:.0%} of them of the key {cut(sample.skewed_key)})"
    in_range = "" if sample.range_pairs is None else f", {sample.range_pairs:,} in range"
    return f"{of}{keys}{in_range}, {sample.matches:,} match"


def cut(text: str) -> str:
    """At most so much of it that a page can be read."""
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + "…"


def size(count: int) -> str:
    """Bytes in a unit that gives a short number."""
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
