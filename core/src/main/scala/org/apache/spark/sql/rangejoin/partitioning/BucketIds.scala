// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

/**
 * Numbers for buckets such that the hash partitioning of the shuffle deals them out evenly: bucket `i`
 * goes to partition `i` modulo the number of partitions.
 */
object BucketIds {
  import org.apache.spark.sql.catalyst.expressions.Murmur3HashFunction
  import org.apache.spark.sql.types.IntegerType

  private val Seed = 42L

  def partitionOf(id: Int, partitions: Int): Int =
    Math.floorMod(Murmur3HashFunction.hash(id, IntegerType, Seed).toInt, partitions)

  def apply(buckets: Int, partitions: Int): Array[Int] = {
    val ids = new Array[Int](buckets)
    val next = Array.tabulate(partitions)(identity) // the next bucket of each partition
    var (id, left) = (0, buckets)
    while (left > 0) {
      val partition = partitionOf(id, partitions)
      if (next(partition) < buckets) {
        ids(next(partition)) = id
        next(partition) += partitions
        left -= 1
      }
      id += 1
    }
    ids
  }
}
