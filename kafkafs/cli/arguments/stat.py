"""The arguments of `kafkafs stat`."""

from kafkafs.cli.arguments import unmounted
from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """A data directory, and paths as below a mount point."""
    parser = unmounted.new_parser(
        commands,
        "stat",
        "show size, owner, time and extended attributes",
        ["kafkafs stat /var/kafka-logs test-0/by-offset/23400", "kafkafs stat /var/kafka-logs 'test-0/by-time/*'"],
    )
    unmounted.add_arguments(parser, "+")
