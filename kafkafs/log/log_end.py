"""The end of a log that was not closed cleanly: what its last segment holds behind the last index entry."""

from kafkafs.disk.directory import Directory, Inside
from kafkafs.errors import UNREADABLE, NotFound
from kafkafs.format.names import segment_file
from kafkafs.log.batch_runs import BatchRun, Bounds, batch_runs
from kafkafs.log.listing import ListedFile
from kafkafs.log.segment import ANY_OFFSET, Segment
from kafkafs.log.segment_files import SegmentFiles
from kafkafs.log.segment_search import scan_start


def read_log_end(root: Directory, inside: Inside, partition: str, base: int) -> tuple[int, int | None]:
    """The offset that the next record gets, by the last segment's log, and the largest timestamp that was read there;
    None without one. A broker finds the end so when it starts. `inside`: the partition's directory. Source:
    LogSegment.recover.

    The time index has an entry for everything before its last one, so that nothing older has to be read.
    """
    end, largest = base, -1
    try:
        files = SegmentFiles(root, partition, base, _listed(inside, base), None)
        lent = files.lend(inside)
        segment = Segment(files, None)
        log = segment.log()
        start = scan_start(segment, ANY_OFFSET)
        for item in batch_runs(log, start.position, Bounds(log.size, start.first_offset, None, False)):
            if not isinstance(item, BatchRun):
                break
            end = item.last_offset + 1
            largest = max(largest, int(item.rows["max_timestamp"].max()))
        del lent
    except UNREADABLE:
        pass  # nothing more is known of it
    return end, largest if largest >= 0 else None


def _listed(inside: Inside, base: int) -> dict[str, ListedFile]:
    found = {}
    for kind in ("log", "index"):
        name = segment_file(base, kind)
        try:
            about = inside.stat(name)
        except NotFound:
            if kind == "log":
                raise
            continue
        found[kind] = ListedFile(name, about.st_ino, about.st_size, about.st_mtime_ns)
    return found
