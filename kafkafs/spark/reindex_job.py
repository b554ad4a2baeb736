"""Rebuilt indexes of whole data directories, written under one directory: `D/<partition directory>/<the same names>`.

Each file is written beside its place and renamed, so that readers of D find whole files only. With `--keys` it is a key
index for each closed segment, `<identity>.keys`: a second time it makes those of new segments only, and takes away
those of segments that are gone or compacted. Layout: `format.key_index`, docs/key-index.md.
"""

import functools
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafkafs.cluster.image import TOPIC_RESOURCE
from kafkafs.cluster.metadata import read_once
from kafkafs.disk.whereabouts import is_within
from kafkafs.errors import Denied, DiskError, KafkafsError, NotFound, UsageError
from kafkafs.format.key_index import KEY_PAGE, SUFFIX, Identity, parse_fences, parse_header, parse_page
from kafkafs.format.names import METADATA_LOG, parse_partition_name, segment_file
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.look import Look
from kafkafs.log.outcomes import Tracker
from kafkafs.log.producer_snapshots import newest_open
from kafkafs.log.rebuilding import DEFAULT_INTERVAL, Indexes, Rebuilding, follow
from kafkafs.log.replicas import furthest
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.search.key_indexes import COMMITTED, build, identity, offsets_of
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.segment_units import SegmentLook, SegmentUnit, live_segments, segments_of
from kafkafs.tables.choice import Replicas
from kafkafs.tables.locations import data_directory

Intervals = Mapping[Path, Mapping[str, int]]
"""index.interval.bytes of topics that have their own, by data directory."""


@dataclass(frozen=True, slots=True)
class RebuiltIndexes:
    """The result of one segment: how many entries, and how many bytes at its end are not valid."""

    entries: int
    written: int
    invalid: int


def reindex(
    engine: Engine,
    data_directories: Sequence[Path],
    target: Path,
    interval: int | None = None,
    progress: Progress = no_progress,
    replicas: Replicas = "furthest",
    topics: TopicChoice = ALL_TOPICS,
) -> list[RebuiltIndexes]:
    """Makes the indexes of all segments; without an `interval` with each topic's own, where the data tell it.

    The replica that got furthest counts: the index directory has a place for one of them.
    """
    own = _intervals(data_directories) if interval is None else {}
    default = DEFAULT_INTERVAL if interval is None else interval
    task = partial(make, target=target, intervals=own, default=default)
    return jobs.run(engine, "reindex", segments_to_index(data_directories, replicas, topics), task, progress)


def _intervals(paths: Iterable[Path]) -> Intervals:
    """For each data directory, its own metadata log counts. If it has none, the furthest of the others counts: a broker
    has it in one of its `log.dirs`."""
    directories = [data_directory(path) for path in paths]
    logs = {each.path: each.partition(METADATA_LOG) for each in directories if METADATA_LOG in each.names()}
    best = furthest([*logs.values()])
    own = {each.path: topic_intervals(each) for each in directories if each.path in logs}
    others = next((own[path] for path, partition in logs.items() if partition is best), {})
    return {each.path: own.get(each.path, others) for each in directories}


def check_target(target: Path, data_directories: Sequence[Path]) -> None:
    """Makes the index directory. UsageError if it would be written into the data, or cannot be made."""
    for path in data_directories:
        if is_within(target, path):
            raise UsageError(f"the index directory {str(target)!r} is inside {str(path)!r}, where nothing is written")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the index directory {str(target)!r} cannot be made: {error.strerror}") from error


def segments_to_index(
    paths: Sequence[Path], replicas: Replicas = "furthest", topics: TopicChoice = ALL_TOPICS
) -> list[SegmentUnit]:
    """Those of each partition's one replica, and of what is marked as deleted, future or stray."""
    named = ((unit, parse_partition_name(unit.partition_directory)) for unit in segments_of(paths, topics))
    marked = [unit for unit, name in named if name is not None and name.mark]
    return [*live_segments(paths, replicas, topics), *marked]


def make(unit: SegmentUnit, target: Path, intervals: Intervals, default: int = DEFAULT_INTERVAL) -> RebuiltIndexes:
    """The indexes of one segment, written. One that the broker deletes meanwhile needs none."""
    name = parse_partition_name(unit.partition_directory)
    interval = intervals.get(unit.data_directory, {}).get(name.topic if name else "", default)
    found = unit.ask(lambda look: (rebuild(look, interval), _end(look)))
    if found is None:
        return RebuiltIndexes(0, 0, 0)
    made, end = found
    place = target / unit.partition_directory
    contents = {"index": made.offset_index, "timeindex": made.time_index, "txnindex": made.transaction_index}
    for kind, content in contents.items():
        write_index(place / segment_file(unit.base_offset, kind), content, keep=kind != "txnindex" or bool(content))
    written = sum(map(len, contents.values()))
    return RebuiltIndexes(len(made.offset_index) // 8 + len(made.time_index) // 12, written, end - made.valid_end)


def _end(look: SegmentLook) -> int:
    """Return the offset that valid batches should reach. The rest of a swap file is in the next segment, too."""
    return look.log.walk_end(look.segment) if look.segment.overlaps_next else look.size


def write_index(place: Path, content: bytes, *, keep: bool = True) -> None:
    """Puts a whole file in its place, or takes away what is there."""
    unfinished = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        if not keep:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(place)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise DiskError(f"{str(place)!r} cannot be written: {error.strerror}") from error


_SETTING = "index.interval.bytes"


def topic_intervals(directory: DataDirectory) -> dict[str, int]:
    """The `index.interval.bytes` of each topic that has its own, as KRaft's metadata log and its snapshots tell; none
    without KRaft, or where its log cannot be read."""
    image = None
    with suppress(KafkafsError):
        image = read_once(directory.partition(METADATA_LOG), directory.options).image
    found: dict[str, int] = {}
    for (kind, name), settings in image.configs.items() if image is not None else ():
        value = settings.get(_SETTING, "")
        if kind == TOPIC_RESOURCE and value.isascii() and value.isdigit():
            found[name] = int(value)
    return found


def rebuild(look: SegmentLook, interval: int) -> Indexes:
    """The indexes of one segment, as LogSegment.recover makes them: up to the first batch that is not valid."""
    rebuilding = Rebuilding(look.segment.base_offset, interval, tracker_at(look))
    for run in _valid(look.runs()):
        if rebuilding.add(run) is not run:
            break
    return rebuilding.finish()


def _valid(runs: Iterable[BatchRun | Damage]) -> Iterator[BatchRun]:
    """The entries up to the first damage."""
    for run in runs:
        if isinstance(run, Damage):
            return
        yield run


def tracker_at(look: SegmentLook) -> Tracker:
    """The transactions that are open where the segment begins: of the newest snapshot before it, and what follows."""
    segments = look.log.segments
    number = [segment.base_offset for segment in segments].index(look.segment.base_offset)
    begun, known = newest_open(segments, number)
    transactions = Tracker(known)
    for earlier in segments[begun:number]:
        for run in _valid(look.of(earlier)):
            follow(run, transactions)
    return transactions


_UNFINISHED_S = 3600.0
"""After which a file that was never finished is nobody's any more."""


@dataclass(frozen=True, slots=True)
class MadeKeys:
    """The key index of one segment: directory and name; `written` is in bytes, 0 if it was there already."""

    partition_directory: str
    name: str
    written: int


def reindex_keys(
    engine: Engine,
    data_directories: Sequence[Path],
    target: Path,
    progress: Progress = no_progress,
    replicas: Replicas = "furthest",
    topics: TopicChoice = ALL_TOPICS,
) -> list[MadeKeys]:
    """Makes the key indexes that are not there yet; those that serve no segment any more go."""
    units = segments_to_index(data_directories, replicas, topics)
    task = functools.partial(make_keys, target=target)
    found = [each for each in jobs.run(engine, "reindex", units, task, progress) if each is not None]
    kept = {(each.partition_directory, each.name) for each in found}
    for directory in {unit.partition_directory for unit in units if _is_here(unit)}:
        for file in (target / directory).glob("*" + SUFFIX):
            if (directory, file.name) not in kept:
                _remove(file)
        for file in (target / directory).glob(f"*{SUFFIX}.*.tmp"):
            if time.time() - file.stat().st_mtime > _UNFINISHED_S:
                _remove(file)
    return found


def _is_here(unit: SegmentUnit) -> bool:
    """True if the partition is still there. The indexes of a deleted one may be those of another data directory."""
    try:
        data_directory(unit.data_directory).root.stat(unit.partition_directory)
    except (NotFound, Denied):
        return False
    return True


def make_keys(unit: SegmentUnit, target: Path) -> MadeKeys | None:
    """The key index of one segment, written unless it is there; None for a segment that has none."""

    def question(look: SegmentLook) -> MadeKeys | None:
        """Looks before it writes whether the segment still is what was read: a file in its place is believed later."""
        if look.segment.next_base is None:
            return None
        own = identity(look.segment)
        place = target / unit.partition_directory / own.file_name
        if is_there(place, own, offsets_of(look.segment)):
            return MadeKeys(unit.partition_directory, own.file_name, 0)
        content = build(Look(look.log, COMMITTED, look.partition.transactions), look.segment, own)
        if content is None:
            return None
        look.check()
        write_index(place, content)
        return MadeKeys(unit.partition_directory, own.file_name, len(content))

    return unit.ask(question)


def is_there(place: Path, own: Identity, offsets: int) -> bool:
    """True if the whole index is sound. Otherwise lookups would scan around a damaged page for good."""
    try:
        if not place.is_file():  # a FIFO would be waited for
            return False
        with open(place, "rb") as file:
            header = parse_header(file.read(KEY_PAGE))
            if header is None or not header.is_of(own, offsets, place.stat().st_size):
                return False
            pages = (parse_page(file.read(KEY_PAGE)) for _ in range(header.pages))
            return all(page is not None for page in pages) and parse_fences(file.read(), header) is not None
    except OSError:
        return False


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise DiskError(f"{str(file)!r} cannot be removed: {error.strerror}") from error
