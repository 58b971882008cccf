import sbt._

/**
 * A row of spark-lines.txt: what is built against, and for which Scala and Java.
 *
 * @param line `major.minor` of Spark
 * @param jar the line whose jar it runs
 * @param spark the release compiled against, or `pyspark`: the jars of that package
 * @param scala the version of the compiler: that of this Spark, whose library is there at run time
 * @param java the oldest Java that this Spark runs on
 * @param pyspark the release of the package that tests run with
 */
final case class SparkLine(
    line: String,
    jar: String,
    spark: String,
    scala: String,
    java: String,
    pyspark: String) {

  val scalaBinary: String = scala.split('.').take(2).mkString(".")

  private val version = SparkLine.number(line)

  /** Where a project builds this line: the default line at the usual place, so that tools find it. */
  def target(project: File): File =
    if (this == SparkLine.Default) project / "target"
    else project / "target" / s"spark-${line}_$scalaBinary"

  /** The folders beside `scala` that are for this line: `scala-spark-4.0`, `-3.5-4.1` or `-4.2+`. */
  def sources(parent: File): Seq[File] =
    SparkLine.allSources(parent).filter(_.getName match {
      case SparkLine.From(from)        => version >= SparkLine.number(from)
      case SparkLine.Between(from, to) =>
        version >= SparkLine.number(from) && version <= SparkLine.number(to)
      case SparkLine.Only(only) => only == line
      case other => sys.error(s"$other names no line of Spark, and no range of lines")
    })

  /** The jars of the `pyspark` package, where they are what is compiled against. */
  def unpublished(root: File): Seq[File] =
    if (spark != "pyspark") Nil
    else {
      val environment = root / s".venv-spark-$pyspark"
      val jars = (environment ** "pyspark" / "jars" * "*.jar").get
      if (jars.isEmpty) sys.error(s"There is no pyspark in $environment: make setup LINE=$line")
      jars
    }
}

object SparkLine {
  private val From = """scala-spark-([\d.]+)\+""".r
  private val Between = """scala-spark-([\d.]+)-([\d.]+)""".r
  private val Only = """scala-spark-([\d.]+)""".r

  lazy val table: Seq[SparkLine] = IO.readLines(file("spark-lines.txt"))
    .filterNot(_.startsWith("#"))
    .map(_.trim.split("\\s+"))
    .collect { case Array(line, jar, spark, scala, java, pyspark) =>
      SparkLine(line, jar, spark, scala, java, pyspark)
    }

  lazy val Default: SparkLine = find("4.2", None)

  /** The line that `LINE` and `SCALA` in the environment name. */
  lazy val chosen: SparkLine =
    find(sys.env.get("LINE").filter(_.nonEmpty).getOrElse(Default.line), sys.env.get("SCALA"))

  /** The folders for any line. */
  def allSources(parent: File): Seq[File] = (parent * "scala-spark-*").get

  /** The lines that run the same jar. */
  def sharing(jar: String): Seq[String] = table.filter(_.jar == jar).map(_.line).distinct

  private def find(line: String, scala: Option[String]): SparkLine =
    table.find(l => l.line == line && scala.filter(_.nonEmpty).forall(_ == l.scalaBinary))
      .getOrElse(sys.error(
        s"spark-lines.txt has no line $line with Scala ${scala.getOrElse("any")}"))

  /** `4.10` is more than `4.9`. */
  private def number(line: String): Int = {
    val Array(major, minor) = line.split('.').map(_.toInt)
    major * 1000 + minor
  }
}
