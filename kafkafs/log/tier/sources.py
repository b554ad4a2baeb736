"""A tier that a user named, opened: its objects, and the keys that they are encrypted for."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.objects import DirectoryObjects, Objects, check_pyarrow, is_bucket, place_of
from kafkafs.errors import UsageError

if TYPE_CHECKING:
    from kafkafs.format.tiers.cipher import Keys


def open_objects(source: str, options: DiskOptions) -> Objects:
    """The objects of a tier: of a path, or of a URI, which is asked nothing yet. UsageError if there are none."""
    place = place_of(source)
    if not is_bucket(place):
        return DirectoryObjects(place, options)
    check_pyarrow("a tier")
    from kafkafs.disk.bucket import BucketObjects  # large

    return BucketObjects(place, is_beside_disks=True)


def keys_of(files: Iterable[tuple[str, Path]]) -> "Keys | None":
    """The private keys in those files, by id; None if there are none. UsageError for what is no key."""
    given = read_keys(files)
    if not given:
        return None
    from kafkafs.format.tiers.cipher import Keys  # it takes a library that other tiers do without

    return Keys(given)


def read_keys(files: Iterable[tuple[str, Path]]) -> dict[str, bytes]:
    """The contents of key files that a user names, by their ids. UsageError if one cannot be read."""
    found = {}
    for key_id, path in files:
        try:
            found[key_id] = path.read_bytes()
        except OSError as error:
            raise UsageError(f"the key file {str(path)!r} cannot be read: {error.strerror}") from error
    return found
