import sbt._

/**
 * How long suites take, as last measured: a line of processor seconds and the name of the class each, in a file
 * that is committed. Where a suite has slow tests, its line has the seconds of its quick ones and of these. Only
 * ratios matter. A suite that is not listed counts as the mean of those that are, so a new one needs no entry.
 *
 * @param tests the tests that are run: the `quick` ones, the `slow` ones, or all
 */
final class TestDurations(file: File, tests: String) {
  import TestDurations._

  private val (quick, slow): (Map[String, Double], Map[String, Double]) = {
    val lines =
      if (!file.exists) Nil
      else IO.readLines(file).filterNot(_.startsWith("#")).map(_.trim.split("\\s+"))
    val ofQuick = lines.map(words => words.last -> words.head.toDouble)
    val ofSlow = lines.collect { case Array(_, time, name) => name -> time.toDouble }
    (ofQuick.toMap, ofSlow.toMap)
  }

  private val mean = if (quick.isEmpty) 1.0 else quick.values.sum / quick.size

  def of(suite: TestDefinition): Double = {
    val name = simpleName(suite.name)
    val (ofQuick, ofSlow) = (quick.getOrElse(name, mean), slow.getOrElse(name, 0.0))
    tests match {
      case "quick" => ofQuick
      case "slow"  => ofSlow
      case _       => ofQuick + ofSlow
    }
  }

  /**
   * Suites dealt out to `parts` parts that take as long: the longest first, each to the part that
   * has least to do, or fewest suites where that is the same.
   *
   * @param begun what the first part has to do besides
   */
  def deal(suites: Seq[TestDefinition], parts: Int, begun: Double = 0): Seq[Seq[TestDefinition]] = {
    val load = Array.fill(parts)(0.0)
    load(0) = begun
    val dealt = Array.fill(parts)(Vector.empty[TestDefinition])
    for (suite <- suites.sortBy(s => (-of(s), s.name))) {
      val part = dealt.indices.minBy(i => (load(i), dealt(i).size))
      load(part) += of(suite)
      dealt(part) :+= suite
    }
    dealt.toSeq
  }

  /**
   * Writes the file anew from files of seconds, which are named after suites, in folders that are named after the
   * tests that were run; what was not run keeps its time.
   */
  def renew(times: File, suites: Seq[TestDefinition]): Int = {
    val defined = suites.map(s => simpleName(s.name)).toSet
    def measured(tests: String) = (times / tests * "*").get
      .map(f => simpleName(f.getName) -> IO.read(f).trim.toDouble).toMap.filterKeys(defined)
    val (ofQuick, ofSlow) = (measured("quick"), measured("slow"))
    val all = (quick ++ ofQuick).filterKeys(defined)
    val allSlow = slow ++ ofSlow
    val lines = all.toSeq.sortBy { case (name, time) => (-time, name) }.map { case (name, time) =>
      f"${time}%7.1f" + allSlow.get(name).map(t => f" ${t}%7.1f").getOrElse("") + s" $name"
    }
    IO.writeLines(file, Header +: lines)
    (ofQuick.keySet ++ ofSlow.keySet).size
  }
}

object TestDurations {
  private val Header =
    "# Processor seconds of the quick tests of a suite, and of the slow ones: `make durations` writes this."

  /** Without the package: suites move. */
  private def simpleName(name: String): String = name.split('.').last
}
