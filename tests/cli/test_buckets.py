"""Commands over a copy of a data directory in a bucket: the same answers, few requests, and no answer that lacks
anything if the store fails or the copy changes."""

import os
import shutil
import threading
from math import inf
from pathlib import Path

import pytest

from kafkafs.cli import unmounted
from kafkafs.cli.main import main
from kafkafs.disk import store_session
from tests.kafka.buckets import bucket_of
from tests.kafka.dataset import Dataset

pytestmark = pytest.mark.usefixtures("bucket_keys")

DATA = "DATA"
SAME = (
    ("ls", DATA), ("ls", DATA, "test-0/segments"), ("ls", DATA, ".topics"), ("ls", DATA, ".cluster/groups"),
    ("cat", DATA, "orders-0/by-offset/0...jsonl"), ("cat", DATA, "*-0/latest"),
    ("cat", DATA, "orders-0/by-offset/0...committed.jsonl"), ("cat", DATA, ".topics/orders/by-time/2020-01-01...jsonl"),
    ("cat", DATA, "orders-0/segments/00000000000000000000.log"), ("cat", DATA, "orders-0/segments/*.index.txt"),
    ("cat", DATA, ".cluster/groups/dashboard/offsets.jsonl"), ("cat", DATA, "orders-0/by-offset/0.explain"),
    ("grep", "order", DATA), ("grep", "-c", "-e", "1", DATA), ("grep", "-l", "nothing of the sort", DATA),
    ("groups", DATA), ("audit", "--engine", "local", DATA), ("audit", "--engine", "local", "--deep", DATA),
)  # fmt: skip


def _answer(capfdbinary, command: tuple[str, ...], place: str) -> tuple[int, bytes, bytes]:
    """The exit code, and what was printed; of grep, whose workers answer in any order, sorted."""
    try:
        code = main([place if word == DATA else word for word in command])
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capfdbinary.readouterr()
    if command[0] == "grep":
        out = b"".join(sorted(out.splitlines(keepends=True)))
    return code, out.replace(place.encode(), b"DATA"), err.replace(place.encode(), b"DATA")


@pytest.mark.parametrize("command", SAME, ids=" ".join)
def test_a_command_answers_as_it_does_beside_the_disk(command, store, data, capfdbinary):
    far = _answer(capfdbinary, command, store.address(data.name))
    assert far == _answer(capfdbinary, command, str(data))
    assert not store_session.current.first_failure()


def test_a_broker_s_directory_answers_the_same(tmp_path, capfdbinary):
    """Every codec, compacted and transactional topics, snapshots."""
    data = Path(shutil.copytree(Dataset("4.3.1", "stopped").path, tmp_path / "kafka-logs", symlinks=True))
    with bucket_of(tmp_path) as store:
        for command in (("groups", DATA), ("cat", DATA, "broker-*-0/by-offset/0...jsonl")):
            far = _answer(capfdbinary, command, store.address(data.name))
            assert far == _answer(capfdbinary, command, str(data))
            assert far[1]


@pytest.mark.parametrize("name", ["segments-0", "transactions-0"])
def test_a_point_among_many_segments_takes_at_most_six_requests(name, tmp_path, capfdbinary, forgotten):
    """Regression: it took eight and more, as the log's end and both checkpoints were read for each point."""
    data = tmp_path / "kafka-logs"
    stopped = Dataset("4.3.1", "stopped").path
    shutil.copytree(stopped / name, data / name)
    for file in ("meta.properties", "log-start-offset-checkpoint", "replication-offset-checkpoint"):
        shutil.copy(stopped / file, data)
    bases = sorted(int(log.stem) for log in (data / name).glob("*.log"))
    points = {0, *(base + each for base in (*bases[1::8], bases[-1]) for each in (-1, 0, 1)), 10**6}
    with bucket_of(tmp_path) as store:
        for point in sorted(points):
            for form in ("", ".jsonl"):
                command = ("cat", DATA, f"{name}/by-offset/{point}{form}")
                forgotten()
                store.asked.clear()
                far = _answer(capfdbinary, command, store.address(data.name))
                assert len(store.asked) <= 6, (point, store.asked)
                assert far == _answer(capfdbinary, command, str(data))


def test_info_of_many_segments_asks_for_several_at_a_time(tmp_path, capfdbinary):
    """Regression: three requests for each segment, one behind the other, took longer than the call may last."""
    data, beside = tmp_path / "kafka-logs", threading.Event()
    shutil.copytree(Dataset("4.3.1", "stopped").path / "segments-0", data / "segments-0")
    first: list[bool] = []

    def wait(_: str, key: str) -> str:
        if key.endswith(".index") and first:
            beside.set()
        elif key.endswith(".index"):
            first.append(False)
            first[0] = beside.wait(60)
        return ""

    with bucket_of(tmp_path) as store:
        store.fault = wait
        far = _answer(capfdbinary, ("cat", DATA, "segments-0/info.json"), store.address(data.name))
    assert first == [True]
    assert far == _answer(capfdbinary, ("cat", DATA, "segments-0/info.json"), str(data))


def test_no_file_of_a_copy_has_less_time_without_a_mount(store, data, capfdbinary, calls):
    """Regression: a file that takes many requests was an error after three seconds, as it is below a mount point."""
    given = calls(unmounted, "Root")
    for place in (store.address(data.name), str(data)):
        assert _answer(capfdbinary, ("cat", DATA, "orders-0/info.json"), place)[0] == 0
    far, near = (reading.glance_s for _, reading in given)
    assert far == inf > near


def test_a_point_takes_at_most_six_requests(store, data, capfdbinary, forgotten):
    forgotten()
    store.asked.clear()
    assert _answer(capfdbinary, ("cat", DATA, "orders-0/by-offset/3.jsonl"), store.address(data.name))[1]
    assert len(store.asked) <= 6


WHAT = (
    "", "orders-0", "orders-0/00000000000000000000.log", "orders-0/00000000000000000000.index",
    "orders-0/leader-epoch-checkpoint", "replication-offset-checkpoint",
)  # fmt: skip


@pytest.mark.parametrize("words", [("--print-data-log",), ("--from-offset", "2")], ids=" ".join)
def test_a_dump_of_a_copy_is_that_of_the_directory(words, store, data, capfdbinary):
    """Regression: a whole copy had no file that can be dumped, nor had a checkpoint."""
    for what in WHAT:
        far = _answer(capfdbinary, ("dump", *words, DATA), store.address(f"{data.name}/{what}"))
        near = _answer(capfdbinary, ("dump", *words, DATA), f"{data}/{what}")
        assert far[0] == near[0], what
        assert _named(far, f"s3://disks/{data.name}/", what) == _named(near, f"{data}/", what), what


@pytest.mark.parametrize("what", ["nothing", "nothing-0/", "orders-0/nothing", "orders-0/no.txt", "no.log", "notes"])
def test_a_dump_of_nothing_is_an_error_as_beside_the_disk(what, data, capfdbinary, tmp_path):
    """Regression: in a bucket it ended the dump, and on a disk it ended well, as a file of an unknown kind does."""
    copy = Path(shutil.copytree(data, tmp_path / "kafka.log", symlinks=True))  # which is no log
    (copy / "notes").write_text("hello")
    with bucket_of(tmp_path) as store:
        place, mark, query = store.address("kafka.log").partition("?")
        assert _answer(capfdbinary, ("dump", DATA), store.address("kafka.log"))[0] == 0
        words = ("dump", DATA, f"{place}/orders-0{mark}{query}")
        code, out, err = _answer(capfdbinary, words, f"{place}/{what}{mark}{query}")
    near = _answer(capfdbinary, ("dump", DATA, f"{copy}/orders-0"), f"{copy}/{what}")
    name = what.rstrip("/")
    assert (code, b"there is no" in err) == (near[0], b"there is no" in near[2]) == (what != "notes", what != "notes")
    assert out.startswith(f"Dumping s3://disks/kafka.log/{name}\n".encode())
    assert out.replace(b"s3://disks/kafka.log", os.fsencode(copy)) == near[1].replace(
        b"DATA", f"{copy}/{name}".encode()
    )


def _named(answer: tuple[int, bytes, bytes], place: str, what: str) -> list[bytes]:
    """What was printed, with names from the data directory on."""
    return [text.replace(place.encode(), b"").replace(b"DATA", what.rstrip("/").encode()) for text in answer[1:]]


def test_a_dump_of_what_changes_is_an_error(data, capfdbinary, tmp_path):
    """Regression: a dump did not compare versions."""
    shutil.copytree(data, tmp_path / data.name, symlinks=True)
    key = f"{data.name}/orders-0/00000000000000000000.log"
    with bucket_of(tmp_path) as store:
        store.fail_at(key, "changed")
        code, _, err = _answer(capfdbinary, ("dump", DATA), store.address(key))
    assert (code, b"was written while it was read" in err) == (1, True)


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("cat", DATA, "orders-0/by-offset/0...jsonl"), ("du", DATA), ("audit", "--engine", "local", DATA),
    ("grep", "order", DATA), ("triage", DATA), ("groups", DATA),
    ("cat", DATA, ".cluster/groups/dashboard/offsets.jsonl"),
)  # fmt: skip


@pytest.mark.skipif(
    "KAFKAFS_BUCKETS" not in os.environ, reason="each object in turn; tests/faults/test_stores has the rest"
)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("fails", ["500", "short", "changed"])
def test_a_store_that_fails_in_the_midst_is_an_error(
    command, fails, data, capfdbinary, store_limits, tmp_path, forgotten
):
    """Each object in turn that the command reads; nothing passes for damage, or for a file that is not there."""
    store_limits(attempts=1, refuse_s=0.0, waits_s=())
    shutil.copytree(data, tmp_path / data.name, symlinks=True)
    with bucket_of(tmp_path) as store:
        place = store.address(data.name)
        assert _answer(capfdbinary, command, place)[0] == 0
        keys = sorted({each.split()[1] for each in store.ranges()})
        for key in keys:
            forgotten()
            store.fail_at(key, fails)
            code, _, err = _answer(capfdbinary, command, place)
            assert code, (key, err)
            assert b"s3://disks" in err or b"DATA" in err
            assert b"Traceback" not in err
            assert b"bug" not in err
