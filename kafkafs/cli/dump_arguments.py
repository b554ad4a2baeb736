"""The arguments of `kafkafs dump`: those of kafka-dump-log.sh, and more."""

from kafkafs.cli.parser import TIME_BACK, Commands, VersionAction, add_tiered_key, take_for_values, whole_number
from kafkafs.dump.dump_options import ALL_BYTES, LARGEST_MESSAGE
from kafkafs.format.names import GROUPS_TOPIC, METADATA_TOPIC, REMOTE_LOG_METADATA, SHARE_TOPIC, TRANSACTIONS_TOPIC

WINDOW = {
    "--from-offset": "the first offset",
    "--to-offset": "the first offset that is too large",
    "--from-time": "from the first record with this timestamp or a later one; written as in by-time/",
    "--to-time": "up to the first record with this timestamp or a later one; +10m: so long after --from-time",
}
TOPICS = {
    "offsets": GROUPS_TOPIC,
    "transaction-log": TRANSACTIONS_TOPIC,
    "cluster-metadata": METADATA_TOPIC,
    "remote-log-metadata": REMOTE_LOG_METADATA,
    "share-group-state": SHARE_TOPIC,
}
"""Kafka's own topics, by the flags that decode them; of several flags, the first in this order counts."""

_PATH = "-.*/"
"""A path that begins with a dash, as in `--files -topic-0/00000000000000000000.log`."""

DESCRIPTION = """Prints what kafka-dump-log.sh of Kafka 4.4.0 prints, byte for byte: of segments (.log), their indexes
(.index, .timeindex, .txnindex), producer snapshots (.snapshot) and KRaft snapshots (.checkpoint). Mismatches
between them are reported on standard error after all files."""
DECODER_HELP = "StringDecoder (the default), Long-, Integer-, Double- or ByteArrayDecoder; implies --print-data-log"


def add_dump(commands: Commands) -> None:
    """Files and directories, what to show of them, and which part."""
    parser = commands.add_parser(
        "dump", help="print segments and indexes as text", description=DESCRIPTION, allow_abbrev=False,
        examples=[
            "kafkafs dump /var/kafka-logs/test-0/00000000000000023147.log --print-data-log",
            "kafkafs dump --files /var/kafka-logs/test-0 --from-time -1h --json --deep-iteration",
        ],
    )  # fmt: skip
    take_for_values(parser, f"{TIME_BACK}|{_PATH}")
    parser.add_argument("--version", action=VersionAction)
    parser.add_argument(
        "--files", action="append", default=[], metavar="FILE[,FILE...]",
        help="the same, as kafka-dump-log.sh takes it",
    )  # fmt: skip
    parser.add_argument(
        "paths", nargs="*", default=[], metavar="FILE",
        help="files to dump; a partition's or a data directory means all files in it; s3://... of a remote tier",
    )  # fmt: skip
    parser.spread = "paths"
    flags = {
        "--deep-iteration": "show each record, not only each batch",
        "--print-data-log": "show keys and values; implies --deep-iteration",
        "--skip-record-metadata": "of a record show only its key and value, and nothing of control records",
        "--index-sanity-check": "only say whether an index passes the broker's own check",
        "--json": "a line of JSON for each batch, record (with --deep-iteration) or entry instead of text",
        "--verify-index-only": "check an index against its log without listing it",
    }
    for flag, text in flags.items():
        parser.add_argument(flag, action="store_true", help=text)
    parser.add_argument(
        "--max-bytes", type=whole_number, default=ALL_BYTES, metavar="N", help="read the first N bytes of a log only"
    )
    parser.add_argument("--max-message-size", type=whole_number, default=LARGEST_MESSAGE, metavar="N",
                        help="largest batch that an index entry may lead to (default: %(default)s)")  # fmt: skip
    add_tiered_key(parser)
    for part in ("key", "value"):
        flag = f"--{part}-decoder-class"
        parser.add_argument(flag, nargs="?", const="StringDecoder", metavar="CLASS", help=DECODER_HELP)
    window = parser.add_argument_group("a part of the logs, found through their indexes")
    for flag, text in WINDOW.items():
        window.add_argument(flag, metavar=flag.rpartition("-")[2].upper(), help=text)
    for flag, topic in TOPICS.items():
        text = f"show the records of {topic}; implies --print-data-log"
        parser.add_argument(f"--{flag}-decoder", action="store_true", help=text)
