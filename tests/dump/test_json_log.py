"""`--json`: the same facts as lines that a program can take."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafkafs.dump.dump_options import DumpOptions
from tests.dump.dumped import dumped
from tests.kafka.dataset import Dataset

LOG = "00000000000000000000.log"


def lines(directory: Path, name: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dumped(directory, name, DumpOptions(json=True, **options)).text.splitlines()]


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex", "snapshot"])
def test_entries_have_the_names_and_numbers_of_the_text(stopped: Dataset, suffix: str) -> None:
    """A script may change from one to the other without a second thought."""
    compared = 0
    for name, text in stopped.dumps("plain").items():
        if name.endswith(f".{suffix}") and not text.endswith("is empty.\n"):
            shown = [" ".join(f"{key}: {_java(key, value)}" for key, value in line.items() if key != "file")
                     for line in lines(stopped.path, name)]  # fmt: skip
            assert shown == text.splitlines()[1:]
            compared += len(shown)
    assert compared > 20


def _java(key: str, value: int | None) -> str:
    if key == "currentTxnFirstOffset":
        return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"
    return str(value)


def test_batches_are_the_batches_of_the_text(stopped: Dataset) -> None:
    """With the fields of `.batches.jsonl`."""
    text = stopped.dumps("plain")[f"transactions-0/{LOG}"]
    for line, batch in zip(text.splitlines()[2:], lines(stopped.path, f"transactions-0/{LOG}"), strict=True):
        assert f"baseOffset: {batch['baseOffset']} lastOffset: {batch['lastOffset']} count: {batch['count']} " in line
        assert f" position: {batch['position']} " in line
        assert f" crc: {batch['crc']} isvalid: {'true' if batch['valid'] else 'false'}" in line


def test_records_are_those_of_kafkas_consumer(stopped: Dataset) -> None:
    """Control records are left out, as for a consumer."""
    shown = lines(stopped.path, f"codec-lz4-0/{LOG}", print_data_log=True)
    assert [(line["offset"], line["timestamp"]) for line in shown] == [
        (record.offset, record.timestamp_ms) for record in stopped.records("codec-lz4")
    ]
    assert {(line["topic"], line["partition"]) for line in shown} == {("codec-lz4", 0)}


def test_what_is_no_batch_is_a_line_too(stopped: Dataset, tmp_path: Path) -> None:
    """Nothing of a file goes unmentioned."""
    whole = (stopped.directory("codec-lz4") / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(whole + b"rubbish at the end of it")
    last = lines(tmp_path, LOG)[-1]
    assert (last["position"], last["size"], last["valid"]) == (len(whole), 24, False)
    answer = dumped(tmp_path, LOG, DumpOptions(json=True, deep_iteration=True))
    assert answer.problems == [f"{LOG}: the 24 bytes at position {len(whole)} are not a batch."]


def test_an_index_says_whether_it_is_sane(stopped: Dataset) -> None:
    """And an empty one, of which there is nothing to say, says nothing."""
    name = "segments-0/00000000000000000000.index"
    assert lines(stopped.path, name, index_sanity_check=True) == [{"file": name, "passed": True}]
