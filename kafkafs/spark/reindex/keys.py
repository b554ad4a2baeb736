"""Key indexes of whole data directories: `D/<partition directory>/<identity>.keys`, one for each closed segment.

A second run makes those of new segments only, and takes away those of segments that are gone or compacted.
Layout: `format.key_index`, docs/key-index.md.
"""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkafs.errors import DiskError
from kafkafs.format.key_index import KEY_PAGE, SUFFIX, Identity, parse_header
from kafkafs.log.topics import ALL_TOPICS, TopicChoice
from kafkafs.search.key_indexes import build, identity, offsets_of
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.options import Replicas
from kafkafs.spark.reindex.job import segments_to_index, write_index
from kafkafs.spark.segments import SegmentSnapshot, SegmentUnit

_UNFINISHED_S = 3600.0
"""After which a file that was never finished is no other run's any more."""


@dataclass(frozen=True, slots=True)
class MadeKeys:
    """The key index of one segment: directory and name; `written` is in bytes, 0 where it was there already."""

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
    for directory in {unit.partition_directory for unit in units}:
        for file in (target / directory).glob("*" + SUFFIX):
            if (directory, file.name) not in kept:
                _remove(file)
        for file in (target / directory).glob(f"*{SUFFIX}.*.tmp"):
            if time.time() - file.stat().st_mtime > _UNFINISHED_S:
                _remove(file)
    return found


def make_keys(unit: SegmentUnit, target: Path) -> MadeKeys | None:
    """The key index of one segment, written unless it is there; None for a segment that has none."""

    def question(snapshot: SegmentSnapshot) -> MadeKeys | None:
        """Looks before it writes whether the segment still is what was read: a file in its place is believed later."""
        if snapshot.segment.next_base is None:
            return None
        own = identity(snapshot.segment)
        place = target / unit.partition_directory / own.file_name
        if _is_there(place, own, offsets_of(snapshot.segment)):
            return MadeKeys(unit.partition_directory, own.file_name, 0)
        content = build(snapshot.log, snapshot.segment, own, snapshot.partition.transactions)
        if content is None:
            return None
        snapshot.check()
        write_index(place, content)
        return MadeKeys(unit.partition_directory, own.file_name, len(content))

    return unit.ask(question)


def _is_there(place: Path, own: Identity, offsets: int) -> bool:
    try:
        with open(place, "rb") as file:
            header = parse_header(file.read(KEY_PAGE))
            is_own = header is not None and header.identity == own and header.rows <= offsets
            return is_own and header is not None and place.stat().st_size == header.size
    except OSError:
        return False


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise DiskError(f"{str(file)!r} cannot be removed: {error.strerror}") from error
