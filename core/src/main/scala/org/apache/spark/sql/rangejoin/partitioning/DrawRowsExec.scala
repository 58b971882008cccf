// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  AttributeSet,
  BoundReference,
  UnsafeProjection
}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.types.{BinaryType, DataType}

/**
 * Draws rows from each partition with a [[Reservoir]]; the one row that comes out holds what was drawn. Generated code
 * evaluates nothing of the other rows but what tells whether they count.
 *
 * @param rows how many to draw from all partitions, about
 * @param required columns in none of which a row that counts is NULL
 */
case class DrawRowsExec(rows: Int, required: Seq[Int], child: SparkPlan)
    extends UnaryExecNode with BlockingOperatorWithCodegen {

  override val output: Seq[Attribute] =
    Seq(AttributeReference("drawn", BinaryType, nullable = false)())

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning =
    UnknownPartitioning(child.outputPartitioning.numPartitions)

  // ---------------------------------------------------------------- interpreted

  override protected def doExecute(): RDD[InternalRow] = {
    val input = child.execute()
    val size = Reservoir.sizeFor(rows, input.getNumPartitions)
    val (required, types) = (this.required, child.output.map(_.dataType).toArray)
    input.mapPartitionsWithIndexInternal { (index, rows) =>
      val reservoir = new Reservoir(size, index, types)
      val unsafe = UnsafeProjection.create(types)
      rows.foreach { row =>
        if (!required.exists(row.isNullAt) && reservoir.draws()) reservoir.take(unsafe(row))
      }
      Iterator(UnsafeProjection.create(Array[DataType](BinaryType))(InternalRow(reservoir.toBytes)))
    }
  }

  // ---------------------------------------------------------------- generated

  @transient private lazy val sizeRef = new SizeRef

  override def inputRDDs(): Seq[RDD[InternalRow]] = {
    val inputs = child.asInstanceOf[CodegenSupport].inputRDDs()
    sizeRef.size = Reservoir.sizeFor(rows, inputs.head.getNumPartitions)
    inputs
  }

  private var reservoir: String = _

  override protected def doProduce(ctx: CodegenContext): String = {
    val ref = ctx.addReferenceObj("size", sizeRef)
    val types = ctx.addReferenceObj(
      "types",
      child.output.map(_.dataType).toArray,
      s"${classOf[DataType].getName}[]")
    val reservoirClass = classOf[Reservoir].getName
    reservoir = ctx.addMutableState(
      reservoirClass,
      "reservoir",
      v => s"$v = new $reservoirClass($ref.size(), partitionIndex, $types);",
      forceInline = true)
    val isDone = ctx.addMutableState(CodeGenerator.JAVA_BOOLEAN, "isDrawn")
    val draw = ctx.freshName("drawRows")
    val drawRows = ctx.addNewFunction(
      draw,
      s"""
         |private void $draw() throws java.io.IOException {
         |  ${child.asInstanceOf[CodegenSupport].produce(ctx, this)}
         |}
       """.stripMargin
    )
    val drawn = ctx.freshName("drawn")
    s"""
       |if (!$isDone) {
       |  $drawRows();
       |  $isDone = true;
       |  byte[] $drawn = $reservoir.toBytes();
       |  ${consume(ctx, Seq(ExprCode(FalseLiteral, JavaCode.variable(drawn, BinaryType))))}
       |}
     """.stripMargin
  }

  // Whatever can wait is evaluated of drawn rows alone.
  override def usedInputs: AttributeSet = AttributeSet.empty

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val nullable = required.filter(i => child.output(i).nullable && input(i).isNull != FalseLiteral)
    val ofAll = evaluateVariables(nullable.map(input))
    val counts = nullable.map(i => s"!${input(i).isNull}")
    val others = evaluateVariables(input)
    ctx.currentVars = input
    ctx.INPUT_ROW = null
    val columns = child.output.zipWithIndex.map { case (column, i) =>
      BoundReference(i, column.dataType, column.nullable)
    }
    val unsafe = GenerateUnsafeProjection.createCode(ctx, columns)
    s"""
       |$ofAll
       |if (${(counts :+ s"$reservoir.draws()").mkString(" && ")}) {
       |  $others
       |  ${unsafe.code}
       |  $reservoir.take(${unsafe.value});
       |}
     """.stripMargin
  }

  override protected def withNewChildInternal(newChild: SparkPlan): DrawRowsExec =
    copy(child = newChild)
}

private[partitioning] object DrawRowsExec {

  /** What is drawn from each partition of a plan that is prepared to run. */
  def drawn(plan: SparkPlan, rows: Int, required: Seq[Int]): RDD[Array[Byte]] =
    above(plan, rows, required).execute().map(_.getBinary(0))

  /** Within the code that is generated for the plan, if there is. */
  def above(plan: SparkPlan, rows: Int, required: Seq[Int]): SparkPlan = plan match {
    case generated @ WholeStageCodegenExec(child) =>
      WholeStageCodegenExec(DrawRowsExec(rows, required, child))(generated.codegenStageId)
    case other => DrawRowsExec(rows, required, other)
  }
}

/** Holds the number of rows to draw from a partition for generated code, which exists before it. */
final class SizeRef extends Serializable {
  var size: Int = _
}
