// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.scalactic.source.Position
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** Tests that take long: `make test` leaves them out, `make test-slow` runs them (design/07-tests.md). */
trait SlowTests extends AnyFunSuite {

  /** Whether this suite has the tests of another one, for another kind of join: one in three is quick. */
  protected def repeatsTests: Boolean = false

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit
      pos: Position): Unit =
    super.test(name, tags ++ (if (repeatsTests) slowButOneIn(3)(name) else Nil): _*)(body)

  protected def slowIf(isSlow: Boolean): Seq[Tag] = if (isSlow) Seq(Slow) else Nil

  /** Of many tests that say the same, one in `n` is quick: always the same, and another one in another suite. */
  protected def slowButOneIn(n: Int)(test: String): Seq[Tag] =
    slowIf(Math.floorMod(s"$suiteName $test".hashCode, n) != 0)

  /**
   * Two tests, one of which has one in `n` of many cases, always the same, and a slow one the others. Of combinations
   * of three choices and more, those in which each two of them meet (`Pairwise`).
   */
  protected def testOfCases[T](
      name: String,
      n: Int)(cases: => Seq[T])(body: Seq[T] => Unit): Unit = {
    def some(areQuick: Boolean): Seq[T] = {
      val first = Math.floorMod(s"$suiteName $name".hashCode, n)
      val chosen = if (RangeJoinTest.EveryEngine) cases else Pairwise.of(cases)
      val parts = n.min(chosen.size)
      val found =
        chosen.zipWithIndex.collect {
          case (one, i) if (i % parts == first % parts) == areQuick => one
        }
      assert(found.nonEmpty)
      found
    }
    test(name)(body(some(areQuick = true)))
    if (n > 1) test(s"$name: the other cases", Slow)(body(some(areQuick = false)))
  }
}
