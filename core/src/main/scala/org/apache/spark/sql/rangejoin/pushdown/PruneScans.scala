// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import scala.PartialFunction.cond

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util._
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.Predicates
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, WithTagsOf}
import org.apache.spark.sql.types._

/**
 * Tells scans of files which rows a range join has no use for, if the scan can be trusted with that:
 *
 *   - Below a filter that [[InferRangeFilters]] has inferred, rows beyond its limits.
 *   - On the streamed side of a broadcast join, rows that are in the range of no row of the index. Adaptive execution
 *     plans the join again when the index has been built, and then it is known where these ranges are.
 *
 * Runs several times over the same plan.
 */
object PruneScans extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    val isOn = conf.getConf(RangeJoinConf.RangePruning)
    plan.transformUp {
      case filter: FilterExec                   => filtered(filter)
      case join: BroadcastRangeJoinExec if isOn => streamed(join)
    }
  }

  private def filtered(filter: FilterExec): SparkPlan = {
    val limits = Predicates.split(filter.condition).collect { case ImpliedLimit(limit) => limit }
    val child = belowEach(filter.child, limits)
    if (child.eq(filter.child)) filter else filter.withNewChildren(Seq(child))
  }

  private def streamed(join: BroadcastRangeJoinExec): SparkPlan = {
    val pruned = for {
      range <- join.rangeOfMatched
      // An index of these bounds may have to be made to know.
      if join.streamedPlan.exists(_.isInstanceOf[FileSourceScanExec])
      covered <- join.builtIndex.flatMap(_.covered)
      plan <- scanned(join.streamedPlan, MatchableValues.of(range, covered))
    } yield plan
    pruned.fold[SparkPlan](join)(join.withStreamedPlan)
  }

  /** With the first predicate, or if that cannot be had, with all others that can. */
  private def scanned(plan: SparkPlan, predicates: Seq[Expression]): Option[SparkPlan] =
    predicates.headOption.flatMap(below(plan, _)).orElse {
      val pruned = belowEach(plan, predicates.drop(1))
      if (pruned.eq(plan)) None else Some(pruned)
    }

  /**
   * The plan with a scan that may leave out rows for which the predicate does not hold: whole files, row
   * groups or pages, by their statistics, and the partitions of a table. None where no scan can.
   *
   * @param predicate of the plan's output, without which a row is of no interest
   */
  private def below(plan: SparkPlan, predicate: Expression): Option[SparkPlan] = plan match {
    case scan: FileSourceScanExec                         => pruned(scan, predicate)
    case project: ProjectExec if isDeterministic(project) =>
      inColumnsBelow(project, predicate).flatMap(below(project.child, _))
        .map(child => project.withNewChildren(Seq(child)))
    case filter: FilterExec if isDeterministic(filter) =>
      below(filter.child, predicate).map(child => filter.withNewChildren(Seq(child)))
    case CodegenBoundaryExec(child) => below(child, predicate).map(CodegenBoundaryExec(_))
    // What comes out of a streamed row depends on that row alone, whatever the join type, so that skipping it below the
    // join affects no other row.
    case join: BroadcastHashJoinExec if isDeterministic(join) =>
      below(if (join.buildSide == BuildRight) join.left else join.right, predicate).map {
        streamed =>
          if (join.buildSide == BuildRight) join.withNewChildren(Seq(streamed, join.right))
          else join.withNewChildren(Seq(join.left, streamed))
      }
    case _ => None
  }

  /** The plan with a scan that has been told of all those predicates that it can be told of. */
  private def belowEach(plan: SparkPlan, predicates: Seq[Expression]): SparkPlan =
    predicates.foldLeft(plan)((told, predicate) => below(told, predicate).getOrElse(told))

  /**
   * An expression that depends on the position of a row (`monotonically_increasing_id`) would change if rows before it
   * were skipped.
   */
  private def isDeterministic(plan: SparkPlan): Boolean = plan.expressions.forall(_.deterministic)

  private def inColumnsBelow(project: ProjectExec, predicate: Expression): Option[Expression] = {
    val columns = AttributeMap(project.projectList.collect {
      case alias @ Alias(column: Attribute, _) => alias.toAttribute -> column
      case column: Attribute                   => column -> column
    })
    if (predicate.references.forall(columns.contains)) {
      Some(predicate.transform { case column: Attribute => columns(column) })
    } else None
  }

  private def pruned(scan: FileSourceScanExec, ofPlan: Expression): Option[SparkPlan] = {
    // A query may spell a column otherwise than its table.
    val columns = AttributeMap(scan.output.map(column => column -> column))
    val predicate = ofPlan.transform { case column: Attribute => columns.getOrElse(column, column) }
    val partitionColumns = scan.relation.partitionSchema.fieldNames.toSet
    val (ofPartitions, ofData) =
      predicate.references.toSeq.partition(column => partitionColumns(column.name))
    val isKnown = (scan.partitionFilters ++ scan.dataFilters).exists(_.semanticEquals(predicate))
    if (isKnown || !predicate.references.forall(c => columns.contains(c) && !c.isMetadataCol)) None
    else if (ofData.isEmpty) {
      Some(WithTagsOf(scan)(scan.copy(partitionFilters = scan.partitionFilters :+ predicate)))
    } else if (ofPartitions.isEmpty && ofData.forall(hasStatistics(scan, _))) {
      Some(WithTagsOf(scan)(scan.copy(dataFilters = scan.dataFilters :+ predicate)))
    } else None
  }

  /**
   * Whether Spark holds a predicate of the column against what a file really has, whatever type and name
   * that has in the file. Not for decimals of Parquet, whose literals are cut to the width of the file's
   * type, for bytes and shorts, which may be cut as they are read, and for columns that are found by an
   * id; and not for ORC, whose literals have to be of the file's type, and whose columns may be found by
   * their place. Spark 3.5.0 cuts longs (SPARK-46092).
   */
  private def hasStatistics(scan: FileSourceScanExec, column: Attribute): Boolean =
    scan.relation.fileFormat.isInstanceOf[ParquetFileFormat] && SPARK_VERSION != "3.5.0" &&
      !isFoundById(scan) &&
      cond(column.dataType) {
        case IntegerType | LongType | FloatType | DoubleType => true
        case DateType | TimestampType | StringType           => true
      }

  /**
   * Whether columns are found by ids: where that is allowed, as Delta Lake has it in every session, and a
   * column has one. Delta Lake gives filters the names that files have itself.
   */
  private def isFoundById(scan: FileSourceScanExec): Boolean =
    scan.conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(scan.requiredSchema)
}
