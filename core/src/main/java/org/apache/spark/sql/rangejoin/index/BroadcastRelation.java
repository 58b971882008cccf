// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.joins.HashedRelation;
import scala.collection.Iterator;

/**
 * What a broadcast exchange takes from a {@code BroadcastMode} that is not one of Spark's own: it
 * knows arrays of rows and hashed relations, and a hashed relation is one that says its size. Being
 * one, the index travels in Spark's own exchange, with its limits, timeouts, metrics and reuse.
 * Java, since the trait is sealed to Scala.
 *
 * <p>Only the range join asks the index for rows, through a cursor; as a hashed relation it has its
 * keys alone, for filters of partitions.
 */
public abstract class BroadcastRelation implements HashedRelation {

  private static UnsupportedOperationException notHashed() {
    return new UnsupportedOperationException("a range index is read through a cursor");
  }

  @Override
  public Iterator<InternalRow> get(InternalRow key) {
    throw notHashed();
  }

  @Override
  public InternalRow getValue(InternalRow key) {
    throw notHashed();
  }

  @Override
  public boolean keyIsUnique() {
    return false;
  }

  @Override
  public HashedRelation asReadOnlyCopy() {
    return this;
  }

  @Override
  public void close() {}
}
