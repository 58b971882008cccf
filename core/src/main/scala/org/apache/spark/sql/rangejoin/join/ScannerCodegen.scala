// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.types.BooleanType

/**
 * Emits the part of a join of two inputs that whole-stage code generation fuses with its parents: the
 * residual and the columns of the output, in a loop around a [[CandidateScanner]] or, where rows of the
 * other side are kept, a [[PairScanner]].
 *
 * Columns are read late: those of the residual before it (of the streamed row once per scan), all
 * others where a parent asks for them. The innermost loop goes on from one candidate to the row behind
 * it in memory (`step`). After each output row the loop asks whether to stop, and
 * resumes the scan where it stood, so that rows of a skewed key do not pile up.
 *
 * @param asksOften whether the scanner evaluates the condition for many candidates, for which the residual then need
 *   not be evaluated again
 * @param goOn condition, ending in `&&` where there is one, without which no more rows are needed
 * @param stopCheck statement that leaves the loop when the consumer has to be served first
 */
private[rangejoin] class ScannerCodegen(
    ctx: CodegenContext,
    scanner: String,
    streamed: Seq[Attribute],
    buffered: Seq[Attribute],
    residual: Option[Expression],
    asksOften: Boolean,
    marksMatches: Boolean,
    goOn: String,
    stopCheck: String
) {
  import ScannerCodegen.Emit

  private val streamedRow = ctx.freshName("streamedRow")
  private val bufferedRow = ctx.freshName("bufferedRow")
  private val found = ctx.freshName("found")

  /**
   * The loop.
   *
   * @param emit code for one output row from the columns of the streamed and of the buffered side; for an existence
   *   join the flag replaces the latter
   */
  def loop(behavior: JoinTypeBehavior)(emit: Emit): String = behavior.emission match {
    case EveryPair if behavior.preservesBuffered => everyRow(emit)
    case EveryPair if behavior.preservesStreamed => everyStreamedRow(emit)
    case EveryPair                               => everyPair(emit)
    case StreamedRow(ifMatched)                  =>
      firstMatch(s"if (${if (ifMatched) "" else "!"}$found)")(emit(_, Nil))
    case MatchFlag =>
      val flag = ExprCode(FalseLiteral, JavaCode.variable(found, BooleanType))
      firstMatch("")(emit(_, Seq(flag)))
    case after: AfterStreamed => after.notOfStreamed
  }

  private def everyPair(emit: Emit): String = {
    val streamedColumns = columns(streamedRow, streamed)
    val bufferedColumns = columns(bufferedRow, buffered)
    // A row of its own does not leave the loop, so that Java keeps it in registers.
    val mark = if (marksMatches) s"$scanner.markMatched();" else ""
    val stop = if (stopCheck.isEmpty) "" else s"$scanner.keepStep($bufferedRow); $stopCheck"
    s"""
       |while ($goOn ($scanner.isScanning() || $scanner.nextStreamed())) {
       |  InternalRow $streamedRow = $scanner.currentStreamed();
       |  ${readForResidual(streamed, streamedColumns)}
       |  while ($goOn $scanner.nextCandidate()) {
       |    UnsafeRow $bufferedRow = new UnsafeRow(${buffered.size});
       |    $scanner.beginSteps($bufferedRow);
       |    do {
       |      ${readForResidual(buffered, bufferedColumns)}
       |      ${checkResidual(streamedColumns ++ bufferedColumns)}
       |      $mark
       |      ${emit(streamedColumns, bufferedColumns)}
       |      $stop
       |    } while ($goOn $scanner.step($bufferedRow));
       |  }
       |}
     """.stripMargin
  }

  /** Left and right outer joins: the buffered row of a streamed row without a match is null. */
  private def everyStreamedRow(emit: Emit): String = {
    val streamedColumns = columns(streamedRow, streamed)
    val bufferedColumns = columnsOrNull(bufferedRow, buffered)
    s"""
       |while ($goOn ($scanner.isScanning() || $scanner.nextStreamed())) {
       |  InternalRow $streamedRow = $scanner.currentStreamed();
       |  ${readForResidual(streamed, streamedColumns)}
       |  while ($goOn $scanner.nextCandidateOrNone()) {
       |    UnsafeRow $bufferedRow = $scanner.currentCandidate();
       |    do {
       |      ${readForResidual(buffered, bufferedColumns)}
       |      if ($bufferedRow != null) {
       |        ${checkResidual(streamedColumns ++ bufferedColumns)}
       |        $scanner.markMatched();
       |      }
       |      ${emit(streamedColumns, bufferedColumns)}
       |      $stopCheck
       |    } while ($goOn $scanner.step());
       |  }
       |}
     """.stripMargin
  }

  /** Full outer joins: either row may be null. */
  private def everyRow(emit: Emit): String = {
    val streamedColumns = columnsOrNull(streamedRow, streamed)
    val bufferedColumns = columnsOrNull(bufferedRow, buffered)
    s"""
       |while ($goOn $scanner.nextPair()) {
       |  InternalRow $streamedRow = $scanner.currentStreamed();
       |  UnsafeRow $bufferedRow = $scanner.currentCandidate();
       |  ${readForResidual(streamed, streamedColumns)}
       |  ${readForResidual(buffered, bufferedColumns)}
       |  if ($scanner.isPair()) {
       |    ${checkResidual(streamedColumns ++ bufferedColumns)}
       |    $scanner.markMatched();
       |  }
       |  ${emit(streamedColumns, bufferedColumns)}
       |  $stopCheck
       |}
     """.stripMargin
  }

  /**
   * Semi, anti and existence joins: the scan of a streamed row ends at its first match, and an error
   * of the residual is kept until there is known to be none.
   *
   * @param ifWanted the beginning of the statement that emits a row, where not every streamed row comes out
   */
  private def firstMatch(ifWanted: String)(emit: Seq[ExprCode] => String): String = {
    val streamedColumns = columns(streamedRow, streamed)
    val bufferedColumns = columns(bufferedRow, buffered)
    val error = ctx.freshName("error")
    val readStreamed = readForResidual(streamed, streamedColumns)
    val isMatch = if (residual.isEmpty) s"$found = true;"
    else {
      s"""
         |${unlessAsked(s"$found = true;")} try {
         |  ${readForResidual(buffered, bufferedColumns)}
         |  ${checkResidual(streamedColumns ++ bufferedColumns)}
         |  $found = true;
         |} catch (Throwable $error) {
         |  $scanner.errors().keep($error);
         |}
       """.stripMargin
    }
    s"""
       |while ($goOn $scanner.nextStreamed()) {
       |  InternalRow $streamedRow = $scanner.currentStreamed();
       |  $readStreamed
       |  boolean $found = false;
       |  while (!$found && $scanner.nextCandidate()) {
       |    UnsafeRow $bufferedRow = $scanner.currentCandidate();
       |    do {
       |      $isMatch
       |    } while (!$found && $scanner.step());
       |  }
       |  if (!$found) $scanner.errors().raise();
       |  $ifWanted {
       |    ${emit(streamedColumns)}
       |    $stopCheck
       |  }
       |}
     """.stripMargin
  }

  private def columns(row: String, attributes: Seq[Attribute]): Seq[ExprCode] =
    RowColumns.of(ctx, row, attributes)

  private def columnsOrNull(row: String, attributes: Seq[Attribute]): Seq[ExprCode] =
    RowColumns.orNull(ctx, row, attributes)

  private def readForResidual(attributes: Seq[Attribute], columns: Seq[ExprCode]): String =
    RowColumns.read(attributes, columns, residual)

  /** The beginning of a statement for candidates whose condition the scanner has not evaluated. */
  private def unlessAsked(otherwise: String): String =
    if (asksOften) s"if ($scanner.isMatch()) { $otherwise } else" else ""

  private def checkResidual(columns: Seq[ExprCode]): String =
    residual.map { predicate =>
      ctx.currentVars = columns
      ctx.INPUT_ROW = null
      val bound = bindReference(predicate, streamed ++ buffered)
      val holds = SplitExpression.split(bound).genCode(ctx)
      val check =
        s"""
           |${holds.code}
           |if (${holds.isNull} || !${holds.value}) continue;
         """.stripMargin
      if (asksOften) s"if (!$scanner.isMatch()) {\n$check\n}" else check
    }.getOrElse("")
}

private[rangejoin] object ScannerCodegen {

  /** Code for one output row from the columns of the streamed and of the buffered side. */
  type Emit = (Seq[ExprCode], Seq[ExprCode]) => String
}
