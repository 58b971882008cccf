// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.rangejoin.TestSession
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * Runs random joins and reports. Case `i` of a run is drawn from the seed plus `i`, whatever the
 * cases before it were.
 *
 * @param log takes progress and faults, as they come
 * @param isWanted which of the cases to run
 */
final class Fuzz(
    spark: SparkSession,
    log: String => Unit,
    isWanted: JoinCase => Boolean = _ => true
) {

  def run(cases: Int, firstSeed: Long): FuzzReport = {
    val runner = new CaseRunner(spark)
    val report = new FuzzReport
    val begin = System.nanoTime()
    var shown = begin
    // Drawn one at a time: what is drawn is a join with its tables.
    for {
      i <- Iterator.range(0, cases)
      drawn = new RandomJoin(firstSeed + i).join
      if isWanted(drawn)
    } {
      val result = runner.run(drawn)
      report.add(result)
      result.fault.foreach { fault =>
        log(s"MISMATCH in seed ${result.join.seed}: ${fault.linesIterator.next()}")
        val small = new Shrinker(runner).shrink(result)
        log(s"${small.fault.get}\n${small.join.reproduction}\n")
      }
      val now = System.nanoTime()
      if (now - shown > Fuzz.ProgressNanos) {
        shown = now
        val seconds = (now - begin) / 1e9
        val compared = report.cases
        log(f"$compared of ${i + 1} cases in $seconds%.0f s (${seconds / compared}%.3f s each), " +
          s"${report.planned} planned, ${report.faults.size} mismatches")
      }
    }
    report
  }
}

/**
 * `make fuzz CASES=10000 SEED=1`, with `--only buckets` or `--only skewed` for joins by range buckets,
 * without keys and of skewed keys, `--only shuffled` for shuffled hash joins, `--only ranked` for rankings of
 * matches, `--only aggregated` for aggregates of them, `--only correlated` for those in subqueries, or `--only preserved`
 * for joins whose preserved side is broadcast; exits with 1 where a case or the run fails.
 */
object Fuzz {

  /** What may be looked at alone, by the setting that its cases have. */
  private val Settings = Map(
    "buckets" -> InternalConf.RangePartitioningBuckets.key,
    "skewed" -> InternalConf.SkewBuckets.key)

  private val ProgressNanos = 20L * 1000 * 1000 * 1000

  private def summary(result: CaseResult): String = {
    val join = result.join
    s"${join.shape}, ${join.form}, ${join.rangeType}: " +
      result.fault.get.linesIterator.next().take(200)
  }

  def main(args: Array[String]): Unit = {
    val options = args.toSeq.grouped(2).collect { case Seq(name, value) => name -> value }.toMap
    val cases = options.getOrElse("--cases", "1000").toInt
    val seed = options.getOrElse("--seed", "1").toLong
    val isWanted: JoinCase => Boolean = options.get("--only") match {
      case Some("shuffled")   => _.query.sql.contains("SHUFFLE_HASH")
      case Some("ranked")     => _.isRanked
      case Some("aggregated") => _.isAggregated
      case Some("correlated") => _.query.asked == Asked.AsValue
      case Some("preserved")  => _.isPreserved
      case only               => join =>
          only.map(Settings).forall(key => join.engines.exists(_.exists(_._1 == key)))
    }
    val report = new Fuzz(TestSession.spark, println(_), isWanted).run(cases, seed)
    TestSession.spark.stop()
    println(report.table)
    val shortcomings = if (cases < 100 || options.contains("--only")) Nil else report.shortcomings
    shortcomings.foreach(println)
    println(s"${report.faults.size} mismatches" +
      report.faults.map(r =>
        s"\n  make fuzz CASES=1 SEED=${r.join.seed}  # ${summary(r)}").mkString)
    sys.exit(if (report.faults.isEmpty && shortcomings.isEmpty) 0 else 1)
  }
}
