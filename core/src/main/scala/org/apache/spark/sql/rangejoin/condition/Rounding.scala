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

package org.apache.spark.sql.rangejoin.condition

/** Of floating-point numbers: as of DOUBLE, or of FLOAT if `single`. */
case class Rounding(single: Boolean) {

  /** How far two numbers are from each other. */
  def distance(a: Double, b: Double): Double =
    if (single) math.abs(a.toFloat - b.toFloat).toDouble else math.abs(a - b)

  /** How far numbers like this one are from the next ones. */
  def lastPlace(number: Double): Double =
    if (single) math.ulp(number.toFloat).toDouble else math.ulp(number)
}
