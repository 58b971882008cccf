// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import org.scalatest.funsuite.AnyFunSuite

/** What is missing of a Spark is found, and nothing else. */
class LinksSuite extends AnyFunSuite {
  private val links = new Links(getClass.getClassLoader)
  private val all = Links.lines("links")

  private def missing(lines: String*): Seq[String] = links.missingOf(lines, _ => true)

  test("the Spark that the jar is compiled against is the same by its checksums") {
    assert(Links.lines("checksums").size > 500)
    assert(links.changedClasses == Set.empty)
    assert(Links.missing.isEmpty)
  }

  test("all that is listed is found by reflection as well") {
    assert(all.count(_.contains("org/apache/spark/sql/catalyst")) > 500)
    assert(links.missingOf(all, _ => true) == Nil)
  }

  test("only what depends on a class that has changed is looked at") {
    val gone = all.map(_.replace("TaskContext ", "NoContext "))
    assert(links.missingOf(gone, _ => false) == Nil)
    assert(links.missingOf(gone, Set("org/apache/spark/NoContext")).size > 1)
  }

  private val context = "org/apache/spark/TaskContext"

  test("a class that is gone is missing, and one that became an interface") {
    assert(missing(s"any $context", s"class $context") == Nil)
    assert(missing("any org/apache/spark/NoClass") == Seq("any org.apache.spark.NoClass"))
    assert(missing(s"interface $context", "class scala/Function1").size == 2)
  }

  test("a member is found where the JVM finds it") {
    assert(missing(
      s"method $context stageId ()I $context",
      s"static $context get ()L$context; $context",
      s"method $context <init> ()V $context",
      s"method $context hashCode ()I $context",
      "method scala/Function1 hashCode ()I scala/Function1",
      "method org/apache/spark/TaskContextImpl isFailed ()Z org/apache/spark/TaskContextImpl",
      "method org/apache/spark/BarrierTaskContext getLocalProperty (Ljava/lang/String;)Ljava/lang/String; x"
    ) == Nil)
  }

  test("a member that is gone is missing, or has another type, or is no more static") {
    assert(missing(
      s"method $context noMethod ()I $context",
      s"method $context stageId ()J $context",
      s"static $context stageId ()I $context",
      s"method $context get ()L$context; $context",
      "method org/apache/spark/TaskContextImpl <init> ()V org/apache/spark/TaskContextImpl"
    ).size == 5)
  }

  test("an abstract method that ours do not implement is missing from the list") {
    val rule = "org/apache/spark/sql/catalyst/rules/Rule"
    val apply =
      "(Lorg/apache/spark/sql/catalyst/trees/TreeNode;)Lorg/apache/spark/sql/catalyst/trees/TreeNode;"
    assert(missing(s"super $rule", s"abstract $rule apply $apply") == Nil)
    assert(missing(s"super $rule") == Seq("super org.apache.spark.sql.catalyst.rules.Rule"))
  }
}
