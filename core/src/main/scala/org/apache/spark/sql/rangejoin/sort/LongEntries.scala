// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import java.util.Arrays

/**
 * Values that are sorted by a long key each: insertion sort of short stretches, which are merged. Stable;
 * one pass where they are in order. The arrays grow and are used again.
 */
private[sort] final class LongEntries(initial: Int) {
  import LongEntries._

  private var keys = new Array[Long](initial)
  private var values = new Array[Long](initial)
  // The other side of a merge; of a size with the others once there is one.
  private var otherKeys = Array.emptyLongArray
  private var otherValues = Array.emptyLongArray

  /** Bytes of heap. */
  def memory: Long =
    8L * (keys.length + values.length + otherKeys.length + otherValues.length)

  def key(i: Int): Long = keys(i)

  def value(i: Int): Long = values(i)

  /** Sets a value; there is always room for one after the last. */
  def set(i: Int, value: Long): Unit = {
    if (i == values.length) {
      val more = math.max(initial, 2 * i)
      keys = Arrays.copyOf(keys, more)
      values = Arrays.copyOf(values, more)
    }
    values(i) = value
  }

  def setKey(i: Int, key: Long): Unit = keys(i) = key

  def release(): Unit = {
    keys = Array.emptyLongArray
    values = Array.emptyLongArray
    otherKeys = Array.emptyLongArray
    otherValues = Array.emptyLongArray
  }

  /** Sorts the first `size` entries by their keys. */
  def sort(size: Int): Unit = if (!isSorted(size)) {
    var begin = 0
    while (begin < size) {
      insertionSort(begin, math.min(begin + Stretch, size))
      begin += Stretch
    }
    var width = Stretch
    while (width < size) {
      mergeAll(width, size)
      width *= 2
    }
  }

  private def isSorted(size: Int): Boolean = {
    var i = 1
    while (i < size && keys(i - 1) <= keys(i)) i += 1
    i >= size
  }

  private def insertionSort(begin: Int, end: Int): Unit = {
    val (keys, values) = (this.keys, this.values)
    var i = begin + 1
    while (i < end) {
      val key = keys(i)
      val value = values(i)
      var j = i - 1
      while (j >= begin && keys(j) > key) {
        keys(j + 1) = keys(j)
        values(j + 1) = values(j)
        j -= 1
      }
      keys(j + 1) = key
      values(j + 1) = value
      i += 1
    }
  }

  /** Merges stretches of this width by twos into the other arrays, and changes these for those. */
  private def mergeAll(width: Int, size: Int): Unit = {
    if (otherKeys.length < keys.length) {
      otherKeys = new Array[Long](keys.length)
      otherValues = new Array[Long](keys.length)
    }
    var begin = 0
    while (begin < size) {
      val middle = math.min(begin + width, size)
      val end = math.min(middle + width, size)
      if (middle == end || keys(middle - 1) <= keys(middle)) {
        System.arraycopy(keys, begin, otherKeys, begin, end - begin)
        System.arraycopy(values, begin, otherValues, begin, end - begin)
      } else {
        merge(begin, middle, end)
      }
      begin = end
    }
    val (mergedKeys, mergedValues) = (otherKeys, otherValues)
    otherKeys = keys
    otherValues = values
    keys = mergedKeys
    values = mergedValues
  }

  private def merge(begin: Int, middle: Int, end: Int): Unit = {
    val (keys, values, toKeys, toValues) = (this.keys, this.values, otherKeys, otherValues)
    var left = begin
    var right = middle
    var to = begin
    while (to < end) {
      if (right == end || (left < middle && keys(left) <= keys(right))) {
        toKeys(to) = keys(left)
        toValues(to) = values(left)
        left += 1
      } else {
        toKeys(to) = keys(right)
        toValues(to) = values(right)
        right += 1
      }
      to += 1
    }
  }
}

private[sort] object LongEntries {

  /** Up to this many are sorted by insertion. */
  private final val Stretch = 16
}
