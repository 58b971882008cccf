// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import java.lang.invoke.MethodType.methodType
import java.lang.reflect.{Method, Modifier}
import java.net.{JarURLConnection, URL}
import java.util.jar.JarFile

import scala.collection.mutable
import scala.io.Source
import scala.util.control.NonFatal

/**
 * Whether this Spark has what the jar was compiled against: every class and member that our classes outside of rules link
 * to, as the build has listed them (`project/ForeignLinks.scala`; `make links` prints the list). A task that finds out by
 * itself fails, and its query with it.
 *
 * Jars have a checksum of each of their classes. Where those are the ones that the jar was compiled against, that is all
 * that is read: a Spark as it was published costs some milliseconds. What depends on other classes is looked up by
 * reflection, at about a millisecond for each. Where the signature of a method names a class that is nowhere, as optional
 * parts of a Spark may, nothing is known of the members of its class: they are taken to be there.
 *
 * A class that a jar before Spark's on the class path has in its place is not seen.
 *
 * @param loader of our classes
 */
private[rangejoin] class Links(loader: ClassLoader) {
  import Links._

  private val classes = mutable.HashMap.empty[String, Option[Class[_]]]
  private val members = mutable.HashMap.empty[Class[_], Option[Map[String, Boolean]]]

  /** The links that are not there, as a reader would name them. */
  def missing: Seq[String] = {
    val changed = changedClasses(_ => true)
    if (changed.isEmpty) Nil else missingOf(lines("links"), changed)
  }

  /** Likewise of what registers our rules, and of what runs where one has failed. */
  def missingAtEntry: Seq[String] = {
    val entry = lines("entry")
    val changed = changedClasses(entry.flatMap(_.split(' ').drop(1)).toSet)
    if (changed.isEmpty) Nil else missingOf(entry, changed)
  }

  // ---------------------------------------------------------------- by checksums

  /** Classes that are not what they were when the jar was compiled, of those that are asked for. */
  private[guard] def changedClasses(isWanted: String => Boolean): Set[String] = {
    val wanted = lines("checksums").map(_.split(' ')).filter(words => isWanted(words(1)))
    wanted.groupBy(_.head).values.flatMap { ofJar =>
      val jar = jarOf(ofJar.head(1))
      try ofJar.collect {
          case Array(_, name, checksum) if !jar.exists(isSame(_, name, checksum)) => name
        }
      finally jar.foreach(_.close())
    }.toSet
  }

  private def jarOf(name: String): Option[JarFile] =
    Option(loader.getResource(name + ".class")).map(_.openConnection()).collect {
      case inJar: JarURLConnection =>
        inJar.setUseCaches(false)
        inJar.getJarFile
    }

  private def isSame(jar: JarFile, name: String, checksum: String): Boolean =
    Option(jar.getEntry(name + ".class")).exists(_.getCrc == checksum.toLong)

  // ---------------------------------------------------------------- by reflection

  /** @param changed classes that are looked at; all others are as they were */
  private[rangejoin] def missingOf(lines: Seq[String], changed: String => Boolean): Seq[String] = {
    val words = lines.map(_.split(' '))
    val implemented = words.collect { case Array("abstract", _, name, descriptor) =>
      name + descriptor
    }.toSet
    val areExtended = words.exists {
      case Array("super" | "abstract", name, _*) => changed(name)
      case _                                     => false
    }
    words.filter {
      case Array("super" | "ours", _)   => areExtended
      case Array(_, name)               => changed(name)
      case Array(_, owner, _, _, found) => changed(owner) || changed(found)
      case _                            => false
    }.filterNot(isThere(_, implemented)).map(_.take(4).mkString(" ").replace('/', '.'))
  }

  private def isThere(words: Array[String], implemented: Set[String]): Boolean = words match {
    case Array("class", name)                    => find(name).exists(!_.isInterface)
    case Array("interface", name)                => find(name).exists(_.isInterface)
    case Array("any" | "ours", name)             => find(name).isDefined
    case Array("super", name)                    => find(name).forall(hasNoOther(_, implemented))
    case Array(kind, owner, name, descriptor, _) =>
      find(owner).exists(has(_, name + descriptor, kind.startsWith("static"), name == "<init>"))
    case _ => true
  }

  private def find(name: String): Option[Class[_]] = classes.getOrElseUpdate(
    name,
    try Some(Class.forName(name.replace('/', '.'), false, loader))
    catch { case _: ClassNotFoundException | _: LinkageError => None }
  )

  /** @param isOwn whether it is not inherited */
  private def has(c: Class[_], member: String, isStatic: Boolean, isOwn: Boolean): Boolean =
    membersOf(c).forall(_.get(member) match {
      case Some(found) => found == isStatic
      case None        => !isOwn && above(c).exists(has(_, member, isStatic, isOwn))
    })

  private def above(c: Class[_]): Seq[Class[_]] =
    (if (c.isInterface) Seq(classOf[Object]) else Option(c.getSuperclass).toSeq) ++ c.getInterfaces

  /** What a class declares, and whether it is static; None where that cannot be known. */
  private def membersOf(c: Class[_]): Option[Map[String, Boolean]] = members.getOrElseUpdate(
    c,
    try {
      val methods = c.getDeclaredMethods.map(m => keyOf(m) -> m.getModifiers)
      val constructors = c.getDeclaredConstructors
        .map(m => "<init>" + descriptor(classOf[Unit], m.getParameterTypes) -> m.getModifiers)
      val fields =
        c.getDeclaredFields.map(f => f.getName + descriptor(f.getType) -> f.getModifiers)
      val seen = (methods ++ constructors ++ fields).filterNot(m => Modifier.isPrivate(m._2))
      Some(seen.map { case (key, modifiers) => key -> Modifier.isStatic(modifiers) }.toMap)
    } catch { case _: LinkageError => None }
  )

  /** Whether a class has no abstract methods but those that our classes implement. */
  private def hasNoOther(c: Class[_], implemented: Set[String]): Boolean =
    try c.getMethods.forall(m => !Modifier.isAbstract(m.getModifiers) || implemented(keyOf(m)))
    catch { case _: LinkageError => true }
}

object Links {

  /** What is not there, of which the first ones are named; once for each JVM. None where all is there. */
  lazy val missing: Option[String] = described(_.missing)

  /** Likewise of what registers our rules. */
  lazy val missingAtEntry: Option[String] = described(_.missingAtEntry)

  private def described(missing: Links => Seq[String]): Option[String] = {
    // What cannot be looked at is not known to be missing.
    val found =
      try missing(new Links(getClass.getClassLoader))
      catch { case NonFatal(_) => Nil }
    found.headOption.map { _ =>
      val more = if (found.size > Named) s" and ${found.size - Named} more" else ""
      s"it has no ${found.take(Named).mkString(", no ")}$more"
    }
  }

  private val Named = 3

  /** A list that the build has made. */
  private[rangejoin] def lines(list: String): Vector[String] = {
    val file = s"/org/apache/spark/sql/rangejoin/$list.txt"
    Option[URL](getClass.getResource(file)).fold(Vector.empty[String]) { url =>
      val source = Source.fromURL(url, "UTF-8")
      try source.getLines().toVector
      finally source.close()
    }
  }

  private def keyOf(m: Method): String =
    m.getName + descriptor(m.getReturnType, m.getParameterTypes)

  /** The types of a method as class files have them. */
  private def descriptor(returned: Class[_], parameters: Array[Class[_]]): String =
    methodType(returned, parameters).toMethodDescriptorString

  /** The type of a field, likewise: what a method that returns it has behind its parentheses. */
  private def descriptor(field: Class[_]): String =
    methodType(field).toMethodDescriptorString.stripPrefix("()")
}
