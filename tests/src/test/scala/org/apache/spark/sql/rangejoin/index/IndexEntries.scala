// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Rows of an index, drawn at random, and what is asked of it. */
private[index] object IndexEntries {
  final case class Entry(key: Option[Int], sort: Option[Long], evict: Option[Long])
  final case class Query(key: Int, lower: Long, upper: Long)

  /** The tests that are made, and how many bits their bounds lack. */
  final case class Tests(
      lower: Boolean,
      upper: Boolean,
      points: Boolean,
      sortPrefix: Int = 0,
      evictPrefix: Int = 0) {
    override def toString: String = {
      val shape =
        if (points) "points"
        else if (lower && upper) "intervals"
        else if (lower) "ends"
        else "begins"
      val bits = sortPrefix + evictPrefix
      if (bits == 0) shape else s"$shape, of which $sortPrefix and $evictPrefix bits are unknown"
    }
  }

  sealed abstract class Keys(val dataType: DataType) {
    def value(key: Int): Any
  }
  case object Keyless extends Keys(LongType) {
    override def value(key: Int): Any = key.toLong
  }
  case object DenseLongs extends Keys(LongType) {
    override def value(key: Int): Any = key.toLong - 3
  }
  case object SparseLongs extends Keys(LongType) {
    override def value(key: Int): Any =
      if (key == 0) Long.MinValue else if (key == 1) Long.MaxValue else key * 0x123456789abcdL
  }
  case object Rows extends Keys(StringType) {
    override def value(key: Int): Any = UTF8String.fromString(s"key $key ${"x" * (key % 11)}")
  }

  /** How long intervals are that begin 20 apart, so that none ends before an earlier one. */
  val RisingLengths = Seq[(String, Random => () => Int)](
    "one length, overlapping" -> (_ => () => 100),
    "one length" -> { random =>
      val length = 1 + random.nextInt(20)
      () => length
    },
    "several lengths, disjoint" -> { random =>
      val most = 1 + random.nextInt(20)
      () => random.nextInt(most)
    }
  )

  /** What there may be beside such intervals. */
  val Others = Seq(
    "nothing" -> Nil,
    "an unknown end" -> Seq(Entry(Some(1), Some(3000), Some(Long.MaxValue))),
    "a long interval" -> Seq(Entry(Some(0), Some(500), Some(2500))))

  /**
   * Rows and queries.
   *
   * @param domain of the bounds: narrow or wide
   * @param hasExtremes whether some of the bounds are at the ends of a long
   * @param isSorted whether rows come by sort bound
   */
  final case class RandomEntries(
      random: Random,
      mostKeys: Int,
      domain: Int,
      hasExtremes: Boolean = false,
      isSorted: Boolean = false) {
    private val keys = 1 + random.nextInt(mostKeys)
    private val length = Seq(0, 5, 40, 100000)(random.nextInt(4))
    private val size = Seq(0, 1, 17, 100, 700)(random.nextInt(5))

    private def bound(): Long =
      if (hasExtremes && random.nextInt(10) == 0) {
        Seq(Long.MinValue, Long.MinValue + 1, Long.MaxValue - 1, Long.MaxValue)(random.nextInt(4))
      } else random.nextInt(domain) - domain / 2L

    private def orNull[T](value: T): Option[T] =
      if (random.nextInt(30) == 0) None else Some(value)

    private def end(begin: Long): Long = begin + random.nextInt(length + 1)

    val rows: Seq[Entry] = {
      val drawn = Seq.fill(size) {
        val begin = bound()
        val to = if (hasExtremes || random.nextInt(20) == 0) bound() else end(begin)
        Entry(orNull(random.nextInt(keys)), orNull(begin), orNull(to))
      }
      if (isSorted) drawn.sortBy(_.sort) else drawn
    }

    val queries: Seq[Query] = Seq.fill(40) {
      val begin = bound()
      Query(random.nextInt(keys + 1), begin, if (hasExtremes) bound() else end(begin) - 1)
    }
  }

  object RandomEntries {

    /** Of few keys and of many, in every domain, with extremes and without, in order and in none. */
    def ofEveryKind(random: Random, times: Int): Seq[RandomEntries] = for {
      mostKeys <- Seq(4, 200)
      domain <- Seq(3, 50, 100000)
      hasExtremes <- Seq(false, true)
      isSorted <- Seq(false, true)
      _ <- 1 to times
    } yield RandomEntries(random, mostKeys, domain, hasExtremes, isSorted)
  }
}
