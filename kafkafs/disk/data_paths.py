"""The paths of data directories: of this machine, or the addresses of copies in buckets.

A module of its own, because a dump of a file does without `pathlib`.
"""

import os
import re
from pathlib import Path, PosixPath
from urllib.parse import parse_qsl, urlsplit

from kafkafs.disk import store_session
from kafkafs.disk.objects import address_of, is_bucket, parts_of, shown
from kafkafs.errors import EMPTY_NAME, UsageError

_OPTIONS = ("endpoint_override", "region", "scheme")
_OF_PATH = re.compile(r"(s3|gs|gcs|abfs|abfss|hdfs):/{1,2}([^/].*)")


class BucketPath(PosixPath):
    """The address of a data directory in a bucket, for all that hands on and shows paths. It has both slashes."""

    named_ns = 0
    """The time at which a user named it for one query, 0 if unknown. A process that lives on lists it again for the
    next query. Equal addresses are equal, whatever this says."""

    listed: tuple[str, int] | None = None
    """A folder in it, and its stamp (`stamps`) in the process that sent this path."""

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (str(self), self.named_ns, self.listed)

    def __str__(self) -> str:
        return _OF_PATH.sub(r"\1://\2", super().__str__())

    def __fspath__(self) -> str:
        return str(self)

    def absolute(self) -> "BucketPath":
        """The path itself: an address is absolute."""
        return self

    def resolve(self, strict: bool = False) -> "BucketPath":  # noqa: ARG002 (as in Path)
        """The path itself: there are no links."""
        return self


def without_links(path: Path) -> Path:
    """The path without symbolic links. A circle of links stays in it, and whoever opens the path names the circle."""
    return path if isinstance(path, BucketPath) else Path(os.path.realpath(path))


def _unpickled(address: str, named_ns: int, listed: tuple[str, int] | None) -> BucketPath:
    found = BucketPath(address)
    found.named_ns, found.listed = named_ns, listed
    return found


def with_listing(path: BucketPath, folder: str, stamp: int | None) -> BucketPath:
    """A path for another process, in which the folder has to have that stamp."""
    return _unpickled(str(path), path.named_ns, None if stamp is None else (folder, stamp))


def named_now(path: Path) -> Path:
    """The path; if it is of a bucket, a path that a process lists again."""
    return _unpickled(str(path), store_session.current.named_ns(), None) if isinstance(path, BucketPath) else path


def local_place(path: Path, what: str) -> Path:
    """The absolute path of a file or directory to be written. UsageError for an address: `what` needs this machine."""
    if is_bucket(os.fspath(path)) or _OF_PATH.match(os.fspath(path)):
        raise UsageError(f"{what} cannot be in a bucket: name a path of this machine instead of {os.fspath(path)!r}")
    return path.absolute()


def is_in_copy(address: str, path: Path) -> bool:
    """True if an address of a bucket is that of a data directory, or of something in it."""
    inner, outer = (urlsplit(each, allow_fragments=False) for each in (address, bucket_of(path)))
    is_same = (inner.scheme, inner.netloc.rpartition("@")[2]) == (outer.scheme, outer.netloc)
    return is_same and bool(outer.scheme) and f"{inner.path.rstrip('/')}/".startswith(f"{outer.path.rstrip('/')}/")


def bucket_of(path: Path) -> str:
    """The address of a bucket, if that is one; empty for a path of this machine."""
    return str(path) if isinstance(path, BucketPath) else ""


def data_path(word: str | Path) -> Path:
    """The absolute path of a data directory, or the address of one in a bucket.

    UsageError for an address with keys: paths are shown, and written into reports."""
    address = address_of(os.fspath(word))
    if not address:
        raise UsageError(EMPTY_NAME)
    if not _OF_PATH.match(address):
        if is_bucket(address):
            raise UsageError(f"{word!r} is no address of a bucket: pyarrow.fs knows s3, gs, abfs and hdfs")
        return Path(address).absolute()
    if "@" in parts_of(address).netloc and address.startswith("s3"):
        raise UsageError(
            f"the address {shown(address)!r} must not hold keys: put them into the environment (AWS_ACCESS_KEY_ID,"
            " AWS_SECRET_ACCESS_KEY) or into ~/.aws"
        )
    if fault := _fault_of(address):
        raise UsageError(f"the address {shown(address)!r} {fault}")
    return BucketPath(address)


def _fault_of(address: str) -> str:
    """The reason why an address would lead to another folder than the one that it names; "" if there is none."""
    if fault := fault_of_name(address):
        return fault
    query = address.partition("?")[2]
    unknown = [name for name, _ in parse_qsl(query, keep_blank_values=True) if name not in _OPTIONS]
    if address.startswith("s3") and unknown:
        return (
            f"has ?{unknown[0]}, which is no option of an address ({', '.join(_OPTIONS)}); a folder whose name has a"
            " question mark cannot be read"
        )
    return ""


def fault_of_name(address: str) -> str:
    """The reason why the name of a folder in an address cannot be kept; "" if there is none."""
    parts = re.sub(r"^\w+:/+|/$", "", address.partition("?")[0]).split("/")
    if not address.isprintable():
        return "has a character that cannot be printed; name a folder without it"
    if not {"", "."}.isdisjoint(parts[1:]):
        return "has '//' or '/./', which kafkafs cannot tell from '/'; name a folder without it"
    return ""
