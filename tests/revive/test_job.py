"""Whole revivals without a broker: what is written and where, going on after an end, damage, a moment, some topics."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kafkafs.errors import CorruptData, UsageError
from kafkafs.format.checkpoints import parse_offset_checkpoint
from kafkafs.format.producer_snapshot import parse_producer_snapshot
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive import node_files
from kafkafs.revive.job import planned, revive
from kafkafs.revive.place import REPORT, NewDirectory
from kafkafs.revive.plan import Choices
from kafkafs.sample import unpack
from tests.kafka import replicated
from tests.kafka.clusters import Cluster
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

NEEDED = {
    "meta.properties", ".kafka_cleanshutdown", "server.properties", "second.properties", "revive.json",
    "recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
}  # fmt: skip


def state(path: Path) -> dict[str, tuple[int, int, int, int]]:
    """All that a reader might have changed."""
    found = {}
    for each in [path, *path.rglob("*")]:
        about = each.lstat()
        found[str(each)] = about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    return found


def files(path: Path) -> set[str]:
    return {each.name for each in path.iterdir() if each.is_file()}


def test_a_cluster_is_written_whole_and_the_disks_are_not_touched(tmp_path):
    cluster = Cluster("4.3.1", "killed")
    before = state(cluster.path)
    plan = planned([cluster.path], Choices(to=tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    report = revive([cluster.path], Choices(to=tmp_path / "new"))
    assert state(cluster.path) == before
    assert files(tmp_path / "new") == NEEDED
    assert len(list((tmp_path / "new/__cluster_metadata-0").iterdir())) == 1
    assert (plan["revived"], plan["leftOut"]) == (report["revived"], report["leftOut"])
    reported = json.loads((tmp_path / "new/revive.json").read_text())
    assert reported["state"] == "finished"
    assert reported["revived"] == report["revived"]
    for place in (tmp_path / "new/revive.json", tmp_path / "new/server.properties"):
        assert "SECRET" not in place.read_text()  # secrets are where a controller looks for them, and nowhere else
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_every_partition_reads_as_it_did(tmp_path):
    """By kafkafs itself: ends, starts, topic ids; records are compared on real brokers."""
    source = Dataset("4.3.1", "live")
    revive([source.path], Choices(to=tmp_path / "new", corrupt="skip"))
    old, new = open_data_directory(source.path), open_data_directory(tmp_path / "new")
    compared = 0
    for name, parsed in old.names().items():
        if parsed.mark or name not in new.names() or name == "__cluster_metadata-0":
            continue
        one, two = old.partition(name).log(), new.partition(name).log()
        assert (one.start_offset, one.end_offset) == (two.start_offset, two.end_offset), name
        ids = [(path / name / "partition.metadata").read_bytes() for path in (source.path, tmp_path / "new")]
        assert ids[0] == ids[1]
        compared += 1
    assert compared > 20
    ends = parse_offset_checkpoint((tmp_path / "new/recovery-point-offset-checkpoint").read_bytes())
    assert ends == parse_offset_checkpoint((tmp_path / "new/replication-offset-checkpoint").read_bytes())
    assert all(new.partition(f"{topic}-{number}").log().end_offset == end for (topic, number), end in ends.items())


def test_of_three_brokers_the_furthest_replica_counts(tmp_path):
    disks = replicated.directories()
    report = revive(disks, Choices(to=tmp_path / "new"))
    for each in report["revived"]:
        name = f"{each['topic']}-{each['partition']}"
        ends = [open_data_directory(disk).partition(name).log().end_offset for disk in disks if (disk / name).is_dir()]
        if name != "parted-0":
            assert each["endOffset"] == max(ends)
    assert report["nodeId"] == 1


def test_several_directories_of_one_broker_are_one_cluster(tmp_path):
    """JBOD: each partition lies in one of them, and each has checkpoints of its own."""
    source = Cluster("4.3.1", "stopped")
    one, two = source.copy_to(tmp_path / "one"), source.copy_to(tmp_path / "two")
    for number, name in enumerate(sorted(each.name for each in one.iterdir() if each.is_dir())):
        if name != "__cluster_metadata-0":
            shutil.rmtree((one, two)[number % 2] / name)
    shutil.rmtree(two / "__cluster_metadata-0")
    together = revive([one, two], Choices(to=tmp_path / "new"))
    alone = planned([source.path], Choices(to=tmp_path / "x"))
    for each in (*together["revived"], *alone["revived"]):
        each["replica"] = None
    assert together["revived"] == alone["revived"]


class Interrupted(Exception):
    """Somebody pressed Ctrl-C."""


def test_the_same_command_goes_on_where_one_was_interrupted(tmp_path, monkeypatch):
    source, to = unpack(tmp_path), tmp_path / "new"

    def progress(done, size):
        if done > size // 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        revive([source], Choices(to=to), progress)
    assert json.loads((to / "revive.json").read_text())["state"] == "unfinished"
    assert not (to / "meta.properties").exists()  # without which no broker starts
    done = [json.loads(line)["directory"] for line in (to / "revive.progress").read_text().splitlines()]
    assert done
    inodes = {name: (to / name).stat().st_ino for name in done}
    report = revive([source], Choices(to=to))
    assert {name: (to / name).stat().st_ino for name in done} == inodes
    assert report["revived"] == planned([source], Choices(to=tmp_path / "other"))["revived"]
    assert files(to) == NEEDED
    with pytest.raises(UsageError, match="revived already"):
        revive([source], Choices(to=to))


CHANGING = "renameat,mkdirat,unlinkat,utimensat,pwritev2,syncfs,fsync,write,fchmod"


def strace(trace: Path, calls: str, *command: str | Path) -> int:
    """Runs a command to its end under strace: its exit code, negative for a signal."""
    names = calls.partition(":")[0].removeprefix("inject=")
    traced: list[str | Path] = ["strace", "-f", "-qq", "-o", trace, "-e", f"trace={names}"]
    inject = ["-e", calls] if calls.startswith("inject=") else []
    return subprocess.run([*traced, *inject, *command], timeout=300, capture_output=True, check=False).returncode


_BY_A_FORKED_PROCESS = (
    "import os, sys; from kafkafs.revive import writing; writing.FEW = 0; os.sched_getaffinity = lambda _: {0, 1};"
    " from kafkafs.cli.main import main; sys.exit(main())"
)


def test_killed_at_any_moment_the_same_command_finishes(tmp_path):
    """By SIGKILL, at some of the calls that change anything: in the end every byte is as if it had not been."""
    is_long, trace = bool(os.environ.get("KAFKAFS_REVIVE")), tmp_path / "trace"
    source = Dataset("4.3.1", "live").path if is_long else unpack(tmp_path)
    words: list[str | Path] = ["revive", source, "--corrupt", "skip", "--to"]
    forked: list[str | Path] = [sys.executable, "-c", _BY_A_FORKED_PROCESS, *words]
    whole: list[str | Path] = [KAFKAFS, *words]
    assert strace(trace, CHANGING, *whole, tmp_path / "whole") == 0
    by_thread = Counter(line.split()[0] for line in trace.read_text().splitlines())
    steps = max(by_thread.values())  # strace counts those of each thread
    random.seed(seed := os.environ.get("KAFKAFS_SEED", random.randrange(1 << 30)))
    print("seed", seed)
    for at in random.sample(range(1, steps), 40 if is_long else 3):
        to = tmp_path / f"new-{at}"
        strace(trace, f"inject={CHANGING}:signal=KILL:when={at}", *random.choice([whole, forked]), to)
        if not (to / REPORT).exists() or json.loads((to / REPORT).read_text())["state"] == "unfinished":
            assert strace(trace, CHANGING, *whole, to) == 0  # else it was killed as it printed
        assert contents(to) == contents(tmp_path / "whole"), at


def contents(place: Path) -> dict[str, bytes | set[int]]:
    """Every file, but for the place's own name and the moments at which producers are said to have written."""
    found: dict[str, bytes | set[int]] = {}
    for file in place.rglob("*"):
        name, content = str(file.relative_to(place)), file.read_bytes() if file.is_file() else b""
        if file.suffix == ".snapshot":
            found[name] = {each.producer_id for each in parse_producer_snapshot(content)}
        elif file.suffix != ".checkpoint" and name not in ("meta.properties", REPORT):  # ids are made of the place
            found[name] = content.replace(os.fsencode(place), b"")
    return found


def test_a_second_revival_into_the_same_directory_changes_nothing(tmp_path):
    """Regression: both went on, and one of them said "finished" over half a partition."""
    source, to, refused = unpack(tmp_path), tmp_path / "new", list[str]()
    choices = Choices(to=to, corrupt="skip")

    def again(*_: int) -> None:
        if refused:
            return
        before = contents(to)
        with pytest.raises(UsageError) as error:
            revive([source], choices)
        refused.append(str(error.value))
        assert contents(to) == before

    revive([source], choices, again)
    assert refused == [f"another kafkafs revive writes in {str(to)!r}; wait until it ends, or name another directory"]
    assert json.loads((to / REPORT).read_text())["state"] == "finished"


@pytest.mark.parametrize("step", ["offset_checkpoint_bytes", "meta_properties", "clean_shutdown"])
def test_nothing_half_done_looks_whole(tmp_path, monkeypatch, step):
    source, to = unpack(tmp_path), tmp_path / "new"

    def end(*_):
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(node_files, step, end)
        with pytest.raises(Interrupted):
            revive([source], Choices(to=to))
    assert json.loads((to / "revive.json").read_text())["state"] == "unfinished"
    assert not (to / ".kafka_cleanshutdown").exists()
    revive([source], Choices(to=to))
    assert files(to) == NEEDED


def test_what_begins_again_does_not_look_whole(tmp_path, monkeypatch):
    """The machine went down before the last word, and the same command was interrupted once more."""
    source, to = unpack(tmp_path), tmp_path / "new"

    def end(*_):
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(NewDirectory, "finish", end)
        with pytest.raises(Interrupted):
            revive([source], Choices(to=to))
    (to / "revive.progress").unlink()
    with pytest.raises(Interrupted):
        revive([source], Choices(to=to), end)
    assert not {"meta.properties", ".kafka_cleanshutdown"} & files(to)  # a broker would start, and make lost logs anew


def damaged(tmp_path: Path) -> Path:
    """The sample with a byte of a batch of `test-0` changed."""
    source = unpack(tmp_path)
    (log,) = (source / "test-0").glob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    return source


def test_damage_is_refused_by_name_unless_it_may_be_passed_over(tmp_path):
    source = damaged(tmp_path)
    with pytest.raises(CorruptData, match=r"damage in 1 place: test-0 at offset \d+: .*--corrupt skip"):
        revive([source], Choices(to=tmp_path / "refused"))
    assert not (tmp_path / "refused/meta.properties").exists()
    assert "test-0" not in [
        json.loads(line)["directory"] for line in (tmp_path / "refused/revive.progress").read_text().splitlines()
    ]
    (whole,) = (each for each in planned([unpack(tmp_path / "sound")], Choices(to=tmp_path / "x"))["revived"]
                if each["topic"] == "test")  # fmt: skip
    for way in ("skip", "cut"):
        report = revive([source], Choices(to=tmp_path / way, corrupt=way))
        (reported,) = (each for each in report["revived"] if each["topic"] == "test")
        assert reported["lost"] == 1
        assert reported["records"] < whole["records"]
        assert (reported["endOffset"] == whole["endOffset"]) == (way == "skip")


def test_the_way_out_that_a_refusal_names_leads_on(tmp_path):
    """Into the same directory; what was whole stays, and the way back is closed."""
    source, to = damaged(tmp_path), tmp_path / "new"
    with pytest.raises(CorruptData, match="--corrupt skip"):
        revive([source], Choices(to=to))
    inode = (to / "orders-0").stat().st_ino
    report = revive([source], Choices(to=to, corrupt="skip"))
    assert (to / "orders-0").stat().st_ino == inode
    assert report["revived"] == planned([source], Choices(to=tmp_path / "other", corrupt="skip"))["revived"]


def test_some_topics_come_with_kafkas_own(tmp_path):
    report = revive([unpack(tmp_path)], Choices(to=tmp_path / "new", topics=("orders",)))
    assert {each["topic"] for each in report["revived"]} == {"orders", "__consumer_offsets", "__transaction_state"}


def test_as_of_a_moment_groups_are_as_they_were_then(tmp_path):
    """Each partition ends before the first later record; so does what groups had committed."""
    source = Cluster("4.3.1", "killed")
    times = [
        int(batch["max_timestamp"])
        for each in open_data_directory(source.path).names() if each.startswith("__consumer_offsets")
        for log in [open_data_directory(source.path).partition(each).log()]
        for _, item in log.walk(0, log.end_offset) for batch in item.rows  # type: ignore[union-attr]
    ]  # fmt: skip
    moment = sorted(times)[len(times) // 2]
    report = revive([source.path], Choices(to=tmp_path / "new", until_ms=moment))
    own = [each for each in report["revived"] if each["topic"] == "__consumer_offsets"]
    assert any(each["losses"] for each in own)
    new = open_data_directory(tmp_path / "new")
    for each in own:
        log = new.partition(f"__consumer_offsets-{each['partition']}").log()
        late = [item for _, item in log.walk(0, log.end_offset) if (item.rows["max_timestamp"] > moment).any()]  # type: ignore[union-attr]
        assert late == []


def test_nothing_outside_of_the_new_directory_is_opened_for_writing(tmp_path):
    """Traced, for the whole life of the command."""
    source, to, trace = unpack(tmp_path), tmp_path / "new", tmp_path / "trace"
    calls = "openat,open,creat,openat2,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink," \
        "symlinkat,truncate,chmod,fchmodat,chown,utimensat,mknod,mknodat,rmdir,setxattr"  # fmt: skip
    command = ["strace", "-f", "-y", "-qq", "-s", "4096", "-o", trace, "-e", f"trace={calls}"]
    subprocess.run([*command, KAFKAFS, "revive", source, "--to", to], check=True, timeout=300, capture_output=True,
                   env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip
    changing = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|^\d+ +(?!open|\W)")
    begun = [
        line for line in trace.read_text().splitlines() if " resumed>" not in line
    ]  # a second half says nothing new
    made = [line for line in begun if changing.search(line) and " = -1 " not in line]
    outside = [line for line in made if str(to) not in line and "/dev/" not in line]
    assert outside == []
    assert len(made) > 20


def test_hostile_names_in_a_data_directory_lead_nowhere(tmp_path):
    source = unpack(tmp_path)
    (source / "link-0").symlink_to(tmp_path)
    (source / "evil-0").mkdir()
    (source / "own").write_bytes(b"x" * 5000)
    (source / "evil-0" / f"{0:020}.log").symlink_to(source / "own")
    (source / "..evil-0").mkdir()
    os.mkfifo(source / "evil-0" / f"{5:020}.log")
    with open(source / "evil-0" / f"{9:020}.log", "wb") as log:
        log.truncate(1 << 40)  # a terabyte of nothing
    revive([source], Choices(to=tmp_path / "new", corrupt="skip"))
    assert not (tmp_path / "new/link-0").exists()
    assert sum(each.stat().st_size for each in (tmp_path / "new/evil-0").iterdir()) < 1000
    assert sorted(os.listdir(tmp_path)) == ["kafka-logs", "new"]
