"""The arguments of `kafkafs profile`."""

from pathlib import Path

from kafkafs.cli.arguments.spark import add_common, add_replicas, add_tier
from kafkafs.cli.arguments.topics import add_topics
from kafkafs.cli.parser import Commands

DESCRIPTION = """Reads every record and writes one HTML page that needs no network: volume over time, partitions by
size, sizes of records and batches, codecs and their ratios, lag and disorder of timestamps, keys, tombstones and
transactions."""


def add(commands: Commands) -> None:
    """Data directories, and the page to write."""
    parser = commands.add_parser(
        "profile", help="draw what is in there as a web page (Spark)", description=DESCRIPTION,
        examples=[
            "kafkafs profile /var/kafka-logs --html profile.html",
            "kafkafs profile /disk1/kafka /disk2/kafka --html profile.html",
        ],
    )  # fmt: skip
    add_common(parser)
    add_tier(parser)
    add_topics(parser)
    add_replicas(parser)
    parser.add_argument("--html", required=True, type=Path, metavar="FILE", help="the page to write")
