"""`kafkafs reindex`: rebuilt indexes beside the data, for `mount -o index_dir=`, on Spark."""

import argparse
import sys
from pathlib import Path

from kafkafs.cli.parser import Commands
from kafkafs.cli.spark_arguments import add_common, add_replicas, data_directories
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.errors import UsageError

DESCRIPTION = """Builds the offset, time and transaction index of every segment anew, byte for byte what the broker
writes when it rebuilds its own, and puts them under another directory, which `kafkafs mount -o index_dir=` then
prefers. The data directory is not touched."""


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "reindex", help="rebuild indexes beside the data (Spark)", description=DESCRIPTION,
        examples=[
            "kafkafs reindex /var/kafka-logs --index-dir /var/lib/kafkafs/indexes",
            "kafkafs mount /var/kafka-logs /mnt/kafka -o index_dir=/var/lib/kafkafs/indexes",
        ],
    )  # fmt: skip
    add_common(parser)
    add_replicas(parser)
    parser.add_argument("--index-dir", required=True, type=Path, metavar="DIR", help="where the indexes are put")
    parser.add_argument(
        "--interval-bytes", type=int, metavar="N",
        help="index.interval.bytes, log between two entries (default: each topic's own where KRaft's metadata log is in"
        " the data directory, else Kafka's 4096)",
    )  # fmt: skip
    parser.add_argument("--keys", action="store_true", help="make key indexes instead, for by-key/; only what is new")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with SparkProgress("reindex") as progress:
        paths = data_directories(arguments.data_dirs)
        if arguments.interval_bytes is not None and arguments.interval_bytes < 0:
            raise UsageError("--interval-bytes must not be negative")
        from kafkafs.spark.reindex.job import check_target, reindex
        from kafkafs.spark.session import session

        target = arguments.index_dir.absolute()
        check_target(target, paths)
        with session(arguments.master, "reindex", progress.starting) as spark:
            if arguments.keys:
                from kafkafs.spark.reindex.keys import reindex_keys

                keys = reindex_keys(spark, paths, target, progress, arguments.replicas)
                new = [each.written for each in keys if each.written]
                print(f"{len(keys):,} key indexes, {len(new):,} of them new, in {target}", file=sys.stderr)
                return 0
            made = reindex(spark, paths, target, arguments.interval_bytes, progress, arguments.replicas)
    invalid = [each.invalid for each in made if each.invalid]
    print(
        f"{len(made):,} segments, {sum(each.entries for each in made):,} entries,"
        f" {sum(each.written for each in made):,} bytes in {target}", file=sys.stderr
    )  # fmt: skip
    if invalid:
        told = f"{len(invalid):,} segments have {sum(invalid):,} bytes that are not valid: see kafkafs audit"
        print(told, file=sys.stderr)
    return 0
