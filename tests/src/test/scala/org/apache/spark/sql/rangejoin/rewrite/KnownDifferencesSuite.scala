// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.util.{Failure, Try}

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.Sort
import org.apache.spark.sql.rangejoin.RangeJoinTest

/**
 * Correlated subqueries of which stock Spark 4.2 gives wrong rows, or none: docs/troubleshooting.md lists them. Ours are
 * those of the plain join. Where a test of stock Spark fails, Spark has been mended, and the page is to say so.
 */
class KnownDifferencesSuite extends RangeJoinTest {

  private val isKnown = SPARK_VERSION.startsWith("4.2.")

  private def sides(): Unit =
    for ((name, t) <- Seq("l" -> "id", "r" -> "id * 2"))
      spark.sql(
        s"SELECT id, CAST(id % 3 AS INT) AS k, id % 3 AS b, CAST($t AS INT) AS t, " +
          "CAST(id % 4 AS INT) AS x FROM range(0, 30, 1, 1)").createOrReplaceTempView(name)

  private def stock[T](rows: => T): T = withConf(Flag -> "false")(rows)

  /** The greatest `t` of the range of each row of `outer`, and the `x` beside it. */
  private def greatest(outer: String) =
    s"SELECT o.id, (SELECT max(i.t) FROM r i WHERE i.k = o.k AND i.t <= o.t) AS m FROM $outer o"
  private def latest(on: String) =
    s"SELECT o.id, (SELECT i.x FROM r i WHERE $on AND i.t <= o.t ORDER BY i.t DESC LIMIT 1) AS m FROM l o"
  private def plain(function: String, outer: String, on: String) =
    s"SELECT o.id, $function AS m FROM $outer o LEFT JOIN r i ON $on AND i.t <= o.t GROUP BY o.id"

  private def checkOurs(query: String, plain: String): Seq[String] = {
    sides()
    val expected = stock(rows(spark.sql(plain)))
    for (engine <- nextEngine) withConf(engine: _*) {
      val df = spark.sql(query)
      assert(plannedJoins(df) == 1, executedPlan(df))
      assertSameRows(rows(df), expected, s"$query\n${executedPlan(df)}")
    }
    expected
  }

  private val Last = "(SELECT * FROM l ORDER BY t DESC LIMIT 3)"

  test("the rows of an outer side with ORDER BY and LIMIT are the first of its order") {
    val expected = checkOurs(greatest(Last), plain("max(i.t)", Last, "i.k = o.k"))
    assert(expected == Seq("27|24", "28|26", "29|28"))
  }

  testWhere(isKnown)("stock Spark 4.2 takes any rows there: the order is gone from its plan") {
    sides()
    def hasSort(df: DataFrame) = execution(df).optimizedPlan.exists(_.isInstanceOf[Sort])
    assert(stock(hasSort(spark.sql(Last))))
    assert(!stock(hasSort(spark.sql(greatest(Last)))))
    assert(stock(rows(spark.sql(greatest(Last)))) == Seq("0|0", "1|null", "2|null"))
  }

  private val Keys = Seq("i.b = o.k", "i.k = o.b")
  private val Unequal = "AND i.x <> o.x"

  testWhere(hasCorrelatedLimits)("the latest of a key that is compared by a cast") {
    for (key <- Keys; on <- Seq(key, s"$key $Unequal"))
      checkOurs(latest(on), plain("max_by(i.x, i.t)", "l", on))
  }

  testWhere(isKnown)(
    "stock Spark 4.2 takes the latest of all keys there, which is NULL for others") {
    sides()
    for (key <- Keys; on <- Seq(key, s"$key $Unequal")) {
      val expected = stock(rows(spark.sql(plain("max_by(i.x, i.t)", "l", on))))
      val found = stock(rows(spark.sql(latest(on))))
      val wrong = found.diff(expected)
      assert(wrong.size > 9 && wrong.forall(_.endsWith("|null")), on)
    }
    // By columns of one type it is right.
    val same = stock(rows(spark.sql(latest(s"i.k = o.k $Unequal"))))
    assert(same == stock(rows(spark.sql(
      plain("max_by(i.x, i.t)", "l", s"i.k = o.k $Unequal")))))
  }

  private val Union =
    "(SELECT id, k, t FROM l WHERE t < 10 UNION ALL SELECT id, k, t FROM l WHERE t > 20)"

  test("an outer side of UNION ALL has a subquery like any other") {
    assert(checkOurs(greatest(Union), plain("max(i.t)", Union, "i.k = o.k")).size == 19)
  }

  testWhere(isKnown)("stock Spark 4.2 fails there, and without a range with the extension, too") {
    sides()
    val byKey = s"SELECT o.id, (SELECT max(i.t) FROM r i WHERE i.k = o.k) AS m FROM $Union o"
    for (failing <- Seq(stock(Try(rows(spark.sql(greatest(Union))))), Try(rows(spark.sql(byKey)))))
      failing match {
        case Failure(error) => assert(causes(error).exists(_.getMessage.contains("key not found")))
        case found          => fail(s"it has been mended: $found")
      }
  }
}
