// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import scala.collection.mutable.{ArrayBuffer, HashSet}

import org.apache.spark.sql.rangejoin.partitioning.{
  BucketLayout,
  CellSearch,
  LayoutPlanner,
  Lengths,
  PartitionedRange,
  SideSample
}

/**
 * Decides which keys are split, and where their buckets and all other keys go. A key with clearly more rows than a
 * partition should have is split into buckets (see [[LayoutPlanner]]); buckets, and keys that fill a good part of a
 * partition, are then packed, the largest first, each into the first partition with room. All other keys go by their
 * hash to partitions of their own.
 *
 * All of it is a matter of speed alone, but for the lengths of the owner's rows.
 *
 * @param target how many rows of both sides a partition should have
 * @param forced if positive, every key gets this number of buckets, in as many partitions
 */
final class KeyedLayoutPlanner(
    range: PartitionedRange,
    owner: SideSample,
    copied: SideSample,
    target: Double,
    forced: Int
) {
  import KeyedLayoutPlanner._

  private val weights: Seq[(Int, Double)] = {
    val rows = Seq(owner, copied).flatMap(side => side.keys.zip(side.weight))
    rows.groupBy(_._1).toSeq.map { case (hash, ofKey) => hash -> ofKey.map(_._2).sum }
      .sortBy { case (hash, weight) => (-weight, hash) }
  }

  /** Keys that get buckets, the heaviest first. */
  private val skewed: Seq[(Int, Double)] = weights.takeWhile { case (_, weight) =>
    forced > 0 || weight > SkewedKey * target
  }.take(MostKeys)

  /** Keys that are not split, and yet too large to be placed by their hash. */
  private val large: Seq[(Int, Double)] =
    weights.drop(skewed.size).takeWhile(_._2 > LargeKey * target).take(MostKeys - skewed.size)

  private val planners: Seq[LayoutPlanner] = skewed.map { case (hash, weight) =>
    new LayoutPlanner(
      range.dataType,
      owner.ofKey(hash),
      copied.ofKey(hash),
      if (forced > 0) forced else math.ceil(weight / target).toInt,
      forced > 0
    )
  }

  def hashes: Array[Int] = skewed.map(_._1).toArray

  /** By skewed key, how its range is split; lengths are to be measured in these cells. */
  def cells: Array[CellSearch] = planners.map(_.cells).toArray

  /** The layout, given the lengths of all rows of the owner, by skewed key. */
  def plan(lengths: Seq[Lengths]): KeyedPlan = {
    val layouts = planners.zip(lengths).map { case (planner, lengthsOfKey) =>
      planner.layout(lengthsOfKey, 1)
    }
    val loads = planners.zip(layouts).map { case (planner, layout) => planner.loads(layout) }
    val (ids, partitions) = if (forced > 0) inTurn(layouts, loads) else packed(loads)
    val one = BucketLayout.single(range.dataType, 0)
    val ofKeys = (layouts ++ large.map(_ => one)).zip(ids).map { case (layout, at) =>
      layout.withIds(at)
    }
    val byHash = (skewed ++ large).map(_._1).zip(ofKeys).sortBy(_._1)
    val others = weights.drop(byHash.size).map(_._2).sum
    val numOthers = math.max(1, math.ceil(others / target).toInt)
    val layout = new KeyedLayout(
      byHash.map(_._1).toArray,
      byHash.map(_._2).toArray,
      one,
      partitions.size,
      numOthers)
    val scattered = if (range.preservesOwner) owner.others / layout.numPartitions else 0.0
    KeyedPlan(
      layout,
      skewed.size,
      layouts.map(_.numBuckets).sum,
      ((partitions :+ others / numOthers).max + scattered).toLong,
      owner.rows + copied.rows)
  }

  /** A bucket, or a key that is not split. */
  private case class Item(key: Int, bucket: Int, load: Double)

  /** By key and bucket its partition, and the loads of partitions. */
  private def packed(loads: Seq[Array[Double]]): (Seq[Array[Int]], Seq[Double]) = {
    val all = loads ++ large.map { case (_, weight) => Array(weight) }
    val items = for ((ofKey, key) <- all.zipWithIndex; (load, bucket) <- ofKey.zipWithIndex)
      yield Item(key, bucket, load)
    val ids = all.map(buckets => new Array[Int](buckets.length))
    val partitions = ArrayBuffer.empty[Double]
    val keys = ArrayBuffer.empty[HashSet[Int]]
    for (item <- items.sortBy(i => (-i.load, i.key, i.bucket))) {
      // Two buckets of a key in one partition act as one bucket, and only make copying slower.
      val found = partitions.indices.find { at =>
        partitions(at) + item.load <= target && !keys(at)(item.key)
      }
      val at = found.getOrElse {
        partitions += 0.0
        keys += HashSet.empty[Int]
        partitions.size - 1
      }
      partitions(at) += item.load
      keys(at) += item.key
      ids(item.key)(item.bucket) = at
    }
    (ids, partitions.toSeq)
  }

  private def inTurn(
      layouts: Seq[BucketLayout],
      loads: Seq[Array[Double]]): (Seq[Array[Int]], Seq[Double]) = {
    val partitions = Array.fill(forced)(0.0)
    val ids =
      for ((layout, key) <- layouts.zipWithIndex)
        yield Array.tabulate(layout.numBuckets) { bucket =>
          val at = (key + bucket) % forced
          partitions(at) += loads(key)(bucket)
          at
        }
    (ids, partitions.toSeq)
  }
}

object KeyedLayoutPlanner {

  /** A key is split if it has more than this many times the rows a partition should have. */
  private val SkewedKey = 1.25

  /** A key is packed if it has more than this part of the rows that a partition should have. */
  private val LargeKey = 0.1

  /** Every task has the layout, and a partition is looked for key by key. */
  private val MostKeys = 10000
}

/**
 * A layout, and what there is to say of it.
 *
 * @param skewedKeys how many keys have been split
 * @param buckets how many buckets they have
 * @param largest rows of the partition with most of them, of both sides, estimated
 * @param rows that have been looked at, of both sides
 */
case class KeyedPlan(
    layout: KeyedLayout,
    skewedKeys: Int,
    buckets: Int,
    largest: Long,
    rows: Double
)
