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

package org.apache.spark.sql.rangejoin.differential

import scala.collection.mutable
import scala.util.{Failure, Success, Try}

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest

/**
 * Random joins against stock Spark in the same session, ANSI on and off, under every engine. A case
 * is one number: `new RandomJoin(seed)` is all there is to it.
 *
 * Where stock raises, the range join may raise or not: it looks at fewer pairs. Where stock gives
 * rows, it has to give the same.
 */
class DifferentialSuite extends RangeJoinTest {
  private val Cases = Integer.getInteger("rangejoin.differential.cases", 40).intValue
  private val FirstSeed = java.lang.Long.getLong("rangejoin.differential.seed", 20261121L).longValue

  for (ansi <- Seq(true, false)) {
    test(s"random joins give stock's rows, ANSI ${if (ansi) "on" else "off"}") {
      val planned = mutable.Map.empty[String, Int].withDefaultValue(0)
      val raised = mutable.Map.empty[String, Int].withDefaultValue(0)
      var rowsSeen = 0L
      for (i <- 0 until Cases) {
        val random = new RandomJoin(FirstSeed + i)
        withConf(SQLConf.ANSI_ENABLED.key -> ansi.toString) {
          compare(random) match {
            case Some(rows) =>
              planned(random.shape) += 1
              rowsSeen += rows
            case None => raised(random.shape) += 1
          }
        }
      }
      info(s"$Cases cases from seed $FirstSeed: planned $planned, stock raised $raised, " +
        s"$rowsSeen rows")
      assert(planned.values.sum > Cases / 2)
      assert(rowsSeen > Cases * 10L)
    }
  }

  /** The number of rows; None where stock raises. */
  private def compare(join: RandomJoin): Option[Int] = {
    join.left(spark).createOrReplaceTempView("l")
    join.right(spark).createOrReplaceTempView("r")
    val stock = withConf(Flag -> "false")(Try(rows(spark.sql(join.sql))))
    for (settings <- RangeJoinTest.Engines) withConf(settings: _*) {
      val df = spark.sql(join.sql)
      assert(rangeJoins(df).size == 1, s"not planned: ${join.show}\n${executedPlan(df)}")
      (stock, Try(rows(df))) match {
        case (Success(expected), Success(actual)) =>
          assertSameRows(actual, expected, s"$settings\n${join.show}\n${executedPlan(df)}")
        case (Success(_), Failure(error)) =>
          fail(s"raised where stock does not: $settings\n${join.show}", error)
        case (Failure(_: SparkThrowable), Failure(_: SparkThrowable)) =>
        case (Failure(_: SparkThrowable), Success(_))                 =>
        case (_, Failure(error)) => fail(s"$settings\n${join.show}", error)
        case (Failure(error), _) => fail(s"stock failed: ${join.show}", error)
      }
    }
    stock.toOption.map(_.size)
  }
}
