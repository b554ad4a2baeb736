"""The protection of shared mounts: what one test does to one is not for the next."""

import os
import signal

import pytest

from kafkafs.fuse.life.mountpoint import mounted_at
from tests.fuse.conftest import _mounted
from tests.mounting import accounts, before_each_test, run, wait_until


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    yield from _mounted(tmp_path_factory.mktemp("shelf"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_mount_that_is_lost_stands_again_for_the_next_test(shared, number):
    (shared.source / "file").write_text("hello\n")
    shared.mounted.process.send_signal(number)
    shared.mounted.process.wait(300)
    wait_until(lambda: mounted_at(shared.path) is None)
    before_each_test()
    assert run("cat", shared / "file").stdout == b"hello\n"


def test_a_mount_that_was_aborted_stands_again(shared):
    (shared.source / "file").write_text("hello\n")
    shared.mounted.abort()
    before_each_test()
    assert run("cat", shared / "file").stdout == b"hello\n"


def test_the_account_tells_where_tasks_threads_and_processes_stand(shared):
    reported: list[str] = []

    def waits() -> bool:
        """Whether the loop waits again: it may still be writing of itself when its account is read."""
        reported[:] = ["\n".join(text for _, text in accounts())]
        return "do_epoll_wait" in reported[0]

    wait_until(waits)
    assert "WaitingReads.pulse" in reported[0]
    assert f"{os.getpid()}/" not in reported[0], "only of processes that hang, and of the mount's own"
