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

TYPE_CHECKING = False
if TYPE_CHECKING:  # checkers know the name; `typing` itself takes a while to import
    from kafkafs.tables.scan import scan

__all__ = ["__version__", "scan"]
__version__: str


def __getattr__(name: str) -> object:
    """Both names are looked up when they are asked for: that takes as long as starting Python does."""
    found: object
    if name == "__version__":
        from importlib.metadata import version

        found = version("kafkafs")
    elif name == "scan":
        found = _scan()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _scan() -> object:
    try:
        from kafkafs.tables.scan import scan
    except ImportError as error:
        from kafkafs.installation import install_command

        raise ImportError(f"kafkafs.scan takes pyarrow ({error}): {install_command('tables')}") from error
    return scan
