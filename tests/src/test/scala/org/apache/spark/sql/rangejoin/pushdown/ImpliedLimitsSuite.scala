// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.rangejoin.condition.{
  Distance,
  JoinCondition,
  LeftSide,
  RangeExtractor,
  RightSide,
  Side
}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** What follows for one side of a range from limits of the other: never anything that does not. */
class ImpliedLimitsSuite extends AnyFunSuite {
  import MatchableValuesSuite.{SampleColumns, Samples}

  for ((dataType, values) <- Samples) {
    val sample = new SampleColumns(dataType)
    import sample.{e, p, q, s}
    val columns = Seq[Attribute](p, q, s, e)
    val ordering = TypeUtils.getInterpretedOrdering(dataType)

    def bands = for {
      mode <- Seq(EvalMode.ANSI, EvalMode.LEGACY)
      (name, band) <- sample.band(mode)
    } yield s"$name, $mode" -> band
    def conditions = (sample.intervals :+ sample.oneWay) ++ bands

    for ((name, condition) <- conditions) test(s"${dataType.sql}: $name") {
      val random = new Random(11)
      def any = values(random.nextInt(values.size))
      val holds = BindReferences.bindReference(condition, columns)
      var said, refused = 0
      for (streamed <- Seq[Side](LeftSide, RightSide); side <- Seq[Side](LeftSide, RightSide)) {
        val range = RangeExtractor.extract(JoinCondition(
          Inner,
          Some(condition),
          AttributeSet(Seq(p, q)),
          AttributeSet(Seq(s, e)),
          Some(streamed))).toOption.get
        val limited = if (side == LeftSide) Seq(p, q) else Seq(s, e)
        for (_ <- 0 until 12) {
          // By column, of the other side alone, as a query has them.
          val known = columns.filterNot(limited.contains).map { column =>
            val limits =
              KnownValues(
                Some(any).filter(_ => random.nextBoolean()),
                Some(any).filter(_ => random.nextBoolean()))
            column.exprId -> limits
          }.toMap
          def isKnown(column: Attribute, value: Any) = known.get(column.exprId).forall { limits =>
            limits.least.forall(ordering.compare(_, value) <= 0) &&
            limits.greatest.forall(ordering.compare(_, value) >= 0)
          }
          val predicates = ImpliedLimits.of(
            range,
            side,
            column => known.getOrElse(column.exprId, KnownValues(None, None)))
          val lets = predicates.map(BindReferences.bindReference(_, columns))
          if (lets.nonEmpty) for {
            // Of the four columns, all values of those that are limited by what is said.
            a <- values
            b <- values
            _ <- 0 until 6
          } {
            val row =
              InternalRow.fromSeq(if (side == LeftSide) Seq(a, b, any, any)
              else Seq(any, any, a, b))
            val isRow = columns.zipWithIndex.forall { case (column, i) =>
              isKnown(column, row.get(i, dataType))
            }
            if (isRow) {
              val isLet = lets.forall(_.eval(row) == true)
              said += 1
              if (!isLet) refused += 1
              val isMatch =
                try holds.eval(row) == true
                catch { case _: ArithmeticException => false }
              assert(isLet || !isMatch, s"$row of $known: $predicates")
            }
          }
        }
      }
      val isSilent = name.endsWith("LEGACY") && dataType.isInstanceOf[IntegralType] ||
        Distance.isFloating(dataType) && name.contains("direction")
      assert(isSilent || (said > 20 && refused > 5), s"says nothing: $said, $refused")
    }
  }

  for ((dataType, values) <- Seq[(DataType, Seq[Any])](
      StringType -> Seq("", "a", "ab", "b", "\u00e9", "z").map(UTF8String.fromString),
      BinaryType -> Seq("", "a", "\u00e9").map(_.getBytes("UTF-8")),
      DecimalType(30, 2) -> Seq(-7, 0, 5, 9).map(n => Decimal(BigDecimal(n), 30, 2))
    )) test(s"${dataType.sql}: columns that are compared limit one another") {
    val (p, s, e) = (
      AttributeReference("p", dataType)(),
      AttributeReference("s", dataType)(),
      AttributeReference("e", dataType)())
    val ordering = TypeUtils.getInterpretedOrdering(dataType)
    def said(condition: Expression, side: Side, attribute: Attribute, limits: KnownValues) = {
      val range = RangeExtractor.extract(JoinCondition(
        Inner,
        Some(condition),
        AttributeSet(p),
        AttributeSet(Seq(s, e)))).toOption.get
      ImpliedLimits.of(
        range,
        side,
        column => if (column.semanticEquals(attribute)) limits else KnownValues(None, None))
    }
    val within = And(GreaterThan(p, s), LessThanOrEqual(p, e))
    for (a <- values; b <- values) {
      val limits = KnownValues(Some(a), Some(b))
      val lets = said(within, RightSide, p, limits)
      assert(lets.size == 2)
      for (at <- values; from <- values; to <- values)
        if (ordering.compare(at, a) >= 0 && ordering.compare(at, b) <= 0 &&
          ordering.compare(at, from) > 0 && ordering.compare(at, to) <= 0) {
          val row = InternalRow(at, from, to)
          assert(lets.forall(BindReferences.bindReference(_, Seq(p, s, e)).eval(row) == true))
        }
    }
    val some = KnownValues(Some(values(1)), None)
    assert(said(within, RightSide, p, some) == Seq(GreaterThanOrEqual(
      e,
      Literal(values(1), dataType))))
    assert(said(within, LeftSide, s, some) == Seq(GreaterThanOrEqual(
      p,
      Literal(values(1), dataType))))
    assert(said(within, LeftSide, e, some) == Nil)
  }

  test("limits that are known already are not said again") {
    val l = AttributeReference("l", LongType)()
    val r = AttributeReference("r", LongType)()
    def far = Literal(5L)
    val band = And(
      GreaterThanOrEqual(r, Subtract(l, far, EvalMode.ANSI)),
      LessThanOrEqual(r, Add(l, far, EvalMode.ANSI)))
    val range =
      RangeExtractor.extract(JoinCondition(Inner, Some(band), AttributeSet(l), AttributeSet(r)))
        .toOption.get
    def said(ofLeft: (Any, Any), ofRight: (Any, Any)) = ImpliedLimits.of(
      range,
      RightSide,
      column => {
        val (least, greatest) = if (column.semanticEquals(l)) ofLeft else ofRight
        KnownValues(Option(least), Option(greatest))
      }).map(_.sql)
    assert(said((100L, 200L), (null, null)) == Seq("(r >= 95L)", "(r <= 205L)"))
    assert(said((100L, 200L), (95L, 206L)) == Seq("(r <= 205L)"))
    assert(said((100L, 200L), (96L, 204L)) == Nil)
    // Rows near the end of the type have no bound, and match nothing but by an error.
    assert(said((100L, null), (null, null)) == Seq("(r >= 95L)"))
    assert(said((null, 200L), (null, null)) == Seq("(r <= 205L)"))
    assert(said((null, Long.MaxValue - 2), (null, null)) == Nil)
    assert(said((Long.MinValue + 2, Long.MaxValue - 5), (null, null)) == Nil)
  }

  test("nothing is said where a row that is let through has no bound, and may raise") {
    val l = AttributeReference("l", LongType)()
    val r = AttributeReference("r", LongType)()
    def said(condition: Expression, least: Option[Long], greatest: Option[Long]) = {
      val range = RangeExtractor
        .extract(JoinCondition(
          Inner,
          Some(condition),
          AttributeSet(l),
          AttributeSet(r))).toOption.get
      def known(column: Attribute) =
        if (column.semanticEquals(l)) KnownValues(least, greatest) else KnownValues(None, None)
      ImpliedLimits.of(range, RightSide, known).map(_.sql)
    }
    val below = LessThanOrEqual(r, Subtract(l, Literal(5L), EvalMode.ANSI))
    assert(said(below, None, Some(200L)) == Nil)
    assert(said(below, Some(-200L), Some(200L)) == Seq("(r <= 195L)"))
    val above = GreaterThanOrEqual(r, Add(l, Literal(5L), EvalMode.ANSI))
    assert(said(above, Some(100L), None) == Nil)
    assert(said(above, Some(100L), Some(200L)) == Seq("(r >= 105L)"))
  }
}
