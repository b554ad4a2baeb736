"""What a mount must answer, told by a plain reading of the files: headers one by one, no index, no kafkafs code."""

import struct
from pathlib import Path
from typing import NamedTuple

_ENTRY = struct.Struct(">qi4xb")  # kafka-format.md, section 3.1
_V2 = struct.Struct(">iqq")  # last offset delta, base and max timestamp, from byte 23 on


class Batch(NamedTuple):
    """A batch's place and what its header says; `base` of a compressed old message is the offset behind the last."""

    file: Path
    position: int
    size: int
    base: int
    last: int
    max_timestamp: int

    @property
    def data(self) -> bytes:
        with open(self.file, "rb") as opened:
            opened.seek(self.position)
            return opened.read(self.size)


def logs(partition: Path) -> list[Path]:
    """The segments in offset order."""
    return sorted(partition.glob("[0-9]*.log"))


def batches(partition: Path) -> list[Batch]:
    """Every batch of a healthy partition, whatever the log start."""
    found: list[Batch] = []
    for file in logs(partition):
        data, at = file.read_bytes(), 0
        while len(data) - at > 17:
            offset, size, magic = _ENTRY.unpack_from(data, at)
            if size < 14 or at + 12 + size > len(data):
                break
            if magic == 2:
                delta, _, newest = _V2.unpack_from(data, at + 23)
                found.append(Batch(file, at, 12 + size, offset, offset + delta, newest))
            else:
                newest = struct.unpack_from(">q", data, at + 18)[0] if magic else -1
                before = found[-1].last if found else int(file.stem) - 1
                found.append(Batch(file, at, 12 + size, before + 1, offset, newest))
            at += 12 + size
    return found


def visible(partition: Path, log_start: int) -> list[Batch]:
    """Those from the batch that holds the log start on."""
    return [batch for batch in batches(partition) if batch.last >= log_start]
