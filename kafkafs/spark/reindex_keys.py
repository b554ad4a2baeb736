"""`reindex --keys`: a key index for each closed segment, `<identity>.keys`, beside the indexes of `reindex_job`.

A second time it makes those of new segments only, and takes away those of segments that are gone or compacted. Layout:
`format.key_index`, docs/key-index.md.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafkafs.errors import Denied, DiskError, NotFound
from kafkafs.format.key_index import KEY_PAGE, SUFFIX, Identity, parse_fences, parse_header, parse_page
from kafkafs.log.look import Look
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.search.key_indexes import COMMITTED, build, identity, offsets_of
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.reindex_job import segments_to_index, write_index
from kafkafs.spark.segment_units import SegmentLook, SegmentUnit
from kafkafs.tables.choice import Replicas
from kafkafs.tables.locations import data_directory

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
    task = partial(make_keys, target=target)
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
