// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.util.jar.{JarEntry, JarOutputStream}

import org.apache.commons.io.{FileUtils, IOUtils}

/** Objects of the tests, in a jar of their own. */
private object QueriesJar {

  def write(directory: File, objects: Seq[Class[_]]): File = {
    val jar = new File(directory, "queries.jar")
    val out = new JarOutputStream(FileUtils.openOutputStream(jar))
    try for (of <- objects; name <- Seq(of.getName, of.getName.stripSuffix("$"))) {
        val entry = name.replace('.', '/') + ".class"
        val in = of.getClassLoader.getResourceAsStream(entry)
        try {
          out.putNextEntry(new JarEntry(entry))
          IOUtils.copy(in, out)
          out.closeEntry()
        } finally in.close()
      }
    finally out.close()
    jar
  }
}
