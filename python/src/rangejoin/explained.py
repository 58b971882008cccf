"""What there is to say of the joins of a query: `rangejoin.explain`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rangejoin.names import REPORTS_CLASS
from rangejoin.rendered import as_html, as_text
from rangejoin.served import server_reports
from rangejoin.session import loaded_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class PairEstimate:
    """How many pairs a join has, estimated from samples of both sides.

    Sides of up to 2,000 rows are taken whole, and the numbers are exact. Of larger ones about
    2,000 rows are taken; the fewer `sampled_pairs` there are, the rougher the estimate.
    """

    left_rows: int
    """Rows of the left side, counted."""
    right_rows: int
    """Rows of the right side, counted."""
    key_pairs: int
    """Pairs with equal keys, all of which stock Spark compares; all pairs where there is no key."""
    range_pairs: int | None
    """Those of them within the range; None where there is no range."""
    matches: int
    """Those of them that the whole condition takes."""
    sampled_pairs: int
    """Pairs with equal keys that were looked at."""
    skewed_key: str | None = None
    """The skewed key: the one that a tenth of the pairs or more have, and at least four times as
    many as other keys on average; its columns as text, separated by commas. None where no key is
    skewed like that."""
    skewed_key_pairs: int | None = None
    """The pairs with that key."""


@dataclass(frozen=True)
class JoinExplanation:
    """One join of a plan. Figures are None before the query has run."""

    operator: str
    """The name of the node in EXPLAIN, such as `SortMergeRangeJoin`."""
    join_type: str
    """The type as SQL has it, such as `LEFT OUTER`."""
    keys: tuple[str, ...]
    """Equal keys, such as `l.k = r.k`."""
    range: str | None
    """What became the range; None for a join of stock Spark."""
    residual: str | None
    """What else is asked of a pair in range; of a stock join the condition beside the keys."""
    one_sided: bool
    """Whether the range has one end."""
    streamed: str | None
    """`left` or `right`, the side that is read row by row; None for a stock join."""
    buffered: str | None
    """The other side, whose rows go through the window, are broadcast or are indexed."""
    reason: str | None
    """Why it is a join of stock Spark; None for a range join."""
    remedy: str | None
    """What would change that, if anything does."""
    within: str | None
    """`cached data` or `a command` where the join is in that and not in the plan itself."""
    advice: tuple[str, ...]
    """What the form of the join, or its figures, suggest to change."""
    left_rows: int | None = None
    """Rows that came in from the left; None as well where the plan does not count them."""
    right_rows: int | None = None
    """Likewise from the right."""
    output_rows: int | None = None
    """Rows of the result."""
    candidates: int | None = None
    """Pairs that the range has let through, and the residual was asked of."""
    peak_window_rows: int | None = None
    """Rows of the window at its peak, summed over tasks; of a sort-merge or shuffled range join."""
    peak_memory: int | None = None
    """Peak memory in bytes, the sum over tasks: of the window, and in a shuffled range join of the
    indexes as well."""
    spilled_rows: int | None = None
    """Rows that did not fit into memory; of a sort-merge or shuffled range join."""
    spill_size: int | None = None
    """Bytes that were written for them."""
    index_rows: int | None = None
    """Rows of the index; of a broadcast range join."""
    index_size: int | None = None
    """Bytes of the index; of a broadcast range join."""
    best: str | None = None
    """Which matches of a streamed row are wanted, such as `row_number <= 1 by b.t DESC`; None for
    all of them."""
    aggregated: str | None = None
    """The aggregates that the join makes of the matches of each streamed row, such as
    `count(1), sum(b.x)`; None for a join that gives its pairs."""
    aggregated_matches: int | None = None
    """How many matches it has aggregated."""
    owner: str | None = None
    """`left` or `right` where the join is range-partitioned by buckets: the side each row of which
    is in one bucket, while rows of the other are copied."""
    buckets: int | None = None
    """The number of buckets."""
    copies: int | None = None
    """Rows of the other side that are in another bucket as well, once for each."""
    largest_bucket: int | None = None
    """Rows of the largest bucket, of both sides; estimated."""
    sampling_ms: int | None = None
    """Milliseconds to choose the buckets."""
    sample: PairEstimate | None = None
    """With `sample=True`, how many pairs there are; None where the inputs cannot be read again."""

    @property
    def is_range_join(self) -> bool:
        """Whether the range is used."""
        return self.reason is None

    @property
    def candidates_per_row(self) -> float | None:
        """Candidates for each row of the result; the range does its work where it is near 1."""
        if self.candidates is None or not self.output_rows:
            return None
        return self.candidates / self.output_rows


@dataclass(frozen=True)
class Explanation:
    """The joins of a query, from the top of its plan; prints as text, and as HTML in a notebook."""

    joins: tuple[JoinExplanation, ...]

    def __iter__(self) -> Iterator[JoinExplanation]:
        """The joins, from the top of the plan."""
        return iter(self.joins)

    def __len__(self) -> int:
        """The number of joins."""
        return len(self.joins)

    def __getitem__(self, index: int) -> JoinExplanation:
        """One of the joins."""
        return self.joins[index]

    def __str__(self) -> str:
        """A paragraph for each join."""
        return as_text(self.joins)

    def __repr__(self) -> str:
        """The same, so that a notebook and a shell show it."""
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self.joins)


def explain(df: DataFrame, sample: bool = False) -> Explanation:
    """Says of each join of `df` what it is, and why it is no range join where it is none.

    The query is planned and not run. After an action on this very DataFrame that runs its own
    plan, such as `df.collect()` or `df.toPandas()`, the plan is the final one of adaptive
    execution and there are figures, and advice from them.

    On a Spark Connect client the server plans the query anew, so that the joins are those of the
    first plan; figures are there if they are of the same joins, and advice from them is not.

    Args:
        df: a DataFrame of a classic or a Spark Connect session.
        sample: whether to estimate the pairs of each join with and without its range. The inputs
            of the joins are run for it, each twice, and the joins on about 2,000 rows of each side.

    Returns:
        One entry for each join, subqueries, cached data and commands included. Empty where the plan
        has no join, or adaptive execution has found that it needs none.

    Raises:
        RangeJoinError: the jar of the range join is not on the class path of the driver, or of the
            server.
    """
    jdf: Any = vars(df).get("_jdf")
    if jdf is None:
        return Explanation(tuple(_join(report) for report in server_reports(df, sample)))
    jvm: Any = vars(df.sparkSession)["_jvm"]
    reports = loaded_class(jvm, REPORTS_CLASS)
    query = jdf.queryExecution()
    found = reports.jsonWithEstimates(query) if sample else reports.json(query)
    return Explanation(tuple(_join(report) for report in json.loads(found)))


def _join(report: dict[str, Any]) -> JoinExplanation:
    metrics: dict[str, int] = report["metrics"]
    left, right = report.get("leftRows"), report.get("rightRows")
    has_run: bool = report["hasRun"]

    def figure(name: str) -> int | None:
        return metrics.get(name) if has_run else None

    return JoinExplanation(
        operator=report["operator"],
        join_type=report["joinType"],
        keys=tuple(report["keys"]),
        range=report.get("range"),
        residual=report.get("residual"),
        one_sided=report["oneSided"],
        streamed=report.get("streamed"),
        buffered=report.get("buffered"),
        reason=report.get("reason"),
        remedy=report.get("remedy"),
        within=report.get("within"),
        advice=tuple(report["advice"]),
        left_rows=left if has_run else None,
        right_rows=right if has_run else None,
        output_rows=figure("numOutputRows"),
        candidates=figure("numCandidates"),
        peak_window_rows=figure("peakWindowRows"),
        peak_memory=figure("peakMemory"),
        spilled_rows=figure("spilledRows"),
        spill_size=figure("spillSize"),
        index_rows=figure("indexRows"),
        index_size=figure("indexSize"),
        best=report.get("best"),
        aggregated=report.get("aggregated"),
        aggregated_matches=figure("numMatches"),
        owner=report.get("owner"),
        buckets=figure("numBuckets"),
        copies=figure("numCopies"),
        largest_bucket=figure("largestBucket"),
        sampling_ms=figure("samplingTime"),
        sample=_estimate(report.get("sample")),
    )


def _estimate(sample: dict[str, Any] | None) -> PairEstimate | None:
    if sample is None:
        return None
    return PairEstimate(
        left_rows=sample["leftRows"],
        right_rows=sample["rightRows"],
        key_pairs=sample["keyPairs"],
        range_pairs=sample.get("rangePairs"),
        matches=sample["matches"],
        sampled_pairs=sample["sampledPairs"],
        skewed_key=sample.get("skewedKey"),
        skewed_key_pairs=sample.get("skewedKeyPairs"),
    )
