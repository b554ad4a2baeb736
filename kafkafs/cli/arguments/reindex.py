"""The arguments of `kafkafs reindex`."""

from pathlib import Path

from kafkafs.cli.arguments.spark import add_common, add_engine, add_replicas
from kafkafs.cli.arguments.topics import add_topics
from kafkafs.cli.parser import Commands, whole_number

DESCRIPTION = """Builds the offset, time and transaction index of every segment anew, byte for byte what the broker
writes when it rebuilds its own, and puts them under another directory, which `kafkafs mount -o index_dir=` then
prefers. The data directory is not touched."""


def add(commands: Commands) -> None:
    """Data directories, where the indexes go, and which."""
    parser = commands.add_parser(
        "reindex", help="rebuild indexes beside the data", description=DESCRIPTION,
        examples=[
            "kafkafs reindex /var/kafka-logs --index-dir /var/lib/kafkafs/indexes",
            "kafkafs mount /var/kafka-logs /mnt/kafka -o index_dir=/var/lib/kafkafs/indexes",
        ],
    )  # fmt: skip
    add_common(parser)
    add_engine(parser)
    add_topics(parser)
    add_replicas(parser)
    parser.add_argument("--index-dir", required=True, type=Path, metavar="DIR", help="where the indexes are put")
    parser.add_argument(
        "--interval-bytes", type=whole_number, metavar="N",
        help="index.interval.bytes, log between two entries (default: each topic's own where KRaft's metadata log is in"
        " the data directory, else Kafka's 4096)",
    )  # fmt: skip
    parser.add_argument("--keys", action="store_true", help="make key indexes instead, for by-key/; only what is new")
