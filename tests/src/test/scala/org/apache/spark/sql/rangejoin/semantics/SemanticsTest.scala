// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.{PlanForm, RangeJoinTest}
import org.apache.spark.sql.types.StructType

/**
 * What the suites of the rules share: two small tables `l` and `r`, whose rows have their position
 * (from 1) as `id`, and joins of every type between them. A test names the pairs of rows that a
 * condition joins; the rows of every join type follow from them.
 */
trait SemanticsTest extends RangeJoinTest {
  import SemanticsTest._

  protected val Zone = "spark.sql.session.timeZone"

  override protected def hasOneEngine: Boolean = true

  /** A session in which the type TIME may be used. */
  protected def withTimeType(test: => Unit): Unit =
    withConf("spark.sql.timeType.enabled" -> "true")(test)

  /** Tables are made before a query is: `range`, where there is one, has its tasks. */
  override protected def oneOf(test: String): Seq[Settings] =
    super.oneOf(test).map(s =>
      if (s.contains(RangeJoinTest.OneTask)) s :+ RangeJoinTest.OneReader else s)

  private var sizes = Map.empty[String, Int]

  /** A view of rows given in SQL, each value cast to the type of its column. */
  protected def table(name: String, columns: String)(rows: String*): Unit = {
    val fields = StructType.fromDDL(columns)
    val values = rows.zipWithIndex.map { case (row, i) => s"(${i + 1}, $row)" }.mkString(", ")
    val cast = fields.map(f => s"cast(${f.name} AS ${f.dataType.sql}) AS ${f.name}").mkString(", ")
    val table =
      spark.sql(s"SELECT id, $cast FROM VALUES $values AS v(id, ${fields.names.mkString(", ")})")
    // Spark takes what it knows nothing of to be large.
    val known = if (form.small.forall(_ == name)) table
    else spark.internalCreateDataFrame(execution(table).toRdd.map(_.copy()), table.schema)
    known.createOrReplaceTempView(name)
    sizes += name -> rows.size
  }

  /** The tables `l` and `r`, of the same columns. */
  protected def tables(columns: String)(left: String*)(right: String*): Unit = {
    table("l", columns)(left: _*)
    table("r", columns)(right: _*)
  }

  /** A side without rows, which the optimizer does not know to be one. */
  protected def emptied(name: String): Unit = {
    spark.table(name).where("id % 1000 > 900").createOrReplaceTempView(name)
    sizes += name -> 0
  }

  /** A join of `l` and `r`; its columns are the ids, for an existence join the id and the answer. */
  protected def joinOn(joinType: String, condition: String): DataFrame = spark.sql(joinType match {
    case Existence =>
      s"SELECT l.id, EXISTS (SELECT 1 FROM r WHERE $condition) AS found FROM l"
    case LeftSemi | LeftAnti => s"SELECT l.id FROM l $joinType JOIN r ON $condition"
    case _                   => s"SELECT l.id, r.id FROM l $joinType JOIN r ON $condition"
  })

  /**
   * Checks that a condition joins these pairs of ids, in each of the join types, and that stock
   * says so too, in the first of them: the rows of the others follow from the pairs. Each join type
   * is run under one engine.
   */
  protected def checkOn(condition: String, joinTypes: Seq[String] = Seq(Inner))(
      pairs: (Int, Int)*): Unit =
    for (joinType <- joinTypes) {
      val engines = oneOf(spark.table("l").schema.sql + joinType + condition)
      val expected = rowsOf(joinType, pairs, sizes("l"), sizes("r")).sorted
      // What is written depends on neither form nor engine: of one in three stock Spark is asked again.
      val asksStock = joinType == joinTypes.head && form == forms.head &&
        Math.floorMod(condition.hashCode, 3) == 0
      if (RangeJoinTest.EveryEngine || asksStock)
        checkRows(joinOn(joinType, condition), expected, engines)
      else checkRangeJoins(joinOn(joinType, condition), expected, 1, engines)
    }

  /** Checks that stock gives the rows that are written, and so do range joins. */
  private def checkRows(
      query: => DataFrame,
      written: Seq[String],
      engines: Seq[Settings]): Unit = {
    val actual = rowsAsStock(query, engines = engines)
    assertSameRows(actual, written, s"as stock, but not as written: ${executedPlan(query)}")
  }

  /** A range beside `l.k = r.k`. */
  protected def keyed(range: String): String =
    (if (form.hasKey) "l.k = r.k" else "coalesce(l.k = r.k, false)") + s" AND $range"

  /** As `checkOn`, for a range beside `l.k = r.k`. */
  protected def check(range: String, joinTypes: Seq[String] = Seq(Inner))(
      pairs: (Int, Int)*): Unit = checkOn(keyed(range), asked(range, joinTypes))(pairs: _*)

  /**
   * Of the join types, those that the form of the test is asked about: that are not left to the other form, of two
   * with and without a key; the half of them; those that preserve the side that is small.
   */
  private def asked(range: String, joinTypes: Seq[String]): Seq[String] = {
    def inHalf(name: String, joinType: String, half: Int) = RangeJoinTest.EveryEngine ||
      Math.floorMod(s"$range$joinType${spark.table(name).schema.sql}".hashCode, 2) == half
    def inTurn(half: Int) = joinTypes.filter(t => t == FullOuter || inHalf("l", t, half))
    val preserving = form.small match {
      case Some("l") => JoinTypes.diff(Seq(Inner, RightOuter))
      case _         => Seq(RightOuter, FullOuter)
    }
    form match {
      case PlanForm.Broadcast if forms.contains(PlanForm.Keyless) => inTurn(0)
      case PlanForm.Keyless                                       => inTurn(1)
      case PlanForm.Shuffled       => joinTypes.filter(inHalf("r", _, 0))
      case _ if form.small.isEmpty => joinTypes
      case _                       =>
        Some(joinTypes.intersect(preserving)).filter(_.nonEmpty).getOrElse(preserving.take(1))
    }
  }

  /** A join that preserves the broadcast side has it broadcast, and not the other one. */
  override protected def assertPlanned(df: DataFrame, joins: Int, settings: Settings): Unit = {
    super.assertPlanned(df, joins, settings)
    for (small <- form.small; join <- broadcastJoins(df) if join.leftKeys.isEmpty)
      assert(join.buildSide == (if (small == "l") BuildLeft else BuildRight), executedPlan(df))
  }

  /** Pairs of ids, by the left one: of `1: 3 4, 2: 4` there are three. */
  protected def idPairs(text: String): Seq[(Int, Int)] = for {
    ofLeft <- text.split(", ").toSeq
    numbers = ofLeft.split("[: ]+").map(_.toInt)
    right <- numbers.tail
  } yield numbers.head -> right

  /** Checks a range beside `l.k = r.k` against stock alone; returns the number of rows. */
  protected def checkRange(range: String, joinType: String = Inner): Int =
    checkAgainstStock(joinOn(joinType, keyed(range)), engines = oneOf(range + joinType))

  /**
   * Where stock gives rows the range join gives the same. Where stock raises the range join, which
   * looks at fewer pairs, may raise or give rows.
   *
   * @param planned whether the join has to be a range join
   * @return the rows of stock, unless it raises
   */
  protected def checkUnlessStockRaises(
      query: => DataFrame,
      engines: Seq[Settings] = bothEngines,
      planned: Boolean = true
  ): Option[Seq[String]] = {
    val expected = withConf(RangeJoinTest.Oracle: _*)(outcome(query).toOption)
    for (settings <- engines) withConf(settings: _*) {
      val df = query
      if (planned) assertPlanned(df, 1, settings)
      (expected, outcome(df).toOption) match {
        case (Some(wanted), Some(actual)) =>
          assertSameRows(actual, wanted, s"under $settings\n${executedPlan(df)}")
        case (Some(_), None) =>
          fail(s"raised where stock does not, under $settings\n${executedPlan(df)}")
        case (None, _) =>
      }
    }
    expected
  }
}

object SemanticsTest {
  val Inner = "INNER"
  val LeftOuter = "LEFT OUTER"
  val RightOuter = "RIGHT OUTER"
  val FullOuter = "FULL OUTER"
  val LeftSemi = "LEFT SEMI"
  val LeftAnti = "LEFT ANTI"

  /** `EXISTS` whose answer is a column. */
  val Existence = "EXISTENCE"

  val JoinTypes: Seq[String] =
    Seq(Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, LeftAnti, Existence)

  val InnerAndFull: Seq[String] = Seq(Inner, FullOuter)

  /** One that emits pairs, one that keeps both sides, one that stops at its first match. */
  val SomeTypes: Seq[String] = Seq(Inner, FullOuter, LeftAnti)

  /** The rows of a join of one of the types above, from the pairs of ids its condition joins. */
  private def rowsOf(
      joinType: String,
      pairs: Seq[(Int, Int)],
      left: Int,
      right: Int
  ): Seq[String] = {
    val joined = pairs.map { case (l, r) => s"$l|$r" }
    val (found, unmatched) = (1 to left).partition(pairs.map(_._1).contains)
    val unmatchedLeft = unmatched.map(l => s"$l|null")
    val unmatchedRight = (1 to right).filterNot(pairs.map(_._2).contains).map(r => s"null|$r")
    joinType match {
      case Inner      => joined
      case LeftOuter  => joined ++ unmatchedLeft
      case RightOuter => joined ++ unmatchedRight
      case FullOuter  => joined ++ unmatchedLeft ++ unmatchedRight
      case LeftSemi   => found.map(_.toString)
      case LeftAnti   => unmatched.map(_.toString)
      case _          => found.map(l => s"$l|true") ++ unmatched.map(l => s"$l|false")
    }
  }
}
