"""What the mount's root shows of one data directory: the names in it, who may enter, when it changed.

Several data directories are several disks, and the root belongs to all of them: one that hangs must not take the root
with it. So each is looked at by one thread at a time; while that hangs, or where it fails, what was last known counts.
With a single data directory nothing is gained by that, and a failure is told.
"""

import threading
import time
from dataclasses import dataclass

from kafkafs.errors import KafkafsError
from kafkafs.format.names import PartitionName
from kafkafs.log.ancestors import Ancestors
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.patience import patience_needed
from kafkafs.view.permissions import Access, access, below_ancestors

ALONE_S = 0.1  # how long a look is good for
AMONG_S = 0.9  # the same beside others; a sweep comes earlier, so that hardly a request looks itself
WAIT_S = 0.25  # for the look of another thread, the first time that it takes long


@dataclass(frozen=True, slots=True)
class Known:
    """The answer of one look."""

    names: dict[str, PartitionName]
    access: Access
    mtime_ns: int


class Front:
    """One data directory as the root shows it; `alone` where it is the only one."""

    def __init__(self, directory: DataDirectory, alone: bool) -> None:
        self.directory = directory
        self._ancestors = Ancestors(directory.path)
        self._alone = alone
        self._good_for_s = ALONE_S if alone else AMONG_S
        self._looking = threading.Lock()
        self._slow = False  # a look takes long; nobody waits for it any more
        self._known = self._look()
        self._until = time.monotonic() + self._good_for_s

    def known(self) -> Known:
        """What there is, at most `good_for_s` old unless the disk fails or hangs."""
        if time.monotonic() >= self._until and not self._slow:
            patience_needed()
            self.refresh()
        return self._known

    def refresh(self) -> None:
        """Looks again, unless another thread is at it and does not come back."""
        if not self._looking.acquire(timeout=WAIT_S):
            self._slow = True
            return
        try:
            if self._alone and time.monotonic() < self._until:
                return  # another thread has just looked
            self._known = self._look()
            self._slow = False
        except (KafkafsError, OSError):
            if self._alone:
                raise
        finally:
            self._until = time.monotonic() + self._good_for_s
            self._looking.release()

    def _look(self) -> Known:
        root = self.directory.root
        about = root.stat()
        own = access(about, root.acl()).of_directory()
        above = (access(*attributes) for attributes in self._ancestors.attributes())
        return Known(self.directory.names(), below_ancestors(own, above), about.st_mtime_ns)
