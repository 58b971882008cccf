// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import scala.PartialFunction.cond
import scala.util.control.NonFatal

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetReadSupport}
import org.apache.spark.sql.execution.datasources.{PartitionedFile, WriteFilesExec}
import org.apache.spark.sql.execution.{FileSourceScanExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.shims.BinaryStrings
import org.apache.spark.sql.rangejoin.shims.JavaCollections.Converters._
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.types._
import org.apache.spark.sql.{
  SPARK_LEGACY_DATETIME_METADATA_KEY,
  SPARK_LEGACY_INT96_METADATA_KEY,
  SPARK_VERSION_METADATA_KEY
}
import org.apache.spark.util.SerializableConfiguration

import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.statistics.{IntStatistics, LongStatistics, Statistics}
import org.apache.parquet.format.converter.ParquetMetadataConverter.{
  MetadataFilter,
  NO_FILTER,
  SKIP_ROW_GROUPS
}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimeUnit, TimestampLogicalTypeAnnotation}
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

/**
 * Whether reading a Parquet file gives its rows in the order in which they were sorted when it was
 * written, by what its footer says:
 *
 *   - Days and times written in Spark 2's calendar: some early ones, before the last change of calendar or time zone,
 *     are read as other values, in another order.
 *   - Timestamps cut to milliseconds: values that differed are equal now, so the columns after them are in no order.
 *   - Strings: they were sorted by the collation that the column had when the file was written.
 *
 * Reads the footer of each file, in the task that is about to read the file. A footer that cannot be read counts as out
 * of order; the scan will report what is wrong.
 *
 * @param columns what the files are to be in order by
 * @param resolver whether a name of a column is that of a field of a file
 */
private[sortedtables] final class WrittenOrder(
    columns: Seq[WrittenOrder.Column],
    resolver: Resolver,
    hadoopConf: Broadcast[SerializableConfiguration]
) extends Serializable {
  import WrittenOrder._

  def isKept(file: PartitionedFile): Boolean =
    try {
      val footer = read(file, SKIP_ROW_GROUPS)
      val isLegacy = mayBeLegacy(footer)
      columns.zipWithIndex.forall { case (column, i) =>
        val isLast = i == columns.size - 1
        val isNamed = resolver(column.name, _: String)
        (!column.isString || keepsStrings(footer, isNamed)) &&
        (!column.isTime || keepsTimes(footer, isNamed, isLegacy, isLast, file))
      }
    } catch { case NonFatal(_) => false }

  private def read(file: PartitionedFile, filter: MetadataFilter): ParquetMetadata = {
    val conf = hadoopConf.value.value
    // The length is known, which saves a request.
    val status =
      new FileStatus(file.fileSize, false, 0, 0, file.modificationTime, file.toPath)
    val options =
      HadoopReadOptions.builder(conf, file.toPath).withMetadataFilter(filter).build()
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(status, conf), options)
    try reader.getFooter
    finally reader.close()
  }

  private def keepsTimes(
      footer: ParquetMetadata,
      isNamed: String => Boolean,
      isLegacy: Boolean,
      isLast: Boolean,
      file: PartitionedFile
  ): Boolean =
    footer.getFileMetaData.getSchema.getFields.asScala.find(f => isNamed(f.getName)) match {
      case Some(time: PrimitiveType) =>
        (isLast || !isCut(time)) && (!isLegacy || time.getPrimitiveTypeName != INT96 &&
          isAfterChanges(read(file, NO_FILTER), isNamed))
      // A column that the file does not have is one value.
      case other => other.isEmpty
    }
}

private[sortedtables] object WrittenOrder {

  /** A column of the files, and what its values may be. */
  case class Column(name: String, isTime: Boolean, isString: Boolean)

  /**
   * What to check in the footers of a scan's files before relying on their first `columns` sort columns; None if the
   * files are not Parquet, or the writer's settings affect none of these.
   */
  def of(scan: FileSourceScanExec, columns: Int): Option[WrittenOrder] = {
    val relation = scan.relation
    val sorted = relation.bucketSpec.toSeq.flatMap(_.sortColumnNames).take(columns)
      .flatMap(name => scan.output.find(_.name == name))
      .map(column => Column(column.name, isTime(column.dataType), mayBeCollated(column.dataType)))
    if (relation.fileFormat.isInstanceOf[ParquetFileFormat] &&
      sorted.exists(column => column.isTime || column.isString)) {
      val session = relation.sparkSession
      val conf = session.sessionState.newHadoopConfWithOptions(relation.options)
      Some(new WrittenOrder(
        sorted,
        session.sessionState.conf.resolver,
        session.sparkContext.broadcast(new SerializableConfiguration(conf))))
    } else None
  }

  /** Days and times, which a writer may have put into another calendar or unit. */
  def isTime(dataType: DataType): Boolean =
    cond(dataType) { case DateType | TimestampType | TimestampNTZType => true }

  private def mayBeCollated(dataType: DataType): Boolean =
    BinaryStrings.haveCollations && dataType.existsRecursively(_.isInstanceOf[StringType])

  /** As Spark reads it: by the version that has written the file, and in which mode. */
  private def mayBeLegacy(footer: ParquetMetadata): Boolean = {
    val said = footer.getFileMetaData.getKeyValueMetaData
    Option(said.get(SPARK_VERSION_METADATA_KEY)).forall(_ < FirstCorrected) ||
    said.containsKey(SPARK_LEGACY_DATETIME_METADATA_KEY) ||
    said.containsKey(SPARK_LEGACY_INT96_METADATA_KEY)
  }

  /** From this version of Spark on, a writer says where it puts values into the old calendar. */
  private val FirstCorrected = "3.1.0"

  private def isCut(time: PrimitiveType): Boolean = cond(time.getLogicalTypeAnnotation) {
    case timestamp: TimestampLogicalTypeAnnotation => timestamp.getUnit == TimeUnit.MILLIS
  }

  /** Whether all values of a file are late enough for both calendars, and all zones, to agree. */
  private def isAfterChanges(footer: ParquetMetadata, isNamed: String => Boolean): Boolean =
    footer.getBlocks.asScala.forall { block =>
      block.getColumns.asScala.filter(column => isNamed(column.getPath.toDotString))
        .forall { chunk =>
          val values: Statistics[_] = chunk.getStatistics
          values != null && cond(values) {
            case _ if values.getNumNulls == chunk.getValueCount => true
            case _ if !values.hasNonNullValue                   => false
            case days: IntStatistics                            =>
              days.getMin > RebaseDateTime.lastSwitchJulianDay
            case times: LongStatistics if isCut(chunk.getPrimitiveType) =>
              times.getMin > RebaseDateTime.lastSwitchJulianTs / 1000
            case times: LongStatistics => times.getMin > RebaseDateTime.lastSwitchJulianTs
          }
        }
    }

  /** Whether the strings of a column had no collation when they were written. */
  private def keepsStrings(footer: ParquetMetadata, isNamed: String => Boolean): Boolean = {
    val schema =
      footer.getFileMetaData.getKeyValueMetaData.get(ParquetReadSupport.SPARK_METADATA_KEY)
    schema == null || !schema.contains(CollationsInJson) || cond(DataType.fromJson(schema)) {
      case StructType(fields) =>
        fields.find(field => isNamed(field.name))
          .forall(!_.dataType.existsRecursively(SortedFiles.isCollated))
    }
  }

  /** What the JSON of a schema contains if any of its columns has a collation. */
  private val CollationsInJson = "__COLLATIONS"
}

/**
 * Uses the sort of range joins for what is written to a table that is bucketed by keys and sorted by several columns.
 * Spark sorts by (partition, bucket, keys, range) with a prefix of the first column only, and compares rows by all
 * others. The rows of each file, and their order, are the same.
 */
object SortPreparedWrites extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.SortedTables)) plan
    else plan.transformUp {
      case write: WriteFilesExec if write.bucketSpec.exists(_.sortColumnNames.size > 1) =>
        write.withNewChildren(Seq(sorted(write.child)))
    }

  private def sorted(plan: SparkPlan): SparkPlan = plan match {
    case SortExec(order, false, child, _) => RangeSortExec.sort(order, child)
    case other                            => other
  }
}
