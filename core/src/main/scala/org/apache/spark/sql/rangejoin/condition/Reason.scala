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
import org.apache.spark.sql.types.DataType

/**
 * Why a join is left to stock Spark. Each reason is a value, so that tests can name it, and has a
 * message that a user can act on; the log shows it at debug level.
 */
sealed trait Reason {
  def message: String
}

object Reason {

  /** The join has no condition beside its equi keys. */
  case object NoCondition extends Reason {
    override def message: String = "the join has no condition beside its equi keys"
  }

  /** No conjunct compares an expression of one side with an expression of the other. */
  case object NoRangePredicate extends Reason {
    override def message: String =
      "no part of the condition compares (<, <=, >, >=) a value of one side with a value of the " +
        "other; write the range as such comparisons, joined by AND"
  }

  /** The range is bounded in one direction only. */
  case class OneSidedRange(predicates: Seq[Expression]) extends Reason {
    override def message: String =
      s"the range has a bound in one direction only (${predicates.map(_.sql).mkString(" AND ")}); " +
        "add the other bound, such as a maximum distance, if there is one"
  }

  /** The bounds are of a type the operator has no order-preserving encoding for. */
  case class UnsupportedRangeType(predicate: Expression, dataType: DataType) extends Reason {
    override def message: String =
      s"the range compares values of type ${dataType.sql} in ${predicate.sql}; " +
        "supported are integral numbers, DATE, TIMESTAMP and TIMESTAMP_NTZ"
  }

  /** A difference of the two sides that cannot be rewritten without changing results. */
  case class InexactDifference(predicate: Expression) extends Reason {
    override def message: String =
      s"${predicate.sql} bounds a difference that wraps around on overflow, or is not exact, so " +
        "that it is not the same as a range; compare the columns instead: r.y BETWEEN l.y - d " +
        "AND l.y + d"
  }

  /** The condition gives different answers when evaluated again. */
  case class Nondeterministic(predicate: Expression) extends Reason {
    override def message: String =
      s"${predicate.sql} is nondeterministic, and has to be evaluated once for every pair"
  }

  /** The join type is not taken. */
  case class UnsupportedJoinType(joinType: JoinType) extends Reason {
    override def message: String =
      s"a ${joinType.sql} join is not taken; supported are INNER joins"
  }
}
