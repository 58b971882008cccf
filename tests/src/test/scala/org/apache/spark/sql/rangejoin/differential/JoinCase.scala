// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.types.StructType

/**
 * A table of a case, by its Catalyst rows.
 *
 * @param isKnownSmall whether Spark knows that there are not many rows
 */
case class CaseTable(
    name: String,
    schema: StructType,
    rows: Seq[InternalRow],
    isKnownSmall: Boolean = false
) {

  def frame(spark: SparkSession): DataFrame = {
    // Not local rows: the optimizer would see that a side is empty, and there would be no join.
    val table = spark.internalCreateDataFrame(spark.sparkContext.parallelize(rows, 2), schema)
    if (isKnownSmall) table.limit(CaseTable.Limit) else table
  }

  /** The table as SQL, to be pasted into a shell. */
  def sql: String = {
    val names = schema.fieldNames.mkString(", ")
    // VALUES needs a row to know the types.
    val shown = if (rows.isEmpty) Seq(new NullRow(schema.size)) else rows
    val values = shown.map(row => "  " + SqlLiteral.ofRow(row, schema)).mkString(",\n")
    val none = (if (rows.isEmpty) "\nWHERE false" else "") +
      (if (isKnownSmall) s"\nLIMIT ${CaseTable.Limit}" else "")
    s"CREATE OR REPLACE TEMPORARY VIEW $name AS SELECT * FROM VALUES\n$values\nAS t($names)$none"
  }
}

private object CaseTable {

  /** More rows than any table has. */
  private val Limit = 1000
}

/**
 * The query of a case, about the tables `l` and `r`.
 *
 * @param above whether it is more than the join of the two: operators above it, or limits below
 */
case class CaseQuery(sql: String, form: JoinForm, asked: Asked, above: Boolean, plainJoin: String)

/**
 * One case of the fuzzer: two tables, a query that joins them, and settings.
 *
 * @param seed the number it was drawn from
 * @param rangeType the types of the range columns, as the report counts them
 * @param settings of the session, for stock Spark and the range join alike
 * @param engines the engines to run the range join with
 */
case class JoinCase(
    seed: Long,
    shape: Shape,
    rangeType: String,
    query: CaseQuery,
    left: CaseTable,
    right: CaseTable,
    settings: Seq[(String, String)],
    engines: Seq[Seq[(String, String)]]
) {
  def form: JoinForm = query.form

  /** Whether Spark is to broadcast the side that the join preserves. */
  def isPreserved: Boolean = left.isKnownSmall || right.isKnownSmall

  /** Whether the matches of a row are ranked. */
  def isRanked: Boolean = query.sql.contains(" AS n FROM ") || query.sql.contains(" AS m FROM ")

  /** Whether the matches of rows are aggregated. */
  def isAggregated: Boolean = query.sql.contains(" AS c0") || query.asked == Asked.AsValue

  /** All it takes to see the case again. */
  def reproduction: String = {
    val functions =
      if (query.sql.contains("fuzz_")) "-- the functions fuzz_* are those of CaseFunctions\n"
      else ""
    s"""make fuzz CASES=1 SEED=$seed
       |
       |${settings.map { case (key, value) => s"SET $key=$value;" }.mkString("\n")}
       |$functions${left.sql};
       |${right.sql};
       |${query.sql};""".stripMargin
  }
}

/** Functions of the user that random joins call. */
object CaseFunctions {
  def register(spark: SparkSession): Unit = {
    spark.udf.register("fuzz_odd", (a: Int, b: Int) => (a + b) % 2 != 0)
    spark.udf.register(
      "fuzz_near",
      (a: String, b: String) => a != null && b != null && (a.length - b.length).abs < 2)
    spark.udf.register(
      "fuzz_fussy",
      (a: Int) => if (a == 13) throw new IllegalArgumentException("thirteen") else a)
    spark.conf.set("spark.sql.timeType.enabled", "true")
  }
}
