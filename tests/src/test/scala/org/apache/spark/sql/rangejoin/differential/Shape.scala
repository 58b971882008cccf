// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.types.IntegralType

/**
 * One side of a join as a [[Shape]] sees it: range columns `y` and `z`, and an INT column `v`.
 *
 * @param alias the name of the table
 */
case class JoinSide(alias: String, range: RangeType) {
  val y: String = s"$alias.y"
  val z: String = s"$alias.z"
  val v: String = s"$alias.v"
}

/** A form of range condition, drawn as conjuncts over the columns of two sides. */
sealed abstract class Shape(val name: String) {

  /** Whether the types have such a range; `x` has the bounds, or is the minuend. */
  def fits(x: RangeType, y: RangeType): Boolean = true

  /** The conjuncts of the range. */
  def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String]

  override def toString: String = name
}

object Shape {

  /** `y.y` between the column of `x` shifted one way and the other. */
  case object Band extends Shape("band") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] =
      write.between(x.range.below(x.y, write.draw), y.y, x.range.above(x.y, write.draw))
  }

  case object BandByColumns extends Shape("band by columns") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val ends = Seq(
        (x.y, s"greatest(${x.y}, ${x.z})"),
        (s"least(${x.y}, ${x.z})", x.range.above(x.y, write.draw))
      ) ++ Seq.fill(2)(x.range.band(x.y, x.v)).flatten
      val (low, high) = write.draw.pick(ends)
      write.between(low, y.y, high)
    }
  }

  sealed abstract class OfDifference(name: String) extends Shape(name) {
    override def fits(x: RangeType, y: RangeType): Boolean =
      x.differences.nonEmpty && y.differences.nonEmpty && (x == y || numbers(x, y))

    private def numbers(x: RangeType, y: RangeType) =
      Seq(x, y).forall(_.isInstanceOf[NumericTypes.Numeric])

    /** A difference of the two columns, with limits in its unit; `wraps` where it does. */
    protected def difference(x: JoinSide, y: JoinSide, write: Comparisons) = {
      val subtraction = write.draw.pick(x.range.differences)
      (subtraction.of(x.y, y.y), () => subtraction.limit(write.draw.below(6)), subtraction.wraps)
    }
  }

  case object AbsoluteDifference extends OfDifference("absolute difference") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val (between, limit, _) = difference(x, y, write)
      Seq(write.atMost(s"abs($between)", limit()))
    }
  }

  case object TwoLimits extends OfDifference("difference with two limits") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val (between, limit, _) = difference(x, y, write)
      write.between(s"-${limit()}", between, limit())
    }
  }

  /** A limit that is no range by itself comes with a comparison of the columns. */
  case object OneLimit extends OfDifference("difference with one limit") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val (between, limit, wraps) = difference(x, y, write)
      val one =
        if (write.draw.chance(50)) write.atMost(between, limit())
        else write.atMost(s"-${limit()}", between)
      val other = Seq(write.atMost(x.y, y.y), write.atMost(y.y, x.y))
      one +: (if (wraps && !write.ansi || write.draw.chance(60)) Seq(write.draw.pick(other))
              else Nil)
    }
  }

  /** A sum of the two columns; a limit that is no range by itself comes with a comparison. */
  case object Sum extends Shape("sum") {
    override def fits(x: RangeType, y: RangeType): Boolean =
      x.sums.nonEmpty && y.sums.nonEmpty &&
        (x == y || Seq(x, y).forall(_.isInstanceOf[NumericTypes.Numeric]))

    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val addition = write.draw.pick(x.range.sums)
      val sum = if (write.draw.chance(50)) addition.of(x.y, y.y) else addition.of(y.y, x.y)
      def limit() = {
        val sign = if (write.draw.chance(30)) "-" else ""
        sign + addition.limit(write.draw.below(60))
      }
      val isSafe = write.ansi || !addition.wraps
      write.draw.below(4) match {
        case 0 if isSafe => Seq(write.atMost(s"abs($sum)", addition.limit(write.draw.below(20))))
        case 1 | 2 if isSafe =>
          Seq(if (write.draw.chance(50)) write.atMost(sum, limit()) else write.atMost(limit(), sum))
        case _ => write.between(limit(), sum, limit())
      }
    }
  }

  /** Ranges joined by OR: of one column on a side, at times with an equality or a flag. */
  case object Either extends Shape("ranges joined by OR") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      def part: String = {
        val low = write.draw.pick(Seq(x.y, x.z, x.range.below(x.y, write.draw)))
        val high = write.draw.pick(Seq(x.y, x.z, x.range.above(x.y, write.draw)))
        write.draw.below(7) match {
          case 0 => s"${y.y} = ${x.y}"
          case 6 =>
            s"(${x.y} IS NULL AND ${write.between(x.z, y.z, x.range.above(x.z, write.draw)).mkString(" AND ")})"
          case 1 => s"(${x.v} > 7 AND ${write.between(low, y.y, high).mkString(" AND ")})"
          case 2 => s"(${write.between(low, y.y, high).mkString(" AND ")} AND ${y.v} > 3)"
          case 3 => s"(${write.atMost(y.y, high)})"
          case _ => s"(${write.between(low, y.y, high).mkString(" AND ")})"
        }
      }
      val parts = write.draw.shuffle(Seq.fill(2 + write.draw.below(2))(part))
      val or = s"(${parts.mkString(" OR ")})"
      if (write.draw.chance(70)) Seq(or) else or +: Seq(write.atMost(x.y, y.z))
    }
  }

  case object PointInInterval extends Shape("point in interval") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] =
      write.between(x.y, y.y, x.z)
  }

  /** A value among those of a sequence, which runs either way. */
  case object Sequence extends Shape("value of a sequence") {
    override def fits(x: RangeType, y: RangeType): Boolean =
      isWhole(y) || x == y && x == TimeTypes.Dates

    private def isWhole(rangeType: RangeType) = rangeType.dataType.isInstanceOf[IntegralType]

    // Few values: a sequence is as long as its ends are apart. A step that does not lead from one to the other raises.
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val (a, b) = (write.draw.below(9), write.draw.below(9))
      val ascending =
        if (!isWhole(y.range)) Seq((s"date_sub(${x.y}, $a)", s"date_add(${x.y}, $b)"))
        else Seq(
          (x.v, s"${x.v} + $b"),
          (s"${x.v} - $a", s"${x.v} + $b"),
          (s"least(${x.v}, $a)", s"greatest(${x.v}, $a)"))
      val any = if (isWhole(y.range)) ascending :+ ((a.toString, x.v)) else ascending
      val sequence =
        if (isWhole(y.range) && write.draw.chance(20)) {
          val (start, stop) = write.draw.pick(ascending)
          s"sequence($start, $stop, 2)"
        } else {
          val (low, high) = write.draw.pick(any)
          if (write.draw.chance(40)) s"sequence($high, $low)" else s"sequence($low, $high)"
        }
      Seq(s"array_contains($sequence, ${y.y})")
    }
  }

  /** A NULL that stands for "no limit", at the end or at both. */
  case object OpenEnd extends Shape("open end") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      def open(column: String, comparison: String) = write.draw.below(4) match {
        case 0 => s"($column IS NULL OR $comparison)"
        case 1 => s"($comparison OR $column IS NULL)"
        case 2 => s"CASE WHEN $column IS NULL THEN true ELSE $comparison END"
        case _ => s"IF($column IS NOT NULL, $comparison, true)"
      }
      val (start, end) = (write.atMost(x.y, y.y), write.atMost(y.y, x.z))
      write.draw.below(4) match {
        case 0 => Seq(open(x.y, start), open(x.z, end))
        case 1 => Seq(open(x.z, write.atMost(y.y, x.z)), open(y.z, write.atMost(x.y, y.z)))
        case 2 if x.range == y.range =>
          val default = write.draw.pick(Seq(
            y.y,
            y.range.above(y.y, write.draw),
            y.range.below(y.y, write.draw)))
          Seq(start, write.atMost(y.y, s"nvl(${x.z}, $default)"))
        case _ => Seq(start, open(x.z, end))
      }
    }
  }

  /** A time in a zone of the other side. */
  case object Zoned extends Shape("time in a zone of the other side") {
    override def fits(x: RangeType, y: RangeType): Boolean =
      x == y && Seq(TimeTypes.Timestamps, TimeTypes.LocalTimestamps).contains(x)

    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val zone = s"IF(${x.v} > 7, 'Asia/Tokyo', IF(${x.v} > 3, 'America/Los_Angeles', '-18:00'))"
      def local(column: String) =
        if (x.range == TimeTypes.LocalTimestamps)
          s"convert_timezone('Asia/Kolkata', $zone, $column)"
        else s"${write.draw.pick(Seq("from_utc_timestamp", "to_utc_timestamp"))}($column, $zone)"
      val time = local(y.y)
      val (low, high) = (x.range.below(x.y, write.draw), x.range.above(x.y, write.draw))
      write.draw.below(4) match {
        case 0 => write.between(low, time, high)
        case 1 => Seq(write.atMost(time, local(x.y)))
        case 2 => Seq(write.atMost(low, time), write.atMost(time, x.z))
        case _ => Seq(s"to_date($time) = to_date($high)")
      }
    }
  }

  case object Overlap extends Shape("overlap") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] =
      if (write.draw.chance(75)) Seq(write.atMost(x.y, y.z), write.atMost(y.y, x.z))
      else {
        val ways = Seq(
          write.between(x.y, y.y, x.z),
          write.between(x.y, y.z, x.z),
          Seq(write.atMost(y.y, x.y), write.atMost(x.z, y.z)))
        Seq(write.draw.shuffle(ways).map(_.mkString("(", " AND ", ")")).mkString("(", " OR ", ")"))
      }
  }

  case object OneSided extends Shape("one-sided") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val bound = write.draw.pick(Seq(
        x.y,
        x.range.below(x.y, write.draw),
        x.range.above(x.y, write.draw)
      ))
      Seq(if (write.draw.chance(50)) write.atMost(bound, y.y) else write.atMost(y.y, bound))
    }
  }

  case object SameDirection extends Shape("two tests in one direction") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val (a, b) = write.draw.pick(Seq(
        (x.y, x.z),
        (x.y, x.range.above(x.z, write.draw)),
        (x.range.below(x.y, write.draw), x.z),
        (x.y, x.y)
      ))
      Seq(write.atMost(a, y.y), write.atMost(b, y.z))
    }
  }

  case object Several extends Shape("several ranges") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      def one = {
        val (a, b) = if (write.draw.chance(50)) (x, y) else (y, x)
        val (from, to) = (write.draw.pick(Seq(a.y, a.z)), write.draw.pick(Seq(b.y, b.z)))
        write.draw.below(3) match {
          case 0 => write.atMost(from, to)
          case 1 => write.atMost(a.range.below(from, write.draw), to)
          case _ => write.atMost(from, b.range.above(to, write.draw))
        }
      }
      Seq.fill(3 + write.draw.below(2))(one).distinct
    }
  }

  /** Bounds that are not in the order of the column they are made of. */
  case object Turning extends Shape("bounds that do not rise") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val turning = write.draw.pick(x.range.turning(x.y, x.v))
      val other = write.draw.pick(
        x.range.turning(x.y, x.v) ++ Seq(x.y, x.z, x.range.above(x.y, write.draw)))
      if (write.draw.chance(25)) Seq(write.atMost(turning, y.z), write.atMost(y.y, x.z))
      else if (write.draw.chance(50)) write.between(turning, y.y, other)
      else write.between(other, y.y, turning)
    }
  }

  case object Inverted extends Shape("inverted band") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] =
      write.between(x.range.above(x.y, write.draw), y.y, x.range.below(x.y, write.draw))
  }

  case object Raising extends Shape("bounds that may raise") {
    override def conjuncts(x: JoinSide, y: JoinSide, write: Comparisons): Seq[String] = {
      val raising = write.draw.pick(x.range.raising(x.y, x.v))
      val other = write.draw.pick(Seq(x.y, x.z) ++ x.range.raising(x.z, x.v).take(1))
      write.draw.below(4) match {
        case 0 => Seq(write.atMost(raising, y.y))
        case 1 => Seq(write.atMost(raising, y.z), write.atMost(y.y, x.z))
        case 2 => write.between(raising, y.y, other)
        case _ => write.between(other, y.y, raising)
      }
    }
  }

  val all: Seq[Shape] = Seq(
    Band,
    BandByColumns,
    AbsoluteDifference,
    TwoLimits,
    OneLimit,
    Sum,
    Either,
    PointInInterval,
    Sequence,
    OpenEnd,
    Zoned,
    Overlap,
    OneSided,
    SameDirection,
    Several,
    Turning,
    Inverted,
    Raising
  )
}
