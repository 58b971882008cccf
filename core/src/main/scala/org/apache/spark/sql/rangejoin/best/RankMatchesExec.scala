// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{GenerateUnsafeRowJoiner, UnsafeRowJoiner}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}

/**
 * Ranks the matches of each streamed row as they come from the join, `row_number() <= limit`: neither a
 * shuffle nor a sort brings them together, as they follow one another already.
 *
 * @param number a number that each streamed row has for itself, a BIGINT column of the child
 * @param order what matches of a row are ranked by
 * @param rank the column that is added
 */
case class RankMatchesExec(
    number: Attribute,
    order: Seq[SortOrder],
    limit: Int,
    rank: Attribute,
    child: SparkPlan)
    extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output :+ rank

  override def outputPartitioning: Partitioning = child.outputPartitioning

  // Of streamed columns alone, as the join keeps the rows that it streams: those of its matches are NULL where there is
  // none. The matches of a row have the same, and change positions among themselves alone.
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def simpleString(maxFields: Int): String =
    s"$nodeName row_number() <= $limit of $number by ${order.mkString(", ")}"

  override protected def doExecute(): RDD[InternalRow] = {
    val numOutputRows = longMetric("numOutputRows")
    val (input, ofRun, most) =
      (child.output, child.output.indexWhere(_.exprId == number.exprId), limit)
    val (by, schema) = (order, child.schema)
    val rankOnly = StructType(Seq(StructField(rank.name, IntegerType, nullable = false)))
    child.execute().mapPartitionsInternal { rows =>
      val joiner = GenerateUnsafeRowJoiner.create(schema, rankOnly)
      new FirstOfRuns(rows, ofRun, RowOrdering.create(by, input), most, joiner).map { row =>
        numOutputRows += 1
        row
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): RankMatchesExec =
    copy(child = newChild)
}

/**
 * The first rows of each run of rows that have one number, in their order, with their rank.
 *
 * Rows that are equal in the order keep the order they came in. A row that comes out is valid up to the next.
 *
 * @param rows those of a run follow one another
 * @param number the column that tells runs apart, a BIGINT that is never NULL
 * @param limit how many rows of a run come out at most
 * @param withRank adds the rank, from one on, to a row
 */
private[best] final class FirstOfRuns(
    rows: Iterator[InternalRow],
    number: Int,
    order: Ordering[InternalRow],
    limit: Int,
    withRank: UnsafeRowJoiner)
    extends Iterator[InternalRow] {
  private[this] var first = new Array[UnsafeRow](math.min(limit, 8))
  private[this] val rank = UnsafeRow.createFromByteArray(16, 1)

  private[this] var kept = 0
  private[this] var taken = 0
  // The head of the next run, as the source has it.
  private[this] var head: UnsafeRow = nextRow()

  override def hasNext: Boolean = taken < kept || head != null

  override def next(): InternalRow = {
    if (taken == kept) readRun()
    rank.setInt(0, taken + 1)
    val row = first(taken)
    taken += 1
    withRank.join(row, rank)
  }

  private def nextRow(): UnsafeRow =
    if (rows.hasNext) rows.next().asInstanceOf[UnsafeRow] else null

  private def readRun(): Unit = {
    if (head == null) throw new NoSuchElementException
    val run = head.getLong(number)
    kept = 0
    taken = 0
    while ({
      add(head)
      head = nextRow()
      head != null && head.getLong(number) == run
    }) {}
  }

  /** Keeps a copy, if no more than `limit - 1` rows are before it. */
  private def add(row: UnsafeRow): Unit =
    if (kept < limit || order.compare(row, first(kept - 1)) < 0) {
      if (kept == first.length && kept < limit) first = first.padTo(math.min(limit, 2 * kept), null)
      if (kept < limit) kept += 1
      // The slot of the last one is free, or that of the one that is no longer wanted.
      val last = first(kept - 1)
      val copy =
        if (last != null) last
        else UnsafeRow.createFromByteArray(row.getSizeInBytes, row.numFields)
      copy.copyFrom(row)
      var at = kept - 1
      while (at > 0 && order.compare(row, first(at - 1)) < 0) {
        first(at) = first(at - 1)
        at -= 1
      }
      first(at) = copy
    }
}
