// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.condition.{Predicates, RangeCondition}
import org.apache.spark.sql.rangejoin.index.SecondBounds
import org.apache.spark.sql.rangejoin.kernel.{Attempt, AttemptedValue, GuardedValue, RangeBound}
import org.apache.spark.sql.types.{MetadataBuilder, ObjectType}

/**
 * The bounds of the broadcast side, as an index computes them from a row.
 *
 * An index is built on the driver, in a thread without a task. Arithmetic is evaluated there. What
 * runs a user's code, or could ask for the `TaskContext`, is a column of what is broadcast, computed
 * in the tasks that make its rows, and dropped from the output of the join: each such expression once
 * for a row, whatever number of bounds it is in, and not for a row whose key is NULL.
 *
 * @param columns of the broadcast side, without such expressions
 * @param keys of the broadcast side
 */
private[broadcast] case class BuildBounds(
    range: RangeCondition,
    columns: Seq[Attribute],
    keys: Seq[Expression]
) {
  import BuildBounds._

  /** What is evaluated in tasks, each expression once. */
  private lazy val inTasks: Seq[TaskPart] = {
    val parts = (range.sortBound ++ range.evictBound).toSeq.flatMap(taskParts(_, None))
    parts.map(_.valueForm).distinct.map { same =>
      parts.filter(_.valueForm == same).reduce(_.or(_))
    }
  }

  private lazy val ordinals: Map[Expression, Int] = inTasks.map(_.valueForm).zipWithIndex.toMap

  /** The columns to add to the broadcast side. */
  lazy val added: Seq[NamedExpression] = inTasks.map { part =>
    val name = Predicates.display(part.expression)
    Alias(unlessKeyIsNull(part.attempt), name)(explicitMetadata = Some(Mark))
  }

  def sort: Option[Expression] = range.sortBound.map(read)

  def evict: Option[Expression] = range.evictBound.map(read)

  /** The value that the bound is a prefix of, if it is one. */
  def sortValue: Option[Expression] = range.sortBound.flatMap(_.prefixedValue).map(read)

  def evictValue: Option[Expression] = range.evictBound.flatMap(_.prefixedValue).map(read)

  private def unlessKeyIsNull(attempt: Attempt): Expression =
    // An error of a key is hidden here (`GuardedValue`) and raised on the driver, as in stock Spark. A key that calls
    // user code is evaluated on the driver only.
    keys.filter(key => key.nullable && !needsTask(key))
      .map(key => IsNull(GuardedValue(key)))
      .reduceOption[Expression](Or(_, _))
      .fold[Expression](attempt)(If(_, Literal(null, attempt.dataType), attempt))

  /** An expression over the rows that are broadcast. */
  private def read(e: Expression): Expression =
    if (ordinals.isEmpty) bindReference(e)
    else {
      bindReference(e.transformDown(Function.unlift { part =>
        ordinals.get(Predicates.valueForm(part)).map(ordinal =>
          AttemptedValue(columns.size + ordinal, bindReference(part)))
      }))
    }

  private def bindReference(e: Expression): Expression =
    BindReferences.bindReference(e, columns)
}

private[broadcast] object BuildBounds {

  private val MarkKey = "rangejoin.bound"
  private val Mark = new MetadataBuilder().putBoolean(MarkKey, true).build()

  /** Whether the bounds of a range can be evaluated where an index is built, without added columns. */
  def needNoTask(range: RangeCondition): Boolean =
    withSubquery(range).isEmpty && !(range.sortBound ++ range.evictBound).exists(needsTask)

  /** A bound of a range with a subquery, which has no result where an index is built. */
  def withSubquery(range: RangeCondition): Option[RangeBound] =
    (range.sortBound ++ range.evictBound).find(_.exists(_.isInstanceOf[PlanExpression[_]]))

  /** The bounds of a second range that `needNoTask`. */
  def ofSecond(range: RangeCondition, columns: Seq[Attribute], threshold: Int): SecondBounds = {
    def bound(range: Option[RangeBound]) =
      BindReferences.bindReference[Expression](range.get, columns)
    SecondBounds(bound(range.sortBound), bound(range.evictBound), range.unknown, threshold)
  }

  /** Whether a column of a broadcast side is a bound that was added to it. */
  def isAdded(attribute: Attribute): Boolean = attribute.metadata.contains(MarkKey)

  /**
   * What has to be evaluated in a task.
   *
   * @param when what has to hold for it to be evaluated at all; None where it always is
   */
  private case class TaskPart(expression: Expression, when: Option[Expression]) {
    def valueForm: Expression = Predicates.valueForm(expression)

    def or(other: TaskPart): TaskPart =
      copy(when = for (a <- when; b <- other.when) yield if (a == b) a else Or(a, b))

    def attempt: Attempt =
      Attempt(when.fold(expression)(If(_, expression, Literal(null, expression.dataType))))
  }

  /**
   * The outermost parts of a bound that have to be evaluated in a task. A part that is evaluated for some rows only,
   * like a branch of a CASE, is not taken alone: the whole CASE is. The exception is IF, since Spark wraps one around
   * each Scala function with primitive arguments.
   */
  private def taskParts(e: Expression, when: Option[Expression]): Seq[TaskPart] = e match {
    case _ if !needsTask(e)                              => Nil
    case _: RangeBound | _: GuardedValue                 => e.children.flatMap(taskParts(_, when))
    case If(predicate, yes, no) if !needsTask(predicate) =>
      val isTrue = EqualNullSafe(predicate, Literal.TrueLiteral)
      def and(test: Expression) = when.fold(test)(And(_, test))
      taskParts(yes, Some(and(isTrue))) ++ taskParts(no, Some(and(Not(isTrue))))
    // What is below a lambda has no value of its own: there is one for each element.
    case _: HigherOrderFunction => Seq(TaskPart(e, when))
    case _ if isOfUser(e) || evaluatesSome(e) || e.children.exists(isObject) =>
      Seq(TaskPart(e, when))
    case _ => e.children.flatMap(taskParts(_, when))
  }

  private def evaluatesSome(e: Expression): Boolean = e match {
    case _: ConditionalExpression | _: And | _: Or => true
    // Operands behind a NULL one are not evaluated.
    case _ => e.children.dropWhile(!_.nullable).drop(1).exists(needsTask)
  }

  private def isObject(e: Expression): Boolean = e.dataType.isInstanceOf[ObjectType]

  /** Whether there is anything in an expression but columns and functions that are Spark's own. */
  private def needsTask(e: Expression): Boolean = e.exists(isOfUser)

  private def isOfUser(e: Expression): Boolean = e match {
    case _: RangeBound | _: GuardedValue => false
    case _: UserDefinedExpression        => true
    case other                           => !OwnFunctions.contains(packageOf(other.getClass))
  }

  // Those of package `objects` call methods of any class; functions of Hive are in packages of its own.
  private val OwnFunctions = Set(packageOf(classOf[Expression]), packageOf(classOf[RangeBound]))

  /** `getPackageName`, which Java 8 does not have. */
  private def packageOf(cls: Class[_]): String =
    cls.getName.substring(0, math.max(0, cls.getName.lastIndexOf('.')))
}
