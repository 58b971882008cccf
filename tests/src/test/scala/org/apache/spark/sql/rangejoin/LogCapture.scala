// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.util.concurrent.CopyOnWriteArrayList

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.{Level, LogManager}

/** Collects what is logged while a block runs. */
object LogCapture {

  /** Messages of the loggers below `name`, from debug level up. */
  def messages(name: String)(block: => Unit): Seq[String] = {
    val seen = new CopyOnWriteArrayList[String]()
    val appender = new AbstractAppender("capture", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = seen.add(event.getMessage.getFormattedMessage)
    }
    val logger = LogManager.getLogger(name).asInstanceOf[Logger]
    val settings = logger.getContext.getConfiguration
    val before = Option(settings.getLoggers.get(name)).map(_.getLevel)
    appender.start()
    logger.addAppender(appender)
    Configurator.setLevel(name, Level.DEBUG)
    try block
    finally {
      // A level of its own that stayed would hide what is logged below it from a later capture.
      before match {
        case Some(level) => Configurator.setLevel(name, level)
        case None        =>
          settings.removeLogger(name)
          logger.getContext.updateLoggers()
      }
      logger.removeAppender(appender)
      appender.stop()
    }
    seen.asScala.toSeq
  }
}
