// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import java.util.Arrays

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.shims.SpillingSorter
import org.apache.spark.unsafe.Platform
import org.apache.spark.util.collection.unsafe.sort._

/**
 * Sorts rows by a [[PrefixLayout prefix]] of their sort columns, with Spark's external sorter, which uses a radix sort
 * for it, and spills as it does for `SortExec`. The layout, and dictionaries, are made from the first rows.
 *
 * Where rows of equal prefix need not be equal, each run of them is put in order as the rows are read: a short one in
 * place, a long one by a sorter of its own, whose layout is made for its rows. If that does not tell them apart either,
 * the last sorter compares rows, as `SortExec` does.
 *
 * The first sorter may sort by all columns but the last, and leave rows that are equal in these to a [[GroupSorter]]:
 * where a prefix has room for the first column only, and where such groups are small and a prefix of the last column
 * costs more than to compare their rows. Then it returns [[GroupedRows]].
 *
 * @param all the sort columns
 * @param level the depth of this sorter: a sorter of level `n + 1` sorts a run of equal prefix for one of level `n`
 * @param task whose memory it takes; rows may be inserted and read by threads that do not know of it
 */
final class PrefixSorter(
    all: SortColumns,
    level: Int = 0,
    task: TaskContext = TaskContext.get()) {
  import PrefixSorter._

  // Those that rows are sorted by here.
  private var columns = all
  private val numFields = all.numFields
  private def isByGroups: Boolean = columns ne all

  // Known when the sample is.
  private var codes: Array[KeyCodes] = _
  private var comparesRows = false
  private var sorter: UnsafeExternalSorter = _
  private var batch: PrefixBatch = _

  private var first = new SortSample(all, mayExtend = level == FirstLevel)
  private var longs: UnsafeProjection = _
  private var layout: PrefixLayout = _

  private var groups: Option[GroupSorter] = None
  private var ofRun: Option[PrefixSorter] = None
  private var sortNanos = 0L
  private var peakOfRuns = 0L
  private var spilledOfRuns = 0L
  private var released = false

  /** Whether its memory was given back, so that it has no rows any more. */
  def isReleased: Boolean = released

  /** Nanoseconds of sorting in memory. */
  def sortTimeNanos: Long =
    sortNanos + ofRun.fold(0L)(_.sortTimeNanos) + groups.fold(0L)(_.sortTimeNanos)

  /** Bytes. */
  def peakMemory: Long =
    if (sorter == null) 0L
    else sorter.getPeakMemoryUsedBytes + math.max(peakOfRuns, ofRun.fold(0L)(_.peakMemory)) +
      groups.fold(0L)(_.peakExecutionMemory)

  /** Bytes of memory that were given back by writing rows to disk. */
  def spillSize: Long =
    if (sorter == null) 0L
    else sorter.getSpillSize + spilledOfRuns + ofRun.fold(0L)(_.spillSize) +
      groups.fold(0L)(_.spillSize)

  /** Whether [[sorted]] may return [[GroupedRows]] of rows that are equal in all columns but the last. */
  def mayGroup: Boolean = level == FirstLevel && all.mayGroup

  /** How many columns the rows of such a group have in common. */
  def columnsInCommon: Int = all.order.size - 1

  def insert(row: UnsafeRow): Unit = {
    if (layout != null) add(row)
    else {
      first.add(row)
      if (first.areEnough) addFirst()
    }
  }

  private def add(row: UnsafeRow): Unit = {
    val prefix = layout.prefixOf(longs(row))
    if (batch == null) insertRecord(row, prefix)
    else if (!batch.add(row, prefix)) {
      batch.moveTo(sorter)
      if (!batch.add(row, prefix)) insertRecord(row, prefix)
    }
  }

  private def insertRecord(row: UnsafeRow, prefix: Long): Unit =
    sorter.insertRecord(
      row.getBaseObject,
      row.getBaseOffset,
      row.getSizeInBytes,
      prefix,
      false)

  private def addFirst(): Unit = {
    val isOfOneColumn = first.known.head.equality.takesWholePrefix
    val sortsRuns = level == FirstLevel && isOfOneColumn && !first.hasFrequentValue
    if (mayGroup && (first.hasSmallGroups || sortsRuns)) {
      columns = all.leading
      first = first.by(columns)
    }
    codes = first.codes
    layout = first.layout
    longs = columns.longsOf(codes, layout.fields)
    comparesRows = level == LastLevel || (isOfOneColumn && !(sortsRuns && prefixTells))
    sorter = newSorter()
    if (level == 0 && first.areManyAndNarrow && !comparesRows) batch = new PrefixBatch
    first.rows.foreach(add)
    first = null
  }

  /**
   * Whether rows are told apart by the prefix of a column that it need not decide: in the first rows, different values
   * have different prefixes. Not of rows that are in order already, which are compared once each; and strings that come
   * later begin otherwise.
   */
  private def prefixTells: Boolean = {
    val prefixes = first.rows.toSeq.map(row => layout.prefixOf(longs(row)) + Long.MinValue)
    val steps = prefixes.zip(prefixes.drop(1)).filter { case (one, next) => one != next }
    steps.count { case (one, next) =>
      one < next
    } < steps.size * MostRising && (layout.decidesFirst ||
      prefixes.distinct.size >= first.distinctOfFirst * LeastTold)
  }

  /**
   * The rows in order, after the last was inserted. A row is valid until the next is asked for; the
   * last one stays.
   */
  def sorted(): Iterator[UnsafeRow] = {
    if (layout == null) addFirst()
    if (batch != null) {
      batch.moveTo(sorter)
      sortNanos += batch.sortTimeNanos
      batch = null
    }
    val rows = sorter.getSortedIterator
    sortNanos += sorter.getSortTimeNanos
    if (!rows.hasNext) {
      cleanupResources()
      Iterator.empty
    } else {
      val inOrder =
        if (comparesRows || layout.isLossless) new SortedRows(rows) else new RowsOfRuns(rows)
      if (isByGroups) grouped(inOrder) else inOrder
    }
  }

  private def grouped(rows: Iterator[UnsafeRow]): GroupedRows = {
    val sorter = new GroupSorter(all.order, columnsInCommon, numFields, FirstLevel, task)
    groups = Some(sorter)
    sorter.sorted(rows)
  }

  def cleanupResources(): Unit = {
    groups.foreach(_.cleanupResources())
    releaseRows()
  }

  private def releaseRows(): Unit = {
    released = true
    forgetRun()
    if (sorter != null) {
      sorter.cleanupResources()
      // Its listeners hold this until the task ends, which may be many partitions later.
      codes = null
      longs = null
      batch = null
    }
  }

  /** Releases the sorter of a run, and keeps its figures. */
  private def forgetRun(): Unit = ofRun.foreach { sorter =>
    sorter.cleanupResources()
    sortNanos += sorter.sortTimeNanos
    peakOfRuns = math.max(peakOfRuns, sorter.peakMemory)
    spilledOfRuns += sorter.spillSize
    ofRun = None
  }

  private def newSorter(): UnsafeExternalSorter = SpillingSorter.create(
    task,
    () => if (comparesRows) rowComparator() else AnyOrder,
    radixSort = !comparesRows
  )

  private def rowComparator(): RecordComparator = {
    val left = new UnsafeRow(numFields)
    val right = new UnsafeRow(numFields)
    (leftObject, leftOffset, leftLength, rightObject, rightOffset, rightLength) => {
      left.pointTo(leftObject, leftOffset, leftLength)
      right.pointTo(rightObject, rightOffset, rightLength)
      // Called for rows of equal prefix only.
      if (layout.decidesFirst) columns.orderingBehindFirst.compare(left, right)
      else columns.ordering.compare(left, right)
    }
  }

  /** Rows as the sorter has them. */
  private final class SortedRows(rows: UnsafeSorterIterator) extends Iterator[UnsafeRow] {
    private var row = new UnsafeRow(numFields)

    override def hasNext: Boolean = !released && rows.hasNext

    override def next(): UnsafeRow = {
      if (!hasNext) throw new NoSuchElementException
      rows.loadNext()
      row.pointTo(rows.getBaseObject, rows.getBaseOffset, rows.getRecordLength)
      if (!rows.hasNext) {
        // The last row is needed for longer than its page is there.
        row = row.copy()
        releaseRows()
      }
      row
    }
  }

  /**
   * Rows, each run of equal prefix put in order first. A row can be read only until the sorter goes on to the next,
   * whose prefix tells where a run ends, so every row is copied, into memory that is used again.
   */
  private final class RowsOfRuns(rows: UnsafeSorterIterator) extends Iterator[UnsafeRow] {
    private var copies = Array(new RowCopy(numFields, Int.MaxValue))
    private var shortRun = new Array[UnsafeRow](1)
    private var position = 0
    private var end = 0
    // How many of the copies may have rows.
    private var held = 0
    private var run: Iterator[UnsafeRow] = Iterator.empty
    private var loaded = false
    load()

    private def load(): Unit = {
      loaded = rows.hasNext
      if (loaded) rows.loadNext()
    }

    private def continues(prefix: Long): Boolean = loaded && rows.getKeyPrefix == prefix

    private def isWithinRun: Boolean = position < end || run.hasNext

    override def hasNext: Boolean = !released && (loaded || isWithinRun)

    override def next(): UnsafeRow = {
      if (!hasNext) throw new NoSuchElementException
      if (!isWithinRun) beginRun()
      val row =
        if (position < end) {
          position += 1
          shortRun(position - 1)
        } else run.next()
      if (!loaded && !isWithinRun) releaseRows()
      row
    }

    private def beginRun(): Unit = {
      val prefix = rows.getKeyPrefix
      position = 0
      end = 0
      var bytes = 0L
      do {
        if (end == copies.length) expand()
        shortRun(end) = copies(end).of(rows)
        bytes += rows.getRecordLength
        end += 1
        load()
      } while (continues(prefix) && end < ShortRunRows && bytes < ShortRunBytes)
      for (i <- end until held) copies(i).forget()
      held = end
      if (continues(prefix)) {
        run = longRun(prefix, shortRun.iterator.take(end))
        end = 0
      } else if (end > 1) Arrays.sort[UnsafeRow](shortRun, 0, end, columns.ordering)
    }

    private def expand(): Unit = {
      val more = Array.fill(copies.length)(new RowCopy(numFields, CopyBytes))
      copies ++= more
      shortRun = Arrays.copyOf(shortRun, copies.length)
    }

    private def longRun(prefix: Long, first: Iterator[UnsafeRow]): Iterator[UnsafeRow] = {
      forgetRun()
      // Where strings were not among the first rows once, they may not be again.
      val next =
        if (codes.exists(_.isInstanceOf[StringDictionary])) LastLevel else level + 1
      val sorter = new PrefixSorter(columns, next, task)
      ofRun = Some(sorter)
      first.foreach(sorter.insert)
      while (continues(prefix)) {
        sorter.insert(copies(0).of(rows))
        load()
      }
      sorter.sorted()
    }
  }
}

object PrefixSorter {

  private[sort] val FirstLevel = 0

  /** The level to begin with. */
  def firstLevel(conf: SQLConf): Int = if (conf.enableRadixSort) FirstLevel else LastLevel

  /** The level that compares rows. */
  private[sort] val LastLevel = 2

  /** Of prefixes in any order, half are greater than the one before. */
  private val MostRising = 0.9

  /** The part of different values that has different prefixes. */
  private val LeastTold = 0.9

  /** A run of up to this many rows is put in order in place. */
  private[sort] val ShortRunRows = 1024
  private val ShortRunBytes = 1L << 20

  /** Most bytes that are kept of the copy of a row of such a run, except the first; 1 MiB together. */
  private val CopyBytes = 1 << 10

  /** For rows of equal prefix, whose order does not matter to the sorter. */
  private val AnyOrder: RecordComparator = (_, _, _, _, _, _) => 0

  /** A row of the sorter in memory of its own; at most `kept` bytes of it are used again. */
  private final class RowCopy(numFields: Int, kept: Int) {
    private val row = new UnsafeRow(numFields)
    private var bytes = Array.emptyByteArray

    /** Keeps no row that is larger than what is used again. */
    def forget(): Unit =
      if (row.getBaseObject ne bytes) row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, 0)

    def of(rows: UnsafeSorterIterator): UnsafeRow = {
      val length = rows.getRecordLength
      val copy = if (bytes.length < length) new Array[Byte](length) else bytes
      if (length <= kept) bytes = copy
      Platform.copyMemory(
        rows.getBaseObject,
        rows.getBaseOffset,
        copy,
        Platform.BYTE_ARRAY_OFFSET,
        length)
      row.pointTo(copy, Platform.BYTE_ARRAY_OFFSET, length)
      row
    }
  }
}
