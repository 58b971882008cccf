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

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.OrderedValue
import org.apache.spark.sql.types._

/**
 * Ranges joined by OR: the one that covers them all, and the whole disjunction as the residual.
 *
 * If each part implies a test `a_i <= b_i` in one direction, then so does the disjunction the test
 * `least(a_i) <= greatest(b_i)`: of the part that holds, `least <= a_i <= b_i <= greatest`. `least` and
 * `greatest` have the order of the comparisons (NaN, collations), and pass over NULL as they have to: a part
 * with a NULL does not hold, and says nothing against another. Where all are NULL, no part holds. A row
 * that is not to be trusted in one of its parts is not in the hull, nor is one for which a part raises.
 *
 * Any other range with both ends on one value comes before a hull (`RangeExtractor`). There is none in a
 * direction in which some part has no test (`NOT BETWEEN`), nor where
 * the parts have no columns in common on either side, since such a hull bounds next to nothing.
 */
private[condition] object Hull {

  /** The tests of a disjunction, by what its parts imply. */
  def tests(or: Or, ofPart: Expression => Seq[RangeTest]): Seq[RangeTest] = {
    val parts = split(or)
    val ofParts = if (parts.size > MostParts) Seq(Nil) else parts.map(ofPart)
    for {
      side <- Seq[Side](LeftSide, RightSide)
      inDirection = ofParts.map(_.filter(_.lesserSide == side))
      if inDirection.forall(_.nonEmpty)
      first <- inDirection.head
      hull <- of(or, first +: inDirection.tail.map(likest(first, _))).toSeq
    } yield hull
  }

  /** Of more the hull is wide, and takes long to be found: each part is compared with the others. */
  private val MostParts = 32

  private def split(e: Expression): Seq[Expression] = e match {
    case Or(a, b) => split(a) ++ split(b)
    case other    => Seq(other)
  }

  /** The test that has most in common with another. */
  private def likest(first: RangeTest, tests: Seq[RangeTest]): RangeTest =
    tests.maxBy { test =>
      Sides.count(side => test.on(side).semanticEquals(first.on(side))) +
        Sides.count(side => test.on(side).references == first.on(side).references)
    }

  private val Sides = Seq[Side](LeftSide, RightSide)

  private def of(or: Or, tests: Seq[RangeTest]): Option[RangeTest] = {
    val haveColumns = Sides.exists(side => tests.map(_.on(side).references).distinct.size == 1)
    // A broadcast is built before a subquery has its result; another range may be had instead.
    def hasSubquery =
      tests.exists(t =>
        Seq(t.lesser, t.greater).exists(_.exists(_.isInstanceOf[PlanExpression[_]])))
    asOneType(tests).filter(_ => haveColumns && !hasSubquery).map { ofOneType =>
      RangeTest(
        extreme(ofOneType.map(_.lesser))(Least(_)),
        extreme(ofOneType.map(_.greater))(Greatest(_)),
        tests.head.lesserSide,
        strict = tests.forall(_.strict),
        predicate = or,
        trusted = trusted(tests),
        exact = Inexact
      )
    }
  }

  /** The same tests between values of one type; None where there is none that has all of them in order. */
  private def asOneType(tests: Seq[RangeTest]): Option[Seq[RangeTest]] = {
    val types = tests.flatMap(t => Seq(t.lesser.dataType, t.greater.dataType)).distinct
    def each(of: Expression => Expression) =
      Some(tests.map(t => t.copy(lesser = of(t.lesser), greater = of(t.greater))))
    if (types.size == 1) Some(tests)
    // As in the ends of a range of differences.
    else if (types.forall(isWhole)) each(e => if (e.dataType == LongType) e else OrderedValue(e))
    else if (types.forall(t => t == FloatType || t == DoubleType)) {
      each(e => if (e.dataType == DoubleType) e else Cast(e, DoubleType))
    } else None
  }

  private def isWhole(dataType: DataType): Boolean = dataType match {
    case _: IntegralType | DateType | TimestampType | TimestampNTZType | _: AnsiIntervalType => true
    case _ => false
  }

  private def extreme(values: Seq[Expression])(of: Seq[Expression] => Expression): Expression = {
    // Sums that Spark takes to be the same by their terms may differ in their values.
    val different = values.distinct
    if (different.size == 1) different.head else of(different)
  }

  private def trusted(tests: Seq[RangeTest]): Map[Side, Expression] =
    Sides.flatMap { side =>
      tests.flatMap(_.trusted.get(side)).distinct.reduceOption[Expression](And(_, _)).map(side -> _)
    }.toMap
}
