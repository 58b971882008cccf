// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import scala.util.Try

import org.apache.spark.sql.execution.SimpleMode
import org.apache.spark.sql.internal.SQLConf

/** The table of docs/compatibility.md says what the Spark of this line can do, each row by trying it. */
class LineAbilitiesSuite extends RangeJoinTest {

  private val attempts: Seq[(String, () => Boolean)] = Seq(
    "ranges of TIME" -> (() => ranges("cast(concat('0', k, ':00') AS TIME(6))", "k")),
    "ranges and keys of collated" -> (() => ranges(collated, collated)),
    "windows that spill by bytes" -> (() => spillsByBytes),
    "EXPLAIN and the SQL tab" -> (() => explained(classOf[RangeJoinExplainGenerator], "1. ")),
    "`rangejoin.explain` on a Spark" -> (() => explained(classOf[RangeJoinReportGenerator], "[{"))
  )

  private def collated = "cast(id AS STRING) COLLATE UTF8_LCASE"

  /** A join with a range of one type, and a key of another. */
  private def join(value: String, key: String): String = {
    val rows = s"(SELECT $key AS k, $value AS t FROM (SELECT id, id % 4 AS k FROM range(400)))"
    s"SELECT 1 FROM $rows l JOIN $rows r ON l.k = r.k AND r.t >= l.t"
  }

  private def ranges(value: String, key: String): Boolean =
    withConf("spark.sql.timeType.enabled" -> "true") {
      Try(spark.sql(join(value, key))).toOption.exists { df =>
        assertPlanned(df, 1, Nil)
        df.count() > 0
      }
    }

  // That it spills, where it may, is tested by SpillSuite.
  private def spillsByBytes: Boolean =
    SQLConf.containsConfigKey("spark.sql.sortMergeJoinExec.buffer.spill.size.threshold")

  private def explained(generator: Class[_], line: String): Boolean =
    withConf("spark.sql.extendedExplainProviders" -> generator.getName) {
      val text = execution(spark.sql(join("id", "k"))).explainString(SimpleMode)
      text.linesIterator.dropWhile(!_.contains("(Range joins")).drop(1).exists(_.startsWith(line))
    }

  for ((row, attempt) <- attempts) test(s"$row ...: as docs/compatibility.md says") {
    assert(attempt() == LineAbilities.can(row))
  }

  test("there is an attempt for every row of docs/compatibility.md, and no other") {
    val rows = LineAbilities.all.keys
    for (row <- rows) assert(attempts.count(a => row.startsWith(a._1)) == 1, row)
    assert(attempts.size == rows.size)
  }
}
