"""Lookups that need a store: the kernel gets provisional attributes, and the true ones when it asks again.

The kernel looks up one name at a time in a directory, so a name of the disk would wait for a name whose answer is in a
store. A provisional answer has no size and no rights, and the kernel may not keep it. So before it does anything with
the file, it asks: `stat` by `getattr`, which waits for the answer, and `open`, which waits and then has the kernel look
the name up again (ESTALE: the kernel does that by itself, once). That lookup finds the answer here.

All of it belongs to the trio thread.
"""

from collections.abc import Awaitable, Callable
from math import inf
from typing import cast

import trio

from kafkafs.disk.blocking import LOOKUP_S, patience
from kafkafs.errors import Unfinished
from kafkafs.fuse.serve.inodes import can
from kafkafs.fuse.serve.signals import interrupted
from kafkafs.view.node import Attributes, DirectoryNode, FileNode, Node

PROVISIONAL = Attributes("file", 0, 0, 0, 0, 0, 0.0)
"""The attributes of a file that the kernel gets until more is known."""

AT_ONCE_S = 0.05
"""Seconds that a lookup waits before it answers with `PROVISIONAL`: a store that is near has answered by then."""

KEPT_S = 5.0
"""How long an answer is kept for the requests that come for it. Others ask again."""

_LEFT_S = 5.0
"""How long nobody may wait for an answer before the work for it ends."""

Found = tuple[Node, Attributes | None]
Key = tuple[int, bytes]
"""A directory's node id, and a name in it."""


def attributes_in(lane: str, node: Node) -> Attributes | None:
    """The node's; None where they wait for another disk than this call."""
    if not lane and getattr(node, "lane", lane) != lane:  # only the root is above the disks
        return None
    return node.attributes()


class RetriedLookup:
    """One name in a directory, as the same node in each retry until its attributes are found. So the value of `now` in
    the name does not change, and work in progress continues."""

    def __init__(self, directory: DirectoryNode, name: str, lane: str) -> None:
        self._directory = directory
        self._name = name
        self._lane = lane
        self.node: Node | None = None

    def look(self) -> Found:
        """The node and its attributes, with little patience for a store that is far: meanwhile the kernel looks up no
        other new name in the directory, and most of them may be on the disk."""
        with patience(LOOKUP_S):
            self.node = self.node or self._directory.child(self._name)
            return self.node, attributes_in(self._lane, self.node)


class LateAnswer:
    """The answer to one lookup, which is on its way, or came a moment ago."""

    def __init__(self, pid: int, child: RetriedLookup) -> None:
        self._pid = pid
        self._child = child
        self._waiting = 0
        self.wanted = 0  # requests that will come for it: the kernel was told to ask again
        self._since = trio.current_time()  # nobody has waited, or the answer has been there
        self._came = trio.Event()
        self._found: Found | None = None
        self._error: Exception | None = None

    async def found(self, pid: int, within_s: float) -> Found:
        """Return or raise the answer. If it does not come in that time, a file has provisional attributes."""
        self._pid = pid
        self._waiting += 1
        node = self._child.node
        is_file = node is not None and can(type(node), "open")
        try:
            with trio.move_on_after(within_s if is_file else inf):
                await self._came.wait()
        finally:
            self._waiting -= 1
            if not self._came.is_set():
                self._since = trio.current_time()
        if not self._came.is_set():
            self.wanted += 1
            return cast(FileNode, node), PROVISIONAL
        self.wanted = max(0, self.wanted - 1)
        if self._error is not None:
            raise self._error.with_traceback(None)
        return cast(Found, self._found)

    def is_unwanted(self) -> bool:
        """True if the work for it should end: its caller got a signal, or nobody waits."""
        is_left = not self._waiting and trio.current_time() > self._since + _LEFT_S
        return is_left or interrupted(self._pid) is True

    def is_old(self) -> bool:
        """True if it came, and no request comes for it any more."""
        return self._came.is_set() and not (self.wanted and trio.current_time() < self._since + KEPT_S)

    async def arrive(self, ask: Callable[[], Awaitable[Found]]) -> None:
        """Ask, and take in what comes."""
        try:
            self._found = await ask()
        except Exception as error:  # the waiting caller gets it
            self._error = error
            if isinstance(error, Unfinished):  # the work was given up: later requests ask again
                self.wanted = 0
        self._since = trio.current_time()
        self._came.set()


class LateAnswers:
    """The late answers of one mount."""

    def __init__(self) -> None:
        self._answers: dict[Key, LateAnswer] = {}

    def known(self, key: Key) -> LateAnswer | None:
        """The answer for that name, if it is on its way, or if this request may come for it."""
        if not self._answers:
            return None
        for old in [each for each, answer in self._answers.items() if answer.is_old()]:
            del self._answers[old]
        return self._answers.get(key)

    def begin(
        self, key: Key, pid: int, child: RetriedLookup, ask: Callable[[Callable[[], bool]], Awaitable[Found]]
    ) -> LateAnswer:
        """Have the question asked. `ask` gets a function that tells if nobody wants the answer any more."""
        answer = self._answers[key] = LateAnswer(pid, child)
        trio.lowlevel.spawn_system_task(answer.arrive, lambda: ask(answer.is_unwanted))
        return answer

    def keep(self, key: Key) -> None:
        """The kernel will look the name up again."""
        if (answer := self._answers.get(key)) is not None:
            answer.wanted += 1

    def forget(self, key: Key) -> None:
        """The answer is no longer true."""
        self._answers.pop(key, None)
