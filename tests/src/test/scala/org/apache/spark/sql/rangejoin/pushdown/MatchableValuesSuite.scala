// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.rangejoin.condition.{
  Distance,
  JoinCondition,
  LeftSide,
  RangeCondition,
  RangeExtractor
}
import org.apache.spark.sql.rangejoin.index.CoveredRangesOf
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/** What a scan is told of values that match: never anything that is not so, and all that is known. */
class MatchableValuesSuite extends AnyFunSuite {
  import MatchableValuesSuite._

  for ((dataType, values) <- Samples) {
    val columns = new SampleColumns(dataType)
    import columns._

    def conditions: Seq[(String, Expression)] =
      intervals ++ band(EvalMode.ANSI) ++ (if (Distance.isFloating(dataType)) Nil else Seq(oneWay))

    for ((name, condition) <- conditions) {
      test(s"${dataType.sql}: $name") {
        val streamed = AttributeSet(Seq(p, q))
        val buffered = AttributeSet(Seq(s, e))
        val range =
          RangeExtractor.extract(JoinCondition(
            Inner,
            Some(condition),
            streamed,
            buffered,
            Some(LeftSide))).toOption.get
        val random = new Random(7)
        var said, refused = 0
        for (round <- 0 until 40) {
          val some = random.shuffle(values).take(1 + random.nextInt(5))
          def drawn = some(random.nextInt(some.size))
          val index = Seq.fill(1 + random.nextInt(4))((drawn, drawn))
          val predicates = MatchableValues.of(range, coveredOf(range, Seq(s, e), index))
          for (predicate <- predicates) {
            said += 1
            val holds = BindReferences.bindReference(predicate, Seq[Attribute](p, q))
            for (a <- values; b <- values) {
              val row = InternalRow(a, b)
              val isMatched = index.exists { case (from, to) => matches(condition, row, from, to) }
              val isLet = holds.eval(row) == true
              assert(!isMatched || isLet, s"$round: $a $b against $index: $predicate")
              if (!isLet) refused += 1
            }
          }
        }
        assert(said > 10 && refused > 10, "says nothing")
      }
    }

    def matches(condition: Expression, row: InternalRow, from: Any, to: Any): Boolean =
      try {
        val all = InternalRow(row.get(0, dataType), row.get(1, dataType), from, to)
        BindReferences.bindReference(condition, Seq[Attribute](p, q, s, e)).eval(all) == true
      } catch { case _: ArithmeticException => false }
  }

  test("a gap in the index is a gap in the values") {
    val range = bandOf(5)
    val predicate = MatchableValues.of(range, covered(range, 100L -> 110L, 5000L -> 5000L))
    assert(predicate.map(_.sql) == Seq(
      "(((p <= 115L) AND (p >= 95L)) OR ((p <= 5005L) AND (p >= 4995L)))"))
  }

  test("nothing is said where a bound of the index may be unknown, or of the other end") {
    val range = bandOf(5)
    assert(MatchableValues.of(range, covered(range, Long.MinValue -> Long.MaxValue)) == Nil)
    val above = MatchableValues.of(range, covered(range, 100L -> Long.MaxValue))
    assert(above.map(_.sql) == Seq("(p >= 95L)"))
    val below = MatchableValues.of(range, covered(range, Long.MinValue -> 100L))
    assert(below.map(_.sql) == Seq("(p <= 105L)"))
  }

  test("a value whose bound overflows is not refused") {
    // p - 5 and p + 5 are unknown at the ends of the type, so that the condition is asked.
    val low = MatchableValues.of(bandOf(5), covered(bandOf(5), (Long.MinValue + 3) -> 0L))
    assert(low.map(_.sql) == Seq("(p <= 5L)"))
    val high = MatchableValues.of(bandOf(5), covered(bandOf(5), 0L -> (Long.MaxValue - 3)))
    assert(high.map(_.sql) == Seq("(p >= -5L)"))
    // Taken away and added the other way round, neither end says anything: values there overflow.
    assert(MatchableValues.of(bandOf(-5), covered(bandOf(-5), 0L -> 100L)) == Nil)
  }

  test("nothing is said of days that a file may have in another calendar") {
    val p = AttributeReference("p", DateType)()
    val (s, e) = (AttributeReference("s", DateType)(), AttributeReference("e", DateType)())
    val condition = And(GreaterThanOrEqual(p, s), LessThanOrEqual(p, e))
    val range = RangeExtractor.extract(
      JoinCondition(
        Inner,
        Some(condition),
        AttributeSet(p),
        AttributeSet(Seq(s, e)),
        Some(LeftSide)))
      .toOption.get
    def ofDays(from: Int, to: Int) =
      MatchableValues.of(range, coveredOf(range, Seq(s, e), Seq((from, to)))).map(_.sql)
    assert(ofDays(-400000, 100) == Seq("(p <= DATE '1970-04-11')"))
    assert(ofDays(0, 8000000) == Seq("(p >= DATE '1970-01-01')"))
    assert(ofDays(-400000, -300000) == Nil)
  }

  test("a least value of zero is the lesser of two zeros, which statistics may tell apart") {
    val p = AttributeReference("p", DoubleType)()
    val (s, e) = (AttributeReference("s", DoubleType)(), AttributeReference("e", DoubleType)())
    val condition = And(GreaterThanOrEqual(p, s), LessThanOrEqual(p, e))
    val range = RangeExtractor.extract(
      JoinCondition(
        Inner,
        Some(condition),
        AttributeSet(p),
        AttributeSet(Seq(s, e)),
        Some(LeftSide)))
      .toOption.get
    for (zero <- Seq(0.0, -0.0)) {
      val ofZero = MatchableValues.of(range, coveredOf(range, Seq(s, e), Seq((zero, zero))))
      assert(ofZero.map(_.sql) == Seq("((p <= 0.0D) AND (p >= -0.0D))"))
    }
  }

  test("nothing is said of a least value where NaN might be greater") {
    val p = AttributeReference("p", DoubleType)()
    val s = AttributeReference("s", DoubleType)()
    val condition = GreaterThanOrEqual(p, s)
    val range = RangeExtractor.extract(
      JoinCondition(Inner, Some(condition), AttributeSet(p), AttributeSet(s), Some(LeftSide)))
      .toOption.get
    assert(MatchableValues.of(range, CoveredRangesOf(Seq(1L -> Long.MaxValue))) == Nil)
  }
}

object MatchableValuesSuite {

  val Samples: Seq[(DataType, IndexedSeq[Any])] = Seq(
    ByteType -> Seq(Byte.MinValue, -7, -1, 0, 5, 9, 100, Byte.MaxValue).map(_.toByte),
    IntegerType -> Seq(
      Int.MinValue,
      Int.MinValue + 2,
      -900,
      -1,
      0,
      3,
      900,
      Int.MaxValue - 3,
      Int.MaxValue),
    LongType -> Seq(
      Long.MinValue,
      Long.MinValue + 2,
      -9L,
      0L,
      4L,
      1L << 40,
      Long.MaxValue - 3,
      Long.MaxValue),
    DoubleType -> Seq(
      Double.NegativeInfinity,
      -1e300,
      -0.0,
      0.0,
      Double.MinPositiveValue,
      3.5,
      1e9,
      Double.MaxValue,
      Double.PositiveInfinity,
      Double.NaN),
    FloatType -> Seq(
      Float.NegativeInfinity,
      -2.5f,
      -0.0f,
      0.0f,
      1e-40f,
      7f,
      Float.MaxValue,
      Float.PositiveInfinity,
      Float.NaN),
    DateType -> Seq(Int.MinValue, -400000, -1, 0, 20000, 20001, 2932896, 8000000, Int.MaxValue),
    TimestampType -> Seq(
      Long.MinValue,
      -5000000000000000L,
      0L,
      1L,
      1700000000000000L,
      Long.MaxValue),
    TimestampNTZType -> Seq(Long.MinValue, -9L, 0L, 1L, 1700000000000000L, Long.MaxValue),
    DecimalType(9, 2) -> Seq(-999999999L, -1L, 0L, 5L, 100L, 999999999L).map(Decimal(_, 9, 2))
  ).map { case (dataType, values) => dataType -> values.toIndexedSeq }

  /** Columns of one type, two of either side, and conditions between them by their names. */
  final class SampleColumns(dataType: DataType) {
    val p = AttributeReference("p", dataType)()
    val q = AttributeReference("q", dataType)()
    val s = AttributeReference("s", dataType)()
    val e = AttributeReference("e", dataType)()

    val oneWay: (String, Expression) = "the other direction" -> GreaterThanOrEqual(p, s)

    val intervals: Seq[(String, Expression)] = Seq(
      "a point in an interval" -> And(GreaterThanOrEqual(p, s), LessThanOrEqual(p, e)),
      "a point strictly in an interval" -> And(GreaterThan(p, s), LessThan(p, e)),
      "an interval around a point" -> And(LessThanOrEqual(p, s), LessThan(s, q)),
      "intervals that overlap" -> And(LessThanOrEqual(p, e), LessThanOrEqual(s, q)),
      "one direction" -> LessThan(p, e)
    )

    /** None of a type without steps. */
    def band(mode: EvalMode.Value): Seq[(String, Expression)] =
      for (step <- Steps.get(dataType).toSeq) yield {
        val far = Literal(step, dataType)
        s"a band of $step" -> And(
          GreaterThanOrEqual(s, Subtract(p, far, mode)),
          LessThanOrEqual(s, Add(p, far, mode)))
      }
  }

  /** A distance that may be added to a value of a type. */
  private val Steps: Map[DataType, Any] =
    Map(
      ByteType -> 5.toByte,
      IntegerType -> 3,
      LongType -> 4L,
      DoubleType -> 2.5,
      FloatType -> 2.5f)

  /** Where the rows of an index are, by the bounds of its rows. */
  private def coveredOf(range: RangeCondition, columns: Seq[Attribute], rows: Seq[(Any, Any)]) = {
    def bound(expression: Option[Expression], row: (Any, Any), missing: Long): Option[Long] =
      expression.fold(Option(missing)) { b =>
        Option(BindReferences.bindReference(b, columns).eval(InternalRow(row._1, row._2)))
          .map(_.asInstanceOf[Long])
      }
    CoveredRangesOf(for {
      row <- rows
      sort <- bound(range.sortBound, row, Long.MinValue)
      evict <- bound(range.evictBound, row, Long.MaxValue)
    } yield sort -> evict)
  }

  private val P = AttributeReference("p", LongType)()
  private val S = AttributeReference("s", LongType)()
  private val E = AttributeReference("e", LongType)()

  /** p - step <= e and p + step >= s. */
  private def bandOf(step: Long): RangeCondition = {
    val far = Literal(step)
    val condition = And(
      LessThanOrEqual(Subtract(P, far, EvalMode.ANSI), E),
      GreaterThanOrEqual(Add(P, far, EvalMode.ANSI), S))
    RangeExtractor
      .extract(
        JoinCondition(
          Inner,
          Some(condition),
          AttributeSet(P),
          AttributeSet(Seq(S, E)),
          Some(LeftSide)))
      .toOption.get
  }

  private def covered(range: RangeCondition, rows: (Long, Long)*) =
    coveredOf(range, Seq(S, E), rows.map { case (a, b) => (a: Any) -> (b: Any) })
}
