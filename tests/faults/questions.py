"""Questions to a mount of the bundled sample, and their answers in good times: what faults are measured against."""

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.promises import at_most

DOCUMENTED = {errno.EIO, errno.ESTALE, errno.EMFILE, errno.EACCES, errno.ENOENT, errno.ENOMEM, errno.EOPNOTSUPP}
"""What a fault may look like to a reader."""

LONGEST_S = at_most(5.0)
FIRST, END = 23147, 23488


def read(path: Path) -> bytes:
    """A file from start to end."""
    with open(path, "rb", buffering=0) as file:
        parts = []
        while part := file.read(1 << 16):
            parts.append(part)
    return b"".join(parts)


class Questions:
    """By path; `ask` says how an answer compares."""

    def __init__(self, mount: Path) -> None:
        self.slowest = 0.0
        self._mount = mount
        names = [f"test-0/by-offset/{n}{suffix}" for n in range(FIRST, END, 29)
                 for suffix in ("", ".jsonl", ".value", ".batches.jsonl", ".explain")]  # fmt: skip
        names += [f"test-0/by-offset/{n}..{n + 70}{suffix}" for n in range(FIRST, END, 61) for suffix in ("", ".jsonl")]
        names += [f"test-0/by-time/{ms}.jsonl" for ms in range(1632390207745, 1632390208071, 40)]
        names += ["test-0/by-offset/0...batches.jsonl", "orders-0/by-offset/0...jsonl", "orders-0/by-offset/0.."]
        names += [f"test-0/segments/{FIRST:020d}.{kind}" for kind in ("log", "index", "log.txt", "index.txt")]
        self._answers: dict[str, Callable[[], object]] = {
            name: lambda name=name: read(mount / name)  # type: ignore[misc]
            for name in names
        }
        for name in (".", "test-0", "test-0/by-offset", "test-0/by-time", "test-0/segments"):
            self._answers[f"ls {name}"] = lambda name=name: sorted(os.listdir(mount / name))  # type: ignore[misc]
        for name in ("earliest", "latest"):
            self._answers[f"readlink {name}"] = lambda name=name: os.readlink(mount / "test-0" / name)  # type: ignore[misc]
        self._answers["info"] = lambda: json.loads(read(mount / "test-0/info.json"))["logEndOffset"]
        self._truth = {name: answer() for name, answer in self._answers.items()}
        self.names = list(self._answers)
        self.checked = [name for name in names if name.endswith((".jsonl", ".value")) and ".." not in name
                        and ".batches." not in name and "by-time" not in name]  # fmt: skip
        """Those whose bytes have a checksum on the disk, and which can neither end sooner, as ranges do, nor pass over
        a batch whose checksum fails, as points in time do."""
        self.explanations = [name for name in names if name.endswith(".explain")]

    def ask(self, name: str) -> int:
        """0 for the right answer, else a documented errno. AssertionError for anything else."""
        started = time.monotonic()
        try:
            answer = self._answers[name]()
        except OSError as error:
            if error.errno not in DOCUMENTED:
                raise AssertionError(f"{name}: {error!r}") from error
            return error.errno or 0
        finally:
            took = time.monotonic() - started
            self.slowest = max(self.slowest, took)
            assert took < LONGEST_S, f"{name}: hung for {took:.1f} s"
        assert _outcome(name, answer) == _outcome(name, self._truth[name]), f"{name}: a wrong answer, {answer!r}"
        return 0

    def are_all_as_before(self) -> bool:
        """Whether each answer is what it was in good times; errors and wrong ones are no more than a no."""
        try:
            return all(answer() == self._truth[name] for name, answer in self._answers.items())
        except OSError:
            return False

    def is_as_before(self, name: str) -> bool:
        """Whether the answer is what it was in good times, to the byte."""
        return self.ask(name) == 0 and self._answers[name]() == self._truth[name]


def _outcome(name: str, answer: object) -> object:
    """An explanation tells of an index that cannot be read, which is a hint: only what it leads to is the same."""
    return answer.splitlines()[-2:] if name.endswith(".explain") and isinstance(answer, bytes) else answer
