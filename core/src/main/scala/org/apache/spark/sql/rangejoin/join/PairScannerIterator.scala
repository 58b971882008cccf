// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow

/** Joins that keep rows of the side that is not streamed. */
final class PairScannerIterator(scanner: PairScanner, output: JoinOutput)
    extends RangeJoinIterator(output) {

  override protected def findNext(): Boolean = {
    while (scanner.nextPair()) {
      if (!scanner.isPair) return true
      if (scanner.isMatch ||
        output.matches(scanner.currentStreamed, scanner.currentCandidate)) {
        scanner.markMatched()
        return true
      }
    }
    false
  }

  override protected def current: InternalRow =
    output(scanner.currentStreamed, scanner.currentCandidate)
}
