"""What a file is, by its name."""

import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.dump.dump_findings import Findings, Unreported
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import Source
from kafkafs.dump.file_dump import dump, dump_from, is_dumpable, is_log
from kafkafs.errors import NotFound, Vanished
from tests.dump.dumped import dumped, source_of
from tests.format.batch_maker import v2_around
from tests.format.golden import V0_LZ4, V1_NONE, V2_GZIP, V2_NONE
from tests.kafka.dataset import Dataset

KINDS = ["0.log", "0.index", "0.timeindex", "0.txnindex", "0.snapshot", "bootstrap.checkpoint"]


def test_the_kinds_that_the_tool_understands_have_a_dump() -> None:
    """By what follows the last dot."""
    assert all(map(is_dumpable, KINDS))
    assert [name for name in KINDS if is_log(name)] == ["0.log", "bootstrap.checkpoint"]
    others = ["0.log.deleted", "0.log.swap", "leader-epoch-checkpoint", "partition.metadata", "log", "0.LOG", ""]
    assert not any(map(is_dumpable, others))


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("00000000000000000100.log", "Log starting offset: 100"),
        ("bootstrap.checkpoint", "KRaft bootstrap snapshot"),
        ("00000000000000000042-0000000003.checkpoint", "Snapshot end offset: 42, epoch: 3"),
    ],
)
def test_a_log_is_headed_by_what_its_name_says(tmp_path: Path, name: str, heading: str) -> None:
    """Before any of its batches."""
    (tmp_path / name).write_bytes(V2_NONE)
    lines = dumped(tmp_path, name, DumpOptions()).text.splitlines()
    assert lines[:2] == [f"Dumping {name}", heading]
    assert lines[2].startswith("baseOffset: 100 ")


@pytest.mark.parametrize("name", ["copy.log", "copy.checkpoint", "00000000000000000042-3.checkpoint"])
def test_a_name_that_says_nothing_is_reported_and_the_rest_is_shown(tmp_path: Path, name: str) -> None:
    """Kafka's tool ends there with an exception."""
    (tmp_path / name).write_bytes(V2_NONE)
    answer = dumped(tmp_path, name, DumpOptions())
    assert answer.text.splitlines()[1].startswith("baseOffset: 100 ")
    assert "its name holds no offset" in answer.problems[0]


def test_a_dump_can_go_on_from_any_of_its_marks(stopped: Dataset) -> None:
    """Readers of a mount jump about; the text is made again from the nearest mark."""
    source, options = source_of(stopped.path, "large-0/00000000000000000000.log"), DumpOptions(print_data_log=True)
    pieces = list(dump_from(source, options, Unreported(), 0))
    marks = [number for number, (mark, _) in enumerate(pieces) if mark is not None]
    assert marks
    for number in marks:
        rest = b"".join(text for _, text in pieces[number + 1 :])
        position = pieces[number][0]
        assert position is not None
        assert b"".join(text for _, text in dump_from(source, options, Unreported(), position)) == rest


def test_a_file_that_shrinks_meanwhile_is_an_error(tmp_path: Path) -> None:
    """A broker may truncate; the end of a dump must not look like the end of a log."""
    (tmp_path / "0.log").write_bytes(V2_NONE * 30_000)
    text = dump_from(source_of(tmp_path, "0.log"), DumpOptions(), Unreported(), 0)
    while next(text)[0] is None:
        pass
    with open(tmp_path / "0.log", "r+b") as log:
        log.truncate(100)
    with pytest.raises(Vanished, match="became shorter"):
        list(text)


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


PIECES = st.lists(st.sampled_from(BATCHES) | st.binary(max_size=30), max_size=5)
CHANGES = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=4)


@st.composite
def nearly_logs(draw: st.DrawFn) -> bytes:
    """Batches with some bytes changed, and rubbish between them."""
    content = bytearray(b"".join(draw(PIECES)))
    for at, byte in draw(CHANGES):
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
