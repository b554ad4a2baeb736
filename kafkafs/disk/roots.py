"""A data directory by its path, wherever it is: on a disk of this machine, or copied into a bucket."""

import os
from pathlib import Path

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.data_paths import bucket_of
from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.objects import check_pyarrow


def root_at(path: Path, options: DiskOptions) -> Directory:
    """The directory at `path`, held open; the store of a bucket is asked nothing yet.

    Raise OSError if `path` is no directory that may be read, UsageError if a bucket cannot be read here.
    """
    address = bucket_of(path)
    if not address:
        return LocalDirectory(os.fspath(path), options)
    check_pyarrow("a data directory")
    from kafkafs.disk.bucket_directory import BucketDirectory  # large

    return BucketDirectory(address, options)
