// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BoundReference
import org.apache.spark.sql.rangejoin.shims.BinaryStrings
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

class StringTailSuite extends AnyFunSuite {

  private def tailOf(sample: Seq[UTF8String]): StringTail =
    StringTail.of(BoundReference(0, StringType, nullable = true), sample.map(InternalRow(_)))

  private def string(bytes: Seq[Int]): UTF8String =
    UTF8String.fromBytes(bytes.map(_.toByte).toArray)

  /** Longs are in the order of the strings; those of one string are of no other. Counts pairs of such. */
  private def check(tail: StringTail, strings: Seq[UTF8String]): Int = {
    var decided = 0
    for (a <- strings; b <- strings) {
      val (ofA, ofB) = (tail.codeOf(a), tail.codeOf(b))
      val order = Integer.signum(BinaryStrings.compare(a, b))
      val ofLongs = java.lang.Long.compare(ofA, ofB)
      assert(ofLongs == 0 || ofLongs == order, s"$a: $ofA, $b: $ofB")
      if (StringTail.isOfOne(ofA) && ofLongs == 0) {
        assert(order == 0, s"$a: $ofA, $b: $ofB")
        decided += 1
      }
    }
    decided
  }

  test("strings of few and of many bytes behind the common ones, and of others") {
    val random = new Random(3)
    for (common <-
        Seq("s", "sensor", "sensor-", "sensor-of-", "a name of more than eight bytes ")) {
      val prefix = common.getBytes.map(_.toInt).toSeq
      def drawn(most: Int) =
        string(prefix ++ Seq.fill(random.nextInt(most + 1))(Seq(
          0, 1, 48, 127, 128, 255)(random.nextInt(6))))
      val sample = Seq(string(prefix :+ 48), string(prefix :+ 49), string(prefix ++ Seq(0, 0)))
      val others =
        Seq("", "r", "s", "t", "sens", "sensor-o", "a nam", "~").map(UTF8String.fromString)
      val strings = sample ++ others ++ Seq.fill(150)(drawn(2)) ++ Seq.fill(150)(drawn(10)) ++
        Seq(
          string(prefix),
          string(prefix ++ Seq.fill(7)(255)),
          string(prefix ++ Seq.fill(8)(255)),
          string(prefix ++ Seq.fill(7)(0)),
          string(prefix ++ Seq.fill(8)(0)))
      val decided = check(tailOf(sample), strings)
      assert(decided > 300, common)
    }
  }

  test("up to seven bytes decide") {
    val tail = tailOf(Seq("sensor-1", "sensor-2").map(UTF8String.fromString))
    def isOfOne(string: String) = StringTail.isOfOne(tail.codeOf(UTF8String.fromString(string)))
    assert(isOfOne("sensor-1") && isOfOne("sensor-1234567") && !isOfOne("sensor-12345678"))
    assert(isOfOne("") && isOfOne("sensor") && isOfOne("tensor") && !isOfOne("tensor-1"))
  }

  test("there is none where the first bytes of strings differ, or there are no strings") {
    assert(tailOf(Seq("sensor", "tensor").map(UTF8String.fromString)) == null)
    assert(tailOf(Seq(null, null)) == null)
    assert(tailOf(Nil) == null)
  }
}
