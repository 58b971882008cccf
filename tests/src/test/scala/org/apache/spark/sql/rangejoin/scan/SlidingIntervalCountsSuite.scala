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

package org.apache.spark.sql.rangejoin.scan

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection}
import org.apache.spark.sql.rangejoin.reduce.{MatchAggregation, RunAggregates}
import org.apache.spark.sql.rangejoin.window.TaskMemory
import org.apache.spark.sql.types.{DataType, LongType}

import org.scalatest.funsuite.AnyFunSuite

/** Matches among intervals are as many as a look at each of them finds. */
class SlidingIntervalCountsSuite extends AnyFunSuite with TaskMemory {
  private val x = AttributeReference("x", LongType)()
  private val counts = MatchAggregation.of(Seq(Count(x).toAggregateExpression()), Seq(x))
  private val project = UnsafeProjection.create(Array[DataType](LongType))

  private def withCounts(bytes: Long = 64L << 20)(block: SlidingIntervalCounts => Unit): Unit =
    withTask(bytes) { task =>
      val runs = new RunAggregates(counts, task)
      try block(new SlidingIntervalCounts(runs))
      finally runs.close()
    }

  private def add(to: SlidingIntervalCounts, begin: Long, end: Long, x: Any = 1L): Unit =
    to.add(project(InternalRow(x)), begin, end)

  test("random intervals, of several groups") {
    withCounts() { counts =>
      for (seed <- 1 to 40) {
        val random = new Random(seed)
        val added = mutable.ArrayBuffer.empty[(Long, Long)]
        var begin = 0L
        var lower = 0L
        counts.clear()
        for (_ <- 1 to 300) {
          for (_ <- 1 to random.nextInt(6)) {
            begin += random.nextInt(4)
            val end = begin + random.nextInt(if (random.nextInt(9) == 0) 500 else 20)
            added += begin -> end
            add(counts, begin, end)
          }
          lower += random.nextInt(8)
          val upper =
            if (random.nextInt(9) == 0) Long.MaxValue else lower + random.nextInt(30)
          val expected = added.count { case (a, b) => a <= upper && b >= lower }
          assert(counts.areWhole && counts.matches(lower, upper) == expected, s"seed $seed")
          assert(counts.rows == added.count(_._2 >= lower))
        }
      }
    }
  }

  test("rows that cannot be counted: NULL, an end before the begin, and no memory") {
    withCounts() { counts =>
      add(counts, 1L, 2L)
      assert(counts.areWhole && counts.matches(1L, 5L) == 1)
      add(counts, 1L, 2L, x = null)
      assert(!counts.areWhole)
      counts.clear()
      assert(counts.areWhole)
      add(counts, 2L, 1L)
      assert(!counts.areWhole)
    }
    withCounts(bytes = 1L) { counts =>
      for (i <- 1L to 100L) add(counts, i, i)
      assert(!counts.areWhole)
    }
  }
}
