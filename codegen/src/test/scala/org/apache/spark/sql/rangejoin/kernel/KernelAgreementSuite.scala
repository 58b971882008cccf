// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** Both kernels over the same rows: what they say is the same, and is Spark's order of keys. */
class KernelAgreementSuite extends AnyFunSuite {

  /** A kernel over rows of keys and two bounds, and rows as Spark hands them on: in one buffer. */
  private class Side(kernel: RangeJoinKernel, types: Seq[DataType], streamed: Boolean) {
    private val project = UnsafeProjection.create(types.toArray)

    def load(values: Seq[Any]): Boolean = {
      val row = project(InternalRow.fromSeq(values))
      if (streamed) kernel.loadStreamed(row) else kernel.loadBuffered(row)
    }
  }

  private def columns(types: Seq[DataType]): Seq[BoundReference] =
    types.zipWithIndex.map { case (dataType, i) => BoundReference(i, dataType, nullable = true) }

  private def spec(keys: Seq[DataType], bound: DataType): KernelSpec = {
    val all = columns(keys :+ bound :+ bound)
    val (first, second) = (all(keys.size), all(keys.size + 1))
    KernelSpec(
      all.take(keys.size),
      all.take(keys.size),
      lower = Some(RangeBound(first, None, unboundedBelow = true, strict = true)),
      upper = Some(RangeBound(second, None, unboundedBelow = false, strict = true)),
      sortBound = Some(RangeBound(first, None, unboundedBelow = true, strict = false)),
      evictBound = Some(RangeBound(second, None, unboundedBelow = false, strict = false))
    )
  }

  private def kernels(spec: KernelSpec): Seq[RangeJoinKernel] =
    Engines.All.map(engine => Engines.using(engine)(RangeJoinKernelFactory.createObject(spec)))

  /** All that a kernel says of the rows; bounds and keys only of rows it has loaded. */
  private case class Said(
      opened: Boolean,
      streamed: Boolean,
      buffered: Boolean,
      bounds: Seq[Long],
      order: Option[Int],
      streamedInGroup: Option[Boolean],
      bufferedInGroup: Option[Boolean]
  ) {
    def loaded: Seq[Boolean] = Seq(opened, streamed, buffered)
  }

  /** What is said of rows whose keys have ranks in the order of Spark, and whose bounds fit. */
  private def ofRanks(group: Int, streamed: Int, buffered: Int, bounds: Seq[Long]): Said = Said(
    opened = true,
    streamed = true,
    buffered = true,
    bounds,
    Some(Integer.signum(streamed.compareTo(buffered))),
    Some(streamed == group),
    Some(buffered == group)
  )

  private def describe(
      kernel: RangeJoinKernel,
      types: Seq[DataType],
      group: Seq[Any],
      streamedRow: Seq[Any],
      bufferedRow: Seq[Any]
  ): Said = {
    val streamed = new Side(kernel, types, streamed = true)
    val buffered = new Side(kernel, types, streamed = false)
    val opened = streamed.load(group)
    if (opened) kernel.openGroup()
    val s = streamed.load(streamedRow)
    val b = buffered.load(bufferedRow)
    val ofStreamed = if (s) Seq(kernel.lower, kernel.upper) else Nil
    val ofBuffered = if (b) Seq(kernel.sortBound, kernel.evictBound) else Nil
    Said(
      opened,
      s,
      b,
      ofStreamed ++ ofBuffered,
      if (s && b) Some(Integer.signum(kernel.compareStreamedWithBuffered())) else None,
      if (opened && s) Some(kernel.streamedInGroup()) else None,
      if (opened && b) Some(kernel.bufferedInGroup()) else None
    )
  }

  private def agreed(
      spec: KernelSpec,
      types: Seq[DataType],
      group: Seq[Any],
      streamedRow: Seq[Any],
      bufferedRow: Seq[Any]
  ): Said = {
    val said = kernels(spec).map(describe(_, types, group, streamedRow, bufferedRow))
    assert(said.distinct.size == 1, s"$group $streamedRow $bufferedRow")
    said.head
  }

  /** Keys of a type in ascending order; those in one list are equal. */
  private val keysInOrder = Seq[(DataType, Seq[Seq[Any]])](
    BooleanType -> Seq(Seq(false), Seq(true)),
    ByteType -> Seq(Seq((-128).toByte), Seq(0.toByte), Seq(127.toByte)),
    IntegerType -> Seq(Seq(Int.MinValue), Seq(-1), Seq(0), Seq(Int.MaxValue)),
    LongType -> Seq(Seq(Long.MinValue), Seq(-1L), Seq(0L), Seq(Long.MaxValue)),
    FloatType -> Seq(Seq(Float.NegativeInfinity), Seq(-0.0f, 0.0f), Seq(1.5f), Seq(Float.NaN)),
    DoubleType -> Seq(
      Seq(Double.NegativeInfinity),
      Seq(-1.0),
      Seq(-0.0, 0.0),
      Seq(Double.PositiveInfinity),
      Seq(Double.NaN, java.lang.Double.longBitsToDouble(0x7ff8000000000001L))
    ),
    StringType -> Seq("", "A", "a", "aa", "ä", "語").map(text),
    BinaryType -> Seq[Seq[Byte]](Nil, Seq(1), Seq(1, 0), Seq(127), Seq(-128), Seq(-1))
      .map(bytes => Seq(bytes.toArray)),
    DecimalType(10, 2) -> Seq(decimal("-1.00", 10), decimal("0.00", 10), decimal("10.50", 10)),
    DecimalType(38, 2) -> Seq(
      decimal("-99999999999999999999.99", 38),
      decimal("0.01", 38),
      decimal("99999999999999999999.99", 38)
    ),
    StructType.fromDDL("a INT, b STRING") -> Seq(
      Seq(struct(null, "z")),
      Seq(struct(1, "a")),
      Seq(struct(1, "b")),
      Seq(struct(2, "a"))
    ),
    ArrayType(IntegerType) -> Seq(
      Seq(array()),
      Seq(array(1)),
      Seq(array(1, 2)),
      Seq(array(2))
    )
  ) ++ TypesOfLine.collated("UTF8_LCASE")
    .map(_ -> Seq(text("a") ++ text("A"), text("b") ++ text("B")))

  private def text(s: String): Seq[Any] = Seq(UTF8String.fromString(s))
  private def decimal(s: String, precision: Int): Seq[Any] =
    Seq(Decimal(BigDecimal(s), precision, 2))
  private def struct(a: Any, b: String): InternalRow = InternalRow(a, UTF8String.fromString(b))
  private def array(elements: Int*): ArrayData = ArrayData.toArrayData(elements.toArray)

  test("keys of every type compare as Spark orders them") {
    for ((key, ascending) <- keysInOrder) {
      val types = Seq(key, IntegerType, IntegerType)
      val made = spec(Seq(key), IntegerType)
      val ranked = ascending.zipWithIndex.flatMap { case (equal, rank) => equal.map(_ -> rank) }
      for ((group, g) <- ranked.take(3); (s, i) <- ranked; (b, j) <- ranked) {
        val said = agreed(made, types, Seq(group, 0, 0), Seq(s, 1, 5), Seq(b, 2, 3))
        assert(said == ofRanks(g, i, j, Seq(2L, 4L, 2L, 3L)), s"$key: $s, $b")
      }
    }
  }

  test("several keys compare one after the other") {
    val keys = Seq(IntegerType, StringType, DoubleType)
    val types = keys ++ Seq(LongType, LongType)
    val rows = for {
      a <- Seq(1, 2)
      b <- Seq("a", "b")
      c <- Seq(-0.0, Double.NaN)
    } yield Seq[Any](a, UTF8String.fromString(b), c, 0L, 9L)
    val made = spec(keys, LongType)
    for ((s, i) <- rows.zipWithIndex; (b, j) <- rows.zipWithIndex) {
      val said = agreed(made, types, rows.head, s, b)
      assert(said == ofRanks(0, i, j, Seq(1L, 8L, 0L, 9L)))
    }
  }

  test("a row with a NULL in any key or bound matches nothing") {
    val types = Seq(IntegerType, StringType, LongType, LongType)
    val row = Seq[Any](1, UTF8String.fromString("a"), 3L, 4L)
    val made = spec(types.take(2), LongType)
    for (i <- row.indices) {
      val withNull = row.updated(i, null)
      assert(agreed(made, types, row, withNull, row).loaded == Seq(true, false, true))
      assert(agreed(made, types, row, row, withNull).loaded == Seq(true, true, false))
      assert(agreed(made, types, withNull, row, row).loaded == Seq(false, true, true))
    }
  }

  test("bounds of every supported type agree, at the ends of the type too") {
    val small = Seq[(DataType, Seq[Any])](
      ByteType -> Seq[Byte](Byte.MinValue, 0, Byte.MaxValue),
      ShortType -> Seq[Short](Short.MinValue, 0, Short.MaxValue),
      IntegerType -> Seq(Int.MinValue, 0, Int.MaxValue),
      DateType -> Seq(Int.MinValue, 0, Int.MaxValue)
    )
    val large = Seq(LongType, TimestampType, TimestampNTZType, DayTimeIntervalType())
      .map(_ -> Seq[Any](Long.MinValue, 0L, Long.MaxValue))
    for ((bound, values) <- small ++ large) {
      val types = Seq(IntegerType, bound, bound)
      val made = spec(Seq(IntegerType), bound)
      for (first <- null +: values; second <- null +: values) {
        val row = Seq(1, first, second)
        val loaded = first != null && second != null
        assert(
          agreed(made, types, Seq(1, values(1), values(1)), row, row).loaded ==
            Seq(true, loaded, loaded),
          s"$bound $row"
        )
      }
    }
  }

  test("a join without a range has bounds that hold for every pair") {
    val keys = columns(Seq(IntegerType))
    val made = KernelSpec(keys, keys, None, None, None, None)
    val said = agreed(made, Seq(IntegerType), Seq(1), Seq(1), Seq(1))
    assert(said.bounds == Seq(0L, 0L, 0L, 0L))
  }

  test("a join without keys has one group") {
    val types = Seq(LongType, LongType)
    val said = agreed(spec(Nil, LongType), types, Seq(0L, 0L), Seq(1L, 5L), Seq(2L, 3L))
    assert(said == ofRanks(0, 0, 0, Seq(2L, 4L, 2L, 3L)))
  }

  test("the key of a group outlives the row it was read from") {
    for ((key, ascending) <- keysInOrder; kernel <- kernels(spec(Seq(key), IntegerType))) {
      val streamed = new Side(kernel, Seq(key, IntegerType, IntegerType), streamed = true)
      def load(value: Any) = assert(streamed.load(Seq(value, 0, 9)))
      val (first, last) = (ascending.head.head, ascending.last.last)
      load(first)
      kernel.openGroup()
      // Its bytes are overwritten, as in the iterators of Spark.
      load(last)
      assert(!kernel.streamedInGroup(), key)
      load(first)
      assert(kernel.streamedInGroup(), key)
      load(last)
      kernel.openGroup()
      assert(kernel.streamedInGroup(), key)
    }
  }
}
