"""The arguments of `kafkafs help`."""

from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """A command's name, or none."""
    parser = commands.add_parser(
        "help", help="show how a command is used",
        description="Shows how a command is used, or which commands there are.",
        examples=["kafkafs help", "kafkafs help mount"],
    )  # fmt: skip
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command (default: all of them, in short)")
