// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.{Either, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType}
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.sql.types._

import org.scalatest.Assertions

/** Columns of the two sides of a join, and the extraction over conditions on them. */
trait TwoSides extends Assertions {

  /** Columns of one side, all of one type; the name of the side is their qualifier. */
  protected final class Columns(side: String, dataType: DataType) {
    val y: AttributeReference = column("y")
    val z: AttributeReference = column("z")
    val start: AttributeReference = column("start")
    val end: AttributeReference = column("end")
    val low: AttributeReference = column("low")
    val high: AttributeReference = column("high")

    private def column(name: String) = AttributeReference(name, dataType)(qualifier = Seq(side))
  }

  protected val l: Columns = new Columns("l", IntegerType)
  protected val r: Columns = new Columns("r", IntegerType)

  protected def extract(
      condition: Expression,
      joinType: JoinType = Inner,
      streamed: Option[Side] = None
  ): Either[Reason, RangeCondition] =
    RangeExtractor.extract(JoinCondition(
      joinType,
      Some(condition),
      columnsOf("l", condition),
      columnsOf("r", condition),
      streamed))

  private def columnsOf(side: String, condition: Expression): AttributeSet =
    condition.references.filter(_.qualifier == Seq(side))

  protected def range(condition: Expression): RangeCondition =
    extract(condition).fold(reason => fail(s"${condition.sql}: ${reason.message}"), identity)

  protected def plus(a: Expression, b: Expression): Expression = Add(a, b, EvalMode.ANSI)
  protected def minus(a: Expression, b: Expression): Expression = Subtract(a, b, EvalMode.ANSI)
  protected def wrappedMinus(a: Expression, b: Expression): Expression =
    Subtract(a, b, EvalMode.LEGACY)

  protected def between(e: Expression, low: Expression, high: Expression): Expression =
    low <= e && e <= high

  /**
   * Asserts that the bounds and the residual of a condition find the pairs that the condition
   * holds for, where it does not raise, over all rows made of the values.
   */
  protected def assertSameMeaning(condition: Expression, values: Seq[Any]): Unit =
    assertMeaning(condition)(_ => values)

  /** The same, with the values of each column. */
  protected def assertMeaning(condition: Expression)(values: Attribute => Seq[Any]): Unit = {
    val decision = new PairDecision(range(condition), of("l", condition), of("r", condition))
    val bound = bindReference(condition, of("l", condition) ++ of("r", condition))
    for (left <- rows(of("l", condition), values); right <- rows(of("r", condition), values)) {
      def rows = s"${condition.sql} of $left and $right"
      Try(bound.eval(new JoinedRow(left, right))).foreach { expected =>
        assert(decision.isMatch(left, right, bound) == (expected == true), rows)
      }
    }
  }

  private def of(side: String, condition: Expression): Seq[Attribute] =
    columnsOf(side, condition).toSeq

  private def rows(columns: Seq[Attribute], values: Attribute => Seq[Any]): Seq[InternalRow] =
    columns.foldLeft(Seq(Seq.empty[Any])) { (rows, column) =>
      for (row <- rows; value <- values(column)) yield row :+ value
    }.map(InternalRow.fromSeq)
}

/** A range condition in words that a test can spell out; a test that is absent is empty. */
case class Form(
    streamed: Side,
    lower: String,
    upper: String,
    residual: Option[String] = None,
    trusted: String = ""
)

object Form {
  def of(range: RangeCondition): Form = {
    val trusted = Seq(
      "lower" -> range.lowerBound,
      "upper" -> range.upperBound,
      "sort" -> range.sortBound,
      "evict" -> range.evictBound
    ).collect { case (name, Some(b)) if b.trusted.isDefined => name }
    Form(
      range.streamed,
      lower = test(range.lowerTest, range.lowerBound, range.evictBound),
      upper = test(range.upperTest, range.sortBound, range.upperBound),
      range.residual.map(_.sql),
      trusted.mkString(" ")
    )
  }

  private def test(
      test: Option[RangeTest],
      lesser: Option[RangeBound],
      greater: Option[RangeBound]
  ): String =
    (test, lesser, greater) match {
      case (Some(t), Some(a), Some(b)) =>
        s"${a.child.sql} ${if (t.strict) "<" else "<="} ${b.child.sql}"
      case _ => ""
    }
}
