// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import org.objectweb.asm.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes, Type}

/** A class whose constructor takes a number more, as Spark's classes do from one release to the next. */
final class AnotherConstructor(owner: String, descriptor: String) extends Change {
  private val longer = descriptor.replace(")", "I)")

  override def mark: String = owner

  override def of(bytes: Array[Byte]): Option[Array[Byte]] = {
    val reader = new ClassReader(bytes)
    val writer = new ClassWriter(ClassWriter.COMPUTE_MAXS)
    val isOwner = reader.getClassName == owner
    val visitor = new Changed(writer, isOwner)
    reader.accept(visitor, 0)
    if (isOwner) visitor.addLonger()
    if (isOwner || visitor.isCalled) Some(writer.toByteArray) else None
  }

  /** The constructor as it was is left to the class itself, and to the longer one. */
  private class Changed(writer: ClassWriter, isOwner: Boolean)
      extends ClassVisitor(Opcodes.ASM9, writer) {
    var isCalled = false

    override def visitMethod(
        access: Int,
        name: String,
        of: String,
        signature: String,
        exceptions: Array[String]): MethodVisitor = {
      val isConstructor = isOwner && name == "<init>" && of == descriptor
      val hidden = access & ~(Opcodes.ACC_PUBLIC | Opcodes.ACC_PROTECTED) | Opcodes.ACC_PRIVATE
      val method =
        writer.visitMethod(if (isConstructor) hidden else access, name, of, signature, exceptions)
      if (isOwner) method else new Calls(method)
    }

    private class Calls(method: MethodVisitor) extends MethodVisitor(Opcodes.ASM9, method) {
      override def visitMethodInsn(
          opcode: Int,
          of: String,
          name: String,
          called: String,
          isInterface: Boolean): Unit =
        if (of == owner && name == "<init>" && called == descriptor) {
          isCalled = true
          super.visitInsn(Opcodes.ICONST_0)
          super.visitMethodInsn(opcode, of, name, longer, isInterface)
        } else super.visitMethodInsn(opcode, of, name, called, isInterface)
    }

    def addLonger(): Unit = {
      val method = writer.visitMethod(Opcodes.ACC_PUBLIC, "<init>", longer, null, null)
      method.visitCode()
      method.visitVarInsn(Opcodes.ALOAD, 0)
      Type.getArgumentTypes(descriptor).foldLeft(1) { (slot, argument) =>
        method.visitVarInsn(argument.getOpcode(Opcodes.ILOAD), slot)
        slot + argument.getSize
      }
      method.visitMethodInsn(Opcodes.INVOKESPECIAL, owner, "<init>", descriptor, false)
      method.visitInsn(Opcodes.RETURN)
      method.visitMaxs(0, 0)
      method.visitEnd()
    }
  }
}
