/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

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
