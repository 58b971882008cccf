// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedValue}
import org.apache.spark.sql.types._

/**
 * Ranges joined by OR: the one that covers them all, and the whole disjunction as the residual.
 *
 * If each part implies a test `a_i <= b_i` in one direction, then the disjunction implies
 * `least(a_i) <= greatest(b_i)`: for the part that holds, `least <= a_i <= b_i <= greatest`. `least` and `greatest`
 * have the order of the comparisons (NaN, collations), and pass over NULL: a part with a NULL does not hold, but
 * another part may. Where all are NULL, no part holds. A row that one part does not trust, or for which a part raises,
 * is not trusted by the enclosing range either.
 *
 * A part that bounds nothing in a direction may still read one side alone: it opens that side, which then passes with
 * everything where the part holds ([[OpenEnds]]). So does a part that bounds other columns, if it is for rows in which
 * one of the first columns is NULL.
 *
 * Any other range with both ends on one value takes precedence (`RangeExtractor`). There is no enclosing range in a
 * direction in which some part has no test and opens no side (`NOT BETWEEN`), nor if the parts compare unrelated
 * columns, since it would exclude almost nothing. If two intervals overlap in one of several ways (one starts within
 * the other, ends within it, or spans it), the least end of the one is below the greatest end of the other.
 */
private[condition] object EnclosingRange {

  /**
   * The tests of a disjunction, by what its parts imply.
   *
   * @param predicate the conjunct that the disjunction comes from
   * @param isWhole whether the conjunct says nothing else
   * @param ofPart the tests of the conjuncts of a part
   */
  def tests(or: Or, predicate: Expression, isWhole: Boolean)(
      ofPart: Seq[Expression] => Seq[RangeTest],
      sideOf: Expression => Option[Side]): Seq[RangeTest] = {
    val all = Predicates.alternatives(or)
    val parts = if (all.size > MostParts) Nil else all.map(Part.of(_, ofPart))
    for {
      side <- Side.Both
      (bounded, others) = together(parts, side)
      inDirection = bounded.map(_.in(side))
      first <- inDirection.headOption.toSeq.flatten
      openings = others.map(_.opening(first, sideOf))
      if openings.forall(_.isDefined)
      enclosing <- of(first +: inDirection.tail.map(likest(first, _))).toSeq
    } yield {
      val isExact = isWhole && openings.flatten.forall(_.isWhole) && bounded.size == 1 &&
        bounded.head.isAll(first)
      val opened = (openings.flatten.map(o => o.side -> o.condition) ++ openEnds(enclosing))
        .groupBy(_._1).map { case (s, conditions) => s -> conditions.map(_._2) }
      OpenEnds.of(
        enclosing.test.copy(predicate = predicate, exact = if (isExact) Exact else Inexact),
        opened,
        isExact)
    }
  }

  /**
   * The parts that bound a direction by columns that are compared with each other, and the other parts, which have to
   * open a side: they bound nothing in the direction, or are for rows in which such a column is NULL.
   */
  private def together(parts: Seq[Part], side: Side): (Seq[Part], Seq[Part]) = {
    val bounded = parts.filter(_.in(side).nonEmpty)
    val found = bounded.map(main => bounded.filter(p => areCompared(main.in(side) ++ p.in(side))))
      // No part is alike if the tests of a part have nothing in common themselves.
      .find(alike =>
        alike.nonEmpty && bounded.diff(alike).forall(p => alike.head.in(side).forall(p.isWithout)))
      .getOrElse(bounded)
    (found, parts.diff(found))
  }

  /** Whether all tests are of columns that are compared with each other, directly or by way of others. */
  def areCompared(tests: Seq[RangeTest]): Boolean = {
    val pairs = tests.map(test => Side.Both.map(side => side -> test.on(side).references).toSet)
    val reached = Iterator.iterate(pairs.take(1).flatten.toSet)(columns =>
      pairs.filter(_.exists(columns)).flatten.toSet ++ columns).drop(pairs.size).next()
    pairs.forall(_.exists(reached))
  }

  /** A part of a disjunction: conjuncts, and the tests that they imply. */
  private case class Part(conjuncts: Seq[Expression], tests: Seq[RangeTest]) {

    /** The tests whose lesser value is of a side. */
    def in(side: Side): Seq[RangeTest] = tests.filter(_.lesserSide == side)

    /** Whether the part is for rows in which a value of a test is NULL. */
    def isWithout(test: RangeTest): Boolean =
      conjuncts.exists(c => Side.Both.exists(side => OpenEnds.isNullOf(c, test.on(side))))

    /** Whether a test is all that the part says. */
    def isAll(test: RangeTest): Boolean =
      conjuncts.size == 1 && conjuncts.head.eq(test.predicate) && test.exact == Exact &&
        test.trusted.isEmpty && !test.hasOpenEnds && Comparison.of(test.predicate).isDefined

    /** The conjuncts of the part that open a side of a test, the likelier one of the two. */
    def opening(test: RangeTest, sideOf: Expression => Option[Side]): Option[Opening] = {
      val ofSides = for {
        side <- Side.Both
        ofSide = conjuncts.filter(c => sideOf(c).contains(side) && isOfRow(c))
          .filterNot(OpenEnds.isUsual(_, test.on(side)))
        if ofSide.nonEmpty
      } yield {
        val value = test.on(side)
        val condition = ofSide.reduce(And(_, _))
        // `IS NULL` of the value is the open end itself; other conjuncts are likelier meant for it if they read the
        // value.
        val order =
          if (ofSide.exists(OpenEnds.isUnusual)) 0
          else if (ofSide.exists(OpenEnds.isNullOf(_, value))) 1
          else if (condition.references.subsetOf(value.references)) 2
          else 3
        order -> Opening(side, condition, ofSide.size == conjuncts.size)
      }
      ofSides.sortBy(_._1).headOption.map(_._2)
    }
  }

  private object Part {
    def of(part: Expression, ofPart: Seq[Expression] => Seq[RangeTest]): Part = {
      val conjuncts = Predicates.split(part)
      val compared = conjuncts.flatMap(Comparison.of(_)).flatMap(c => Seq(c.lesser, c.greater))
        .map(OpenEnds.carried)
      val needed = conjuncts.filter {
        case IsNotNull(e) => !compared.exists(Predicates.haveSameValue(_, OpenEnds.carried(e)))
        case _            => true
      }
      Part(needed, ofPart(needed))
    }
  }

  /** Where the condition holds, every row of the other side passes. */
  private case class Opening(side: Side, condition: Expression, isWhole: Boolean)

  /** Whether the row alone determines the result, at once: deterministic, without a subquery. */
  private def isOfRow(e: Expression): Boolean =
    e.deterministic && !e.exists {
      case _: Attribute                          => false
      case _: PlanExpression[_] | _: Unevaluable => true
      case _                                     => false
    }

  /**
   * A disjunction of more parts is not read: its range would be wide, and slow to find, since each part is compared
   * with the others.
   */
  private val MostParts = 32

  /** The test that has most in common with another. */
  private def likest(first: RangeTest, tests: Seq[RangeTest]): RangeTest =
    tests.maxBy { test =>
      Side.Both.count(side => test.on(side).semanticEquals(first.on(side))) +
        Side.Both.count(side => test.on(side).references == first.on(side).references)
    }

  /** A test that covers others, which are of one type. */
  private case class Covering(test: RangeTest, covered: Seq[RangeTest])

  private def of(tests: Seq[RangeTest]): Option[Covering] = {
    // A broadcast is built before a subquery has its result; another range may be had instead.
    def hasSubquery =
      tests.exists(t =>
        Seq(t.lesser, t.greater).exists(_.exists(_.isInstanceOf[PlanExpression[_]])))
    asOneType(tests).filter(_ => areCompared(tests) && !hasSubquery).map { ofOneType =>
      val covering = RangeTest(
        extreme(ofOneType.map(_.lesser))(Least(_)),
        extreme(ofOneType.map(_.greater))(Greatest(_)),
        tests.head.lesserSide,
        strict = tests.forall(_.strict),
        predicate = tests.head.predicate,
        trusted = trusted(tests),
        exact = Inexact,
        isEnclosing = tests.size > 1 || tests.exists(_.isEnclosing)
      )
      Covering(covering, ofOneType)
    }
  }

  /** A side that is open in one of the tests is so in all: `greatest` passes over the NULL. */
  private def openEnds(enclosing: Covering): Seq[(Side, Expression)] =
    for {
      test <- enclosing.covered
      (side, NullBound.OpenEnd) <- test.nulls.toSeq
    } yield side -> IsNull(test.on(side))

  /** The same tests between values of one type; None if no type keeps the order of all. */
  private def asOneType(tests: Seq[RangeTest]): Option[Seq[RangeTest]] = {
    val types = tests.flatMap(t => Seq(t.lesser.dataType, t.greater.dataType)).distinct
    def each(change: Expression => Expression) =
      Some(tests.map(t => t.copy(lesser = change(t.lesser), greater = change(t.greater))))
    if (types.size == 1) Some(tests)
    // As in the ends of a range of differences.
    else if (types.forall(isWhole)) each(e => if (e.dataType == LongType) e else OrderedValue(e))
    else if (types.forall(t => t == FloatType || t == DoubleType)) {
      each(e => if (e.dataType == DoubleType) e else Cast(e, DoubleType))
    } else None
  }

  private def isWhole(dataType: DataType): Boolean = cond(dataType) {
    case _: IntegralType | DateType | TimestampType | TimestampNTZType | _: AnsiIntervalType => true
  }

  private def extreme(values: Seq[Expression])(function: Seq[Expression] => Expression)
      : Expression = {
    // Spark takes sums of the same terms to be equal, but their values may differ.
    val different = values.distinct
    if (different.size == 1) different.head else function(different)
  }

  private def trusted(tests: Seq[RangeTest]): Map[Side, Expression] =
    Side.Both.flatMap { side =>
      tests.flatMap(_.trusted.get(side)).distinct.reduceOption[Expression](And(_, _)).map(side -> _)
    }.toMap
}
