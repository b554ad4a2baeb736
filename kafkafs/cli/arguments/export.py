"""The arguments of `kafkafs export`."""

from kafkafs.cli.arguments.spark import add_common, add_replicas, add_tier
from kafkafs.cli.arguments.topics import add_topics
from kafkafs.cli.parser import TIME_BACK, Commands, take_for_values, whole_number
from kafkafs.log.options import ISOLATIONS

DESCRIPTION = """Writes records as Parquet: OUT/topic=T/partition=P/<first offset>-<behind the last>.parquet, with the
columns of Spark's Kafka source. A run that was ended is taken up by the same command, without duplicates or loss; later
it adds what is new since, unless an end was asked for."""
COMPRESSIONS = ("snappy", "zstd", "lz4", "gzip", "none")


def add(commands: Commands) -> None:
    """Data directories, which of their records, and what the files shall be like."""
    parser = commands.add_parser(
        "export", help="write topics as Parquet (Spark)", description=DESCRIPTION,
        examples=[
            "kafkafs export /var/kafka-logs --to /data/parquet --topics orders --from-time -1d",
            "kafkafs export '/disk*/kafka' --to s3a://bucket/kafka --topic-pattern 'audit-.*' --value json",
        ],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    add_common(parser)
    add_replicas(parser)
    add_tier(parser)
    parser.add_argument(
        "--to",
        required=True,
        metavar="OUT",
        help="a new directory, or that of an earlier run: a path, or a URI as in s3a://bucket/name",
    )
    add_topics(parser.add_mutually_exclusive_group(), "all but Kafka's own")
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
    parser.add_argument("--isolation", choices=ISOLATIONS, default="read_uncommitted",
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
