"""Rows of a test as a DataFrame, without a Python process that hands each row back to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.serializers import AutoBatchedSerializer, CPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_frame(spark: SparkSession, rows: Sequence[Any], kind: StructType | str) -> DataFrame:
    """What ``spark.createDataFrame(rows, kind)`` returns, unchecked: a tenth of the tests' time was spent in its Python processes.

    It sends the rows through such a process only to make pickled batches of them; as they come from here they are pickled batches.
    """
    if isinstance(kind, str):
        kind = StructType.fromDDL(kind)
    context = spark.sparkContext
    pickled: Any = context.parallelize([kind.toInternal(row) for row in rows])
    pickled._jrdd_deserializer = AutoBatchedSerializer(CPickleSerializer())
    java: Any = context._jvm
    batches = java.SerDeUtil.toJavaArray(pickled._to_java_object_rdd())
    session: Any = spark._jsparkSession
    return DataFrame(session.applySchemaToPythonRDD(batches.rdd(), kind.json()), spark)
