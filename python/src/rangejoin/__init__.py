"""Range joins for Spark, from PySpark.

>>> import rangejoin
>>> spark = rangejoin.configure(SparkSession.builder).getOrCreate()
>>> rangejoin.check(spark)
"""

from rangejoin.asof import join_asof
from rangejoin.errors import RangeJoinError
from rangejoin.explained import Explanation, JoinExplanation, PairEstimate, explain
from rangejoin.featured import Latest, Windows, features
from rangejoin.health import check
from rangejoin.layout import PreparedTable
from rangejoin.measured import metrics
from rangejoin.names import ENABLED_CONF, EXTENSION_CLASS
from rangejoin.packaged import jar_path
from rangejoin.prepared import prepare
from rangejoin.reported import report
from rangejoin.session import configure

__all__ = [
    "ENABLED_CONF",
    "EXTENSION_CLASS",
    "Explanation",
    "JoinExplanation",
    "Latest",
    "PairEstimate",
    "PreparedTable",
    "RangeJoinError",
    "Windows",
    "check",
    "configure",
    "explain",
    "features",
    "jar_path",
    "join_asof",
    "metrics",
    "prepare",
    "report",
]
