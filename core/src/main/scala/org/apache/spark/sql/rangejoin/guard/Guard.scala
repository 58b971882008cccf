// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import java.util.{Collections, WeakHashMap}

import scala.collection.immutable.ListMap

import org.slf4j.LoggerFactory

/**
 * What is switched off in one session, and why. A vendor's Spark, and the next one, may lack a class or a method that
 * the jar was built against, or have a node that no one knew. Whatever of ours meets that leaves the plan as it was, and
 * is switched off for the session: stock Spark plans the queries. All other errors pass.
 *
 * Before the first plan that something of ours has changed is handed on, [[Links]] is asked whether what runs outside of
 * our rules, on the driver and in tasks, will find all that it links to. Where it will not, everything is off.
 *
 * By session: another one may have other extensions, whose nodes are the unknown ones. This class and [[Links]] refer to
 * nothing of Spark's.
 */
final class Guard private {
  import Guard._

  /** What has failed, by its name. */
  @volatile private var failures = ListMap.empty[String, String]

  /** What is switched off and why, a sentence each. */
  def switchedOff: Seq[String] =
    (refusal.map("all that range joins need" -> _) ++ failures).toSeq.map { case (what, why) =>
      s"$what $SwitchedOff: $why; $Remedy"
    }

  /** Why something is off; None where it is not. */
  def whyOff(part: Part): Option[String] =
    refusal.orElse((part.name +: part.needs).flatMap(failures.get(_)).headOption)

  /**
   * The result of `body`, or `unchanged` where `body` fails on this Spark, now or before.
   *
   * @param isUnchanged whether a result changes nothing
   */
  def run[P](part: Part, isUnchanged: P => Boolean)(unchanged: => P)(body: => P): P =
    if (whyOff(part).isDefined) unchanged
    else {
      val result =
        try Some(body)
        catch {
          case error: LinkageError =>
            // One warning, where all that is missing is known.
            if (!isRefused) fail(part, error)
            None
          case error: MatchError =>
            fail(part, error)
            None
        }
      result.filter(isUnchanged(_) || !isRefused).getOrElse(unchanged)
    }

  private def fail(part: Part, error: Throwable): Unit = synchronized {
    if (!failures.contains(part.name)) {
      failures += part.name -> error.toString
      Log.warn(
        s"spark-range-join: ${part.name} $SwitchedOff, and the plan is left as it was: $error; $Remedy",
        error)
    }
  }
}

object Guard {

  /**
   * Something that can be switched off.
   *
   * @param name a class, below the package of the project
   * @param needs the names of others, without which it would leave a plan half done
   */
  final case class Part(name: String, needs: Seq[String] = Nil)

  private val Log = LoggerFactory.getLogger("org.apache.spark.sql.rangejoin.guard.Guard")

  /** Words by which `rangejoin.check` finds the sentence among other advice. */
  val SwitchedOff = "is switched off in this session"

  val Remedy = "use the jar that is built for this Spark; if it is, please report this"

  private val sessions = Collections.synchronizedMap(new WeakHashMap[AnyRef, Guard])

  /** Why nothing of ours may run in this JVM. */
  @volatile private var refusal: Option[String] = None

  /** Of a session; of all those that are not known where that is null. */
  def of(session: AnyRef): Guard =
    sessions.computeIfAbsent(Option(session).getOrElse(this), _ => new Guard)

  /** Registers rules. Where that fails some are missing, so that none may do anything. */
  def entering(register: => Unit): Unit =
    try register
    catch { case error: LinkageError => refuse(error.toString) }

  /**
   * Whether rules can be registered, which Spark then makes where there is no guard: all that this links to is there.
   */
  def mayRegister: Boolean = {
    Links.missingAtEntry.foreach(refuse)
    refusal.isEmpty
  }

  private def isRefused: Boolean = {
    Links.missing.foreach(refuse)
    refusal.isDefined
  }

  private def refuse(why: String): Unit = synchronized {
    if (refusal.isEmpty) {
      refusal = Some(s"this Spark is not what the jar was built against: $why")
      Log.warn(s"spark-range-join: joins are planned by stock Spark, since $why; $Remedy")
    }
  }
}
