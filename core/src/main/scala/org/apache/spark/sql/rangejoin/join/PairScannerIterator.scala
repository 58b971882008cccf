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
