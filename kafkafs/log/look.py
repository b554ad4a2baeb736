"""A log as one reader sees it: the way from the layers above to the records of a log.

A `Look` belongs to one `Log`, and so to one moment. A place (`places`) asks it for offsets, times and records.
"""

import dataclasses

from kafkafs.format.times import Time
from kafkafs.log.log import Log, newest_ms
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.reader import Reader


class Look:
    """A log as one reader sees it: what the isolation level shows, and what stands there without one.

    A reader is made, without a lock, when it is first asked for: two threads may make one each, and either is right.
    """

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions | None = None) -> None:
        """`transactions` are those of the log's partition; without them, `read_committed` looks for them itself."""
        self.log = log
        self._options = options
        self._transactions = transactions or OpenTransactions()
        self._visible: Reader | None = None
        self._uncommitted: Reader | None = None
        self._newest_ms: int | None = None

    @property
    def visible(self) -> Reader:
        """What the mount's isolation level shows."""
        if self._visible is None:
            self._visible = Reader(self.log, self._options, self._transactions)
        return self._visible

    @property
    def uncommitted(self) -> Reader:
        """The same without regard to transactions; control records are left out here, too."""
        if self._uncommitted is None:
            same, options = self._options.isolation == "read_uncommitted", self._uncommitted_options
            self._uncommitted = self.visible if same else Reader(self.log, options, self._transactions)
        return self._uncommitted

    @property
    def _uncommitted_options(self) -> ReadOptions:
        return dataclasses.replace(self._options, isolation="read_uncommitted")

    def milliseconds(self, time: Time) -> int:
        """The epoch milliseconds that a time names. What counts back from the newest record is 0 where none has a time,
        and does not depend on isolation."""
        if isinstance(time, int):
            return time
        if self._newest_ms is None:
            self._newest_ms = newest_ms(self.log)
        return time.before(self._newest_ms)
