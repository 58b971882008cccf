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
import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.metric.{
  SQLMetric,
  SQLMetrics,
  SQLShuffleReadMetricsReporter,
  SQLShuffleWriteMetricsReporter
}
import org.apache.spark.sql.execution.{SQLExecution, ShuffledRowRDD, SparkPlan, UnsafeRowSerializer}
import org.apache.spark.sql.rangejoin.kernel.GuardedValue
import org.apache.spark.sql.rangejoin.line.PlacedShuffle
import org.apache.spark.util.MutablePair
import org.apache.spark.{ShuffleDependency, SparkEnv}

/**
 * How heavy keys of a join are cut: what both sides of it have in common.
 *
 * @param millis how long it took to find out
 * @param partitions how many partitions of the join's shuffle are dealt out anew
 */
case class KeyedSpread(range: SpreadRange, plan: KeyedPlan, millis: Long, partitions: Int)

/**
 * One side of a join with keys that has been shuffled, some partitions of which are too large: their rows
 * are shuffled again, to the places of a [[KeyedLayout]], and all other partitions are passed on as they are.
 * The partitions of the result are those others first, and then the places.
 *
 * Rows stay what they are: a place is a partition, and is not among the columns. No row is with all
 * others of its key any more, so that the join above must be all that needs it.
 *
 * @param keys of the join, over the columns of the inputs
 * @param bounds of this side, likewise
 * @param spread None while it is looked for whether the plan may have this node
 * @param inputs the partitions that stay as they are, if there are any; those that are divided
 */
case class BucketShuffleExec(
    isOwner: Boolean,
    keys: Seq[Expression],
    bounds: Seq[Expression],
    @transient spread: Option[KeyedSpread],
    inputs: Seq[SparkPlan]
) extends SparkPlan {

  override def children: Seq[SparkPlan] = inputs

  override def output: Seq[Attribute] = inputs.head.output

  override def producedAttributes: AttributeSet = AttributeSet.empty

  override lazy val outputPartitioning: Partitioning = UnknownPartitioning(
    spread.fold(0)(_.plan.layout.numPlaces) +
      inputs.init.map(_.outputPartitioning.numPartitions).sum)

  override def stringArgs: Iterator[Any] = Iterator(
    if (isOwner) "owner" else "copies",
    keys.mkString("[", ", ", "]"),
    bounds.filterNot(_.isInstanceOf[GuardedValue]).mkString("[", ", ", "]")
  ) ++ spread.iterator.flatMap(s =>
    Iterator(
      s"${s.partitions} partitions of the shuffle into ${s.plan.layout.numPlaces}",
      s"${s.plan.heavyKeys} keys in ${s.plan.buckets} buckets",
      "boundaries: quantiles of both sides"
    ))

  private lazy val writeMetrics: Map[String, SQLMetric] =
    SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext)
  private lazy val readMetrics: Map[String, SQLMetric] =
    SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext)

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

  private def postMetrics(of: KeyedSpread): Unit = {
    longMetric("numHeavyKeys").set(of.plan.heavyKeys)
    longMetric("numBuckets").set(of.plan.buckets)
    longMetric("largestBucket").set(of.plan.largest)
    if (isOwner) longMetric("samplingTime").set(of.millis)
    val posted = Seq("numHeavyKeys", "numBuckets", "largestBucket", "samplingTime")
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, posted.map(longMetric))
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val of = spread.getOrElse(throw new IllegalStateException("no layout of the buckets"))
    postMetrics(of)
    val divided = new ShuffledRowRDD(shuffled(of, inputs.last.execute()), readMetrics)
    new UnionRDD(sparkContext, inputs.init.map(_.execute()) :+ divided)
  }

  /** A shuffle whose keys are the places. */
  private def shuffled(
      of: KeyedSpread,
      rows: RDD[InternalRow]): ShuffleDependency[Int, InternalRow, InternalRow] = {
    val layout = of.plan.layout
    val columns = new KeyedColumns(keys, of.range.bounds(isOwner), output)
    val assigner = new KeyedAssigner(layout, columns, isOwner, of.range.keepsUnmatched)
    val copies = longMetric("numCopies")
    val copiesRows = BucketShuffleExec.copiesRows(layout.numPlaces)
    val placed = rows.mapPartitionsWithIndexInternal { (index, rows) =>
      new PlacedRows(rows, assigner.start(index), copiesRows, copies)
        .asInstanceOf[Iterator[Product2[Int, InternalRow]]]
    }
    PlacedShuffle.of(
      placed,
      layout.numPlaces,
      new UnsafeRowSerializer(output.size, longMetric("dataSize")),
      ShuffleExchangeExec.createShuffleWriteProcessor(writeMetrics)
    )
  }

  /**
   * Exchanges above are the same if what they shuffle is, however it was divided: one is used in the place
   * of another as a whole, with both sides of the join below it.
   */
  override protected def doCanonicalize(): SparkPlan =
    super.doCanonicalize().asInstanceOf[BucketShuffleExec].copy(spread = None)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[SparkPlan]): BucketShuffleExec = copy(inputs = newChildren)
}

object BucketShuffleExec {

  /** Whether the shuffle holds on to rows; Spark's own writers write them at once. */
  private def copiesRows(places: Int): Boolean = SparkEnv.get.shuffleManager match {
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
