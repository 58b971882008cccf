// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  AttributeSet,
  Expression
}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.index.{IndexJoin, RangeCursor}
import org.apache.spark.sql.rangejoin.join.{ErrorUnlessMatched, RowColumns, SplitExpression}
import org.apache.spark.sql.types.{BooleanType, LongType}

/**
 * Emits the join of one streamed row, whose columns are variables of the code below, with the
 * broadcast index: the same steps as `IndexScanner`.
 *
 * Columns of the build side are read where they are used: those of the condition in a block of their
 * own, those of the output where a parent asks for them.
 *
 * @param columnsOfStreamed the columns of the streamed row, as variables
 * @param goOn condition, ending in `&&` where there is one, without which no more rows are needed
 */
private[broadcast] class BroadcastRangeJoinCodegen(
    ctx: CodegenContext,
    join: IndexJoin,
    index: BuiltIndex,
    columnsOfStreamed: Seq[ExprCode],
    goOn: String
) {
  import BroadcastRangeJoinCodegen._
  import join.{behavior, build, condition, ofStreamed, range, streamed}

  private val keys = join.boundKeys
  private val factory = ctx.addReferenceObj("cursors", index.cursors)
  private val cursor = ctx.addMutableState(
    classOf[RangeCursor].getName,
    "cursor",
    v => s"$v = $factory.create();",
    forceInline = true
  )
  private val (nameStreamed, input) = RowColumns.named(ctx, columnsOfStreamed)
  private val buildRow = ctx.freshName("buildRow")
  private val holds = ctx.freshName("holds")
  private val matched = ctx.freshName("matched")

  /**
   * The code for one streamed row.
   *
   * @param emit code for one output row from the columns of the build side; for an existence join
   *   the flag stands in their place
   */
  def ofRow(emit: Emit): String =
    if (index.buildIsEmpty && (keys.isEmpty || !behavior.evaluatesKeysIfEmpty)) withoutMatch(emit)
    else search(emit)

  /** The code for a streamed row that has no match, and whose keys are not evaluated. */
  private def withoutMatch(emit: Emit): String =
    behavior.emission match {
      case EveryPair if behavior.preservesStreamed =>
        emit(build.map(a => ExprCode.forNullValue(a.dataType)))
      case StreamedRow(false) => emit(Nil)
      case MatchFlag          => emit(Seq(FalseFlag))
      case _                  => ""
    }

  private def search(emit: Emit): String = {
    val pairs = behavior.emission match {
      case EveryPair if behavior.preservesStreamed => everyPairOrNone(emit)
      case EveryPair                               => everyPair(emit)
      case StreamedRow(ifMatched)                  =>
        s"""
           |$firstMatch
           |if (${if (ifMatched) matched else s"!$matched"}) {
           |  ${emit(Nil)}
           |}
         """.stripMargin
      case MatchFlag =>
        val flag = ExprCode(FalseLiteral, JavaCode.variable(matched, BooleanType))
        firstMatch + emit(Seq(flag))
      case after: AfterStreamed => after.notOfStreamed
    }
    s"""
       |$nameStreamed
       |$seek
       |$pairs
     """.stripMargin
  }

  /** Goes to the rows in reach of the streamed row. */
  private def seek: String = {
    ctx.INPUT_ROW = null
    ctx.currentVars = input
    val found = ctx.freshName("found")
    val findKey = keys match {
      case Nil                                  => s"boolean $found = $cursor.seek();"
      case Seq(key) if key.dataType == LongType => seekKey(key.genCode(ctx), found)(_.isNull)
      case _                                    =>
        val row = GenerateUnsafeProjection.createCode(ctx, keys)
        seekKey(row, found)(r => s"${r.value}.anyNull()")
    }
    s"""
       |$findKey
       |if ($found && $cursor.isSearched()) {
       |  $search
       |}
     """.stripMargin
  }

  /** Narrows down to the rows in reach; in a method of its own, which only large groups need. */
  private def search: String = {
    val (lowerBound, upperBound) =
      (range.lowerBound.map(ofStreamed), range.upperBound.map(ofStreamed))
    val byValue = AttributeSet((range.upperByValue ++ range.lowerByValue).flatMap(_.references))
    val read =
      lowerBound ++ upperBound ++ join.boundPoint ++ join.boundSecond ++ streamed.filter(
        byValue.contains).map(ofStreamed)
    val parameters = SplitExpression.parameters(ctx, read.toSeq)
    val (lower, upper) = (valueOf(lowerBound), valueOf(upperBound))
    val aim = join.boundPoint.map(_.genCode(ctx)).fold("") { point =>
      s"""
         |${point.code}
         |$cursor.aim(${point.isNull} ? Long.MIN_VALUE : ${point.value});
       """.stripMargin
    }
    val body =
      s"""
         |${lower.code}
         |${upper.code}
         |if (${lower.isNull} || ${upper.isNull}) {
         |  $cursor.skip();
         |} else {
         |  $aim
         |  $aimSecond
         |  $cursor.search(${lower.value}, ${upper.value});
         |  $answers
         |}
       """.stripMargin
    parameters.fold(body)(SplitExpression.define(ctx, "void", "search", _)(body) + ";")
  }

  /** Searches by two ranges where that is likely to come to fewer rows. */
  private def aimSecond: String = join.boundSecond.map(_.genCode(ctx)) match {
    case Seq(lower, upper) =>
      s"""
         |if ($cursor.wantsSecond()) {
         |  ${lower.code}
         |  ${upper.code}
         |  if (!${lower.isNull} && !${upper.isNull}) {
         |    $cursor.aimSecond(${lower.value}, ${upper.value});
         |  }
         |}
       """.stripMargin
    case _ => ""
  }

  /** Answers what the search asks, where bounds are only prefixes. */
  private def answers: String = {
    val tests = Seq("" -> range.upperByValue, "!" -> range.lowerByValue).collect {
      case (not, Some(test)) => s"if ($not$cursor.asksUpper()) ${holdsOnly(test)}"
    }
    if (tests.isEmpty) ""
    else {
      s"""
         |while ($cursor.asks()) {
         |  UnsafeRow $buildRow = $cursor.row();
         |  boolean $holds = false;
         |  ${tests.mkString("\n")}
         |  $cursor.answer($holds);
         |}
       """.stripMargin
    }
  }

  private def seekKey(key: ExprCode, found: String)(isNull: ExprCode => Any): String =
    s"""
       |${key.code}
       |boolean $found = ${isNull(key)} ? $cursor.skip() : $cursor.seek(${key.value});
     """.stripMargin

  private def valueOf(bound: Option[Expression]): ExprCode = bound.fold(
    ExprCode(EmptyBlock, FalseLiteral, JavaCode.literal("0L", LongType)))(_.genCode(ctx))

  /** Says that the current row is a match, where only the best are wanted. */
  private val take: String = if (join.best.isEmpty) "" else s"$cursor.take();"

  private def everyPair(emit: Emit): String = {
    val pair =
      s"""
         |boolean $holds = true;
         |$check
         |if ($holds) {
         |  $take
         |  ${emit(columns)}
         |}
       """.stripMargin
    if (index.keyIsUnique) {
      s"""
         |if ($goOn $cursor.next()) {
         |  UnsafeRow $buildRow = $cursor.row();
         |  $pair
         |}
       """.stripMargin
    } else {
      // A row of its own does not leave the loop, so that Java keeps it in registers.
      s"""
         |while ($goOn $cursor.next()) {
         |  UnsafeRow $buildRow = new UnsafeRow(${build.size});
         |  $cursor.beginSteps($buildRow);
         |  do {
         |    $pair
         |  } while ($goOn $cursor.step($buildRow));
         |}
       """.stripMargin
    }
  }

  /** Left and right outer joins: after the last candidate comes a null one, if none has matched. */
  private def everyPairOrNone(emit: Emit): String = {
    val more = ctx.freshName("more")
    s"""
       |boolean $matched = false;
       |boolean $more = true;
       |while ($goOn $more) {
       |  $more = $cursor.next();
       |  UnsafeRow $buildRow = $more ? $cursor.row() : null;
       |  do {
       |    boolean $holds = true;
       |    if ($buildRow != null) {
       |      $check
       |      $matched |= $holds;
       |      ${if (take.isEmpty) "" else s"if ($holds) { $take }"}
       |    } else {
       |      $holds = !$matched;
       |    }
       |    if ($holds) {
       |      ${emit(RowColumns.orNull(ctx, buildRow, build))}
       |    }
       |  } while ($goOn $more && $cursor.step($buildRow));
       |}
     """.stripMargin
  }

  /**
   * Semi, anti and existence joins: the search of a streamed row ends at its first match, and an error
   * of a pair is kept until there is known to be none.
   */
  private def firstMatch: String = {
    val errors = ctx.addMutableState(
      classOf[ErrorUnlessMatched].getName,
      "errors",
      v => s"$v = new ${classOf[ErrorUnlessMatched].getName}();",
      forceInline = true
    )
    val error = ctx.freshName("error")
    s"""
       |boolean $matched = false;
       |$errors.clear();
       |while (!$matched && $cursor.next()) {
       |  UnsafeRow $buildRow = $cursor.row();
       |  boolean $holds = true;
       |  try {
       |    $check
       |    $matched = $holds;
       |  } catch (Throwable $error) {
       |    $errors.keep($error);
       |  }
       |}
       |if (!$matched) $errors.raise();
     """.stripMargin
  }

  /**
   * Code that sets `holds` for the current candidate. Code that the range and the residual share is emitted once: the
   * residual is the condition for a pair whose bounds decide.
   */
  private def check: String = range.residual match {
    case None           => s"if ($cursor.isUndecided()) ${holdsOnly(condition)}"
    case Some(residual) =>
      val decided = AttributeReference("decided", BooleanType, nullable = false)()
      val variable = JavaCode.variable(ctx.freshName("decided"), BooleanType)
      s"""
         |boolean $variable = !$cursor.isUndecided();
         |${holds(
          range.unlessDecided(condition, decided),
          readFirst = residual,
          decided -> ExprCode(FalseLiteral, variable))}
       """.stripMargin
  }

  private def holdsOnly(predicate: Expression): String = holds(predicate, readFirst = predicate)

  /**
   * A block that sets `holds` to what a predicate says of the pair.
   *
   * @param readFirst what needs the columns that are read before all else; others are read each time
   * @param variables of the predicate, beside the columns of both sides
   */
  private def holds(
      predicate: Expression,
      readFirst: Expression,
      variables: (Attribute, ExprCode)*
  ): String = {
    val buildColumns = columns
    val read = RowColumns.read(build, buildColumns, Seq(readFirst))
    val late = buildColumns.map(column => if (column.code.isEmpty) column else null)
    // The row of the build side is the one that columns without a variable are read from.
    ctx.INPUT_ROW = if (late.contains(null)) buildRow else null
    ctx.currentVars = late ++ input ++ variables.map(_._2)
    val bound = bindReference(predicate, build ++ streamed ++ variables.map(_._1))
    val value = SplitExpression.split(bound).genCode(ctx)
    s"""{
       |  $read
       |  ${value.code}
       |  $holds = !${value.isNull} && ${value.value};
       |}""".stripMargin
  }

  private def columns: Seq[ExprCode] = RowColumns.of(ctx, buildRow, build)
}

private[broadcast] object BroadcastRangeJoinCodegen {

  private val FalseFlag = ExprCode(FalseLiteral, FalseLiteral)

  /** Code for one output row from the columns of the build side. */
  type Emit = Seq[ExprCode] => String
}
