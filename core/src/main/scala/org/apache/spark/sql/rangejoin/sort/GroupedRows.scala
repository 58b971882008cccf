// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Rows in '''groups''': ordered by the first sort columns, which are equal within a group, and put in order by the
 * other columns one group at a time. A consumer that accepts small groups in any order says so (`takeInAnyOrder`) and
 * gets the rows as they come, neither copied nor compared; it requests the order of a group where it needs it
 * (`sortGroup`).
 */
trait GroupedRows extends Iterator[UnsafeRow] {

  /** How many of the first sort columns the rows of a group have in common. */
  def columnsInCommon: Int

  /**
   * From now on rows come as they are, valid until `hasNext`, except for groups whose order is requested.
   */
  def takeInAnyOrder(): Unit

  /**
   * Puts a group in order, or what is left of it: `next` gives the first of its rows.
   *
   * @param before rows of the group that `next` has given, in any order, each valid until the next
   * @param current the row that `next` gave last, which is not among them
   */
  def sortGroup(before: Iterator[UnsafeRow], current: UnsafeRow): Unit
}
