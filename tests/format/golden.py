"""Bytes that Kafka's own classes wrote (kafka-format.md, section 11), and what a consumer of them gets."""

from typing import NamedTuple


class Record(NamedTuple):
    """What Kafka's consumer would hand out."""

    offset: int
    timestamp: int
    timestamp_type: int  # -1 none, 0 CreateTime, 1 LogAppendTime
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


V2 = (
    Record(100, 1000, 0, b"k1", b"v1"),
    Record(101, 1005, 0, None, b"v2", ((b"h", b"x"), (b"n", None))),
    Record(102, 998, 0, b"k3", None),
)
V1 = tuple(record._replace(headers=()) for record in V2)
V0 = tuple(record._replace(timestamp=-1, timestamp_type=-1) for record in V1)

V2_NONE = bytes.fromhex(
    "0000000000000064000000550000000702a2c9c11700000000000200000000000003e800000000000003edffffffffffffffffffffffffffff"
    "0000000314000000046b31047631001e000a02010476320402680278026e0110000304046b330100"
)
V2_GZIP = bytes.fromhex(
    "0000000000000064000000690000000702592ad70300010000000200000000000003e800000000000003edffffffffffffffffffffffffffff"
    "000000031f8b08000000000000ff1361606060c936642933649063e062626429336261ca60aa60ca631460606661c93666640000a913ff5a24"
    "000000"
)
V0_LZ4 = bytes.fromhex(
    "000000000000006600000068931cc30f0003ffffffff0000005a04224d1860401a4b0000001200010091640000001257e7496e0f0080026b31"
    "00000002760600000200f1006500000010d5960a780000ffffffff1c001032190040000000661c0041b643ca6a0e0070026b33ffffffff0000"
    "0000"
)
V1_NONE = bytes.fromhex(
    "00000000000000640000001ab1a6ec76010000000000000003e8000000026b310000000276310000000000000065000000185fce508c010000"
    "000000000003edffffffff0000000276320000000000000066000000181f3a17da010000000000000003e6000000026b33ffffffff"
)
V1_GZIP = bytes.fromhex(
    "000000000000006600000063e57b154e010100000000000003edffffffff0000004d1f8b08000000000000ff63608003a98dcbde94314239cc"
    "2f800453b621882c33840a822425e2cf05f4c055bdfd0f04603546502126901a792bf15b7035cfc02619835402001f24286b6e000000"
)
COMMIT = bytes.fromhex(
    "00000000000000c80000004200000007028b4b86c40030000000000000000000001388000000000000138800000000000010920003ffffffff"
    "000000012000000008000000010c00000000000900"
)

BATCHES: dict[str, tuple[bytes, tuple[Record, ...]]] = {
    "v2-none": (V2_NONE, V2),
    "v2-gzip": (V2_GZIP, V2),
    "v0-lz4": (V0_LZ4, V0),
    "v1-none": (V1_NONE, V1),
    "v1-gzip": (V1_GZIP, V1),
    "commit": (COMMIT, (Record(200, 5000, 0, bytes.fromhex("00000001"), bytes.fromhex("000000000009")),)),
}
