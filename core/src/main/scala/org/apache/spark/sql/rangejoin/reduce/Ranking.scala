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

package org.apache.spark.sql.rangejoin.reduce

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
