"""One partition as the mount shows it: its log seen through the mount's options, and the attributes its views share."""

import os
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from kafkafs.log.files import DataFile
from kafkafs.log.log import Log
from kafkafs.log.options import Options
from kafkafs.log.partition import Partition
from kafkafs.log.patience import patience_needed
from kafkafs.log.transactions import OpenTransactions
from kafkafs.view.node import Attributes
from kafkafs.view.permissions import Access, access, common
from kafkafs.view.targets import Sight

KEEP_S = 1.0
"""For how long the kernel may keep what does not change with every append."""

BLOCK = 512
_NS_PER_MS = 1_000_000
_MAX_MS = (2**63 - 1) // _NS_PER_MS
Answer = TypeVar("Answer")


class Scene:
    """See the module. One for each partition directory, under the name that the mount shows it by."""

    def __init__(
        self, partition: Partition, shown_as: str, options: Options, twins: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.partition = partition
        self.shown_as = shown_as
        self.options = options
        self.twins = twins
        self.transactions = OpenTransactions()
        self._sight: Sight | None = None
        self._directory: tuple[float, Access, int] | None = None

    @property
    def lane(self) -> str:
        """The disk that answers wait for (see `node.Laned`)."""
        return os.fspath(self.partition.directory.path)

    def sight(self) -> Sight:
        """The log as it is now, seen through the options."""
        return self._sight_of(self.partition.log())

    def ask(self, question: Callable[[Sight], Answer]) -> Answer:
        """`question` asked of the log as it is; asked again where files were replaced meanwhile."""
        return self.partition.answer(lambda log: question(self._sight_of(log)))

    def _sight_of(self, log: Log) -> Sight:
        sight = self._sight
        if sight is None or sight.log is not log:
            sight = self._sight = Sight(log, self.options, self.transactions)
        return sight

    def directory(self) -> Attributes:
        """The attributes of the partition's directory, which its views' directories share."""
        known = self._directory
        if known is None or time.monotonic() > known[0]:
            patience_needed()
            root, name = self.partition.root, self.partition.name.directory
            about = root.stat(name)
            granted = access(about, root.acl(name)).of_directory()
            known = self._directory = (time.monotonic() + KEEP_S / 2, granted, about.st_mtime_ns)
        _, granted, mtime_ns = known
        return Attributes("directory", granted.mode, granted.uid, granted.gid, 0, 0, mtime_ns, 2, KEEP_S / 2)

    def link(self) -> Attributes:
        """The attributes of a symbolic link in the partition's directory. It moves with the log."""
        about = self.directory()
        return Attributes("symlink", 0o777, about.uid, about.gid, 0, 0, about.mtime_ns, 1, 0.0)

    def file(self, files: Sequence[DataFile], size: int, timestamp_ms: int, keep_s: float) -> Attributes:
        """The attributes of a view over `files`: what all of them grant. A negative timestamp: the last file's own.

        Without files, the attributes of an empty view: those of the directory, less search.
        """
        if not files:
            about = self.directory()
            return Attributes("file", about.mode & 0o444, about.uid, about.gid, 0, 0, about.mtime_ns, 1, keep_s)
        stats = [(file.stat(), file.acl()) for file in files]
        granted = common([access(about, acl) for about, acl in stats]).of_file()
        known_time = 0 <= timestamp_ms <= _MAX_MS
        mtime_ns = timestamp_ms * _NS_PER_MS if known_time else stats[-1][0].st_mtime_ns
        return Attributes("file", granted.mode, granted.uid, granted.gid, size, -(-size // BLOCK), mtime_ns, 1, keep_s)
