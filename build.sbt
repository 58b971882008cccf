// One jar is shipped: `core`, which carries the classes of `codegen` inside it.
// Dependencies between modules go one way: bench, tests -> core -> codegen -> Spark's catalyst.

val sparkVersion = "4.2.0"

ThisBuild / organization := "io.github.spark-range-join"
ThisBuild / version := "0.1.0"
ThisBuild / scalaVersion := "2.13.18"
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / javacOptions ++= Seq("--release", "17", "-Xlint:all,-serial,-processing", "-Werror")
ThisBuild / scalacOptions ++= Seq(
  "-release:17",
  "-deprecation",
  "-feature",
  "-unchecked",
  "-Xlint:_,-byname-implicit",
  "-Wunused",
  "-Wdead-code",
  "-Werror"
)

def spark(module: String, scope: String) =
  "org.apache.spark" %% s"spark-$module" % sparkVersion % scope

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

lazy val codegen = project
  .settings(
    name := "spark-range-join-codegen",
    libraryDependencies += spark("catalyst", "provided")
  )

lazy val core = project
  .dependsOn(codegen)
  .settings(
    name := "spark-range-join",
    moduleName := "spark-range-join_4.2", // `name` would turn the dot into a dash
    libraryDependencies += spark("sql", "provided"),
    Compile / packageBin / mappings ++= (codegen / Compile / packageBin / mappings).value.distinct
  )

lazy val tests = project
  .dependsOn(core)
  .settings(
    publish / skip := true,
    libraryDependencies ++= Seq(
      spark("sql", "test"),
      "org.scalatest" %% "scalatest" % "3.2.19" % "test"
    ),
    Test / fork := true,
    Test / parallelExecution := false,
    Test / javaOptions ++= sparkJvmOptions ++ Seq(
      "-Xmx3g",
      "-Xss4m",
      "-ea",
      "-Duser.timezone=America/Los_Angeles",
      s"-Djava.io.tmpdir=${target.value}/tmp",
      s"-Drangejoin.jar=${(core / Compile / packageBin).value}",
      s"-Drangejoin.readme=${(ThisBuild / baseDirectory).value / "README.md"}"
    ),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oD"),
    Test / testOptions += Tests.Setup { () => IO.createDirectory(target.value / "tmp") }
  )

lazy val bench = project
  .dependsOn(core)
  .enablePlugins(JmhPlugin)
  .settings(
    publish / skip := true,
    libraryDependencies += spark("sql", "compile"),
    run / fork := true,
    javaOptions ++= sparkJvmOptions
  )

lazy val root = project
  .in(file("."))
  .aggregate(codegen, core, tests, bench)
  .settings(publish / skip := true)
