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

package org.apache.spark.sql.rangejoin.partitioning

/**
 * Rows of the owner of nearly the same length, in cells, which share their buckets.
 *
 * @param longest no row is longer; the other side looks back as far from its low end
 * @param width the number of cells of a bucket
 * @param firstBucket the first of its buckets; one follows for each further `width` cells
 */
case class LengthClass(longest: Int, width: Int, firstBucket: Int)
