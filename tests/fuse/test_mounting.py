"""A mount's life: where it may stand, how it begins, and that however it ends nothing stale is left."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from kafkafs.errors import UsageError
from kafkafs.fuse.life import mountpoint
from kafkafs.fuse.life.mountpoint import check, mounted_at
from tests.fuse.conftest import ROOT
from tests.mounting import KAFKAFS, PATIENCE_S, Mounted, mounting, run, wait_until
from tests.promises import at_most


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_mount_in_order(own_shelf, number):
    own_shelf.mounted.process.send_signal(number)
    assert own_shelf.mounted.process.wait(PATIENCE_S) == 0
    assert mounted_at(own_shelf.path) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_keep_coming_change_nothing(own_shelf, number):
    """A terminal sends Ctrl-C to all processes of a group, and one passes it on to another; some people press twice."""
    process = own_shelf.mounted.process
    while process.poll() is None:
        os.killpg(process.pid, number)
        time.sleep(0.001)
    assert process.returncode == 0
    assert "ERROR" not in own_shelf.mounted.log
    assert own_shelf.mounted.log.count("ending on") == 1
    assert mounted_at(own_shelf.path) is None


def test_umount_ends_the_processes(own_shelf):
    run("umount", own_shelf.path)
    assert own_shelf.mounted.process.wait(PATIENCE_S) == 0


def test_the_kernel_is_asked_to_check_permissions_and_to_allow_nothing_else(shelf):
    options = run("findmnt", "-no", "OPTIONS", shelf.mounted.path).stdout.decode().strip().split(",")
    assert {"ro", "nosuid", "nodev", "noexec", "noatime", "default_permissions", "allow_other"} <= set(options)
    assert run("findmnt", "-no", "FSTYPE", shelf.mounted.path).stdout.strip() == b"fuse.kafkafs"


def start(script: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["bash", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def is_under_load(mounted: Mounted) -> bool:
    """Whether it has handed out what takes several readers some rounds."""
    return int(mounted.status()["bytesRead"]) > 2 << 20


@pytest.mark.urgent  # a second is a second
@pytest.mark.parametrize("victim", ["daemon", "supervisor", "both"])
def test_kill_9_under_load_leaves_no_stale_mount(tmp_path, victim):
    """A stale mount breaks every program that walks by, until somebody with root finds it."""
    source, place = tmp_path / "source", tmp_path / "mount"
    source.mkdir()
    place.mkdir()
    (source / "file").write_bytes(random.Random(1).randbytes(1 << 20))
    command: list[str | Path] = [sys.executable, "-m", "tests.fuse.shelf", source, place]
    for _ in range(5):
        with mounting(command, place, tmp_path / "log", cwd=ROOT) as mounted:
            pids = {"daemon": mounted.status()["pid"], "supervisor": mounted.process.pid}
            load = [start(f"while cat {place}/file; do ls {place}; done") for _ in range(4)]
            wait_until(partial(is_under_load, mounted))
            for pid in pids.values() if victim == "both" else [pids[victim]]:
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: mounted_at(place) is None, at_most(1.0))
            for process in load:
                process.kill()
                process.wait(PATIENCE_S)


def test_a_stale_mount_is_recognised_explained_and_taken_away(own_shelf):
    supervisor = own_shelf.mounted.process.pid
    os.kill(supervisor, signal.SIGSTOP)
    for child in run("pgrep", "-P", str(supervisor)).stdout.split():  # the guard first, then the daemon
        os.kill(int(child), signal.SIGKILL)
    wait_until(lambda: mountpoint.is_stale(own_shelf.path))
    os.kill(supervisor, signal.SIGKILL)
    own_shelf.mounted.process.wait(PATIENCE_S)
    with pytest.raises(UsageError, match=r"stale mount, .* `kafkafs umount /.*` takes it away"):
        check(own_shelf.path, [own_shelf.source])
    run(KAFKAFS, "umount", own_shelf.path)
    assert mounted_at(own_shelf.path) is None


def test_where_a_link_leads_is_known_without_asking_a_mount(own_shelf, tmp_path):
    """A daemon that hangs must not take with it who wants to end it."""
    link = tmp_path / "link"
    link.symlink_to(own_shelf.path)
    daemon = int(own_shelf.mounted.status()["pid"])
    os.kill(daemon, signal.SIGSTOP)
    try:
        ask = f"from kafkafs.fuse.life.mountpoint import mounted_at; print(mounted_at({str(link)!r}).path)"
        assert run(sys.executable, "-c", ask).stdout.decode() == f"{own_shelf.path}\n"
    finally:
        os.kill(daemon, signal.SIGCONT)


def test_a_mount_point_in_use_is_refused(shelf):
    """A second mount would silently lie over the first."""
    with pytest.raises(UsageError, match="in use"):
        check(shelf.mounted.path, [shelf.source])


def test_sigusr1_tells_what_every_task_and_thread_is_doing(shelf):
    os.kill(shelf.mounted.process.pid, signal.SIGUSR1)
    wait_until(lambda: "thread worker-" in shelf.mounted.log)
    assert "WaitingReads.pulse" in shelf.mounted.log
    assert run("ls", shelf.path).returncode == 0


PROGRAM = """
import gc, json
from kafkafs.fuse.life.mounting import collect_garbage_in_small_steps
collect_garbage_in_small_steps()
looked_at = []
def count(phase, about):
    if phase == "start":
        looked_at.append(sum(len(gc.get_objects(younger)) for younger in range(about["generation"] + 1)))
gc.callbacks.insert(0, count)
names = [[number] for number in range(300_000)]
for _ in range(100_000):
    cycle = []
    cycle.append(cycle)
print(json.dumps([looked_at, gc.get_stats()[2]["collections"], sum(stats["collected"] for stats in gc.get_stats())]))
"""


def test_no_look_is_at_everything_and_cycles_go():
    """A look at the 250,000 objects of 32,768 names took 200 ms; a follower woke a second late."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    looked_at, full, collected = json.loads(done.stdout)
    assert full > 2
    assert max(looked_at) < 100_000
    assert collected > 90_000
