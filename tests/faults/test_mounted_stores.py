"""A store that fails while a mount shows a copy: each fault. By hand, minutes (`KAFKAFS_BUCKETS=1`).

An answer is whole, or a reader gets an error number. `tests/spark/test_failing_stores` asks the same of Spark.
"""

import errno
import os
import shutil
from pathlib import Path

import pytest

from tests.faults.questions import read
from tests.faults.test_stores import LASTING, PASSING, Script
from tests.kafka.buckets import KEYS, Store, bucket_of
from tests.mounting import KAFKAFS, mounting

pytestmark = [
    pytest.mark.skipif("KAFKAFS_BUCKETS" not in os.environ, reason="minutes; KAFKAFS_BUCKETS=1 runs it"),
    pytest.mark.usefixtures("bucket_keys"), pytest.mark.timeout(600),
]  # fmt: skip

PATHS = (
    "orders-0/by-offset/3.jsonl", "orders-0/by-offset/0...jsonl", "test-0/by-time/1632390207806.jsonl",
    "orders-0/segments/00000000000000000000.log", ".topics/orders/by-time/2020-01-01...jsonl", "orders-0/info.json",
    ".cluster/groups/dashboard/offsets.jsonl",
)  # fmt: skip
IS_NO_ANSWER = {errno.EIO, errno.ESTALE}
FAULTS = [*((fault, False) for fault in PASSING), *((fault, True) for fault in LASTING)]


@pytest.fixture
def copy(data, tmp_path):
    shutil.copytree(data, tmp_path / "top" / data.name, symlinks=True)
    with bucket_of(tmp_path / "top") as store:
        yield store


def _answer(path: Path) -> bytes | int:
    """The content of a file of a mount, or the error number."""
    try:
        return read(path)
    except OSError as error:
        return error.errno or 0


@pytest.mark.parametrize(("fault", "lasts"), FAULTS)
@pytest.mark.parametrize("after", [0, 3, 9])
def test_what_a_mount_shows_is_whole_or_an_error(fault, lasts, after, copy: Store, data, tmp_path):
    answers: list[list[bytes | int]] = []
    for number, place in enumerate((str(data), copy.address(data.name))):
        (mount := tmp_path / f"mount-{number}").mkdir()
        command: list[str | Path] = [KAFKAFS, "mount", place, mount]
        with mounting(command, mount, tmp_path / "log", env=os.environ | KEYS):
            if number:
                copy.page = 3 if fault == "listing" else copy.page
                copy.fault = script = Script(copy, fault, after, lasts)
            answers.append([_answer(mount / path) for path in PATHS])
    for path, near, far in zip(PATHS, *answers, strict=True):
        assert far == near or far in IS_NO_ANSWER or _is_of_this_place(path, far), path
    if not lasts and fault != "slow" and script.has_failed:
        assert not any(isinstance(each, int) for each in answers[1]), "a fault of a moment is passed"


def _is_of_this_place(path: str, answer: bytes | int) -> bool:
    """True of an answer that names the data directory."""
    return path.endswith("info.json") and not isinstance(answer, int) and b"s3://" in answer
