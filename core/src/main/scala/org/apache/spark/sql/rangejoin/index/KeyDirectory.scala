// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  SpecificInternalRow,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.util.collection.PrimitiveVector

/** From a key to the number of its group. Immutable; keys are numbered as they come. */
private[index] sealed abstract class KeyDirectory extends Serializable {

  /** The group of a key that is one long; -1 where there is none. */
  def find(key: Long): Int

  /**
   * The group of a key of any kind; -1 where there is none.
   *
   * @param scratch a row of the caller's that the search may use
   */
  def find(key: UnsafeRow, scratch: UnsafeRow): Int

  /** All keys, each with its columns as they were before they were packed, and valid until the next. */
  def keys: Iterator[InternalRow]

  def estimatedSize: Long
}

/** Without keys all rows are one group. */
private[index] case object NoKeys extends KeyDirectory {
  override def find(key: Long): Int = 0
  override def find(key: UnsafeRow, scratch: UnsafeRow): Int = 0
  override def keys: Iterator[InternalRow] = Iterator.empty
  override def estimatedSize: Long = 0L
}

private[index] object KeyDirectory {

  /** Takes keys in the order of the rows. */
  sealed abstract class Builder {

    /** The group of a key; a new one for a key that has none. */
    def add(key: UnsafeRow): Int

    /** The number of groups. */
    def groups: Int

    /** Bytes of the arrays there are. */
    def allocatedBytes: Long

    /** Bytes that the next key makes it allocate at most, those it then gives up included. */
    def bytesToAdd(key: UnsafeRow): Long

    /** Bytes that `result` makes it allocate at most, those it then gives up included. */
    def bytesToFinish: Long

    def result(): KeyDirectory
  }

  object NoKeysBuilder extends Builder {
    override def add(key: UnsafeRow): Int = 0
    override def groups: Int = 1
    override def allocatedBytes: Long = 0L
    override def bytesToAdd(key: UnsafeRow): Long = 0L
    override def bytesToFinish: Long = 0L
    override def result(): KeyDirectory = NoKeys
  }

  /**
   * A power of two with room for this many keys, filled to two thirds at most.
   *
   * @param most slots that a table can have
   */
  def capacityFor(keys: Int, most: Int): Int = {
    val least = math.max(16L, keys * 3L / 2 + 1)
    if (least > most) throw new OutOfMemoryError(s"a range index of $keys keys")
    java.lang.Integer.highestOneBit((least - 1).toInt) << 1
  }

  def isFull(keys: Int, capacity: Int): Boolean = keys * 3L > capacity * 2L
}

/**
 * Keys of one long, in open addressing with linear probing.
 *
 * @param table by slot, the key and then its group plus one, which is 0 where the slot is free: both are in one cache line
 * @param types of the columns that are packed into a key
 */
private[index] final class LongKeys(table: Array[Long], types: Seq[DataType]) extends KeyDirectory {

  override def find(key: Long): Int = table(LongKeys.slotOf(table, key) + 1).toInt - 1

  override def find(key: UnsafeRow, scratch: UnsafeRow): Int = find(key.getLong(0))

  override def keys: Iterator[InternalRow] =
    LongKeys.unpacked(LongKeys.slots(table).map(table(_)), types)

  override def estimatedSize: Long = table.length * 8L
}

/**
 * Keys of one long that are close to each other.
 *
 * @param slots by the distance from the least key, the group of a key plus one; 0 where there is no such key
 * @param types likewise
 */
private[index] final class DenseKeys(least: Long, slots: Array[Int], types: Seq[DataType])
    extends KeyDirectory {

  override def find(key: Long): Int = {
    val distance = key - least
    // Below the least key, and where the difference overflows, it is negative or too great.
    if (key >= least && distance >= 0 && distance < slots.length) slots(distance.toInt) - 1 else -1
  }

  override def find(key: UnsafeRow, scratch: UnsafeRow): Int = find(key.getLong(0))

  override def keys: Iterator[InternalRow] =
    LongKeys.unpacked(slots.indices.iterator.filter(slots(_) != 0).map(least + _), types)

  override def estimatedSize: Long = slots.length * 4L
}

private[index] object LongKeys {

  /** Slots of a table, each of which takes two longs of its array. */
  private final val MostSlots = 1 << 29
  private final val SlotBytes = 16

  /** Where the slot of a key begins in a table, or of the free one that it would take. */
  private def slotOf(table: Array[Long], key: Long): Int = {
    val h = key * 0x9e3779b97f4a7c15L
    val mask = table.length - 2
    var slot = ((h ^ (h >>> 32)).toInt << 1) & mask
    while (table(slot + 1) != 0L && table(slot) != key) slot = (slot + 2) & mask
    slot
  }

  /** Where the slots that have a key begin. */
  private def slots(table: Array[Long]): Iterator[Int] =
    Iterator.range(0, table.length, 2).filter(slot => table(slot + 1) != 0L)

  /** The same, in a loop for the rows of a whole index. */
  private def foreachSlot(table: Array[Long])(visit: Int => Unit): Unit = {
    var slot = 0
    while (slot < table.length) {
      if (table(slot + 1) != 0L) visit(slot)
      slot += 2
    }
  }

  /** The columns of keys, of these types. */
  def unpacked(longs: Iterator[Long], types: Seq[DataType]): Iterator[InternalRow] = {
    val packed = types.zipWithIndex.map { case (dataType, i) =>
      BoundReference(i, dataType, nullable = false)
    }
    val unpack = UnsafeProjection.create(packed.indices.map(HashJoin.extractKeyExprAt(packed, _)))
    val row = new SpecificInternalRow(Seq(LongType))
    longs.map { long =>
      row.setLong(0, long)
      unpack(row)
    }
  }

  /** @param types of the columns that are packed into a key */
  final class Builder(types: Seq[DataType]) extends KeyDirectory.Builder {
    private[this] var table = new Array[Long](2 * 16)
    private[this] var count = 0
    private[this] var least = Long.MaxValue
    private[this] var greatest = Long.MinValue

    private def capacity: Int = table.length / 2

    private def isFull: Boolean = KeyDirectory.isFull(count + 1, capacity)

    private def grownCapacity: Int = KeyDirectory.capacityFor(count * 2, MostSlots)

    override def groups: Int = count

    override def allocatedBytes: Long = capacity.toLong * SlotBytes

    override def bytesToAdd(key: UnsafeRow): Long =
      if (isFull) grownCapacity.toLong * SlotBytes else 0L

    override def bytesToFinish: Long = capacity.toLong * SlotBytes

    override def add(row: UnsafeRow): Int = {
      val key = row.getLong(0)
      var slot = slotOf(table, key)
      if (table(slot + 1) == 0L) {
        if (isFull) {
          grow()
          slot = slotOf(table, key)
        }
        count += 1
        table(slot) = key
        table(slot + 1) = count
        least = math.min(least, key)
        greatest = math.max(greatest, key)
      }
      table(slot + 1).toInt - 1
    }

    private def grow(): Unit = {
      val larger = new Array[Long](2 * grownCapacity)
      foreachSlot(table) { from =>
        val slot = slotOf(larger, table(from))
        larger(slot) = table(from)
        larger(slot + 1) = table(from + 1)
      }
      table = larger
    }

    override def result(): KeyDirectory = {
      val span = greatest - least + 1
      // An array of all keys in between is no larger than the table up to this span.
      if (count > 0 && span > 0 && span <= capacity * 4L && span < Int.MaxValue - 15)
        new DenseKeys(least, groupsByDistance(span.toInt), types)
      else new LongKeys(table, types)
    }

    private def groupsByDistance(span: Int): Array[Int] = {
      val dense = new Array[Int](span)
      foreachSlot(table)(slot => dense((table(slot) - least).toInt) = table(slot + 1).toInt)
      dense
    }
  }
}

/**
 * Keys of any kind as the bytes of a row, in open addressing with linear probing.
 *
 * @param rows by group
 * @param fields columns of a key
 * @param hashes by group
 * @param slots the group plus one; 0 where the slot is free
 */
private[index] final class RowKeys(
    rows: PackedRows,
    fields: Int,
    hashes: Array[Int],
    slots: Array[Int])
    extends KeyDirectory {

  override def find(key: Long): Int = throw new UnsupportedOperationException("keys are rows")

  override def find(key: UnsafeRow, scratch: UnsafeRow): Int = {
    val mask = slots.length - 1
    val hash = key.hashCode
    var slot = hash & mask
    while (slots(slot) != 0 && !isKey(slots(slot) - 1, key, hash, scratch)) slot = (slot + 1) & mask
    slots(slot) - 1
  }

  private def isKey(group: Int, key: UnsafeRow, hash: Int, scratch: UnsafeRow): Boolean =
    hashes(group) == hash && {
      rows.read(group, scratch)
      RowKeys.sameBytes(key, scratch)
    }

  override def keys: Iterator[InternalRow] = {
    val row = new UnsafeRow(fields)
    Iterator.range(0, rows.size).map { group =>
      rows.read(group, row)
      row
    }
  }

  override def estimatedSize: Long = rows.estimatedSize + hashes.length * 4L + slots.length * 4L
}

private[index] object RowKeys {
  private final val MostSlots = 1 << 30

  private def sameBytes(a: UnsafeRow, b: UnsafeRow): Boolean =
    a.getSizeInBytes == b.getSizeInBytes && ByteArrayMethods.arrayEquals(
      a.getBaseObject,
      a.getBaseOffset,
      b.getBaseObject,
      b.getBaseOffset,
      a.getSizeInBytes.toLong)

  /** @param fields columns of a key */
  final class Builder(fields: Int) extends KeyDirectory.Builder {
    private[this] val keys = new PackedRows.Builder(0)
    private[this] val hashes = new PrimitiveVector[Int]
    private[this] var slots = new Array[Int](16)
    private[this] val scratch = new UnsafeRow(0)

    private def grownCapacity: Int = KeyDirectory.capacityFor(groups * 2, MostSlots)

    override def groups: Int = keys.size

    override def allocatedBytes: Long =
      keys.allocatedBytes + hashes.capacity * 4L + slots.length * 4L

    override def bytesToAdd(key: UnsafeRow): Long = {
      val ofSlots =
        if (KeyDirectory.isFull(groups + 1, slots.length)) grownCapacity * 4L else 0L
      val ofHashes = if (hashes.size == hashes.capacity) hashes.capacity * 8L else 0L
      keys.bytesToAppend(key.getSizeInBytes) + ofSlots + ofHashes
    }

    override def bytesToFinish: Long = keys.bytesToFinish + groups * 4L

    override def add(key: UnsafeRow): Int = {
      val hash = key.hashCode
      var slot = slotOf(key, hash)
      if (slots(slot) == 0) {
        if (KeyDirectory.isFull(groups + 1, slots.length)) {
          grow()
          slot = slotOf(key, hash)
        }
        keys.append(key)
        hashes += hash
        slots(slot) = groups
      }
      slots(slot) - 1
    }

    private def slotOf(key: UnsafeRow, hash: Int): Int = {
      val mask = slots.length - 1
      var slot = hash & mask
      while (slots(slot) != 0 && !isKey(slots(slot) - 1, key, hash)) slot = (slot + 1) & mask
      slot
    }

    private def isKey(group: Int, key: UnsafeRow, hash: Int): Boolean =
      hashes(group) == hash && {
        keys.read(group, scratch)
        sameBytes(key, scratch)
      }

    private def grow(): Unit = {
      slots = new Array[Int](grownCapacity)
      val mask = slots.length - 1
      var group = 0
      while (group < groups) {
        var slot = hashes(group) & mask
        while (slots(slot) != 0) slot = (slot + 1) & mask
        group += 1
        slots(slot) = group
      }
    }

    override def result(): KeyDirectory =
      new RowKeys(keys.result(), fields, hashes.toArray, slots)
  }
}
