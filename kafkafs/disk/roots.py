"""A data directory by its path, wherever it is: on a disk of this machine, or copied into a bucket."""

import os
from pathlib import Path

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.data_paths import bucket_of
from kafkafs.disk.directory import Directory
from kafkafs.errors import UsageError


def root_at(path: Path, options: DiskOptions) -> Directory:
    """The directory at `path`, held open; the store of a bucket is asked nothing yet.

    Raise OSError if `path` is no directory that may be read, UsageError if a bucket cannot be read here.
    """
    address = bucket_of(path)
    if not address:
        return Directory(os.fspath(path), options)
    try:
        from kafkafs.disk.bucket_directory import BucketDirectory  # with pyarrow, 100 ms and 50 MiB
    except ImportError as error:
        raise UsageError("a data directory in a bucket takes pyarrow: pip install 'kafkafs[tiered]'") from error
    return BucketDirectory(address, options)
