"""kafkafs mounts a Kafka data directory: a path is a query, and a read returns its result.

It needs no broker and no JVM, and it writes nothing to the data directory.

Each layer imports only those to its left:

    errors <- format <- disk <- log <- cluster, search, dump <- view <- fuse <- cli
                                       cluster, search <- spark, revive <- cli
                                       cluster, search <- overview <- spark <- cli
                                       cluster, search <- tables <- spark <- cli

`format` parses bytes and opens no files. Only `disk` opens the broker's files. `log` reads segments, partitions and
data directories. `dump` prints files. `cluster` reads Kafka's internal topics. `search` finds keys and text. `overview`
reports on whole data directories. `view` gives each name of the mount its content. `fuse` serves that content to the
kernel; only `fuse` uses `await`. `tables` makes Arrow columns from logs. `spark` runs jobs on logs in parallel.
`revive` makes a data directory from which a real Kafka broker starts. `cli` is the command line. `docs/code.md` walks
through a read, a dump, a scan and a revival.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # checkers know the name; `typing` itself takes a while to import
    from kafkafs.tables.scan import scan

__all__ = ["__version__", "scan"]
__version__: str


def __getattr__(name: str) -> object:
    """Import a public name on first use, because its import takes as long as the start of Python."""
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
