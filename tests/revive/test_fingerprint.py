"""An interrupted revival goes on over disks that have changed since: the end is as if it had begun then."""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from kafkafs.format.names import METADATA_LOG
from kafkafs.revive.job import revive
from kafkafs.revive.place import REPORT
from kafkafs.revive.plan import Choices
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, metadata
from tests.mounting import KAFKAFS
from tests.revive.replicas import Made, disk
from tests.revive.test_brokers import WHOLE
from tests.revive.test_job import CHANGING, Interrupted, contents, strace

ONE, TWO, OTHER = (made_up_id(each) for each in ("one", "two", "other"))


def topic_records(name, topic_id):
    partition = {"topicId": topic_id, "partitionId": 0, "replicas": (1,), "isr": (1,), "leader": 1}
    return [metadata("TopicRecord", name=name, topicId=topic_id), metadata("PartitionRecord", **partition)]


def sources(tmp_path):
    """Two brokers' disks with a topic `a`, one of them with `b` too."""
    disk(tmp_path / "one", 1, {"a-0": Made([(0, 50)], ONE), "b-0": Made([(0, 500)], TWO)})
    disk(tmp_path / "two", 2, {"a-0": Made([(0, 40)], ONE)})
    Data(tmp_path / "one").write(METADATA_LOG, [*topic_records("a", ONE), *topic_records("b", TWO)])
    return [tmp_path / "one", tmp_path / "two"]


def grown(place, node, **logs):
    """New logs in place of old ones."""
    made = place.with_name("made")
    disk(made, node, {f"{topic}-0": each for topic, each in logs.items()})
    for topic in logs:
        shutil.rmtree(place / f"{topic}-0", ignore_errors=True)
        (made / f"{topic}-0").rename(place / f"{topic}-0")
    shutil.rmtree(made)


def remade(one, two):
    grown(one, 1, a=Made([(0, 5)], OTHER))
    shutil.rmtree(two / "a-0")
    data = Data(one)
    data.write(METADATA_LOG, [metadata("RemoveTopicRecord", topicId=ONE), *topic_records("a", OTHER)], at=4)


def deleted(one, two):
    shutil.rmtree(one / "a-0")
    shutil.rmtree(two / "a-0")
    Data(one).write(METADATA_LOG, [metadata("RemoveTopicRecord", topicId=ONE)], at=4)


def stop_after_a_partition(disks, to):
    """A revival that is interrupted when its first partition is finished."""

    def stop(done, size):
        if (to / "revive.progress").exists():
            raise Interrupted

    with pytest.raises(Interrupted):
        revive(disks, Choices(to=to), stop)


def put_back(one, two, *, is_in_place):
    """Other bytes of the same size and time, as a copy of another disk may leave them that keeps times."""
    disk(one.with_name("made"), 1, {"a-0": Made([(1, 50)], ONE)})
    for file in (one / "a-0").iterdir():
        about, content = file.stat(), (one.with_name("made") / "a-0" / file.name).read_bytes()
        if not is_in_place:
            file.unlink()
        file.write_bytes(content)
        assert file.stat().st_size == about.st_size
        os.utime(file, ns=(about.st_mtime_ns, about.st_mtime_ns))
    shutil.rmtree(one.with_name("made"))


CHANGES: dict[str, Callable[..., object]] = {
    "appended": lambda one, two: grown(one, 1, a=Made([(0, 50), (3, 30)], ONE)),
    "cut": lambda one, two: grown(one, 1, a=Made([(0, 20)], ONE)),
    "rewritten": lambda one, two: grown(one, 1, a=Made([(1, 50)], ONE)),
    "another replica": lambda one, two: grown(two, 2, a=Made([(0, 50), (2, 9)], ONE)),
    "records deleted": lambda one, two: (one / "log-start-offset-checkpoint").write_text("0\n1\na 0 10\n"),
    "led anew": lambda one, two: (one / "a-0/leader-epoch-checkpoint").write_text("0\n2\n0 0\n4 50\n"),
    "other bytes": partial(put_back, is_in_place=False),
    "other bytes in place": partial(put_back, is_in_place=True),
    "made anew": remade,
    "deleted": deleted,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_partition_that_has_changed_is_made_again(kind, tmp_path):
    disks, to = sources(tmp_path), tmp_path / "new"
    stop_after_a_partition(disks, to)
    assert [json.loads(line)["directory"] for line in (to / "revive.progress").read_text().splitlines()] == ["a-0"]
    CHANGES[kind](*disks)
    report = revive(disks, Choices(to=to))
    fresh = revive(disks, Choices(to=tmp_path / "fresh"))
    assert report["madeAgain"] == ([] if kind == "deleted" else ["a-0"])
    assert any("a-0 is no longer on these disks" in each for each in report["leftOut"]) == (kind == "deleted")
    assert report["revived"] == fresh["revived"]
    assert contents(to) == contents(tmp_path / "fresh")


@pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
@pytest.mark.parametrize("kind", CHANGES)
def test_killed_the_same_command_goes_on_over_changed_disks(kind, tmp_path):
    """By SIGKILL, at some of the calls that change anything; then the old broker runs for a while."""
    trace, whole = tmp_path / "trace", tmp_path / "whole"
    (tmp_path / "first").mkdir()
    assert strace(trace, CHANGING, KAFKAFS, "revive", *sources(tmp_path / "first"), "--to", whole) == 0
    steps = max(Counter(line.split()[0] for line in trace.read_text().splitlines()).values())
    for at in random.Random(kind).sample(range(1, steps), 8):
        scratch = tmp_path / str(at)
        scratch.mkdir()
        disks, to = sources(scratch), scratch / "new"
        strace(trace, f"inject={CHANGING}:signal=KILL:when={at}", KAFKAFS, "revive", *disks, "--to", to)
        if (to / REPORT).exists() and json.loads((to / REPORT).read_text())["state"] == "finished":
            continue  # it was killed as it printed
        CHANGES[kind](*disks)
        report = revive(disks, Choices(to=to))
        fresh = revive(disks, Choices(to=scratch / "fresh"))
        assert report["revived"] == fresh["revived"], at
        assert contents(to) == contents(scratch / "fresh"), at


def test_what_has_not_changed_is_not_made_again(tmp_path):
    disks, to = sources(tmp_path), tmp_path / "new"
    stop_after_a_partition(disks, to)
    inode = os.stat(to / "a-0").st_ino
    grown(disks[0], 1, b=Made([(0, 510)], TWO))
    report = revive(disks, Choices(to=to))
    assert report["madeAgain"] == []
    assert os.stat(to / "a-0").st_ino == inode
    assert json.loads((to / "revive.json").read_text())["madeAgain"] == []
