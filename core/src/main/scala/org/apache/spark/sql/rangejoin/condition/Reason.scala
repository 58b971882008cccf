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

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.JoinType

/**
 * Why a join is left to stock Spark. Each reason is a value, so that tests can name it, and has a
 * message that a user can act on; the log shows it at debug level.
 */
sealed trait Reason {
  def message: String
}

object Reason {

  /** There is no range; the join could run as one of which neither test is there. */
  sealed trait NoRange extends Reason

  /** The join has no condition beside its equi keys. */
  case object NoCondition extends NoRange {
    override def message: String = "the join has no condition beside its equi keys"
  }

  /** No conjunct compares an expression of one side with an expression of the other. */
  case object NoRangePredicate extends NoRange {
    override def message: String =
      "no part of the condition compares (<, <=, >, >=) a value of one side with a value of the " +
        "other; write the range as such comparisons, joined by AND"
  }

  /** A difference of the two sides that cannot be rewritten without changing results. */
  case class InexactDifference(predicate: Expression) extends NoRange {
    override def message: String =
      s"${predicate.sql} bounds a difference that is no range: one limit alone of a difference " +
        "that wraps around on overflow, or a difference of a type that is not rewritten; compare " +
        "the columns instead: r.y BETWEEN l.y - d AND l.y + d"
  }

  /** The condition gives different answers when evaluated again. */
  case class Nondeterministic(predicate: Expression) extends Reason {
    override def message: String =
      s"${predicate.sql} is nondeterministic, and has to be evaluated once for every pair"
  }

  /** The join type is not taken. */
  case class UnsupportedJoinType(joinType: JoinType) extends Reason {
    override def message: String =
      s"a ${joinType.sql} join is not taken; supported are INNER, LEFT OUTER, RIGHT OUTER, FULL " +
        "OUTER, LEFT SEMI and LEFT ANTI joins, and EXISTS and IN"
  }

  /** The broadcast side is one whose rows come out without a match, or are all that comes out. */
  case class PreservedSideBroadcast(joinType: JoinType, broadcast: Side) extends Reason {
    override def message: String =
      s"the rows of the broadcast side are kept by the ${joinType.sql} join, so that no task knows " +
        "by itself which of them have a match; broadcast the other side where the join type allows"
  }

  /** The broadcast is built before the subquery has a result. */
  case class SubqueryInBuildBound(bound: Expression) extends Reason {
    override def message: String =
      s"$bound, a bound of the broadcast side, has a subquery; compute it as a column first"
  }

  /** Kryo takes registered classes only, and the index has classes of its own. */
  case object UnregisteredIndex extends Reason {
    override def message: String =
      "spark.kryo.registrationRequired is true, and the classes of a range index are not registered; " +
        "set it to false, or leave the join to be sorted"
  }

  /** The join's hashed broadcast serves another purpose. */
  case object DynamicPruning extends Reason {
    override def message: String =
      "a dynamic partition pruning filter reuses the hashed broadcast of this join"
  }
}
