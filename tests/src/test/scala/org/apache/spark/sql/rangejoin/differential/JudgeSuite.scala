// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.shims.ClassicSession.Dataset
import org.apache.spark.sql.rangejoin.{RangeJoinTest, TestSession}
import org.apache.spark.sql.types.DataType

import org.scalatest.tagobjects.Slow

/** That the fuzzer notices what it is there to notice. */
class JudgeSuite extends RangeJoinTest {
  private lazy val runner = new CaseRunner(TestSession.spark)

  private val rows = Seq("1|a", "1|a", "2|-0.0")
  private def raised(error: Throwable) = Raised(new RuntimeException("in a task", error))

  test("rows that differ in number, in order of ties or in a sign are a fault") {
    assert(Judge.fault(Gave(rows), Gave(rows)).isEmpty)
    assert(Judge.fault(Gave(rows), Gave(rows.tail)).isDefined)
    assert(Judge.fault(Gave(rows.tail), Gave(rows)).isDefined)
    assert(Judge.fault(Gave(rows), Gave(rows.init :+ "2|0.0")).isDefined)
    assert(Judge.fault(Gave(Nil), Gave(Seq(""))).isDefined)
  }

  test("an error is a fault where rows are expected, and anywhere if it is not the query's") {
    val overflow = raised(new ArithmeticException("overflow"))
    val bug = raised(new NullPointerException)
    assert(Judge.fault(Gave(rows), overflow).isDefined)
    assert(Judge.fault(overflow, Gave(rows)).isEmpty)
    assert(Judge.fault(overflow, overflow).isEmpty)
    assert(Judge.fault(overflow, bug).isDefined)
    assert(Judge.fault(bug, Gave(rows)).isDefined)
  }

  private def casesOf(form: JoinForm): Iterator[JoinCase] =
    Iterator.from(1).map(seed => new RandomJoin(seed).join).filter(_.form == form)

  /** The definition says that nothing matches, and the query says something else. */
  private def misread(join: JoinCase): JoinCase = join.copy(query =
    join.query.copy(plainJoin = join.query.plainJoin.replaceFirst(" ON ", " ON l.id < 0 AND ")))

  for (form <- JoinForm.all) {
    test(
      s"rows of form '$form' that are not those of the definition are a fault",
      slowButOneIn(3)(s"$form"): _*) {
      // Some cases have no match, or more than the join; which ones is up to the types of the line.
      val faulty = casesOf(form).take(100).map(c => runner.run(misread(c))).find(_.fault.isDefined)
      assert(faulty.isDefined)
    }
  }

  test("a faulty case is shrunk to the rows that make it one", Slow) {
    // Some cases have no match, and lose nothing.
    val (correct, faulty) = casesOf(JoinForm.FullForm).map(c => c -> runner.run(misread(c)))
      .find(_._2.fault.isDefined).get
    val shrunk = new Shrinker(runner).shrink(faulty)
    assert(runner.run(correct).fault.isEmpty && shrunk.fault.isDefined)
    assert(shrunk.join.left.rows.size == 1 && shrunk.join.right.rows.size == 1)
  }

  test("a join of another type than was asked for is a fault", Slow) {
    // Of some limits Spark sees that no row is within.
    val join = casesOf(JoinForm.LeftForm).find(!_.query.above).get
    val wrong = join.copy(query = join.query.copy(form = JoinForm.RightForm))
    assert(runner.run(wrong).fault.exists(_.contains("planned as LeftOuter")))
  }

  test("a case that does not resolve is a fault", Slow) {
    val join = casesOf(JoinForm.InnerForm).next()
    val wrong = join.copy(query = join.query.copy(sql = "SELECT nothing FROM l"))
    assert(runner.run(wrong).fault.isDefined)
  }

  test("a run without enough range joins is a failure") {
    val report = new FuzzReport
    val join = casesOf(JoinForm.InnerForm).next()
    def add(planned: Boolean, times: Int): Unit =
      for (_ <- 0 until times) report.add(CaseResult(join, planned, Gave(rows), None))
    add(planned = true, 79)
    add(planned = false, 21)
    assert(report.shortcomings.size == 1)
    add(planned = true, 900)
    val missing = Shape.all.size - 1 + JoinForm.all.size - 1 + RangeType.all.size - 1 +
      FuzzReport.Kinds.size
    assert(report.shortcomings.size == missing)
  }

  testOfCases("the tables of a case as SQL are the tables of the case", 25)(1L to 25L) { seeds =>
    for (seed <- seeds) {
      val join = new RandomJoin(seed).join
      withConf(join.settings :+ ("spark.sql.timeType.enabled" -> "true"): _*) {
        for (table <- Seq(join.left, join.right)) {
          spark.sql(table.sql)
          val pasted = spark.table(table.name)
          for ((a, b) <- pasted.schema.zip(table.schema)) {
            assert(DataType.equalsStructurally(a.dataType, b.dataType, ignoreNullability = true))
          }
          assert(shown(pasted) == shown(table.frame(spark)), table.sql)
        }
      }
    }
  }

  private def shown(df: DataFrame): Seq[String] = {
    val query = df.asInstanceOf[Dataset[_]].queryExecution
    val types = query.analyzed.output.map(_.dataType)
    query.executedPlan.executeCollect().map(r =>
      SqlLiteral.show(r.toSeq(types), types)).sorted.toSeq
  }
}
