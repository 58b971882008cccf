// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.util.regex.{Matcher, Pattern}

import org.objectweb.asm.commons.{ClassRemapper, MethodRemapper, Remapper}
import org.objectweb.asm.{
  ClassReader,
  ClassVisitor,
  ClassWriter,
  Handle,
  MethodVisitor,
  Opcodes,
  Type
}

/** A change to Spark after which it works as before, and something that our jar links to is not there any more. */
trait Change {

  /** What the file of a class has in it that is to be changed. */
  def mark: String

  /** The file of a class, if it is another one after the change. */
  def of(bytes: Array[Byte]): Option[Array[Byte]]

  /** What is not a class, as of services. */
  def ofText(text: String): String = text

  /** The name of a class after the change. */
  def nameOf(name: String): String = name
}

/** Gives something another name wherever it is named. */
abstract class Renaming extends Remapper with Change {

  /** Whether the name was met in the class that is read. */
  private var isMet = false

  protected def met[T](renamed: T): T = {
    isMet = true
    renamed
  }

  override def of(bytes: Array[Byte]): Option[Array[Byte]] = {
    isMet = false
    val writer = new ClassWriter(0)
    new ClassReader(bytes).accept(new Renamed(writer), 0)
    if (isMet) Some(writer.toByteArray) else None
  }

  private class Renamed(writer: ClassVisitor) extends ClassRemapper(writer, this) {
    override protected def createMethodRemapper(visitor: MethodVisitor): MethodVisitor =
      new RenamedMethod(visitor)
  }

  /** A lambda names the method that it implements apart from the interface. */
  private class RenamedMethod(visitor: MethodVisitor) extends MethodRemapper(visitor, this) {
    override def visitInvokeDynamicInsn(
        name: String,
        descriptor: String,
        bootstrap: Handle,
        arguments: AnyRef*): Unit = {
      val renamed = arguments.headOption match {
        case Some(method: Type) if method.getSort == Type.METHOD =>
          val interface = Type.getReturnType(descriptor)
          if (interface.getSort != Type.OBJECT) name
          else mapMethodName(interface.getInternalName, name, method.getDescriptor)
        case _ => name
      }
      super.visitInvokeDynamicInsn(renamed, descriptor, bootstrap, arguments: _*)
    }
  }
}

/** A class of another name, also in strings from which Spark finds it. */
final class RenamedClass(old: String) extends Renaming {
  private val (folder, simple) = old.splitAt(old.lastIndexOf('/') + 1)
  private val renamed = folder + "Changed" + simple
  private val dotted = Pattern.compile(Pattern.quote(old.replace('/', '.')) + "(?![\\w$])")

  override def mark: String = simple

  override def map(name: String): String = if (name == old) met(renamed) else name

  override def nameOf(name: String): String = if (name == old) renamed else name

  override def mapValue(value: AnyRef): AnyRef = value match {
    case text: String if ofText(text) != text => met(ofText(text))
    case other                                => super.mapValue(other)
  }

  override def ofText(text: String): String =
    dotted.matcher(text).replaceAll(Matcher.quoteReplacement(renamed.replace('/', '.')))
}

/**
 * A method or a field of another name.
 *
 * @param owns whether a class that is named with the member means this one
 */
final class RenamedMember(name: String, descriptor: String, owns: String => Boolean)
    extends Renaming {
  override def mark: String = name

  private def renamed(owner: String, member: String, of: String): String =
    if (member == name && of == descriptor && owns(owner)) met(name + "Changed") else member

  override def mapMethodName(owner: String, member: String, of: String): String =
    renamed(owner, member, of)

  override def mapFieldName(owner: String, member: String, of: String): String =
    renamed(owner, member, of)
}

/** A class with an abstract method that nothing implements, and nothing calls. */
final class AnotherAbstract(name: String) extends Change {
  override def mark: String = name

  override def of(bytes: Array[Byte]): Option[Array[Byte]] = {
    val reader = new ClassReader(bytes)
    if (reader.getClassName != name) None
    else {
      val writer = new ClassWriter(0)
      reader.accept(writer, 0)
      writer.visitMethod(
        Opcodes.ACC_PUBLIC | Opcodes.ACC_ABSTRACT,
        "changed",
        "()V",
        null,
        null).visitEnd()
      Some(writer.toByteArray)
    }
  }
}
