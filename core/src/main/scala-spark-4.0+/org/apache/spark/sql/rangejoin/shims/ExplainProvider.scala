// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.ExtendedExplainGenerator

/** Extends EXPLAIN, if `spark.sql.extendedExplainProviders` names it. */
trait ExplainProvider extends ExtendedExplainGenerator
