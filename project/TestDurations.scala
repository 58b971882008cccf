import sbt._

/**
 * How long suites take, as last measured: a line of processor seconds and the name of the class each, in a file
 * that is committed. Only their ratios matter. A suite that is not listed counts as the mean of those
 * that are, so a new one needs no entry.
 */
final class TestDurations(file: File) {
  private val seconds: Map[String, Double] =
    if (!file.exists) Map.empty
    else
      IO.readLines(file)
        .filterNot(_.startsWith("#"))
        .map(_.trim.split("\\s+"))
        .collect { case Array(time, name) => name -> time.toDouble }
        .toMap

  private val mean = if (seconds.isEmpty) 1.0 else seconds.values.sum / seconds.size

  def of(suite: TestDefinition): Double =
    seconds.getOrElse(TestDurations.simpleName(suite.name), mean)

  /**
   * Suites dealt out to `parts` parts that take as long: the longest first, each to the part that
   * has least to do.
   *
   * @param begun what the first part has to do besides
   */
  def deal(suites: Seq[TestDefinition], parts: Int, begun: Double = 0): Seq[Seq[TestDefinition]] = {
    val load = Array.fill(parts)(0.0)
    load(0) = begun
    val dealt = Array.fill(parts)(Vector.empty[TestDefinition])
    for (suite <- suites.sortBy(s => (-of(s), s.name))) {
      val part = load.indexOf(load.min)
      load(part) += of(suite)
      dealt(part) :+= suite
    }
    dealt.toSeq
  }

  /** Writes the file anew from files of seconds, named after suites; what was not run keeps its time. */
  def renew(times: Seq[File], suites: Seq[TestDefinition]): Int = {
    val measured = times.map(f => TestDurations.simpleName(f.getName) -> IO.read(f).trim.toDouble)
    val defined = suites.map(s => TestDurations.simpleName(s.name)).toSet
    val all = (seconds ++ measured).filter { case (name, _) => defined(name) }
    val lines = all.toSeq.sortBy { case (name, time) => (-time, name) }.map { case (name, time) =>
      f"${time}%7.1f $name"
    }
    IO.writeLines(file, TestDurations.Header +: lines)
    measured.count { case (name, _) => defined(name) }
  }
}

object TestDurations {
  private val Header =
    "# Processor seconds of a suite, to deal suites out to JVMs by: `make durations` writes this."

  /** Without the package: suites move. */
  private def simpleName(name: String): String = name.split('.').last
}
