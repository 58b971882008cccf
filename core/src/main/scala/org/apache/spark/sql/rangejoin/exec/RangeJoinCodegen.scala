/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.exec

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  BoundReference,
  Expression
}

/**
 * Emits the part of the join that whole-stage code generation fuses with its parents: the residual
 * and the columns of the output, in a loop around the scanner.
 *
 * Columns are read late: those of the residual before it (of the streamed row once per scan), all
 * others where a parent asks for them. After each output row the loop asks whether to stop, and
 * resumes the scan where it stood, so that rows of a hot key do not pile up.
 *
 * @param goOn condition, ending in `&&` where there is one, without which no more rows are needed
 * @param stopCheck statement that leaves the loop when the consumer has to be served first
 */
private[exec] class RangeJoinCodegen(
    ctx: CodegenContext,
    scanner: String,
    streamed: Seq[Attribute],
    buffered: Seq[Attribute],
    residual: Option[Expression]
) {

  private val streamedRow = ctx.freshName("streamedRow")
  private val bufferedRow = ctx.freshName("bufferedRow")

  /** The loop; `emit` gives the code for one output row from the columns of both sides. */
  def loop(goOn: String, stopCheck: String)(
      emit: (Seq[ExprCode], Seq[ExprCode]) => String
  ): String = {
    val streamedColumns = columns(streamedRow, streamed)
    val bufferedColumns = columns(bufferedRow, buffered)
    val readStreamed = readForResidual(streamed, streamedColumns)
    val readBuffered = readForResidual(buffered, bufferedColumns)
    val check = checkResidual(streamedColumns ++ bufferedColumns)
    s"""
       |while ($goOn ($scanner.isScanning() || $scanner.nextStreamed())) {
       |  InternalRow $streamedRow = $scanner.currentStreamed();
       |  $readStreamed
       |  while ($goOn $scanner.nextCandidate()) {
       |    UnsafeRow $bufferedRow = $scanner.currentCandidate();
       |    $readBuffered
       |    $check
       |    ${emit(streamedColumns, bufferedColumns)}
       |    $stopCheck
       |  }
       |}
     """.stripMargin
  }

  private def columns(row: String, attributes: Seq[Attribute]): Seq[ExprCode] = {
    ctx.currentVars = null
    ctx.INPUT_ROW = row
    attributes.toIndexedSeq.zipWithIndex.map { case (attribute, i) =>
      BoundReference(i, attribute.dataType, attribute.nullable).genCode(ctx)
    }
  }

  /** Code that reads the columns the residual needs; they count as read from then on. */
  private def readForResidual(attributes: Seq[Attribute], columns: Seq[ExprCode]): String = {
    val needed = AttributeSet(residual.toSeq.flatMap(_.references))
    val code = attributes.zip(columns).collect {
      case (attribute, column) if needed.contains(attribute) =>
        val read = column.code.toString
        column.code = EmptyBlock
        read
    }
    code.mkString("\n")
  }

  private def checkResidual(columns: Seq[ExprCode]): String = residual.map { predicate =>
    ctx.currentVars = columns
    ctx.INPUT_ROW = null
    val holds = bindReference(predicate, streamed ++ buffered).genCode(ctx)
    s"""
       |${holds.code}
       |if (${holds.isNull} || !${holds.value}) continue;
     """.stripMargin
  }.getOrElse("")
}
