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

package org.apache.spark.sql.rangejoin.reduce

import org.apache.spark.sql.rangejoin.condition.Rounding

/**
 * How the column that matches are ranked by is compared with a point.
 *
 * @param nearest whether those next to the point come first, on either side
 * @param greatest beyond it their difference wraps around, or raises; None where it never does
 * @param slack how far apart two values of the column may be in the wrong order
 * @param rounding how their difference is rounded; None where it is not
 * @param misplacesNaN whether NaN, the greatest value of the column, is ranked at the other end by
 *   the distance, which is NaN whatever the sign
 */
case class DistanceOrder(
    nearest: Boolean,
    greatest: Option[Long],
    slack: Long,
    rounding: Option[Rounding],
    misplacesNaN: Boolean)
