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
 * One of the two tests of a range, seen from the rows that are indexed.
 *
 * @param order the order of the values that bounds are prefixes of; null where they are the values
 * @param mayBeUnknown whether a bound may be unknown where it is at the extreme
 */
private[index] final case class IndexedTest(
    isMade: Boolean,
    order: ValueOrder,
    mayBeUnknown: Boolean)
