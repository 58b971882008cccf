addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.5.6")
addSbtPlugin("pl.project13.scala" % "sbt-jmh" % "0.4.8")
addSbtPlugin("com.github.sbt" % "sbt-sbom" % "0.5.0")
libraryDependencies += "org.ow2.asm" % "asm" % "9.7.1"
