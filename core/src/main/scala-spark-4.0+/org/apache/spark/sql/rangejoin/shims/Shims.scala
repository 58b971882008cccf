// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql
import org.apache.spark.sql.catalyst.expressions.{
  CommonExpressionRef,
  Expression,
  RuntimeReplaceable,
  With
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  SparkPlan,
  SubqueryAdaptiveBroadcastExec,
  SubqueryBroadcastExec
}
import org.apache.spark.sql.{ExtendedExplainGenerator, SparkSessionExtensions, classic}

/** The session that plans and runs queries itself, and not that of a client. */
object ClassicSession {
  type SparkSession = classic.SparkSession
  val SparkSession: classic.SparkSession.type = classic.SparkSession
  type Dataset[T] = classic.Dataset[T]
  val Dataset: classic.Dataset.type = classic.Dataset

  def of(session: sql.SparkSession): SparkSession = session match {
    case it: classic.SparkSession => it
    case other => throw new IllegalStateException(s"Not a classic session: ${other.getClass}")
  }
}

/** Extends EXPLAIN, if `spark.sql.extendedExplainProviders` names it. */
trait ExplainProvider extends ExtendedExplainGenerator

/** Hints, which extensions can have rules for. */
object Hints {
  def inject(
      extensions: SparkSessionExtensions,
      rule: sql.SparkSession => Rule[LogicalPlan]): Unit = {
    extensions.injectHintResolutionRule(rule)
    // A session with Hive support has no rules for hints but Spark's.
    extensions.injectResolutionRule(rule)
  }

  /** The parameters of a hint. */
  def parameters(hint: UnresolvedHint): Seq[Expression] = hint.parameters
}

/** The values of a dynamic partition pruning filter. */
object PruningValues {

  /** They are taken from this broadcast. */
  def of(planned: SubqueryAdaptiveBroadcastExec, broadcast: SparkPlan): SubqueryBroadcastExec =
    SubqueryBroadcastExec(planned.name, planned.indices, planned.buildKeys, broadcast)
}

/** An expression as it is evaluated, which the optimizer would make of it: `BETWEEN` is two comparisons. */
object ReplacedExpressions {
  def apply(e: Expression): Expression = e match {
    case replaceable: RuntimeReplaceable => apply(replaceable.replacement)
    case With(child, definitions)        =>
      val values = definitions.map(definition => definition.id -> definition.child).toMap
      apply(child.transform { case ref: CommonExpressionRef => values.getOrElse(ref.id, ref) })
    case other => other.mapChildren(apply)
  }
}

/** Collections of Java as those of Scala. */
object JavaCollections {
  val Converters: scala.jdk.CollectionConverters.type = scala.jdk.CollectionConverters
}
