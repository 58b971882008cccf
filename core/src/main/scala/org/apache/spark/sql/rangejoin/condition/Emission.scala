// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

/** What a join gives for the pairs that match. */
sealed trait Emission

/** Every pair that matches, as one row. */
case object EveryPair extends Emission

/** The streamed row, once, if it has a match or if it has none; the scan ends at the first match. */
case class StreamedRow(ifMatched: Boolean) extends Emission

/** Every streamed row, with a flag that says whether it has a match; the scan ends at the first. */
case object MatchFlag extends Emission

/** Nothing for a streamed row: rows of the other side come out when all streamed rows have been seen. */
sealed trait AfterStreamed extends Emission {

  /** For who gives the rows that come of streamed rows. */
  def notOfStreamed: Nothing =
    throw new IllegalArgumentException(s"$this gives nothing for streamed rows")
}

/** The row of the other side, once, if any streamed row matches it or if none does. */
case class BufferedRow(ifMatched: Boolean) extends AfterStreamed

/** Every row of the other side, with a flag that says whether it has a match. */
case object BufferedFlag extends AfterStreamed
