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
 * Of a range that has no end, where the nearest rows are wanted: each row of the owner matches all rows of the other
 * side. It lies in one cell, and so do those that are near it. The nearest beyond it are known in any other cell
 * ([[BestCopies]]), unless distances from the row might wrap around or raise: then all rows have to be looked at.
 *
 * @param greatest beyond it distances wrap around, or raise; None where they never do
 */
case class AnyDistance(greatest: Option[Long])
