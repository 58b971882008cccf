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

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions.BinaryComparison

/** Which values of a column have a bound within a limit: all, none, or those of a predicate. */
private[pushdown] sealed trait ColumnLimit

private[pushdown] case object AllValues extends ColumnLimit

private[pushdown] case object NoValue extends ColumnLimit

private[pushdown] case class SomeValues(predicate: BinaryComparison) extends ColumnLimit
