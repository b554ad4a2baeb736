"""A manifest of Aiven's plug-in: what a remote segment holds, and where its chunks and indexes are in its objects.

A `.log` object is chunks end to end. Chunk i holds bytes [i * chunk size, ...) of the segment, first compressed (one
zstd frame) and then encrypted, each where the manifest says so. Sources: SegmentManifestV1, ChunkIndex,
ChunkSizesBinaryCodec of the plug-in; `segmentIndexes` are positions in the `.indexes` object.
"""

import base64
import binascii
import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import zstandard

from kafkafs.errors import CorruptData, Unsupported
from kafkafs.format.names import parse_partition_name

LARGEST, _MOST_PARTS = 2 << 20, 20_000
"""Bytes of a manifest that is read at all, and its values: a writer's have some dozens, and a few for each epoch."""

MOST_CHUNKS = 1 << 18
"""The most chunks of a segment: a gigabyte in chunks of 4 KiB. The plug-in's default is 4 MiB."""

LARGEST_CHUNK = 64 << 20
"""Bytes of a chunk or an index that is held as a whole, since it has to be decrypted or unpacked."""

_LARGEST_PIECE = LARGEST_CHUNK + (LARGEST_CHUNK >> 6)
"""Bytes of such a chunk in its object: what does not compress becomes a little larger."""

_WINDOW = 8 << 20
"""Bytes of a window that any frame may ask for (RFC 8878)."""

PUFFIN = b"PFA1"
_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
_INDEXES = {
    "offset": "index",
    "timestamp": "timeindex",
    "producerSnapshot": "snapshot",
    "leaderEpoch": "leader_epoch_checkpoint",
    "transaction": "txnindex",
}

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


class Chunks(NamedTuple):
    """A segment of `size` bytes in chunks of `chunk_size`; `positions` of all chunks in the object, and of its end. One
    that is neither compressed nor encrypted counts as one chunk, of which any part can be read."""

    size: int
    chunk_size: int
    positions: Positions

    def place(self, number: int) -> tuple[int, int]:
        """Position and size of a chunk in the object."""
        at, behind = self.positions[number : number + 2].tolist()
        return at, behind - at

    def length(self, number: int) -> int:
        """Bytes of the segment in that chunk."""
        return min(self.chunk_size, self.size - number * self.chunk_size)


class Encryption(NamedTuple):
    """The segment's AES key, wrapped by the key of that id; `aad` goes with each piece that is decrypted."""

    key_id: str
    wrapped: bytes
    aad: bytes

    @property
    def sentence(self) -> str:
        """The advice for a missing key: a mount and Spark call the option tiered_key, commands call it --tiered-key."""
        how = f"name its private key by tiered_key, or --tiered-key, {self.key_id}:FILE"
        return f"it is encrypted with the key {self.key_id!r}: {how}"


class Manifest(NamedTuple):
    """One remote segment. `indexes` are the position and size of each kind in the `.indexes` object."""

    topic: str
    topic_id: str
    partition: int
    segment_id: str
    start_offset: int
    end_offset: int  # the last record's offset
    max_timestamp: int
    epochs: tuple[tuple[int, int], ...]  # leader epoch and its first offset in the segment, ascending
    chunks: Chunks
    indexes: Mapping[str, tuple[int, int]]
    is_compressed: bool
    encryption: Encryption | None

    @property
    def is_plain(self) -> bool:
        """True if the object holds the log without any change."""
        return not self.is_compressed and self.encryption is None


def parse_manifest(data: bytes) -> Manifest:
    """The manifest; CorruptData if it contradicts itself or would take memory that none needs, Unsupported for one
    of Iceberg's format."""
    if data[: len(PUFFIN)] == PUFFIN:
        raise Unsupported("the segment is in Iceberg's format: its records are in the Parquet files of a table")
    if len(data) > LARGEST or sum(map(data.count, (b",", b"[", b"{"))) > _MOST_PARTS:
        raise CorruptData("it is larger than a manifest can be")
    try:
        fields = json.loads(data)
        if fields["version"] != "1":
            raise Unsupported(f"the manifest has version {fields['version']!r}, which kafkafs does not know")
        return _manifest(fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
        raise CorruptData(f"it is no manifest of Aiven's plug-in: {type(error).__name__} at {error}") from error


def unpacked_frame(frame: bytes, limit: int) -> bytes:
    """Unpack one zstd frame. Raise CorruptData if it is not a frame, or if it states or holds more than `limit` bytes.

    The library believes the size that a frame states, and the window where it states none: that is looked at first.
    """
    try:
        stated = zstandard.get_frame_parameters(frame)
        is_stated = stated.content_size != zstandard.CONTENTSIZE_UNKNOWN
        if is_stated and stated.content_size > limit:
            raise CorruptData(f"a frame states {stated.content_size} bytes, and at most {limit} are possible")
        if not is_stated and stated.window_size > max(limit, _WINDOW):
            raise CorruptData(
                f"a frame asks for a window of {stated.window_size} bytes, and at most {limit} are possible"
            )
        return zstandard.ZstdDecompressor().decompress(frame, max_output_size=limit, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptData(str(error)) from error


def _manifest(fields: dict[str, Any]) -> Manifest:
    about = fields["remoteLogSegmentMetadata"]
    ids = about["remoteLogSegmentId"]
    topic_id, place = str(ids["topicIdPartition"]["topicId"]), ids["topicIdPartition"]["topicPartition"]
    name = parse_partition_name(f"{place['topic']}-{place['partition']}")
    if name is None or name.mark:
        raise CorruptData("the manifest names an impossible partition")
    start, end = _within(about["startOffset"], _INT64), _within(about["endOffset"], _INT64)
    epochs = sorted((_within(int(epoch), _INT32), _within(first, _INT64))
                    for epoch, first in about["segmentLeaderEpochs"].items())  # fmt: skip
    if end < start or not epochs:
        raise CorruptData(f"the manifest says that its segment goes from offset {start} to {end} in {epochs}")
    is_compressed, encryption = bool(fields["compression"]), _encryption(fields.get("encryption"))
    return Manifest(
        name.topic,
        topic_id,
        name.partition,
        str(ids["id"]),
        start,
        end,
        _within(about["maxTimestampMs"] + 1, _INT64) - 1,
        tuple(epochs),
        _chunks(fields["chunkIndex"], not is_compressed and encryption is None),
        dict(_indexes(fields["segmentIndexes"])),
        is_compressed,
        encryption,
    )


def _within(number: Any, limit: int) -> int:
    if not isinstance(number, int) or not 0 <= number <= limit:
        raise CorruptData(f"the manifest has a number that is not between 0 and {limit}")
    return number


def _indexes(fields: dict[str, Any]) -> list[tuple[str, tuple[int, int]]]:
    return [
        (kind, (_within(fields[name]["position"], _INT32), _within(fields[name]["size"], LARGEST_CHUNK)))
        for name, kind in _INDEXES.items()
        if fields.get(name) is not None
    ]


def _chunks(fields: dict[str, Any], is_plain: bool) -> Chunks:
    size, chunk_size = _within(fields["originalFileSize"], _INT32), _within(fields["originalChunkSize"], _INT32)
    if is_plain:
        return Chunks(size, max(size, 1), np.array((0, size), np.int64))
    count = -(-size // chunk_size) if chunk_size else 0
    if chunk_size == 0 or count > MOST_CHUNKS or min(size, chunk_size) > LARGEST_CHUNK:
        raise CorruptData(
            f"its {size} bytes are in chunks of {chunk_size}, and kafkafs reads {MOST_CHUNKS} of up to {LARGEST_CHUNK}"
        )
    if fields["type"] == "fixed":
        sizes = np.full(count, _within(fields["transformedChunkSize"], _INT32), np.int64)
        if count:
            sizes[-1] = _within(fields["finalTransformedChunkSize"], _INT32)
    else:
        sizes = _sizes(base64.b64decode(fields["transformedChunks"], validate=True), count)
    if count and not 0 <= int(sizes.min()) <= int(sizes.max()) <= _LARGEST_PIECE:
        raise CorruptData("the manifest has a chunk of an impossible size")
    return Chunks(size, chunk_size, np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))))


def _sizes(packed: bytes, count: int) -> Positions:
    """The sizes of `count` chunks: int32 count; one int32, or int32 base, a width, differences of that width, int32."""
    data = unpacked_frame(packed, 13 + 4 * count)
    try:
        (stated,) = struct.unpack_from(">i", data)
        if stated != count:
            raise CorruptData(f"the manifest has sizes of {stated} chunks, and its segment has {count}")
        if count == 0:
            return np.zeros(0, np.int64)
        if count == 1:
            sizes = np.array(struct.unpack_from(">i", data, 4), np.int64)
        else:
            base, width = struct.unpack_from(">ib", data, 4)
            if not 1 <= width <= 4 or len(data) != 13 + width * (count - 1):
                raise CorruptData(f"the manifest's chunk sizes have {width} bytes each, {len(data)} in all")
            each = np.frombuffer(data, np.uint8, width * (count - 1), 9).reshape(-1, width).astype(np.int64)
            more = each @ (256 ** np.arange(width - 1, -1, -1))
            (final,) = struct.unpack_from(">i", data, len(data) - 4)
            sizes = np.append(base + more, final).astype(np.int64)
    except struct.error as error:
        raise CorruptData("the manifest's chunk sizes are cut") from error
    return sizes


def _encryption(fields: dict[str, Any] | None) -> Encryption | None:
    if fields is None:
        return None
    key_id, _, wrapped = fields["dataKey"].partition(":")
    return Encryption(key_id, base64.b64decode(wrapped, validate=True), base64.b64decode(fields["aad"], validate=True))
