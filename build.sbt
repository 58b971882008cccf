// One jar is shipped: `core`, which carries the classes of `codegen` inside it.
// Dependencies between modules go one way: bench, tests, sparkSuites -> core -> codegen -> Spark's
// catalyst.

// The line of Spark this build is for: LINE=4.0 in the environment, and SCALA=2.12 where it has two.
val line = SparkLine.chosen

ThisBuild / organization := "io.github.spark-range-join"
ThisBuild / version := IO.read((ThisBuild / baseDirectory).value / "VERSION").trim
ThisBuild / scalaVersion := line.scala
ThisBuild / description := "Range joins for Spark: equi key plus band, planned automatically"
ThisBuild / homepage := Some(url("https://github.com/spark-range-join/spark-range-join"))
ThisBuild / scmInfo := Some(
  ScmInfo(
    url("https://github.com/spark-range-join/spark-range-join"),
    "scm:git:https://github.com/spark-range-join/spark-range-join.git"
  )
)
ThisBuild / versionScheme := Some("early-semver")
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / developers := List(
  Developer(
    "spark-range-join",
    "The spark-range-join developers",
    "",
    url("https://github.com/spark-range-join")))
// What `sonaRelease` uploads to Maven Central; `make release` signs it.
Global / stagingDirectory := (ThisBuild / baseDirectory).value / "target" / "release" / "maven"
ThisBuild / publishTo := localStaging.value
ThisBuild / javacOptions ++=
  Seq("--release", line.java, "-Xlint:all,-serial,-processing,-options", "-Werror")
ThisBuild / scalacOptions ++= Seq("-release", line.java, "-feature", "-unchecked")
// What is deprecated, unused or needless differs from line to line, and from compiler to compiler.
ThisBuild / scalacOptions ++= {
  if (line != SparkLine.Default) Nil
  else
    Seq("-deprecation", "-Xlint:_,-byname-implicit", "-Wunused", "-Wdead-code", "-Werror")
}

/** A module of Spark; none where its jars come from the `pyspark` package ([[ofLine]]). */
def spark(module: String, scope: String): Seq[ModuleID] =
  if (line.spark == "pyspark") Nil
  else Seq("org.apache.spark" %% s"spark-$module" % line.spark % scope)

/** Sources, jars and results of the line, for every project that is compiled against Spark. */
lazy val ofLine: Seq[Setting[_]] = Seq(
  target := line.target(baseDirectory.value),
  // The library that this Spark ships is there at run time, whatever newer one a library asks for.
  dependencyOverrides ++=
    Seq("library", "reflect").map(part => "org.scala-lang" % s"scala-$part" % line.scala),
  Compile / unmanagedJars ++=
    line.unpublished((ThisBuild / baseDirectory).value).map(Attributed.blank)
) ++ Seq(Compile, Test).flatMap(inConfig(_)(Seq(
  unmanagedSourceDirectories ++= line.sources(sourceDirectory.value),
  // Formatted are the sources of all lines.
  scalafmt / unmanagedSources := (unmanagedSources.value ++
    SparkLine.allSources(sourceDirectory.value).flatMap(folder =>
      (folder ** "*.scala").get)).distinct
)))

/** Writes down which lines a jar is for, for `RangeJoinExtensions`. */
lazy val builtFor = Compile / sourceGenerators += Def.task {
  val file = (Compile / sourceManaged).value / "BuiltFor.scala"
  val lines = SparkLine.sharing(line.jar).map("\"" + _ + "\"").mkString(", ")
  IO.write(
    file,
    s"""package org.apache.spark.sql.rangejoin.shims
       |
       |/** The lines of Spark that this jar is for, as `major.minor`. */
       |object BuiltFor {
       |  val lines: Seq[String] = Seq($lines)
       |}
       |""".stripMargin
  )
  Seq(file)
}

/**
 * What the jar links to in Spark's jars outside of rules, which are guarded one by one; of it, `entry.txt` for what
 * registers rules. For `guard/Links`. And beside the jar, `links.txt` of all classes, for `make links` and
 * `make doctored`.
 */
lazy val foreignLinks = Compile / resourceGenerators += Def.task {
  (Compile / compile).value
  (codegen / Compile / compile).value
  val folder = (Compile / resourceManaged).value / "org" / "apache" / "spark" / "sql" / "rangejoin"
  val classes = Seq((Compile / classDirectory).value, (codegen / Compile / classDirectory).value)
    .flatMap(of => (of ** "*.class").get)
  val jars = (Compile / dependencyClasspath).value.map(_.data).filter(_.isFile)
  val all = target.value / "links.txt"
  val read = FileFunction.cached(streams.value.cacheDirectory / "links") { _ =>
    val (entry, others) = classes.partition(isOfEntry)
    val (links, checksums) =
      ForeignLinks.of(entry ++ others.filterNot(c => RoomsOfRules(c.getParentFile.getName)), jars)
    val lists = Seq(
      folder / "entry.txt" -> ForeignLinks.of(entry, jars)._1,
      folder / "links.txt" -> links,
      folder / "checksums.txt" -> checksums,
      all -> ForeignLinks.of(classes, jars)._1
    )
    for ((file, lines) <- lists) IO.write(file, lines.mkString("", "\n", "\n"))
    lists.map(_._1).toSet
  }
  (read((classes ++ jars).toSet) - all).toSeq
}

val RoomsOfRules = Set("explain", "hint", "plan", "pushdown", "rewrite")

/** Whether a class registers rules, or runs where one has failed: there is no guard around it. */
def isOfEntry(file: File): Boolean =
  file.getParentFile.getName == "guard" || Set(
    "BuiltFor",
    "ClassicSession",
    "Hints",
    "RangeJoinExtensions",
    "RewrittenAfterCacheLookup")(file.getName.takeWhile(c => c != '$' && c != '.'))

/** Modules of the JDK that Spark reaches into, as its own launcher opens them. */
val sparkJvmOptions = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic",
  "jdk.internal.ref",
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++ Seq(
  "--add-modules=jdk.incubator.vector",
  "-XX:+IgnoreUnrecognizedVMOptions",
  "-Djdk.reflect.useDirectMethodHandle=false",
  "-Dio.netty.tryReflectionSetAccessible=true"
)

// Two JVMs of tests beside each other: most of a test is planning, in one thread.
val testJvms = 2

/**
 * A test is a hundred small queries, each planned and compiled anew: time goes into code that runs a
 * few times. The second compiler of the JVM costs more of it than its code wins back. With one compiler
 * the JVM keeps 48 MB of code, and would sweep and compile again what a thousand queries need.
 */
val testJvmOptions = Seq(
  "-Xss4m",
  "-ea",
  "-XX:TieredStopAtLevel=1",
  "-XX:ReservedCodeCacheSize=256m",
  "-XX:+UseSerialGC"
)

Global / concurrentRestrictions := Seq(
  Tags.limitAll(java.lang.Runtime.getRuntime.availableProcessors.max(testJvms)),
  Tags.limit(Tags.ForkedTestGroup, testJvms),
  Tags.exclusiveGroup(Tags.Clean)
)

/**
 * Suites in a JVM of their own, with a directory of its own for temporary files. It is empty at first:
 * a run that was stopped leaves tables there, and the next cannot write them.
 */
def inJvm(name: String, suites: Seq[TestDefinition], options: ForkOptions, target: File) = {
  val temporary = target / s"tmp-$name"
  IO.delete(temporary)
  IO.createDirectory(temporary)
  val ofJvm = options.withRunJVMOptions(
    options.runJVMOptions :+ s"-Djava.io.tmpdir=$temporary"
  )
  Tests.Group(name, suites, Tests.SubProcess(ofJvm))
}

/** Suites dealt out to JVMs that take as long, the first of which begins with something else. */
def inJvms(
    suites: Seq[TestDefinition],
    durations: TestDurations,
    options: ForkOptions,
    target: File,
    begun: Double = 0
): Seq[Tests.Group] =
  durations.deal(suites, testJvms, begun).zipWithIndex.map { case (dealt, jvm) =>
    inJvm(s"jvm-$jvm", dealt, options, target)
  }

/** The tests of a run: `quick` or `slow` ones as TESTS in the environment says, or all where it says nothing. */
val chosenTests: String = sys.env.getOrElse("TESTS", "") match {
  case chosen @ ("" | "quick" | "slow") => chosen
  case other                            => sys.error(s"TESTS is to be quick or slow, but is $other")
}

/** ScalaTest's arguments for these; tests have its tag where they are slow (design/07-tests.md). */
val argumentsOfChosen: Seq[String] = chosenTests match {
  case "quick" => Seq("-l", "org.scalatest.tags.Slow")
  case "slow"  => Seq("-n", "org.scalatest.tags.Slow")
  case _       => Nil
}

/** The suites of a run: all of them, or the share that `SHARE=2/4` in the environment asks for. */
def shareOf(suites: Seq[TestDefinition], durations: TestDurations): Seq[TestDefinition] =
  sys.env.get("SHARE").filter(_.nonEmpty).map(_.split('/').map(_.toInt)) match {
    case None                                  => suites
    case Some(Array(k, n)) if 1 <= k && k <= n => durations.deal(suites, n)(k - 1)
    case _ => sys.error(s"SHARE is to be like 1/4, but is ${sys.env("SHARE")}")
  }

/** Processor seconds of a project's suites, read where they are needed: they change without the build. */
def durationsOf(project: File): TestDurations =
  new TestDurations(project / "durations.txt", chosenTests)

/** Suites in forked JVMs, of which each notes how much processor time it took. */
val measuredScalaTest = new TestFramework("org.apache.spark.sql.rangejoin.MeasuredScalaTest")

/** @param tests the tests whose times are noted; none where all are run, as no one is to take their times apart */
def measured(tests: String): Seq[Setting[_]] = Seq(
  libraryDependencies += "org.scala-sbt" % "test-interface" % "1.0" % "test",
  Test / unmanagedSourceDirectories +=
    (ThisBuild / baseDirectory).value / "tests" / "src" / "measured" / "scala",
  Test / testFrameworks := Seq(measuredScalaTest),
  Test / testOptions += Tests.Argument(measuredScalaTest, "-oD"),
  Test / javaOptions ++=
    Some(tests).filter(_.nonEmpty).map(of => s"-Drangejoin.cpu=${cpuTimes(target.value) / of}"),
  durationsRenewed
)

def cpuTimes(target: File): File = target / "test-cpu"

lazy val renewDurations = taskKey[Unit]("writes durations.txt from what the last tests took")

lazy val durationsRenewed = renewDurations := {
  val renewed =
    durationsOf(baseDirectory.value).renew(cpuTimes(target.value), (Test / definedTests).value)
  streams.value.log.info(s"$renewed suites measured")
}

lazy val codegen = project
  .settings(ofLine)
  .settings(
    name := "spark-range-join-codegen",
    publish / skip := true, // inside the jar of core
    libraryDependencies ++= spark("catalyst", "provided") :+
      "org.scalatest" %% "scalatest" % "3.2.19" % "test",
    // Its suites stand here and not in `tests`: what they need is catalyst, and they show that.
    Test / fork := true,
    Test / javaOptions ++= sparkJvmOptions ++ testJvmOptions :+ "-Xmx1g",
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oD")
  )

/** Sources as they are packed: those of several lines are files of one name, and each gets a folder. */
def shimsApart(module: String, sources: Seq[(File, String)]): Seq[(File, String)] =
  sources.map { case (file, path) =>
    val lines = file.getPath.split('/').find(_.startsWith("scala-spark-"))
    file -> lines.fold(path)(folder => path.replace("/shims/", s"/shims/$module/$folder/"))
  }

lazy val core = project
  .dependsOn(codegen)
  .settings(ofLine, builtFor, foreignLinks)
  .settings(
    name := "spark-range-join",
    moduleName := s"spark-range-join_${line.line}", // `name` would turn the dot into a dash
    // What is Java here comes by what Spark hides from Scala alone.
    compileOrder := CompileOrder.JavaThenScala,
    libraryDependencies ++= spark("sql", "provided"),
    Compile / packageBin / mappings ++= (codegen / Compile / packageBin / mappings).value.distinct,
    Compile / packageBin / mappings +=
      (ThisBuild / baseDirectory).value / "LICENSE" -> "META-INF/LICENSE",
    Compile / packageSrc / mappings :=
      shimsApart("core", (Compile / packageSrc / mappings).value) ++
        shimsApart("codegen", (codegen / Compile / packageSrc / mappings).value),
    // No user calls these classes, and scaladoc cannot read the Java that sees what Spark hides. Maven
    // Central asks for this jar: it has the page that says where the documentation is.
    Compile / packageDoc / mappings :=
      Seq((ThisBuild / baseDirectory).value / "python" / "README.md" -> "README.md"),
    projectDependencies := Nil // codegen is in the jar; the POM must not ask for it as well
  )

/** For `make releases`: `target/releases/RELEASE` has the jars of a published Spark, and of all that it needs. */
lazy val releasePaths = inputKey[Unit]("writes down the class paths of published releases of Spark")

lazy val releasePathsWritten = releasePaths := {
  val (resolution, folder, log) =
    (dependencyResolution.value, target.value / "releases", streams.value.log)
  for (release <- complete.DefaultParsers.spaceDelimited("<release>").parsed) {
    val spark = "org.apache.spark" % s"spark-sql_${line.scalaBinary}" % release
    val found = resolution.update(
      resolution.wrapDependencyInModule(spark % "compile->runtime", None),
      librarymanagement.UpdateConfiguration(),
      librarymanagement.UnresolvedWarningConfiguration(),
      log
    )
    // None of a release that is not to be had, which is then said of it.
    val jars = found.fold(_ => Nil, _.allFiles)
    IO.writeLines(folder / release, jars.map(_.toString))
  }
}

lazy val tests = project
  .dependsOn(core, codegen % "test->test")
  .settings(ofLine)
  .settings(
    publish / skip := true,
    libraryDependencies ++= spark("sql", "test") ++ Seq(
      "org.scalatest" %% "scalatest" % "3.2.19" % "test",
      // `make doctored` changes classes of Spark with it.
      "org.ow2.asm" % "asm-commons" % "9.7.1" % "test"
    ),
    Test / fork := true,
    Test / parallelExecution := true, // of JVMs; within one, suites run one after the other
    Test / javaOptions ++= sparkJvmOptions ++ testJvmOptions ++ Seq(
      "-Xmx3g",
      // Queries are small and many: their objects die young, and their classes are loaded.
      "-Xmn1g",
      "-XX:MetaspaceSize=256m",
      "-Duser.timezone=America/Los_Angeles",
      s"-Drangejoin.jar=${(core / Compile / packageBin).value}",
      s"-Drangejoin.links=${(core / target).value / "links.txt"}",
      s"-Drangejoin.pom=${(core / makePom).value}",
      s"-Drangejoin.sources=${(core / Compile / packageSrc).value}",
      s"-Drangejoin.home=${(ThisBuild / baseDirectory).value}",
      s"-Drangejoin.releases=${target.value / "releases"}"
    ),
    // Spark honours NO_CODEGEN only where it is tested; and it runs the rules of its optimizer twice
    // then. So random joins meet interpreted expressions, and the other suites have their time.
    Test / testGrouping := {
      val durations = durationsOf(baseDirectory.value)
      val (random, notRandom) = shareOf((Test / definedTests).value, durations)
        .partition(_.name.contains(".differential."))
      val (littleMemory, others) = notRandom.partition(_.name.endsWith("LittleMemorySuite"))
      val options = (Test / forkOptions).value
      // What reads memory that was given back finds no rows there.
      val tested = options.withEnvVars(options.envVars + ("SPARK_TESTING" -> "1"))
        .withRunJVMOptions(options.runJVMOptions :+ "-Dspark.memory.debugFill=true")
      // A session with little memory has to be the first of a JVM; it stops in the end.
      val asTested = littleMemory ++ random
      inJvm("tested", asTested, tested, target.value) +:
        inJvms(others, durations, options, target.value, asTested.map(durations.of).sum)
    },
    releasePathsWritten,
    measured(chosenTests),
    Test / testOptions += Tests.Argument(measuredScalaTest, argumentsOfChosen: _*),
    // One run after another does not replace its reports.
    Test / testReportsDirectory := {
      val everyEngine = sys.env.get("RANGEJOIN_EVERY_ENGINE").map(_ => "engines-")
      val slow = Some("slow-").filter(_ => chosenTests == "slow")
      target.value / s"${everyEngine.orElse(slow).getOrElse("")}test-reports"
    }
  )

// Spark's own suites, with range joins in their plans. No part of `test`: they take long.
lazy val sparkTestHome = taskKey[File]("test data of Spark, laid out as in its source tree")

lazy val sparkSuites = project
  .in(file("spark-suites"))
  .dependsOn(core)
  .settings(ofLine)
  .settings(
    publish / skip := true,
    libraryDependencies ++= spark("sql", "test") ++
      Seq("core", "catalyst", "sql", "sql-api", "common-utils", "tags")
        .flatMap(spark(_, "test").map(_.classifier("tests"))),
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.19" % "test",
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % "test",
      "org.scalatestplus" %% "mockito-5-18" % "3.2.19.0" % "test",
      "org.mockito" % "mockito-core" % "5.23.0" % "test",
      "com.h2database" % "h2" % "2.3.232" % "test"
    ),
    // The tests of 4.0 name it, and it is not published.
    excludeDependencies += ExclusionRule(
      "org.apache.spark",
      s"spark-connect-shims_${line.scalaBinary}"),
    sparkTestHome := {
      val home = target.value / "spark-home"
      val data = testData(home)
      val jar = (Test / update).value
        .select(artifactFilter(name = "spark-sql_*", classifier = "tests"))
        .head
      if (!data.exists) {
        val unpacked = target.value / "spark-home.tmp"
        IO.delete(unpacked)
        val isData: NameFilter = (name: String) =>
          !name.endsWith(".class") && !name.startsWith("META-INF") && name != "log4j2.properties"
        IO.unzip(jar, unpacked, isData)
        IO.move(unpacked, data)
      }
      home
    },
    // Suites ask the class path for directories of data, which a jar cannot give.
    Test / fullClasspath := Attributed.blank(testData(sparkTestHome.value)) +:
      (Test / fullClasspath).value,
    Test / fork := true,
    Test / parallelExecution := true, // of JVMs; within one, suites run one after the other
    Test / envVars := Map("SPARK_TESTING" -> "1"),
    Test / javaOptions ++= sparkJvmOptions ++ testJvmOptions ++ Seq(
      "-Xmx4g",
      "-XX:+EnableDynamicAgentLoading",
      "-Duser.timezone=America/Los_Angeles",
      "-Dspark.testing=1",
      "-Dspark.ui.enabled=false",
      "-Dspark.unsafe.exceptionOnMemoryLeak=true",
      "-Dspark.memory.debugFill=true",
      s"-Dspark.test.home=${target.value}/spark-home"
    ),
    Test / testGrouping := {
      val durations = durationsOf(baseDirectory.value)
      val suites = shareOf((Test / definedTests).value, durations)
      inJvms(suites, durations, (Test / forkOptions).value, target.value)
    },
    measured("quick")
  )

def testData(home: File): File = home / "sql" / "core" / "src" / "test" / "resources"

lazy val bench = project
  .dependsOn(core)
  .enablePlugins(JmhPlugin)
  .settings(ofLine)
  .settings(
    publish / skip := true,
    // Spark's own form of benchmarks is in its tests, which a line that is not published lacks.
    libraryDependencies ++= spark("sql", "compile") ++
      spark("core", "compile").map(_.classifier("tests")),
    Compile / unmanagedSources / excludeFilter :=
      (if (line.spark == "pyspark") "RangeJoinBenchmark.scala" else NothingFilter),
    run / fork := true,
    javaOptions ++= sparkJvmOptions
  )

lazy val root = project
  .in(file("."))
  .aggregate(codegen, core, tests, bench)
  .settings(publish / skip := true, JavaFormat.settings)
