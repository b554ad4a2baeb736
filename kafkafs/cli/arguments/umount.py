"""The arguments of `kafkafs umount`; `unmount` is the same command."""

from pathlib import Path

from kafkafs.cli.parser import Commands


def add(commands: Commands) -> None:
    """The mount point."""
    parser = commands.add_parser(
        "umount", aliases=["unmount"], help="end a mount", description="End a mount, a stale one too.",
        examples=["kafkafs umount /mnt/kafka", "kafkafs unmount /mnt/kafka"],
    )  # fmt: skip
    parser.add_argument("mountpoint", metavar="MOUNTPOINT", type=Path, help="where it is mounted")
