"""The arguments of `kafkafs ls`: those of ls(1) that count here."""

from kafkafs.cli.arguments import unmounted
from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """A data directory, paths as below a mount point, and how to list them."""
    parser = unmounted.new_parser(
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
        ("-d", "directory"): "directories themselves, not what they hold",
        ("-R", "recursive"): "what directories hold, and what those in them hold",
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
    unmounted.add_arguments(parser, "*")
