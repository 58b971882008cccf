// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

/** Which package may import which, read from the sources: the rules of design/02-modules.md. */
class DependenciesSuite extends AnyFunSuite {
  import DependenciesSuite._

  test("a package imports only what it is allowed to") {
    val broken = for {
      source <- sources
      imported <- importsOf(source.text)
      if imported != source.pkg && !allowed(source.pkg)(imported)
    } yield s"${source.file}: $imported"
    assert(broken == Nil)
  }

  test("every package has its rule, and every rule its package") {
    assert(sources.map(_.pkg).toSet == Allowed.keySet + Root)
  }

  test("the rules make no circle, and keep the operators apart") {
    def reach(from: String): Set[String] = Allowed(from).flatMap(to => reach(to) + to)
    // A circle would not come to an end.
    for (pkg <- Allowed.keys) assert(!reach(pkg)(pkg) && !reach(pkg)(Root))
    val operators = Set("merge", "broadcast", "shuffled")
    for (operator <- operators) assert(!operators.exists(reach(operator)))
  }

  test("an import is found however it is written") {
    val text =
      """import org.apache.spark.sql.rangejoin.merge.A
        |import org.apache.spark.sql.rangejoin.{RangeJoinConf, broadcast}
        |  import org.apache.spark.sql.rangejoin.plan._
        |import org.apache.spark.sql.rangejoin.{
        |  index => i
        |}
        |val x = new org.apache.spark.sql.rangejoin.sort.X
        |""".stripMargin
    assert(importsOf(text) == Set(Root, "merge", "broadcast", "plan", "index", "sort"))
    assert(importsOf("val x = org.apache.spark.sql.rangejoin.RangeJoinExtensions") == Set(Root))
  }
}

object DependenciesSuite {
  private case class Source(pkg: String, file: Path, text: String)

  /** The ways in, which stand beside the packages. They may import any of them, and none may import them. */
  private val Root = "root"

  private val Allowed: Map[String, Set[String]] = Map(
    "conf" -> Set.empty,
    "shims" -> Set.empty,
    "guard" -> Set.empty,
    "hint" -> Set("shims"),
    "kernel" -> Set("shims"),
    "condition" -> Set("kernel", "shims"),
    "best" -> Set("condition", "kernel", "shims"),
    "join" -> Set("best", "condition", "kernel"),
    "aggregate" -> Set("condition", "join", "kernel"),
    "index" -> Set("aggregate", "best", "condition", "join", "kernel"),
    "broadcast" -> Set("best", "condition", "conf", "index", "join", "kernel", "shims"),
    "partitioning" -> Set("best", "condition", "conf", "index", "join", "kernel", "shims"),
    "pushdown" -> Set("broadcast", "condition", "conf", "index", "join", "kernel", "shims"),
    "sort" -> Set("kernel", "shims"),
    "sortedtables" -> Set("conf", "kernel", "shims", "sort"),
    "window" -> Set.empty,
    "scan" -> Set("aggregate", "best", "condition", "join", "kernel", "shims", "sort", "window"),
    "merge" -> Set("best", "condition", "join", "kernel", "scan"),
    "shuffled" -> Set("best", "condition", "conf", "index", "join", "kernel", "scan", "sort"),
    "plan" -> Set(
      "aggregate",
      "best",
      "broadcast",
      "condition",
      "conf",
      "hint",
      "index",
      "join",
      "kernel",
      "merge",
      "partitioning",
      "pushdown",
      "scan",
      "shims",
      "shuffled",
      "sort",
      "sortedtables"
    ),
    "rewrite" -> Set("best", "condition", "conf", "guard", "plan", "shims"),
    "explain" -> Set(
      "aggregate",
      "best",
      "broadcast",
      "condition",
      "conf",
      "guard",
      "join",
      "merge",
      "partitioning",
      "plan",
      "shims",
      "shuffled",
      "sort"),
    "skew" -> Set(
      "best",
      "condition",
      "conf",
      "join",
      "kernel",
      "merge",
      "partitioning",
      "shims",
      "sort")
  )

  private val Base = "org.apache.spark.sql.rangejoin"
  private val Named = (Base.replace(".", "\\.") + "\\.(\\w+)").r
  private val Several = (Base.replace(".", "\\.") + "\\.\\{([^}]*)\\}").r

  /** The packages of the project that a source names. */
  private def importsOf(text: String): Set[String] = {
    val code = text.linesIterator.filterNot(_.startsWith("package ")).mkString("\n")
    val inBraces = Several.findAllMatchIn(code).flatMap(_.group(1).split(","))
      .map(_.trim.takeWhile(c => c.isLetterOrDigit))
    (Named.findAllMatchIn(code).map(_.group(1)) ++ inBraces)
      .map(name => if (name.headOption.exists(_.isLower)) name else Root).toSet
  }

  private def allowed(pkg: String): Set[String] =
    if (pkg == Root) Allowed.keySet else Allowed(pkg)

  private lazy val sources: Seq[Source] = {
    val root = Paths.get(System.getProperty("rangejoin.home"))
    for {
      module <- Seq("codegen", "core")
      language <- root.resolve(s"$module/src/main").toFile.list.toSeq
      base = root.resolve(s"$module/src/main/$language/${Base.replace('.', '/')}")
      if Files.exists(base)
      file <- Files.walk(base).iterator.asScala.toSeq
      if Files.isRegularFile(file)
      pkg = if (file.getParent == base) Root else base.relativize(file).getName(0).toString
    } yield Source(pkg, file, textOf(file))
  }

  private def textOf(file: Path): String = new String(Files.readAllBytes(file), UTF_8)
}
