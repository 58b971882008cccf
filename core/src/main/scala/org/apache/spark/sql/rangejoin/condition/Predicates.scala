// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.{cond, condOpt}
import scala.annotation.tailrec
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.rangejoin.kernel.{OrderedLong, OrderedValue}
import org.apache.spark.sql.types.{AtomicType, DataType, DatetimeType, IntegralType}

/** Parts of a condition. */
private[rangejoin] object Predicates extends PredicateHelper {

  /** The conjuncts of a condition. */
  def split(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  /** The parts of a disjunction. */
  def alternatives(or: Expression): Seq[Expression] = splitDisjunctivePredicates(or)

  /** The rest of the condition, without keys; None if there are no keys. */
  def conditionBesideKeys(join: Join): Option[Option[Expression]] =
    condOpt(join) { case ExtractEquiJoinKeys(_, _, _, condition, _, _, _, _) => condition }

  /** Whether a row of this side has one match at most, by the equi keys of a join. */
  def hasOneMatch(join: Join, streamed: Side): Boolean = cond(join) {
    case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
      val keys = ExpressionSet(streamed.other.of(leftKeys, rightKeys))
      streamed.other.of(join).distinctKeys.exists(_.subsetOf(keys))
  }

  /** Whether a condition holds of no row in which a column is NULL. */
  def refusesNull(condition: Expression, column: Attribute): Boolean = {
    def isColumn(e: Expression) = OpenEnds.carried(e).semanticEquals(column)
    condition match {
      case And(a, b)          => refusesNull(a, column) || refusesNull(b, column)
      case Or(a, b)           => refusesNull(a, column) && refusesNull(b, column)
      case IsNotNull(e)       => isColumn(e)
      case EqualTo(a, b)      => isColumn(a) || isColumn(b)
      case Not(EqualTo(a, b)) => isColumn(a) || isColumn(b)
      case other => Comparison.of(other).exists(c => isColumn(c.lesser) || isColumn(c.greater))
    }
  }

  /** A column that is not NULL in any row of which a condition holds: it tells a match from a row of NULLs. */
  def columnOfMatch(condition: Expression, columns: Seq[Attribute]): Option[Attribute] =
    columns.find(refusesNull(condition, _)).map(_.withNullability(true))

  /** Whether two expressions have the same value for each row, or both raise. */
  def haveSameValue(a: Expression, b: Expression): Boolean =
    a.deterministic && b.deterministic && valueForm(a) == valueForm(b)

  /** Whether two expressions have the same value but for casts that keep its long. */
  def haveSameLong(a: Expression, b: Expression): Boolean =
    haveSameValue(withoutKeptCasts(a), withoutKeptCasts(b))

  @tailrec
  private def withoutKeptCasts(e: Expression): Expression = e match {
    case Cast(child, to, _, _) if OrderedLong.isKept(child.dataType, to) => withoutKeptCasts(child)
    case other                                                           => other
  }

  /**
   * Equal for expressions that have the same value. Spark's canonical form is not enough: it reorders the terms of a
   * sum, which changes a sum of doubles, and may make a sum of decimals overflow.
   */
  def valueForm(e: Expression): Expression =
    if (hasTermsInOrder(e)) withoutNames(e) else e.canonicalized

  /** Whether there is a sum or a product in it of which Spark's canonical form changes the order. */
  def hasTermsInOrder(e: Expression): Boolean = e.exists {
    case a: Add      => a.children.exists(_.isInstanceOf[Add])
    case m: Multiply => m.children.exists(_.isInstanceOf[Multiply])
    case _           => false
  }

  private def withoutNames(e: Expression): Expression = e.transform { case a: Attribute =>
    a.canonicalized
  }

  /** Whether an expression is surely evaluated without an error. */
  def neverRaises(e: Expression): Boolean = cond(e) {
    case _: Attribute | _: Literal => true
    case OrderedValue(child)       => neverRaises(child)
    case Coalesce(children)        => children.forall(neverRaises)
    case _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: In | _: InSet |
        _: StartsWith | _: EndsWith | _: Contains | _: Upper | _: Lower =>
      e.children.forall(neverRaises)
    case rest: Remainder       => neverRaises(rest.left) && isNotZero(rest.right)
    case Cast(child, to, _, _) =>
      neverRaises(child) && isPlain(child.dataType) && Cast.canUpCast(child.dataType, to)
    case _: Add | _: Subtract | _: Multiply | _: Abs | _: UnaryMinus =>
      Distance.isFloating(e.dataType) && e.children.forall(neverRaises)
  }

  private def isNotZero(e: Expression): Boolean =
    cond(e) { case Literal(value: Number, _: IntegralType) => value.longValue != 0 }

  private def isPlain(dataType: DataType): Boolean = dataType match {
    // The last dates are no timestamps.
    case _: DatetimeType => false
    case other           => other.isInstanceOf[AtomicType]
  }

  /**
   * An expression as a user would write it. Spark's own way puts names in place of parts, which expressions that check
   * their children refuse.
   */
  def display(e: Expression): String = Try(toPrettySQL(e)).getOrElse(e.sql)
}
