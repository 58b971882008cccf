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

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  If,
  IsNull,
  Literal,
  Or,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.line.KeyHash
import org.apache.spark.sql.types.{DataType, IntegerType}

/**
 * What tells where a row of one side belongs: its bounds and, last, the hash of its keys, NULL where a
 * key is. Rows of equal keys have equal hashes, by Spark's own function, which is all that is asked of
 * keys: what is true of their equality (collations, zeros, NaN) is not repeated here. Keys that share a
 * hash are divided together.
 *
 * @param output what the rows consist of
 */
final class KeyedColumns(keys: Seq[Expression], bounds: SideBounds, output: Seq[Attribute])
    extends Serializable {

  val places: BoundColumns = bounds.places

  private val expressions: Seq[Expression] = {
    val hash = KeyHash.of(keys)
    val isNull = keys.filter(_.nullable).map(IsNull(_): Expression).reduceOption(Or(_, _))
    val key = isNull.fold[Expression](hash)(If(_, Literal(null, IntegerType), hash))
    bindReferences(bounds.columns :+ key, output)
  }

  private val hashAt: Int = expressions.size - 1

  def size: Int = expressions.size

  def types: Array[DataType] = expressions.map(_.dataType).toArray

  /** Makes these columns of a row, always the same object; for one task. */
  def projection(): UnsafeProjection = UnsafeProjection.create(expressions)

  def hasKey(row: InternalRow): Boolean = !row.isNullAt(hashAt)

  def hash(row: InternalRow): Int = row.getInt(hashAt)
}

/**
 * Where rows of a join with keys go: each to a ''place'', which becomes a partition. The rows of some keys
 * have buckets of the range, each of which is in a place; all rows of another key are in one place.
 *
 * A row of the owner goes to one place. A row of the other side goes to each place in which there may be
 * a match for it, and never to the same one twice, though two buckets may be there. So each pair meets
 * once, and no bucket is needed among the join keys.
 *
 * @param hashes of the keys that have places of their own, rising
 * @param layouts by such a key, its buckets, whose ids are places
 * @param firstOther the first of the places of all other keys
 */
final class KeyedLayout(
    hashes: Array[Int],
    layouts: Array[BucketLayout],
    firstOther: Int,
    numOthers: Int
) extends Serializable {

  val numPlaces: Int = firstOther + numOthers

  private val isDistinct: Array[Boolean] = layouts.map { of =>
    val ids = Array.tabulate(of.numBuckets)(of.id)
    ids.distinct.length == ids.length
  }

  /** The buckets of a key, negative where it has none. */
  def find(hash: Int): Int = Arrays.binarySearch(hashes, hash)

  def buckets(at: Int): BucketLayout = layouts(at)

  /** Whether all buckets of a key are in different places. */
  def areDistinct(at: Int): Boolean = isDistinct(at)

  /** The place of a key without buckets. */
  def placeOf(hash: Int): Int =
    firstOther + Math.floorMod(KeyedLayout.mixed(hash), numOthers)

  /** Any place, always the same for a number. */
  def anyPlace(number: Int): Int = Math.floorMod(KeyedLayout.mixed(number), numPlaces)
}

object KeyedLayout {

  /** Keys of one partition have hashes that are alike; the upper bits of these differ. */
  private def mixed(hash: Int): Int = {
    val a = (hash ^ (hash >>> 16)) * 0x85ebca6b
    val b = (a ^ (a >>> 13)) * 0xc2b2ae35
    b ^ (b >>> 16)
  }
}

/**
 * Finds the places of rows. A place follows from the row, the number of its map task and the layout alone,
 * so that it is the same when the task runs again.
 *
 * @param keepsUnmatched whether rows of the owner appear in the result without a match; others that can
 *   have none, and those of the other side, are dropped
 */
final class KeyedAssigner(
    layout: KeyedLayout,
    columns: KeyedColumns,
    isOwner: Boolean,
    keepsUnmatched: Boolean
) extends Serializable {

  def start(partition: Int): Assignment = new Assignment(partition)

  final class Assignment(partition: Int) {
    private val project = columns.projection()
    private val bounds = columns.places
    private var places = new Array[Int](16)
    private var size = 0

    def place(i: Int): Int = places(i)

    /** Finds the places of a row; returns how many there are. */
    def assign(row: InternalRow): Int = {
      size = 0
      val of = project(row)
      if (!columns.hasKey(of)) addUnmatched(row)
      else {
        val hash = columns.hash(of)
        val at = layout.find(hash)
        if (at < 0) add(layout.placeOf(hash))
        else if (bounds.hasNull(of)) addUnmatched(row)
        else if (isOwner) add(bounds.ownerId(of, layout.buckets(at)))
        else addCopies(at, of)
      }
      size
    }

    private def addCopies(at: Int, of: UnsafeRow): Unit = {
      val isDistinct = layout.areDistinct(at)
      bounds.foreachCopy(of, layout.buckets(at)) { place =>
        if (isDistinct || !contains(place)) add(place)
      }
    }

    /** A row that matches nothing; those of one key, or of none, are scattered. */
    private def addUnmatched(row: InternalRow): Unit =
      if (isOwner && keepsUnmatched) add(layout.anyPlace(row.hashCode() ^ partition))

    private def contains(place: Int): Boolean = {
      var i = 0
      while (i < size && places(i) != place) i += 1
      i < size
    }

    private def add(place: Int): Unit = {
      if (size == places.length) places = Arrays.copyOf(places, 2 * size)
      places(size) = place
      size += 1
    }
  }
}
