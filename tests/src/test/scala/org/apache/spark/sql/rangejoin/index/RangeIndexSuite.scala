// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.SparkConf
import org.apache.spark.serializer.{JavaSerializer, KryoSerializer, Serializer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.rangejoin.kernel.GuardedValue
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** What an index finds, against asking every row. */
class RangeIndexSuite extends AnyFunSuite {
  import IndexEntries._

  private lazy val rowOfText = UnsafeProjection.create(Array(Rows.dataType))

  private def bound(ordinal: Int) = BoundReference(ordinal, LongType, nullable = true)

  /** Some leading bits of a value; the extremes stand for what is unknown. */
  private def prefixOf(value: Expression, bits: Int): Expression =
    if (bits == 0) value
    else {
      val extremes = Seq(Literal(Long.MinValue), Literal(Long.MaxValue))
      If(In(value, extremes), value, ShiftRight(value, Literal(bits)))
    }

  private def prefixOf(value: Long, bits: Int): Long =
    if (value == Long.MinValue || value == Long.MaxValue) value else value >> bits

  private def index(
      rows: Seq[Entry],
      keys: Keys,
      tests: Tests,
      linearScanThreshold: Int = 0
  ): RangeIndex = {
    val types = Array[DataType](keys.dataType, LongType, LongType, IntegerType)
    val project = UnsafeProjection.create(types)
    val unsafe = rows.zipWithIndex.map { case (row, i) =>
      project(InternalRow(
        row.key.map(keys.value).orNull,
        row.sort.map(Long.box).orNull,
        row.evict.map(Long.box).orNull,
        i)).copy()
    }
    val sort = if (tests.upper) Some(bound(1)) else None
    val evict = if (tests.lower) Some(bound(if (tests.points) 1 else 2)) else None
    RangeIndexMode(
      if (keys == Keyless) Nil else Seq(BoundReference(0, keys.dataType, nullable = true)),
      sort.map(prefixOf(_, tests.sortPrefix)),
      evict.map(prefixOf(_, tests.evictPrefix)),
      sort.filter(_ => tests.sortPrefix > 0).map(GuardedValue(_)),
      evict.filter(_ => tests.evictPrefix > 0).map(GuardedValue(_)),
      linearScanThreshold,
      keyTypes = Seq(keys.dataType)
    )().transform(unsafe.iterator, Some(rows.size.toLong))
  }

  /** The positions of the rows in reach, and of those the bounds do not decide. */
  private def find(
      cursor: RangeCursor,
      keys: Keys,
      query: Query,
      tests: Tests = Tests(true, true, false)): (Seq[Int], Set[Int]) = {
    val found = keys match {
      case Keyless => cursor.seek()
      case Rows    => cursor.seek(rowOfText(InternalRow(keys.value(query.key))))
      case _       => cursor.seek(keys.value(query.key).asInstanceOf[Long])
    }
    if (found && cursor.isSearched) {
      cursor.search(
        prefixOf(query.lower, tests.evictPrefix),
        prefixOf(query.upper, tests.sortPrefix))
      while (cursor.asks()) {
        val row = cursor.row
        cursor.answer(
          if (cursor.asksUpper) row.getLong(1) <= query.upper
          else row.getLong(if (tests.points) 1 else 2) >= query.lower)
      }
    }
    val positions = mutable.ArrayBuffer.empty[Int]
    val undecided = mutable.Set.empty[Int]
    while (cursor.next()) {
      positions += cursor.row.getInt(3)
      if (cursor.isUndecided) undecided += cursor.row.getInt(3)
    }
    (positions.toSeq, undecided.toSet)
  }

  private def expected(rows: Seq[Entry], keys: Keys, tests: Tests, query: Query): Seq[Int] =
    rows.zipWithIndex.collect {
      case (Entry(key, sort, evict), i)
          if (keys == Keyless || key.contains(query.key)) &&
            (!tests.upper || sort.exists(_ <= query.upper)) &&
            (!tests.lower || (if (tests.points) sort else evict).exists(_ >= query.lower)) =>
        i
    }

  /** Unless the test is not made, in which case its bound in the query is 0. */
  private def asked(tests: Tests, query: Query): Query = query.copy(
    lower = if (tests.lower) query.lower else 0L,
    upper = if (tests.upper) query.upper else 0L)

  private def mayBeUnknown(entry: Entry, tests: Tests, query: Query): Boolean =
    tests.lower && query.lower == Long.MinValue || tests.upper && query.upper == Long.MaxValue ||
      tests.upper && entry.sort.contains(Long.MinValue) ||
      tests.lower && (if (tests.points) entry.sort else entry.evict).contains(Long.MaxValue)

  private def check(rows: Seq[Entry], keys: Keys, tests: Tests, queries: Seq[Query]): Unit = {
    val built = index(rows, keys, tests)
    val cursor = built.cursor()
    for (query <- queries.map(asked(tests, _))) {
      val (positions, undecided) = find(cursor, keys, query, tests)
      // The clue of an assertion is written whether it fails or not.
      if (positions.sorted != expected(rows, keys, tests, query))
        fail(s"$query of $keys, $tests, ${if (rows.size < 50) rows else rows.size}: $positions")
      for (i <- positions if undecided(i) != mayBeUnknown(rows(i), tests, query)) {
        fail(s"$i, ${rows(i)}, $query")
      }
    }
  }

  private val AllKeys = Seq(Keyless, DenseLongs, SparseLongs, Rows)
  private val AllTests =
    Seq(
      Tests(true, true, false),
      Tests(true, true, true),
      Tests(true, false, false),
      Tests(false, true, false),
      Tests(true, true, false, 4, 4),
      Tests(true, true, true, 4, 4),
      Tests(true, false, false, 0, 4),
      Tests(false, true, false, 4, 0),
      Tests(true, true, false, 60, 0),
      Tests(true, true, false, 0, 60),
      Tests(true, true, true, 60, 60)
    )

  for (keys <- AllKeys; tests <- AllTests) {
    test(s"random rows with $keys and $tests") {
      val random = new Random(keys.hashCode * 31 + tests.hashCode)
      for (entries <- RandomEntries.ofEveryKind(random, 2))
        check(entries.rows, keys, tests, entries.queries)
    }
  }

  test("a column is compared in its rows, without a copy, as joins guard it") {
    val column = BoundReference(1, StringType, nullable = true)
    assert(new ValueOrder(GuardedValue(column)).isColumn)
    assert(!new ValueOrder(GuardedValue(Upper(column))).isColumn)
  }

  test("intervals of any lengths, long ones before and among short ones", Slow) {
    val random = new Random(5)
    for ((keys, groups) <- Seq(Keyless -> 1, DenseLongs -> 3, SparseLongs -> 40)) {
      def key() = random.nextInt(groups)
      val short =
        Seq.tabulate(12000)(i => Entry(Some(key()), Some(i * 5L), Some(i * 5L + 5)))
      val long =
        Seq.tabulate(20)(i => Entry(Some(key()), Some(random.nextInt(60000)), Some(70000L + i)))
      val nested =
        Seq.tabulate(300)(i => Entry(Some(key()), Some(20000L + i), Some(30000L - i)))
      val queries = Seq.fill(300) {
        val at = random.nextInt(62000) - 1000L
        Query(key(), at, at + (if (random.nextBoolean()) 0 else random.nextInt(100)))
      }
      check(random.shuffle(short ++ long ++ nested), keys, Tests(true, true, false), queries)
    }
  }

  for (tests <- AllTests if tests.lower && tests.upper && !tests.points) {
    test(s"$tests that are disjoint, of one length, or beside others") {
      val random = new Random(tests.hashCode)
      for (keys <- AllKeys; (_, lengths) <- RisingLengths; (_, others) <- Others) {
        val rows = risingEntries(random, lengths(random), others)
        val queries = Seq.fill(30) {
          val at = random.nextInt(4200) - 100L
          Query(random.nextInt(3), at, at + (if (random.nextBoolean()) 0 else random.nextInt(60)))
        }
        check(rows, keys, tests, queries)
      }
    }
  }

  /** Rows of two keys in turn, 20 apart, whose ends rise with their begins; and others. */
  private def risingEntries(random: Random, length: () => Int, others: Seq[Entry]): Seq[Entry] = {
    val rising = Seq.tabulate(400)(i => Entry(Some(i % 2), Some(i * 10L), Some(i * 10L + length())))
    random.shuffle(rising ++ others)
  }

  test("what a search looks at follows what it finds") {
    // Short intervals, each within a longer one, all within one.
    val n = 1 << 17
    val rows = Seq.tabulate(n) { i =>
      val end = if (i == 0) 4L * n else if (i % 1024 == 0) (i + 1023) * 2L + 1 else i * 2L + 1
      Entry(Some(1), Some(i * 2L), Some(end))
    }
    val cursor = index(rows, Keyless, Tests(true, true, false)).cursor()
    for (at <- Seq(1L, 5000L, 100001L, 2L * n - 1)) {
      val (positions, _) = find(cursor, Keyless, Query(1, at, at))
      assert(positions.size <= 3 && positions.contains(0))
    }
    assert(cursor.candidates <= 12)
  }

  test("groups of a few rows are not searched, and without larger ones there are no bounds") {
    val rows = Seq.tabulate(40)(i => Entry(Some(i / 4), Some(i.toLong), Some(i.toLong)))
    val small = index(rows, DenseLongs, Tests(true, true, false), linearScanThreshold = 4)
    assert(small.search == null)
    assert(find(small.cursor(), DenseLongs, Query(3, 100, 0))._1 == Seq(12, 13, 14, 15))
    val mixed = index(
      rows ++ Seq.tabulate(10)(i => Entry(Some(100), Some(i.toLong), Some(i.toLong))),
      DenseLongs,
      Tests(true, true, false),
      linearScanThreshold = 4)
    val cursor = mixed.cursor()
    assert(find(cursor, DenseLongs, Query(3, 100, 0)) == ((12 to 15, (12 to 15).toSet)))
    assert(find(cursor, DenseLongs, Query(100, 3, 5)) == ((43 to 45, Set.empty)))
    assert(find(cursor, DenseLongs, Query(7, 3, 5))._2 == (28 to 31).toSet)
  }

  test("rows with NULL in a key or a bound are left out") {
    val rows = Seq(
      Entry(None, Some(1), Some(2)),
      Entry(Some(1), None, Some(2)),
      Entry(Some(1), Some(1), None),
      Entry(Some(1), Some(1), Some(2)))
    for (keys <- Seq(DenseLongs, SparseLongs, Rows)) {
      assert(index(rows, keys, Tests(true, true, false)).size == 1)
      assert(index(rows, keys, Tests(false, true, false)).size == 2)
    }
    assert(index(rows, Keyless, Tests(true, true, false)).size == 2)
  }

  test("an index says whether its keys are unique") {
    val unique = Seq.tabulate(100)(i => Entry(Some(i), Some(0), Some(1)))
    for (keys <- Seq(DenseLongs, SparseLongs, Rows)) {
      val built = index(unique, keys, Tests(true, true, false))
      assert(built.keyIsUnique)
      for (key <- 0 to 100) {
        val found = if (key < unique.size) Seq(key) else Nil
        assert(find(built.cursor(), keys, Query(key, 0, 0))._1 == found)
      }
      assert(!index(unique :+ unique.head, keys, Tests(true, true, false)).keyIsUnique)
    }
    for (keys <- AllKeys) {
      val empty = index(Nil, keys, Tests(true, true, false))
      assert(empty.keyIsUnique && find(empty.cursor(), keys, Query(1, 0, 0))._1.isEmpty)
    }
  }

  for (serializer <- Seq[Serializer](
      new JavaSerializer(new SparkConf(false)),
      new KryoSerializer(new SparkConf(false)))) {
    test(s"an index travels: ${serializer.getClass.getSimpleName}") {
      val random = new Random(9)
      val shape = RandomEntries(random, mostKeys = 4, domain = 50, isSorted = true)
      for {
        keys <- AllKeys
        tests <- AllTests
        rows <- Seq(shape.rows, risingEntries(random, () => 100, Nil))
      } {
        val built = index(rows, keys, tests)
        val instance = serializer.newInstance()
        val bytes = new java.io.ByteArrayOutputStream
        instance.serializeStream(bytes).writeObject(built: Any).close()
        val read = instance
          .deserializeStream(new java.io.ByteArrayInputStream(bytes.toByteArray))
          .readObject[Any]()
          .asInstanceOf[RangeIndex]
        assert(read.estimatedSize == built.estimatedSize && read.size == built.size)
        for (query <- shape.queries.map(asked(tests, _))) {
          assert(
            find(read.cursor(), keys, query, tests) == find(built.cursor(), keys, query, tests))
        }
        // The estimate is of the heap, which what is written is close to.
        if (rows.size > 100) assert(bytes.size < built.estimatedSize * 1.2 + 4096)
      }
    }
  }

  test("an index has the keys of all rows, whatever the bounds of a row are") {
    val random = new Random(5)
    for {
      keys <- Seq(DenseLongs, SparseLongs, Rows)
      entries <- RandomEntries.ofEveryKind(random, 2)
    } {
      // Of every third key no row has a bound.
      val rows = entries.rows.map(r => if (r.key.exists(_ % 3 == 0)) r.copy(sort = None) else r)
      val found = index(rows, keys, Tests(true, true, false)).keys()
        .map(key => (key.numFields, key.get(0, keys.dataType).toString)).toVector
      assert(found.sorted == rows.flatMap(_.key).distinct.map(keys.value(_).toString)
        .sorted.map(1 -> _))
    }
  }

  test("keys that are packed into one long come out as they were") {
    val types = Seq(IntegerType, ShortType, ByteType)
    val columns = types.zipWithIndex.map { case (dataType, i) =>
      BoundReference(i, dataType, nullable = true)
    }
    def keysOf(rows: (Int, Short, Byte)*) = {
      val mode = RangeIndexMode(
        HashJoin.rewriteKeyExpr(columns),
        Some(Cast(columns.head, LongType)),
        None,
        None,
        None,
        4,
        keyTypes = types)()
      val project = UnsafeProjection.create(types.toArray[DataType])
      val unsafe = rows.map { case (a, b, c) => project(InternalRow(a, b, c)).copy() }
      mode.transform(unsafe.toArray[InternalRow]).keys()
        .map(key => (key.getInt(0), key.getShort(1), key.getByte(2))).toVector.sorted
    }
    val close = Seq[(Int, Short, Byte)]((0, 0, 1), (0, 0, 2), (0, 0, 127))
    val apart =
      Seq[(Int, Short, Byte)]((Int.MinValue, -1, -128), (-7, Short.MinValue, 3), (9, 8, -1))
    assert(keysOf(close: _*) == close && keysOf(apart: _*) == apart)
  }

  test("an index does not travel where Kryo has to know its classes") {
    val required = new SparkConf(false).set("spark.kryo.registrationRequired", "true")
    val (kryo, java) = (new KryoSerializer(required), new JavaSerializer(required))
    assert(RangeIndexMode.needsRegistration(kryo, required))
    assert(!RangeIndexMode.needsRegistration(java, required))
    assert(!RangeIndexMode.needsRegistration(kryo, new SparkConf(false)))
  }

  test("modes are equal where their expressions are") {
    val mode = RangeIndexMode(Seq(bound(0)), Some(bound(1)), None, None, None, 4)()
    assert(mode == mode.copy()("x") && mode.canonicalized == mode.canonicalized)
    assert(mode != mode.copy(sortBound = Some(bound(2)))(""))
    assert(mode != mode.copy(keys = Nil)(""))
  }
}
