// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

/** Of combinations of choices a part that is small, in which each two choices of different kinds meet. */
object Pairwise {

  /** @param cases tuples; of those of one or two choices there is none to leave out */
  def of[T](cases: Seq[T]): Seq[T] = {
    val (pairs, others) = (cases.map(pairsOf), cases.indices)
    val missing = scala.collection.mutable.Set(pairs.flatten: _*)
    Iterator.continually(others.maxBy(i => pairs(i).count(missing)))
      .takeWhile(_ => missing.nonEmpty)
      .map { i =>
        missing --= pairs(i)
        i
      }.toSeq.sorted.map(cases)
  }

  /** Choices by their places. */
  private def pairsOf(one: Any): Seq[Any] = one match {
    case choices: Product if choices.productArity > 2 =>
      choices.productIterator.toSeq.zipWithIndex.combinations(2).toSeq
    case other => Seq(other)
  }
}
