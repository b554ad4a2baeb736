"""Whether all logs of many segments share owner and mode, without access control lists. See `disk.log_access`."""

from kafkafs.disk.native.kernels.files import (
    ABOUT_GROUP,
    ABOUT_MODE,
    ABOUT_NANOSECONDS,
    ABOUT_SECONDS,
    ABOUT_USER,
    LOG,
    close_file,
    has_acl,
    open_segment_file,
)
from kafkafs.format.native.kernels.machine import load_i64, load_u16, load_u32, store_64

_ROW = 16
_USER, _GROUP, _MODE, _CHANGED = range(0, 32, 8)


def common_log_access(directory: int, rows: int, count: int, about: int, out: int) -> int:
    """Kernel: whether the logs in the open `directory` are those of the rows (base offset, inode), share their owner,
    group and mode, and have no access control list.

    out: the three of them, and the last log's time of change in nanoseconds. `about` is room as for
    `files.open_segment_file`.
    """
    for number in range(count):
        base, inode = load_i64(rows + number * _ROW), load_i64(rows + number * _ROW + 8)
        file = open_segment_file(directory, base, LOG, inode, about)
        if file < 0:
            return 0
        is_listed = has_acl(file)
        close_file(file)
        user, group, mode = load_u32(about + ABOUT_USER), load_u32(about + ABOUT_GROUP), load_u16(about + ABOUT_MODE)
        if is_listed:
            return 0
        if number == 0:
            store_64(out + _USER, user)
            store_64(out + _GROUP, group)
            store_64(out + _MODE, mode)
        elif user != load_i64(out + _USER) or group != load_i64(out + _GROUP) or mode != load_i64(out + _MODE):
            return 0
        changed = load_i64(about + ABOUT_SECONDS) * 1_000_000_000 + load_u32(about + ABOUT_NANOSECONDS)
        store_64(out + _CHANGED, changed)
    return 1 if count > 0 else 0
