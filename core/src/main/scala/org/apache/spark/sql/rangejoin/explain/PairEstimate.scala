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

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.condition.RangeExtractor
import org.apache.spark.sql.rangejoin.line.ClassicSession.{Dataset, SparkSession}

import org.json4s.JsonDSL._
import org.json4s.{JNull, JObject, JValue}

/**
 * How many pairs a join has, with and without its range, estimated from samples of its sides.
 *
 * Both sides are counted and then read a second time, row by row with the same chance, about
 * [[PairEstimate.SampleRows]] of each; the pairs of the samples stand for all. So the inputs of a join
 * are run, but the join is not. Few pairs in the samples make a rough estimate.
 *
 * @param keyPairs pairs of equal keys, which is what stock Spark compares; all pairs without keys
 * @param rangePairs those of them in the range, if there is one
 * @param matches those of them that the whole condition takes
 * @param sampledPairs the pairs of equal keys that were looked at
 */
case class PairEstimate(
    leftRows: Long,
    rightRows: Long,
    keyPairs: Double,
    rangePairs: Option[Double],
    matches: Double,
    sampledPairs: Long
) {
  def json: JObject =
    ("leftRows" -> leftRows) ~ ("rightRows" -> rightRows) ~
      ("keyPairs" -> keyPairs.round) ~ ("rangePairs" -> rangePairs.map(_.round)) ~
      ("matches" -> matches.round) ~ ("sampledPairs" -> sampledPairs)
}

object PairEstimate {

  /** The size that a sample is to have, in rows. */
  val SampleRows = 2000

  /** An estimate of each join, in the order of the reports; null where its inputs cannot be read. */
  def of(query: QueryExecution): Seq[JValue] = {
    var open: Seq[Join] = query.optimizedPlan.collectWithSubqueries { case join: Join => join }
    JoinReports.joins(query.executedPlan).map { case (node, _) =>
      val found = node match {
        case physical: BaseJoinExec => open.find(isPlannedAs(physical))
        case _                      => None
      }
      open = open.filterNot(found.contains)
      found.filter(canBeRead).fold[JValue](JNull)(of(query.sparkSession, _).json)
    }
  }

  /** The rules that plan a join may write its condition anew, but of the same columns. */
  private def isPlannedAs(physical: BaseJoinExec)(logical: Join): Boolean =
    logical.joinType == physical.joinType &&
      AttributeSet(logical.condition.toSeq) ==
      AttributeSet(physical.leftKeys ++ physical.rightKeys ++ physical.condition)

  private def canBeRead(join: Join): Boolean =
    !join.isStreaming && join.condition.forall(_.deterministic)

  private def of(session: SparkSession, join: Join): PairEstimate = {
    val (keys, others) = join match {
      case ExtractEquiJoinKeys(_, left, right, condition, _, _, _, _) =>
        val equal = left.zip(right).map { case (l, r) => EqualTo(l, r) }
        (equal.reduceLeftOption[Expression](And), condition)
      case _ => (None, join.condition)
    }
    val range = RangeExtractor
      .extract(join.joinType, others, join.left.outputSet, join.right.outputSet)
      .toOption.map(_.predicates.reduce(And))
    val (leftRows, left, leftShare) = sample(session, join.left, 17L)
    val (rightRows, right, rightShare) = sample(session, join.right, 18L)
    val counts = Seq(
      Literal.TrueLiteral,
      range.getOrElse(Literal.TrueLiteral),
      others.getOrElse(Literal.TrueLiteral)).map { counted =>
      val one = If(counted, Literal(1), Literal(null, Literal(1).dataType))
      Alias(Count(one).toAggregateExpression(), "pairs")()
    }
    val pairs = Join(left, right, Inner, keys, JoinHint.NONE)
    val row = Dataset.ofRows(session, Aggregate(Nil, counts, pairs)).head()
    def scaled(column: Int): Double = row.getLong(column) / leftShare / rightShare
    PairEstimate(
      leftRows,
      rightRows,
      scaled(0),
      range.map(_ => scaled(1)),
      scaled(2),
      row.getLong(0))
  }

  /**
   * The number of rows, a sample of them, and its share. The sides of a self join need different seeds,
   * or each sampled row finds itself.
   */
  private def sample(
      session: SparkSession,
      plan: LogicalPlan,
      seed: Long
  ): (Long, LogicalPlan, Double) = {
    val rows = Dataset.ofRows(session, plan).count()
    val share = if (rows <= SampleRows) 1.0 else SampleRows.toDouble / rows
    val sampled =
      if (share == 1.0) plan else Sample(0.0, share, withReplacement = false, seed, plan)
    (rows, sampled, share)
  }
}
