// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.catalyst.plans._

/**
 * A join type and how it is written.
 *
 * @param name the join type, as the report counts it
 * @param joinSql the type of the join when it is written as one; what a subquery stands for is the
 *   left semi join on the same condition
 */
sealed abstract class JoinForm(val name: String, val joinSql: String, val logical: JoinType) {

  /** Whether the columns of the right side are in the output. */
  def showsRight: Boolean = true

  override def toString: String = name
}

object JoinForm {
  case object InnerForm extends JoinForm("inner", "JOIN", Inner)
  case object LeftForm extends JoinForm("left outer", "LEFT JOIN", LeftOuter)
  case object RightForm extends JoinForm("right outer", "RIGHT JOIN", RightOuter)
  case object FullForm extends JoinForm("full outer", "FULL OUTER JOIN", FullOuter)
  case object SemiForm extends JoinForm("left semi", "LEFT SEMI JOIN", LeftSemi) {
    override def showsRight: Boolean = false
  }
  case object AntiForm extends JoinForm("left anti", "LEFT ANTI JOIN", LeftAnti) {
    override def showsRight: Boolean = false
  }
  case object ExistenceForm extends JoinForm("existence", "LEFT SEMI JOIN", LeftSemi) {
    override def showsRight: Boolean = false
  }

  val all: Seq[JoinForm] =
    Seq(InnerForm, LeftForm, RightForm, FullForm, SemiForm, AntiForm, ExistenceForm)
}

/** How the rows of a join are asked for. */
sealed trait Asked

object Asked {

  /** As a join. */
  case object ByJoin extends Asked

  /** `SELECT ..., (SELECT aggregate ...) AS c0`, or the like in WHERE: the left outer join of an aggregate. */
  case object AsValue extends Asked

  /** `WHERE [NOT] EXISTS (...)`; left semi and left anti only. */
  case object InWhere extends Asked

  /** `SELECT ..., [NOT] EXISTS (...) AS found`: a column of an existence join. */
  case class AsColumn(negated: Boolean) extends Asked

  /** `WHERE [NOT] EXISTS (...) OR l.v > limit`. */
  case class OrMore(negated: Boolean, limit: Int) extends Asked

  /** `WHERE l.k0 IN (...) OR l.v > limit`. */
  case class InOrMore(limit: Int) extends Asked
}
