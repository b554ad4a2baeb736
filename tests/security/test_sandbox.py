"""A daemon that was taken over can read the data directory, and nothing else: tried from inside, in a worker thread."""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from kafkafs.fuse.sandbox import landlock
from kafkafs.sample import unpack
from tests.mounting import KAFKAFS, Mounted, mounting, run
from tests.security import forbidden

ROOT = Path(__file__).parents[2]
KAFKA = 1234  # a user that owns the data, and has no entry in /etc/passwd
KAFKA_ALONE = ("setpriv", "--reuid", str(KAFKA), "--regid", str(KAFKA), "--clear-groups")
ORDINARY = 1  # a user with a name, which fusermount3 asks for
# Where this Python is in root's home: allowed to find it there, a right that a mount gives up with the rest.
FIND_PYTHON = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
AS_ORDINARY = ("setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups", *FIND_PYTHON)
OUTSIDE_LANDLOCK = {  # what its documentation says it leaves alone
    "chmod a log", "touch a log", "set an attribute", "fork", "send by UDP", "connect to a Unix socket",
    "become root", "make code", "use io_uring",
}  # fmt: skip
READING = {"read elsewhere", "read /etc/passwd", "read through a link", "list elsewhere", "read a process's memory"}


class Attack:
    """A mount whose daemon tries all that is forbidden when it is asked."""

    def __init__(self, data: Path, outside: Path, mounted: Mounted) -> None:
        self.data = data
        self.outside = outside
        self.mounted = mounted

    def attempt(self) -> dict[str, str]:
        return dict(json.loads(run("cat", self.mounted / "forbidden").stdout))


def fingerprint(*directories: Path) -> dict[str, object]:
    """Names, bytes, modes and times of all there is."""
    found: dict[str, object] = {}
    for path in sorted(entry for directory in directories for entry in directory.rglob("*")):
        about = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_ctime_ns, digest)
    return found


@pytest.fixture
def attack(request) -> Iterator[Attack]:
    owner, without, *options = request.param
    scratch = Path(tempfile.mkdtemp(prefix="kafkafs-attack-", dir="/tmp"))
    scratch.chmod(0o755)  # the data's owner may search it
    outside, place = scratch / "outside", scratch / "mount"
    outside.mkdir(parents=True)
    place.mkdir()
    data = unpack(scratch)
    (outside / "secret").write_text("secret")
    log = next(data.glob("test-0/*.log"))
    (log.parent / "link").symlink_to(outside / "secret")
    run("chown", "-hR", f"{owner}:{owner}", data, outside)
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        subprocess.Popen(["sleep", "60"], user=owner, group=owner) as victim,
    ):
        unix.bind(str(outside / "unix"))
        unix.listen()
        os.chown(outside / "unix", owner, owner)
        environment = os.environ | {
            "PYTHONPATH": f"{Path(__file__).with_name('patched')}:{ROOT}",
            "KAFKAFS_TEST_WITHOUT": without,
            "OPENBLAS_NUM_THREADS": "4",  # as somebody may have set it
            forbidden.PLACE: forbidden.place_for(log, outside, place, tcp.getsockname()[1], victim.pid),
        }
        try:
            with mounting(
                [KAFKAFS, "mount", *options, data, place], place, scratch / "log", env=environment
            ) as mounted:
                yield Attack(data, outside, mounted)
            assert victim.poll() is None
        finally:
            victim.kill()
            shutil.rmtree(scratch)


@pytest.mark.parametrize("attack", [(0, ""), (KAFKA, "")], indirect=True, ids=["root's data", "kafka's data"])
def test_a_worker_thread_is_denied_all_but_reading(attack):
    """Keys and values come from strangers: a bug in a decoder must not become a way into the host."""
    before = fingerprint(attack.data, attack.outside)
    results = attack.attempt()
    assert re.fullmatch(r"worker-\d+", results.pop("thread"))
    assert set(results.values()) <= {"EPERM", "EACCES"}, results
    assert len(results) >= 10
    assert fingerprint(attack.data, attack.outside) == before
    assert b"message 23400" in run("cat", attack.mounted / "test-0/by-offset/23400.jsonl").stdout


FAR = "tiered=s3://key:secret@away?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"


@pytest.mark.parametrize(
    "attack", [(0, "", "-o", FAR), (KAFKA, "", "-o", FAR)], indirect=True, ids=["root's data", "kafka's data"]
)
def test_a_tier_in_a_bucket_opens_a_port_and_names_of_hosts_and_no_more(attack):
    """`connect by TCP` is to another port than the store's; UDP is what names of hosts are asked by."""
    before = fingerprint(attack.data, attack.outside)
    results = attack.attempt()
    assert results.pop("send by UDP") == "done"
    assert re.fullmatch(r"worker-\d+", results.pop("thread"))
    assert set(results.values()) <= {"EPERM", "EACCES"}, results
    assert fingerprint(attack.data, attack.outside) == before


@pytest.mark.parametrize("without", ["pyseccomp", "kernels"])
def test_root_does_not_serve_unconfined_for_want_of_a_library(tmp_path, without):
    """Regression: a warning in the log was all, and the daemon went on with every right of root's."""
    (place := tmp_path / "mount").mkdir()
    environment = os.environ | {
        "PYTHONPATH": f"{Path(__file__).with_name('patched')}:{ROOT}",
        {"pyseccomp": "KAFKAFS_TEST_ABSENT", "kernels": "KAFKAFS_TEST_WITHOUT"}[without]: without,
    }
    done = run(KAFKAFS, "mount", unpack(tmp_path), place, check=False, env=environment)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert {"pyseccomp": b"apt-get install libseccomp2", "kernels": b"run scripts/setup"}[without] in done.stderr
    assert not os.path.ismount(place)


@pytest.mark.parametrize("attack", [(KAFKA, "filter")], indirect=True)
def test_where_the_kernel_refuses_the_filter_landlock_still_denies_what_it_covers(attack):
    results = attack.attempt()
    done = {act for act, result in results.items() if result == "done"}
    assert done <= OUTSIDE_LANDLOCK
    assert len(results) - len(OUTSIDE_LANDLOCK) >= 15
    assert "the kernel refused it" in attack.mounted.log


@pytest.mark.parametrize("attack", [(KAFKA, "landlock")], indirect=True)
def test_a_kernel_without_landlock_serves_and_the_log_says_so(attack):
    results = attack.attempt()
    assert {act for act, result in results.items() if result == "done"} == READING
    assert "this kernel has no Landlock" in attack.mounted.log


@pytest.mark.parametrize("attack", [(KAFKA, "")], indirect=True)
def test_every_thread_has_given_up_its_rights(attack):
    """Landlock, seccomp and capabilities belong to a thread: one that was started too early would keep them."""
    threads = list(Path(f"/proc/{attack.mounted.status()['pid']}/task").iterdir())
    assert len(threads) > 10
    assert attack.mounted.status()["confined"] == {"user": KAFKA, "landlock": landlock.version(), "filtered": True}
    for thread in threads:
        status = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines() if ":\t" in line)
        assert status["Uid"].split() == [str(KAFKA)] * 4
        assert status["Groups"].strip() == ""
        assert {status[name] for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")} == {"0" * 16}
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


@pytest.mark.parametrize("attack", [(0, ""), (KAFKA, "")], indirect=True, ids=["root's data", "kafka's data"])
def test_reading_leaves_the_access_time_alone(attack):
    """The daemon is the files' owner, and so may read with O_NOATIME."""
    log = next(attack.data.glob("test-0/*.log"))
    os.utime(log, (1, 1))
    run("cat", attack.mounted / f"test-0/segments/{log.name}")
    assert log.stat().st_atime == 1


@pytest.mark.parametrize("how", ["foreground", "background"])
def test_an_ordinary_user_mounts_reads_and_unmounts_his_own_data(how):
    """With fusermount3, whose rights the daemon has lost by the time that it would unmount."""
    scratch = Path(tempfile.mkdtemp(dir="/tmp"))
    place = scratch / "mount"
    place.mkdir()
    data = unpack(scratch)
    run("chown", "-R", f"{ORDINARY}:{ORDINARY}", scratch)
    Path("/dev/fuse").chmod(0o666)  # as every distribution has it
    command: list[str | Path] = [*AS_ORDINARY, KAFKAFS, "mount", data, place]
    try:
        with ExitStack() as stack:
            if how == "background":
                run(*command, "--background")
            else:
                stack.enter_context(mounting(command, place, scratch.with_suffix(".log")))
            assert b"message 23400" in run(*AS_ORDINARY, "cat", place / "test-0/by-offset/23400.jsonl").stdout
            assert run("ls", place, check=False).returncode != 0  # root is another user
            run(*AS_ORDINARY, KAFKAFS, "umount", place)
            assert mounted_at(place) is None
    finally:
        while mounted_at(place):
            unmount(place, lazily=True)
        shutil.rmtree(scratch)


@pytest.mark.parametrize("attack", [(KAFKA, "")], indirect=True)
def test_data_of_several_owners_is_read_with_the_one_capability_that_allows_it(attack):
    """Somebody restored a segment as root, and the daemon has to read it for those who may."""
    attack.mounted.end()
    log = next(attack.data.glob("test-0/*.log"))
    os.chown(log, 0, 0)
    log.chmod(0o600)
    place = attack.mounted.path
    with mounting([KAFKAFS, "mount", attack.data, place], place, attack.data.with_name("log")) as mounted:
        status = Path(f"/proc/{mounted.status()['pid']}/status").read_text()
        assert re.search(r"CapEff:\s+0{15}4\n", status)  # CAP_DAC_READ_SEARCH
        assert run("cat", mounted / f"test-0/segments/{log.name}").stdout == log.read_bytes()
        assert run(*KAFKA_ALONE, "cat", mounted / f"test-0/segments/{log.name}", check=False).returncode != 0
