"""Tiered partitions that lived several lives, made by hand: what a broker would have left on its disk and in its tier.

    past = Past()
    past.append(0, 30)        records of epoch 0, in batches
    past.roll()               the segment is closed, and uploaded
    past.cut(20)              a disk lost its tail, or another leader was elected that never had it
    past.start_at(13)         records below were deleted
    past.write(place, ...)    the tier in a layout, the disk with or without directory and metadata topic

Each value tells the epoch and the offset of its record, so that no record can be taken for another life's.
"""

import base64
import hashlib
import shutil
import struct
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from kafkafs.format.messages.writing import message_bytes
from kafkafs.format.varints import unsigned_bytes
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka import aiven
from tests.log.making import Made, indexes, write_partition

FIRST_MS = 1_600_000_000_000
Epochs = list[tuple[int, int]]
TOPIC_ID = base64.urlsafe_b64encode(hashlib.md5(b"t").digest()).decode().rstrip("=")
FOLDER = f"t-0-{TOPIC_ID}"


@cache
def key() -> aiven.KeyPair:
    """The key of encrypted layouts. Each process that only collects tests would take a tenth of a second for one."""
    return aiven.key_pair("k1")


@dataclass(frozen=True)
class Uploaded:
    """One upload: its batches, and the checkpoint of leader epochs that went along."""

    number: int
    base: int
    batches: tuple[Made, ...]
    epochs: tuple[tuple[int, int], ...]
    stop: int

    @property
    def segment_id(self) -> str:
        return base64.urlsafe_b64encode(hashlib.md5(b"%d" % self.number).digest()).decode().rstrip("=")

    @property
    def stem(self) -> str:
        return f"{self.base:020}-{self.segment_id}"


def batch(epoch: int, base: int, count: int) -> Made:
    records = tuple(
        Record(each, FIRST_MS + 1000 * each, 0, b"k%d" % each, b"%d:%d" % (epoch, each))
        for each in range(base, base + count)
    )
    return Made(v2_batch(records, epoch=epoch), records)


@dataclass
class Past:
    """See the module."""

    batches: list[Made] = field(default_factory=list)  # of the log as it is now
    bases: list[int] = field(default_factory=lambda: [0])  # of its segments
    lineage: Epochs = field(default_factory=list)
    uploads: list[Uploaded] = field(default_factory=list)
    start: int = 0

    @property
    def end(self) -> int:
        return self.batches[-1].last + 1 if self.batches else self.bases[-1]

    def elect(self, epoch: int) -> None:
        """A leader epoch begins at the log's end, perhaps without a record."""
        self.lineage = [each for each in self.lineage if each[1] < self.end]
        self.lineage.append((epoch, self.end))

    def append(self, epoch: int, count: int, per_batch: int = 5) -> None:
        if not self.lineage or self.lineage[-1][0] != epoch:
            self.elect(epoch)
        for base in range(self.end, self.end + count, per_batch):
            self.batches.append(batch(epoch, base, per_batch))

    def segment(self, base: int) -> tuple[Made, ...]:
        """The batches of the segment with that base."""
        stop = min((each for each in self.bases if each > base), default=self.end)
        return tuple(each for each in self.batches if base <= each.base < stop)

    def roll(self, upload: bool = True) -> None:
        """Closes the last segment."""
        base, stop = self.bases[-1], self.end
        if upload:
            epochs = tuple(each for each in self.lineage if each[1] < stop)
            self.uploads.append(Uploaded(len(self.uploads), base, self.segment(base), epochs, stop))
        self.bases.append(stop)

    def cut(self, offset: int) -> None:
        """Everything from a batch's offset on is lost; uploads stay."""
        self.batches = [each for each in self.batches if each.base < offset]
        self.bases = [each for each in self.bases if each < offset] or [0]
        self.lineage = [each for each in self.lineage if each[1] < offset]

    def start_at(self, offset: int) -> None:
        """Records below are deleted."""
        self.start = offset
        behind = [*(start for _, start in self.lineage[1:]), 1 << 62]
        kept = [each for each, stop in zip(self.lineage, behind, strict=True) if stop > offset]
        self.lineage = [(kept[0][0], max(offset, kept[0][1])), *kept[1:]]

    def write_tier(self, place: Path) -> Path:
        """The uploads as LocalTieredStorage has them."""
        for each in self.uploads:
            write_upload(place / FOLDER, each)
        return place

    def write_disk(self, place: Path, has_local: bool, has_metadata: bool) -> Path:
        """A broker's disk after local retention: the last segment, if the partition's directory is not lost."""
        write_partition(place, {0: [batch(0, 0, 1)]}, "other-0")
        starts = ["other 0 0", *([f"t 0 {self.start}"] if has_local else [])]
        (place / "log-start-offset-checkpoint").write_text("\n".join(["0", str(len(starts)), *starts]) + "\n")
        if has_local:
            base = self.bases[-1]
            write_partition(place, {base: self.segment(base)})
            (place / "t-0/leader-epoch-checkpoint").write_bytes(checkpoint(self.lineage))
            (place / "t-0/partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
        if has_metadata:
            messages = [message for each in self.uploads for message in reported(each)]
            records = tuple(Record(number, 1, 0, None, each) for number, each in enumerate(messages))
            write_partition(place, {0: [Made(v2_batch(records), records)]}, "__remote_log_metadata-0")
        return place


def checkpoint(epochs: Epochs | tuple[tuple[int, int], ...]) -> bytes:
    lines = ["0", str(len(epochs)), *(f"{epoch} {start}" for epoch, start in epochs)]
    return ("\n".join(lines) + "\n").encode()


def write_upload(folder: Path, each: Uploaded) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    offsets, times = indexes(each.batches, each.base)
    for kind, data in (
        ("log", b"".join(made.data for made in each.batches)), ("index", offsets), ("timeindex", times),
        ("leader_epoch_checkpoint", checkpoint(each.epochs)), ("snapshot", struct.pack(">hIi", 1, 0, 0)),
    ):  # fmt: skip
        (folder / f"{each.stem}.{kind}").write_bytes(data)


def reported(each: Uploaded) -> list[bytes]:
    """What the metadata topic has of a finished upload."""
    place = {"name": "t", "id": TOPIC_ID, "partition": 0}
    ids = {"topicIdPartition": place, "id": each.segment_id}
    behind = [*(start for _, start in each.epochs[1:]), 1 << 62]
    own = [
        {"leaderEpoch": epoch, "offset": max(each.base, start)}
        for (epoch, start), stop in zip(each.epochs, behind, strict=True)
        if stop > each.base
    ]
    started = {
        "remoteLogSegmentId": ids, "startOffset": each.base, "endOffset": each.stop - 1, "brokerId": 1,
        "maxTimestampMs": max(made.max_timestamp for made in each.batches), "eventTimestampMs": 1,
        "segmentLeaderEpochs": own, "segmentSizeInBytes": sum(len(made.data) for made in each.batches),
        "remoteLogSegmentState": 0,
    }  # fmt: skip
    finished = {"remoteLogSegmentId": ids, "brokerId": 1, "eventTimestampMs": 2, "remoteLogSegmentState": 1}
    return [
        framed(0, "RemoteLogSegmentMetadataRecord", started),
        framed(1, "RemoteLogSegmentMetadataUpdateRecord", finished),
    ]


def framed(key: int, name: str, fields: dict[str, object]) -> bytes:
    """The value of a record of the metadata topic."""
    return b"".join(map(unsigned_bytes, (1, key, 0))) + message_bytes("storage", name, 0, fields)


def in_layout(tier: Path, place: Path, layout: str) -> Path:
    """A tier of LocalTieredStorage's, in another layout."""
    if layout == "local":
        return tier
    pair = key() if "encrypted" in layout else None
    return aiven.write(tier, place, compress="zstd" in layout, key=pair)


def as_plain(past: Past, place: Path) -> Path:
    """The partition's directory, copied again and again into a folder from which nothing is deleted."""
    for each in past.uploads:
        stem = f"{each.base:020}"
        write_upload(place / "made", each)
        (place / "plain/t-0").mkdir(parents=True, exist_ok=True)
        for kind in ("log", "index", "timeindex"):
            shutil.copy(place / f"made/{each.stem}.{kind}", place / f"plain/t-0/{stem}.{kind}")
    (place / "plain/t-0/leader-epoch-checkpoint").write_bytes(checkpoint(past.lineage))
    (place / "plain/t-0/partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
    return place / "plain"
