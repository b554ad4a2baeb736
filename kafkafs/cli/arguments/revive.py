"""The arguments of `kafkafs revive`."""

from pathlib import Path

from kafkafs.cli.parser import TIME_BACK, Commands, take_for_values, whole_number

DESCRIPTION = """Writes a data directory from which one real Kafka, broker and controller in one, starts as the cluster
that was on these disks: every record at its own offset, topics with their ids and settings, groups with their offsets,
transactions, rights, quotas, users. The disks are only read. Retention, compaction and timeouts of transactions are off
at first; docs/revive.md goes through the hour after."""


def add(commands: Commands) -> None:
    """Data directories, where to write, for which Kafka, and what of it all."""
    parser = commands.add_parser(
        "revive", help="write a directory from which a real Kafka starts again", description=DESCRIPTION,
        examples=[
            "kafkafs revive /mnt/disk1 /mnt/disk2 --to /srv/revived --plan | jq .revived",
            "kafkafs revive /mnt/disk1 /mnt/disk2 --to /srv/revived --corrupt skip",
        ],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    parser.add_argument("data_dirs", nargs="+", type=Path, metavar="DATA_DIR", help="log.dirs of one broker or several")
    parser.add_argument("--to", required=True, type=Path, metavar="NEW_DIR", help="an empty or missing directory")
    parser.add_argument("--plan", action="store_true", help="print as JSON what would be done, and write nothing")
    parser.add_argument(
        "--node-id", type=whole_number, metavar="N", help="of the new node (default: that of the first DATA_DIR)"
    )
    parser.add_argument(
        "--topics", "--topic", action="append", metavar="TOPIC[,TOPIC...]",
        help="these alone, and Kafka's own (default: all)",
    )  # fmt: skip
    parser.add_argument("--kafka", metavar="VERSION", help="3.9, 4.3 or 4.4 (default: the newest that fits)")
    parser.add_argument("--until", metavar="TIME", help="as of a moment, as in by-time/: 2021-09-23T09:43Z, -2h")
    parser.add_argument(
        "--corrupt", choices=("refuse", "cut", "skip"), default="refuse",
        help="at damage stop, end the partition before it, or leave it out (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--listen", default="127.0.0.1:9092", metavar="HOST:PORT",
        help="where the broker listens; its controller one port further (default: %(default)s)",
    )  # fmt: skip
    method = parser.add_mutually_exclusive_group()
    for name, what in (
        ("copy", "copy logs"),
        ("reflink", "share their blocks with the disks, or refuse (default: share where that is possible, else copy)"),
        ("link", "make hard links of logs: takes no room, but both names are then one file"),
    ):
        method.add_argument(f"--{name}", dest="method", action="store_const", const=name, help=what)
    parser.set_defaults(interrupted="interrupted; the same command goes on where this one ended")
