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
    assert(links.changedClasses(_ => true) == Set.empty)
    assert(Links.missing.isEmpty && Links.missingAtEntry.isEmpty)
  }

  test("what registers rules has a list of its own, as Spark makes rules where there is no guard") {
    val entry = Links.lines("entry")
    assert(entry.size < all.size && entry.forall(all.contains))
    for (name <- Seq("catalyst/rules/Rule", "execution/SparkStrategy", "SparkSessionExtensions"))
      assert(entry.exists(_.contains(s" org/apache/spark/sql/$name ")), name)
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

  /** What is missing where a class is: before rules are registered, and before a plan is used. */
  private def withoutClass(name: String): (Seq[String], Seq[String]) = {
    val hiding = new Links(new ClassLoader(getClass.getClassLoader) {
      override def loadClass(loaded: String, resolve: Boolean): Class[_] =
        if (loaded == name) throw new ClassNotFoundException(name)
        else super.loadClass(loaded, resolve)
      // No checksums: all is looked up by reflection.
      override def getResource(file: String): java.net.URL = null
    })
    (hiding.missingAtEntry, hiding.missing)
  }

  test("nothing is registered where a class is gone that rules are made with") {
    val rule = "org.apache.spark.sql.catalyst.rules.Rule"
    val (atEntry, atUse) = withoutClass(rule)
    assert(atEntry.contains(s"class $rule") && atUse.contains(s"class $rule"))
    val partitioning = "org.apache.spark.sql.catalyst.plans.physical.HashPartitioning"
    val (nothing, later) = withoutClass(partitioning)
    assert(nothing == Nil && later.exists(_.contains(partitioning)))
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
