// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.CodegenObjectFactoryMode
import org.apache.spark.sql.catalyst.expressions.CodegenObjectFactoryMode.{CODEGEN_ONLY, NO_CODEGEN}
import org.apache.spark.sql.internal.SQLConf

/** Both ways to evaluate expressions, without a session. */
object Engines {
  val All: Seq[CodegenObjectFactoryMode.Value] = Seq(CODEGEN_ONLY, NO_CODEGEN)

  /** Runs a block in which Spark's factories make what the mode says. */
  def using[T](mode: CodegenObjectFactoryMode.Value)(block: => T): T = {
    val conf = new SQLConf
    conf.setConfString(SQLConf.CODEGEN_FACTORY_MODE.key, mode.toString)
    SQLConf.withExistingConf(conf)(block)
  }
}
