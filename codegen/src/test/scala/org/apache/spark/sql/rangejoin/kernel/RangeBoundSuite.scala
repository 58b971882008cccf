// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** A child that raises what it is told to; for errors no expression of Spark raises. */
private case class Raises(error: Throwable) extends LeafExpression with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def eval(input: InternalRow): Any = throw error
}

/** The bound of a row, the same in both engines. */
class RangeBoundSuite extends AnyFunSuite {
  private val value = BoundReference(0, IntegerType, nullable = true)
  private val flag = BoundReference(1, BooleanType, nullable = true)
  private val overflows = Add(value, Literal(1), EvalMode.ANSI)
  private val least = Some(Long.MinValue)
  private val greatest = Some(Long.MaxValue)

  private def lower(child: Expression, strict: Boolean = false): RangeBound =
    RangeBound(child, None, unboundedBelow = true, strict)

  private def upper(child: Expression, strict: Boolean = false): RangeBound =
    RangeBound(child, None, unboundedBelow = false, strict)

  private def evaluate(bound: RangeBound, values: Any*): Option[Long] = {
    val row = InternalRow.fromSeq(values)
    val results = Engines.All.map { engine =>
      val out = Engines.using(engine)(UnsafeProjection.create(Seq(bound)).apply(row))
      if (out.isNullAt(0)) None else Some(out.getLong(0))
    } :+ Option(bound.eval(row)).map(_.asInstanceOf[Long])
    assert(results.distinct.size == 1, s"$bound of $row")
    assert(results.head.isDefined || bound.nullable, s"$bound of $row")
    results.head
  }

  // ---------------------------------------------------------------- values

  private val ascending = Seq[(DataType, Seq[Any])](
    ByteType -> Seq[Byte](Byte.MinValue, -1, 0, 1, Byte.MaxValue),
    ShortType -> Seq[Short](Short.MinValue, -1, 0, 1, Short.MaxValue),
    IntegerType -> Seq(Int.MinValue, -1, 0, 1, Int.MaxValue),
    LongType -> Seq(Long.MinValue, -1L, 0L, 1L, Long.MaxValue),
    DateType -> Seq(Int.MinValue, -1, 0, 1, Int.MaxValue),
    TimestampType -> Seq(Long.MinValue, -1L, 0L, 1L, Long.MaxValue),
    TimestampNTZType -> Seq(Long.MinValue, -1L, 0L, 1L, Long.MaxValue),
    DayTimeIntervalType() -> Seq(Long.MinValue, -1L, 0L, 1L, Long.MaxValue),
    YearMonthIntervalType() -> Seq(Int.MinValue, -1, 0, 1, Int.MaxValue),
    BooleanType -> Seq(false, true),
    FloatType -> Seq(
      Float.NegativeInfinity,
      Float.MinValue,
      -1f,
      -Float.MinPositiveValue,
      0f,
      Float.MinPositiveValue,
      1f,
      Float.MaxValue,
      Float.PositiveInfinity,
      Float.NaN),
    DoubleType -> Seq(
      Double.NegativeInfinity,
      Double.MinValue,
      -1.0,
      -Double.MinPositiveValue,
      0.0,
      Double.MinPositiveValue,
      1.0,
      Double.MaxValue,
      Double.PositiveInfinity,
      Double.NaN
    ),
    DecimalType(18, 2) ->
      Seq("-9999999999999999.99", "-0.01", "0.00", "0.01", "9999999999999999.99").map(Decimal(_))
  ) ++ TypesOfLine.time.map(_ -> Seq(0L, 1L, 86399999999999L))

  test("bounds of every exact type stand in the order of their values") {
    for ((dataType, values) <- ascending) {
      assert(OrderedLong.isLossless(dataType))
      val column = BoundReference(0, dataType, nullable = true)
      val bounds = values.map(v => evaluate(lower(column), v).get)
      assert(bounds == bounds.sorted.distinct, dataType)
      assert(bounds == values.map(OrderedLong.encode(_, dataType)))
      assert(evaluate(lower(column), null).isEmpty)
    }
  }

  test("a literal is a bound, negative ones too") {
    for ((dataType, values) <- ascending; value <- values) {
      val literal = Literal(value, dataType)
      assert(evaluate(lower(literal)).contains(OrderedLong.encode(value, dataType)))
    }
  }

  private val prefixed = Seq[(DataType, Seq[Any])](
    StringType -> Seq("", "\u0000", "a", "aaaaaaaa", "aaaaaaaab", "ab", "b", "é", "\uffff")
      .map(UTF8String.fromString),
    BinaryType -> Seq(
      Array.empty[Byte],
      Array[Byte](0),
      Array[Byte](1),
      Array[Byte](127),
      Array[Byte](-128),
      Array.fill(9)(-1.toByte)),
    DecimalType(
      38,
      0) -> Seq("-9" * 1, "-" + "9" * 38, "-1", "0", "1", "9" * 17, "9" * 18, "9" * 38)
      .map(s => BigDecimal(s)).sorted.map(Decimal(_, 38, 0)),
    DecimalType(38, 18) -> Seq("-99999999999999999999.5", "-0.1", "0", "1e-18", "4.7", "1e19")
      .map(s => Decimal(BigDecimal(s), 38, 18)),
    ArrayType(IntegerType) -> Seq(new GenericArrayData(Seq(1)), new GenericArrayData(Seq(2)))
  ) ++ TypesOfLine.collated("UNICODE_CI").map(_ -> Seq("a", "B").map(UTF8String.fromString))

  test("bounds of every other type do not fall, and are no extreme") {
    for ((dataType, values) <- prefixed) {
      assert(!OrderedLong.isLossless(dataType))
      val column = BoundReference(0, dataType, nullable = true)
      val bounds = values.map(v => evaluate(lower(column), v).get)
      assert(bounds == bounds.sorted, dataType)
      assert(bounds.forall(b => b > Long.MinValue && b < Long.MaxValue))
      assert(bounds == values.map(OrderedLong.encode(_, dataType)))
      assert(evaluate(lower(column), null).isEmpty)
    }
  }

  test("zeros are equal, and so are all NaN") {
    assert(OrderedLong.ofDouble(-0.0) == OrderedLong.ofDouble(0.0))
    val otherNaN = java.lang.Double.longBitsToDouble(0xfff8000000000001L)
    assert(OrderedLong.ofDouble(otherNaN) == OrderedLong.ofDouble(Double.NaN))
  }

  test("a decimal is encoded by its type, whatever its own scale") {
    val decimal = DecimalType(10, 3)
    assert(OrderedLong.encode(Decimal("1.5"), decimal) == 1500L)
    assert(OrderedLong.encode(Decimal(2), decimal) == 2000L)
    val wide = DecimalType(38, 3)
    assert(OrderedLong.encode(Decimal("1.5"), wide) == OrderedLong.encode(Decimal("1.500"), wide))
  }

  test("a prefix has no next value") {
    val string = BoundReference(0, StringType, nullable = true)
    intercept[IllegalArgumentException](lower(string, strict = true))
  }

  test("NULL is NULL") {
    for (strict <- Seq(true, false)) {
      assert(evaluate(lower(value, strict), null).isEmpty)
      assert(evaluate(upper(value, strict), null).isEmpty)
      assert(evaluate(upper(overflows, strict), null).isEmpty)
    }
  }

  test("a bound that can be NULL says so") {
    val sure = BoundReference(0, IntegerType, nullable = false)
    assert(lower(value).nullable)
    assert(!lower(sure).nullable)
    assert(!lower(sure, strict = true).nullable)
    assert(!RangeBound(sure, Some(flag), unboundedBelow = true, strict = false).nullable)
    assert(evaluate(lower(sure), 3).contains(3L))
    assert(evaluate(lower(sure, strict = true), 3).contains(4L))
  }

  // ---------------------------------------------------------------- strictness

  test("a strict bound is moved by one into the range") {
    assert(evaluate(lower(value, strict = true), 5).contains(6L))
    assert(evaluate(upper(value, strict = true), 5).contains(4L))
    assert(evaluate(lower(value, strict = true), Int.MaxValue).contains(Int.MaxValue + 1L))
    assert(evaluate(upper(value, strict = true), Int.MinValue).contains(Int.MinValue - 1L))
  }

  test("a strict bound at the end stays there, for the bounds that may be unknown") {
    val long = BoundReference(0, LongType, nullable = false)
    assert(evaluate(lower(long, strict = true), Long.MaxValue) == greatest)
    assert(evaluate(upper(long, strict = true), Long.MinValue) == least)
    assert(evaluate(lower(long, strict = true), Long.MaxValue - 1) == greatest)
    assert(evaluate(upper(long, strict = true), Long.MinValue + 1) == least)
    assert(evaluate(lower(long, strict = true), Long.MinValue).contains(Long.MinValue + 1))
    assert(evaluate(upper(long, strict = true), Long.MaxValue).contains(Long.MaxValue - 1))
  }

  // ---------------------------------------------------------------- unknown

  test("a child that raises is unknown, and excludes no pair") {
    for (strict <- Seq(true, false)) {
      assert(evaluate(lower(overflows, strict), Int.MaxValue) == least)
      assert(evaluate(upper(overflows, strict), Int.MaxValue) == greatest)
    }
    assert(evaluate(lower(overflows), 1).contains(2L))
    for (error <- Seq(new RuntimeException("row"), new AssertionError("row"))) {
      assert(evaluate(upper(Raises(error))) == greatest)
    }
  }

  test("a bound that is not trusted is unknown, be its child NULL or not") {
    for {
      trusted <- Seq[Any](false, null)
      child <- Seq[Any](3, null, Int.MaxValue)
      strict <- Seq(true, false)
    } {
      def bound(below: Boolean) = RangeBound(overflows, Some(flag), below, strict)
      assert(evaluate(bound(below = true), child, trusted) == least)
      assert(evaluate(bound(below = false), child, trusted) == greatest)
    }
  }

  test("a bound that is trusted is that of its child") {
    val bound = RangeBound(overflows, Some(flag), unboundedBelow = true, strict = true)
    assert(evaluate(bound, 3, true).contains(5L))
    assert(evaluate(bound, null, true).isEmpty)
    assert(evaluate(bound, Int.MaxValue, true) == least)
  }

  test("a condition of trust that raises is not met") {
    val bound = RangeBound(value, Some(overflows > 0), unboundedBelow = false, strict = false)
    assert(evaluate(bound, Int.MaxValue) == greatest)
    assert(evaluate(bound, 7).contains(7L))
    assert(evaluate(bound, -7) == greatest)
  }

  test("one bound's error leaves nothing behind for the next row") {
    for (engine <- Engines.All) {
      val project = Engines.using(engine)(UnsafeProjection.create(Seq(lower(overflows, true))))
      def next(v: Any): Any = {
        val out = project(InternalRow(v))
        if (out.isNullAt(0)) null else out.getLong(0)
      }
      val rows = Seq[Any](1, Int.MaxValue, null, 2, null, Int.MaxValue)
      assert(rows.map(next) == Seq[Any](3L, Long.MinValue, null, 4L, null, Long.MinValue))
    }
  }

  // ---------------------------------------------------------------- what passes

  test("a killed task, an interrupt and errors of the JVM are not taken for unknown") {
    val errors = Seq(
      new TaskKilledException("stop"),
      new InterruptedException,
      new OutOfMemoryError("test"),
      new StackOverflowError,
      new NoClassDefFoundError("Test")
    )
    for (error <- errors; position <- Seq("child", "trusted")) {
      val bound =
        if (position == "child") upper(Raises(error))
        else RangeBound(value, Some(Raises(error) > 0), unboundedBelow = true, strict = false)
      assert(raisedBy(bound.eval(InternalRow(1))).contains(error))
      for (engine <- Engines.All) {
        val project = Engines.using(engine)(UnsafeProjection.create(Seq(bound)))
        assert(raisedBy(project(InternalRow(1))).contains(error), s"$engine, $position")
      }
    }
  }

  private def raisedBy(block: => Any): Option[Throwable] =
    try {
      block
      None
    } catch {
      case e: Throwable => Some(e)
    }

  // ---------------------------------------------------------------- subexpressions

  test("a child that bounds share is not evaluated ahead of the guard") {
    val bounds = Seq(lower(overflows), upper(overflows))
    for (engine <- Engines.All) {
      val project = Engines.using(engine)(projectionWithSharing(bounds))
      val out = project(InternalRow(Int.MaxValue))
      assert(Seq(out.getLong(0), out.getLong(1)) == Seq(Long.MinValue, Long.MaxValue))
    }
  }

  test("a guard that bounds share is not evaluated ahead of them") {
    val trusted = Some(overflows > 0)
    val bounds =
      Seq(true, false).map(below => RangeBound(value, trusted, below, strict = false))
    for (engine <- Engines.All) {
      val project = Engines.using(engine)(projectionWithSharing(bounds))
      val out = project(InternalRow(Int.MaxValue))
      assert(Seq(out.getLong(0), out.getLong(1)) == Seq(Long.MinValue, Long.MaxValue))
    }
  }

  test("what is shared outside of a guard is evaluated ahead: the tests above test something") {
    val shared = new EquivalentExpressions
    Seq(overflows + 1, overflows + 2).foreach(shared.addExprTree(_))
    assert(shared.getCommonSubexpressions.contains(overflows))
    val guarded = new EquivalentExpressions
    Seq(lower(overflows), upper(overflows)).foreach(guarded.addExprTree(_))
    assert(guarded.getCommonSubexpressions.isEmpty)
  }

  private def projectionWithSharing(bounds: Seq[RangeBound]): UnsafeProjection = {
    assert(SQLConf.get.subexpressionEliminationEnabled)
    UnsafeProjection.create(bounds)
  }
}
