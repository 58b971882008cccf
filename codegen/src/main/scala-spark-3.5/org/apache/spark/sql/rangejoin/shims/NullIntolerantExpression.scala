// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.NullIntolerant

/** An expression that is NULL where one of its children is. */
trait NullIntolerantExpression extends NullIntolerant
