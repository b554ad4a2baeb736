"""The arguments of `kafkafs groups`; `--describe --group G` as `kafka-consumer-groups.sh` has them."""

from kafkafs.cli.parser import Commands

DESCRIPTION = """Shows the committed offsets of all groups, or of some, their lag, and who was reading. It needs no
broker: all of it is read from the data directories. On a terminal it is a table, in a pipe each offset is a line of
JSON, as in .cluster/groups/GROUP/offsets.jsonl of a mount."""


def add(commands: Commands) -> None:
    """Data directories, groups by flag or behind them, and what is printed."""
    parser = commands.add_parser(
        "groups",
        help="show who had read how far",
        usage="%(prog)s [OPTIONS] DATA_DIR... [GROUP]",
        description=DESCRIPTION,
        examples=["kafkafs groups /var/kafka-logs", "kafkafs groups /var/kafka-logs checkout --json | jq .lag"],
    )
    parser.add_argument(
        "words", nargs="+", metavar="DATA_DIR... [GROUP]", help="log.dirs of one broker or several, and a group's name"
    )
    parser.spread = "words"
    parser.add_argument("--group", action="append", default=[], metavar="GROUP", help="a group; may be given again")
    parser.add_argument("--describe", action="store_true", help="taken, without effect: offsets are what is shown")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--table", dest="form", action="store_const", const="table", help="a table, in a pipe too")
    form.add_argument("--json", dest="form", action="store_const", const="json", help="JSON, on a terminal too")
    parser.add_argument(
        "--sort", choices=("lag", "name"),
        help="what is furthest behind first (default of the table), or by name (default of JSON)",
    )  # fmt: skip
