"""Names shared with the JVM side and with Spark."""

EXTENSION_CLASS = "org.apache.spark.sql.rangejoin.RangeJoinExtensions"
"""What belongs in `spark.sql.extensions`."""

COMET_EXTENSION_CLASS = "org.apache.comet.CometSparkSessionExtensions"
"""Replaces joins by its own as soon as its turn comes: ours has to come before it."""

EXPLAIN_CLASS = "org.apache.spark.sql.rangejoin.RangeJoinExplainGenerator"
"""What belongs in `spark.sql.extendedExplainProviders`: why a join is a range join, or is none."""

METRICS_CLASS = "org.apache.spark.sql.rangejoin.RangeJoinMetrics"
"""Reads the metrics of the range joins of a query."""

REPORTS_CLASS = "org.apache.spark.sql.rangejoin.explain.JoinReports"
"""Says all there is to say of the joins of a query."""

REPORT_GENERATOR_CLASS = "org.apache.spark.sql.rangejoin.RangeJoinReportGenerator"
"""Adds the same to EXPLAIN, for programs."""

SAMPLE_GENERATOR_CLASS = "org.apache.spark.sql.rangejoin.RangeJoinSampleGenerator"
"""Likewise, with an estimate of the pairs of each join."""

LINKS_CLASS = "org.apache.spark.sql.rangejoin.guard.Links"
"""Finds what the extension links to and this Spark has not; not in every jar."""

GUARD_CLASS = "org.apache.spark.sql.rangejoin.guard.Guard"
"""Knows what of the extension is switched off in a session; not in every jar."""

ENABLED_CONF = "spark.sql.join.smj.useInnerRangeOptimization"
"""The switch: `true` (default once the extension is loaded) or `false` for stock plans."""

PLAN_NODE = "SortMergeRangeJoin"
BROADCAST_NODE = "BroadcastRangeJoin"
"""How the operators print in EXPLAIN, where both sides are sorted and where one is broadcast."""

SPARK_LINES = ("3.5", "4.0", "4.1", "4.2", "4.3")
"""The lines of Spark that there are range joins for, oldest first; elsewhere they step aside."""

JAR_LINES: dict[str, str] = {}
"""The line whose jar a line runs, where it has none of its own."""

SWITCHED_OFF = "is switched off in this session"
"""Words of the advice on a join, where a part of the extension has failed on this Spark."""

EXTENSIONS_CONF = "spark.sql.extensions"
EXPLAIN_CONF = "spark.sql.extendedExplainProviders"
JARS_CONF = "spark.jars"

SERVER_REMEDY = (
    'start the server with `--jars "$(rangejoin jar --spark VERSION)" '
    f"--conf {EXTENSIONS_CONF}={EXTENSION_CLASS}`, where VERSION is that of the server; clients "
    "need no configuration"
)
"""What to do where a Spark Connect server lacks the extension."""
