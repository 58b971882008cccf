// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType

/**
 * Why a join is left to stock Spark. Each reason is a value, so that tests can name it; EXPLAIN shows
 * it, and the log does at debug level.
 */
sealed abstract class Reason(ofCause: => String, ofRemedy: => Option[String] = None) {

  /** Why there is no range join, as the end of a sentence. */
  def cause: String = ofCause

  /** What a user can do about it; None where there is nothing to do. */
  def remedy: Option[String] = ofRemedy

  /** Both, in one line. */
  final def message: String = (cause +: remedy.toSeq).mkString("; ")
}

object Reason {

  /** The condition has no range. */
  sealed abstract class NoRange(ofCause: => String, ofRemedy: => Option[String] = None)
      extends Reason(ofCause, ofRemedy)

  /** The join has no condition beside its keys. */
  case object NoCondition extends NoRange("the join has no condition beside its equi keys")

  /** No conjunct compares an expression of one side with an expression of the other. */
  case object NoRangePredicate extends NoRange(
        "no part of the condition compares (<, <=, >, >=) a value of one side with a value of the " +
          "other",
        Some("write the range as such comparisons, joined by AND")
      )

  /** The sides are compared, but not by a conjunct: inside OR, NOT, IF, CASE or a function. */
  case class NoConjunct(predicate: Expression) extends NoRange(
        placeOf(predicate),
        Some("add the range that holds in every case as a condition of its own, joined by AND"))

  private def placeOf(predicate: Expression): String = predicate match {
    case _: Or =>
      s"the ranges joined by OR in ${predicate.sql} share no common bound: one of them is no range, " +
        "or of another type"
    case _: If | _: CaseWhen =>
      s"the comparison of the sides is inside ${if (predicate.isInstanceOf[If]) "IF" else "CASE"} " +
        s"in ${predicate.sql}, and need not hold where another branch is taken"
    case _: IsNull | _: IsNotNull =>
      s"the comparison of the sides is inside ${if (predicate.isInstanceOf[IsNull]) "IS NULL"
        else "IS NOT NULL"} in ${predicate.sql}, which tests whether the comparison is NULL, and not whether it holds"
    case _ =>
      s"the comparison of the sides is a part of ${predicate.sql}, which does not bound one side " +
        "by the other"
  }

  /** It holds below one end of a range and above the other, where most pairs are. */
  case class OutsideOfRange(predicate: Expression) extends NoRange(
        s"${predicate.sql} holds outside of a range, as NOT BETWEEN does: a value that matches may be " +
          "anywhere below one end or above the other",
        Some("if few pairs match, write two INNER joins, each with one of the two comparisons, and UNION " +
          "ALL, the second without what the first finds")
      )

  /** Ranges joined by OR that have no columns in common. */
  case class DifferentColumns(predicate: Expression) extends NoRange(
        s"the ranges joined by OR in ${predicate.sql} bound different columns: a pair that matches by " +
          "one of them may be far apart by the others",
        Some("join once for each range: INNER joins and UNION ALL, each without what the ones before it find " +
          "(AND NOT coalesce(<range>, false)), or EXISTS (..) OR EXISTS (..)")
      )

  /** A comparison with an operand that has columns of both sides. */
  case class MixedSides(predicate: Expression) extends NoRange(
        s"${predicate.sql} compares a value that is made of columns of both sides, so neither side is " +
          "bounded by the other",
        Some("write it with one side's columns before the comparison and the other's behind it, or add a range " +
          "that holds for every match, such as r.y BETWEEN l.y - d AND l.y + d, joined by AND")
      )

  /** A difference or sum of the two sides that cannot be rewritten without changing results. */
  case class InexactDifference(predicate: Expression) extends NoRange(
        s"${predicate.sql} limits a difference or sum that cannot become a range: it may wrap " +
          "around on overflow and has only one limit, or its type is not supported",
        Some("compare the columns instead: r.y BETWEEN l.y - d AND l.y + d, or r.y <= d - l.y")
      )

  /** The condition gives different answers when evaluated again. */
  case class Nondeterministic(predicate: Expression) extends Reason(
        s"${predicate.sql} is nondeterministic, and has to be evaluated once for every pair",
        Some("compute the value as a column before the join"))

  /** The join type is not supported. */
  case class UnsupportedJoinType(joinType: JoinType) extends Reason(
        s"a ${joinType.sql} join cannot run as a range join; supported are INNER, LEFT OUTER, RIGHT " +
          "OUTER, FULL OUTER, LEFT SEMI and LEFT ANTI joins, and EXISTS and IN")

  /** The side that matches are ranked or aggregated for is built or broadcast, and so not streamed. */
  case object RankedSideBuilt extends Reason(
        "the matches are ranked or aggregated for each row of the side that Spark broadcasts or builds a hash " +
          "table of, and that side cannot be streamed",
        Some("give the other side the BROADCAST hint if it fits into memory, or this join the MERGE hint; a LEFT JOIN " +
          "that keeps the rows of this side streams them")
      )

  /** A null-aware anti join asks for NULLs on both sides. */
  case object NullAware extends Reason(
        "NOT IN has to look for a NULL in the whole of the other side",
        Some("write NOT EXISTS, if a NULL on either side is to match nothing"))

  /** The broadcast is built before the subquery has a result. */
  case class SubqueryInBuildBound(bound: Expression) extends Reason(
        s"$bound, a bound of the broadcast side, has a subquery",
        Some("compute it as a column before the join"))

  /** Kryo takes registered classes only, and the index has classes of its own. */
  case object UnregisteredIndex extends Reason(
        "spark.kryo.registrationRequired is true, and the classes of a range index are not registered",
        Some("set it to false, or broadcast neither side"))

  /** Spark has no key to shuffle by, and broadcasts neither side. */
  case object NoKey extends Reason(
        "there is no equi key, and Spark broadcasts neither side",
        Some("drop the SHUFFLE_REPLICATE_NL hint, broadcast the smaller side if it fits into memory, or add " +
          "an equi key")
      )

  /** A shuffled hash join keeps an order that its range join would lose where it has to sort. */
  case class OrderedStreamedSide(order: Seq[SortOrder]) extends Reason(
        s"the streamed side of the shuffled hash join comes in the order of ${order.map(_.child.sql)
            .mkString(", ")}, which the rows would lose where there is no memory for an index of the range",
        Some("drop the SHUFFLE_HASH hint, set spark.sql.join.preferSortMergeJoin to true, or " +
          "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold to 0")
      )

  /** A join of two streams keeps state between batches. */
  case object Streaming
      extends Reason("joins of streams keep Spark's plan", Some("join in foreachBatch"))

  /** A later Spark has a range join of its own, which takes the place of a nested loop. */
  case object RangeJoinOfSpark extends Reason(
        "it is a range join of Spark's own",
        Some(
          "set spark.sql.join.broadcastRangeJoin.enabled to false, to compare it with this one")) {

    /** The name of its node, which is also that of ours. */
    val Node = "org.apache.spark.sql.execution.joins.BroadcastRangeJoinExec"
  }

  /** Range joins, or one kind of them, are off. */
  case class SwitchedOff(key: String) extends Reason(s"$key is false", Some(s"set $key to true"))

  /** What range joins need has failed on this Spark, or would. */
  case class NotOfThisSpark(why: String, override val remedy: Option[String])
      extends Reason(s"range joins are switched off in this session: $why")

  /** A plan that could have a range join and has none: it was made under other settings. */
  case object PlannedOtherwise extends Reason(
        "the plan was made while range joins were off, without the extension, or over a broadcast " +
          "that had begun",
        Some("recreate the DataFrame"))
}

/**
 * Why a predicate that compares the sides is no range, in the words of a user who has written comparisons.
 *
 * @param testsOf the tests that conjuncts imply
 */
private[condition] class Refusal(
    sideOf: Expression => Option[Side],
    testsOf: Seq[Expression] => Seq[RangeTest]) {

  /** None where the predicate does not compare the sides. */
  def of(predicate: Expression): Option[Reason] = predicate match {
    case or: Or => Some(or).filter(_.exists(comparesSides)).map(ofAlternatives)
    case _      => Comparison.of(predicate).fold[Option[Reason]](
        Some(predicate).filter(_.exists(comparesSides)).map(Reason.NoConjunct))(ofComparison)
  }

  private def comparesSides(e: Expression): Boolean =
    Comparison.of(e).isDefined && isOfBoth(e)

  private def isOfBoth(e: Expression): Boolean = e.references.nonEmpty && sideOf(e).isEmpty

  private def ofComparison(c: Comparison): Option[Reason] =
    if (!isOfBoth(c.lesser) && !isOfBoth(c.greater)) None
    else if (Difference.of(c.greater, sideOf).exists(_.absolute)) {
      Some(Reason.OutsideOfRange(c.predicate))
    } else Some(Reason.MixedSides(c.predicate))

  private def ofAlternatives(or: Or): Reason = {
    // A part that reads one side alone opens that side, and so is no reason.
    val tests = Predicates.alternatives(or).map(Predicates.split)
      .map(part => part -> testsOf(part))
      .filter { case (part, ofPart) => ofPart.nonEmpty || part.forall(isOfBoth) }.map(_._2)
    def directions = tests.map(_.map(_.lesserSide).toSet)
      .reduceOption(_ intersect _).getOrElse(Set.empty)
    if (tests.isEmpty || tests.exists(_.isEmpty)) Reason.NoConjunct(or)
    else if (!EnclosingRange.areCompared(tests.flatten)) Reason.DifferentColumns(or)
    else if (directions.isEmpty) Reason.OutsideOfRange(or)
    else Reason.NoConjunct(or)
  }
}
