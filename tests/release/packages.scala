val flag = "spark.sql.join.smj.useInnerRangeOptimization"
val sides = Seq("l", "r").map(side => s"(SELECT id, id % 7 AS k FROM range(1000)) AS $side").mkString(" JOIN ")
val query = s"SELECT l.id, r.id FROM $sides ON l.k = r.k AND r.id BETWEEN l.id - 20 AND l.id + 20"
def answer(on: Boolean) = { spark.conf.set(flag, on); val joined = spark.sql(query); (joined.collect().map(_.toString).sorted.toSeq, joined.queryExecution.executedPlan.toString.contains("SortMergeRangeJoin")) }
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
val (ranged, isRanged) = answer(true)
val (stock, isStockRanged) = answer(false)
println(s"REPORT rows ${ranged.size} equal ${ranged == stock} ranged $isRanged $isStockRanged")
