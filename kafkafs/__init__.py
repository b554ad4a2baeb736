"""kafkafs mounts a Kafka data directory: a path is a query, a read its answer. No broker, no JVM, nothing written.

Each layer imports only those to its left:

    errors <- format <- log <- view <- fuse <- cli
                         ^                      |
                       spark <------------------+

`format` turns bytes into values and opens nothing. `log` opens the broker's files and knows segments, partitions and
data directories. `view` turns a name into content. `fuse` serves that content to the kernel; it alone awaits. `spark`
reads the same logs in parallel. `cli` is what people type.
"""

from importlib.metadata import version

__version__ = version("kafkafs")
