"""What a broker does to a partition's files, move by move: the writer's half of the model-based tests.

Batches are true ones (`tests.format.batch_maker`), and every record's value is used once, so that two generations of an
offset can be told apart. A compaction is a list of single renames, which a test may look in between.
"""

import base64
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import HEADER, Made, indexes
from tests.view.json_model import line

KINDS = ("log", "index", "timeindex")


class Moves:
    """A broker at `<data>/t-0`. `history` holds the line of each record that the present log ever got, by offset."""

    name = "t-0"

    def __init__(self, data: Path) -> None:
        self.data = data
        self.directory = data / self.name
        self.made: dict[bytes, tuple[Record, ...]] = {}
        self.history: dict[int, bytes] = {}
        self.generation = 0
        self.epoch = 0
        self._values = 0
        self._clock = 1_700_000_000_000
        self._dirs = 0
        data.mkdir(parents=True, exist_ok=True)
        (data / "meta.properties").write_text("version=1\n")
        self._begin()

    def _begin(self) -> None:
        self.directory.mkdir()
        topic_id = base64.urlsafe_b64encode(self.generation.to_bytes(15, "big") + b"t").decode().rstrip("=")
        (self.directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
        self.epoch = 0
        self._epochs: list[tuple[int, int]] = []
        self.segments: dict[int, list[Made]] = {0: []}
        self.next_offset = 0
        self.start = 0
        self._torn = b""
        self._create(0)

    @property
    def last(self) -> int:
        """The base offset of the segment that grows."""
        return max(self.segments)

    def path(self, base: int, kind: str) -> Path:
        return self.directory / f"{base:020d}.{kind}"

    def append(self, counts: Sequence[int], jitter: int = 0, indexed: bool = True, packed: bool = False) -> None:
        """Batches of so many records each; a torn one is finished first."""
        self.finish()
        for count in counts:
            batch = self._batch(count, jitter, packed)
            self._take(batch)
            with open(self.path(self.last, "log"), "ab") as log:
                log.write(batch.data)
        if indexed:
            self._write_indexes(self.last)

    def append_at(self, position: int, count: int) -> int:
        """A batch written into a preallocated file: its size."""
        batch = self._batch(count, 0, False)
        with open(self.path(self.last, "log"), "r+b") as log:
            log.seek(position)
            log.write(batch.data)
        self._take(batch)
        return len(batch.data)

    def tear(self, count: int, part: float) -> None:
        """The first part of a batch, as a reader sees it in the midst of a write."""
        self.finish()
        self._pending = self._batch(count, 0, False)
        at = max(1, min(len(self._pending.data) - 1, int(len(self._pending.data) * part)))
        with open(self.path(self.last, "log"), "ab") as log:
            log.write(self._pending.data[:at])
        self._torn = self._pending.data[at:]

    def finish(self) -> None:
        """The rest of a torn batch."""
        if self._torn:
            with open(self.path(self.last, "log"), "ab") as log:
                log.write(self._torn)
            self._torn = b""
            self._take(self._pending)

    def roll(self) -> None:
        """A new segment, if the last one holds anything."""
        self.finish()
        if self.segments[self.last]:
            self._write_indexes(self.last)
            self.segments[self.next_offset] = []
            self._create(self.next_offset)

    def retain(self, reported: bool) -> None:
        """The oldest segment goes, if it is not the last; `told`: the checkpoint says so too."""
        if len(self.segments) > 1:
            oldest = min(self.segments)
            del self.segments[oldest]
            self.start = max(self.start, min(self.segments))
            if reported:
                self._checkpoint()
            self._forget_epochs()
            self._rename_away(oldest)

    def delete_records(self, below: int) -> None:
        """The log start moves into the middle of a segment or a batch."""
        if self.start < min(below, self.next_offset):
            self.start = min(below, self.next_offset)
            self._checkpoint()
            self._forget_epochs()

    def unlink_deleted(self) -> None:
        """What is deleted is gone from the disk after a while."""
        for path in [*self.data.glob("*/*.deleted")]:
            path.unlink()
        for path in self.data.glob("t-0.*-delete"):
            shutil.rmtree(path)

    def truncate(self, batches: int) -> None:
        """The last batches go, as on a follower; others take their offsets."""
        self.finish()
        kept = [(base, batch) for base, all_of in self.segments.items() for batch in all_of]
        kept = kept[: max(0, len(kept) - batches)]
        self.next_offset = kept[-1][1].last + 1 if kept else min(self.segments)
        for base in sorted(self.segments, reverse=True):
            left = [batch for of, batch in kept if of == base]
            if base > self.next_offset:
                del self.segments[base]
                self._rename_away(base)
                continue
            self.segments[base] = left
            os.truncate(self.path(base, "log"), sum(len(batch.data) for batch in left))
            break
        if self.start > self.next_offset:
            self.start = self.next_offset
            self._checkpoint()
        self.history = {offset: text for offset, text in self.history.items() if offset < self.next_offset}
        self._epochs = [(epoch, start) for epoch, start in self._epochs if start < self.next_offset]
        self._checkpoint_epochs()
        self.elect()
        self.generation += 1

    @property
    def known_epochs(self) -> list[int]:
        """The leader epochs in the checkpoint, the latest one last; behind -1, which stands for none."""
        return [-1, *(epoch for epoch, _ in self._epochs)]

    def elect(self) -> None:
        """Another leader, from the next batch on."""
        self.epoch += 1

    def corrupt(self, batch: int, byte: int) -> bool:
        """One byte of a closed segment's batch changes on the disk; False where there is none."""
        closed = [(base, made) for base, all_of in self.segments.items() if base != self.last for made in all_of]
        if not closed:
            return False
        base, made = closed[batch % len(closed)]
        begin = self.path(base, "log").read_bytes().find(made.data)
        if begin < 0:
            return False  # it is corrupt already
        at = begin + 61 + byte % (len(made.data) - 61)
        with open(self.path(base, "log"), "r+b") as log:
            log.seek(at)
            changed = log.read(1)[0] ^ 0x10
            log.seek(at)
            log.write(bytes([changed]))
        return True

    def recreate(self, at_once: bool) -> None:
        """The topic is deleted and created again; `at_once`: and its inodes can be used again."""
        if at_once:
            shutil.rmtree(self.directory)
        else:
            self._dirs += 1
            self.directory.rename(self.data / f"t-0.{self._dirs:032x}-delete")
        (self.data / "log-start-offset-checkpoint").unlink(missing_ok=True)
        self.history.clear()
        self.generation += 1
        self._begin()

    def compaction(self, sources: int, keep: Callable[[int], bool]) -> Iterator[str]:
        """The steps of compacting the first closed segments into one; `keep` says which batches stay."""
        bases = sorted(self.segments)[:-1][:sources]
        if not bases:
            return
        into = bases[0]
        kept = [batch for base in bases for batch in self.segments[base] if keep(batch.base)]
        offsets, times = indexes(kept, into)
        for kind, data in zip(KINDS, (b"".join(batch.data for batch in kept), offsets, times), strict=True):
            path = self.path(into, kind + ".cleaned")
            path.write_bytes(data)
            os.utime(path, ns=(1, self.path(bases[-1], "log").stat().st_mtime_ns))
        yield "cleaned"
        for kind in KINDS:
            self.path(into, kind + ".cleaned").rename(self.path(into, kind + ".swap"))
            yield f"{kind} is swap"
        for base in bases:
            for kind in KINDS:
                if self.path(base, kind).exists():
                    self.path(base, kind).rename(self.path(base, kind + ".deleted"))
                yield f"{base} {kind} is deleted"
        for kind in KINDS:
            self.path(into, kind + ".swap").rename(self.path(into, kind))
            yield f"{kind} is in place"
        for base in bases:
            del self.segments[base]
        self.segments = dict(sorted({**self.segments, into: kept}.items()))

    def _batch(self, count: int, jitter: int, packed: bool) -> Made:
        records = []
        for number in range(count):
            self._values += 1
            self._clock += 7
            value = json.dumps({"value": self._values, "generation": self.generation}).encode()
            at = self._clock - (self._values * 131 % (jitter + 1))
            records.append(Record(self.next_offset + number, at, 0, b"key-%d" % (self._values % 5), value))
        data = v2_batch(records, codec=1, compress=_gzip) if packed else v2_batch(records)
        data = data[:12] + self.epoch.to_bytes(4, "big") + data[16:]
        self._note_epoch()
        self.made[data] = tuple(records)
        return Made(data, tuple(records))

    def _take(self, batch: Made) -> None:
        self.segments[self.last].append(batch)
        self.next_offset = batch.last + 1
        for record in batch.records:
            self.history[record.offset] = line("t", 0, record)

    def _create(self, base: int) -> None:
        for kind in KINDS:
            self.path(base, kind).write_bytes(b"")

    def _write_indexes(self, base: int) -> None:
        """As the broker does, in place."""
        for kind, data in zip(KINDS[1:], indexes(self.segments[base], base), strict=True):
            with open(self.path(base, kind), "r+b" if self.path(base, kind).exists() else "wb") as file:
                file.write(data)

    def _rename_away(self, base: int) -> None:
        for kind in KINDS:
            if self.path(base, kind).exists():
                self.path(base, kind).rename(self.path(base, kind + ".deleted"))

    def _checkpoint(self) -> None:
        _replace(self.data / "log-start-offset-checkpoint", f"0\n1\nt 0 {self.start}\n")

    def _note_epoch(self) -> None:
        if self.epoch not in dict(self._epochs):
            self._epochs.append((self.epoch, self.next_offset))
            self._checkpoint_epochs()

    def _forget_epochs(self) -> None:
        """Those that ended below the log start; the one before it then begins there."""
        starts = {epoch: max(start, self.start) for epoch, start in self._epochs}
        self._epochs = [(epoch, at) for at, epoch in {at: epoch for epoch, at in starts.items()}.items()]
        self._checkpoint_epochs()

    def _checkpoint_epochs(self) -> None:
        lines = [f"{epoch} {start}" for epoch, start in self._epochs]
        _replace(self.directory / "leader-epoch-checkpoint", "\n".join(["0", str(len(lines)), *lines, ""]))


def _replace(path: Path, text: str) -> None:
    """As Kafka does: written beside, then renamed."""
    new = path.with_name(path.name + ".tmp")
    new.write_text(text)
    new.rename(path)


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def header_of(data: bytes, at: int) -> tuple[int, int, int]:
    """Base offset, last offset and size of the batch at `at`."""
    fields = HEADER.unpack_from(data, at)
    return fields[0], fields[0] + fields[6], fields[1] + 12
