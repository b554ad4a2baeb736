"""The arguments of `kafkafs demo`."""

from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """Nothing but whether the sample stays mounted."""
    parser = commands.add_parser(
        "demo",
        help="see it work",
        description="Mount a bundled sample and walk through it.",
        examples=["kafkafs demo", "kafkafs demo --keep"],
    )
    parser.add_argument("--keep", action="store_true", help="leave the sample mounted, to try things on")
