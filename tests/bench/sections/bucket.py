"""A copy in a bucket beside the same copy on the disk: `audit` and `export` in turns, in one large log's parts and in
small ones.

The store is on this machine and costs little (`store`): its processors' time has a line of its own, and so has the
floor, the time that pyarrow takes to fetch the same objects. The copies are in the page cache.
"""

import os
import resource
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from pyarrow import fs

from kafkafs.format.batch import walk
from tests.bench import many
from tests.bench.data import KEYED, Bench, topic_of
from tests.bench.measure import Result, Spread, seconds
from tests.bench.store import Bucket, bucket
from tests.kafka.buckets import BUCKET, KEYS
from tests.mounting import KAFKAFS

_COPIES = {"large": (topic_of("none"), 256 << 20, 4), "small": (KEYED, 1 << 20, 500)}
"""The topic whose batches are copied, bytes of a segment, and segments at most."""

TOPICS = (topic_of("none"), KEYED)

_GOALS = {"audit": 0.7, "export": 0.8}
_BLOCK = 8 << 20


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    places = [_copy(bench, name) for name in _COPIES]
    with bucket(bench.home.parent) as store:
        for place in places:
            logs = sorted(place.rglob("*.log"))
            size = sum(log.stat().st_size for log in logs)
            of = f"{len(logs)} segments of {size / len(logs) / 1e6:.3g} MB"
            floor = [size / 1e6 / seconds(partial(_fetch, store, place)) for _ in range(rounds)]
            yield Result("bucket", f"floor, pyarrow fetches {of}", "MB/s", Spread(tuple(floor)))
            for command in ("audit", "export"):
                yield from _compared(command, of, store, place, size / 1e6, rounds)


def _compared(command: str, of: str, store: Bucket, place: Path, size: float, rounds: int) -> Iterator[Result]:
    """Rates, of the clock's time and of the processors'; requests."""
    found: dict[str, list[float]] = {}

    def measure(name: str, data: str) -> None:
        served, asked = store.seconds(), store.requests()
        took, worked = _timed(command, data)
        for what, value in {
            "rate": size / took, "cpu": size / worked, "server": store.seconds() - served,
            "requests": store.requests() - asked,
        }.items():  # fmt: skip
            found.setdefault(f"{name} {what}", []).append(value)

    for _ in range(rounds):
        measure("disk", str(place))
        measure("bucket", store.address(place.name))
    spreads = {name: Spread(tuple(values)) for name, values in found.items()}
    what = f"{command}, {of}"
    yield Result("bucket", what, "MB/s", spreads["bucket rate"], "disk", spreads["disk rate"], _GOALS[command])
    yield Result("bucket", f"{what}, processors", "MB/s", spreads["bucket cpu"], "disk", spreads["disk cpu"])
    yield Result("bucket", f"{what}, server", "s", spreads["bucket server"])
    yield Result("bucket", f"{what}, requests", "", spreads["bucket requests"])


def _timed(command: str, data: str) -> tuple[float, float]:
    """The time of a run by the clock, and that of all its processors."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-bench-") as out:
        words = [str(KAFKAFS), command, data, "--engine", "local", *(["--to", out] if command == "export" else [])]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_it: Callable[[], object] = partial(
            subprocess.run, words, env=os.environ | KEYS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=True,
        )  # fmt: skip
        took = seconds(run_it)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _fetch(store: Bucket, place: Path) -> None:
    """Each object once, by pyarrow, in a thread for each processor."""
    far = fs.S3FileSystem(
        access_key="key", secret_key="secret", endpoint_override=f"127.0.0.1:{store.port}", scheme="http",
        region="us-east-1",
    )  # fmt: skip
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for partition in place.glob("*-0"):
            for each in far.get_file_info(fs.FileSelector(f"{BUCKET}/{place.name}/{partition.name}")):
                if each.size:
                    threads.submit(_fetch_one, far, each.path)


def _fetch_one(far: fs.FileSystem, path: str) -> None:
    with far.open_input_stream(path) as stream:
        while stream.read(_BLOCK):
            pass


def _copy(bench: Bench, name: str) -> Path:
    """A topic's log once more, in segments of another size, with the indexes that belong to them; made once."""
    topic, size, most = _COPIES[name]

    def fill(place: Path) -> None:
        source = bench.log(topic).parent
        partition = place / source.name
        partition.mkdir()
        _split(b"".join(log.read_bytes() for log in sorted(source.glob("*.log"))), partition, size, most)
        indexes = place.with_name(f"{place.name}.indexes")
        words = [str(KAFKAFS), "reindex", str(place), "--index-dir", str(indexes), "--engine", "local"]
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        for file in indexes.rglob("*index"):
            file.rename(partition / file.name)
        shutil.rmtree(indexes)
        (place / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')

    return many.made_once(bench, f"bucket-{name}-{bench.count}", fill)


def _split(data: bytes, place: Path, size: int, most: int) -> None:
    rows = walk(data, 0).rows
    ends = rows["position"].astype(np.int64) + rows["size"]
    first = 0
    for _ in range(most):
        if first == len(rows):
            return
        start = int(rows["position"][first])
        behind = max(first + 1, int(np.searchsorted(ends, start + size, "right")))
        base = struct.unpack_from(">q", data, start)[0]
        (place / f"{base:020d}.log").write_bytes(data[start : int(ends[behind - 1])])
        first = behind
