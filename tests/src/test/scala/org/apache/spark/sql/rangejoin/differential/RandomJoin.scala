/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.differential

import scala.util.Random

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types._
import org.apache.spark.sql.{DataFrame, Row}

/**
 * A random join, all of it drawn from one number: schema, rows, condition, residual.
 *
 * Rows have many ties, some NULLs, and where `extreme` is set values at the ends of their type.
 */
final class RandomJoin(val seed: Long) {
  private val random = new Random(seed)

  private def pick[T](choices: Seq[T]): T = choices(random.nextInt(choices.size))
  private def chance(percent: Int): Boolean = random.nextInt(100) < percent

  val (leftType, rightType) =
    if (chance(25)) pick(RangeType.mixed) else { val t = pick(RangeType.all); (t, t) }
  val extreme: Boolean = chance(40)
  private val keyTypes: Seq[DataType] =
    pick(Seq(Seq(IntegerType), Seq(StringType), Seq(LongType, StringType)))
  private val keys = pick(Seq(1, 3, 8))

  val shape: String = pick(
    if (leftType == rightType) {
      Seq(
        "band",
        "band",
        "band by column",
        "absolute",
        "difference",
        "point in interval",
        "overlap"
      )
    } else Seq("band", "point in interval", "overlap")
  )

  private def schema(range: RangeType): StructType = {
    val keyFields = keyTypes.zipWithIndex.map { case (t, i) => StructField(s"k$i", t) }
    StructType(keyFields ++ Seq(
      StructField("y", range.dataType),
      StructField("z", range.dataType),
      StructField("v", IntegerType),
      StructField("s", StringType)
    ))
  }

  private def key(dataType: DataType): Any = {
    val n = random.nextInt(keys)
    if (chance(5)) null
    else dataType match {
      case IntegerType => n
      case LongType    => n.toLong
      case _           => s"key $n"
    }
  }

  private def value(range: RangeType): Any =
    if (chance(6)) null
    else if (extreme && chance(12)) pick(range.extremes)
    else range.plain(random)

  private def rows(range: RangeType): Seq[Row] =
    Seq.tabulate(pick(Seq(0, 1, 25, 60, 60, 60))) { i =>
      Row.fromSeq(
        keyTypes.map(key) ++ Seq(value(range), value(range), random.nextInt(20), s"row $i")
      )
    }

  private val leftRows = rows(leftType)
  private val rightRows = rows(rightType)

  private def less: String = pick(Seq("<=", "<=", "<"))

  /** The comparison, one way round or the other. */
  private def compare(lesser: String, op: String, greater: String): String =
    if (chance(50)) s"$lesser $op $greater" else s"$greater ${op.replace('<', '>')} $lesser"

  private val range: Seq[String] = {
    val (x, y) = if (chance(50)) ("l", "r") else ("r", "l")
    val xType = if (x == "l") leftType else rightType
    val (d1, d2) = (xType.distance(random), xType.distance(random))
    shape match {
      case "band" if chance(30) =>
        Seq(s"$y.y BETWEEN ${xType.shift(s"$x.y", "-", d1)} AND ${xType.shift(s"$x.y", "+", d2)}")
      case "band" =>
        Seq(
          compare(xType.shift(s"$x.y", "-", d1), less, s"$y.y"),
          compare(s"$y.y", less, xType.shift(s"$x.y", "+", d2))
        )
      case "band by column" =>
        Seq(
          compare(s"$x.y", less, s"$y.y"),
          compare(s"$y.y", less, pick(Seq(s"$x.z", s"greatest($x.y, $x.z)")))
        )
      case "absolute" =>
        val (difference, d) = pick(xType.differences(s"$x.y", s"$y.y", d1))
        Seq(compare(s"abs($difference)", less, d))
      case "difference" =>
        val (difference, _) = pick(xType.differences(s"$x.y", s"$y.y", d1))
        val ends = Seq(d1, d2).map(d =>
          xType.differences("", "", d)
            .zip(xType.differences(s"$x.y", s"$y.y", d))
            .collectFirst { case (_, (`difference`, end)) => end }.get)
        Seq(compare(s"- ${ends.head}", less, difference), compare(difference, less, ends(1)))
      case "point in interval" =>
        Seq(compare(s"$x.y", less, s"$y.y"), compare(s"$y.y", less, s"$x.z"))
      case "overlap" =>
        Seq(compare(s"$x.y", less, s"$y.z"), compare(s"$y.y", less, s"$x.z"))
    }
  }

  private val residual: Seq[String] = pick(Seq(
    Nil,
    Nil,
    Seq("l.v % 3 <> r.v % 3"),
    Seq("l.v + r.v > 15", "l.s <> r.s"),
    Seq("l.v < r.v"),
    // More range predicates than make the range.
    Seq("r.y <= l.z"),
    Seq("l.y <= r.z", "r.z >= l.z")
  ))

  val condition: String = {
    val equal = keyTypes.indices.map { i =>
      if (chance(50)) s"l.k$i = r.k$i" else s"r.k$i = l.k$i"
    }
    random.shuffle(equal ++ range ++ residual).mkString(" AND ")
  }

  private val columns: String =
    pick(Seq("*", "l.s, r.s", "l.k0, l.y, r.y", "l.v + r.v AS w, r.s"))

  def sql: String = s"SELECT $columns FROM l JOIN r ON $condition"

  def left(spark: SparkSession): DataFrame = frame(spark, leftRows, schema(leftType))
  def right(spark: SparkSession): DataFrame = frame(spark, rightRows, schema(rightType))

  private def frame(spark: SparkSession, rows: Seq[Row], schema: StructType): DataFrame =
    // Not local rows: the optimizer would see that a side is empty, and there would be no join.
    spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema)

  def show: String =
    s"""seed $seed: $sql
       |l ${schema(leftType).sql}: ${leftRows.mkString(" ")}
       |r ${schema(rightType).sql}: ${rightRows.mkString(" ")}""".stripMargin
}
