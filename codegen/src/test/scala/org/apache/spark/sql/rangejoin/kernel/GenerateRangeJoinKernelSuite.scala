// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.BoundReference
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/** The Java source of the kernel, looked at without a session. */
class GenerateRangeJoinKernelSuite extends AnyFunSuite {

  private def column(ordinal: Int, dataType: DataType, nullable: Boolean) =
    BoundReference(ordinal, dataType, nullable)

  private def bound(ordinal: Int, below: Boolean, nullable: Boolean, strict: Boolean = false) =
    RangeBound(column(ordinal, LongType, nullable), None, below, strict)

  private def spec(keys: Seq[DataType], nullable: Boolean, strict: Boolean = false): KernelSpec = {
    val columns = keys.zipWithIndex.map { case (key, i) => column(i, key, nullable) }
    val n = keys.size
    KernelSpec(
      columns,
      columns,
      lower = Some(bound(n, below = true, nullable, strict)),
      upper = Some(bound(n + 1, below = false, nullable, strict)),
      sortBound = Some(bound(n, below = true, nullable)),
      evictBound = Some(bound(n + 1, below = false, nullable))
    )
  }

  private def source(spec: KernelSpec): String =
    GenerateRangeJoinKernel.source(spec)._1.body

  /** The body of a method of the kernel, up to the next method. */
  private def method(source: String, name: String): String =
    source.split(s"public \\w+ $name\\(", 2).last.split("\n *public ", 2).head

  private def count(text: String, part: String): Int = text.split(part, -1).length - 1

  test("the kernel is a subclass of the hand-written one, with a method for each of its own") {
    val code = source(spec(Seq(IntegerType), nullable = true))
    assert(
      code.contains(s"class SpecificRangeJoinKernel extends ${classOf[RangeJoinKernel].getName}")
    )
    for (name <- Seq(
        "loadStreamed",
        "loadBuffered",
        "compareStreamedWithBuffered",
        "openGroup",
        "streamedInGroup",
        "bufferedInGroup"
      )) {
      assert(code.linesIterator.count(_.matches(s" *public \\w+ $name\\(.*\\) \\{")) == 1, name)
    }
  }

  test("keys of primitive types are fields of primitive types") {
    val primitives = Seq[(DataType, String)](
      BooleanType -> "boolean",
      ByteType -> "byte",
      ShortType -> "short",
      IntegerType -> "int",
      LongType -> "long",
      FloatType -> "float",
      DoubleType -> "double",
      DateType -> "int",
      TimestampType -> "long",
      TimestampNTZType -> "long",
      DayTimeIntervalType() -> "long"
    )
    for ((dataType, java) <- primitives) {
      val code = source(spec(Seq(dataType), nullable = true))
      for (field <- Seq("streamedKey", "bufferedKey", "groupKey")) {
        assert(code.linesIterator.exists(_.matches(s" *private $java ${field}_\\d+;")), code)
      }
    }
  }

  test("nothing is boxed between the row and the bounds") {
    val code = source(spec(Seq(LongType, IntegerType, DoubleType), nullable = true, strict = true))
    for (boxed <- Seq("valueOf", "Long)", "Integer", "Double)", "Object ")) {
      // The one Object is what the class is made with.
      val body = code.substring(code.indexOf("public boolean loadStreamed"))
      assert(!body.contains(boxed), boxed)
    }
  }

  test("bounds are written to the fields of the hand-written kernel") {
    val code = source(spec(Seq(LongType), nullable = false))
    for (field <- Seq("lower", "upper")) {
      assert(method(code, "loadStreamed").contains(s"this.$field ="))
      assert(!method(code, "loadBuffered").contains(s"this.$field ="))
    }
    for (field <- Seq("sortBound", "evictBound")) {
      assert(method(code, "loadBuffered").contains(s"this.$field ="))
      assert(!method(code, "loadStreamed").contains(s"this.$field ="))
    }
  }

  test("keys and bounds that cannot be NULL are not checked") {
    val code = source(spec(Seq(LongType, StringType), nullable = false))
    assert(count(code, "isNull") == 0)
    assert(count(code, "return false;") == 0)
  }

  test("keys and bounds that can be NULL are checked once each") {
    val code = source(spec(Seq(LongType, StringType), nullable = true))
    for (load <- Seq("loadStreamed", "loadBuffered")) {
      assert(count(method(code, load), "isNullAt") == 4)
      assert(count(method(code, load), "return false;") == 4)
    }
  }

  test("a strict bound is never NULL where its column is not") {
    val code = source(spec(Seq(LongType), nullable = false, strict = true))
    assert(count(method(code, "loadStreamed"), "return false;") == 0)
    assert(count(method(code, "loadBuffered"), "return false;") == 0)
    assert(count(code, "isNullAt") == 0)
  }

  test("a test that is absent holds for every pair") {
    val key = Seq(column(0, LongType, nullable = false))
    val code = source(KernelSpec(key, key, None, None, None, None))
    assert(method(code, "loadStreamed").contains("this.lower = 0L;"))
    assert(method(code, "loadStreamed").contains("this.upper = 0L;"))
    assert(method(code, "loadBuffered").contains("this.sortBound = 0L;"))
    assert(method(code, "loadBuffered").contains("this.evictBound = 0L;"))
  }

  test("the key of the group is a copy of what points into a row") {
    val code = source(spec(Seq(LongType, StringType), nullable = false))
    assert(count(method(code, "openGroup"), "clone\\(\\)") == 1)
  }

  test("an error of a bound goes through the guard of the hand-written code") {
    val code = source(spec(Seq(LongType), nullable = false))
    val guard = s"${Guarded.getClass.getName}.MODULE$$.rethrowUnlessOfData"
    assert(count(code, java.util.regex.Pattern.quote(guard)) == 4)
  }

  test("keys come in pairs, and a test has a bound on both sides") {
    val key = Seq(column(0, LongType, nullable = false))
    val some = Some(bound(1, below = true, nullable = false))
    intercept[IllegalArgumentException](KernelSpec(key, Nil, None, None, None, None))
    intercept[IllegalArgumentException](KernelSpec(key, key, some, None, None, None))
    intercept[IllegalArgumentException](KernelSpec(key, key, None, some, None, None))
  }

  test("the factory makes what Spark is told to use") {
    val made = Engines.All.map { engine =>
      Engines.using(engine) {
        RangeJoinKernelFactory.createObject(spec(Seq(LongType), nullable = true))
      }
    }
    assert(made.map(_.isInstanceOf[InterpretedRangeJoinKernel]) == Seq(false, true))
  }
}
