"""Keys that a real broker wrote, asked for through a real mount: every key, against what was produced."""

import base64
import errno
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from tests.fuse.test_contract_edges import error_of
from tests.kafka.writer import Record, Topic, Writer, create
from tests.mounting import KAFKAFS, run

SUFFIXES = (".jsonl", ".value", ".explain", ".history", ".decoded", ".follow", ".batches")


def named(key: bytes) -> bytes:
    """A key as the contract writes it: by another hand, with as few escapes as it takes."""
    name = key.replace(b"%", b"%25").replace(b"/", b"%2F").replace(b"\0", b"%00")
    if name in (b".", b"..") or name.endswith(tuple(each.encode() for each in SUFFIXES)):
        head, _, tail = name.rpartition(b".")
        return head.replace(b".", b"%2E") + b"%2E" + tail if name == b".." else head + b"%2E" + tail
    return name


@pytest.mark.slow
def test_every_key_of_a_real_topic(running_broker, mount, tmp_path):
    """With slashes, zero bytes, bytes that are no UTF-8, empty, ending in a suffix, and too long for a name."""
    broker, chance = running_broker("4.3.1"), random.Random(5)
    create(broker, {"keyed": Topic(settings={"segment.bytes": 1 << 20})})
    kinds = [
        b"", b"customer-17", b"a/b", b"/", b"\0", b"a\0b", b"\xff\xfe", b"odd.jsonl", b"odd.value", b"x.history",
        b"%41", b".", b"..", "schlüssel".encode(), b" ", b"new\nline", b".jsonl", b"a.b.c", b"%", b"%zz", b"a%2Fb",
        b".history", b"x.decoded", b"x.follow", b"x.batches", b"x.key", b"x.explain", b"x.decoded.jsonl",
        b"x.history.jsonl", b"...", b"-n", b"k" * 249, b"k" * 250, b"k" * 10_000,
    ]  # fmt: skip
    keys = [*kinds, *(b"customer-%d" % number for number in range(500))]
    written: list[Record] = []
    for codec in ("none", "lz4", "zstd"):
        writer = Writer(broker, codec)
        chosen = [Record(chance.choice([b"v", None, b"\xff", b"w" * 900]), chance.choice(keys)) for _ in range(3000)]
        written += chosen + [Record(b"first of " + codec.encode(), key) for key in kinds] + [Record(b"no key", None)]
        writer.stream("keyed", [*written[-len(chosen) - len(kinds) - 1 :]])
        writer.flush()
    shutil.copytree(broker.data, tmp_path / "data")
    found: dict[bytes, list[int]] = {}
    for offset, record in enumerate(written):
        if record.key is not None:
            found.setdefault(record.key, []).append(offset)
    place = os.fsencode(mount(tmp_path / "data").path) + b"/keyed-0/by-key/"
    last = {key: offsets[-1] for key, offsets in found.items()}
    for key, offset in last.items():
        name, value = place + named(key), written[offset].value
        if len(named(key) + b".jsonl") > 255:
            assert error_of(os.fsdecode(name + b".jsonl")) == errno.ENAMETOOLONG
            continue
        with open(name + b".jsonl", "rb") as file:
            line = json.loads(file.read())
        assert (line["offset"], key_of(line)) == (offset, key)
        assert error_of(os.fsdecode(name + b".value")) == (0 if value is not None else errno.ENODATA)
        assert key == b"" or error_of(os.fsdecode(name)) == 0
    for key in kinds[:-3]:
        with open(place + named(key) + b".history.jsonl", "rb") as file:
            assert [json.loads(line)["offset"] for line in file] == found[key]
    assert_without_a_mount(tmp_path / "data", kinds, found)
    for missing in ("nobody", "nobody.jsonl", "%", "a%2", "customer-17.follow.jsonl"):
        assert error_of(os.fsdecode(place) + missing) == errno.ENOENT
    assert error_of(os.fsdecode(place) + "x" * 300) == errno.ENAMETOOLONG
    assert run("ls", "-a", os.fsdecode(place)).stdout.split() == [b".", b".."]


def key_of(line: dict[str, str]) -> bytes:
    """The key that a line shows."""
    return base64.b64decode(line["keyBase64"]) if "keyBase64" in line else line["key"].encode()


def assert_without_a_mount(data: Path, kinds: list[bytes], found: dict[bytes, list[int]]) -> None:
    """`kafkafs cat` and `grep --key` find each kind, those too that are too long for a name."""
    names = [os.fsdecode(b"keyed-0/by-key/" + named(key) + b".jsonl") for key in kinds]
    shown = [json.loads(line) for line in run(KAFKAFS, "cat", data, *names).stdout.splitlines()]
    assert [(key_of(line), line["offset"]) for line in shown] == [(key, found[key][-1]) for key in kinds]
    sought = [key for key in kinds if key.isascii() or key == b"\xff\xfe"]  # \\xe9 is a letter in what is UTF-8
    pattern = "|".join("".join(f"\\x{byte:02x}" for byte in key) for key in sought)
    lines = run(KAFKAFS, "grep", "--key", "--topics", "keyed", f"^(?:{pattern})\\Z", data).stdout.splitlines()
    assert [json.loads(line)["offset"] for line in lines] == sorted(offset for key in sought for offset in found[key])
