// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}

/**
 * Generates a class from code for its methods. Emitting ([[source]]) is apart from compiling, so that the Java source
 * can be read without a session.
 *
 * @param parent what it extends
 */
abstract class ClassGenerator[S <: AnyRef, P <: AnyRef](parent: Class[P])
    extends CodeGenerator[S, P] {

  /** The methods, whose state is added to the context. */
  protected def methods(ctx: CodegenContext, spec: S): String

  /** Java source of the class, and the objects it refers to. */
  final def source(spec: S): (CodeAndComment, Array[Any]) = {
    val ctx = newCodeGenContext()
    val ofParent = methods(ctx, spec)
    val name = "Specific" + parent.getSimpleName
    val body =
      s"""
         |public Object generate(Object[] references) {
         |  return new $name(references);
         |}
         |
         |class $name extends ${parent.getName} {
         |  private Object[] references;
         |  ${ctx.declareMutableStates()}
         |
         |  public $name(Object[] references) {
         |    this.references = references;
         |    ${ctx.initMutableStates()}
         |  }
         |
         |  $ofParent
         |
         |  ${ctx.declareAddedFunctions()}
         |}
       """.stripMargin
    val code = CodeFormatter.stripOverlappingComments(
      new CodeAndComment(body, ctx.getPlaceHolderToComments())
    )
    (code, ctx.references.toArray)
  }

  override protected def create(spec: S): P = {
    val (code, references) = source(spec)
    val (clazz, _) = CodeGenerator.compile(code)
    clazz.generate(references).asInstanceOf[P]
  }

  // An ExpressionCanonicalizer run, as other generators do, would only strip aliases: there are none.
  override protected def canonicalize(spec: S): S = spec

  // The expressions are bound already.
  override protected def bind(spec: S, inputSchema: Seq[Attribute]): S = spec
}

/** Generates the kernel of a [[KernelSpec]]: its methods have the names of their interpreted twins. */
object GenerateRangeJoinKernel
    extends ClassGenerator[KernelSpec, RangeJoinKernel](classOf[RangeJoinKernel]) {

  override protected def methods(ctx: CodegenContext, spec: KernelSpec): String = {
    val streamed = new Side(ctx, "streamed", spec.streamedKeys)
    val buffered = new Side(ctx, "buffered", spec.bufferedKeys)
    // The key of the open group, which outlives the row it comes from.
    val group = spec.streamedKeys.zip(streamed.keyStates).map { case (key, value) =>
      ctx.addBufferedState(key.dataType, "groupKey", value)
    }
    val groupStates = group.map(_.value.toString)
    val loadStreamed = streamed.load(Seq("lower" -> spec.lower, "upper" -> spec.upper))
    val loadBuffered =
      buffered.load(Seq("sortBound" -> spec.sortBound, "evictBound" -> spec.evictBound))
    s"""
       |public boolean loadStreamed(InternalRow streamedRow) {
       |  $loadStreamed
       |  return true;
       |}
       |
       |public boolean loadBuffered(InternalRow bufferedRow) {
       |  $loadBuffered
       |  return true;
       |}
       |
       |public int compareStreamedWithBuffered() {
       |  ${comparison(ctx, spec.streamedKeys, streamed.keyStates, buffered.keyStates)}
       |}
       |
       |public void openGroup() {
       |  ${group.map(_.code).mkString("\n")}
       |}
       |
       |public boolean streamedInGroup() {
       |  ${equality(ctx, spec.streamedKeys, streamed.keyStates, groupStates)}
       |}
       |
       |public boolean bufferedInGroup() {
       |  ${equality(ctx, spec.streamedKeys, buffered.keyStates, groupStates)}
       |}
     """.stripMargin
  }

  /** Code that loads keys and bounds of the rows of one side into fields of the kernel. */
  private class Side(ctx: CodegenContext, name: String, keys: Seq[Expression]) {
    private val row = s"${name}Row"

    val keyStates: Seq[String] = keys.map { key =>
      ctx.addMutableState(CodeGenerator.javaType(key.dataType), s"${name}Key", forceInline = true)
    }

    def load(bounds: Seq[(String, Option[Expression])]): String = {
      ctx.INPUT_ROW = row
      ctx.currentVars = null
      val loadKeys = keyStates.zip(keys).map { case (state, key) => set(state, key) }
      val loadBounds = bounds.map { case (field, bound) =>
        bound.fold(s"this.$field = 0L;")(set(s"this.$field", _))
      }
      (loadKeys ++ loadBounds).mkString("\n")
    }

    private def set(target: String, expression: Expression): String = {
      val value = expression.genCode(ctx)
      s"""
         |${value.code}
         |${if (expression.nullable) s"if (${value.isNull}) return false;" else ""}
         |$target = ${value.value};
       """.stripMargin
    }
  }

  private def comparison(
      ctx: CodegenContext,
      keys: Seq[Expression],
      a: Seq[String],
      b: Seq[String]
  ): String = {
    val steps = keys.indices.map { i =>
      val result = ctx.freshName("comp")
      s"""
         |int $result = ${ctx.genComp(keys(i).dataType, a(i), b(i))};
         |if ($result != 0) return $result;
       """.stripMargin
    }
    steps.mkString("\n") + "\nreturn 0;"
  }

  private def equality(
      ctx: CodegenContext,
      keys: Seq[Expression],
      a: Seq[String],
      b: Seq[String]
  ): String = {
    val equal = keys.indices.map(i => s"(${ctx.genComp(keys(i).dataType, a(i), b(i))}) == 0")
    s"return ${if (equal.isEmpty) "true" else equal.mkString(" && ")};"
  }
}
