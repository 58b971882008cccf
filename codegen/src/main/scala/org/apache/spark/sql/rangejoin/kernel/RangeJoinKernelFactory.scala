// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.CodeGeneratorWithInterpretedFallback

/** Makes the kernel of a spec: generated, or interpreted where Spark is told to or has to. */
object RangeJoinKernelFactory
    extends CodeGeneratorWithInterpretedFallback[KernelSpec, RangeJoinKernel] {

  override protected def createCodeGeneratedObject(spec: KernelSpec): RangeJoinKernel =
    GenerateRangeJoinKernel.generate(spec)

  override protected def createInterpretedObject(spec: KernelSpec): RangeJoinKernel =
    new InterpretedRangeJoinKernel(spec)
}
