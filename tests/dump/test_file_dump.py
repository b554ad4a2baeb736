"""What a file is, by its name."""

from pathlib import Path

import pytest

from kafkafs.dump.dump_findings import Unheard
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.file_dump import dump_from, is_dumpable, is_log
from kafkafs.errors import Vanished
from tests.dump.dumped import dumped, source_of
from tests.format.golden import V2_NONE
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
def test_a_name_that_says_nothing_is_told_and_the_rest_is_shown(tmp_path: Path, name: str) -> None:
    """Kafka's tool ends there with an exception."""
    (tmp_path / name).write_bytes(V2_NONE)
    answer = dumped(tmp_path, name, DumpOptions())
    assert answer.text.splitlines()[1].startswith("baseOffset: 100 ")
    assert "its name holds no offset" in answer.problems[0]


def test_a_dump_can_go_on_from_any_of_its_marks(stopped: Dataset) -> None:
    """Readers of a mount jump about; the text is made again from the nearest mark."""
    source, options = source_of(stopped.path, "large-0/00000000000000000000.log"), DumpOptions(print_data_log=True)
    pieces = list(dump_from(source, options, Unheard(), 0))
    marks = [number for number, (mark, _) in enumerate(pieces) if mark is not None]
    assert marks
    for number in marks:
        rest = b"".join(text for _, text in pieces[number + 1 :])
        position = pieces[number][0]
        assert position is not None
        assert b"".join(text for _, text in dump_from(source, options, Unheard(), position)) == rest


def test_a_file_that_shrinks_meanwhile_is_an_error(tmp_path: Path) -> None:
    """A broker may truncate; the end of a dump must not look like the end of a log."""
    (tmp_path / "0.log").write_bytes(V2_NONE * 30_000)
    text = dump_from(source_of(tmp_path, "0.log"), DumpOptions(), Unheard(), 0)
    while next(text)[0] is None:
        pass
    with open(tmp_path / "0.log", "r+b") as log:
        log.truncate(100)
    with pytest.raises(Vanished, match="became shorter"):
        list(text)
