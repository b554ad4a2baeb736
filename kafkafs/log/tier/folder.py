"""One folder of a tier, without the rest of it: files of remote segments by their names, for `dump`."""

import os
from collections.abc import Sequence
from pathlib import Path

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.objects import Object, is_bucket, parts_of
from kafkafs.errors import NotFound
from kafkafs.format.tiers.tier_names import INDEXES, MANIFEST, parse_tier_file
from kafkafs.log.tier.layouts import Aiven
from kafkafs.log.tier.opening import ObjectFiles, Upload
from kafkafs.log.tier.sources import keys_of, open_objects

_OPTIONS = DiskOptions()


def split(place: str) -> tuple[str, str]:
    """The folder of a file, or of an object by its address, which is one as well; and its name."""
    if not is_bucket(place):
        return os.path.split(place)
    parts = parts_of(place)
    folder, name = os.path.split(parts.path)
    return parts._replace(path=folder).geturl(), name


def objects_in(address: str) -> list[str]:
    """The addresses of the objects in a folder of a bucket, then of those in the folders below it, each folder's in the
    order of their names. NotFound if there is no such folder."""
    objects, (place, mark, query) = open_objects(address, _OPTIONS), address.partition("?")
    names = [each.key.strip("/") for folder in ("", *objects.folders()) for each in sorted(objects.files(folder))]
    return [f"{place.rstrip('/')}/{name}{mark}{query}" for name in names]


class Folder:
    """A directory, or a folder of a bucket by its address. It is listed once."""

    def __init__(self, place: str, keys: Sequence[tuple[str, Path]]) -> None:
        """`keys`: ids and files of those that segments are encrypted with."""
        upper, partition = split(place)
        top, topic = split(upper)
        self._files = ObjectFiles(open_objects(top, _OPTIONS), ChunkCache(), _OPTIONS)
        self._below, self._keys = f"{topic}/{partition}".lstrip("/"), keys
        self._found: dict[str, Object] | None = None

    def open(self, name: str) -> DataFile:
        """The file as it was on the broker's disk. NotFound if it does not exist, DiskError if it cannot be had."""
        found, parsed = self.listed(), parse_tier_file(name)
        if parsed is not None:
            stem = name[: -len(parsed.kind)]
            files = {kind: found[stem + kind] for kind in ("log", INDEXES, MANIFEST) if stem + kind in found}
            if MANIFEST in files:
                layout = Aiven(self._files, keys_of(self._keys))
                return layout.open(Upload(parsed.base_offset, parsed.segment_id, files), parsed.kind)
        if name not in found:
            raise NotFound(f"there is no {name!r} in {self._files.objects.shown_as}/{self._below}")
        return self._files.plain_file(found[name], "", Upload(0, "", {}))

    def listed(self) -> dict[str, Object]:
        """The content of the folder, by name."""
        if self._found is None:
            self._found = {each.key.rpartition("/")[2]: each for each in self._files.objects.files(self._below)}
        return self._found
