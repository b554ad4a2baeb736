"""The arguments of `kafkafs groups`."""

from kafkafs.cli.parser import Commands

DESCRIPTION = """Shows the committed offsets of all groups, or of one, their lag, and who was reading. It needs no
broker: all of it is read from the data directories. In a pipe each offset is a line of JSON,
as in .cluster/groups/GROUP/offsets.jsonl of a mount."""


def add(commands: Commands) -> None:
    """Data directories, and a group's name behind them."""
    parser = commands.add_parser(
        "groups",
        help="show who had read how far",
        usage="%(prog)s [-h] DATA_DIR... [GROUP]",
        description=DESCRIPTION,
        examples=["kafkafs groups /var/kafka-logs", "kafkafs groups /var/kafka-logs checkout | jq .lag"],
    )
    parser.add_argument(
        "words", nargs="+", metavar="DATA_DIR... [GROUP]", help="log.dirs of one broker or several, and a group's name"
    )
