"""The records of a range of a partition, and the end of a read whose records are gone.

Each range is read as of one moment. If the broker compacts the log or deletes some of it meanwhile, the read goes on in
the new files.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial

from kafkafs.errors import NotFound
from kafkafs.format.records import Records
from kafkafs.log.read_options import Isolation
from kafkafs.log.reading import Window, records
from kafkafs.tables.locations import partition
from kafkafs.tables.planning import PartitionRange

logger = logging.getLogger(__name__)

NAME_ALL = "name the other brokers' data directories in path too, or set failOnDataLoss to false to go on without them"
"""The advice where partitions are not on these disks."""


def data_loss(fail: bool, advice: str = "set failOnDataLoss to false to go on without them") -> Callable[[str], None]:
    """Take a sentence without its full stop about records that are gone. Raise NotFound, or write to the log, as
    `failOnDataLoss` says."""
    return partial(_lost, fail, advice)


def _lost(fail: bool, advice: str, what: str) -> None:
    if fail:
        raise NotFound(f"{what}; {advice}")
    logger.warning("%s; going on without them", what)


def records_of(each: PartitionRange, isolation: Isolation, lost: Callable[[str], None]) -> Iterator[Records]:
    """The visible records of a range, in order. Vanished if the log was truncated after some were handed out."""
    return records(partition(each.location), Window(each.start, each.end, each.log_end, isolation), lost)
