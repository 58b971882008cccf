// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.{CollapseProject, ColumnPruning}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/** Reads a sample of the bounds of both sides, in one job. */
private[rangejoin] object BoundSampling {

  private val RowsPerPart = 60

  private val LeastRows = 2000L

  /** They are sorted on the driver. */
  private val MostRows = 250000L

  /** How many rows of each side to draw, to split them into `parts` buckets or partitions. */
  def sizeFor(parts: Long): Int = (parts * RowsPerPart).max(LeastRows).min(MostRows).toInt

  /**
   * Where a sample of a side is drawn from.
   *
   * @param draw draws about a given number of rows, as [[Reservoir.toBytes]] writes them
   * @param fields of such a row
   * @param bounds where they are in it, by range; a row with a NULL in those of the first one matches nothing
   * @param keyAt where the hash of the keys is, likewise NULL, if there are keys
   */
  case class Side(
      draw: Int => RDD[Array[Byte]],
      fields: Int,
      bounds: Seq[BoundColumns],
      keyAt: Option[Int]) {

    def hasNull(row: InternalRow): Boolean =
      keyAt.exists(row.isNullAt) || bounds.head.hasNull(row)
  }

  /** A plan of the bounds of some ranges, one after the other. */
  def side(plan: SparkPlan, ranges: Seq[SideBounds]): Side = {
    val first = ranges.scanLeft(0)(_ + _.columns.size)
    val bounds = ranges.zip(first).map { case (bounds, at) => bounds.ordinalsFrom(at) }
    Side(DrawRowsExec.drawn(plan, _, bounds.head.all), plan.output.size, bounds, None)
  }

  /** Rows that have been shuffled by keys. */
  def side(rows: RDD[InternalRow], columns: KeyedColumns): Side = {
    def draw(size: Int): RDD[Array[Byte]] = {
      val ofPartition = Reservoir.sizeFor(size, rows.getNumPartitions)
      rows.mapPartitionsWithIndex { (index, rows) =>
        val reservoir = new Reservoir(ofPartition, index, columns.types)
        val project = columns.projection()
        rows.foreach(row => if (reservoir.draws()) reservoir.take(project(row)))
        Iterator(reservoir.toBytes)
      }
    }
    Side(draw(_), columns.size, Seq(columns.bounds), columns.keyAt)
  }

  /**
   * About `size` rows of either side, all rows with the same chance in each partition; one sample
   * for each range.
   */
  def sample(owner: Side, copied: Side, size: Int): (Seq[SideSample], Seq[SideSample]) = {
    val (ofOwner, ofCopied) = (owner.draw(size), copied.draw(size))
    // One job: the tasks of one side need not wait for the last of the other.
    val drawn = JobOfQuery.run(
      new UnionRDD(ofOwner.sparkContext, Seq(ofOwner, ofCopied)),
      (drawn: Iterator[Array[Byte]]) => drawn.toVector.head)
    val (first, others) = drawn.splitAt(ofOwner.getNumPartitions)
    (samples(first, owner), samples(others, copied))
  }

  /** @param drawn by partition, as [[Reservoir.toBytes]] writes it */
  private def samples(drawn: Array[Array[Byte]], side: Side): Seq[SideSample] = {
    val partitions = drawn.map(Reservoir.read(_, side.fields))
    // Each row beside the number of rows that it stands for.
    val sampled = partitions.flatMap { case (count, rows) =>
      rows.map(row => (row, count.toDouble / rows.length))
    }
    // All rows of a partition may be too wide to be kept.
    val tooWide = partitions.collect { case (count, rows) if rows.isEmpty => count.toDouble }.sum
    val (unmatched, known) = sampled.partition { case (row, _) => side.hasNull(row) }
    val (rows, weight) = known.unzip
    val keys = side.keyAt.fold(Array.emptyIntArray)(at => rows.map(_.getInt(at)))
    val others = tooWide + unmatched.map(_._2).sum
    side.bounds.map(SideSample.of(rows, weight, _, others, keys))
  }
}

/**
 * Rows of one side that stand for all of it.
 *
 * @param low by row, its low end; None where the range has none
 * @param weight by row, how many rows it stands for
 * @param others the number of rows of which it is not known where they are, or that match nothing
 * @param keys by row, the hash of its keys; empty where there are none
 */
case class SideSample(
    low: Option[Array[Position]],
    high: Option[Array[Position]],
    weight: Array[Double],
    others: Double = 0,
    keys: Array[Int] = Array.empty
) {
  def rows: Double = weight.sum + others

  /**
   * How many rows share the position of a row, on average: of all pairs of rows as large a part is taken to do so as of
   * those of the sample.
   */
  def ties: Double = {
    val known = positions.indices.filter(i => positions(i) != null && positions(i).isKnown)
    val sharing =
      known.groupBy(positions(_)).values.map(same => same.size * (same.size - 1.0)).sum
    if (known.size < 2) 1.0
    else 1.0 + sharing / known.size / (known.size - 1) * (known.map(weight(_)).sum - 1)
  }

  /** Where rows are, by one end. */
  def positions: Array[Position] = low.orElse(high).get

  /**
   * The same rows, as if those that are known had no match in another cell.
   *
   * @param mayBeUnknown whether those at an extreme may be unknown
   */
  def asPoints(mayBeUnknown: Boolean): SideSample = {
    def opposite(ends: Array[Position], unknown: Long) =
      if (!mayBeUnknown) ends
      else ends.map(end => if (end == null || end.isKnown) end else Position(unknown, null))
    copy(
      low = low.orElse(high.map(opposite(_, Long.MinValue))),
      high = high.orElse(low.map(opposite(_, Long.MaxValue))))
  }

  /** Whether a row has positions. */
  def isKnown(row: Int): Boolean = (low ++ high).forall(_(row) != null)

  /** Some of the rows. */
  def of(rows: Seq[Int]): SideSample = {
    def positions(bound: Option[Array[Position]]) = bound.map(all => rows.map(all(_)).toArray)
    SideSample(positions(low), positions(high), rows.map(weight(_)).toArray)
  }

  private lazy val rowsByKey: Map[Int, Seq[Int]] = keys.indices.groupBy(keys(_))

  /** The rows of a key. */
  def ofKey(key: Int): SideSample = of(rowsByKey.getOrElse(key, Nil))
}

object SideSample {

  /**
   * Rows of the columns of a side.
   *
   * @param bounds where they are; a row one of whose bounds is NULL has no position
   */
  def of(
      rows: Array[_ <: InternalRow],
      weight: Array[Double],
      bounds: BoundColumns,
      others: Double = 0,
      keys: Array[Int] = Array.empty): SideSample = {
    def positions(at: Int): Array[Position] =
      rows.map(row => if (bounds.hasNull(row)) null else bounds.position(row, at))
    SideSample(bounds.low.map(positions), bounds.high.map(positions), weight, others, keys)
  }
}

/**
 * The query that a sample of a side is drawn from: a few expressions of its rows, and as little else as
 * possible.
 */
object SamplePlan {

  private val isPlanning = ThreadLocal.withInitial[java.lang.Boolean](() => false)

  /** Whether this thread plans a sample. Such a plan is not adaptive: nobody would wait for what its joins wait for. */
  def isPlanningSample: Boolean = isPlanning.get

  /** The plan of the query. */
  private[partitioning] def apply(
      session: SparkSession,
      columns: Seq[Expression],
      side: LogicalPlan): SparkPlan = {
    val named = columns.zipWithIndex.map { case (e, i) => Alias(e, s"bound_$i")() }
    val before = isPlanning.get
    isPlanning.set(true)
    try QueryExecution.prepareExecutedPlan(session, pruned(Project(named, side)))
    finally isPlanning.set(before)
  }

  /**
   * Without the columns that are not needed. A query stage stays directly below its join: strategies look
   * for it there, and a broadcast has no rows for a projection.
   */
  private def pruned(plan: LogicalPlan): LogicalPlan = {
    val next = CollapseProject(ColumnPruning(plan))
    if (!next.fastEquals(plan)) pruned(next)
    else {
      plan.transformUp { case join: Join =>
        join.withNewChildren(join.children.map {
          case Project(columns, stage: LogicalQueryStage)
              if columns.forall(_.isInstanceOf[Attribute]) => stage
          case other => other
        })
      }
    }
  }
}
