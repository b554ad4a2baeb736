"""`segments/<file>.txt` through a real mount: what Kafka's dump tool was recorded to print."""

import pytest

from tests.conftest import Mount
from tests.kafka.dataset import Dataset
from tests.mounting import run

MODES = {".log": "print", ".checkpoint": "print"}


@pytest.fixture(name="stopped")
def stopped_() -> Dataset:
    """One release; all are compared in tests/dump."""
    return Dataset("4.3.1", "stopped")


def test_a_files_text_is_what_the_tool_prints(stopped: Dataset, mount: Mount) -> None:
    """`less segments/….log.txt` in place of a tool that takes seconds to start."""
    mounted = mount(stopped.path)
    compared = 0
    for partition in ("segments-0", "transactions-0", "binary-0", "nulls-0"):
        for file in sorted((stopped.path / partition).iterdir()):
            name = f"{partition}/{file.name}"
            recorded = stopped.dumps(MODES.get(file.suffix, "plain"))
            if name in recorded:
                text = run("cat", mounted / partition / "segments" / f"{file.name}.txt").stdout
                assert text == recorded[name].encode(), name
                compared += 1
    assert compared > 40


def test_a_text_is_read_like_a_pipe(stopped: Dataset, mount: Mount) -> None:
    """`less` and `tail` go to its end by reading, not by a size that it has not."""
    mounted = mount(stopped.path)
    name = "binary-0/00000000000000000000.log"
    path = mounted / "binary-0/segments/00000000000000000000.log.txt"
    whole = stopped.dumps("print")[name].encode()
    assert run("tail", "-c", "300", path).stdout == whole[-300:]
    with open(path, "rb", buffering=0) as text:
        assert b"".join(iter(lambda: text.read(777), b"")) == whole


def test_what_has_no_text_has_none(stopped: Dataset, mount: Mount) -> None:
    """Only the kinds that the tool understands."""
    segments = mount(stopped.path) / "segments-0/segments"
    assert not (segments / "leader-epoch-checkpoint.txt").exists()
    assert not (segments / "00000000000000000000.log.txt.txt").exists()
    assert not (segments / "00000000000000000001.log.txt").exists()
