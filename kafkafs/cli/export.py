"""`kafkafs export`: topics to Parquet."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kafkafs.cli.exit_codes import say
from kafkafs.cli.spark_command import SparkProgress, engine, named_directories, progress_of
from kafkafs.cli.window import times
from kafkafs.disk.data_paths import is_in_copy
from kafkafs.disk.whereabouts import is_within
from kafkafs.errors import CorruptData, UsageError
from kafkafs.format.times import FromEnd, Time
from kafkafs.log.read_options import TierSource
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.spark.export.claims import claimed
from kafkafs.spark.export.compacting import compact, finish
from kafkafs.spark.export.export_job import Exported, export
from kafkafs.spark.export.export_plan import PLAN, Request
from kafkafs.spark.export.iceberg import Committed, IcebergTable
from kafkafs.spark.export.led_job import export_led
from kafkafs.spark.export.output import Output, output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.tables.choice import Choice
from kafkafs.tables.led import led_by
from kafkafs.tables.locations import data_directories
from kafkafs.tables.missing import unknown
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Limit, Specific, Timestamps, check_order, parse_offsets
from kafkafs.view.ownership import mode_of_copies


def run(arguments: argparse.Namespace) -> int:
    """Writes what is not written yet, and says how much that was; 0, since all else is an error."""
    if arguments.compact is not None:
        return run_compaction(arguments)
    with progress_of(arguments, "export") as progress, _with_advice():
        request = request_of(arguments)
        topics = TopicChoice.parse(arguments.topics, arguments.topic_pattern)
        mode = mode_of_copies(data_directories(request.paths), topics.takes)
        out = replace(output(arguments.to), mode=mode)
        for path in request.paths:
            if is_in_copy(out.uri, path) or (out.local is not None and is_within(out.local, path)):
                raise UsageError(f"{str(out)!r} is inside {str(path)!r}, where nothing is written")
        if request.led_by is None:
            done, warnings, added = _whole(arguments, request, out, progress)
        else:
            done, warnings, added = _led(arguments, request, out, progress)
    for sentence in (*warnings, *unknown(request.paths, request.tiered)):
        say(sentence)
    again = "" if done.written == done.files else f" ({done.files - done.written:,} of them from an earlier run)"
    print(f"{done.records:,} records in {done.files:,} files{again}, {done.size / 1e6:,.1f} MB of Parquet in {out}",
          file=sys.stderr)  # fmt: skip
    if added is not None:
        print(f"{added.records:,} records in {added.files:,} files are new in the table {arguments.iceberg}",
              file=sys.stderr)  # fmt: skip
    if done.as_bytes:
        print(f"{done.as_bytes:,} values do not fit their topic's columns: see valueBytes", file=sys.stderr)
    if done.without_time:
        print(f"{done.without_time:,} records have a null timestamp: theirs is beyond what a column can hold",
              file=sys.stderr)  # fmt: skip
    return 0


@contextmanager
def _with_advice() -> Iterator[None]:
    """Add to an error about a damaged batch what to do: no option of an export leaves records out."""
    try:
        yield
    except CorruptData as error:
        raise CorruptData(
            f"{error}; `kafkafs audit` names its offsets, and --to-offsets and --from-offsets export those around them"
        ) from error


def _whole(
    arguments: argparse.Namespace, request: Request, out: Output, progress: SparkProgress
) -> tuple[Exported, list[str], Committed | None]:
    """All partitions: the result, sentences about it, and what a table got of it."""
    with claimed(out) as claim:
        store = PlanStore(out, request, claim.check)
        finish(out)
        settled = settle(out, request)
        table = IcebergTable(arguments.iceberg) if arguments.iceberg else None
        if table is not None:
            table.check(settled)
        with engine(arguments, progress) as where:
            done = export(where, store, settled, progress)
        return done, settled.gone, table.commit(store, settled) if table else None


def _led(
    arguments: argparse.Namespace, request: Request, out: Output, progress: SparkProgress
) -> tuple[Exported, list[str], None]:
    """The partitions of one leader."""
    if arguments.iceberg:
        raise UsageError(
            "--led-by writes files alone: leave out --iceberg, or export from one place that sees all disks"
        )
    assert request.led_by is not None
    led = led_by(request.led_by, request)
    if not led.locations:
        none = f"broker {request.led_by} led none of the chosen partitions"
        return Exported(0, 0, 0, 0), [*led.warnings, none], None
    with claimed(out, in_parts=True) as claim, engine(arguments, progress) as where:
        result = export_led(where, out, request, led, claim, progress)
    return result.done, result.warnings, None


def request_of(arguments: argparse.Namespace) -> Request:
    """The export that the arguments ask for. UsageError if they contradict each other."""
    if not arguments.data_dirs:
        raise UsageError("name a data directory to export, one of log.dirs")
    paths = named_directories(arguments.data_dirs)
    if arguments.file_mb <= 0:
        raise UsageError("--file-mb must be positive")
    topics = TopicChoice.parse(arguments.topics, arguments.topic_pattern)
    choice = Choice(
        topics=tuple(sorted(topics.names)),
        pattern="" if topics.names else ".*" if topics.pattern is None else rf"\A(?:{topics.pattern})\Z",
    )
    return Request(
        paths, choice, *limits_of(arguments), arguments.isolation, arguments.replicas,
        TierSource.parse(arguments.tiered, arguments.tiered_key), arguments.fail_on_data_loss,
        value=arguments.value, compression=arguments.compression, file_bytes=arguments.file_mb << 20,
        window=(arguments.from_offsets or arguments.from_time or "", arguments.to_offsets or arguments.to_time or ""),
        by=arguments.by, led_by=arguments.led_by, for_iceberg=bool(arguments.iceberg),
    )  # fmt: skip


def limits_of(arguments: argparse.Namespace) -> tuple[Limit, Limit]:
    """The start and the end of the export. UsageError if the start is behind the end."""
    from_time, to_time = times(arguments.from_time, arguments.to_time)
    found = _limit(arguments, "from", from_time, EARLIEST), _limit(arguments, "to", to_time, LATEST)
    check_order(*found)
    return found


def _limit(arguments: argparse.Namespace, side: str, moment: Time | None, otherwise: int) -> Limit:
    offsets = getattr(arguments, f"{side}_offsets")
    if offsets is not None:
        try:
            return Specific(parse_offsets(offsets))
        except UsageError as error:
            raise UsageError(f"--{side}-offsets: {error}") from error
    if moment is None:
        return AllAt(otherwise)
    if isinstance(moment, FromEnd):
        word = getattr(arguments, f"{side}_time")
        raise UsageError(
            f"--{side}-time {word!r} counts back from a partition's newest record: name a date, now or -1h"
        )
    return Timestamps(moment, "latest") if moment > 0 else AllAt(EARLIEST)  # as in a range of by-time/


def run_compaction(arguments: argparse.Namespace) -> int:
    """Puts small files together, and says how many there were."""
    from kafkafs.cli.parser import build  # it imports the modules of all commands

    alone = vars(build(["export"]).parse_args(["export", "--compact", arguments.compact]))
    others = sorted(name for name, value in vars(arguments).items() if alone.get(name) != value)
    if others:
        raise UsageError(f"--compact takes nothing else: leave out {', '.join(map(_typed, others))}")
    out = output(arguments.compact)
    out.check()
    if out.local is not None and (out.local / PLAN).exists():
        out = replace(out, mode=(out.local / PLAN).stat().st_mode & 0o666)
    with SparkProgress("compact", "looking") as progress, claimed(out) as claim:
        done = compact(out, progress, claim.check)
    print(f"{done.rows:,} records of {done.before:,} files are in {done.after:,} files now, in {out}", file=sys.stderr)
    return 0


def _typed(name: str) -> str:
    """An argument as the usage writes it."""
    return "DATA_DIR" if name == "data_dirs" else f"--{name.replace('_', '-')}"
