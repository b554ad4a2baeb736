"""What a user of an older Spark does, in that release's own environment: `program.py DATA OUT ARCHIVE`.

The driver finds kafkafs in ./kafkafs-shipped of its own directory, and so do the workers that it starts to plan; the
executors, processes of their own, find it where Spark has unpacked ARCHIVE for them. Prints JSON.
"""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

data, out, archive = sys.argv[1:]
sys.path.insert(0, os.path.abspath("kafkafs-shipped"))

import pyspark  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

from kafkafs.spark import register  # noqa: E402
from kafkafs.spark.export.export_job import export  # noqa: E402
from kafkafs.spark.export.export_plan import Request  # noqa: E402
from kafkafs.spark.export.output import output  # noqa: E402
from kafkafs.spark.export.plan_store import PlanStore  # noqa: E402
from kafkafs.spark.export.settling import settle  # noqa: E402
from kafkafs.tables.choice import Choice  # noqa: E402
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt  # noqa: E402

TOPIC = "partitions"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.archives": f"{archive}#kafkafs-shipped",
    "spark.executorEnv.PYTHONPATH": "./kafkafs-shipped",
}


def stream(spark: SparkSession, name: str, trigger: dict[str, Any], **options: str) -> int:
    """How many rows a stream that ends by itself has written."""
    reader = spark.readStream.format("kafkafs").option("path", data).option("subscribe", TOPIC)
    frame = reader.option("startingOffsets", "earliest").options(**options).load()
    writer = frame.writeStream.format("parquet").option("path", f"{out}/{name}")
    writer.option("checkpointLocation", f"{out}/{name}-checkpoint").trigger(**trigger).start().awaitTermination()
    return spark.read.parquet(f"{out}/{name}").count()


def answer(question: Any) -> object:
    """The answer, or the last line of what went wrong."""
    try:
        return question()
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "kafkafs" in line or "Spark" in line]
        return [line.strip() for line in lines] or str(error)


def where(_: object) -> str:
    import kafkafs

    return os.path.realpath(kafkafs.__file__)


builder = SparkSession.builder.master("local-cluster[1,1,1024]")
with contextlib.ExitStack() as stack:
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    stack.callback(spark.stop)
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    read = spark.read.format("kafkafs").option("path", data).option("subscribe", TOPIC).load()
    whole = Request((Path(data),), Choice(topics=(TOPIC,)), AllAt(EARLIEST), AllAt(LATEST))
    place = output(f"{out}/export")
    print(json.dumps({
        "release": pyspark.__version__,
        "executors": spark.sparkContext.parallelize([0], 1).map(where).collect(),
        "batch": read.count(),
        "filtered": read.where("partition = 0 AND offset >= 5").count(),
        "export": export(spark, PlanStore(place, whole), settle(place, whole)).records,
        "once": answer(lambda: stream(spark, "once", {"once": True})),
        "now": answer(lambda: stream(spark, "now", {"availableNow": True})),
        "limited": answer(lambda: stream(spark, "limited", {"availableNow": True}, maxOffsetsPerTrigger="1000")),
        "table": answer(lambda: spark.sql(f"CREATE TABLE t USING kafkafs OPTIONS (path '{data}', subscribe '{TOPIC}')"))
    }))  # fmt: skip
