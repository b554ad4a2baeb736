"""Names that need a store keep no name of the disk waiting, and are what they would be if the kernel had waited."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from kafkafs.errors import KafkafsError, NotFound, Unfinished
from kafkafs.fuse.serve import late_answers as module
from kafkafs.fuse.serve.late_answers import PROVISIONAL, Found, LateAnswers, RetriedLookup
from kafkafs.fuse.serve.workers import PER_LANE
from tests.fuse.shelf import ShelfDirectory, ShelfFile
from tests.mounting import run

SENT = "import os, sys; f = os.open(sys.argv[1], 0); sum(iter(lambda: os.sendfile(1, f, None, 1 << 20), 0))"
"""Opens a file and sends it, without a question for its size."""


@pytest.fixture
def far(shelf) -> Path:
    (shelf.source / "far").mkdir()
    (shelf.source / "far/near").write_text("of the disk")
    for number in range(PER_LANE * 2):
        (shelf.source / f"far/remote{number}").write_bytes(b"%d" % number * 100_000)
    return Path(shelf / "far")


def test_a_local_name_does_not_wait_for_remote_ones(shelf, far):
    """Regression: the kernel looks up one name at a time in a directory, so a local point waited for remote ones. The
    readers here wait until the local name has answered."""
    remote = [
        subprocess.Popen(["cat", far / f"remote{number}"], stdout=subprocess.PIPE) for number in range(PER_LANE * 2)
    ]
    for _ in range(3):
        assert run("cat", far / "near").stdout == b"of the disk"
        assert "near" in os.listdir(far)
    assert {each.poll() for each in remote} == {None}
    (shelf.source / "far/answers").touch()
    for number, each in enumerate(remote):
        assert each.communicate(timeout=100)[0] == b"%d" % number * 100_000
        assert each.returncode == 0


def test_a_late_answer_is_what_the_kernel_would_have_waited_for(shelf, far):
    """Size, mode and bytes, also for a program that opens a file without asking for its size; and no such file."""
    stat, sent, gone = (
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for words in (
            ["stat", "-c", "%s %a", far / "remote1"], [sys.executable, "-c", SENT, far / "remote12"],
            ["cat", far / "remote99"],
        )
    )  # fmt: skip
    assert run("cat", far / "near").stdout == b"of the disk"
    (shelf.source / "far/answers").touch()
    mode = (shelf.source / "far/remote1").stat().st_mode & 0o555
    assert stat.communicate(timeout=100)[0] == b"100000 %o\n" % mode
    assert sent.communicate(timeout=100)[0] == b"12" * 100_000
    assert b"No such file" in gone.communicate(timeout=100)[1]


class _Asked:
    """A question whose answer comes when the test says so."""

    def __init__(self) -> None:
        self.times, self.release = 0, trio.Event()
        self.error: KafkafsError | None = None
        self.once = RetriedLookup(ShelfDirectory(Path("/")), "x", "")
        self.once.node = ShelfFile(Path("/x"), "plain")

    async def __call__(self, _: object) -> Found:
        self.times += 1
        await self.release.wait()
        if self.error:
            raise self.error
        assert self.once.node is not None
        return self.once.node, PROVISIONAL._replace(size=5)


def test_an_answer_is_kept_for_requests_that_come_for_it_alone():
    """A request for each time that the kernel was told to ask again. All others ask anew."""

    async def main() -> None:
        late, asked, key = LateAnswers(), _Asked(), (1, b"x")
        answer = late.begin(key, os.getpid(), asked.once, asked)
        assert (await answer.found(os.getpid(), 1))[1] is PROVISIONAL
        asked.release.set()
        await trio.testing.wait_all_tasks_blocked()
        assert late.known(key) is answer
        _, about = await answer.found(os.getpid(), 1)
        assert about is not None
        assert about.size == 5
        assert late.known(key) is None
        answer = late.begin(key, os.getpid(), asked.once, asked)
        await answer.found(os.getpid(), 1)
        late.keep(key)
        assert late.known(key) is answer
        await trio.sleep(module.KEPT_S + 1)
        assert late.known(key) is None
        assert asked.times == 2

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_an_error_and_a_bug_reach_whoever_waits():
    async def main() -> None:
        late, asked = LateAnswers(), _Asked()
        asked.error = NotFound("x")
        asked.release.set()
        answer = late.begin((1, b"x"), os.getpid(), asked.once, asked)
        with pytest.raises(NotFound):
            await answer.found(os.getpid(), 1)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_work_for_an_answer_that_nobody_wants_ends():
    async def main() -> None:
        late, asked = LateAnswers(), _Asked()
        answer = late.begin((1, b"x"), os.getpid(), asked.once, asked)
        await answer.found(os.getpid(), 1)
        assert not answer.is_unwanted()
        await trio.sleep(10)
        assert answer.is_unwanted()
        asked.release.set()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_work_that_was_given_up_is_no_answer():
    """Its request comes late, as on a busy machine, and asks anew."""

    async def main() -> None:
        late, asked, key = LateAnswers(), _Asked(), (1, b"x")
        asked.error = Unfinished("given up")
        await late.begin(key, os.getpid(), asked.once, asked).found(os.getpid(), 1)
        asked.release.set()
        await trio.testing.wait_all_tasks_blocked()
        assert late.known(key) is None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
