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

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.rangejoin.condition.UnknownBounds

/**
 * The bounds of a second range: a search leaves out rows that do not meet it. A row with a bound that is NULL, or may
 * be unknown, is not left out.
 *
 * @param sort the bound of the upper test
 * @param evict the bound of the lower test
 * @param unknown which bounds may be unknown
 * @param threshold groups of fewer rows are searched by the first range alone
 */
final case class SecondBounds(
    sort: Expression,
    evict: Expression,
    unknown: UnknownBounds,
    threshold: Int)
