"""Manifests: what the plug-in writes is read, and what lies is refused before memory is taken for it."""

import base64
import copy
import json
import struct
import tracemalloc
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData, Unsupported
from kafkafs.format.tiers.manifest import LARGEST, LARGEST_CHUNK, parse_manifest, unpacked_frame
from tests.kafka import aiven

MANIFEST = {
    "version": "1",
    "chunkIndex": {"type": "variable", "originalChunkSize": 5000, "originalFileSize": 28212,
                   "transformedChunks": base64.b64encode(aiven.packed([900, 901, 1300, 900, 900, 700])).decode()},
    "segmentIndexes": {"offset": {"position": 0, "size": 60}, "timestamp": {"position": 60, "size": 76},
                       "producerSnapshot": {"position": 136, "size": 38},
                       "leaderEpoch": {"position": 174, "size": 36}, "transaction": None},
    "compression": True,
    "remoteLogSegmentMetadata": {
        "remoteLogSegmentId": {
            "topicIdPartition": {"topicId": "4ke7L66pTJ69Wc3f4EQzWw",
                                 "topicPartition": {"topic": "orders", "partition": 3}},
            "id": "EDYc9BIPSxuxlT08HU2cWg"},
        "startOffset": 960, "endOffset": 1439, "maxTimestampMs": 1632390217073, "brokerId": 1,
        "eventTimestampMs": 1795565872223, "segmentLeaderEpochs": {"10": 1000, "2": 960}, "txnIdxEmpty": False},
}  # fmt: skip


def changed(path: str, value: object) -> bytes:
    made: Any = copy.deepcopy(MANIFEST)
    *above, last = path.split("/")
    place = made
    for name in above:
        place = place[name]
    place[last] = value
    return json.dumps(made).encode()


def test_a_manifest_tells_offsets_epochs_and_chunks():
    found = parse_manifest(json.dumps(MANIFEST).encode())
    assert (found.topic, found.partition, found.start_offset, found.end_offset) == ("orders", 3, 960, 1439)
    assert found.epochs == ((2, 960), (10, 1000))
    assert found.max_timestamp == 1632390217073
    assert found.indexes == {"index": (0, 60), "timeindex": (60, 76), "snapshot": (136, 38),
                             "leader_epoch_checkpoint": (174, 36)}  # fmt: skip
    assert [found.chunks.place(number) for number in (0, 2, 5)] == [(0, 900), (1801, 1300), (4901, 700)]
    assert [found.chunks.length(number) for number in (0, 5)] == [5000, 3212]


def test_a_fixed_index_has_one_size_for_all_but_the_last():
    index = {"type": "fixed", "originalChunkSize": 5000, "originalFileSize": 12000, "transformedChunkSize": 5028,
             "finalTransformedChunkSize": 2028}  # fmt: skip
    chunks = parse_manifest(changed("chunkIndex", index)).chunks
    assert chunks.positions.tolist() == [0, 5028, 10056, 12084]


@given(st.lists(st.integers(0, LARGEST_CHUNK), min_size=1, max_size=40))
def test_sizes_come_back_as_they_were_packed(sizes):
    index = {"type": "variable", "originalChunkSize": 10, "originalFileSize": 10 * len(sizes),
             "transformedChunks": base64.b64encode(aiven.packed(sizes)).decode()}  # fmt: skip
    chunks = parse_manifest(changed("chunkIndex", index)).chunks
    assert [chunks.place(number)[1] for number in range(len(sizes))] == sizes


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("chunkIndex/originalChunkSize", 0),
        ("chunkIndex/originalChunkSize", -1),
        ("chunkIndex/originalFileSize", 2**31),
        ("chunkIndex/originalFileSize", 2**31 - 1),
        ("chunkIndex/transformedChunks", "KLUv"),
        ("chunkIndex/transformedChunks", "not base64!"),
        ("segmentIndexes/offset", {"position": -1, "size": 3}),
        ("segmentIndexes/offset", {"position": 0, "size": "many"}),
        ("remoteLogSegmentMetadata/startOffset", 1440),
        ("remoteLogSegmentMetadata/segmentLeaderEpochs", {}),
        ("remoteLogSegmentMetadata/segmentLeaderEpochs", {"x": 1}),
        ("remoteLogSegmentMetadata/remoteLogSegmentId", None),
        ("encryption", {"dataKey": "k1:!!", "aad": "AA=="}),
        ("remoteLogSegmentMetadata/maxTimestampMs", 10**400),
        ("remoteLogSegmentMetadata/maxTimestampMs", float("inf")),
        ("remoteLogSegmentMetadata/remoteLogSegmentId/topicIdPartition/topicPartition/topic", "../up"),
    ],
)
def test_what_cannot_be_is_refused(path, value):
    with pytest.raises(CorruptData):
        parse_manifest(changed(path, value))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"\xff\xfe", b'{"version":"1"}'])
def test_what_is_no_manifest_is_refused(data):
    with pytest.raises(CorruptData):
        parse_manifest(data)


def test_icebergs_format_and_unknown_versions_are_named():
    with pytest.raises(Unsupported, match="Iceberg"):
        parse_manifest(b"PFA1 and so on PFA1")
    with pytest.raises(Unsupported, match="version '2'"):
        parse_manifest(changed("version", "2"))


def test_a_frame_that_states_too_much_takes_no_memory():
    """The library believes what a frame states: a bomb of 20 KB would take a gigabyte."""
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 28))
    with pytest.raises(CorruptData, match="states 268435456 bytes"):
        unpacked_frame(bomb, 5000)
    silent = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(6000))
    with pytest.raises(CorruptData):
        unpacked_frame(silent, 5000)
    assert unpacked_frame(zstandard.ZstdCompressor().compress(b"abc"), 5000) == b"abc"


def test_a_count_that_lies_is_refused():
    lying = zstandard.ZstdCompressor().compress(struct.pack(">ii", 1, 700))
    with pytest.raises(CorruptData, match="sizes of 1 chunks, and its segment has 6"):
        parse_manifest(changed("chunkIndex/transformedChunks", base64.b64encode(lying).decode()))


FIXED = {"type": "fixed", "originalFileSize": 2**31 - 1, "transformedChunkSize": 1, "finalTransformedChunkSize": 1}


def packed(count: int) -> str:
    return base64.b64encode(
        zstandard.ZstdCompressor().compress(struct.pack(">iib", count, 1, 4) + bytes(count))
    ).decode()


@pytest.mark.parametrize(
    "data",
    [
        changed("chunkIndex", FIXED | {"originalChunkSize": 1}),
        changed("chunkIndex", FIXED | {"originalChunkSize": 1000}),
        changed("chunkIndex", FIXED | {"originalChunkSize": 2**31 - 1}),
        changed("chunkIndex/originalChunkSize", 2**31 - 1).replace(b"28212", str(2**31 - 1).encode()),
        changed("chunkIndex/transformedChunks", base64.b64encode(aiven.packed([1] * 5 + [2**31 - 1])).decode()),
        changed("segmentIndexes/offset", {"position": 0, "size": 2**31 - 1}),
        b'{"version":"1","chunkIndex":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"version":"1","chunkIndex":[' + b"{}," * 500_000 + b"{}]}",
        b" " * (LARGEST + 1),
    ],
    ids=["chunks of a byte", "many chunks", "one chunk", "one unpacked chunk", "a fetched chunk", "an index", "depth",
         "parts", "length"],
)  # fmt: skip
def test_what_would_take_much_memory_is_refused_before_it_is_taken(data):
    refused_in_little_memory(data)


def test_a_count_of_chunks_that_would_take_much_memory_is_refused():
    """It is packed here, and not where each worker collects: that takes a fifth of a second."""
    lying = {"type": "", "originalChunkSize": 1, "transformedChunks": packed(1 << 28)}
    refused_in_little_memory(changed("chunkIndex", FIXED | lying))


def refused_in_little_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CorruptData):
            parse_manifest(data)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_window_is_no_larger_than_what_it_holds():
    """A frame of a few bytes that says nothing of its size may ask for a window of gigabytes."""
    silent = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    ).compressobj()
    with pytest.raises(CorruptData):
        unpacked_frame(silent.compress(b"abc") + silent.flush(), 5000)
