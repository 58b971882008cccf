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

package org.apache.spark.sql.rangejoin

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.internal.SQLConf

/** The configuration of range joins: every key, with its documentation and default. */
object RangeJoinConf {

  val Enabled: ConfigEntry[Boolean] =
    entry("spark.sql.join.smj.useInnerRangeOptimization") { key =>
      SQLConf
        .buildConf(key)
        .doc("When true, a sort-merge join with a range on top of its equi keys runs as a " +
          "sort-merge range join, which pairs only the rows within the range. When false, plans " +
          "are those of stock Spark. Can be set at any time in a session.")
        .version("0.1.0")
        .booleanConf
        .createWithDefault(true)
    }

  /** All entries, in the order they are documented. */
  val all: Seq[ConfigEntry[_]] = Seq(Enabled)

  /**
   * The entry of a key; a new one unless a second class loader has loaded this class before. Spark
   * refuses to register a key twice.
   */
  private def entry[T](key: String)(create: String => ConfigEntry[T]): ConfigEntry[T] =
    Option(ConfigEntry.findEntry(key)).fold(create(key))(_.asInstanceOf[ConfigEntry[T]])
}
