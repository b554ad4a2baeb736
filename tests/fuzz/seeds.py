"""What each target is fed first: inputs that it takes, so that a mutation breaks one thing and not the first byte."""

import gzip
import struct

import zstandard

from kafkafs.format.codecs import GZIP, LZ4, SNAPPY, ZSTD
from tests.cluster.writing import Pair, commit, marker, metadata, pair, transaction
from tests.format import golden, packers
from tests.format.batch_maker import record_bytes, v2_batch
from tests.format.test_producer_snapshot import GOLDEN as SNAPSHOT
from tests.format.test_transaction_index import GOLDEN as ABORTED
from tests.kafka.registered import cases

BATCHES = [whole for whole, _ in golden.BATCHES.values()]
_TEXT = b'{"user":"u17","amount":17,"note":"seventeen"}' * 40
_RECORDS = b"".join(record_bytes(record, 100, 1000) for record in golden.V2)
_OFFSETS = struct.pack(">6i", 0, 0, 10, 4096, 25, 9000)
_TIMES = struct.pack(">qiqiqi", 1000, 0, 1005, 10, 1700, 25)
_PACKED = [
    (GZIP, 2, gzip.compress(_TEXT)), (GZIP, 2, gzip.compress(_TEXT, 0)),
    (SNAPPY, 2, packers.xerial(_TEXT, 500)), (SNAPPY, 2, packers.bare_snappy(_TEXT)),
    (LZ4, 2, packers.lz4_frame(_TEXT)), (LZ4, 0, packers.lz4_frame(_TEXT, kafka_v0=True)),
    (LZ4, 2, packers.lz4_frame(_TEXT, sums=True, content_sum=True, content_size=True)),
    (ZSTD, 2, zstandard.compress(_TEXT)), (ZSTD, 2, zstandard.ZstdCompressor(write_checksum=True).compress(_TEXT)),
]  # fmt: skip
_SMALL_FILES = [
    b"0\n2\ntopic 0 17\nother-topic 12 4000000000\n", b"0\n2\n0 0\n3 120\n",
    b"version: 0\ntopic_id: Tm93IGlzIHRoZSB0aW1lIQ\n", SNAPSHOT,
    struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 7) + bytes.fromhex("030000000100000000020000000008000300"),
]  # fmt: skip
_OFFSET_KEY = struct.pack(">hh", 1, 1) + b"g\0\1t" + struct.pack(">i", 5)
_MESSAGES = [  # a committed offset, a classic group, a consumer group's member, a partition, a quota, a remote segment
    bytes([len(_OFFSET_KEY)])
    + _OFFSET_KEY
    + struct.pack(">hqih", 4, 160, 7, 0)[:-2]
    + b"\2m"
    + bytes(8)
    + b"\1\0\x10"
    + bytes(16),
    b"\5\0\2\0\1g" + b"\0\0\0\x08consumer" + bytes(4) + b"\xff\xff\xff\xff" + bytes(4),
    b"\x08\0\5\0\1g\0\1m" + b"\0\0" + b"\0\0\2c\2h\2\2t\0\0\0\0\1\0\1\0\1\0",
    b"\0\1\3\2" + bytes(20) + b"\2" + bytes(4) + b"\1" * 3 + bytes(12) + b"\2" + bytes(16) + b"\1\1\2\2" + bytes(4),
    b"\0\1\x0e\0\2\5user\2a\0\2k" + struct.pack(">d", 1e10) + b"\0\0",
    b"\0\1\2\0\2t" + bytes(20) + b"\0\0" + bytes(12) + b"\0\0",
]
_NAMES = [
    "topic-0", "a.b_c-12.7f0d5a3e9c4b4d0c8f1e2a3b4c5d6e7f-delete", "00000000000000000017.log",
    "00000000000000000017.timeindex.deleted", "23147..23350.jsonl", "-1.value", "1632390207806",
    "-90m..now.follow.jsonl", "2021-09-23T09:43:27.806Z..", "latest", "23350.explain", "..23350.batches.jsonl",
]  # fmt: skip


def _cluster(*pairs: Pair, flags: int = 0) -> bytes:
    """Records as the target `cluster` takes them."""
    made = b""
    for key, value in pairs:
        there = flags | (4 if key is not None else 0) | (8 if value is not None else 0)
        made += bytes([there, len(key or b""), len(value or b"")]) + (key or b"") + (value or b"")
    return made


_TOPIC = metadata("TopicRecord", name="t", topicId="A" * 21 + "Q")
_CLUSTERS = [
    _cluster(commit("g", "t", 0, 5)) + _cluster(commit("g", "t", 0, 6), flags=1) + _cluster(marker(), flags=3),
    _cluster(pair("GroupMetadata", {"group": "g"}, {"protocolType": "consumer"}), commit("g/", "t", 0, None)),
    _cluster(pair("StreamsGroupMetadata", {"groupId": "s"}, {"epoch": 1}),
             pair("StreamsGroupMemberMetadata", {"groupId": "s", "memberId": "m"}, {"clientId": "c"})),
    _cluster(transaction("x", producerId=1, transactionStatus=1)),
    _cluster(_TOPIC, metadata("PartitionRecord", 1, topicId="A" * 21 + "Q", partitionId=0, replicas=[1])),
    _cluster(metadata("BeginTransactionRecord"), _TOPIC, metadata("EndTransactionRecord")),
    _cluster(metadata("ConfigRecord", resourceType=4, resourceName="1", name="x", value="y")),
]  # fmt: skip

SEEDS: dict[str, list[bytes]] = {
    "batches": [*BATCHES, b"".join(BATCHES[:1] * 3), v2_batch(golden.V2, codec=ZSTD, compress=zstandard.compress)],
    "records": [b"\0" + (3).to_bytes(3, "big") + _RECORDS,
                *(bytes([codec]) + (3).to_bytes(3, "big") + whole[61:]
                  for codec, whole in ((0, golden.V2_NONE), (GZIP, golden.V2_GZIP)))],
    "packed": [bytes([codec - 1, magic]) + data for codec, magic, data in _PACKED],
    "indexes": [_OFFSETS, _TIMES, _OFFSETS + bytes(40), _TIMES + bytes(36), ABORTED],
    "small_files": _SMALL_FILES,
    "messages": _MESSAGES,
    "schema_texts": [b'{"type":"record","name":"R","fields":[{"name":"a","type":["null","long"]}]}\0\2\4',
                     b'syntax = "proto3"; message A { int32 x = 1; map<string, A> m = 2; }\0\0\x08\1', b'"bytes"\0ab'],
    "avro_payloads": [case.value[5:] for case in cases() if case.topic == "every" and case.value],
    "protobuf_payloads": [b"\0\x1a\1x\x2a\0\x3a\3\x0a\1k", b"\4\2\0\x0a\2\x0a\0", b"\0\x52\2\x08\1"],
    "json_payloads": [b'{"a":[1,2.5e3,"\\u00e9",null,true]}', b'"\xc3\xa9"', b"-0.1"],
    "names": [name.encode() for name in _NAMES],
    "cluster": _CLUSTERS,
    "partition": [*BATCHES, b"".join(BATCHES[:2] * 2) + _OFFSETS, v2_batch(golden.V2) * 3 + _TIMES],
}  # fmt: skip
