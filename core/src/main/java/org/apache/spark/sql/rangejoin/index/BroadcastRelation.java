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
