"""The arguments of `kafkafs grep`: those of grep(1) where it has them."""

from kafkafs.cli.arguments.topics import add_topics
from kafkafs.cli.parser import TIME_BACK, Commands, take_for_values, whole_number

DESCRIPTION = """Prints the records that have PATTERN in their key or value as lines of JSON, those of a partition in
the order of their offsets. PATTERN is a regular expression as Python has them (., [a-z], (?i), ...), text where a field
is valid UTF-8, else bytes. Exit code 0: found; 1: not found; 2: something could not be read, which standard error names
at the end, or was asked wrongly."""


def add(commands: Commands) -> None:
    """A pattern, where to look for it, and what to print."""
    parser = commands.add_parser(
        "grep", help="search records", description=DESCRIPTION,
        examples=["kafkafs grep -F customer-17 /var/kafka-logs", "kafkafs grep -c --topics test . /var/kafka-logs"],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    parser.add_argument("pattern", metavar="PATTERN", help="what is looked for")
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-F", "--fixed-strings", action="store_true", help="PATTERN is a string, no expression")
    kind.add_argument("-E", "--extended-regexp", action="store_true", help="PATTERN is an expression (the default)")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="take letters of either case for each other")
    parser.add_argument("-v", "--invert-match", action="store_true", help="print records without PATTERN")
    parser.add_argument("-c", "--count", action="store_true", help="print TOPIC-PARTITION:COUNT, no records")
    parser.add_argument("-l", "--files-with-matches", action="store_true", help="print TOPIC-PARTITION, no records")
    parser.add_argument(
        "-m", "--max-count", type=whole_number, metavar="N", help="stop after N records of each partition"
    )
    fields = parser.add_argument_group("where PATTERN is looked for (default: keys and values)")
    fields.add_argument("--key", action="store_true", help="in keys")
    fields.add_argument("--value", action="store_true", help="in values")
    fields.add_argument("--header", action="append", default=[], metavar="NAME", help="in the headers of that name")
    part = parser.add_argument_group("what is searched")
    add_topics(part)
    part.add_argument(
        "-o", dest="options", metavar="OPT[,OPT...]", action="append", default=[],
        help="tiered=SOURCE and what belongs to it, as of mount: in remote segments, too",
    )  # fmt: skip
    part.add_argument("--from-offset", metavar="OFFSET", help="the first offset")
    part.add_argument("--to-offset", metavar="OFFSET", help="the first offset that is too large")
    part.add_argument("--from-time", metavar="TIME", help="from the first record at or after this; as in by-time/")
    part.add_argument("--to-time", metavar="TIME", help="up to the first record at or after this")
    parser.add_argument("--decoded", action="store_true", help="search and print values as .decoded.jsonl shows them")
