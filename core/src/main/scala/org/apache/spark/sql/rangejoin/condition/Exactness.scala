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

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.Expression

/** Whether a predicate has to be asked again for pairs that pass its test. */
sealed trait Exactness

/** The test is the predicate. */
case object Exact extends Exactness

/**
 * The test is the predicate if the range is made of it and of the test that `opposite` stands for.
 * One limit of a difference holds for pairs whose difference overflows, which are no match; both
 * together do not.
 */
case class ExactWith(opposite: Expression) extends Exactness

/** The predicate says more than the test. */
case object Inexact extends Exactness
