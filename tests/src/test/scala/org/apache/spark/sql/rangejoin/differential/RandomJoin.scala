// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.InternalConf

/**
 * A random join, all of it drawn from one number: schemas, rows, condition, join type, output,
 * settings. Neighbouring numbers give every shape with every join type in turn.
 */
final class RandomJoin(seed: Long) {
  import RandomJoin._

  private val draw = new Draw(seed)
  private val ansi = draw.chance(50)
  private val write = new Comparisons(draw, ansi)

  private val combination = Math.floorMod(seed, (Shape.all.size * JoinForm.all.size).toLong).toInt
  private val shape = Shape.all(combination % Shape.all.size)
  private val form = JoinForm.all(combination / Shape.all.size)

  private val streamLeft = draw.chance(50)
  private val (leftType, rightType) = {
    def types =
      if (draw.chance(25)) draw.pick(RangeType.mixed)
      else { val t = draw.pick(RangeType.all); (t, t) }
    Iterator.continually(types).find { case (l, r) =>
      if (streamLeft) shape.fits(l, r) else shape.fits(r, l)
    }.get
  }

  private val keys: Seq[RandomKey] = {
    val count = draw.pick(Seq(1, 1, 1, 2, 2, 3))
    Seq.tabulate(count) { i =>
      RandomKey(draw, i, if (i == 0) draw.pick(Seq(1, 1, 3, 8)) else 1 + draw.below(2))
    }
  }
  private val content = RandomContent(draw, shape)
  private val left = new RandomTable("l", leftType, keys, content).table
  private val right = new RandomTable("r", rightType, keys, content).table

  private val range: Seq[String] = {
    val l = JoinSide("l", leftType)
    val r = JoinSide("r", rightType)
    val (x, y) = if (streamLeft) (l, r) else (r, l)
    shape.conjuncts(x, y, write)
  }

  private val residual: Seq[String] =
    draw.shuffle(Residuals).take(draw.pick(Seq(0, 0, 0, 1, 1, 2)))

  private val asked: Asked = form match {
    case JoinForm.SemiForm | JoinForm.AntiForm if draw.chance(40) => Asked.InWhere
    case JoinForm.ExistenceForm                                   =>
      val negated = draw.chance(30)
      val limit = 8 + draw.below(12)
      draw.below(5) match {
        case 0 if inKeyFits => Asked.InOrMore(limit)
        case 1 | 2          => Asked.AsColumn(negated)
        case _              => Asked.OrMore(negated, limit)
      }
    case _ => Asked.ByJoin
  }

  /** `IN` compares the first key, with `=` and as one type. */
  private def inKeyFits = keys.head.leftType == keys.head.rightType && !nullSafe(keys.head)
  private def nullSafe(key: RandomKey) = key.sql.contains("<=>")

  private val hint: String = draw.pick(Seq.fill(6)("") ++ Hints)

  // Of its own, so that a seed gives the join it gave before there were limits.
  private val drawLimits = new Draw(~seed)

  private val (leftSource, rightSource) = {
    val (l, r) = (source("l"), source("r"))
    (limited(l, "l", leftType), limited(r, "r", rightType))
  }

  private def isLimited = leftSource.isLimited || rightSource.isLimited

  private def plainSources = (leftSource.always ++ rightSource.always).isEmpty

  /** The table, sometimes as a window function leaves it: partitioned, sorted, one column more. */
  private def source(name: String): CaseSource =
    if (draw.chance(94)) CaseSource(name, Nil)
    else {
      val order = draw.pick(Seq("y", "y DESC", "y NULLS LAST", "z", "id"))
      val window = s"row_number() OVER (PARTITION BY k0 ORDER BY $order, id) AS w"
      CaseSource(s"(SELECT *, $window FROM $name) AS $name", Seq(s"$name.w > 0"))
    }

  /** Sometimes without the rows beyond some limits of the range columns. */
  private def limited(source: CaseSource, name: String, range: RangeType): CaseSource = {
    def limit = {
      val value =
        if (drawLimits.chance(20)) drawLimits.pick(range.extremes) else range.plain(drawLimits)
      val comparison = drawLimits.pick(Seq("<", "<=", ">=", ">", "="))
      s"${drawLimits.pick(Seq("y", "y", "z"))} $comparison ${SqlLiteral.of(value, range.dataType)}"
    }
    if (drawLimits.chance(85)) source
    else {
      val limits = Seq.fill(1 + drawLimits.below(2))(limit).mkString(" AND ")
      source.copy(
        sql = s"(SELECT * FROM ${source.sql} WHERE $limits) AS $name",
        isLimited = true)
    }
  }

  // Likewise.
  private val ranking: Option[RandomRanking] = {
    val drawRanking = new Draw(seed ^ 0x5ca1ab1eL)
    val side = form match {
      case JoinForm.InnerForm => Some(drawRanking.pick(Seq("l", "r")))
      case JoinForm.LeftForm  => Some("l")
      case JoinForm.RightForm => Some("r")
      case _                  => None
    }
    side.filter(_ => drawRanking.chance(25))
      .map(new RandomRanking(drawRanking, _, leftType, rightType))
  }

  // Likewise.
  private val aggregation: Option[RandomAggregation] = {
    val drawAggregation = new Draw(seed ^ 0x0a99e9a7eL)
    val side = form match {
      case _ if ranking.isDefined => None
      case JoinForm.InnerForm     => Some(drawAggregation.pick(Seq("l", "r")))
      case JoinForm.LeftForm      => Some("l")
      case JoinForm.RightForm     => Some("r")
      case _                      => None
    }
    side.filter(_ => drawAggregation.chance(33)).map { grouped =>
      new RandomAggregation(drawAggregation, grouped, if (grouped == "l") rightType else leftType)
    }
  }

  private val columns: String = {
    val names = Seq("id", "k0", "y", "z", "v", "s", "p")
    def of(table: String) =
      s"$table.id" +: draw.shuffle(names.tail).take(draw.below(4)).map(c => s"$table.$c")
    val shown = of("l") ++ (if (form.showsRight) of("r") else Nil)
    draw.below(10) match {
      case 0 if plainSources    => "*"
      case 1                    => shown.filterNot(_.endsWith("id")).headOption.getOrElse("l.v")
      case 2 if form.showsRight => "l.v + r.v AS w, l.id, r.id"
      case _                    => draw.shuffle(shown).mkString(", ")
    }
  }

  private val query: CaseQuery = {
    val written = if (ranking.forall(_.hasRange)) range else Nil
    val plainOn = write.conjunction(keys.map(_.sql) ++ written ++ residual)
    val plainJoin = s"SELECT $columns FROM l ${form.joinSql} r ON $plainOn"
    val sorted = leftSource.always ++ rightSource.always
    val on = (plainOn +: sorted).mkString(" AND ")
    val (l, r) = (leftSource.sql, rightSource.sql)
    def exists(negated: Boolean) = {
      val hinted = hint.replace("(l)", "(r)").replace("(l, r)", "(r)")
      s"${if (negated) "NOT " else ""}EXISTS (SELECT ${hinted}1 FROM $r WHERE $on)"
    }
    val leftRows = s"SELECT $columns FROM $l"
    asked match {
      case Asked.InWhere =>
        val sql = s"$leftRows WHERE ${exists(form == JoinForm.AntiForm)}"
        CaseQuery(sql, form, asked, above = isLimited, plainJoin)
      case Asked.AsColumn(negated) =>
        val sql = s"SELECT $columns, ${exists(negated)} AS found FROM $l"
        CaseQuery(sql, form, asked, above = isLimited, plainJoin)
      case Asked.OrMore(negated, limit) =>
        val sql = s"$leftRows WHERE ${exists(negated)} OR l.v > $limit"
        CaseQuery(sql, form, asked, above = isLimited, plainJoin)
      case Asked.InOrMore(limit) =>
        val others = write.conjunction(keys.tail.map(_.sql) ++ range ++ residual ++ sorted)
        val sql =
          s"$leftRows WHERE l.k0 IN (SELECT r.k0 FROM $r WHERE $others) OR l.v > $limit"
        CaseQuery(sql, form, asked, above = isLimited, plainJoin)
      case Asked.ByJoin | Asked.AsValue =>
        val join = s"FROM $l ${form.joinSql} $r ON $on"
        draw.below(20) match {
          case _ if ranking.isDefined =>
            CaseQuery(ranking.get.query(hint, join), form, asked, above = true, plainJoin)
          case _ if aggregation.isDefined =>
            // Of equal strings of a collation Spark asks one, whatever functions may see in them.
            val isAsked = form == JoinForm.LeftForm && !leftType.dataType.sql.contains("COLLATE")
            aggregation.get.correlated(l, r, on).filter(_ => isAsked) match {
              case Some(sql) =>
                CaseQuery(sql, form, Asked.AsValue, above = true, plainJoin)
              case None =>
                CaseQuery(aggregation.get.query(hint, join), form, asked, above = true, plainJoin)
            }
          case 0 | 1 =>
            val last = if (form.showsRight) "r.id" else "l.id"
            val sql = s"SELECT ${hint}count(*) AS n, count(l.k0) AS k, max($last) AS last " +
              s"$join GROUP BY l.k0"
            CaseQuery(sql, form, asked, above = true, plainJoin)
          // An outer join would become an inner one below it.
          case 2 if Seq(JoinForm.InnerForm, JoinForm.LeftForm).contains(form) =>
            val sql =
              s"SELECT $hint$columns $join JOIN (SELECT DISTINCT k0 AS q FROM l) ON q = l.k0"
            CaseQuery(sql, form, asked, above = true, plainJoin)
          case _ =>
            CaseQuery(s"SELECT $hint$columns $join", form, asked, above = isLimited, plainJoin)
        }
    }
  }

  private val engine = draw.pick(RangeJoinTest.Engines)

  private val drawn = JoinCase(
    seed,
    shape,
    if (leftType == rightType) leftType.name else s"$leftType, $rightType",
    query,
    left,
    right,
    Seq(
      SQLConf.ANSI_ENABLED.key -> ansi.toString,
      SQLConf.SESSION_LOCAL_TIMEZONE.key -> draw.pick(Zones),
      SQLConf.SHUFFLE_PARTITIONS.key -> draw.pick(Seq("1", "2"))
    ) ++ (if (draw.chance(10)) SplitAll else Nil),
    Seq(engine)
  )

  // Drawn last, so that a seed gives the join it gave before there was spilling.
  private val buffer = draw.pick(Buffers)

  // Likewise.
  private val broadcast = draw.pick(Broadcasts)
  private val keyless = broadcast.nonEmpty && draw.chance(40)
  private val buckets =
    if (broadcast.isEmpty && form != JoinForm.FullForm && draw.chance(40)) draw.pick(BucketSettings)
    else Nil

  // Likewise.
  private val skew =
    if (broadcast.isEmpty && buckets.isEmpty && draw.chance(40)) draw.pick(SkewSettings) else Nil

  // Likewise.
  private val index = if (hint.contains("SHUFFLE_HASH")) draw.pick(Indexes) else Nil

  // Likewise.
  private val preserved: Seq[(String, String)] =
    if (broadcast.isEmpty && buckets.isEmpty && skew.isEmpty && form != JoinForm.InnerForm &&
      draw.chance(50)) draw.pick(Preserved)
    else Nil
  private val smallRight = form match {
    case JoinForm.RightForm => true
    case JoinForm.FullForm  => draw.chance(50)
    case _                  => false
  }

  val join: JoinCase = {
    val engines =
      drawn.engines.map(_ ++ buffer ++ broadcast ++ buckets ++ skew ++ index ++ preserved)
    val sized =
      if (preserved.isEmpty) drawn
      else if (smallRight) drawn.copy(right = right.copy(isKnownSmall = true))
      else drawn.copy(left = left.copy(isKnownSmall = true))
    if (keyless || buckets.nonEmpty || preserved.nonEmpty) {
      sized.copy(engines = engines, query = withoutKeys(drawn.query))
    } else sized.copy(engines = engines)
  }

  /** The same rows, in a way that Spark finds no keys in. */
  private def withoutKeys(query: CaseQuery): CaseQuery = {
    def hidden(sql: String) =
      keys.map(_.sql).foldLeft(sql)((text, key) => text.replace(key, s"coalesce($key, false)"))
    query.copy(sql = hidden(query.sql), plainJoin = hidden(query.plainJoin))
  }
}

/** What is joined: a table, and conjuncts that always hold and keep the columns it adds. */
private case class CaseSource(sql: String, always: Seq[String], isLimited: Boolean = false)

object RandomJoin {

  /** Has adaptive execution split partitions of any size, where it may. */
  private val SplitAll: Seq[(String, String)] = Seq(
    SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD.key -> "1",
    SQLConf.SKEW_JOIN_SKEWED_PARTITION_FACTOR.key -> "0.1",
    SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "100"
  )

  /** Rows that may be in memory: as many as there is room for, in half of the cases. */
  private val Buffers: Seq[Seq[(String, String)]] =
    Seq.fill(3)(Nil) ++ Seq(1, 2, 7).map(RangeJoinTest.spillingFrom)

  /** Groups of any size are searched, and by a second range, too. */
  private val Searched: Seq[(String, String)] = Seq(
    InternalConf.LinearScanThreshold.key -> "0",
    InternalConf.SecondRangeThreshold.key -> "1")

  /** Nothing is broadcast, or what may be: searched always, and where that is worth it. */
  private val Broadcasts: Seq[Seq[(String, String)]] = {
    // Spark does not know how large the tables are.
    val small = Seq(
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB",
      SQLConf.DEFAULT_SIZE_IN_BYTES.key -> "1000")
    val searched = small ++ Searched
    Seq.fill(3)(Nil) ++ Seq(searched, searched, small)
  }

  /** The index of a partition: searched always, or where that is worth it; too large, so that it is sorted. */
  private val Indexes: Seq[Seq[(String, String)]] = Seq(
    Seq(InternalConf.LinearScanThreshold.key -> "0"),
    Seq(InternalConf.LinearScanThreshold.key -> "0"),
    Nil,
    Seq(InternalConf.IndexLimit.key -> "0"),
    Seq(InternalConf.IndexLimit.key -> "67000")
  )

  /** Numbers of buckets of a join without keys: few rows in many buckets show what is amiss at borders. */
  private val BucketSettings: Seq[Seq[(String, String)]] =
    Seq(1, 2, 7, 200).map(n => Seq(InternalConf.RangePartitioningBuckets.key -> n.toString))

  /** Numbers of buckets of every key, which is seen under adaptive execution alone. */
  private val SkewSettings: Seq[Seq[(String, String)]] = Seq(1, 2, 7, 40).map { n =>
    Seq(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      InternalConf.SkewBuckets.key -> n.toString)
  }

  /** The side is broadcast that Spark knows to be small: searched always, and where that is worth it. */
  private val Preserved: Seq[Seq[(String, String)]] = {
    val bySize = Seq(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB")
    val searched = bySize ++ Searched
    Seq(searched, searched, searched, bySize)
  }

  private val Zones =
    Seq.fill(3)("America/Los_Angeles") ++ Seq("UTC", "Australia/Lord_Howe", "Europe/Berlin")

  private val Hints =
    (Seq("MERGE(l)", "MERGE(r)", "SHUFFLE_MERGE(l)", "SHUFFLE_MERGE(r)", "MERGE(l, r)") ++
      Seq.fill(2)(Seq("SHUFFLE_HASH(l)", "SHUFFLE_HASH(r)")).flatten)
      .map(hint => s"/*+ $hint */ ")

  private val Residuals = Seq(
    "l.v % 3 <> r.v % 3",
    "l.v + r.v > 12",
    "l.s <> r.s",
    "l.v < r.v",
    "abs(l.v - r.v) < 9",
    "(l.v > 9 OR r.v > 3)",
    "(l.s < r.s OR l.y IS NULL)",
    "fuzz_odd(l.v, r.v)",
    "fuzz_near(l.s, r.s)",
    // Of one side: pushed below the join, unless it keeps all rows of that side.
    "l.v > 1",
    "r.v < 17",
    "l.s IS NOT NULL",
    "length(r.s) = 2",
    // More range predicates than make the range.
    "l.v BETWEEN r.v - 2 AND r.v + 2",
    "r.v BETWEEN l.v AND l.v + 7",
    "l.s BETWEEN r.s AND concat(r.s, '5')",
    "r.y <= l.z",
    "r.z >= l.z",
    "l.y <= r.z",
    "l.y <> r.z"
  )
}
