"""The arguments of `kafkafs ls`: those of ls(1) that count here."""

from kafkafs.cli.arguments import unmounted
from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """A data directory, paths as below a mount point, and how to list them."""
    parser = unmounted.new_parser(
        commands,
        "ls",
        "list partitions and views",
        ["kafkafs ls /var/kafka-logs", "kafkafs ls -l /var/kafka-logs test-0/by-time"],
    )
    parser.add_argument("-l", dest="long", action="store_true", help="a line each: mode, owner, size, time")
    parser.add_argument("-a", dest="all", action="store_true", help="names that begin with a dot, too")
    parser.add_argument("-d", dest="directory", action="store_true", help="directories themselves, not what they hold")
    unmounted.add_arguments(parser, "*")
