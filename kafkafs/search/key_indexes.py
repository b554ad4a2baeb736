"""The key indexes of one partition, in the directory that `-o index_dir=` names, found by each segment's identity.

An index counts for a segment only if the log is the one that it was made of: its size, and a fingerprint of four
samples of it. Batches there have checksums and timestamps, so another log differs in them. What is damaged, or of
another log, is as good as absent.
"""

import logging
from contextlib import suppress
from typing import NamedTuple

from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.directory import Directory
from kafkafs.errors import Denied, DiskError, Exhausted, NotFound, Vanished
from kafkafs.format.kernels import crc32c
from kafkafs.format.key_index import KEY_PAGE, SAMPLE, SUFFIX, Identity, parse_fences, parse_header, sample_positions
from kafkafs.log.segment import Segment
from kafkafs.search.key_table import KeyTable

logger = logging.getLogger(__name__)

_FRESH_S = 1.0
"""For how long the names in the directory count as those of now."""

_UNREADABLE = (NotFound, Denied, DiskError, Vanished, Exhausted)


def identity(segment: Segment) -> Identity:
    """What the index of the segment is called by; reads 16 KiB of its log. Vanished where the log was changed."""
    file = segment.log()
    size = file.size
    samples = b"".join(file.read(position, min(SAMPLE, size)) for position in sample_positions(size))
    segment.check(file)
    return Identity(segment.base_offset, size, crc32c(samples))


class _Files(NamedTuple):
    """What the directory has: inodes by name, and of which base offsets there may be an index."""

    names: dict[str, int]
    bases: frozenset[int]


class KeyIndexes:
    """See the module. Nothing is opened before the first question."""

    def __init__(self, directory: Directory, partition: str) -> None:
        self._directory = directory
        self._partition = partition
        self._files: CachedValue[_Files] = CachedValue(_FRESH_S, directory.options.clock)

    def table(self, segment: Segment) -> KeyTable | None:
        """The table of a closed segment's index; None where there is none that can be relied on."""
        names, bases = self._files.fresh() or self._files.store(self._look())
        if segment.next_base is None or segment.base_offset not in bases:
            return None
        name = identity(segment).file_name
        if name not in names or not self._directory.may_hold_more():
            return None
        try:
            file = self._directory.open(f"{self._partition}/{name}", names[name])
            table = _read(segment, file)
        except _UNREADABLE as error:
            logger.warning("%s/%s is not used: %s", self._partition, name, error)
            return None
        if table is None:
            logger.warning("%s/%s is damaged and not used; lookups of keys take longer", self._partition, name)
        return table

    def _look(self) -> "_Files":
        names = {}
        with suppress(*_UNREADABLE), self._directory.scan(self._partition) as entries:
            names = {entry.name: entry.inode() for entry in entries if entry.name.endswith(SUFFIX)}
        bases = (name.partition("-")[0] for name in names)
        return _Files(names, frozenset(int(base) for base in bases if base.isascii() and base.isdecimal()))


def offsets_of(segment: Segment) -> int:
    """How many offsets a closed segment has, and so keys at most: it limits what an index of it may claim."""
    return (segment.next_base or segment.base_offset) - segment.base_offset


def _read(segment: Segment, file: DataFile) -> KeyTable | None:
    """The table of a file whose name fits; None where the file is not what was written."""
    header = parse_header(file.read(0, KEY_PAGE))
    if header is None or header.identity.file_name != file.name.rpartition("/")[2]:
        return None
    if header.rows > offsets_of(segment) or file.size != header.size:
        return None
    fences = parse_fences(file.read(header.fences_at, 8 * header.pages), header)
    if fences is None:
        return None
    return KeyTable(segment, header.seed, segment.base_offset, fences, header.rows, file)
