"""The arguments of `kafkafs cat`."""

from kafkafs.cli.arguments import unmounted
from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """A data directory, and paths as below a mount point."""
    parser = unmounted.new_parser(
        commands,
        "cat",
        "print what is in a topic",
        [
            "kafkafs cat /var/kafka-logs test-0/by-offset/latest.jsonl",
            "kafkafs cat /var/kafka-logs 'test-*/by-time/-1h...jsonl' | jq .value",
        ],
    )
    unmounted.add_arguments(parser, "+")
