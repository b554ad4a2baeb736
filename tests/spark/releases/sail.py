"""What a client of Sail does, with a server in this process: `sail.py DATA`. Nothing is registered. Prints JSON."""

import json
import sys

from pysail.spark import SparkConnectServer  # type: ignore[import-not-found]
from pyspark.sql import DataFrame, SparkSession

(data,) = sys.argv[1:]
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
address, port = server.listening_address
spark = SparkSession.builder.remote(f"sc://{address}:{port}").getOrCreate()


def read(**options: str) -> DataFrame:
    return spark.read.format("kafkafs").options(path=data, **options).load()


def refusal() -> str:
    try:
        return str(read(subscribe="nowhere").count())
    except Exception as error:
        return str(error)


orders = read(subscribe="orders", includeHeaders="true").orderBy("partition", "offset")
rows = [
    (row.partition, row.offset, row.value and row.value.decode("latin-1"), [each.key for each in row.headers or ()])
    for row in orders.collect()
]
items = read(subscribe="orders", value="json").where("value.amount > 2").selectExpr("value.item").collect()
found = {"count": orders.count(), "rows": rows, "items": sorted(row[0] for row in items), "refused": refusal()}
print(json.dumps(found))
spark.stop()
server.stop()
