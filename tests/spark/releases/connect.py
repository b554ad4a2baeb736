"""What a client of Spark Connect does, with a server that it starts itself: `connect.py DATA REGISTERED OUT`.

Nothing is registered; client and server find kafkafs by PYTHONPATH. Prints JSON.
"""

import json
import sys

import pyspark
from pyspark.sql import SparkSession

data, registered, out = sys.argv[1:]
TOPIC = "partitions"

spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
batch = spark.read.format("kafkafs").option("path", data).option("subscribe", TOPIC).load().count()
spark.sql(
    f"CREATE TEMPORARY VIEW orders USING kafkafs OPTIONS (path '{registered}', subscribe 'orders', value 'registry')"
)
typed = [list(row) for row in spark.sql("SELECT offset, value.id, value.note FROM orders ORDER BY offset").collect()]
stream = spark.readStream.format("kafkafs").option("path", data).option("subscribe", TOPIC)
writer = stream.option("startingOffsets", "earliest").load().writeStream.format("parquet").option("path", out)
writer.option("checkpointLocation", f"{out}-checkpoint").trigger(availableNow=True).start().awaitTermination()
print(json.dumps({
    "release": pyspark.__version__, "module": type(spark).__module__, "batch": batch, "typed": typed,
    "stream": spark.read.parquet(out).count(),
}))  # fmt: skip
spark.stop()
