"""A remote segment by the path of one of its files, without the rest of its tier: for `dump`."""

import os
from collections.abc import Sequence
from pathlib import Path

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.objects import DirectoryObjects, Object
from kafkafs.errors import NotFound
from kafkafs.format.tiers.names import INDEXES, MANIFEST, parse_tier_file
from kafkafs.log.tier.layouts import Aiven
from kafkafs.log.tier.tier import keys_of
from kafkafs.log.tier.upload import Upload


def open_lone(path: str, keys: Sequence[tuple[str, Path]]) -> DataFile | None:
    """The file as it was on the broker's disk, of a segment that lies there in chunks; None where it does not: what is
    named so is no remote segment, or lies there as it was. DiskError where it cannot be had."""
    folder, name = os.path.split(path)
    parsed = parse_tier_file(name)
    if parsed is None:
        return None
    top, below = os.path.dirname(os.path.dirname(folder)), os.sep.join(folder.rsplit(os.sep, 2)[1:])
    objects = DirectoryObjects(top, DiskOptions())
    files = {}
    for kind in ("log", INDEXES, MANIFEST):
        key = f"{below}/{name[: -len(parsed.kind)]}{kind}"
        try:
            about = objects.root.stat(key)
        except NotFound:
            continue
        files[kind] = Object(key, about.st_size, about.st_mtime_ns)
    if MANIFEST not in files:
        return None
    layout = Aiven(objects, ChunkCache(), keys_of(keys), DiskOptions())
    return layout.open(Upload(parsed.base_offset, parsed.segment_id, files), parsed.kind)
