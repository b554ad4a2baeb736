"""`spark.read.format("kafkafs")` and `USING kafkafs` without a call: Spark looks for packages called `pyspark_*`.

It does so for any source in Python, whoever asks: where an import fails here, it fails for all others. Source:
`lookup_data_sources` of Spark 4.0 and later.
"""

from contextlib import suppress

with suppress(ImportError):  # without pyarrow there is no source, and none in Python works
    from kafkafs.spark.source import KafkafsDataSource as DefaultSource

__all__ = ["DefaultSource"]
