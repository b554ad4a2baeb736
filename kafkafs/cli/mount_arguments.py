"""The arguments of `kafkafs mount`. The end of its help explains the names in a mount."""

from pathlib import Path

from kafkafs.cli import mount_options
from kafkafs.cli.parser import Commands, add_options
from kafkafs.view import manual


def add_mount(commands: Commands) -> None:
    """Data directories, a mount point, options, and who waits for the mount to end."""
    parser = commands.add_parser(
        "mount",
        help="mount data directories",
        description="Mount one or several Kafka data directories, read-only.",
        epilog="options of -o:\n"
        + "\n".join(f"  {word.form:18} {word.meaning}" for word in mount_options.WORDS)
        + "\n\nWhat names in a mount mean (kafkafs-queries(7), and .kafkafs/README in each mount):\n\n"
        + f"{manual.plain()}\n"
        + manual.plain([manual.EXIT_CODES]).rstrip("\n"),
        examples=[
            "kafkafs mount /var/kafka-logs /mnt/kafka --background",
            "kafkafs mount /disk1/kafka /disk2/kafka /mnt/kafka -o isolation=read_committed,corrupt=skip",
        ],
    )
    parser.add_argument("data_dirs", metavar="DATA_DIR", nargs="+", type=Path, help="a broker's log.dirs entry")
    parser.add_argument("mountpoint", metavar="MOUNTPOINT", type=Path, help="an empty directory")
    add_options(parser, "options")
    parser.add_argument("--background", action="store_true", help="return when the mount answers, and serve on")
    parser.add_argument("--log-file", metavar="FILE", type=Path, help="log here (else standard error, or syslog)")
