// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.nio.file.Files

import scala.collection.mutable
import scala.util.Random

import org.apache.commons.io.FileUtils

/**
 * `make doctored`: for each symbol of Spark that our jar links to, the published jars without it, in which Spark itself
 * works. The list of links names what is missing; a session starts, the queries have stock Spark's rows, and there is one
 * warning. Exits with 1 where that is not so.
 *
 *   - `--share 1/12` of the symbols, drawn by `--seed 1`
 *   - `--sessions 20` of these have queries run, as many of each kind; the others are looked for in the list only
 *   - `--only NAME` those that have NAME in their name
 *   - `--list entry` those of one list: of what registers rules, of other `links`, of `rules` alone
 */
object DoctoredSparks {

  def main(args: Array[String]): Unit = {
    val options = args.toSeq.grouped(2).collect { case Seq(name, value) => name -> value }.toMap
    val directory = Files.createTempDirectory("doctored").toFile
    val failed =
      try new DoctoredSparks(directory, println(_)).run(
          options.get("--share").filter(_.nonEmpty).getOrElse("1/1"),
          options.getOrElse("--seed", "1").toLong,
          options.getOrElse("--sessions", "20").toInt,
          s =>
            s.names.exists(_.contains(options.getOrElse("--only", ""))) &&
              options.get("--list").forall(_ == s.list)
        )
      finally FileUtils.deleteDirectory(directory)
    System.exit(if (failed == 0) 0 else 1)
  }
}

final class DoctoredSparks(directory: File, log: String => Unit) {
  private val path = new SessionPath(directory)
  private val classes = new SparkClasses(path.doctored)
  private val jars = new DoctoredJars(classes)
  private val sessions = new DoctoredSession(path, new File(directory, "session"))
  private val lists = new DoctoredLists(path)
  private val seconds = mutable.LinkedHashMap.empty[String, Double].withDefaultValue(0)

  /** How many symbols have failed. */
  def run(share: String, seed: Long, sessionsWanted: Int, isWanted: Symbol => Boolean): Int = {
    val symbols = new Symbols(classes)
    val Seq(k, n) = share.split('/').toSeq.map(_.toInt): @unchecked
    val drawn = new Random(seed).shuffle(symbols.all.filter(isWanted))
      .zipWithIndex.collect { case (symbol, i) if i % n == k - 1 => symbol }
    log(
      s"${symbols.all.size} symbols of Spark can be changed, ${symbols.impossible.size} cannot; " +
        s"${drawn.size} in share $share")
    symbols.impossible.groupBy(_._2).toSeq.sortBy(-_._2.size).foreach { case (why, names) =>
      log(s"  ${names.size} cannot, as $why")
    }
    val inSession = inTurns(drawn).take(sessionsWanted).toSet
    val results = drawn.sortBy(s => (Symbols.Kinds.indexOf(s.kind), s.name)).map { symbol =>
      symbol -> of(symbol, inSession(symbol))
    }
    summarize(results)
  }

  /** As many of each kind and of each list, as far as there are. */
  private def inTurns(symbols: Seq[Symbol]): Seq[Symbol] =
    symbols.groupBy(s => (Symbols.Kinds.indexOf(s.kind), s.list)).toSeq
      .flatMap { case (of, same) =>
        same.zipWithIndex.map { case (symbol, i) => (i, of) -> symbol }
      }
      .sortBy(_._1).map(_._2)

  private def of(symbol: Symbol, inSession: Boolean): Outcome = {
    val changed = new File(directory, "jars")
    FileUtils.deleteDirectory(changed)
    changed.mkdirs()
    val replaced = timed("change")(jars.write(symbol.change, changed))
    val outcome =
      if (replaced.isEmpty) Impossible("Spark's jars do not have it")
      else {
        val inList = timed("list")(lists.of(symbol, replaced))
        if (inList.isFailed || !inSession) inList
        else timed("session")(sessions.of(symbol, replaced))
      }
    if (inSession || outcome.isFailed)
      log(s"${symbol.kind} of ${symbol.list}, ${symbol.name}: $outcome")
    outcome
  }

  private def timed[T](what: String)(body: => T): T = {
    val begin = System.nanoTime()
    val result = body
    seconds(what) += (System.nanoTime() - begin) / 1e9
    result
  }

  private def summarize(results: Seq[(Symbol, Outcome)]): Int = {
    log("")
    for ((kind, ofKind) <-
        results.groupBy(_._1.kind).toSeq.sortBy(of => Symbols.Kinds.indexOf(of._1)))
      log(s"$kind: " + ofKind.groupBy(_._2.word).toSeq.sortBy(_._1).map { case (word, of) =>
        s"${of.size} $word"
      }.mkString(", "))
    val failed = results.filter(_._2.isFailed)
    failed.foreach { case (symbol, outcome) => log(s"FAILED ${symbol.name}: $outcome") }
    log(seconds.map { case (what, of) => f"$what $of%.0f s" }.mkString(", "))
    failed.size
  }
}

/** What came of a changed Spark. */
sealed abstract class Outcome(val word: String, what: String) {
  def isFailed: Boolean = false
  override def toString: String = if (what.isEmpty) word else s"$word: $what"
}

/** The list names it. */
case object Named extends Outcome("named by the list", "")

/** Only rules link to it, of which there is no list. */
case object NotListed extends Outcome("of rules alone, not run", "")

/** Its queries have stock Spark's rows. */
final case class Passed(what: String) extends Outcome("passed", what)

/** None of the queries has need of it, which still are range joins. */
case object NotMet extends Outcome("not met by any query", "")

final case class Impossible(why: String) extends Outcome("cannot be changed", why)

final case class Failed(why: String) extends Outcome("FAILED", why) {
  override def isFailed: Boolean = true
}
