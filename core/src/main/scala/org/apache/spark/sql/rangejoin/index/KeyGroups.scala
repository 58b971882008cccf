// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * Which rows have a key.
 *
 * @param starts the first row of each group, and the end of the last
 * @param largest the number of rows of the largest group
 */
private[index] final case class KeyGroups(
    directory: KeyDirectory,
    starts: Array[Int],
    largest: Int) {

  def size: Int = starts.length - 1

  def estimatedSize: Long = directory.estimatedSize + starts.length * 4L
}
