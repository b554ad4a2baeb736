"""The arguments of the commands that answer at once: `ls`, `cat`, `stat`, `grep`, `groups`, `du`, `triage`, `umount`,
`demo` and `help`.

`ls`, `stat` and `grep` have those flags of the programs of that name that count here; `groups` takes what
`kafka-consumer-groups.sh` does, `--describe --group G`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafkafs.cli.exit_codes import EXIT_USAGE
from kafkafs.cli.parser import TIME_BACK, Commands, Parser, add_options, add_topics, take_for_values, whole_number


def add_ls(commands: Commands) -> None:
    """A data directory, paths as below a mount point, and how to list them."""
    parser = _view_parser(
        commands,
        "ls",
        "list partitions and views",
        ["kafkafs ls /var/kafka-logs", "kafkafs ls -lh /var/kafka-logs test-0/by-time"],
        conflict_handler="resolve",  # -h is ls(1)'s; alone it shows the help
    )
    flags = {
        ("-l", "long"): "a line each: mode, owner, size, time",
        ("-1", "single"): "one name a line, on a terminal, too",
        ("-a", "all"): "names that begin with a dot, too",
        ("-d", "directory"): "directories themselves, not their entries",
        ("-R", "recursive"): "the entries of directories, and of the directories in them",
        ("-r", "reverse"): "in reverse order",
    }
    for (flag, name), meaning in flags.items():
        parser.add_argument(flag, dest=name, action="store_true", help=meaning)
    parser.add_argument(
        "-h", "--human-readable", dest="human", action="store_true", help="with -l: sizes like 1K, 234M"
    )
    parser.add_argument("-t", dest="order", action="store_const", const="time", help="the newest first")
    parser.add_argument("-S", dest="order", action="store_const", const="size", help="the largest first")
    parser.add_argument("--time-style", metavar="STYLE", default="locale",
                        help="with -l: full-iso, long-iso, iso, locale, or +FORMAT as of date(1)")  # fmt: skip
    _add_paths(parser, "*")


def add_cat(commands: Commands) -> None:
    """A data directory, and paths as below a mount point."""
    parser = _view_parser(
        commands,
        "cat",
        "print what is in a topic",
        [
            "kafkafs cat /var/kafka-logs test-0/by-offset/latest.jsonl",
            "kafkafs cat /var/kafka-logs '.topics/test/*/by-time/-1h...jsonl' | jq .value",
        ],
    )
    _add_paths(parser, "+")


def add_stat(commands: Commands) -> None:
    """A data directory, and paths as below a mount point."""
    parser = _view_parser(
        commands,
        "stat",
        "show size, owner, time and extended attributes",
        ["kafkafs stat /var/kafka-logs test-0/by-offset/23400", "kafkafs stat /var/kafka-logs 'test-0/by-time/*'"],
    )
    _add_paths(parser, "+")


def _view_parser(commands: Commands, name: str, what: str, examples: Sequence[str], **more: Any) -> Parser:
    """A command's parser, with examples below its help."""
    return commands.add_parser(
        name,
        help=f"{what}, without a mount",
        description=f"{what[0].upper()}{what[1:]}, as `{name}` does below a mount point. No mount is needed.",
        examples=examples,
        **more,
    )


def _add_paths(parser: Parser, paths: str) -> None:
    """Data directories, paths within (`+` or `*` of them) and the options of a mount that are about reading."""
    parser.add_argument("data_dirs", metavar="DATA_DIR[,DATA_DIR...]", help="a broker's log.dirs")
    within = "as below a mount point; patterns fit listed names"
    parser.add_argument("paths", metavar="PATH", nargs=paths, default=[], help=within)  # else `*` is called required
    add_options(parser, "as of mount")
    parser.spread = "paths"


_GREP = """Prints the records that have PATTERN in their key or value as lines of JSON, those of a partition in
the order of their offsets. PATTERN is a regular expression as Python has them (., [a-z], (?i), ...), text where a field
is valid UTF-8, else bytes. Exit code 0: found; 1: not found; 2: something could not be read, which standard error names
at the end, or the usage is wrong."""


def add_grep(commands: Commands) -> None:
    """A pattern, where to look for it, and what to print."""
    parser = commands.add_parser(
        "grep", help="search records", description=_GREP,
        examples=[
            "kafkafs grep -F customer-17 /var/kafka-logs",
            "kafkafs grep -l --everywhere -F customer-17 /var/kafka-logs",
        ],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    parser.add_argument("pattern", metavar="PATTERN", help="what is looked for")
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-F", "--fixed-strings", action="store_true", help="PATTERN is a string, not an expression")
    kind.add_argument("-E", "--extended-regexp", action="store_true", help="PATTERN is an expression (the default)")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="take letters of either case for each other")
    parser.add_argument(
        "-w", "--word-regexp", action="store_true", help="only where no letter, digit or _ is beside a match"
    )
    ignored = "taken, without effect: whole directories are searched, and lines have offsets"
    parser.add_argument("-r", "-R", "-n", "--recursive", "--line-number", action="store_true", help=ignored)
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
    add_options(part, "tiered=SOURCE and what belongs to it, as of mount: in remote segments, too")
    part.add_argument(
        "--everywhere", action="store_true",
        help="every file with records by its path: deleted partitions and segments, all replicas, below the log start",
    )  # fmt: skip
    part.add_argument("--from-offset", metavar="OFFSET", help="the first offset")
    part.add_argument("--to-offset", metavar="OFFSET", help="the first offset that is too large")
    part.add_argument("--from-time", metavar="TIME", help="from the first record at or after this; as in by-time/")
    part.add_argument(
        "--to-time", metavar="TIME", help="up to the first record at or after this; +10m: so long after --from-time"
    )
    parser.add_argument("--decoded", action="store_true", help="search and print values as .decoded.jsonl shows them")
    parser.set_defaults(failed=EXIT_USAGE)  # 1: not found


_GROUPS = """Shows the committed offsets of all groups, or of some, their lag, and who was reading. It needs no
broker: all of it is read from the data directories. On a terminal it is a table, in a pipe each offset is a line of
JSON, as in .cluster/groups/GROUP/offsets.jsonl of a mount."""


def add_groups(commands: Commands) -> None:
    """Data directories, groups by flag or behind them, and what is printed."""
    parser = commands.add_parser(
        "groups",
        help="show who had read how far",
        usage="%(prog)s [OPTIONS] DATA_DIR... [GROUP]",
        description=_GROUPS,
        examples=[
            "kafkafs groups --sort behind /var/kafka-logs",
            "kafkafs groups --history --group checkout /var/kafka-logs | jq 'select(.change < 0)'",
        ],
    )
    parser.add_argument(
        "words", nargs="+", metavar="DATA_DIR... [GROUP]", help="log.dirs of one broker or several, and a group's name"
    )
    parser.spread = "words"
    parser.add_argument("--group", action="append", default=[], metavar="GROUP", help="a group; may be given again")
    parser.add_argument("--describe", action="store_true", help="accepted, without effect: offsets are always shown")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--table", dest="form", action="store_const", const="table", help="a table, in a pipe too")
    form.add_argument("--json", dest="form", action="store_const", const="json", help="JSON, on a terminal too")
    parser.add_argument(
        "--sort", choices=("lag", "behind", "name"),
        help="furthest behind first, in records (default of the table) or in time, or by name (default of JSON)",
    )  # fmt: skip
    parser.add_argument("--topic", metavar="TOPIC", help="only what is about this topic")
    parser.add_argument(
        "--history", action="store_true", help="each remaining record about one group, even a deleted one, in order"
    )


_DU = """Shows what fills the disk: each topic, the largest first, then leftovers and the total. DELETABLE is what a
broker would delete of it by retention, KEPT BY says why the rest stays. No log is read, but the cluster's metadata and,
after a crash, the last bytes of each log. Exit code 1: something could not be read and is missing; 2: wrong usage."""


def add_du(commands: Commands) -> None:
    """Data directories, the moment and the settings that are asked about, and what is printed."""
    parser = commands.add_parser(
        "du", help="show what fills the disk, and what a broker will delete", description=_DU,
        examples=["kafkafs du /var/kafka-logs", "kafkafs du --set test.retention.ms=3600000 /var/kafka-logs"],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    parser.add_argument("--json", action="store_true", help="print lines of JSON, in bytes and milliseconds")
    parser.add_argument("--partitions", action="store_true", help="a row for each partition, not for each topic")
    parser.add_argument(
        "--deep", action="store_true", help="read all logs, and show the bytes of keys, values, headers and framing"
    )
    parser.add_argument("--at", metavar="TIME", help="what a broker would delete then; as in by-time/ (default: now)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="TOPIC.CONFIG=VALUE",
        help="as if the topic had this setting, such as orders.retention.ms=3600000; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--server-properties", metavar="FILE", help="the broker's own file, for what topics and metadata do not set"
    )


_TRIAGE = """Shows on one screen what matters in the first minute after an outage: brokers and cluster, topics and what
is missing of them, the newest record, damage, groups furthest behind, open transactions, the tier, and the disk. Below
each is the command that tells more. Exit code 0: nothing is wrong; 1: something is missing or damaged; 2: something
could not be read, which standard error names, or the usage is wrong."""


def add_triage(commands: Commands) -> None:
    """Data directories, and the form of what is printed."""
    parser = commands.add_parser(
        "triage", help="the first minute after an outage, on one screen", description=_TRIAGE,
        examples=["kafkafs triage /var/kafka-logs", "kafkafs triage --json /var/kafka-logs | jq .damage"],
    )  # fmt: skip
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    parser.add_argument("--json", action="store_true", help="print one object of JSON, in bytes and milliseconds")
    parser.set_defaults(failed=EXIT_USAGE)  # 1: something is wrong


def add_umount(commands: Commands) -> None:
    """The mount point."""
    parser = commands.add_parser(
        "umount", aliases=["unmount"], help="end a mount", description="End a mount, a stale one too.",
        examples=["kafkafs umount /mnt/kafka", "kafkafs unmount /mnt/kafka"],
    )  # fmt: skip
    parser.add_argument("mountpoint", metavar="MOUNTPOINT", type=Path, help="where it is mounted")


def add_demo(commands: Commands) -> None:
    """Add the arguments of `demo`: only whether the sample stays mounted."""
    parser = commands.add_parser(
        "demo",
        help="see it work",
        description="Mount a bundled sample and walk through it.",
        examples=["kafkafs demo", "kafkafs demo --keep"],
    )
    parser.add_argument("--keep", action="store_true", help="leave the sample mounted, to try things on")


def add_help(commands: Commands) -> None:
    """A command's name, or none."""
    parser = commands.add_parser(
        "help", help="show how a command is used",
        description="Shows how a command is used, or which commands there are.",
        examples=["kafkafs help", "kafkafs help mount"],
    )  # fmt: skip
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command (default: all of them, in short)")
