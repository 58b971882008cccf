"""How much of the demo is run: three minutes of it, or all."""

from __future__ import annotations

from dataclasses import dataclass

WEEK, JANUARY, YEAR = "a week", "January", "the year"


@dataclass(frozen=True)
class Extent:
    """What is joined, and how often.

    Attributes:
        hours: half widths of the band, in hours; a row of the table each.
        runs: how often each join runs; once where a first run takes over a minute.
        limit: seconds after which a join of stock Spark is stopped; None lets it finish.
        times: of which flights the join without a key is.
    """

    hours: tuple[int, ...]
    runs: int
    limit: float | None
    times: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is run and how long it may take, as a line of prose."""
        bands = ", ".join(f"±{value} h" for value in self.hours)
        runs = "one run" if self.runs == 1 else f"{self.runs} runs"
        stock = "run to their end" if self.limit is None else f"are stopped after {self.limit:g} s"
        line = f"Band of {bands}, {runs} of each join; joins of stock Spark {stock}"
        takes = {SHORT: "less than three minutes", FULL: "some nine minutes"}.get(self)
        return f"{line}: {takes} on two cores." if takes else f"{line}."


SHORT = Extent(hours=(3,), runs=1, limit=30.0, times=(WEEK,))
"""Less than three minutes on two cores, of which stock Spark takes two at most."""

FULL = Extent(hours=(1, 3, 24), runs=3, limit=None, times=(JANUARY, YEAR))
"""Some nine minutes on two cores, nearly all of them stock Spark's."""
