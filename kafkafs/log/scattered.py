"""All valid batches of a file, in whatever order their offsets are: for a search that must not miss one.

A `batch_runs` walk trusts the order of offsets. Batches that a broker wrote before it cut the log can be behind the
log's end, with offsets that came before: here they count too, if their CRC holds.
"""

from collections.abc import Iterator

from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import LARGEST_HEADER, Batch, parse_batch, rows_of
from kafkafs.log.batch_runs import BatchRun, Bounds, Damage, batch_runs
from kafkafs.log.large_batches import whole_batch
from kafkafs.log.resync import next_valid


def scattered_batches(file: DataFile, end: int, largest: int) -> Iterator[BatchRun | Damage]:
    """Yield the valid batches before `end`, and the bytes between them. Bytes at the end are a `Damage` as well.

    A batch of more than `largest` bytes comes with its header alone, see `batch_runs.Bounds`.
    """
    position = 0
    while position < end:
        stop = end
        for item in batch_runs(file, position, Bounds(end, 0, None, largest=largest)):
            if isinstance(item, Damage):
                stop = item.end
                break
            yield item
            position = item.end
        if position >= end:
            return
        found = _first_valid(file, position, stop, end)
        behind = stop if found is None else found.position
        if behind > position:
            yield Damage(position, behind - position, 0, 0)
        elif found is not None:  # two batches contradict each other: each has its records
            yield BatchRun(file.read_long(position, found.size), position, rows_of(found, is_valid=True))
            behind = found.end
        position = behind


def _first_valid(file: DataFile, position: int, stop: int, end: int) -> Batch | None:
    """The first batch that begins in [position, stop) and is whole; None without one."""

    def is_whole(batch: Batch) -> bool:
        return batch.position < stop and whole_batch(file, batch, end)

    here = parse_batch(file.read(position, min(LARGEST_HEADER, end - position)), 0, position)
    if here is not None and is_whole(here):
        return here
    if here is not None and here.end == stop:  # one damaged batch: batches in its values are not the log's
        return None
    return next_valid(file, position, stop, is_whole)
