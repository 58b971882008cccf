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

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.BasePredicate
import org.apache.spark.sql.rangejoin.condition.UnknownBounds

/** The predicates of a [[PairTestSpec]], over the streamed row followed by the buffered row. */
final case class PairTests(
    condition: BasePredicate,
    upperByValue: Option[BasePredicate] = None,
    lowerByValue: Option[BasePredicate] = None,
    unknown: UnknownBounds = UnknownBounds.All,
    areNeighbours: Boolean = false
)

object PairTests {

  /** The predicates of expressions bound to the streamed row followed by the buffered row. */
  def create(spec: PairTestSpec): PairTests = PairTests(
    PairPredicate.create(spec.condition),
    spec.upperByValue.map(PairPredicate.create),
    spec.lowerByValue.map(PairPredicate.create),
    spec.unknown,
    spec.areNeighbours
  )
}
