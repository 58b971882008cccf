// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}

/**
 * Generates the kernel of a [[KernelSpec]]: one class whose methods have the names of their interpreted twins. Emitting
 * ([[source]]) is apart from compiling, so that the Java source can be read without a session.
 */
object GenerateRangeJoinKernel extends CodeGenerator[KernelSpec, RangeJoinKernel] {

  /** Java source of the kernel, and the objects it refers to. */
  def source(spec: KernelSpec): (CodeAndComment, Array[Any]) = {
    val ctx = newCodeGenContext()
    val streamed = new Side(ctx, "streamed", spec.streamedKeys)
    val buffered = new Side(ctx, "buffered", spec.bufferedKeys)
    val group = new GroupKey(ctx, spec.streamedKeys, streamed.keyStates)
    val loadStreamed = streamed.load(Seq("lower" -> spec.lower, "upper" -> spec.upper))
    val loadBuffered =
      buffered.load(Seq("sortBound" -> spec.sortBound, "evictBound" -> spec.evictBound))
    val body =
      s"""
         |public Object generate(Object[] references) {
         |  return new SpecificRangeJoinKernel(references);
         |}
         |
         |class SpecificRangeJoinKernel extends ${classOf[RangeJoinKernel].getName} {
         |  private Object[] references;
         |  ${ctx.declareMutableStates()}
         |
         |  public SpecificRangeJoinKernel(Object[] references) {
         |    this.references = references;
         |    ${ctx.initMutableStates()}
         |  }
         |
         |  public boolean loadStreamed(InternalRow streamedRow) {
         |    $loadStreamed
         |    return true;
         |  }
         |
         |  public boolean loadBuffered(InternalRow bufferedRow) {
         |    $loadBuffered
         |    return true;
         |  }
         |
         |  public int compareStreamedWithBuffered() {
         |    ${comparison(ctx, spec.streamedKeys, streamed.keyStates, buffered.keyStates)}
         |  }
         |
         |  public void openGroup() {
         |    ${group.copy}
         |  }
         |
         |  public boolean streamedInGroup() {
         |    ${equality(ctx, spec.streamedKeys, streamed.keyStates, group.keyStates)}
         |  }
         |
         |  public boolean bufferedInGroup() {
         |    ${equality(ctx, spec.streamedKeys, buffered.keyStates, group.keyStates)}
         |  }
         |
         |  ${ctx.declareAddedFunctions()}
         |}
       """.stripMargin
    val code = CodeFormatter.stripOverlappingComments(
      new CodeAndComment(body, ctx.getPlaceHolderToComments())
    )
    (code, ctx.references.toArray)
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
      val loadKeys = keys.zip(keyStates).map { case (key, state) =>
        val value = key.genCode(ctx)
        s"""
           |${value.code}
           |${unmatchedIf(key, value)}
           |$state = ${value.value};
         """.stripMargin
      }
      val loadBounds = bounds.map {
        case (field, Some(bound)) =>
          val value = bound.genCode(ctx)
          s"""
             |${value.code}
             |${unmatchedIf(bound, value)}
             |this.$field = ${value.value};
           """.stripMargin
        case (field, None) => s"this.$field = 0L;"
      }
      (loadKeys ++ loadBounds).mkString("\n")
    }

    private def unmatchedIf(expression: Expression, value: ExprCode): String =
      if (expression.nullable) s"if (${value.isNull}) return false;" else ""
  }

  /** The key of the open group, which outlives the row it comes from. */
  private class GroupKey(ctx: CodegenContext, keys: Seq[Expression], streamed: Seq[String]) {
    private val states = keys.zip(streamed).map { case (key, value) =>
      ctx.addBufferedState(key.dataType, "groupKey", value)
    }
    val keyStates: Seq[String] = states.map(_.value.toString)
    val copy: String = states.map(_.code.toString).mkString("\n")
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

  override protected def create(spec: KernelSpec): RangeJoinKernel = {
    val (code, references) = source(spec)
    logDebug(s"Generated range join kernel:\n${CodeFormatter.format(code)}")
    val (clazz, _) = CodeGenerator.compile(code)
    clazz.generate(references).asInstanceOf[RangeJoinKernel]
  }

  // An ExpressionCanonicalizer run, as other generators do, would only strip aliases: bounds and
  // keys have none.
  override protected def canonicalize(spec: KernelSpec): KernelSpec = spec

  override protected def bind(spec: KernelSpec, inputSchema: Seq[Attribute]): KernelSpec =
    throw new UnsupportedOperationException(
      "the expressions of a kernel are bound to two different rows; bind them in the spec"
    )
}
