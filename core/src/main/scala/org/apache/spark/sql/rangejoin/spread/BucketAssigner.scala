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

package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, MutableProjection}

/**
 * Finds the buckets of rows, interpreted: what [[RangeBucketExec]] generates code for.
 *
 * @param bounds the columns of [[SideBounds]], bound to a row of this side
 * @param places where the bounds are among them
 * @param keepsNull whether a row whose bounds are NULL, which matches nothing, is kept
 * @param lengths counts the lengths of an owner of intervals; else null
 */
final class BucketAssigner(
    layout: BucketLayout,
    bounds: Seq[Expression],
    places: BoundColumns,
    keepsNull: Boolean,
    lengths: LengthCounter
) extends Serializable {

  /** An assigner for one partition. */
  def start(partition: Int): Assignment = new Assignment(partition)

  final class Assignment(partition: Int) {
    private val evaluate = MutableProjection.create(bounds)
    evaluate.initialize(partition)
    if (lengths != null) lengths.begin(partition)

    /** The bucket of the last row of the owner. */
    var ownerId: Int = _

    /** Finds the bucket of a row of the owner; returns whether it has one. */
    def owner(row: InternalRow): Boolean = {
      val values = evaluate(row)
      val hasNull = places.hasNull(values)
      ownerId =
        if (hasNull) layout.anyId(partition)
        else places.ownerId(values, layout, lengths)
      keepsNull || !hasNull
    }

    /** The buckets of a row of the other side. */
    def copies(row: InternalRow): Array[Int] = {
      val values = evaluate(row)
      if (places.hasNull(values)) Array.emptyIntArray
      else {
        val ids = Array.newBuilder[Int]
        places.foreachCopy(values, layout)(ids += _)
        ids.result()
      }
    }
  }
}
