// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.join.PairScanner

/**
 * Scans for a join that keeps buffered rows: returns candidates, and the rows of either side, or of the buffered side
 * alone, that have found no match. A row of the window has a mark once it is matched. A buffered row without one comes
 * out where it leaves: when it is evicted, when its group ends, or when it is passed over because it never was in reach
 * (its key or a bound is NULL, no streamed row has its key, it is dead on arrival).
 *
 * {{{
 *   read ──▶ find ──▶ admit ──▶ scan ─┐        find    the group of the streamed row
 *    ▲ ▲       ▲                      │        finish  the group: what is left of it is unmatched
 *    │ └───────┼──────────────────────┘        drain   the buffered side, once nothing is streamed
 *    └─▶ finish ──▶ drain
 * }}}
 */
final class BufferedPreservingScanner(
    streamed: Iterator[InternalRow],
    buffered: Iterator[InternalRow],
    parts: ScannerParts,
    preservesStreamed: Boolean = true
) extends OrderedRangeScanner(parts) with PairScanner {
  import BufferedPreservingScanner._
  import RangeScanner.{Candidate, End, Unmatched}

  private[this] var step = Start
  // Whether the current streamed row has a match.
  private[this] var matched = false
  // Whether the buffered row read last has a key and bounds.
  private[this] var loaded = false

  // What nextPair found, and what has to be done with it before going on.
  private[this] var pairStreamed: InternalRow = _
  private[this] var pairBuffered: UnsafeRow = _
  private[this] var candidateIndex = NoIndex
  private[this] var leavingIndex = NoIndex
  private[this] var passedOver = false

  override def currentStreamed: InternalRow = pairStreamed

  override def currentCandidate: UnsafeRow = pairBuffered

  override def isPair: Boolean = candidateIndex != NoIndex

  override def markMatched(): Unit = {
    matched = true
    window.use()
    if (!closed) window.markMatched(candidateIndex)
  }

  override def nextPair(): Boolean = {
    window.use()
    if (!closed) leaveCurrent()
    var found = false
    while (!found && !closed) {
      found = step match {
        case Start  => start()
        case Read   => readStreamed()
        case Find   => findGroup()
        case Admit  => admit()
        case Scan   => scan()
        case Finish => finishGroup()
        case Drain  => drain()
      }
      found = found && (preservesStreamed || pairBuffered != null)
    }
    if (closed) release()
    found
  }

  private def leaveCurrent(): Unit = {
    candidateIndex = NoIndex
    if (leavingIndex != NoIndex) {
      evict(leavingIndex)
      leavingIndex = NoIndex
    }
    if (passedOver) {
      passedOver = false
      readBuffered()
    }
  }

  private def start(): Boolean = {
    readBuffered()
    step = Read
    false
  }

  private def readStreamed(): Boolean =
    if (!streamed.hasNext) {
      streamedRow = null
      step = if (groupOpen) Finish else Drain
      cursor = window.head
      false
    } else {
      streamedRow = streamed.next()
      checkKilled()
      matched = false
      if (!kernel.loadStreamed(streamedRow)) {
        foundStreamed()
      } else if (groupOpen && !kernel.streamedInGroup()) {
        step = Finish
        cursor = window.head
        false
      } else {
        if (groupOpen) reach() else step = Find
        false
      }
    }

  private def findGroup(): Boolean =
    if (bufferedRow == null) {
      step = Read
      foundStreamed()
    } else {
      val comparison = if (loaded) kernel.compareStreamedWithBuffered() else 1
      if (comparison > 0) {
        passOver()
      } else if (comparison < 0) {
        step = Read
        foundStreamed()
      } else {
        groupOpen = true
        kernel.openGroup()
        reach()
        false
      }
    }

  private def reach(): Unit = {
    readBounds()
    window.settle()
    step = Admit
  }

  private def admit(): Boolean = {
    var found = false
    while (!found && step == Admit && !closed) {
      if (bufferedRow != null && !loaded) {
        found = passOver()
      } else if (bufferedRow == null || !kernel.bufferedInGroup() || !admits) {
        cursor = window.head
        step = Scan
      } else if (isDeadOnArrival) {
        evicted += 1
        found = passOver()
      } else {
        append(preservesOwner = true)
        readBuffered()
      }
    }
    found
  }

  private def scan(): Boolean =
    visit(preservesOwner = true) match {
      case End =>
        step = Read
        !matched && foundStreamed()
      case Candidate =>
        candidateIndex = visited
        foundPair(streamedRow, windowRow)
      case Unmatched =>
        leavingIndex = visited
        foundInWindow(leavingIndex)
    }

  private def finishGroup(): Boolean = {
    cursor = window.nextRow(cursor)
    while (cursor < window.tail && window.isMatched(cursor)) cursor = window.nextRow(cursor + 1)
    if (cursor < window.tail) {
      cursor += 1
      foundInWindow(cursor - 1)
    } else if (bufferedRow != null && (!loaded || kernel.bufferedInGroup())) {
      passOver()
    } else {
      clearWindow()
      step = if (streamedRow == null) Drain else Find
      false
    }
  }

  private def drain(): Boolean =
    if (bufferedRow != null) {
      passOver()
    } else {
      closed = true
      false
    }

  private def readBuffered(): Unit =
    if (buffered.hasNext) {
      bufferedRow = buffered.next()
      loaded = kernel.loadBuffered(bufferedRow)
    } else {
      bufferedRow = null
      loaded = false
    }

  private def foundPair(streamed: InternalRow, buffered: UnsafeRow): Boolean = {
    pairStreamed = streamed
    pairBuffered = buffered
    true
  }

  private def foundStreamed(): Boolean = foundPair(streamedRow, null)

  private def foundInWindow(index: Int): Boolean = {
    window.read(index, windowRow)
    foundPair(null, windowRow)
  }

  /** The buffered row read last has no match; the next call reads on. */
  private def passOver(): Boolean = {
    passedOver = true
    foundPair(null, bufferedRow.asInstanceOf[UnsafeRow])
  }
}

private object BufferedPreservingScanner {
  private val NoIndex = -1

  // The steps of the scanner. Constants, so that a match on them is a switch.
  final val Start = 0
  final val Read = 1
  final val Find = 2
  final val Admit = 3
  final val Scan = 4
  final val Finish = 5
  final val Drain = 6
}
