"""The arguments of commands on whole data directories: `audit`, `diff`, `reindex`, `export`, `profile`, `revive`."""

import argparse
from pathlib import Path
from typing import get_args

from kafkafs.cli.exit_codes import EXIT_USAGE
from kafkafs.cli.parser import TIME_BACK, Commands, add_tiered_key, add_topics, take_for_values, whole_number
from kafkafs.log.read_options import Isolation
from kafkafs.tables.choice import REPLICAS

_AUDIT = """Checks every batch (CRC, size, order of offsets), every entry of every index against what it points at,
transaction indexes, leader epochs, snapshots and checkpoints. Each finding is one line of JSON on standard output, a
summary follows on standard error. Each has a severity: data loss, rebuildable index (see `kafkafs reindex`), or note.
Exit code 0: clean; 1: findings; 2: the audit could not run. The padding of a growing index and the torn end of a log in
use are no findings. Nothing is changed."""


def add_audit(commands: Commands) -> None:
    """Data directories, how thorough to be, and where the findings go."""
    parser = commands.add_parser(
        "audit", help="check every batch, index and checkpoint", description=_AUDIT,
        examples=[
            "kafkafs audit /var/kafka-logs",
            "kafkafs audit /broker1/kafka /broker2/kafka --compare-replicas --report findings.jsonl",
        ],
    )  # fmt: skip
    _add_common(parser)
    _add_tier(parser)
    _add_engine(parser)
    add_topics(parser)
    _add_fail_on_data_loss(parser)
    parser.add_argument("--deep", action="store_true", help="unpack every batch and check every record in it, too")
    parser.add_argument(
        "--compare-replicas", action="store_true",
        help="compare the replicas in several brokers' directories, and name the first offset at which they differ",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the findings there, not to standard output")
    parser.set_defaults(failed=EXIT_USAGE)  # 1: findings


_DIFF = """Compares two clusters, or two copies of one. Prints each record that only one of them has as a line of JSON.
Records of a partition are paired by offset. They are equal if key, value, headers and timestamp are equal. Several
directories on a side are one cluster. Exit code 0: equal; 1: different; 2: something could not be compared, which
standard error names."""


def add_diff(commands: Commands) -> None:
    """The directories of both sides, which topics, and how records are paired."""
    parser = commands.add_parser(
        "diff", help="print the records that only one of two clusters has", description=_DIFF,
        examples=[
            "kafkafs diff /broker1/kafka --against /broker2/kafka",
            "kafkafs diff /before/kafka --against /restored/kafka --stat --topics orders",
        ],
    )  # fmt: skip
    _add_common(parser)
    parser.add_argument(
        "--against",
        nargs="+",
        required=True,
        metavar="DATA_DIR",
        help="the other side: log.dirs of one broker or several",
    )
    _add_engine(parser)
    add_topics(parser)
    parser.add_argument(
        "--by", choices=("offset", "content"), default="offset",
        help="pair records by partition and offset, or by content in any partition and at any offset, as for a mirrored"
        " topic (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--stat", action="store_true", help="print counts, a line for each partition, and no records")
    parser.set_defaults(failed=EXIT_USAGE)  # 1: different


_REINDEX = """Rebuilds the offset, time and transaction index of every segment, byte for byte as the broker would. The
new indexes go under another directory, which `kafkafs mount -o index_dir=` then prefers. The data directory is not
touched."""


def add_reindex(commands: Commands) -> None:
    """Data directories, where the indexes go, and which."""
    parser = commands.add_parser(
        "reindex", help="rebuild indexes beside the data", description=_REINDEX,
        examples=[
            "kafkafs reindex /var/kafka-logs --index-dir /var/lib/kafkafs/indexes",
            "kafkafs mount /var/kafka-logs /mnt/kafka -o index_dir=/var/lib/kafkafs/indexes",
        ],
    )  # fmt: skip
    _add_common(parser)
    _add_engine(parser)
    add_topics(parser)
    _add_replicas(parser)
    parser.add_argument("--index-dir", required=True, type=Path, metavar="DIR", help="the directory for the indexes")
    parser.add_argument(
        "--interval-bytes", type=whole_number, metavar="N",
        help="index.interval.bytes, log between two entries (default: each topic's own where KRaft's metadata log is in"
        " a data directory, else Kafka's 4096)",
    )  # fmt: skip
    parser.add_argument("--keys", action="store_true", help="make key indexes instead, for by-key/; only what is new")


_EXPORT = """Writes records as Parquet: OUT/topic=T/partition=P/<first offset>-<end offset>.parquet, with the
columns of Spark's Kafka source. A run that was ended is taken up by the same command, without duplicates or loss; later
it adds what is new since, unless an end was asked for."""
COMPRESSIONS = ("snappy", "zstd", "lz4", "gzip", "none")


def add_export(commands: Commands) -> None:
    """Data directories, which of their records, and what the files shall be like."""
    parser = commands.add_parser(
        "export", help="write topics as Parquet", description=_EXPORT,
        examples=[
            "kafkafs export /var/kafka-logs --to /data/parquet --topics orders --from-time -1d",
            "kafkafs export '/disk*/kafka' --to s3a://bucket/kafka --topic-pattern 'audit-.*' --value json",
            "kafkafs export /var/kafka-logs --to s3a://bucket/kafka --led-by 2",
        ],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    _add_common(parser, "*")
    _add_engine(parser)
    _add_replicas(parser)
    _add_fail_on_data_loss(parser)
    _add_tier(parser)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument(
        "--to", metavar="OUT",
        help="a new directory, or that of an earlier run: a path, or a URI as in s3a://bucket/name",
    )  # fmt: skip
    place.add_argument(
        "--compact",
        metavar="OUT",
        help="join small files of earlier runs, up to the size of their --file-mb; takes nothing else",
    )
    parser.add_argument(
        "--iceberg", metavar="NAMESPACE.TABLE",
        help="add the files to this Iceberg table, too, each once; pyiceberg's own configuration names the catalogue",
    )  # fmt: skip
    parser.add_argument(
        "--led-by", type=whole_number, metavar="N",
        help="only partitions that broker N led by the metadata: each broker's machine exports its own into one OUT",
    )  # fmt: skip
    add_topics(parser.add_mutually_exclusive_group(), "all but Kafka's internal ones")
    for side, word in (("from", "at or after"), ("to", "before")):
        limit = parser.add_mutually_exclusive_group()
        limit.add_argument(
            f"--{side}-offsets", metavar="JSON", help=f'records {word} these offsets, as in {{"t":{{"0":100,"1":200}}}}'
        )
        limit.add_argument(
            f"--{side}-time", metavar="TIME",
            help=f"{'from the first record at or after' if side == 'from' else 'up to the first record at or after'} a"
            " time: milliseconds, @seconds, ISO-8601, now, or -1h",
        )  # fmt: skip
    parser.add_argument("--isolation", choices=get_args(Isolation), default="read_uncommitted",
                        help="leave out aborted and open transactions or not (default: %(default)s)")  # fmt: skip
    parser.add_argument("--value", choices=("bytes", "json", "registry"), default="bytes",
                        help="values as they are, as objects with a type found in a first pass, or by the registry's"
                        " schemas (default: %(default)s)")  # fmt: skip
    parser.add_argument("--by", choices=("day", "hour"), default="",
                        help="partition by the date of the record, in UTC, too: topic=T/date=D/partition=P, or"
                        " topic=T/date=D/hour=H/partition=P")  # fmt: skip
    parser.add_argument("--compression", choices=COMPRESSIONS, default="snappy", help="default: %(default)s")
    parser.add_argument("--file-mb", type=whole_number, default=128, metavar="N",
                        help="log that goes into one file, in megabytes (default: %(default)s)")  # fmt: skip
    parser.set_defaults(interrupted="interrupted; the same command goes on from here")


_PROFILE = """Reads every record and writes one HTML page that needs no network, or its numbers as JSON: volume over
time, partitions by size, sizes of records and batches, codecs and their ratios, lag and disorder of timestamps, keys,
tombstones and transactions. Exit code 1: some records are damaged, and not in the numbers, which standard error
says."""


def add_profile(commands: Commands) -> None:
    """Data directories, and the files to write."""
    parser = commands.add_parser(
        "profile", help="draw the content of the logs as a web page", description=_PROFILE,
        examples=[
            "kafkafs profile /var/kafka-logs --html profile.html",
            "kafkafs profile /disk1/kafka /disk2/kafka --json profile.json",
        ],
    )  # fmt: skip
    _add_common(parser)
    _add_engine(parser)
    _add_tier(parser)
    add_topics(parser)
    _add_replicas(parser)
    _add_fail_on_data_loss(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="the page to write")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the page's numbers as data, with or without a page"
    )


_REVIVE = """Writes a data directory from which one real Kafka, broker and controller in one, starts as the cluster
that was on these disks: every record at its own offset, topics with their ids and settings, groups with their offsets,
transactions, rights, quotas, users. The disks are only read. Retention, compaction and timeouts of transactions are off
at first; docs/revive.md goes through the hour after."""


def add_revive(commands: Commands) -> None:
    """Data directories, where to write, for which Kafka, and what of it all."""
    parser = commands.add_parser(
        "revive", help="write a directory from which a real Kafka starts again", description=_REVIVE,
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
        help="only these, and Kafka's own (default: all)",
    )  # fmt: skip
    parser.add_argument("--kafka", metavar="VERSION", help="3.9, 4.3 or 4.4 (default: the newest that fits)")
    parser.add_argument("--until", metavar="TIME", help="as of a moment, as in by-time/: 2021-09-23T09:43Z, -2h")
    parser.add_argument(
        "--corrupt", choices=("refuse", "cut", "skip"), default="refuse",
        help="at damage stop, end the partition before it, or leave it out (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--include", action="append", metavar="stray,deleted",
        help="also use directories that a broker renamed to -stray or -delete, if their topic is revived",
    )  # fmt: skip
    parser.add_argument(
        "--listen", default="127.0.0.1:9092", metavar="HOST:PORT",
        help="where the broker listens; its controller one port further (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--retention", choices=("off", "as-is"), default="off",
        help="topics without a retention.ms of their own get -1, or follow the brokers (default: %(default)s)",
    )  # fmt: skip
    _add_tier(parser)
    method = parser.add_mutually_exclusive_group()
    for name, what in (
        ("copy", "copy logs"),
        ("reflink", "share their blocks with the disks, or refuse (default: share where that is possible, else copy)"),
        ("link", "make hard links of logs: takes no room, but both names are then one file"),
    ):
        method.add_argument(f"--{name}", dest="method", action="store_const", const=name, help=what)
    parser.set_defaults(interrupted="interrupted; the same command goes on where this one ended")


def _add_common(parser: argparse.ArgumentParser, how_many: str = "+") -> None:
    """The data directories, which may be globs, and `--master`."""
    parser.add_argument("data_dirs", nargs=how_many, metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    parser.add_argument(
        "--master", metavar="URL", help="where Spark runs, as in spark://host:7077 (default: local[*], in this process)"
    )
    parser.set_defaults(interrupted="interrupted")


def _add_engine(parser: argparse.ArgumentParser) -> None:
    """`--engine`, for commands that run without Spark, too."""
    parser.add_argument(
        "--engine", choices=("local", "spark"),
        help="run in processes of this machine, or on Spark; the result is the same (default: local, or spark if"
        " --master is given)",
    )  # fmt: skip


def _add_tier(parser: argparse.ArgumentParser) -> None:
    """`--tiered`, for commands that read remote segments, too."""
    parser.add_argument(
        "--tiered", default="", metavar="SOURCE",
        help="the tier that has older segments: a directory, s3://bucket/prefix, ...",
    )  # fmt: skip
    add_tiered_key(parser)


def _add_replicas(parser: argparse.ArgumentParser) -> None:
    """`--replicas`, for commands that read each partition once."""
    parser.add_argument(
        "--replicas", choices=REPLICAS, default="furthest",
        help="where several brokers' directories have a partition: read the replica that got furthest, or refuse"
        " (default: %(default)s)",
    )  # fmt: skip


def _add_fail_on_data_loss(parser: argparse.ArgumentParser) -> None:
    """`--fail-on-data-loss`, for commands that know which partitions there should be."""
    parser.add_argument(
        "--fail-on-data-loss", type=_truth, default=True, metavar="true|false",
        help="false: name the partitions that the metadata know and no DATA_DIR has, and go on (default: true)",
    )  # fmt: skip


def _truth(word: str) -> bool:
    if word.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{word!r} is neither true nor false")
    return word.lower() == "true"
