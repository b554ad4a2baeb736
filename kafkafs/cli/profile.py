"""`kafkafs profile`: what is in data directories, as one page of pictures, on Spark."""

import argparse
import sys
from pathlib import Path

from kafkafs.cli.parser import Commands
from kafkafs.cli.spark_arguments import add_common, add_replicas, data_directories, file_to_write
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.errors import UsageError

DESCRIPTION = """Reads every record and writes one HTML page that needs no network: volume over time, partitions by
size, sizes of records and batches, codecs and their ratios, lag and disorder of timestamps, keys, tombstones and
transactions."""


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "profile", help="draw what is in there as a web page (Spark)", description=DESCRIPTION,
        examples=[
            "kafkafs profile /var/kafka-logs --html profile.html",
            "kafkafs profile /disk1/kafka /disk2/kafka --html profile.html",
        ],
    )  # fmt: skip
    add_common(parser)
    add_replicas(parser)
    parser.add_argument("--html", required=True, type=Path, metavar="FILE", help="the page to write")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with SparkProgress("profile") as progress:
        paths = data_directories(arguments.data_dirs)
        place = file_to_write(arguments.html, paths)
        from kafkafs.spark.session import session

        with session(arguments.master, "profile", progress.starting) as spark:
            from kafkafs.spark.profile.job import profile
            from kafkafs.spark.profile.page import page

            numbers = profile(spark, paths, progress, arguments.replicas)
    try:
        place.write_text(page(numbers, [str(path) for path in paths]))
    except OSError as error:
        raise UsageError(f"{str(place)!r} cannot be written: {error.strerror}") from error
    records = sum(each.records for each in numbers.values())
    print(f"{records:,} records of {len(numbers):,} partitions in {place}", file=sys.stderr)
    return 0
