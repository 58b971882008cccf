// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.io.File
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.{Properties, Using}
import scala.xml.XML

import org.apache.spark.SPARK_VERSION_SHORT

import org.scalatest.funsuite.AnyFunSuite

/** What is published: one jar with all classes, and a POM that asks for nothing but Spark. */
class PublicationSuite extends AnyFunSuite {
  private val pom = XML.loadFile(System.getProperty("rangejoin.pom"))
  private val jar = new File(System.getProperty("rangejoin.jar"))
  private val scala = Properties.versionNumberString.split('.').take(2).mkString(".")
  private val version = Repository.lines("VERSION").mkString.trim
  private val line = SPARK_VERSION_SHORT.split('.').take(2).mkString(".")

  /** Not where a line is compiled against the jars of `pyspark`, which have no coordinates. */
  private val isSparkPublished =
    !Repository.lines("spark-lines.txt").exists(_.matches(s"$line +\\S+ +pyspark .*"))

  test("the POM depends on Scala, and on Spark where it is there already") {
    val found = (pom \ "dependencies" \ "dependency").map { dependency =>
      (dependency \ "artifactId").text -> (dependency \ "scope").text
    }
    val onSpark = if (isSparkPublished) Set(s"spark-sql_$scala" -> "provided") else Set.empty
    assert(found.toSet == Set("scala-library" -> "") ++ onSpark)
  }

  test("the POM has what a repository asks of it") {
    assert((pom \ "artifactId").text == s"spark-range-join_${line}_$scala")
    assert((pom \ "version").text == version)
    for (field <- Seq("name", "description", "url", "licenses", "scm", "developers")) {
      assert((pom \ field).text.trim.nonEmpty, field)
    }
  }

  test("the jar has the kernel and the extension, once") {
    val classes = entries(jar).filter(_.endsWith(".class"))
    assert(classes.distinct.size == classes.size)
    for (name <- Seq("kernel/RangeJoinKernel", "RangeJoinExtensions")) {
      assert(classes.contains(s"org/apache/spark/sql/rangejoin/$name.class"))
    }
    assert(jar.getName.endsWith(s"-$version.jar"))
  }

  test("the jar of sources has what differs between lines, from both modules") {
    val shims = entries(new File(System.getProperty("rangejoin.sources")))
      .filter(_.endsWith("/Shims.scala"))
    assert(shims.distinct.size == shims.size)
    for (module <- Seq("core", "codegen"))
      assert(shims.exists(_.contains(s"/$module/scala-spark-")), shims)
  }

  private def entries(jar: File): Seq[String] =
    Using.resource(new JarFile(jar))(_.entries.asScala.map(_.getName).toVector)
}
