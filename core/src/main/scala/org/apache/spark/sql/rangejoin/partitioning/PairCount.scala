// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

/** How many pairs are in a range, by samples of both sides. */
private[rangejoin] object PairCount {

  /** The weight of the pairs of two samples whose positions meet. */
  def apply(owner: SideSample, copied: SideSample, ordering: Ordering[Position]): Double = {
    val starts = new Cumulated(owner.positions, owner.weight, ordering)
    val ends = owner.high.fold(starts)(new Cumulated(_, owner.weight, ordering))
    copied.weight.indices.map { i =>
      val begun = copied.high.fold(starts.total)(high => starts.upTo(high(i)))
      val ended = copied.low.fold(0.0)(low => ends.before(low(i)))
      math.max(0.0, begun - ended) * copied.weight(i)
    }.sum
  }

  /** Sums of weights by position. */
  private class Cumulated(
      positions: Array[Position],
      weights: Array[Double],
      ordering: Ordering[Position]) {
    private val order = positions.indices.toArray.sortBy(positions(_))(ordering)
    private val sums = order.scanLeft(0.0)((sum, i) => sum + weights(i))

    def total: Double = sums.last

    def upTo(position: Position): Double = sums(count(ordering.lteq(_, position)))

    def before(position: Position): Double = sums(count(ordering.lt(_, position)))

    private def count(holds: Position => Boolean): Int = {
      var (low, high) = (0, order.length)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (holds(positions(order(middle)))) low = middle + 1 else high = middle
      }
      low
    }
  }
}
