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

import org.apache.spark.internal.config
import org.apache.spark.rdd.RDD
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.metric.{
  SQLMetric,
  SQLMetrics,
  SQLShuffleReadMetricsReporter,
  SQLShuffleWriteMetricsReporter
}
import org.apache.spark.sql.execution.{SQLExecution, ShuffledRowRDD, SparkPlan, UnsafeRowSerializer}
import org.apache.spark.sql.rangejoin.line.PlacedShuffle
import org.apache.spark.util.MutablePair
import org.apache.spark.{ShuffleDependency, SparkEnv}

/**
 * How heavy keys of a join are cut: what both sides of it have in common.
 *
 * @param millis how long it took to find out
 * @param partitions how many partitions of the join's shuffle are dealt out anew
 */
case class KeyedSpread(range: SpreadRange, plan: KeyedPlan, millis: Long, partitions: Int) {

  /** What EXPLAIN says of it. */
  private[spread] def description: Seq[String] = Seq(
    s"$partitions partitions of the shuffle into ${plan.layout.numPlaces}",
    s"${plan.heavyKeys} keys in ${plan.buckets} buckets",
    "boundaries: quantiles of both sides"
  )
}

/** A node that shuffles rows of heavy partitions again, to the places of a [[KeyedLayout]]. */
private[rangejoin] trait DividesRows extends SparkPlan {

  /** How they are divided; None where they are not, or where that is not known yet. */
  def spread: Option[KeyedSpread]

  /** Whether each row has one place, and those of the other side are copied. */
  def isOwner: Boolean

  protected lazy val readMetrics: Map[String, SQLMetric] =
    SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext)
  private lazy val writeMetrics: Map[String, SQLMetric] =
    SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numHeavyKeys" -> SQLMetrics.createMetric(sparkContext, "number of heavy keys"),
    "numBuckets" -> SQLMetrics.createMetric(sparkContext, "number of buckets"),
    "largestBucket" -> SQLMetrics.createMetric(
      sparkContext,
      "rows of the largest partition (estimated)"),
    "samplingTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to choose the buckets"),
    "numCopies" -> SQLMetrics.createMetric(sparkContext, "number of copies"),
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size")
  ) ++ readMetrics ++ writeMetrics

  /**
   * Rows by their places.
   *
   * @param keys of the join, over the columns of this node
   * @param rows of the heavy partitions
   */
  protected def divided(
      of: KeyedSpread,
      keys: Seq[Expression],
      rows: RDD[InternalRow]): RDD[InternalRow] = {
    postMetrics(of)
    val columns = new KeyedColumns(keys, of.range.bounds(isOwner), output)
    val assigner = new KeyedAssigner(of.plan.layout, columns, isOwner, of.range.keepsUnmatched)
    new ShuffledRowRDD(shuffled(assigner, of.plan.layout.numPlaces, rows), readMetrics)
  }

  private def postMetrics(of: KeyedSpread): Unit = {
    longMetric("numHeavyKeys").set(of.plan.heavyKeys)
    longMetric("numBuckets").set(of.plan.buckets)
    longMetric("largestBucket").set(of.plan.largest)
    if (isOwner) longMetric("samplingTime").set(of.millis)
    val posted = Seq("numHeavyKeys", "numBuckets", "largestBucket", "samplingTime")
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, posted.map(longMetric))
  }

  /** A shuffle whose keys are the places. */
  private def shuffled(
      assigner: KeyedAssigner,
      places: Int,
      rows: RDD[InternalRow]): ShuffleDependency[Int, InternalRow, InternalRow] = {
    val copies = longMetric("numCopies")
    val copiesRows = DividesRows.copiesRows(places)
    val placed = rows.mapPartitionsWithIndexInternal { (index, rows) =>
      new PlacedRows(rows, assigner.start(index), copiesRows, copies)
        .asInstanceOf[Iterator[Product2[Int, InternalRow]]]
    }
    PlacedShuffle.of(
      placed,
      places,
      new UnsafeRowSerializer(output.size, longMetric("dataSize")),
      ShuffleExchangeExec.createShuffleWriteProcessor(writeMetrics)
    )
  }
}

private object DividesRows {

  /** Whether the shuffle holds on to rows; Spark's own writers write them at once. */
  def copiesRows(places: Int): Boolean = SparkEnv.get.shuffleManager match {
    case _: SortShuffleManager =>
      places > SparkEnv.get.conf.get(config.SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD) &&
      places > SortShuffleManager.MAX_SHUFFLE_OUTPUT_PARTITIONS_FOR_SERIALIZED_MODE
    case _ => true
  }
}

/**
 * Rows with their places; a row comes once for each.
 *
 * @param copiesRows whether a row has to stay what it is when the next one is asked for
 */
private final class PlacedRows(
    rows: Iterator[InternalRow],
    assignment: KeyedAssigner#Assignment,
    copiesRows: Boolean,
    copies: SQLMetric
) extends Iterator[Product2[Int, InternalRow]] {
  private val pair = new MutablePair[Int, InternalRow]()
  private var row: InternalRow = _
  private var at = 0
  private var count = 0

  override def hasNext: Boolean = {
    while (at >= count && rows.hasNext) {
      row = rows.next()
      count = assignment.assign(row)
      at = 0
      if (count > 1) copies.add(count - 1)
    }
    at < count
  }

  override def next(): Product2[Int, InternalRow] = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    val place = assignment.place(at)
    at += 1
    if (copiesRows) (place, row.copy()) else pair.update(place, row)
  }
}
