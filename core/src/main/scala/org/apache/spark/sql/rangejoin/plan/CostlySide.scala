// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.cond

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions.objects.{InvokeLike, StaticInvoke}
import org.apache.spark.sql.catalyst.expressions.{
  AttributeSet,
  Expression,
  HigherOrderFunction,
  NamedExpression,
  PlanExpression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  ShuffledJoin
}
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.execution.window.WindowExecBase
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.storage.StorageLevel

/**
 * Whether rows take longer to make than to write, as far as the plan tells: what is above the last exchange and is not
 * known to be cheap. Reading columnar files, comparing, adding and casting is cheap, and so is a join with a
 * broadcast side by key or by range; functions of users, regular expressions, digests, and joins and aggregates are not.
 */
private[rangejoin] object CostlySide {

  /**
   * @param needed columns that are read beforehand: what only others need is computed once anyway
   */
  def apply(plan: SparkPlan, needed: AttributeSet): Boolean = plan match {
    case _: Exchange | _: QueryStageExec | _: AQEShuffleReadExec => false
    case ProjectExec(columns, child)                             =>
      val read = columns.filter(column => needed.contains(column.toAttribute))
      read.exists(isCostly(_: NamedExpression)) || apply(
        child,
        AttributeSet.fromAttributeSets(read.map(_.references)))
    case FilterExec(condition, child) =>
      isCostly(condition) || apply(child, needed ++ condition.references)
    case other =>
      isCostly(other) || other.expressions.exists(isCostly(_: Expression)) ||
      other.children.exists(child => apply(child, child.outputSet))
  }

  private def isCostly(plan: SparkPlan): Boolean = cond(plan) {
    case _: ShuffledJoin | _: CartesianProductExec | _: BroadcastNestedLoopJoinExec => true
    case _: BaseAggregateExec | _: WindowExecBase                                   => true
    case _: EvalPythonExec | _: ObjectConsumerExec                                  => true
    // Rows may be made by any function, or fetched from anywhere.
    case rows: RDDScanExec            => !isStored(rows.inputRDD)
    case rows: ExternalRDDScanExec[_] => !isStored(rows.rdd)
    case _: RowDataSourceScanExec     => true
    case files: FileSourceScanExec    => cond(files.relation.fileFormat) {
        case format: DataSourceRegister => ParsedFormats(format.shortName())
      }
  }

  /** Files each row of which is parsed, whatever columns are asked for. */
  private val ParsedFormats = Set("csv", "json", "xml")

  private def isStored(rdd: RDD[_]): Boolean =
    rdd.isCheckpointed || rdd.getStorageLevel != StorageLevel.NONE

  def isCostly(expression: Expression): Boolean = expression.exists {
    case _: UserDefinedExpression | _: HigherOrderFunction => true
    // A subquery of the sample is one of its own.
    case _: PlanExpression[_] => true
    case invoke: StaticInvoke => invoke.staticObject != classOf[CharVarcharCodegenUtils]
    case _: InvokeLike        => true
    case other                =>
      val name = other.getClass.getSimpleName
      Names.exists(name.contains)
  }

  /** In the names of classes, of which not every line of Spark has each. */
  private val Names = Seq(
    "RegExp",
    "RLike",
    "StringSplit",
    "Sha1",
    "Sha2",
    "Md5",
    "Json",
    "Xml",
    "XPath",
    "Csv",
    "Aes")
}
