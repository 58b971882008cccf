// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import scala.util.Try

import org.apache.spark.sql
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, RuntimeReplaceable}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  SparkPlan,
  SubqueryAdaptiveBroadcastExec,
  SubqueryBroadcastExec
}
import org.apache.spark.sql.{Column, SparkSessionExtensions}

/** The session that plans and runs queries itself, which is the only one that there is. */
object ClassicSession {
  type SparkSession = sql.SparkSession
  val SparkSession: sql.SparkSession.type = sql.SparkSession
  type Dataset[T] = sql.Dataset[T]
  val Dataset: sql.Dataset.type = sql.Dataset

  def of(session: sql.SparkSession): SparkSession = session
}

/** Extends EXPLAIN. Spark 3.5 has no such extension point, so only our own code calls it. */
trait ExplainProvider {
  def title: String

  def generateExtendedInfo(plan: SparkPlan): String
}

/**
 * In Spark 3.5 extensions cannot add hint rules, so hints are resolved by an ordinary resolution rule.
 */
object Hints {
  def inject(
      extensions: SparkSessionExtensions,
      rule: sql.SparkSession => Rule[LogicalPlan]): Unit =
    extensions.injectResolutionRule(rule)

  /** The parameters, which are what `Dataset.hint` was given. */
  def parameters(hint: UnresolvedHint): Seq[Expression] = hint.parameters.map {
    case e: Expression  => e
    case column: Column => column.expr
    case value          => Try(Literal(value)).getOrElse(Literal(String.valueOf(value)))
  }
}

/** The values of a dynamic partition pruning filter. */
object PruningValues {

  /** They are taken from this broadcast. */
  def of(planned: SubqueryAdaptiveBroadcastExec, broadcast: SparkPlan): SubqueryBroadcastExec =
    SubqueryBroadcastExec(planned.name, planned.index, planned.buildKeys, broadcast)
}

/** An expression as it is evaluated, which the optimizer would make of it. */
object ReplacedExpressions {
  def apply(e: Expression): Expression = e match {
    case replaceable: RuntimeReplaceable => apply(replaceable.replacement)
    case other                           => other.mapChildren(apply)
  }
}

/**
 * Collections of Java as those of Scala. The newer converters are in a library that Spark 3.5.0 and 3.5.1 do not ask for,
 * so that they lack it outside of their distribution.
 */
object JavaCollections {
  val Converters: scala.collection.JavaConverters.type = scala.collection.JavaConverters
}
