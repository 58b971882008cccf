// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.catalyst.expressions.SortOrder

/** How matches that tie are ranked. */
sealed abstract class Ranking(name: String) extends Serializable {
  override def toString: String = name
}

object Ranking {

  /** Each has a rank of its own, in any order. */
  case object RowNumber extends Ranking("row_number")

  /** All have the rank of the first, and the next rank counts them. */
  case object Rank extends Ranking("rank")

  /** All have the rank of the first, and the next rank is the next number. */
  case object DenseRank extends Ranking("dense_rank")

  /** What finds the candidates of `row_number`: rows that tie by the first column are ranked by the others. */
  def ofRowNumber(order: Seq[SortOrder]): Ranking = if (order.size == 1) RowNumber else Rank
}
