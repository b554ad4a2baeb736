"""New logs, written from memory: by this process or by a forked one, the files are the same."""

import json
import multiprocessing
import os
import random
import signal

import pytest

from kafkafs.errors import DiskError, Exhausted
from kafkafs.revive import writing
from kafkafs.revive.job import revive
from kafkafs.revive.place import NewDirectory
from kafkafs.revive.plan import Choices
from kafkafs.revive.writing import WriteTask, Writing
from kafkafs.sample import unpack
from tests.revive.test_job import contents


@pytest.fixture
def forked(monkeypatch):
    """A forked process writes. A call says from how many bytes on."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})

    def begin(few=0):
        monkeypatch.setattr(writing, "FEW", few)

    begin()
    return begin


@pytest.fixture(params=[0, 1 << 60], ids=["a forked process", "this process"])
def process(request, forked):
    """The process that writes."""
    forked(request.param)


@pytest.fixture
def small_slots(monkeypatch):
    monkeypatch.setattr(writing, "SLOT", 100)
    monkeypatch.setattr(writing, "SLOTS", 4)
    monkeypatch.setattr(writing, "TOGETHER", 200)


@pytest.mark.usefixtures("process", "small_slots")
def test_every_byte_arrives(tmp_path):
    """Logs of all sizes around those of a slot and of all slots together, in pieces of all sizes."""
    place, chance, whole = NewDirectory(tmp_path / "new", {}), random.Random(4), dict[str, bytes]()
    with Writing(place, 1) as writer:
        for partition in range(3):
            with place.partition(f"t-{partition}") as target:
                writer.begin(target)
                for number, size in enumerate((0, 1, 99, 100, 101, 200, 299, 300, 301, 2000, chance.randrange(999))):
                    log, data, at = writer.log(f"{number}.log"), chance.randbytes(size), 0
                    while at < size:
                        count = chance.choice((1, 99, 100, 101, 1000))
                        log.append(memoryview(data)[at : at + count])
                        at += count
                    beside = data[:7] * chance.randrange(3)
                    log.finish(1_000_000_007 + number, ((f"{number}.index", beside), (f"{number}.timeindex", b"")))
                    name = f"t-{partition}/{number}"
                    whole |= {f"{name}.log": data, f"{name}.index": beside, f"{name}.timeindex": b""}
                writer.finish()
    assert {name: (place.path / name).read_bytes() for name in whole} == whole
    assert sum(len(files) for _, _, files in os.walk(place.path)) == len(whole) + 1  # and revive.json
    times = {name: (place.path / name).stat().st_mtime_ns for name in whole if name.endswith(".log")}
    assert {time - int(name.split("/")[1][:-4]) for name, time in times.items()} == {1_000_000_007}


@pytest.mark.usefixtures("process", "small_slots")
def test_a_log_that_is_given_up_takes_no_memory_with_it(tmp_path):
    """As where damage is found that may not be passed over, partition after partition."""
    place = NewDirectory(tmp_path / "new", {})
    with Writing(place, 1) as writer:
        for partition in range(9):
            with place.partition(f"t-{partition}") as target:
                writer.begin(target)
                writer.log("0.log").append(bytes(150))
                log = writer.log("1.log")
                log.append(b"x" * 350)
                log.finish(1, ())
                writer.finish()
            assert (place.path / f"t-{partition}/1.log").read_bytes() == b"x" * 350


@pytest.mark.usefixtures("process")
def test_what_cannot_be_written_is_named(tmp_path):
    place = NewDirectory(tmp_path / "new", {})
    with Writing(place, 1) as writer, place.partition("t-0") as target:
        (target.path / "0.index").mkdir()
        writer.begin(target)
        log = writer.log("0.log")
        log.append(b"x")

        def finish() -> None:
            log.finish(1, (("0.index", b""),))
            writer.finish()

        with pytest.raises(DiskError, match=r"unfinished-partition/0.index' cannot be written: File exists"):
            finish()


def test_a_revived_cluster_is_the_same(tmp_path, forked):
    source = unpack(tmp_path)
    revive([source], Choices(to=tmp_path / "one", corrupt="skip"))
    forked(few=1 << 60)
    revive([source], Choices(to=tmp_path / "other", corrupt="skip"))
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


@pytest.mark.usefixtures("forked")
def test_where_the_process_is_killed_the_same_command_goes_on(tmp_path, monkeypatch):
    """As for lack of memory."""
    source, to, give = unpack(tmp_path), tmp_path / "new", Writing.give

    def kill(self: Writing, task: WriteTask) -> None:
        for child in multiprocessing.active_children():
            os.kill(child.pid or 0, signal.SIGKILL)
        give(self, task)

    with monkeypatch.context() as patched:
        patched.setattr(Writing, "give", kill)
        with pytest.raises(Exhausted):
            revive([source], Choices(to=to, corrupt="skip"))
    revive([source], Choices(to=to, corrupt="skip"))
    assert json.loads((to / "revive.json").read_text())["state"] == "finished"


@pytest.mark.usefixtures("forked")
def test_without_room_for_a_process_this_one_writes(tmp_path, monkeypatch):
    def refuse(_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(writing, "ForkedProcess", refuse)
    place = NewDirectory(tmp_path / "new", {})
    with Writing(place, 1) as writer, place.partition("t-0") as target:
        writer.begin(target)
        log = writer.log("0.log")
        log.append(b"x" * 9)
        log.finish(1, ())
    assert (place.path / "t-0/0.log").read_bytes() == b"x" * 9
