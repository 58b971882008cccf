// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.rangejoin.guard.Links

/**
 * One way to change Spark, and what our jar links to that is not there any more then.
 *
 * @param kind what is changed: a class, a method, a constructor, a field, or what a class of ours extends
 * @param names as [[Links]] names them
 * @param list of the jar that has it: of what registers rules, or of all outside of rules; `rules` where only they link
 *   to it
 */
final case class Symbol(kind: String, names: Seq[String], list: String, change: Change) {
  def name: String = names.head
  def isListed: Boolean = list != "rules"
}

/** The symbols of Spark that our jar links to, as the build has listed them (`make links`). */
final class Symbols(classes: SparkClasses) {
  import Symbols._

  private val (entry, listed) = (Links.lines("entry").toSet, Links.lines("links").toSet)

  /** Those that can be changed, and what is said of those that cannot. */
  val (all: Seq[Symbol], impossible: Seq[(String, String)]) = {
    val lines = Files.readAllLines(Paths.get(System.getProperty("rangejoin.links")), UTF_8).asScala
    val words = lines.map(line => line -> line.split(' ')).filter(_._2(1).startsWith(Spark))
    val changes = words.toVector.flatMap { case (line, of) => changeOf(of).map(line -> _) }
    val symbols = changes.collect { case (line, Right((kind, key, change))) =>
      (kind, key) -> (line -> change)
    }.groupBy(_._1).map { case ((kind, _), same) =>
      val ofLines = same.map(_._2._1)
      Symbol(kind, ofLines.map(nameOf).sorted, listOf(ofLines), same.head._2._2)
    }
    val unchanged = changes.collect { case (line, Left(why)) => nameOf(line) -> why }
    (symbols.toVector.sortBy(s => (Kinds.indexOf(s.kind), s.name)), unchanged)
  }

  private def listOf(lines: Seq[String]): String =
    if (lines.exists(entry)) "entry" else if (lines.exists(listed)) "links" else "rules"

  /** The kind of a link, what tells two changes apart, and the change; why there is none; None for what others stand for. */
  private def changeOf(words: Array[String]): Option[Either[String, (String, Any, Change)]] =
    words match {
      case Array("class" | "interface" | "any", name) =>
        Some(Right(("class", name, new RenamedClass(name))))
      case Array("super", name) => Some(Right(("super", name, new AnotherAbstract(name))))
      case Array("method", owner, "<init>", descriptor, _) =>
        Some(Right(("constructor", owner + descriptor, new AnotherConstructor(owner, descriptor))))
      case Array(link, owner, name, descriptor, _) =>
        val kind = if (link.endsWith("field")) "field" else "method"
        Some(member(owner, name, descriptor).map { case (family, change) =>
          (kind, (family, name, descriptor), change)
        })
      case _ => None
    }

  private def member(
      owner: String,
      name: String,
      descriptor: String): Either[String, (Set[String], Change)] = {
    val member = name + descriptor
    val family = classes.family(owner, member)
    family.find(!classes.classes.contains(_)) match {
      case Some(other)            => Left(s"it is a member of $other")
      case None if family.isEmpty => Left("it is not declared")
      case None                   =>
        val owns = (of: String) => classes.declaring(of, member).exists(family)
        Right(family -> new RenamedMember(name, descriptor, owns))
    }
  }
}

object Symbols {
  val Kinds: Seq[String] = Seq("class", "super", "constructor", "method", "field")

  private val Spark = "org/apache/spark/"

  /** As [[Links]] has it. */
  private def nameOf(line: String): String = line.split(' ').take(4).mkString(" ").replace('/', '.')
}
