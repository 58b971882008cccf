"""What the Spark that tests run with can do, and others cannot (docs/compatibility.md)."""

from __future__ import annotations

import pyspark
import pytest

from rangejoin.packaged import line_of

LINE = line_of(pyspark.__version__) or "none"

EXPLAINS = LINE != "3.5"
"""Whether an extension may add to EXPLAIN."""

explains = pytest.mark.skipif(not EXPLAINS, reason="nothing can add to EXPLAIN in Spark 3.5")
