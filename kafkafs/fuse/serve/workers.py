"""The fixed pool of threads in which view calls may wait, fair between the disks they wait for.

All threads start with the mount: starting one later, when memory is short, can block the process for good. Calls are
queued by *lane*, one for each data directory, and a lane occupies at most `PER_LANE` threads, so that a hung disk
stops only its own directory; its canary, which shows that it hangs, waits for none of them. Within a lane, reads leave
`RESERVED` threads to lookups, so that nobody's `ls` waits for someone else's gigabyte; a look for a read that waits at
the end of a log goes before other reads. A call that gets nowhere for `TIMEOUT_S` is answered with an error, and its
thread counts as stuck until it comes back; in a lane with stuck threads the timeout is short, and one with nothing
else refuses at once. A thread that uses the processor gets somewhere, however long its call takes: one that waits for a
disk that hangs uses none.

All bookkeeping is done on the trio thread. A thread only takes a job, notes in it which thread it is, the processor
time that it has used and, last, the clock that measures that; runs it, and hands it back through the trio token.
"""

import functools
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from enum import Enum, auto
from math import inf
from typing import Any, TypeVar

import outcome
import trio

from kafkafs.disk.blocking import StoreNeeded, answer_within, disk_only, time_slice
from kafkafs.errors import AnswerInProgress, BatchMemoryFull, DiskError, Exhausted, Unfinished

PER_LANE = 8
RESERVED = 2  # threads for calls that are not reads
WAKING = 2  # at most, for looks on behalf of reads that wait; one of the reserved is left to others
LANES_AT_ONCE = 4  # lanes that can be busy to their limit while others still find threads
QUEUED_PER_LANE = 4096
BEAT_S = 1.0  # how often calls are looked at
TIMEOUT_S = 20.0
SUSPECT_S = 2.0  # the timeout in a lane that has stuck threads
PROGRESS_S = 0.0005  # processor time in a beat of a thread that makes progress, if only from read to read
ROOM_S, ROOM_EVERY_S = 3.0, 0.05  # how long calls wait for room in memory
PART_S, PART_EVERY_S = 0.5, 0.01  # work in parts: time of one part, and the pause for others after it
STORE_S = 15.0  # how long one call waits for a store, whatever it asks there
CANARY_S = 1.0  # a canary that takes longer shows that its disk hangs

T = TypeVar("T")


class CallKind(Enum):
    """The kind of a call, as far as it decides how the call is treated."""

    ASK = auto()
    READ = auto()  # can take long: leaves threads to others
    WAKE = auto()  # a look whether what a read waits for has come: quick, and before other reads
    SHARED = auto()  # the kernel lets nothing else into a directory that all lanes share: given up with the canary
    CANARY = auto()  # one at a time, quick unless the disk hangs, and never given up: a late one shows that it does


logger = logging.getLogger(__name__)


class _Lane:
    def __init__(self, key: str) -> None:
        self.key = key
        self.asks: deque[_Job] = deque()  # waiting for a thread
        self.reads: deque[_Job] = deque()
        self.wakes: deque[_Job] = deque()
        self.running: set[_Job] = set()  # those that occupy a thread, the stuck ones too
        self.progressed = 0.0  # when one of its threads was last seen to get somewhere

    def calls(self) -> "list[_Job]":
        """All that are not back, whether they have a thread or not."""
        return [*self.running, *self.asks, *self.reads, *self.wakes]

    @property
    def stuck(self) -> int:
        """Threads that have not come back in time."""
        return sum(job.stuck for job in self.running)

    def is_hung(self, now: float) -> bool:
        """True if its canary is out for longer than an answering disk takes."""
        return any(job.kind is CallKind.CANARY and now - job.began > CANARY_S for job in self.running)

    def queue(self, kind: CallKind) -> "deque[_Job]":
        """Return the queue in which calls of that kind wait for a thread."""
        return self.reads if kind is CallKind.READ else self.wakes if kind is CallKind.WAKE else self.asks

    def take(self) -> "_Job | None":
        """The next job that may run now."""
        if self.asks and self.asks[0].kind is CallKind.CANARY:
            return self.asks.popleft()
        if len(self.running) >= PER_LANE:
            return None
        if self.asks:
            return self.asks.popleft()
        waking, reading = (sum(job.kind is kind for job in self.running) for kind in (CallKind.WAKE, CallKind.READ))
        if self.wakes and waking < WAKING and reading + waking < PER_LANE - 1:
            return self.wakes.popleft()
        if self.reads and reading < PER_LANE - RESERVED:
            return self.reads.popleft()
        return None


class _Job:
    def __init__(
        self,
        lane: _Lane,
        call: Callable[[], Any],
        kind: CallKind,
        unclaimed: Callable[[Any], None] | None,
        occupied_since: float | None = None,
        in_store: bool = False,
    ) -> None:
        self.lane = lane
        self.in_store = in_store  # it may wait for a store
        self.call = call
        self.kind = kind
        self.unclaimed = unclaimed  # takes the value that is not waited for any more
        self.task: trio.lowlevel.Task | None = trio.lowlevel.current_task()
        self.asked = trio.current_time()
        self.timeout_s = SUSPECT_S if lane.stuck else TIMEOUT_S
        self.waits_for_lock = occupied_since is not None  # for one that another thread has, when it was last made
        # when its thread was last seen to get somewhere
        self.progressed = self.asked if occupied_since is None else occupied_since
        self.clock: int | None = None  # clock id of its thread's processor time
        self.spent_s = 0.0  # by that clock
        self.thread = ""  # the one that runs it
        self.began = inf  # when it got a thread
        self.stuck = False

    def note_progress(self, now: float) -> None:
        """Notes whether its thread has used the processor since it was asked last."""
        if self.clock is not None:
            spent_s, before = time.clock_gettime(self.clock), self.spent_s
            self.spent_s = spent_s
            if self.waits_for_lock:  # no longer at the next beat: a part is shorter
                self.waits_for_lock = False
            elif spent_s - before >= PROGRESS_S:
                self.progressed = self.lane.progressed = now

    def is_over(self, now: float) -> bool:
        """True if its caller should wait no longer. One that has no thread yet waits for those of its lane, and so does
        one that waits for what another thread makes."""
        is_first = self in self.lane.running and self.progressed >= self.asked
        progressed = self.progressed if is_first else max(self.progressed, self.lane.progressed)
        return now >= progressed + self.timeout_s or (self.kind is CallKind.SHARED and self.lane.is_hung(now))


def _key(lane_key: str, in_store: bool) -> str:
    """The name of a disk's lane, or of the lane for those of its calls that need a store."""
    return f"{lane_key} (tier)" if in_store else lane_key


class Workers:
    """The pool of one mount. Made and used on the trio thread, inside `trio.run`; `_crowd` queues calls for room."""

    def __init__(self, lanes: int = 1) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._taken: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lanes: dict[str, _Lane] = {}
        self._crowd = trio.Lock()  # those that wait for room come one after the other
        self.threads = PER_LANE * min(lanes + 1, LANES_AT_ONCE) + PER_LANE
        for number in range(self.threads):
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True).start()

    @property
    def busy(self) -> int:
        """Threads that are at work on a call."""
        return sum(len(lane.running) for lane in self._lanes.values())

    @property
    def waiting(self) -> int:
        """Calls that no thread has begun yet."""
        return len(self._calls()) - self.busy

    @property
    def stuck(self) -> dict[str, int]:
        """Threads that have not come back in time, by lane."""
        return {lane.key: lane.stuck for lane in self._lanes.values() if lane.stuck}

    def calls(self) -> Iterator[str]:
        """A line about each call that is not back, the oldest first: whose disk, for how long, what, and where."""
        now = trio.current_time()
        for job in sorted(self._calls(), key=lambda job: job.asked):
            what = getattr(job.call, "func", job.call)
            place = "stuck in " * job.stuck + (job.thread or "no thread yet")
            yield f"to the disk of {job.lane.key!r}, for {now - job.asked:.1f} s: {what.__qualname__}, {place}"

    async def run(
        self,
        lane_key: str,
        call: Callable[[], T],
        kind: CallKind = CallKind.ASK,
        *,
        unclaimed: Callable[[T], None] | None = None,
        gone: Callable[[], bool] = lambda: False,
        in_store: bool | None = None,
    ) -> T:
        """Run `call()` in a thread. Return what it returns, or raise what it raises. `unclaimed` gets one that came
        after its caller had left.

        A call that finds no room in memory is made again when there is some, unless that takes `ROOM_S`; one that does
        not finish in its time slice is made again until it does, or its caller is `gone`. A call that only ever waits
        for the same answer of another thread is given up with it. `in_store`: True if it is known to need a store, None
        if it is then made again in the lane for that, False if its caller gets StoreNeeded.
        """
        occupied_since: float | None = None
        is_in_store = in_store is True
        while True:
            asked = trio.current_time()
            once = functools.partial(self._run_once, lane_key, call, kind, unclaimed, occupied_since, is_in_store)
            try:
                return await self._run_in_room(once)
            except StoreNeeded:
                if in_store is not None:
                    raise
                is_in_store = True
                continue
            except Unfinished as error:
                if gone():
                    raise
                if not isinstance(error, AnswerInProgress):
                    occupied_since = None
                elif occupied_since is None:
                    occupied_since = asked
            await trio.sleep(PART_EVERY_S)

    async def _run_in_room(self, once: Callable[[], Awaitable[T]]) -> T:
        """Make a call, and again whenever there is room in memory, for one caller at a time."""
        try:
            return await once()
        except BatchMemoryFull as error:
            crowded = error.with_traceback(None)  # its frames hold the memory that they got
        with trio.move_on_after(ROOM_S):
            async with self._crowd:
                while True:
                    await trio.sleep(ROOM_EVERY_S)
                    try:
                        if crowded.has_room():
                            return await once()
                    except BatchMemoryFull as error:
                        crowded = error.with_traceback(None)
        raise crowded

    async def _run_once(
        self,
        lane_key: str,
        call: Callable[[], T],
        kind: CallKind,
        unclaimed: Callable[[T], None] | None,
        occupied_since: float | None,
        in_store: bool,
    ) -> T:
        lane_key = _key(lane_key, in_store)
        lane = self._lanes.get(lane_key)
        if lane is None:
            lane = self._lanes[lane_key] = _Lane(lane_key)
        if lane.stuck >= PER_LANE or (kind is CallKind.SHARED and lane.is_hung(trio.current_time())):
            raise DiskError(f"the disk of {lane_key!r} does not answer")
        waiting = lane.queue(kind)
        if len(waiting) >= QUEUED_PER_LANE:
            raise Exhausted(f"more than {QUEUED_PER_LANE} calls wait for the disk of {lane_key!r}")
        job = _Job(lane, call, kind, unclaimed, occupied_since, in_store)
        if kind is CallKind.CANARY:
            waiting.appendleft(job)
        else:
            waiting.append(job)
        self._fill(lane)
        result: T = await trio.lowlevel.wait_task_rescheduled(lambda _: self._leave(job))
        return result

    def start(self, lane_key: str, call: Callable[[], object], *, in_store: bool = False) -> None:
        """`call()` in a thread if one is free for reads; nothing waits for it, and where others do it is left out."""
        lane = self._lanes.get(_key(lane_key, in_store))
        if lane is not None and not lane.reads and not lane.stuck:
            job = _Job(lane, call, CallKind.READ, None, in_store=in_store)
            job.task = None
            lane.reads.append(job)
            self._fill(lane)

    def close(self) -> None:
        """Lets the threads end as they become free; what hangs in a system call ends with the process."""
        for _ in range(self.threads):
            self._taken.put(None)

    async def watch(self) -> None:
        """Answers calls that take too long, in their callers' stead. Runs as long as the mount."""
        while True:
            await trio.sleep(BEAT_S)
            self._give_up_overdue(trio.current_time())

    def _give_up_overdue(self, now: float) -> None:
        jobs = self._calls()
        for job in jobs:
            job.note_progress(now)
        for job in [job for job in jobs if job.is_over(now)]:
            self._give_up(job)

    def _calls(self) -> list[_Job]:
        """All that are not back."""
        return [job for lane in self._lanes.values() for job in lane.calls()]

    def _give_up(self, job: _Job) -> None:
        """Give a job up because its time is over: the caller gets an error, and the thread is stuck until it is
        back."""
        if job.task is not None and job.kind is not CallKind.CANARY:
            logger.error("no answer from the disk of %r in time", job.lane.key)
            error = DiskError(f"the disk of {job.lane.key!r} does not answer")
            trio.lowlevel.reschedule(job.task, outcome.Error(error))
            self._leave(job)
        job.stuck = job in job.lane.running

    def _leave(self, job: _Job) -> trio.lowlevel.Abort:
        """The caller no longer waits: it was cancelled, or its time is over."""
        job.task = None
        if job not in job.lane.running:
            job.lane.queue(job.kind).remove(job)
        return trio.lowlevel.Abort.SUCCEEDED

    def _fill(self, lane: _Lane) -> None:
        while self.busy < self.threads and (job := lane.take()) is not None:
            job.began = trio.current_time()
            lane.running.add(job)
            self._taken.put(job)

    def _work(self) -> None:
        name, clock = threading.current_thread().name, time.pthread_getcpuclockid(threading.get_ident())
        while (job := self._taken.get()) is not None:
            job.thread, job.spent_s = name, time.clock_gettime(clock)
            job.clock = clock
            with time_slice(PART_S), answer_within(STORE_S) if job.in_store else disk_only():
                value: outcome.Maybe[Any] = outcome.capture(job.call)
            try:
                self._token.run_sync_soon(self._finish, job, value)
            except trio.RunFinishedError:
                return
            del job, value  # and with it what was read, before this thread sleeps

    def _finish(self, job: _Job, value: outcome.Maybe[Any]) -> None:
        """The caller goes on with `value`. No job has it: an error leads to its caller's frame, and so to the job."""
        job.lane.running.discard(job)
        if job.task is not None:
            trio.lowlevel.reschedule(job.task, value)
        elif job.unclaimed is not None and isinstance(value, outcome.Value):
            job.unclaimed(value.value)
        self._fill(job.lane)
        for other in self._lanes.values():
            self._fill(other)
