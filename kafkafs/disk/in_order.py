"""Jobs on several forked processes. Their results are handed on in the order of the jobs.

A process takes the next job when it has done one, and sends each result at once. A result that comes before its turn
is held, up to a number of bytes. Beyond that only the first unfinished job of each lane is listened to, and a process
that is ahead waits with what it has found. Jobs are taken one by one, so the first result need not wait for the last
job. A job may depend on the result of an earlier one: until then the jobs yield None.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from kafkafs.disk.forked import ForkedProcess, Serve, answered

Task = TypeVar("Task")
Message = TypeVar("Message")


class Job(NamedTuple, Generic[Task]):
    """A task for a process. Jobs of one lane are handed on in their order; lanes do not wait for each other."""

    lane: str
    task: Task


class Ready(NamedTuple, Generic[Message]):
    """Something to tell that needs no process."""

    lane: str
    message: Message


@dataclass(eq=False)
class _Given(Generic[Message]):
    """A job of a process, and its results that no caller has received yet."""

    lane: str
    messages: deque[Message] = field(default_factory=deque)


def _nothing() -> None:
    """Do nothing: for callers who wait in silence."""


@dataclass(frozen=True)
class OrderRules(Generic[Message]):
    """`is_last`: true for the result that ends a job. `size`: the bytes of a result, of which `ahead` are held before
    their turn. `looked` is called after each wait, which lasts `look_s` at most."""

    is_last: Callable[[Message], bool]
    size: Callable[[Message], int] = lambda _: 0
    ahead: int = 1
    looked: Callable[[], None] = _nothing
    look_s: float | None = None


def in_order(
    jobs: Iterator[Job[Task] | Ready[Message] | None],
    serve: Serve[Task, Message],
    processes: int,
    rules: OrderRules[Message],
) -> Generator[tuple[str, Message], None, None]:
    """Yield what the jobs tell, each with its lane. Exhausted if the system ends a process."""
    started, idle, held = list[ForkedProcess[Task, Message]](), deque[ForkedProcess[Task, Message]](), 0
    busy: dict[ForkedProcess[Task, Message], _Given[Message]] = {}
    lanes: defaultdict[str, deque[_Given[Message]]] = defaultdict(deque)  # the jobs of each lane, in order
    try:
        while True:
            while idle or len(started) < processes:
                job = next(jobs, None)
                if job is None:
                    break
                if isinstance(job, Ready):
                    yield job.lane, job.message
                    continue
                if not idle:
                    started.append(ForkedProcess(serve))
                    idle.append(started[-1])
                process = idle.popleft()
                process.give(job.task)
                busy[process] = _Given(job.lane)
                lanes[job.lane].append(busy[process])
            listened = [each for each, given in busy.items() if held < rules.ahead or _is_next(given, lanes)]
            if not listened:
                return
            turns = dict[str, None]()  # the lanes that may go on: a look at all of them took minutes of 100,000
            for process in answered(listened, rules.look_s):
                message = process.received()
                turns[busy[process].lane] = None
                busy[process].messages.append(message)
                held += rules.size(message)
                if rules.is_last(message):
                    del busy[process]
                    idle.append(process)
            rules.looked()
            for lane in turns:
                for message in _in_turn(lanes[lane], rules.is_last):
                    held -= rules.size(message)
                    yield lane, message
                if not lanes[lane]:
                    del lanes[lane]
    finally:
        for process in started:
            process.end()


def _is_next(given: _Given[Message], lanes: Mapping[str, deque[_Given[Message]]]) -> bool:
    return lanes[given.lane][0] is given


def _in_turn(given: deque[_Given[Message]], is_last: Callable[[Message], bool]) -> Iterator[Message]:
    """Return the results of those of a lane's jobs whose turn it is, and remove finished jobs."""
    while given and given[0].messages:
        message = given[0].messages.popleft()
        if is_last(message):
            given.popleft()
        yield message
