"""kafkafs mounts a Kafka data directory: a path is a query, a read its answer. No broker, no JVM, nothing written.

Each layer imports only those to its left:

    errors <- format <- log <- view <- fuse <- cli
                         ^                      |
                       spark <------------------+

`format` turns bytes into values and opens nothing. `log` opens the broker's files and knows segments, partitions and
data directories. `view` turns a name into content. `fuse` serves that content to the kernel; it alone awaits. `spark`
reads the same logs in parallel. `cli` is what people type.
"""


def __getattr__(name: str) -> str:
    """`__version__` is looked up when it is asked for: that takes as long as starting Python does."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    found = globals()[name] = version("kafkafs")
    return found
