// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.Expression

/** Whether a predicate has to be asked again for pairs that pass its test. */
sealed trait Exactness

/** The test is the predicate. */
case object Exact extends Exactness

/**
 * The test is the predicate if the range has this test and the `opposite` one. One limit of a difference holds for
 * pairs whose difference overflows, which are no match; both together do not.
 */
case class ExactWith(opposite: Expression) extends Exactness

/** The predicate says more than the test. */
case object Inexact extends Exactness
