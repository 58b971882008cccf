import java.io.{File, InputStream}
import java.net.{JarURLConnection, URLClassLoader}
import java.util.zip.CRC32

import scala.collection.mutable

import org.objectweb.asm._
import sbt._
import sbt.io.Using

/**
 * What classes of ours link to in other jars than the JDK's, for `guard/Links` to read at run time. Two lists: of links,
 *
 *   - `class NAME`, `interface NAME`, or `any NAME` of the two: it is there
 *   - `method`, `static`, `field` or `staticfield OWNER NAME DESCRIPTOR FOUND`: the JVM finds it, here in the class FOUND
 *   - `super NAME`: one of ours extends it, and implements its methods that are `abstract OWNER NAME DESCRIPTOR`, of
 *     which there are no others
 *   - `ours NAME`: it can be loaded, as the classes that it extends are neither final, nor are methods that it overrides
 *
 * and of the classes that these depend on, `JAR NAME CHECKSUM`: where all are the same there is nothing else to look for.
 */
object ForeignLinks {
  private val Ours = "org/apache/spark/sql/rangejoin/"

  private def isForeign(name: String): Boolean =
    !name.startsWith(Ours) && !name.startsWith("java/") && !name.startsWith("javax/")

  /**
   * @param classes class files of ours
   * @param classPath of the jars that they are compiled against
   */
  def of(classes: Seq[File], classPath: Seq[File]): (Seq[String], Seq[String]) = {
    val found = new Found
    classes.foreach(file =>
      Using.fileInputStream(file)(in =>
        new ClassReader(in).accept(found.ofClass, ClassReader.SKIP_DEBUG)))
    val foreign = new Foreign(classPath)
    try {
      val members = found.members.map { case (kind, owner, name, descriptor) =>
        s"$kind $owner $name $descriptor ${foreign.declaring(owner, name + descriptor).getOrElse(owner)}"
      }
      val extended = found.extended.flatMap(name => foreign.withAbove(name))
      val abstracts = for {
        name <- extended
        method <- foreign.find(name).toSeq.flatMap(_.abstracts)
      } yield s"abstract $name $method"
      val named = found.classes.map { case (kind, name) => s"$kind $name" }
      val supers = found.extended.map("super " + _)
      val ours = found.ours.map("ours " + _)
      val all = found.classes.map(_._2) ++ found.members.map(_._2)
      val checksums = all.flatMap(foreign.withAbove(_)).flatMap(foreign.find(_))
        .map(c => s"${c.jar} ${c.name} ${c.checksum}")
      ((named ++ members ++ supers ++ abstracts ++ ours).toSeq.sorted, checksums.toSeq.sorted)
    } finally foreign.close()
  }

  /** A class of another jar. */
  private class ForeignClass(
      val name: String,
      val jar: String,
      val checksum: Long,
      val above: Seq[String],
      val declared: Set[String],
      val abstracts: Seq[String])

  private class Foreign(classPath: Seq[File]) {
    private val loader = new URLClassLoader(classPath.map(_.toURI.toURL).toArray, null)
    private val known = mutable.Map.empty[String, Option[ForeignClass]]

    def close(): Unit = loader.close()

    def find(name: String): Option[ForeignClass] =
      known.getOrElseUpdate(
        name,
        Option(loader.getResource(name + ".class")).map { url =>
          url.openConnection() match {
            case inJar: JarURLConnection =>
              inJar.setUseCaches(false)
              Using.bufferedInputStream(inJar.getInputStream)(read(
                name,
                new File(inJar.getJarFileURL.toURI).getName,
                _))
          }
        }
      )

    private def read(name: String, jar: String, in: InputStream): ForeignClass = {
      val bytes = IO.readBytes(in)
      val checksum = new CRC32
      checksum.update(bytes)
      val (declared, abstracts) = (mutable.Set.empty[String], mutable.Buffer.empty[String])
      val reader = new ClassReader(bytes)
      reader.accept(
        new ClassVisitor(Opcodes.ASM9) {
          override def visitMethod(
              access: Int,
              method: String,
              descriptor: String,
              signature: String,
              exceptions: Array[String]): MethodVisitor = {
            declared += method + descriptor
            if ((access & Opcodes.ACC_ABSTRACT) != 0) abstracts += s"$method $descriptor"
            null
          }
          override def visitField(
              access: Int,
              field: String,
              descriptor: String,
              signature: String,
              value: Any): FieldVisitor = {
            declared += field + descriptor
            null
          }
        },
        ClassReader.SKIP_CODE
      )
      val above = (Option(reader.getSuperName) ++ reader.getInterfaces).filter(isForeign).toSeq
      new ForeignClass(name, jar, checksum.getValue, above, declared.toSet, abstracts)
    }

    /** A class and all that it extends. */
    def withAbove(name: String): Set[String] =
      find(name).fold(Set.empty[String])(c => c.above.flatMap(withAbove).toSet + name)

    def declaring(owner: String, member: String): Option[String] = find(owner).flatMap { c =>
      if (c.declared(member)) Some(owner)
      else c.above.flatMap(declaring(_, member)).headOption
    }
  }

  private class Found {
    val classes = mutable.Set.empty[(String, String)]
    val members = mutable.Set.empty[(String, String, String, String)]
    val extended = mutable.Set.empty[String]
    val ours = mutable.Set.empty[String]

    private def named(kind: String, name: String): Unit = {
      val plain = if (name.startsWith("["))
        name.dropWhile(_ == '[').stripPrefix("L").stripSuffix(";")
      else name
      if (plain.length > 1 && isForeign(plain)) classes += kind -> plain
    }

    private def member(kind: String, owner: String, name: String, descriptor: String): Unit =
      if (!owner.startsWith("[") && isForeign(owner)) members += ((kind, owner, name, descriptor))

    private def called(
        isStatic: Boolean,
        isInterface: Boolean,
        owner: String,
        name: String,
        descriptor: String): Unit = {
      if (!owner.startsWith("[")) named(if (isInterface) "interface" else "class", owner)
      member(if (isStatic) "static" else "method", owner, name, descriptor)
    }

    private def constant(value: Any): Unit = value match {
      case t: Type if t.getSort == Type.OBJECT || t.getSort == Type.ARRAY =>
        named("any", t.getInternalName)
      case h: Handle if h.getTag >= Opcodes.H_INVOKEVIRTUAL =>
        called(h.getTag == Opcodes.H_INVOKESTATIC, h.isInterface, h.getOwner, h.getName, h.getDesc)
      case _ =>
    }

    def ofClass: ClassVisitor = new ClassVisitor(Opcodes.ASM9) {
      override def visit(
          version: Int,
          access: Int,
          self: String,
          signature: String,
          parent: String,
          interfaces: Array[String]): Unit = {
        named("class", parent)
        interfaces.foreach(named("interface", _))
        val foreign = (parent +: interfaces).filter(isForeign).filterNot(_.startsWith("scala/"))
        if (foreign.nonEmpty && (access & Opcodes.ACC_INTERFACE) == 0) ours += self
        extended ++= foreign
      }

      override def visitMethod(
          access: Int,
          method: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor = ofMethod
    }

    private def ofMethod = new MethodVisitor(Opcodes.ASM9) {
      override def visitTypeInsn(opcode: Int, name: String): Unit = named("any", name)

      override def visitFieldInsn(
          opcode: Int,
          owner: String,
          name: String,
          descriptor: String): Unit = {
        val isStatic = opcode == Opcodes.GETSTATIC || opcode == Opcodes.PUTSTATIC
        member(if (isStatic) "staticfield" else "field", owner, name, descriptor)
      }

      override def visitMethodInsn(
          opcode: Int,
          owner: String,
          name: String,
          descriptor: String,
          isInterface: Boolean): Unit =
        called(opcode == Opcodes.INVOKESTATIC, isInterface, owner, name, descriptor)

      override def visitInvokeDynamicInsn(
          name: String,
          descriptor: String,
          bootstrap: Handle,
          arguments: AnyRef*): Unit = (bootstrap +: arguments).foreach(constant)

      override def visitLdcInsn(value: Any): Unit = constant(value)

      override def visitMultiANewArrayInsn(descriptor: String, dimensions: Int): Unit =
        named("any", descriptor)

      override def visitTryCatchBlock(
          start: Label,
          end: Label,
          handler: Label,
          name: String): Unit =
        Option(name).foreach(named("any", _))
    }
  }
}
