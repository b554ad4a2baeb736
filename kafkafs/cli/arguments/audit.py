"""The arguments of `kafkafs audit`."""

from pathlib import Path

from kafkafs.cli.arguments.spark import add_common, add_engine, add_tier
from kafkafs.cli.arguments.topics import add_topics
from kafkafs.cli.parser import Commands

DESCRIPTION = """Checks every batch (CRC, size, order of offsets), every entry of every index against what it points at,
transaction indexes, leader epochs, snapshots and checkpoints. Each finding is one line of JSON on standard output, a
summary follows on standard error. Each has a severity: data loss, rebuildable index (see `kafkafs reindex`), or note.
Exit code 0: clean; 1: findings; 2: the audit could not run. The padding of a growing index and the torn end of a log in
use are no findings. Nothing is changed."""


def add(commands: Commands) -> None:
    """Data directories, how thorough to be, and where the findings go."""
    parser = commands.add_parser(
        "audit", help="check every batch, index and checkpoint", description=DESCRIPTION,
        examples=[
            "kafkafs audit /var/kafka-logs",
            "kafkafs audit /broker1/kafka /broker2/kafka --compare-replicas --report findings.jsonl",
        ],
    )  # fmt: skip
    add_common(parser)
    add_tier(parser)
    add_engine(parser)
    add_topics(parser)
    parser.add_argument("--deep", action="store_true", help="unpack every batch and check every record in it, too")
    parser.add_argument(
        "--compare-replicas", action="store_true",
        help="hold the replicas in several brokers' directories against each other, and name where they part",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the findings there, not to standard output")
