// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.SlowTests
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The order of files is checked, and they are merged, in Spark's own order. */
class SortKeysSuite extends SlowTests {
  import SortKeysSuite._

  for ((dataType, values) <- Columns) {
    test(s"keys of type ${dataType.sql} are in Spark's order") {
      val keys = new SortKeys(orderBy(dataType))
      val ofLongs = dataType != StringType && dataType != DecimalType(30, 4)
      assert(keys.newKey().isInstanceOf[LongsKey] == ofLongs)
      val ordering = RowOrdering.createNaturalAscendingOrdering(Seq(dataType))
      val toUnsafe = UnsafeProjection.create(Array(dataType))
      for (a <- values :+ null; b <- values :+ null) {
        val expected = Integer.signum(ordering.compare(InternalRow(a), InternalRow(b)))
        val key = keys.newKey()
        assert(key.moveTo(toUnsafe(InternalRow(a))), "no row is before the first")
        assert(key.moveTo(toUnsafe(InternalRow(b))) == (expected <= 0), s"$a before $b")
      }
    }

    test(
      s"sources of type ${dataType.sql} are merged to Spark's order",
      slowButOneIn(5)(dataType.sql): _*) {
      val random = new Random(15)
      def any = (values :+ null).apply(random.nextInt(values.size + 1))
      // By one column, by two, and by three, the last of which no long stands for.
      for ((columns, count) <- Seq(1 -> 8, 2 -> 3, 3 -> 2)) {
        val types = Seq.fill(columns)(dataType)
        val natural = RowOrdering.createNaturalAscendingOrdering(types)
        val rows = Seq.fill(count)(
          Seq.fill(random.nextInt(700))(InternalRow.fromSeq(types.map(_ => any))).sorted(natural))
        val found = merged(rows, types)
        assert(found.size == rows.map(_.size).sum)
        for ((before, after) <- found.zip(found.drop(1)))
          assert(natural.compare(before, after) <= 0, s"$before before $after")
        // As bytes: NaN equals NaN there.
        def counts(rows: Seq[InternalRow]): Map[UnsafeRow, Int] =
          rows.map(toUnsafe(types)(_).copy()).groupBy(identity).map { case (row, all) =>
            row -> all.size
          }
        assert(counts(found) == counts(rows.flatten))
      }
    }
  }

  test("rows of any length are merged, and are whole") {
    val random = new Random(4)
    val types = Seq[DataType](IntegerType, StringType)
    // Some of them longer than all that is read ahead of most.
    def length = if (random.nextInt(40) == 0) 20000 + random.nextInt(20000) else random.nextInt(90)
    val rows = Seq.fill(5)(Seq.tabulate(300) { i =>
      InternalRow(i / 7, UTF8String.fromString(s"$i " + "x" * length))
    })
    def lines(sorted: Seq[InternalRow]) =
      sorted.map(row => row.getInt(0) -> row.getUTF8String(1).toString)
    val found = lines(merged(rows, types, columns = 1))
    assert(found.map(_._1) == found.map(_._1).sorted)
    assert(found.sorted == lines(rows.flatten).sorted)
  }

  test("a later column decides where those before are equal, or NULL in both") {
    val types = Array[DataType](IntegerType, LongType)
    val keys = new SortKeys(orderBy(types.toSeq: _*))
    val toUnsafe = UnsafeProjection.create(types)
    val inOrder =
      for (k <- Seq[Any](null, -1, 2); t <- Seq[Any](null, -7L, 5L)) yield InternalRow(k, t)
    for ((a, i) <- inOrder.zipWithIndex; (b, j) <- inOrder.zipWithIndex) {
      val key = keys.newKey()
      key.moveTo(toUnsafe(a))
      assert(key.moveTo(toUnsafe(b)) == (i <= j), s"$a before $b")
    }
  }

  test("any number of sources, some without rows, is merged to the order of all") {
    val random = new Random(22)
    for (count <- 0 to 17; ofValues <- Seq(3, 1000)) {
      val rows = Seq.fill(count)(Seq.fill(random.nextInt(3) * random.nextInt(20))(
        random.nextInt(ofValues).toLong).sorted)
      val keys = new SortKeys(orderBy(LongType))
      val merged = new MergeIterator(rows.map(source(_, keys)).toArray, keys)
      // Rows are overwritten: what is read of one is read before the next.
      val found = Iterator.continually(()).takeWhile(_ => merged.hasNext)
        .map(_ => merged.next().getLong(0)).toList
      assert(found == rows.flatten.sorted)
      assert(!merged.hasNext)
      intercept[NoSuchElementException](merged.next())
    }
  }

  test("sources of which one wins many times in a row are merged to the order of all") {
    val random = new Random(8)
    for (count <- Seq(2, 5, 8); run <- Seq(2, 60, 300); ofValues <- Seq(5, 100000)) {
      // Stretches of rows that are all of one source, with ties at their ends.
      val all = Seq.fill(3000)(random.nextInt(ofValues).toLong).sorted
      val rows = Array.fill(count)(Seq.newBuilder[Long])
      for (stretch <- all.grouped(run)) rows(random.nextInt(count)) ++= stretch
      val keys = new SortKeys(orderBy(LongType))
      val sources = rows.map(builder => source(builder.result(), keys))
      val merged = new MergeIterator(sources, keys)
      assert(merged.map(_.getLong(0)).toList == all)
    }
  }

  test("of several sources any that is out of order is an error") {
    for (wrong <- 0 until 5) {
      val keys = new SortKeys(orderBy(LongType))
      val sources = (0 until 5).map { i =>
        source(if (i == wrong) Seq(1L, 9L, 8L) else Seq(0L, 2L, 20L), keys)
      }
      val merged = new MergeIterator(sources.toArray, keys)
      assert(intercept[IllegalStateException](merged.foreach(_ => ())).getMessage == "1, 9, 8")
    }
  }

  /** The rows of several sources, merged by their first columns. */
  private def merged(
      rows: Seq[Seq[InternalRow]],
      types: Seq[DataType],
      columns: Int = Int.MaxValue): Seq[InternalRow] = {
    val keys = new SortKeys(orderBy(types: _*).take(columns))
    val sources = rows.map { ofSource =>
      val project = toUnsafe(types)
      new SortedSource(
        ofSource.iterator.map(project(_)),
        keys.newKey(),
        () => new IllegalStateException(ofSource.mkString(", ")))
    }
    new MergeIterator(sources.toArray, keys).map(row => fromUnsafe(types)(row.copy())).toList
  }

  private def toUnsafe(types: Seq[DataType]): UnsafeProjection =
    UnsafeProjection.create(types.toArray)

  private def fromUnsafe(types: Seq[DataType])(row: InternalRow): InternalRow =
    InternalRow.fromSeq(row.toSeq(types))

  /** Hands out one row, with other values each time. */
  private def source(values: Seq[Long], keys: SortKeys): SortedSource = {
    val toUnsafe = UnsafeProjection.create(Array[DataType](LongType))
    new SortedSource(
      values.iterator.map(value => toUnsafe(InternalRow(value))),
      keys.newKey(),
      () => new IllegalStateException(values.mkString(", ")))
  }
}

private object SortKeysSuite {
  def orderBy(types: DataType*): Seq[SortOrder] = types.zipWithIndex.map { case (dataType, i) =>
    SortOrder(BoundReference(i, dataType, nullable = true), Ascending)
  }

  private val Ints = Seq[Any](Int.MinValue, -5, 0, 7, Int.MaxValue)
  private val Longs = Seq[Any](Long.MinValue, -5L, 0L, 7L, Long.MaxValue)

  /** Values in Spark's own form. */
  val Columns: Seq[(DataType, Seq[Any])] = Seq(
    BooleanType -> Seq(true, false),
    ByteType -> Seq(Byte.MinValue, -1.toByte, 3.toByte, Byte.MaxValue),
    ShortType -> Seq(Short.MinValue, -1.toShort, 3.toShort, Short.MaxValue),
    IntegerType -> Ints,
    DateType -> Ints,
    YearMonthIntervalType() -> Ints,
    LongType -> Longs,
    TimestampType -> Longs,
    TimestampNTZType -> Longs,
    DayTimeIntervalType() -> Longs,
    FloatType -> Seq(Float.NegativeInfinity, -1f, -0f, 0f, Float.MinPositiveValue, Float.NaN),
    DoubleType -> Seq(
      Double.NegativeInfinity,
      -1d,
      -0d,
      0d,
      1d,
      Double.PositiveInfinity,
      Double.NaN),
    DecimalType(18, 4) -> Seq("-99999999999999.9999", "-1", "0", "1.5", "99999999999999.9999")
      .map(number => Decimal(BigDecimal(number), 18, 4)),
    DecimalType(30, 4) -> Seq("-99999999999999999999", "-1", "0", "1.5", "99999999999999999999")
      .map(number => Decimal(BigDecimal(number), 30, 4)),
    StringType -> Seq("", "a", "aa", "b", "\u00e4").map(UTF8String.fromString)
  )
}
