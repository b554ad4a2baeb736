"""The arguments that all commands on Spark share: data directories and a master."""

import argparse

from kafkafs.spark.options import REPLICAS


def add_common(parser: argparse.ArgumentParser) -> None:
    """The data directories, which may be globs, and `--master`."""
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    parser.add_argument(
        "--master", metavar="URL", help="where Spark runs, as in spark://host:7077 (default: local[*], in this process)"
    )
    parser.set_defaults(interrupted="interrupted")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """`--engine`, for commands that run without Spark, too."""
    parser.add_argument(
        "--engine", choices=("local", "spark"),
        help="run in processes of this machine, or on Spark; the report is the same (default: spark where it and Java"
        " are installed, else local)",
    )  # fmt: skip


def add_tier(parser: argparse.ArgumentParser) -> None:
    """`--tiered`, for commands that read remote segments, too."""
    parser.add_argument(
        "--tiered", default="", metavar="SOURCE",
        help="older segments lie in this tier, too: a directory, s3://bucket/prefix, ...",
    )  # fmt: skip
    parser.add_argument(
        "--tiered-key", action="append", default=[], metavar="ID:FILE",
        help="a private key (PEM) that Aiven's plug-in encrypted segments for",
    )  # fmt: skip


def add_replicas(parser: argparse.ArgumentParser) -> None:
    """`--replicas`, for commands that read each partition once."""
    parser.add_argument(
        "--replicas", choices=REPLICAS, default="furthest",
        help="where several brokers' directories have a partition: read the replica that got furthest, or refuse"
        " (default: %(default)s)",
    )  # fmt: skip
