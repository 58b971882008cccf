// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.{RangeJoinTest, TestSession}

/** Sessions of the one context with other extensions than its own. */
trait OtherExtensions extends RangeJoinTest {

  /** @param extensions the class of the extensions, with a constructor without parameters */
  protected def withExtensions[T](extensions: Class[_])(body: SparkSession => T): T = {
    val shared = spark
    val conf = shared.sparkContext.conf
    val Extensions = "spark.sql.extensions"
    val before = conf.get(Extensions)
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
    try {
      conf.set(Extensions, extensions.getName)
      val session = TestSession.builder(Nil).getOrCreate()
      assert(session.ne(shared))
      body(session)
    } finally {
      conf.set(Extensions, before)
      SparkSession.setDefaultSession(shared)
      SparkSession.setActiveSession(shared)
    }
  }
}
