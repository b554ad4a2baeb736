"""A whole file, whatever is in it."""

import gzip
import io
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import Source
from kafkafs.dump.file_dump import dump
from kafkafs.errors import NotFound
from tests.format.batch_maker import v2_around
from tests.format.golden import V0_LZ4, V1_NONE, V2_GZIP, V2_NONE

SUFFIXES = ["log", "index", "timeindex", "txnindex", "snapshot", "checkpoint"]
BATCHES = [V0_LZ4, V1_NONE, V2_GZIP, V2_NONE]
FLAGS = [{}, {"print_data_log": True}, {"json": True}, {"json": True, "deep_iteration": True}]


@dataclass
class InMemory:
    """A file that is none; `kafkafs.log` opens real ones."""

    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)

    def read(self, position: int, size: int) -> bytes:
        return self.content[position : position + size]

    read_long = read


@st.composite
def nearly_logs(draw: st.DrawFn) -> bytes:
    """Batches with some bytes changed, and rubbish between them."""
    content = bytearray(b"".join(draw(st.lists(st.sampled_from(BATCHES) | st.binary(max_size=30), max_size=5))))
    for at, byte in draw(st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=4)):
        if at < len(content):
            content[at] = byte
    return bytes(content)


def dump_of(suffix: str, content: bytes, neighbour: bytes, flags: dict[str, bool]) -> bytes:
    def open_file(name: str) -> InMemory:
        if name.endswith((f".{suffix}", ".log")):
            return InMemory(content if name.endswith(f".{suffix}") else neighbour)
        raise NotFound(name)

    text = io.BytesIO()
    source = Source(f"0.{suffix}", f"/test-0/0.{suffix}", open_file)
    options = DumpOptions(limit=1 << 20, **flags)  # type: ignore[arg-type]
    text.writelines(dump(source, options, Findings()))
    return text.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(deadline=None)
@given(content=nearly_logs() | st.binary(max_size=200), neighbour=nearly_logs(), flags=st.sampled_from(FLAGS))
def test_no_bytes_end_a_dump_with_an_exception(
    suffix: str, content: bytes, neighbour: bytes, flags: dict[str, bool]
) -> None:
    """Whatever a broker left, or somebody else put there."""
    text = dump_of(suffix, content, neighbour, flags)
    assert flags.get("json") or text.startswith(f"Dumping 0.{suffix}\n".encode())


@given(batches=st.lists(st.sampled_from([V1_NONE, V2_NONE, V2_GZIP]), max_size=4), rubbish=st.binary(max_size=10))
def test_all_bytes_are_accounted_for(batches: list[bytes], rubbish: bytes) -> None:
    """What is no batch is counted at the end."""
    text = dump_of("log", b"".join(batches) + rubbish, b"", {}).decode()
    shown = sum(int(line.split(" size: ")[1].split()[0]) for line in text.splitlines()[2:] if " size: " in line)
    assert shown == sum(map(len, batches))
    assert text.endswith(f"Found {len(rubbish)} invalid bytes at the end of 0.log\n") == bool(rubbish)


def test_a_bomb_is_not_unpacked() -> None:
    """Sixteen at once in a mount must not need gigabytes."""
    bomb = v2_around(gzip.compress(bytes(50 << 20)), 1, attributes=1)
    text = dump_of("log", V2_NONE + bomb + V2_NONE, b"", {"print_data_log": True}).decode()
    assert text.count("baseOffset: ") == 3
    assert text.count("key: k1") == 2
