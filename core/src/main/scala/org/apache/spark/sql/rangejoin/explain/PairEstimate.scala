// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{JoinCondition, RangeCondition, RangeExtractor}
import org.apache.spark.sql.rangejoin.conf.JobDescription
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec
import org.apache.spark.sql.rangejoin.plan.PartitionRangeJoins
import org.apache.spark.sql.rangejoin.shims.ClassicSession.{Dataset, SparkSession}
import org.apache.spark.sql.types.StringType

import org.json4s.JObject
import org.json4s.JsonDSL._

/**
 * How many pairs a join has, with and without its range, estimated from samples of its sides.
 *
 * Both sides are counted and then read a second time, row by row with the same chance, about
 * [[PairEstimate.SampleRows]] of each; the pairs of the samples stand for all. So the inputs of a join
 * are run, but the join is not. Few pairs in the samples make a rough estimate. A part of the condition
 * that fails for a pair, which the join itself may never ask of that pair, is taken as not met.
 *
 * @param keyPairs pairs of equal keys, which is what stock Spark compares; all pairs without keys
 * @param rangePairs those of them in the range, if there is one
 * @param matches those of them that the whole condition takes
 * @param sampledPairs the pairs of equal keys that were looked at
 * @param skewedKey the key that by far the most pairs have, if there is such a key
 * @param advice where far fewer pairs are in another range of the condition, or a skewed key stays
 *   in one task
 */
case class PairEstimate(
    leftRows: Long,
    rightRows: Long,
    keyPairs: Double,
    rangePairs: Option[Double],
    matches: Double,
    sampledPairs: Long,
    skewedKey: Option[PairEstimate.SkewedKey],
    advice: Seq[String]
) {
  def json: JObject =
    ("leftRows" -> leftRows) ~ ("rightRows" -> rightRows) ~
      ("keyPairs" -> keyPairs.round) ~ ("rangePairs" -> rangePairs.map(_.round)) ~
      ("matches" -> matches.round) ~ ("sampledPairs" -> sampledPairs) ~
      ("skewedKey" -> skewedKey.map(_.key)) ~
      ("skewedKeyPairs" -> skewedKey.map(_.pairs.round))
}

object PairEstimate {

  /** The size that a sample is to have, in rows. */
  val SampleRows = 2000

  /**
   * A key is skewed from this share of the pairs on, if it has this many times those of the
   * others.
   */
  private val SkewedShare = 0.1
  private val TimesTheMean = 4

  /** From this number of pairs of a skewed key on it matters that one task has them all. */
  private val ManyPairs = 1000000

  /** Estimates are rough: another range is better if it has this many times fewer pairs. */
  private val TimesFewer = 2

  /** With fewer pairs nothing is said of single keys. */
  private val FewPairs = 100L

  /** A key as text, its columns separated by commas, and its share of [[PairEstimate.keyPairs]]. */
  case class SkewedKey(key: String, pairs: Double)

  /**
   * An estimate of each join of a plan, in the order of the reports; None where its inputs cannot be
   * read.
   *
   * @param logical the plan that it was made from. Where that is not known, the joins themselves know
   *                what they were made from, until adaptive execution plans them anew.
   */
  def of(
      session: SparkSession,
      plan: SparkPlan,
      logical: Option[LogicalPlan]): Seq[Option[PairEstimate]] = {
    val joins = JoinReports.joins(plan)
    val sources = logical.fold(joins.flatMap(_.logicalLink))(Seq(_))
    var open: Seq[Join] =
      sources.flatMap(_.collectWithSubqueries { case join: Join => join }).distinct
    joins.map { node =>
      val found = node match {
        case physical: BaseJoinExec => open.find(isPlannedAs(physical))
        case _                      => None
      }
      open = open.filterNot(found.contains)
      found.filter(canBeRead).map { join =>
        JobDescription.within(session.sparkContext, "sample of the sides of a join")(
          of(session, join, node))
      }
    }
  }

  /** The rules that plan a join may write its condition anew, but of the same columns. */
  private def isPlannedAs(physical: BaseJoinExec)(logical: Join): Boolean =
    logical.joinType == physical.joinType &&
      AttributeSet(logical.condition.toSeq) ==
      AttributeSet(physical.leftKeys ++ physical.rightKeys ++ physical.condition)

  private def canBeRead(join: Join): Boolean =
    !join.isStreaming && join.condition.forall(_.deterministic) &&
      join.find(_.isInstanceOf[LogicalQueryStage]).isEmpty

  private def of(session: SparkSession, join: Join, node: SparkPlan): PairEstimate = {
    val (keys, others) = join match {
      case ExtractEquiJoinKeys(_, left, right, condition, _, _, _, _) =>
        (left.zip(right), condition)
      case _ => (Nil, join.condition)
    }
    val driving = JoinReports.rangeOf(node)
    val asked = JoinCondition(join.joinType, others, join.left.outputSet, join.right.outputSet)
    val (first, other) = RangeExtractor.ranges(asked).fold(_ => Nil, identity)
      .partition(range => driving.isEmpty || driving.forall(isIn(range)))
    val ranges = (first.take(1) ++ other).take(PartitionRangeJoins.MostRanges)
    val read = join.condition.fold(AttributeSet.empty)(_.references)
    val left = sample(session, join.left, read, 17L)
    val right = sample(session, join.right, read, 18L)
    val equal = keys.map { case (l, r) => EqualTo(l, r) }.reduceLeftOption[Expression](And)
    val pairs = Join(left.rows, right.rows, Inner, equal, JoinHint.NONE)
    val counts = countsOf(
      session,
      pairs,
      keys.map(_._1),
      others +: ranges.map(range => Some(range.predicates.reduce(And))))
    val scale = 1 / left.share / right.share
    def scaled(count: ByKey => Long): Double = counts.map(count).sum * scale
    val skewedKey =
      mostSkewed(counts).map(most => SkewedKey(most.key.mkString(", "), most.pairs * scale))
    val better =
      if (choosesByItself(node)) None
      else {
        val inRange = ranges.indices.map(i => scaled(_.met(i + 1)))
        inRange.indices.drop(1).filter(i => inRange(i) * TimesFewer <= inRange.head)
          .sortBy(inRange(_)).headOption
          .flatMap(i => betterRange(ranges(i), inRange(i), inRange.head, asked))
      }
    PairEstimate(
      left.total,
      right.total,
      scaled(_.pairs),
      ranges.headOption.map(_ => scaled(_.met(1))),
      scaled(_.met.head),
      counts.map(_.pairs).sum,
      skewedKey,
      better.toSeq ++ skewedKey.flatMap(inOneTask(_, node))
    )
  }

  private def isIn(range: RangeCondition)(predicate: Expression): Boolean =
    range.predicates.exists(_.semanticEquals(predicate))

  /** Whether a sample says, when the query runs, which range drives the join. */
  private def choosesByItself(node: SparkPlan): Boolean = cond(node) {
    case join: BaseJoinExec =>
      join.leftKeys.exists(RangeBucketExec.isBucket) && node.conf.adaptiveExecutionEnabled
  }

  /** None where the range would not drive the join if it were written first, either. */
  private def betterRange(
      range: RangeCondition,
      pairs: Double,
      driving: Double,
      join: JoinCondition): Option[String] = {
    val first = (range.predicates ++ join.condition).reduceOption[Expression](And)
    val drives = RangeExtractor.extract(join.copy(condition = first))
      .exists(found => found.predicates.forall(isIn(range)))
    if (!drives) None
    else {
      Some(
        s"about ${pairs.round} pairs are in ${range.predicates.map(JoinReport.sql).mkString(" AND ")}, " +
          s"and ${driving.round} in the range of the join: write that first")
    }
  }

  /** Why a skewed key is not split, if it is for want of adaptive execution. */
  private def inOneTask(skewed: SkewedKey, node: SparkPlan): Option[String] = condOpt(node) {
    case _: SortMergeRangeJoinExec
        if skewed.pairs >= ManyPairs && !node.conf.adaptiveExecutionEnabled =>
      s"about ${skewed.pairs.round} pairs have the key ${skewed.key}, all in one task: " +
        "splitting skewed keys needs adaptive execution, and " +
        s"${SQLConf.ADAPTIVE_EXECUTION_ENABLED.key} is false"
  }

  /** The pairs of one key, and of those the number that meets each of the conditions. */
  private case class ByKey(key: Seq[String], pairs: Long, met: Seq[Long])

  private def countsOf(
      session: SparkSession,
      pairs: LogicalPlan,
      keys: Seq[Expression],
      conditions: Seq[Option[Expression]]
  ): Seq[ByKey] = {
    val texts = keys.map { key =>
      Alias(if (Cast.canCast(key.dataType, StringType)) Cast(key, StringType) else key, "key")()
    }
    val counts = (None +: conditions).map { condition =>
      val met = condition.fold[Expression](Literal.TrueLiteral)(TryEval(_))
      val one = If(met, Literal(1), Literal(null, Literal(1).dataType))
      Alias(Count(one).toAggregateExpression(), "pairs")()
    }
    Dataset.ofRows(session, Aggregate(keys, texts ++ counts, pairs)).collect().toSeq.map { row =>
      val (key, pairs +: met) = (
        keys.indices.map(i => String.valueOf(row.get(i))),
        counts.indices.map(i => row.getLong(keys.size + i))): @unchecked
      ByKey(key, pairs, met)
    }
  }

  private def mostSkewed(counts: Seq[ByKey]): Option[ByKey] = {
    val total = counts.map(_.pairs).sum
    if (counts.size < 2 || total < FewPairs) None
    else {
      Some(counts.maxBy(_.pairs)).filter { most =>
        most.pairs >= SkewedShare * total &&
        most.pairs >= TimesTheMean * (total - most.pairs) / (counts.size - 1)
      }
    }
  }

  /** Rows of a side, with the columns that the condition reads; the number of all, and the share taken. */
  private case class Sampled(rows: LogicalPlan, total: Long, share: Double)

  /** The sides of a self join need different seeds, or each sampled row finds itself. */
  private def sample(
      session: SparkSession,
      plan: LogicalPlan,
      read: AttributeSet,
      seed: Long
  ): Sampled = {
    val total = Dataset.ofRows(session, plan).count()
    val share = if (total <= SampleRows) 1.0 else SampleRows.toDouble / total
    val sampled =
      if (share == 1.0) plan else Sample(0.0, share, withReplacement = false, seed, plan)
    val columns = plan.output.filter(read.contains)
    val taken = Dataset.ofRows(session, Project(columns, sampled))
    val rows = taken.queryExecution.executedPlan.executeCollect()
    Sampled(LocalRelation(columns, rows.toSeq), total, share)
  }
}
