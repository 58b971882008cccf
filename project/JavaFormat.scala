import sbt.Keys._
import sbt._

/**
 * The few Java sources, in the format of google-java-format. It reaches into the JDK's compiler, so
 * it runs in a JVM of its own and no launcher of sbt needs flags for it.
 */
object JavaFormat {
  private val Formatter = config("javaFormatter").hide

  val javaFormat = taskKey[Unit]("formats Java sources")
  val javaFormatCheck = taskKey[Unit]("fails where a Java source is not formatted")

  /** For the root project, which is not published; all projects' sources. */
  val settings: Seq[Setting[_]] = Seq(
    ivyConfigurations += Formatter,
    libraryDependencies +=
      "com.google.googlejavaformat" % "google-java-format" % "1.24.0" % Formatter,
    javaFormat := formatter("--replace").value,
    javaFormatCheck := formatter("--dry-run", "--set-exit-if-changed").value
  )

  private def formatter(options: String*) = Def.task {
    val classPath = update.value.select(configurationFilter(Formatter.name))
    val exports = Seq("api", "code", "file", "parser", "tree", "util").map { part =>
      s"--add-exports=jdk.compiler/com.sun.tools.javac.$part=ALL-UNNAMED"
    }
    // Sources of the modules; what Spark's test data has of Java lies below a target.
    val sources = (baseDirectory.value * DirectoryFilter / "src" ** "*.java").get
    val command = Seq("-cp", Path.makeString(classPath), "com.google.googlejavaformat.java.Main") ++
      options ++ sources.map(_.toString)
    val status = Fork.java(ForkOptions().withRunJVMOptions(exports.toVector), command)
    if (status != 0)
      throw new MessageOnlyException("Java sources named above are not formatted: make format")
  }
}
