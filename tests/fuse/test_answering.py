"""How calls end: a value or an errno, whatever happens inside, each counted; and the one reply that serves them all."""

import ctypes
import errno
import gc
import itertools
import json
import math
import mmap
import os
import re
import stat
from typing import get_args

import pyfuse3
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import ERRNO, CorruptData, NotFound
from kafkafs.fuse.serve.answering import BOUNDS_S, FILE_TYPE, FIXED_S, NO_NODE, EntryReply, Latency, Metrics, answering
from kafkafs.view.node import LINKS, Attributes, Kind


class Served:
    """Something with handlers, of which each raises what it is given."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    @answering
    async def lookup(self, outcome: object) -> object:
        """Looks something up."""
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    @answering
    async def _read(self) -> None:
        await trio.sleep_forever()


def number_of(outcome: BaseException, served: Served | None = None) -> int:
    with pytest.raises(pyfuse3.FUSEError) as caught:
        trio.run((served or Served()).lookup, outcome)
    return int(caught.value.errno)


def test_a_value_is_handed_on_and_measured_under_the_handlers_name():
    served = Served()
    assert trio.run(served.lookup, "found") == "found"
    assert (served.metrics.latency["lookup"].count, served.metrics.errors) == (1, {})
    assert served.lookup.__doc__ == "Looks something up."


@pytest.mark.parametrize("kind", ERRNO)
def test_an_error_of_the_family_is_its_errno(kind):
    """pyfuse3 ends the mount over any exception but its own."""
    served = Served()
    assert number_of(kind("why"), served) == ERRNO[kind]
    assert served.metrics.errors == {("lookup", ERRNO[kind]): 1}
    assert served.metrics.latency["lookup"].count == 1


@pytest.mark.parametrize(
    ("outcome", "number"),
    [
        (pyfuse3.FUSEError(errno.EBADF), errno.EBADF),
        (MemoryError(), errno.ENOMEM),
        (ZeroDivisionError("bug"), errno.EIO),
        (KeyError("bug"), errno.EIO),
        (OSError(errno.ENOSPC, "bug"), errno.EIO),
    ],
)
def test_whatever_else_escapes_is_an_errno_too(outcome, number):
    """A bug costs one answer, not the mount."""
    assert number_of(outcome) == number


def test_what_is_wrong_with_the_data_or_with_us_is_in_the_log_and_what_is_usual_is_not(caplog):
    """`find` asks for a thousand names that are not there: a line for each would bury the one that counts."""
    number_of(NotFound("a name"))
    assert caplog.messages == []
    number_of(CorruptData("at position 7"))
    number_of(ZeroDivisionError("nonsense"))
    assert caplog.messages == ["lookup: at position 7", "bug in lookup: ZeroDivisionError('nonsense')"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert caplog.records[1].exc_info is not None


def test_a_handler_that_is_cancelled_answers_all_the_same():
    """The mount is ending; a request without an answer would keep its process waiting for ever."""
    served = Served()

    async def ended() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await served._read()

    with pytest.raises(pyfuse3.FUSEError) as caught:
        trio.run(ended)
    assert caught.value.errno == errno.EIO
    assert served.metrics.errors == {("read", errno.EIO): 1}


times = st.lists(st.one_of(st.sampled_from(BOUNDS_S), st.floats(0, 20, allow_nan=False)), max_size=50)


@given(times)
def test_a_histogram_counts_each_call_in_the_first_bucket_that_holds_it(seconds):
    """A call of just a bound's length is within it: so Prometheus' `le` means."""
    latency = Latency()
    for each in seconds:
        latency.observe(each)
    bounds = (0.0, *BOUNDS_S, math.inf)
    naive = [sum(low < each <= high for each in seconds) for low, high in itertools.pairwise(bounds)]
    naive[0] += seconds.count(0.0)
    assert latency.buckets == naive
    assert latency.count == len(seconds)
    assert math.isclose(latency.seconds, math.fsum(seconds), abs_tol=1e-9)


def counted() -> Metrics:
    metrics = Metrics()
    for seconds in (0.0001, 0.3, 60.0):
        metrics.latency["lookup"].observe(seconds)
    metrics.latency["read"].observe(0.002)
    metrics.errors["lookup", errno.ENOENT] += 2
    metrics.errors["read", 12345] += 1
    metrics.bytes_read = 7
    metrics.gauges["open_files"] = ("Files that are open.", lambda: 3)
    return metrics


def samples(metrics: Metrics) -> dict[str, float]:
    lines = metrics.as_prometheus().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_prometheus_gets_cumulative_buckets_up_to_the_count():
    found = samples(counted())
    buckets = [value for name, value in found.items() if re.match(r'\w+_bucket\{operation="lookup"', name)]
    assert len(buckets) == len(BOUNDS_S) + 1
    assert buckets == sorted(buckets)
    assert buckets[0] == 1
    assert found['kafkafs_operation_seconds_bucket{operation="lookup",le="0.5"}'] == 2
    assert buckets[-1] == found['kafkafs_operation_seconds_count{operation="lookup"}'] == 3
    assert math.isclose(found['kafkafs_operation_seconds_sum{operation="lookup"}'], 60.3001)


def test_prometheus_gets_errors_by_name_bytes_and_gauges_of_now():
    metrics = counted()
    found = samples(metrics)
    assert found['kafkafs_errors_total{operation="lookup",errno="ENOENT"}'] == 2
    assert found['kafkafs_errors_total{operation="read",errno="12345"}'] == 1, "one that has no name here"
    assert (found["kafkafs_read_bytes_total"], found["kafkafs_open_files"]) == (7, 3)
    metrics.gauges["open_files"] = ("Files that are open.", lambda: 4)
    assert samples(metrics)["kafkafs_open_files"] == 4


def test_each_metric_is_described_and_typed_before_its_samples():
    """Prometheus takes an untyped one for something else, without a word."""
    described: set[str] = set()
    for line in counted().as_prometheus().decode().splitlines():
        if line.startswith("# "):
            described.add(" ".join(line.split()[1:3]))
        else:
            name = re.sub(r"_(bucket|sum|count)$", "", re.split(r"[{ ]", line)[0])
            assert {f"HELP {name}", f"TYPE {name}"} <= described


def test_the_status_is_the_same_as_json_behind_what_the_mount_says_of_itself():
    status = json.loads(counted().as_status({"version": "x"}))
    assert next(iter(status)) == "version"
    assert status["operations"]["lookup"] == {"count": 3, "seconds": 60.3001}
    assert status["errors"] == [
        {"operation": "lookup", "errno": "ENOENT", "count": 2},
        {"operation": "read", "errno": "12345", "count": 1},
    ]
    assert (status["bytesRead"], status["openFiles"]) == (7, 3)
    assert status["uptimeSeconds"] >= 0


def test_descriptors_and_memory_are_those_of_this_process():
    """Who watches a daemon for a leak looks at these two."""
    metrics = Metrics()
    gc.collect()  # most of what other tests have left open; their threads may close the rest in between
    before = samples(metrics)
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(200)]
    room = mmap.mmap(-1, 64 << 20)  # not of the heap, which may have room that is resident already
    room.write(bytes(len(room)))
    after = samples(metrics)
    for descriptor in held:
        os.close(descriptor)
    assert after["kafkafs_open_descriptors"] - before["kafkafs_open_descriptors"] > 100
    assert after["kafkafs_resident_bytes"] - before["kafkafs_resident_bytes"] > len(room) // 2


FIELDS = (
    "st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks", "st_mtime_ns", "st_ctime_ns",
    "st_atime_ns", "attr_timeout", "entry_timeout", "st_blksize",
)  # fmt: skip

number = st.integers(2, 2**63 - 1)
attributes = st.builds(
    Attributes,
    kind=st.sampled_from(get_args(Kind)),
    mode=st.integers(0, 0o777),
    uid=st.integers(0, 2**32 - 2),
    gid=st.integers(0, 2**32 - 2),
    size=st.integers(0, 2**63 - 1),
    blocks=st.integers(0, 2**40),
    mtime_ns=st.sampled_from([0, 1, 999_999_999, 1_632_390_207_806_000_000]),
    timeout_s=st.sampled_from([0.0, 0.4, 0.8]),
)


STAT_INO = 24
"""Bytes from the node id, the first of `fuse_entry_param`, to `attr.st_ino`: generation and st_dev lie between."""


def shown_number(reply: EntryReply) -> int:
    """The inode number, where the kernel reads it: pyfuse3 itself tells the node id in its place."""
    return ctypes.c_uint64.from_address(ctypes.addressof(reply.node_id) + STAT_INO).value


def reported(reply: EntryReply) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(reply.answer, name) for name in FIELDS}
    return fields | {"node": reply.node_id.value, "number": shown_number(reply)}


@given(st.lists(st.tuples(st.booleans(), number, number, attributes), min_size=1, max_size=10))
def test_an_answer_does_not_depend_on_those_before_it(answers):
    """Listings, whose lines have no node, come between lookups; times that stay the same are not written again."""
    used = EntryReply()
    for is_line, node_id, inode_number, about in answers:
        if is_line:
            used.line(inode_number, FILE_TYPE[about.kind])
            assert used.node_id.value == NO_NODE, "the kernel would keep an inode for each name"
            assert (shown_number(used), used.answer.st_mode) == (inode_number, FILE_TYPE[about.kind])
        else:
            fresh = EntryReply()
            fresh.fill(node_id, inode_number, about)
            used.fill(node_id, inode_number, about)
            assert reported(used) == reported(fresh)


@given(number, number, attributes)
def test_it_says_what_the_attributes_say(node_id, inode_number, about):
    reply = EntryReply()
    assert reply.fill(node_id, inode_number, about) is reply.answer
    shown = reported(reply)
    assert (shown["node"], shown["number"]) == (node_id, inode_number)
    mode = reply.answer.st_mode
    assert stat.S_IMODE(mode) == about.mode
    kinds = {"directory": stat.S_ISDIR, "file": stat.S_ISREG, "symlink": stat.S_ISLNK}
    assert [kind for kind, is_it in kinds.items() if is_it(mode)] == [about.kind]
    same = {"st_nlink": LINKS[about.kind], "st_uid": about.uid, "st_gid": about.gid, "st_size": about.size,
            "st_blocks": about.blocks, "st_mtime_ns": about.mtime_ns, "entry_timeout": about.timeout_s,
            "attr_timeout": FIXED_S if about.is_fixed else about.timeout_s}  # fmt: skip
    assert {name: shown[name] for name in same} == same
