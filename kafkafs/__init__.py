"""kafkafs mounts a Kafka data directory: a path is a query, a read its answer. No broker, no JVM, nothing written.

Each layer imports only those to its left:

    errors <- format <- disk <- log <- cluster, search, dump <- view <- fuse <- cli
                                       cluster, search <- spark, revive <- cli
                                       cluster, search <- overview <- spark <- cli
                                       cluster, search <- tables <- spark <- cli

`format` turns bytes into values and opens nothing; `disk` alone opens the broker's files. `log` knows segments,
partitions and data directories. `dump` prints files, `cluster` reads Kafka's own topics, `search` finds keys and text.
`view` turns a name into content. `fuse` serves that content to the kernel; it alone awaits. `tables` makes Arrow
columns of logs. `spark` reads the same logs in parallel, `revive` writes them where a real Kafka starts again. `cli` is
what people type. `docs/code.md` walks through a read, a dump, a scan and a revival.
"""


def __getattr__(name: str) -> str:
    """`__version__` is looked up when it is asked for: that takes as long as starting Python does."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    found = globals()[name] = version("kafkafs")
    return found
