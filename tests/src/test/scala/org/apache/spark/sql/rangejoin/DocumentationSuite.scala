// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import scala.reflect.runtime.{universe => ru}

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.catalyst.expressions.{Ascending, If, IsNull, Literal, Or, SortOrder}
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

import org.scalatest.funsuite.AnyFunSuite

/**
 * The pages say what the code says: settings and reasons in docs/reference.md, files in
 * design/02-modules.md. The tables of shapes and types are held by the coverage suites.
 */
class DocumentationSuite extends AnyFunSuite {
  import DocumentationSuite._

  test("docs/reference.md has every setting with its default, and no other") {
    val found = Repository.table("docs/reference.md", "key", "default", "meaning").map(_.take(2))
    val wanted = RangeJoinConf.all.map(e => Seq(s"`${e.key}`", s"`${e.defaultValueString}`"))
    assert(
      found == wanted,
      s"the table of settings should begin its rows with\n${wanted.map(row).mkString("\n")}")
  }

  test("every entry of RangeJoinConf is in its list") {
    val entries = RangeJoinConf.getClass.getMethods
      .filter(m => m.getParameterCount == 0)
      .filter(m => classOf[ConfigEntry[_]].isAssignableFrom(m.getReturnType))
      .map(_.getName)
      .filterNot(_.contains("$"))
    assert(entries.length == RangeJoinConf.all.size, entries.mkString(", "))
  }

  test("there is an example of every reason") {
    val without = leaves(ru.typeOf[Reason].typeSymbol) -- examples.map(_.productPrefix)
    assert(without.isEmpty, "add an example to DocumentationSuite, and a row to docs/reference.md")
  }

  test("docs/reference.md has every reason by the words of its message, and no other") {
    val rows = Repository.table("docs/reference.md", "message", "what to do").map(_.head)
    for (reason <- examples) {
      assert(
        rows.count(occursIn(reason.message)) == 1,
        s"${reason.productPrefix}: the table of reasons should have one row with words of\n" +
          reason.message)
    }
    for (row <- rows) {
      assert(examples.exists(reason => occursIn(reason.message)(row)), s"no reason says: $row")
    }
  }

  test("design/02-modules.md has every room, and names files that are in it") {
    val rows = Repository.table("design/02-modules.md", "room", "what it is for", "where to begin")
    val rooms =
      rows.map(cells => (Quoted.findFirstMatchIn(cells.head).get.group(1), cells(2))).toMap
    assert(rooms.size == rows.size && rooms.keySet == files.keySet)
    for ((room, toBegin) <- rooms) {
      val named = Quoted.findAllMatchIn(toBegin).map(_.group(1)).toSet
      assert(named.nonEmpty && (named -- files(room)).isEmpty, s"in the row of $room")
    }
  }

  test("design/13-channels.md has every tag of plan nodes, with the files that write and read it") {
    val rows = Repository.table("design/13-channels.md", "tag", "on", "written by", "read by")
    val tags = sources.flatMap { case (_, text) => Tag.findAllMatchIn(text).map(_.group(1)) }
    assert(tags.sorted == rows.map(_.head.filterNot(_ == '`')).sorted)
    val named = rows.map(row => row(2) + row(3)).mkString
    val (users, others) =
      sources.partition { case (_, text) => text.contains("etTagValue(") }
    for ((name, _) <- users) assert(named.contains(s"`$name`"), s"$name reads or writes a tag")
    for ((name, _) <- others) assert(!named.contains(s"`$name`"), s"$name has to do with no tag")
  }

  test("design/13-channels.md has every variable of a thread, and mark of a column") {
    val page = Repository.lines("design/13-channels.md").filter(_.startsWith("| ")).mkString("\n")
    for ((name, text) <- sources) {
      val marks = Seq("ThreadLocal", "MetadataBuilder()").filter(text.contains(_))
      if (marks.nonEmpty) assert(page.contains(s"`$name`"), s"$name has a ${marks.mkString(", ")}")
    }
  }
}

private object DocumentationSuite {

  private val examples: Seq[Reason with Product] = Seq(
    Reason.NoCondition,
    Reason.NoRangePredicate,
    Reason.NoConjunct(Literal(1)),
    Reason.NoConjunct(Or(Literal.TrueLiteral, Literal.TrueLiteral)),
    Reason.NoConjunct(If(Literal.TrueLiteral, Literal(1), Literal(2))),
    Reason.NoConjunct(IsNull(Literal(1))),
    Reason.DifferentColumns(Literal(1)),
    Reason.OutsideOfRange(Literal(1)),
    Reason.MixedSides(Literal(1)),
    Reason.InexactDifference(Literal(1)),
    Reason.Nondeterministic(Literal(1)),
    Reason.UnsupportedJoinType(LeftOuter),
    Reason.SubqueryInBuildBound(Literal(1)),
    Reason.UnregisteredIndex,
    Reason.NoKey,
    Reason.OrderedStreamedSide(Seq(SortOrder(Literal(1), Ascending))),
    Reason.RankedSideBuilt,
    Reason.NullAware,
    Reason.Streaming,
    Reason.SwitchedOff(RangeJoinConf.Enabled.key),
    Reason.RangeJoinOfSpark,
    Reason.NotOfThisSpark("why", None),
    Reason.PlannedOtherwise
  )

  /** The names of the classes below a sealed one that have none below them. */
  private def leaves(symbol: ru.Symbol): Set[String] = {
    val below = symbol.asClass.knownDirectSubclasses
    if (below.isEmpty) Set(symbol.name.toString) else below.flatMap(leaves)
  }

  /** Whether the words of a cell, `…` standing for any others, are in the message. */
  private def occursIn(message: String)(cell: String): Boolean = {
    val words = cell.split("…", -1).map(part => java.util.regex.Pattern.quote(part))
    message.matches(words.mkString("(?s).*", ".+", ".*"))
  }

  private def row(cells: Seq[String]): String = cells.mkString("| ", " | ", " |")

  private val Tag = """TreeNodeTag\[[^"]*?\]\(\s*"([^"]+)"\)""".r

  /** The files of the product, by the name of their class, with their text. */
  private lazy val sources: Seq[(String, String)] = for {
    module <- Seq("codegen", "core")
    path <- Repository.files(s"$module/src/main")
    Source(_, name) <- Seq(path.toString)
  } yield name -> Repository.lines(s"$module/src/main/$path").mkString("\n")

  /** A path below `src/main`: the package, without those above it, and the name of the file. */
  private val Source =
    """(?:java|scala[^/]*)/org/apache/spark/sql/(?:rangejoin/)?([a-z]+)/(\w+)\.\w+""".r

  private val Quoted = "`(\\w+)`".r

  /** The source files of main code, by room. */
  private lazy val files: Map[String, Set[String]] = {
    val all = for {
      module <- Seq("codegen", "core")
      Source(room, name) <- Repository.files(s"$module/src/main").map(_.toString)
    } yield room -> name
    all.groupBy(_._1).map { case (room, names) => room -> names.map(_._2).toSet }
  }
}
