"""The paths of data directories: of this machine, or the addresses of copies in buckets.

A module of its own, because a dump of a file does without `pathlib`.
"""

import os
import re
from pathlib import Path, PosixPath
from urllib.parse import urlsplit

from kafkafs.disk.objects import address_of, is_bucket, shown
from kafkafs.errors import UsageError

_OF_PATH = re.compile(r"(s3|gs|gcs|abfs|abfss|hdfs):/{1,2}([^/].*)")


class BucketPath(PosixPath):
    """The address of a data directory in a bucket, for all that hands on and shows paths. It has both slashes."""

    def __str__(self) -> str:
        return _OF_PATH.sub(r"\1://\2", super().__str__())

    def __fspath__(self) -> str:
        return str(self)

    def absolute(self) -> "BucketPath":
        """The same."""
        return self

    def resolve(self, strict: bool = False) -> "BucketPath":  # noqa: ARG002 (as in Path)
        """The same: there are no links."""
        return self


def bucket_of(path: Path) -> str:
    """The address of a bucket, if that is one; empty for a path of this machine."""
    return str(path) if isinstance(path, BucketPath) else ""


def data_path(word: str | Path) -> Path:
    """The absolute path of a data directory, or the address of one in a bucket.

    UsageError for an address with keys: paths are shown, and written into reports."""
    address = address_of(os.fspath(word))
    if not _OF_PATH.match(address):
        if is_bucket(address):
            raise UsageError(f"{word!r} is no address of a bucket: pyarrow.fs knows s3, gs, abfs and hdfs")
        return Path(address).absolute()
    if address.startswith("s3") and "@" in urlsplit(address).netloc:
        raise UsageError(
            f"the address {shown(address)!r} must not hold keys: put them into the environment (AWS_ACCESS_KEY_ID,"
            " AWS_SECRET_ACCESS_KEY) or into ~/.aws"
        )
    return BucketPath(address)
