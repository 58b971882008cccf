// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeRowJoiner
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
