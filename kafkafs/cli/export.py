"""`kafkafs export`: topics to Parquet, on Spark."""

import argparse
import re
import sys
import time
from typing import TYPE_CHECKING

from kafkafs.cli.parser import TIME_BACK, Commands, take_for_values
from kafkafs.cli.spark_arguments import add_common, add_replicas, data_directories
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.errors import UsageError
from kafkafs.log.options import ISOLATIONS
from kafkafs.spark.offsets import EARLIEST, LATEST, AllAt, Limit, Specific, Timestamps, parse_offsets
from kafkafs.spark.options import Choice
from kafkafs.view.times import parse_time_ms

if TYPE_CHECKING:
    from kafkafs.spark.export.plan import Request

DESCRIPTION = """Writes records as Parquet: OUT/topic=T/partition=P/<first offset>-<behind the last>.parquet, with the
columns of Spark's Kafka source. A run that was ended is taken up by the same command, without duplicates or loss; later
it adds what is new since, unless an end was asked for."""
COMPRESSIONS = ("snappy", "zstd", "lz4", "gzip", "none")


def add(commands: Commands) -> None:
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
    parser.add_argument(
        "--to",
        required=True,
        metavar="OUT",
        help="a new directory, or that of an earlier run: a path, or a URI as in s3a://bucket/name",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--topics", metavar="T[,T...]", help="the topics (default: all but Kafka's own)")
    which.add_argument("--topic-pattern", metavar="REGEX", help="the topics whose whole name matches")
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
    parser.add_argument("--compression", choices=COMPRESSIONS, default="snappy", help="default: %(default)s")
    parser.add_argument("--file-mb", type=int, default=128, metavar="N",
                        help="log that goes into one file, in megabytes (default: %(default)s)")  # fmt: skip
    parser.set_defaults(run=run, interrupted="interrupted; the same command goes on from here")


def run(arguments: argparse.Namespace) -> int:
    with SparkProgress("export") as progress:
        request = _request(arguments)
        from kafkafs.spark.export.output import output
        from kafkafs.spark.export.plan import settle
        from kafkafs.spark.session import session

        out = output(arguments.to)
        for path in request.paths:
            if out.local is not None and out.local.resolve().is_relative_to(path.resolve()):
                raise UsageError(f"{str(out)!r} lies inside {str(path)!r}, where nothing is written")
        settled = settle(out, request)
        with session(arguments.master, "export", progress.starting) as spark:
            from kafkafs.spark.export.job import export

            done = export(spark, out, request, settled, progress)
    for sentence in settled.gone:
        print(f"kafkafs: {sentence}", file=sys.stderr)
    again = "" if done.written == done.files else f" ({done.files - done.written:,} of them from an earlier run)"
    print(f"{done.records:,} records in {done.files:,} files{again}, {done.size / 1e6:,.1f} MB of Parquet in {out}",
          file=sys.stderr)  # fmt: skip
    if done.as_bytes:
        print(f"{done.as_bytes:,} values do not fit their topic's columns: see valueBytes", file=sys.stderr)
    return 0


def _request(arguments: argparse.Namespace) -> "Request":
    paths = data_directories(arguments.data_dirs)
    if arguments.file_mb <= 0:
        raise UsageError("--file-mb must be positive")
    from kafkafs.spark.export.plan import Request

    if arguments.topics is not None:
        topics = tuple(sorted({word.strip() for word in arguments.topics.split(",") if word.strip()}))
        if not topics:
            raise UsageError("--topics names no topic")
        choice = Choice(topics=topics)
    else:
        choice = Choice(pattern=_pattern(arguments.topic_pattern))
    return Request(
        paths, choice, _limit(arguments, "from", EARLIEST), _limit(arguments, "to", LATEST), arguments.isolation,
        arguments.value, arguments.compression, arguments.file_mb << 20, arguments.replicas,
        (arguments.from_offsets or arguments.from_time or "", arguments.to_offsets or arguments.to_time or ""),
    )  # fmt: skip


def _pattern(text: str | None) -> str:
    if text is None:
        return ".*"
    try:
        re.compile(text)
    except re.error as error:
        raise UsageError(f"--topic-pattern {text!r} is malformed: {error}") from error
    return rf"\A(?:{text})\Z"


def _limit(arguments: argparse.Namespace, side: str, otherwise: int) -> Limit:
    offsets, moment = getattr(arguments, f"{side}_offsets"), getattr(arguments, f"{side}_time")
    if offsets is not None:
        return Specific(parse_offsets(offsets))
    if moment is None:
        return AllAt(otherwise)
    milliseconds = parse_time_ms(moment, time.time_ns() // 1_000_000)
    if milliseconds is None:
        raise UsageError(f"--{side}-time {moment!r} is no time; write milliseconds, @seconds, ISO-8601, now, -1h")
    return Timestamps(milliseconds, "latest") if milliseconds > 0 else AllAt(EARLIEST)  # as in a range of by-time/
