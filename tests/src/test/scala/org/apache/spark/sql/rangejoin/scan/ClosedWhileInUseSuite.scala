// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import java.util.concurrent.CountDownLatch

import org.scalatest.funsuite.AnyFunSuite

/** A task ends while a thread that feeds another program is amid a call of its scanner. */
class ClosedWhileInUseSuite extends AnyFunSuite with ScanOfRows {

  form = ScanForm.inMemory(7)

  test("the task does not wait for a call, which ends, and releases what it has taken since") {
    val (asked, closed) = (new CountDownLatch(1), new CountDownLatch(1))
    def condition(streamed: Int, buffered: Int): Boolean = {
      asked.countDown()
      closed.await()
      true
    }
    // A bound that may be unknown has the condition asked.
    val streamed = Seq(Row(1, Long.MinValue, 100L))
    val buffered = Seq.tabulate(50)(i => Row(1, i.toLong, i.toLong))
    withScanner(streamed, buffered, condition) { (scanner, scan) =>
      val feeding = new Thread(() => if (scanner.nextStreamed()) scanner.nextCandidate())
      feeding.start()
      asked.await()
      scanner.close()
      // What the window was is reported as it is released.
      assert(scan().peakRows == 50)
      closed.countDown()
      feeding.join(10000)
      assert(!feeding.isAlive)
    }
  }
}
