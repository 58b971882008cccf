// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import scala.collection.mutable

/** Counts what became of the cases of a run, and says whether it was a good one. */
final class FuzzReport {
  import FuzzReport._

  private val byShape = tallies(Shape.all.map(_.name))
  private val byForm = tallies(JoinForm.all.map(_.name))
  private val byType = tallies(RangeType.all.map(_.name))
  private val byKind = tallies(Kinds)
  private val total = new Tally
  private val unplanned = mutable.Map.empty[String, Seq[Long]].withDefaultValue(Nil)
  private val faulty = mutable.ArrayBuffer.empty[CaseResult]

  def cases: Int = total.cases
  def planned: Int = total.planned
  def rowsCompared: Long = total.rows
  def faults: Seq[CaseResult] = faulty.toSeq

  def add(result: CaseResult): Unit = {
    val join = result.join
    val tallies = Seq(
      total,
      byShape(join.shape.name),
      byForm(join.form.name),
      byType.getOrElseUpdate(join.rangeType, new Tally)
    )
    (tallies ++ result.kinds.map(byKind)).foreach(_.add(result))
    if (!result.planned) {
      unplanned(join.shape.name) = unplanned(join.shape.name) :+ join.seed
    }
    if (result.fault.isDefined) faulty += result
  }

  /** What makes the run a failure, beside the faults of its cases. */
  def shortcomings: Seq[String] = {
    val few = Some(s"only $planned of $cases cases were planned as range joins")
      .filter(_ => planned * 100L < cases.toLong * LeastPlannedPercent)
    val never =
      if (cases < EnoughCases) Nil
      else {
        Seq(
          "shape" -> byShape,
          "join type" -> byForm,
          "range type" -> byType,
          "kind" -> byKind
        ).flatMap {
          case (kind, tallies) =>
            tallies.collect {
              case (name, tally) if tally.planned == 0 =>
                s"no case of the $kind '$name' was planned as a range join"
            }
        }
      }
    few.toSeq ++ never
  }

  def table: String = {
    def section(title: String, tallies: Iterable[(String, Tally)]) =
      row(title, Seq("cases", "planned", "raised", "rows")) +:
        tallies.map { case (name, tally) => row(name, tally.columns) }.toSeq
    val lines =
      section("shape", byShape) ++ Seq("") ++
        section("join type", byForm) ++ Seq("") ++
        section("range type", byType.filter(_._2.cases > 0)) ++ Seq("") ++
        section("range join", byKind) ++ Seq("") ++
        section("", Seq("all" -> total))
    val seeds = unplanned.toSeq.sortBy(_._1).map { case (name, found) =>
      s"  $name: ${found.take(8).mkString(", ")}"
    }
    (lines ++ (if (seeds.isEmpty) Nil else "seeds not planned as range joins:" +: seeds))
      .mkString("\n")
  }

  private def tallies(names: Seq[String]): mutable.LinkedHashMap[String, Tally] =
    mutable.LinkedHashMap(names.map(_ -> new Tally): _*)

  private def row(name: String, columns: Seq[Any]): String =
    f"$name%-32s" + columns.map(c => f"$c%9s").mkString
}

object FuzzReport {
  private val LeastPlannedPercent = 80

  /** Of range joins. */
  val Kinds: Seq[String] =
    Seq(
      "sort-merge",
      "sort-merge, by buckets",
      "sort-merge, keys split",
      "shuffled",
      "broadcast",
      "broadcast, without keys",
      "broadcast, preserved side")

  /** In this many cases everything has come up. */
  private val EnoughCases = 1000

  /** Cases, how many of them were range joins, how many raised in stock Spark, rows compared. */
  private final class Tally {
    var cases = 0
    var planned = 0
    var raised = 0
    var rows = 0L

    def add(result: CaseResult): Unit = {
      cases += 1
      if (result.planned) planned += 1
      result.stock match {
        case Gave(found) => if (result.planned) rows += found.size
        case _: Raised   => raised += 1
      }
    }

    def columns: Seq[Any] = Seq(cases, planned, raised, rows)
  }
}
