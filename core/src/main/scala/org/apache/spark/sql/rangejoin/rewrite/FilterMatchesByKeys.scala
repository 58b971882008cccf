// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.cond
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.plan.CostlySide
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * Filters the rows that a correlated subquery reads by the keys of the left rows, where few of these are likely:
 *
 * {{{
 *   SELECT (SELECT sum(r.p) FROM r WHERE r.k = l.k AND r.t <= l.t) FROM l WHERE l.id = 5
 * }}}
 *
 * Spark's own plan reads the left side twice and broadcasts its values, so that `r` is not shuffled. Here the left side is
 * read once more for a Bloom filter of its keys, and what is left of `r` is shuffled. Spark adds such filters itself
 * (`InjectRuntimeFilter`), but only where 10 GB are scanned; its setting
 * `spark.sql.optimizer.runtime.bloomFilter.enabled` is respected.
 *
 * Runs once, after predicate pushdown (a pre-CBO rule).
 */
case class FilterMatchesByKeys(session: SparkSession)
    extends Rule[LogicalPlan] with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // It would hold a thread of those for subqueries while it waits for another one.
    case _: Subquery => plan
    case _ if isOn   =>
      plan.transformUpWithPruning(_.containsPattern(JOIN)) {
        case join: Join if NumberedRows.numbers(join.left).nonEmpty =>
          filtered(join).getOrElse(join)
      }
    case _ => plan
  }

  private def isOn: Boolean =
    conf.getConf(RangeJoinConf.Enabled) && conf.getConf(RangeJoinConf.Correlated) &&
      conf.runtimeFilterBloomFilterEnabled

  private def filtered(join: Join): Option[Join] = join match {
    case ExtractEquiJoinKeys(Inner | LeftOuter, keys, rightKeys, _, _, left, right, _)
        if areFilters(keys, left) && areFilters(rightKeys, right) =>
      rowsOf(left, AttributeSet.fromAttributeSets(keys.map(_.references)))
        .filter(isWorthIt(_, right))
        .map { rows =>
          val isKey = BloomFilterMightContain(bloomFilter(rows, keys), new XxHash64(rightKeys))
          join.copy(right = Filter(isKey, right))
        }
    case _ => None
  }

  /**
   * The rows that some columns come from, or more than those, as they are read: below what has been joined to them.
   * None where they are more than read.
   */
  @tailrec
  private def rowsOf(plan: LogicalPlan, columns: AttributeSet): Option[LogicalPlan] = plan match {
    case _ if isCheaplyRead(plan)                                           => Some(plan)
    case Join(left, _, LeftOuter, _, _) if columns.subsetOf(left.outputSet) => rowsOf(left, columns)
    case _: Project | _: Filter | _: Aggregate | _: Window
        if columns.subsetOf(plan.children.head.outputSet) =>
      rowsOf(plan.children.head, columns)
    case _ => None
  }

  /** Whether all there is to do is to read rows and to look at each; the same ones whenever it is done. */
  private def isCheaplyRead(plan: LogicalPlan): Boolean = cond(plan) {
    case Project(columns, child) =>
      isCheaplyRead(child) &&
      columns.forall(column => NumberedRows.isNumber(column) || isCheap(column))
    case Filter(condition, child)  => isCheap(condition) && isCheaplyRead(child)
    case relation: LogicalRelation => relation.relation.isInstanceOf[HadoopFsRelation]
    // The scan of rows that are changed belongs to the change, and is made once.
    case relation: DataSourceV2Relation => !relation.table.isInstanceOf[RowLevelOperationTable]
    case _: LocalRelation | _: Range | _: InMemoryRelation | _: HiveTableRelation => true
  }

  private def isCheap(e: Expression): Boolean = e.deterministic && !CostlySide.isCostly(e)

  /** Whether reading the left rows again costs less than shuffling the right side. */
  private def isWorthIt(rows: LogicalPlan, right: LogicalPlan): Boolean = {
    val (read, shuffled) = (rows.stats.sizeInBytes, right.stats.sizeInBytes)
    shuffled > conf.autoBroadcastJoinThreshold &&
    read <= (if (NumberedRows.isSelective(rows)) shuffled else shuffled / SmallPart)
  }

  /**
   * Whether rows can be filtered by the hash of keys: equal values have one, and the keys can be computed of any row,
   * wherever Spark puts the filter.
   */
  private def areFilters(keys: Seq[Expression], plan: LogicalPlan): Boolean = {
    lazy val definitions = AttributeMap(plan.flatMap(_.expressions).collect { case alias: Alias =>
      alias.toAttribute -> alias.child
    })
    def isSafe(e: Expression): Boolean = e match {
      case a: Attribute            => definitions.get(a).forall(isSafe)
      case Cast(child, to, _, _)   => Cast.canUpCast(child.dataType, to) && isSafe(child)
      case _: Coalesce | _: IsNull => e.children.forall(isSafe)
      case other                   => other.isInstanceOf[Literal]
    }
    // Of the columns of a union only the definitions of its first child can be seen.
    !plan.exists(_.isInstanceOf[Union]) && keys.forall(key =>
      NumberedRows.areEqualSame(key.dataType) && isSafe(key))
  }

  /** A subquery for a Bloom filter of the keys of some rows. */
  private def bloomFilter(rows: LogicalPlan, keys: Seq[Expression]): Expression = {
    val filter =
      new BloomFilterAggregate(
        new XxHash64(keys),
        Literal(MostKeys),
        Literal(MostKeys * BitsPerKey))
    val aggregate = Aggregate(Nil, Seq(Alias(filter.toAggregateExpression(), "keys")()), rows)
    // Rules for subqueries have run already.
    val optimized = session.sessionState.optimizer.execute(Subquery(aggregate, correlated = false))
    ScalarSubquery(optimized.children.head)
  }

  /** More keys than this are no few rows, and every task sends a filter of this size. */
  private val MostKeys = 1L << 17

  private val BitsPerKey = 8L

  /** A left side without a filter is so much smaller than the right side. */
  private val SmallPart = 100
}
