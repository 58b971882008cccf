// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.rangejoin.{PlanForm, RangeJoinTest, Repository}

/**
 * What is taken: every range type in every kind of range, and every shape of range, each for every
 * join type. The tables of docs/reference.md are what this suite finds, and the rows are those of stock.
 *
 * Spark takes apart a correlated EXISTS that subtracts one side from the other before it plans a
 * join, mostly; hence differences are looked at as joins.
 */
class CoverageSuite extends RangeJoinTest {
  import CoverageSuite._
  import PlanForm._

  override protected def hasOneEngine: Boolean = true

  // Spark has the type TIME behind a setting.
  private val TimeType = "spark.sql.timeType.enabled"

  private def withTables[T](range: RangeType)(block: => T): T = withConf(TimeType -> "true") {
    val values = range.values.zipWithIndex.map { case (v, i) => s"(${i % 3}, $v, $i)" }
    val rows =
      s"SELECT k, cast(y AS ${range.sql}) AS y, v FROM VALUES ${values.mkString(", ")} AS t(k, y, v)"
    for (name <- Seq("l", "r")) {
      // Not foldable, so that neither side is seen to be one row or none.
      spark.sql(s"SELECT k, y, y AS z, v FROM ($rows) WHERE v >= 0 AND rand() >= 0")
        .createOrReplaceTempView(name)
    }
    block
  }

  private def query(condition: String, joinType: JoinForm): String =
    joinType.sql(s"l.k = r.k AND $condition")

  private def isPlanned(condition: String, joinType: JoinForm): Boolean =
    plannedJoins(spark.sql(query(condition, joinType))) == 1

  private def cell(conditions: Seq[String], joinTypes: Seq[JoinForm] = JoinForm.all): String =
    if (conditions.isEmpty) "–"
    else {
      // The table of shapes has each of them with every join type.
      val planned = for {
        (c, i) <- conditions.zipWithIndex
        (joinType, j) <- joinTypes.zipWithIndex
        if (i + j) % 3 == 0 || RangeJoinTest.EveryEngine
      } yield isPlanned(c, joinType)
      if (planned.forall(identity)) "yes" else if (planned.exists(identity)) "some" else "no"
    }

  private def byType: Seq[String] = {
    val header = Seq(
      "| range columns | interval, overlap, one direction | band | difference |",
      "|---|---|---|---|")
    header ++ RangeType.all.map { t =>
      withTables(t) {
        s"| ${t.name} | ${cell(Shape.comparisons.map(_.condition))} | " +
          s"${cell(t.bands)} | ${cell(t.differences, JoinForm.joins)} |"
      }
    }
  }

  private def byShape: Seq[String] = {
    val header = Seq(
      s"| shape | example | ${JoinForm.all.map(_.name).mkString(" | ")} |",
      s"|---|---|${"---|" * JoinForm.all.size}")
    header ++ withTables(RangeType.all.head) {
      Shape.all.map { shape =>
        val cells = JoinForm.all.map(j => if (isPlanned(shape.condition, j)) "yes" else "no")
        s"| ${shape.name} | `${shape.condition}` | ${cells.mkString(" | ")} |"
      }
    }
  }

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, Shuffled)

  override protected def hasFormsInTurn: Boolean = true

  /** Whether a case is run: there are many, and bounds are evaluated in one way. */
  private def takes(test: String): Boolean = form != Shuffled || test.hashCode % 3 == 0

  for {
    (name, table, some) <- Seq(
      ("types", () => byType, Seq(Merged, Broadcast)),
      ("shapes", () => byShape, forms))
  } {
    testIn(some)(s"docs/reference.md has the table of $name", slowIf(name == "types"): _*) {
      val found = table()
      val reference = Repository.lines("docs/reference.md")
        .filter(row => !row.startsWith("|") || TypesOfLine.knows(row.split('|')(1)))
      assert(reference.containsSlice(found), found.mkString("it should be\n", "\n", "\n"))
    }
  }

  // The join types and the engines in turn, so that every one meets many types.
  for ((range, i) <- RangeType.all.zipWithIndex) {
    test(
      s"ranges of ${range.name} give stock's rows",
      slowButOneIn(5)(range.name): _*) {
      val conditions = Shape.comparisons.map(_.condition) ++ range.bands ++ range.differences
      withTables(range) {
        for {
          (condition, j) <- conditions.zipWithIndex
          joinType = JoinForm.all((i + j) % JoinForm.all.size)
          if takes(s"${joinType.name} ${range.name} $condition")
          if isPlanned(condition, joinType)
        } checkAgainstStock(
          spark.sql(query(condition, joinType)),
          engines = oneOf(s"${range.name} $condition ${joinType.name}"))
      }
    }
  }
}

private object CoverageSuite {

  /** A join type, and a query that Spark plans as one. */
  case class JoinForm(name: String, sql: String => String)

  object JoinForm {
    private def pairs(words: String)(on: String) =
      s"SELECT l.v, l.y, r.v, r.y FROM l $words JOIN r ON $on"
    private def streamed(words: String)(on: String) = s"SELECT l.v, l.y FROM l $words JOIN r ON $on"

    val joins: Seq[JoinForm] = Seq(
      JoinForm("INNER", pairs("INNER")),
      JoinForm("LEFT", pairs("LEFT")),
      JoinForm("RIGHT", pairs("RIGHT")),
      JoinForm("FULL", pairs("FULL")),
      JoinForm("SEMI", streamed("LEFT SEMI")),
      JoinForm("ANTI", streamed("LEFT ANTI"))
    )

    val all: Seq[JoinForm] = joins :+ JoinForm(
      "EXISTS under OR",
      on => s"SELECT l.v, l.y FROM l WHERE l.v = 1 OR EXISTS (SELECT * FROM r WHERE $on)")
  }

  case class Shape(name: String, condition: String)

  object Shape {

    /** Those that need no arithmetic. */
    val comparisons: Seq[Shape] = Seq(
      Shape("point in interval", "l.y BETWEEN r.y AND r.z"),
      Shape("interval around a point", "r.y BETWEEN l.y AND l.z"),
      Shape("overlap", "l.y <= r.z AND r.y < l.z"),
      Shape("lower bound only", "r.y >= l.y"),
      Shape("upper bound only", "r.y < l.y"),
      Shape("two bounds in one direction", "l.y <= r.y AND l.z <= r.z")
    )

    val all: Seq[Shape] = Seq(
      Shape("band by constants", "r.y BETWEEN l.y - 2 AND l.y + 2"),
      Shape("band by columns", "r.y > l.y - l.v AND r.y <= l.y + l.v"),
      Shape("distance", "abs(l.y - r.y) <= 2"),
      Shape("difference", "l.y - r.y BETWEEN -2 AND 5"),
      Shape("rounded difference", "floor((l.y - r.y) / 2) BETWEEN -1 AND 2"),
      Shape("sum", "l.y + r.y BETWEEN 4 AND 9")
    ) ++ comparisons ++ Seq(
      Shape("several ranges", "r.y BETWEEN l.y - 2 AND l.y + 2 AND r.z <= l.z"),
      Shape("bound that does not rise", "r.y BETWEEN 10 - l.y AND l.y % 7 + 10"),
      Shape("value of a sequence", "array_contains(sequence(l.y, l.z), r.y)"),
      Shape("ranges joined by OR", "(r.y BETWEEN l.y - 2 AND l.y OR r.y BETWEEN l.z AND l.z + 2)"),
      Shape(
        "overlap in several ways",
        "(l.y BETWEEN r.y AND r.z OR l.z BETWEEN r.y AND r.z OR l.y < r.y AND l.z > r.z)"),
      Shape("NULL as the open end", "l.y >= r.y AND (r.z IS NULL OR l.y < r.z)"),
      Shape("a default as the open end", "l.y >= r.y AND nvl(r.z, l.y + 1) > l.y"),
      Shape(
        "other columns for NULL",
        "(l.y BETWEEN r.y AND r.y + 2 OR r.y IS NULL AND l.z BETWEEN r.v AND r.v + 2)")
    )
  }

  /** A range type, some values of it, and ranges that need arithmetic; none where there is none. */
  case class RangeType(
      name: String,
      sql: String,
      values: Seq[String],
      bands: Seq[String] = Nil,
      differences: Seq[String] = Nil)

  object RangeType {
    private def band(d: String) = Seq(s"r.y BETWEEN l.y - $d AND l.y + $d")
    private def differences(d: String) =
      Seq(s"abs(l.y - r.y) <= $d", s"l.y - r.y BETWEEN -$d AND $d")
    private def numbers(name: String, sql: String, d: String, values: String*) =
      RangeType(name, sql, values, band(d), differences(d))

    val all: Seq[RangeType] = Seq(
      numbers("INT", "INT", "2", "1", "3", "6", "2", "NULL", "4", "5", "7", "7"),
      numbers("TINYINT", "TINYINT", "2Y", "1", "3", "6", "2", "5", "4", "-7"),
      numbers("SMALLINT", "SMALLINT", "2S", "1", "3", "6", "2", "5", "4", "-7"),
      numbers("BIGINT", "BIGINT", "2L", "1", "3", "6", "2", "9223372036854775805", "4"),
      numbers("FLOAT", "FLOAT", "float(0.25)", "'1'", "'1.25'", "'6'", "'NaN'", "'-0.0'", "'0'"),
      numbers("DOUBLE", "DOUBLE", "0.1D", "'1'", "'1.1'", "'Infinity'", "'NaN'", "'-0.0'", "'0'"),
      numbers("DECIMAL, up to 18 digits", "DECIMAL(12, 2)", "0.5", "1.25", "1.5", "6", "1", "-7"),
      numbers("DECIMAL, more digits", "DECIMAL(38, 2)", "0.5", "1.25", "1.5", "6", "1", "-7"),
      RangeType(
        "DATE",
        "DATE",
        Seq("1", "3", "6", "2", "4").map(d => s"DATE'2024-02-2$d'"),
        Seq(
          "r.y BETWEEN date_sub(l.y, 2) AND date_add(l.y, 2)",
          "r.y BETWEEN l.y AND add_months(l.y, 1)",
          "l.y BETWEEN add_months(r.y, -1) AND r.y + INTERVAL '2' MONTH"
        ),
        Seq("datediff(l.y, r.y) BETWEEN 0 AND 2", "abs(datediff(l.y, r.y)) <= 2")
      ),
      RangeType(
        "TIMESTAMP",
        "TIMESTAMP",
        Seq("1", "3", "6", "2", "4").map(h => s"TIMESTAMP'2024-11-03 0$h:00:00'"),
        band("INTERVAL 2 HOURS"),
        differences("INTERVAL 2 HOURS")
      ),
      RangeType(
        "TIMESTAMP_NTZ",
        "TIMESTAMP_NTZ",
        Seq("1", "3", "6", "2", "4").map(h => s"TIMESTAMP_NTZ'2024-11-03 0$h:00:00'"),
        band("INTERVAL 2 HOURS"),
        differences("INTERVAL 2 HOURS")
      ),
      RangeType(
        "TIME",
        "TIME(6)",
        Seq("1", "3", "6", "2", "4").map(h => s"TIME'0$h:00:00'"),
        band("INTERVAL '1' HOUR"),
        Seq("l.y - r.y BETWEEN INTERVAL '-1' HOUR AND INTERVAL '1' HOUR")
      ),
      RangeType(
        "INTERVAL YEAR TO MONTH",
        "INTERVAL YEAR TO MONTH",
        Seq("1", "3", "6", "2", "4").map(m => s"INTERVAL '$m' MONTH"),
        band("INTERVAL '2' MONTH"),
        differences("INTERVAL '2' MONTH")
      ),
      RangeType(
        "INTERVAL DAY TO SECOND",
        "INTERVAL DAY TO SECOND",
        Seq("1", "3", "6", "2", "4").map(h => s"INTERVAL '$h' HOUR"),
        band("INTERVAL '2' HOUR"),
        differences("INTERVAL '2' HOUR")
      ),
      RangeType("BOOLEAN", "BOOLEAN", Seq("true", "false", "true", "NULL", "false")),
      RangeType("STRING", "STRING", strings),
      RangeType("STRING COLLATE UTF8_LCASE", "STRING COLLATE UTF8_LCASE", strings),
      RangeType("STRING COLLATE UNICODE_CI", "STRING COLLATE UNICODE_CI", strings),
      RangeType("BINARY", "BINARY", Seq("X'00'", "X'7F'", "X'80'", "X''", "X'8001'")),
      RangeType("ARRAY", "ARRAY<INT>", Seq("array(1)", "array(1, 2)", "array(0)", "NULL")),
      RangeType(
        "STRUCT",
        "STRUCT<a: INT, b: STRING>",
        Seq("1", "2", "2", "3").map(a => s"named_struct('a', $a, 'b', 'x')"))
    ).filter(range => TypesOfLine.knows(range.sql))

    private def strings =
      Seq("'a'", "'common prefix 1'", "'common prefix 2'", "'Common Prefix 3'", "''", "'é'", "NULL")
  }
}
