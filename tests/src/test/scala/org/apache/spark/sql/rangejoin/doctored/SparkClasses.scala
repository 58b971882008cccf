// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.util.jar.JarFile

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.commons.io.IOUtils
import org.objectweb.asm.{ClassReader, ClassVisitor, FieldVisitor, MethodVisitor, Opcodes}

/**
 * The classes of Spark's jars, with those that run the queries: what is renamed is renamed in both.
 *
 * @param jars that are changed; of other classes only what Spark inherits from them is read
 */
final class SparkClasses(jars: Seq[File]) {
  import SparkClasses._

  /** The bytes of each entry of each jar. */
  val entries: Map[File, Map[String, Array[Byte]]] = jars.map(jar => jar -> read(jar)).toMap

  /** The classes of the jars, by the names that the JVM has for them. */
  val classes: Map[String, ClassInfo] = entries.values.flatten.collect {
    case (name, bytes) if name.endsWith(".class") && !name.startsWith("META-INF") =>
      val info = infoOf(bytes)
      info.name -> info
  }.toMap

  private val declarers: Map[String, Seq[String]] =
    classes.values.toSeq.flatMap(c => c.declared.map(_ -> c.name))
      .groupBy(_._1).map { case (member, of) => member -> of.map(_._2) }

  private val others = mutable.Map.empty[String, Option[ClassInfo]]
  private val known = mutable.Map.empty[String, Set[String]]

  def find(name: String): Option[ClassInfo] = classes.get(name).orElse(others.getOrElseUpdate(
    name,
    Option(ClassLoader.getSystemResourceAsStream(name + ".class")).map { in =>
      try infoOf(IOUtils.toByteArray(in))
      finally in.close()
    }))

  /** A class and all that it extends. */
  def withAbove(name: String): Set[String] = known.getOrElseUpdate(
    name,
    find(name).toSeq.flatMap(_.above).flatMap(withAbove).toSet + name)

  /** The classes that extend one, and itself. */
  private lazy val withBelow: Map[String, Seq[String]] =
    classes.keys.toSeq.flatMap(name => withAbove(name).map(_ -> name))
      .groupBy(_._1).map { case (above, of) => above -> of.map(_._2) }

  /** The classes that declare a member, of one and of all that it extends. */
  def declaring(name: String, member: String): Set[String] =
    withAbove(name).filter(above => find(above).exists(_.declared(member)))

  /**
   * The classes that declare what is one method to the JVM, as one of them overrides that of another, or a third class
   * inherits it from both.
   */
  def family(owner: String, member: String): Set[String] = {
    val groups =
      declarers.getOrElse(member, Nil).flatMap(withBelow).distinct.map(declaring(_, member))
    def grown(family: Set[String]): Set[String] = {
      val more = family ++ groups.filter(_.exists(family)).flatten
      if (more.size == family.size) family else grown(more)
    }
    grown(declaring(owner, member))
  }
}

object SparkClasses {

  /**
   * @param above what it extends
   * @param declared names and descriptors of its members
   */
  final case class ClassInfo(name: String, above: Seq[String], declared: Set[String])

  private def read(jar: File): Map[String, Array[Byte]] = {
    val opened = new JarFile(jar)
    try opened.entries.asScala.filterNot(_.isDirectory).map { entry =>
        val in = opened.getInputStream(entry)
        try entry.getName -> IOUtils.toByteArray(in)
        finally in.close()
      }.toMap
    finally opened.close()
  }

  private def infoOf(bytes: Array[Byte]): ClassInfo = {
    val declared = mutable.Set.empty[String]
    val reader = new ClassReader(bytes)
    val visitor = new ClassVisitor(Opcodes.ASM9) {
      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor = {
        declared += name + descriptor
        null
      }
      override def visitField(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          value: Any): FieldVisitor = {
        declared += name + descriptor
        null
      }
    }
    reader.accept(visitor, ClassReader.SKIP_CODE)
    val above = Option(reader.getSuperName).toSeq ++ reader.getInterfaces
    ClassInfo(reader.getClassName, above, declared.toSet)
  }
}
